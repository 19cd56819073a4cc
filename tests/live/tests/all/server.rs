//! The scripted server: it treats each request as a test says, and keeps the requests. It runs on threads
//! of its own, so a test measures its own thread alone and may block it.

use backoff_cloud::{Clock, Policy, Random, Sleep};
use backoff_core::testing::VirtualTime;
use hyper_1::body::{Body, Bytes, Frame};
use reqwest::{Client, ClientBuilder};
use std::{
    collections::VecDeque,
    fmt,
    future::{pending, ready},
    io,
    net::{Ipv4Addr, SocketAddr},
    pin::Pin,
    sync::{
        Arc, LazyLock, Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    task::{Context, Poll},
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, BufReader, copy, sink},
    net::{TcpListener, TcpSocket, TcpStream},
    runtime::{Builder, Runtime},
    sync::watch,
    task::JoinSet,
    time::timeout,
};

/// A limit that is to be reached.
pub(crate) const PATIENCE: Duration = Duration::from_millis(300);

/// A limit that is not to be reached, on a slow machine either.
pub(crate) const AMPLE: Duration = Duration::from_secs(60);

/// Short waits for tests.
pub(crate) const FAST: Policy = Policy::exponential()
    .base(Duration::from_millis(1))
    .max_attempts(4);

/// The policy, so many times as fast, with time for a slow machine: the deadline would be scaled too.
pub(crate) const fn scaled(policy: Policy, factor: f64) -> Policy {
    policy.scaled(factor).deadline(Duration::from_secs(600))
}

/// A client without the retries that reqwest makes by itself.
pub(crate) fn builder() -> ClientBuilder {
    Client::builder().retry(reqwest::retry::never())
}

pub(crate) fn client() -> Client {
    builder().build().expect("a client")
}

/// A runtime on the thread of the test, for what is measured there.
pub(crate) fn runtime(is_paused: bool) -> Runtime {
    let mut builder = Builder::new_current_thread();
    let builder = builder.enable_all().start_paused(is_paused);
    builder.build().expect("a runtime")
}

type Piece = Poll<Option<io::Result<Bytes>>>;

/// A body whose pieces come from a function.
pub(crate) struct Pieces(Box<dyn FnMut(&mut Context<'_>) -> Piece + Send + Sync>);

impl Pieces {
    pub(crate) fn new(next: impl FnMut(&mut Context<'_>) -> Piece + Send + Sync + 'static) -> Self {
        Pieces(Box::new(next))
    }
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        (self.0)(context).map(|piece| piece.map(|piece| piece.map(Frame::data)))
    }
}

/// How a connection goes on after the bytes of a reply.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum End {
    /// It ends in order, with a FIN.
    Close,
    /// It ends with an RST.
    Reset,
    /// Nothing more comes.
    Stall,
    /// With the next request.
    Next,
    /// With so many bytes of this text, again and again, and a FIN.
    More(u64, &'static str),
}

impl End {
    /// How long a client waits for what ends so.
    pub(crate) fn patience(self) -> Duration {
        match self {
            End::Stall => PATIENCE,
            _ => AMPLE,
        }
    }
}

/// How the server treats a request.
#[derive(Clone)]
pub(crate) struct Act {
    /// How many bytes of the request's body are read at most.
    reads: usize,
    bytes: Vec<u8>,
    pub(crate) end: End,
}

impl fmt::Debug for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = String::from_utf8_lossy(&self.bytes);
        write!(f, "{text:.200?}, then {:?}", self.end)
    }
}

const fn silent(end: End) -> Act {
    Act {
        reads: usize::MAX,
        bytes: Vec::new(),
        end,
    }
}

/// The connection is reset, without a reply.
pub(crate) const RESET: Act = silent(End::Reset);
/// The connection ends in order, without a reply.
pub(crate) const CLOSE: Act = silent(End::Close);
/// Nothing comes.
pub(crate) const STALL: Act = silent(End::Stall);

/// These bytes, and the connection ends in order.
pub(crate) fn raw(bytes: impl Into<Vec<u8>>) -> Act {
    let bytes = bytes.into();
    Act { bytes, ..CLOSE }
}

/// This head, without the empty line after it, and this body.
pub(crate) fn head(head: impl fmt::Display, body: impl AsRef<[u8]>) -> Act {
    let head = format!("HTTP/1.1 {head}\r\nconnection: close\r\n\r\n");
    raw([head.as_bytes(), body.as_ref()].concat())
}

