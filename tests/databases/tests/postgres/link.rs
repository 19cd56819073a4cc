//! A proxy to the server that loses some commits.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

pub(crate) struct Link {
    port: u16,
    target: SocketAddr,
    /// Of so many commits one loses its reply, and one does not reach the server.
    out_of: u32,
    commits: AtomicU32,
    unheard: AtomicU32,
    untold: AtomicU32,
}

impl Link {
    /// A port that leads to the server on another one, as long as the test runs. Of `out_of` commits one
    /// loses its reply, and one does not reach the server; in both cases the connection breaks.
    pub(crate) async fn to(target: u16, out_of: u32) -> io::Result<Arc<Self>> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let link = Arc::new(Link {
            port: listener.local_addr()?.port(),
            target: SocketAddr::from(([127, 0, 0, 1], target)),
            out_of,
            // The first one passes.
            commits: AtomicU32::new(1),
            unheard: AtomicU32::new(0),
            untold: AtomicU32::new(0),
        });
        tokio::spawn(Arc::clone(&link).listen(listener));
        Ok(link)
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// How many commits the server has confirmed without a client who heard it.
    pub(crate) fn unheard(&self) -> u32 {
        self.unheard.load(Relaxed)
    }

    /// How many commits have not reached the server.
    pub(crate) fn untold(&self) -> u32 {
        self.untold.load(Relaxed)
    }

    async fn listen(self: Arc<Self>, listener: TcpListener) {
        while let Ok((client, _)) = listener.accept().await {
            let link = Arc::clone(&self);
            // A broken connection is what this is for.
            tokio::spawn(async move { link.relay(client).await });
        }
    }

    /// Ends when either side does, which the other one sees.
    async fn relay(&self, mut client: TcpStream) -> io::Result<()> {
        let mut server = TcpStream::connect(self.target).await?;
        client.set_nodelay(true)?;
        server.set_nodelay(true)?;
        let (mut asked, mut answered) = ([0; 4096], [0; 4096]);
        loop {
            tokio::select! {
                count = client.read(&mut asked) => {
                    let asked = &asked[..count?];
                    if asked.is_empty() {
                        return Ok(());
                    }
                    let next = || self.commits.fetch_add(1, Relaxed) % self.out_of;
                    let turn = says_commit(asked).then(next);
                    if turn == Some(self.out_of / 2) {
                        self.untold.fetch_add(1, Relaxed);
                        return Ok(());
                    }
                    server.write_all(asked).await?;
                    if turn == Some(0) {
                        if is_confirmed(&mut server).await? {
                            self.unheard.fetch_add(1, Relaxed);
                        }
                        return Ok(());
                    }
                }
                count = server.read(&mut answered) => {
                    let answered = &answered[..count?];
                    if answered.is_empty() {
                        return Ok(());
                    }
                    client.write_all(answered).await?;
                }
            }
        }
    }
}

/// Reads what the server answers to a commit, and to what was sent before: whether it has committed.
async fn is_confirmed(server: &mut TcpStream) -> io::Result<bool> {
    let mut answered = Vec::new();
    loop {
        if says_commit(&answered) {
            return Ok(true);
        }
        // The severity of an error, which a transaction that goes on has had none of.
        let is_refused = contains(&answered, b"VERROR\0") || contains(&answered, b"VFATAL\0");
        if is_refused || server.read_buf(&mut answered).await? == 0 {
            return Ok(false);
        }
    }
}

/// Both the statement and the server's confirmation are this word and a zero.
fn says_commit(bytes: &[u8]) -> bool {
    contains(bytes, b"COMMIT\0")
}

fn contains(bytes: &[u8], part: &[u8; 7]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}
