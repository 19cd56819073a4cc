//! Connects a TCP socket as `connect_retry` of "Advanced Programming in the UNIX Environment" does:
//! a fresh socket for each attempt, and 1, 2, 4, … s between them. Where no socket can be made, both
//! give up at once. Where the last attempt fails, this function does not wait any more.
//!
//! The server is not up yet: it begins to listen a while after the first attempt.

use std::net::SocketAddr;
use std::time::Duration;
use std::{error, fmt, io};

use backoff_core::{Event, Policy};
use examples::terminal::say;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

/// The factor for all times: nobody wants to wait 15 s for an example.
const SHORTENED: f64 = 0.01;

/// Which of the two steps of an attempt failed.
#[derive(Debug)]
enum Failed {
    /// No socket could be made: the process has too many open files, or the family of the address is
    /// not supported. The next attempt would fail too.
    Socket(io::Error),
    /// The server did not accept the connection.
    Connect(io::Error),
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Socket(error) => write!(f, "cannot make a socket: {error}"),
            Self::Connect(error) => write!(f, "cannot connect: {error}"),
        }
    }
}

impl error::Error for Failed {}

/// Connects to the address, under the policy. Only a connection that failed is tried again.
async fn connect_retry(policy: Policy, address: SocketAddr) -> Result<TcpStream, Failed> {
    let attempt = async || {
        let socket = TcpSocket::new_v4().map_err(Failed::Socket)?;
        socket.connect(address).await.map_err(Failed::Connect)
    };
    policy
        .when_any(|error: &Failed| matches!(error, Failed::Connect(_)))
        .retry(attempt)
        .notify(|event: &Event<'_, Failed>| drop(say(&format!("{event}\n"))))
        .await
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn error::Error>> {
    let policy = Policy::connect_retry().scaled(SHORTENED);
    say(&format!("{policy}\n"))?;

    // The socket has its port, which no other process can take, and does not listen yet.
    let socket = TcpSocket::new_v4()?;
    socket.bind(([127, 0, 0, 1], 0).into())?;
    let address = socket.local_addr()?;
    let server = async {
        // Attempts begin after 0, 1, 3, 7, 15, … s. The fifth one finds the server.
        tokio::time::sleep(Duration::from_millis(14_500).mul_f64(SHORTENED)).await;
        let (mut client, _) = socket.listen(1)?.accept().await?;
        client.write_all(b"welcome").await
    };
    let (served, stream) = tokio::join!(server, connect_retry(policy, address));
    served?;
    let mut greeting = String::new();
    stream?.read_to_string(&mut greeting).await?;
    say(&format!("connected to {address}, which says: {greeting}\n"))?;
    Ok(())
}