/// A whole reply with these lines of headers, each with its line end.
pub(crate) fn reply(status: u16, headers: &str, body: impl AsRef<[u8]>) -> Act {
    let headers = format!("connection: close\r\n{headers}");
    kept(status, &headers, body).then(End::Close)
}

/// Such a reply, after which the connection stays open for the next request.
pub(crate) fn kept(status: u16, headers: &str, body: impl AsRef<[u8]>) -> Act {
    let length = match status {
        204 | 304 => String::new(),
        _ => format!("content-length: {}\r\n", body.as_ref().len()),
    };
    let head = format!("HTTP/1.1 {status} \r\n{length}{headers}\r\n");
    raw([head.as_bytes(), body.as_ref()].concat()).then(End::Next)
}

/// A success whose head announces a longer body than comes.
pub(crate) fn half(body: &str) -> Act {
    let length = 2 * body.len();
    raw(format!(
        "HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{body}"
    ))
}

/// A success that ends before its body does.
pub(crate) fn broken() -> Act {
    half("{\"half\": ")
}

impl Act {
    pub(crate) fn then(self, end: End) -> Self {
        Act { end, ..self }
    }

    /// Comes when so many bytes of the request's body are read.
    pub(crate) fn after(self, reads: usize) -> Self {
        Act { reads, ..self }
    }

    /// Without the last bytes.
    pub(crate) fn without(mut self, bytes: usize) -> Self {
        self.bytes.truncate(self.bytes.len() - bytes);
        self
    }
}

/// A request that the server got.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// The method, the path and the query.
    pub(crate) line: String,
    head: String,
    pub(crate) body: Vec<u8>,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut fields = self.head.lines().filter_map(|line| line.split_once(": "));
        let (_, value) = fields.find(|(given, _)| given.eq_ignore_ascii_case(name))?;
        Some(value)
    }
}

#[derive(Default)]
struct State {
    seen: Mutex<Vec<Seen>>,
    stalls: watch::Sender<usize>,
    open: watch::Sender<usize>,
}

/// Where all scripted servers run.
pub(crate) static THREADS: LazyLock<Runtime> =
    LazyLock::new(|| Runtime::new().expect("a runtime for the servers"));

/// A listener on loopback for a task of [`THREADS`].
pub(crate) fn listener() -> (TcpListener, SocketAddr) {
    let _here = THREADS.enter();
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let address = listener.local_addr().expect("its address");
    listener.set_nonblocking(true).expect("it is a socket");
    (TcpListener::from_std(listener).expect("a port"), address)
}

/// An address on which nobody listens. Its socket is bound until the process ends, because a port that is
/// free again may be given to another test.
pub(crate) fn nobody() -> SocketAddr {
    let socket = TcpSocket::new_v4().expect("a socket");
    let loopback = (Ipv4Addr::LOCALHOST, 0);
    socket.bind(loopback.into()).expect("a port on loopback");
    let address = socket.local_addr().expect("its address");
    std::mem::forget(socket);
    address
}

/// Treats every request so, until the process ends.
pub(crate) fn serve(act: Act) -> SocketAddr {
    let server = Server::always(act);
    let address = server.address;
    std::mem::forget(server);
    address
}

/// It serves until it is dropped.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    state: Arc<State>,
    _tasks: JoinSet<()>,
}

impl Server {
    /// Does this with the first requests, and answers every other with an empty JSON object.
    pub(crate) fn start(script: impl IntoIterator<Item = Act>) -> Self {
        let script: VecDeque<_> = script.into_iter().collect();
        let script = Mutex::new(script);
        Self::new(move |_| {
            let act = script.lock().expect("no test panics in it").pop_front();
            ready(act.unwrap_or_else(|| reply(200, "", "{}")))
        })
    }

    /// Does this with every request.
    pub(crate) fn always(act: Act) -> Self {
        Self::new(move |_| ready(act.clone()))
    }

    /// Does with a request what the handler makes of its head.
    pub(crate) fn new<F: Future<Output = Act> + Send + 'static>(
        handler: impl Fn(&Seen) -> F + Send + Sync + 'static,
    ) -> Self {
        let ((listener, address), state) = (listener(), Arc::<State>::default());
        let (mut tasks, of_the_listener) = (JoinSet::new(), state.clone());
        let handler = Arc::new(handler);
        let accepts = async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (state, handler) = (of_the_listener.clone(), handler.clone());
                state.open.send_modify(|open| *open += 1);
                connections.spawn(async move {
                    // What a client does to its connection is no failure of the server.
                    let _ = answer(BufReader::new(stream), &state, &*handler).await;
                    state.open.send_modify(|open| *open -= 1);
                });
            }
        };
        tasks.spawn_on(accepts, THREADS.handle());
        Server {
            address,
            state,
            _tasks: tasks,
        }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}/{path}", self.address)
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.state.seen.lock().expect("no panic in it").clone()
    }

    /// How many requests have come.
    pub(crate) fn requests(&self) -> usize {
        self.seen().len()
    }

    /// The values of a header, one for each request that has it.
    pub(crate) fn values(&self, header: &str) -> Vec<String> {
        let seen = self.seen();
        let values = seen.iter().filter_map(|seen| seen.header(header));
        values.map(str::to_owned).collect()
    }

    /// Waits until all that was asked is done. The clients are gone, but what they have sent may be on its
    /// way still.
    pub(crate) async fn is_done(&self) {
        // Connections are accepted one after the other, so this is the last one.
        let mut last = TcpStream::connect(self.address).await.expect("it listens");
        last.shutdown().await.expect("it is open");
        let end = last.read(&mut [0]).await;
        assert_eq!(end.expect("it is accepted and closed"), 0);
        let mut open = self.state.open.subscribe();
        let closed = timeout(AMPLE, open.wait_for(|open| *open == 0)).await;
        drop(closed.expect("the clients hang up").expect("a server"));
    }

    /// A runtime for one call, with virtual time. The time of an attempt is over when the server stalls: so
    /// it is never over because a machine is slow.
    pub(crate) fn until_it_stalls(&self) -> UntilItStalls {
        UntilItStalls {
            time: VirtualTime::new(),
            stalls: self.state.stalls.subscribe(),
            cut: Arc::default(),
        }
    }
}

async fn answer<F: Future<Output = Act>>(
    mut stream: BufReader<TcpStream>,
    state: &State,
    handler: impl Fn(&Seen) -> F,
) -> io::Result<()> {
    loop {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await?);
        }
        let head = String::from_utf8_lossy(&head).into_owned();
        let line = head.split(" HTTP/1.1").next().unwrap_or_default();
        let mut seen = Seen {
            line: line.to_owned(),
            head: head.clone(),
            body: Vec::new(),
        };
        let length = seen.header("content-length");
        let length: usize = length.map_or(0, |length| length.parse().expect("a number"));
        let act = handler(&seen).await;
        let is_partly_read = act.reads < length;
        seen.body.resize(act.reads.min(length), 0);
        stream.read_exact(&mut seen.body).await?;
        state.seen.lock().expect("no panic in it").push(seen);
        // The head comes with the beginning of the body: a client that has the one has the other.
        stream.write_all(&act.bytes).await?;
        match act.end {
            End::Next => {}
            End::Close => {
                stream.shutdown().await?;
                if is_partly_read {
                    // What the client still sends is read, or the end would be a reset that eats the reply.
                    copy(&mut stream, &mut sink()).await?;
                }
                return Ok(());
            }
            // With a linger of zero, dropping the stream sends an RST in place of a FIN.
            End::Reset => return stream.get_ref().set_zero_linger(),
            End::Stall => {
                state.stalls.send_modify(|stalls| *stalls += 1);
                return pending().await;
            }
            End::More(mut left, text) => {
                let piece = text.repeat(65_536 / text.len());
                while left > 0 {
                    let now = left.min(piece.len() as u64);
                    stream.write_all(&piece.as_bytes()[..now as usize]).await?;
                    left -= now;
                }
                return stream.shutdown().await;
            }
        }
    }
}

/// The time of an attempt in [`UntilItStalls`]; whatever is shorter is a wait.
pub(crate) const LIMIT: Duration = Duration::from_secs(10);

/// Made by [`Server::until_it_stalls`].
pub(crate) struct UntilItStalls {
    time: VirtualTime,
    stalls: watch::Receiver<usize>,
    /// How many attempts were cut.
    cut: Arc<AtomicUsize>,
}

impl Clock for UntilItStalls {
    fn now(&self) -> Duration {
        self.time.now()
    }
}

impl Random for UntilItStalls {
    fn random(&self) -> u64 {
        self.time.random()
    }
}

impl Sleep for UntilItStalls {
    type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

    fn sleep(&self, wait: Duration) -> Self::Sleep {
        if wait < LIMIT {
            return Box::pin(self.time.sleep(wait));
        }
        let (mut stalls, cut) = (self.stalls.clone(), self.cut.clone());
        Box::pin(async move {
            let stalled = stalls.wait_for(|stalls| *stalls > cut.load(Relaxed)).await;
            drop(stalled.expect("the server is here"));
            cut.fetch_add(1, Relaxed);
        })
    }
}
