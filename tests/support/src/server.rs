//! The scripted server: it treats each request as a test says, and keeps the requests. It runs on threads
//! of its own, so a test measures its own thread alone and may block it.

use backoff_core::{Clock, Random, Sleep, testing::VirtualTime};
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
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, BufReader, copy, sink},
    net::{TcpListener, TcpSocket, TcpStream},
    runtime::{Handle, Runtime},
    sync::{Barrier, watch},
    task::JoinSet,
    time::{sleep, timeout},
};

/// A limit that is to be reached.
pub const PATIENCE: Duration = Duration::from_millis(300);

/// A limit that is not to be reached, on a slow machine either.
pub const AMPLE: Duration = Duration::from_secs(60);

/// How a connection goes on after the bytes of a reply.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum End {
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

/// How the server treats a request.
#[derive(Clone)]
pub struct Act {
    /// How many bytes of a long body of the request are read at most.
    reads: usize,
    bytes: Vec<u8>,
    end: End,
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
pub const RESET: Act = silent(End::Reset);
/// The connection ends in order, without a reply.
pub const CLOSE: Act = silent(End::Close);
/// Nothing comes.
pub const STALL: Act = silent(End::Stall);

/// These bytes, and the connection ends in order.
pub fn raw(bytes: impl Into<Vec<u8>>) -> Act {
    let bytes = bytes.into();
    Act { bytes, ..CLOSE }
}

/// This head, without the empty line after it, and this body.
pub fn head(head: impl fmt::Display, body: impl AsRef<[u8]>) -> Act {
    let head = format!("HTTP/1.1 {head}\r\nconnection: close\r\n\r\n");
    raw([head.as_bytes(), body.as_ref()].concat())
}

/// A whole reply with these lines of headers, each with its line end.
pub fn reply(status: u16, headers: &str, body: impl AsRef<[u8]>) -> Act {
    let headers = format!("connection: close\r\n{headers}");
    kept(status, &headers, body).then(End::Close)
}

/// Such a reply, after which the connection stays open for the next request.
pub fn kept(status: u16, headers: &str, body: impl AsRef<[u8]>) -> Act {
    let length = match status {
        204 | 304 => String::new(),
        _ => format!("content-length: {}\r\n", body.as_ref().len()),
    };
    let head = format!("HTTP/1.1 {status} \r\n{length}{headers}\r\n");
    raw([head.as_bytes(), body.as_ref()].concat()).then(End::Next)
}

/// A success whose head announces a longer body than comes.
pub fn half(headers: &str, body: impl AsRef<[u8]>) -> Act {
    let (body, length) = (body.as_ref(), 2 * body.as_ref().len());
    head(format!("200 OK\r\n{headers}content-length: {length}"), body)
}

/// A success that ends before its body does.
pub fn broken() -> Act {
    half("", "{\"half\": ")
}

impl Act {
    /// The same, with another end.
    pub fn then(self, end: End) -> Self {
        Act { end, ..self }
    }

    /// Comes when so many bytes of a long body of the request are read.
    pub fn after(self, reads: usize) -> Self {
        Act { reads, ..self }
    }

    /// Without the last bytes.
    pub fn without(mut self, bytes: usize) -> Self {
        self.bytes.truncate(self.bytes.len() - bytes);
        self
    }

    /// How long a client waits for it.
    pub fn patience(&self) -> Duration {
        match self.end {
            End::Stall => PATIENCE,
            _ => AMPLE,
        }
    }
}

/// A request that the server got.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// The method, the path and the query.
    pub line: String,
    head: String,
    /// The body, as far as it was read.
    pub body: Vec<u8>,
}

impl Seen {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut fields = self.head.lines().filter_map(|line| line.split_once(':'));
        let (_, value) = fields.find(|(given, _)| given.eq_ignore_ascii_case(name))?;
        Some(value.trim())
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

#[derive(Default)]
struct State {
    seen: Mutex<Vec<Seen>>,
    stalls: watch::Sender<usize>,
    open: watch::Sender<usize>,
}

/// Where all servers run.
static THREADS: LazyLock<Runtime> =
    LazyLock::new(|| Runtime::new().expect("a runtime for the servers"));

/// Treats each connection so, in this runtime, until the tasks are dropped.
fn accepts<F: Future<Output = io::Result<()>> + Send + 'static>(
    runtime: &Handle,
    each: impl Fn(TcpStream) -> F + Send + 'static,
) -> (SocketAddr, JoinSet<()>) {
    let _here = runtime.enter();
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let address = listener.local_addr().expect("its address");
    listener.set_nonblocking(true).expect("it is a socket");
    let listener = TcpListener::from_std(listener).expect("a port");
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let mut connections = JoinSet::new();
        while let Ok((stream, _)) = listener.accept().await {
            // What a client does to its connection is no failure of the server.
            connections.spawn(each(stream));
        }
    });
    (address, tasks)
}

/// Treats each connection so, until the process ends.
pub fn listen<F: Future<Output = io::Result<()>> + Send + 'static>(
    each: impl Fn(TcpStream) -> F + Send + 'static,
) -> SocketAddr {
    std::mem::ManuallyDrop::new(accepts(THREADS.handle(), each)).0
}

/// An address on which nobody listens. Its socket is bound until the process ends, because a port that is
/// free again may be given to another test.
pub fn nobody() -> SocketAddr {
    let socket = std::mem::ManuallyDrop::new(bound());
    socket.local_addr().expect("its address")
}

fn bound() -> TcpSocket {
    let socket = TcpSocket::new_v4().expect("a socket");
    let loopback = (Ipv4Addr::LOCALHOST, 0);
    socket.bind(loopback.into()).expect("a port on loopback");
    socket
}

/// An address where nobody accepts, and the queue is full: the kernel answers no more, until the process ends.
pub fn full() -> SocketAddr {
    let _here = THREADS.enter();
    let listener = bound().listen(1).expect("a short queue");
    let address = listener.local_addr().expect("its address");
    let mut queue = Vec::new();
    while let Ok(stream) = std::net::TcpStream::connect_timeout(&address, PATIENCE) {
        queue.push(stream);
        assert!(queue.len() < 64, "the queue is never full");
    }
    std::mem::forget((listener, queue));
    address
}

/// Treats every request so, until the process ends.
pub fn serve(act: Act) -> SocketAddr {
    std::mem::ManuallyDrop::new(Server::always(act)).address
}

/// It serves until it is dropped.
pub struct Server {
    /// Where it listens.
    pub address: SocketAddr,
    state: Arc<State>,
    _tasks: JoinSet<()>,
}

impl Server {
    /// Does this with the first requests, and answers every other with an empty JSON object.
    pub fn start(script: impl IntoIterator<Item = Act>) -> Self {
        let script: VecDeque<_> = script.into_iter().collect();
        let script = Mutex::new(script);
        Self::new(move |_| {
            let act = script.lock().expect("no test panics in it").pop_front();
            ready(act.unwrap_or_else(|| reply(200, "", "{}")))
        })
    }

    /// Does this with every request.
    pub fn always(act: Act) -> Self {
        Self::new(move |_| ready(act.clone()))
    }

    /// Does with a request what the handler makes of it. A body of more than 64 KiB is read after that, as far as
    /// the handler's answer asks for it.
    pub fn new<F: Future<Output = Act> + Send + 'static>(
        handler: impl Fn(&Seen) -> F + Send + Sync + 'static,
    ) -> Self {
        Self::within(THREADS.handle(), handler)
    }

    /// The same in the runtime of the test, which has virtual time. So the server and its clients have one clock.
    ///
    /// tokio moves a paused clock to the next timer also when a socket has something to read. So the clock goes on
    /// by a tick at a time, and a request takes a few ticks.
    pub fn in_virtual_time<F: Future<Output = Act> + Send + 'static>(
        tick: Duration,
        handler: impl Fn(&Seen) -> F + Send + Sync + 'static,
    ) -> Self {
        let mut server = Self::within(&Handle::current(), handler);
        server._tasks.spawn(async move {
            loop {
                sleep(tick).await;
            }
        });
        server
    }

    fn within<F: Future<Output = Act> + Send + 'static>(
        runtime: &Handle,
        handler: impl Fn(&Seen) -> F + Send + Sync + 'static,
    ) -> Self {
        let (state, handler) = (Arc::<State>::default(), Arc::new(handler));
        let of_the_tasks = state.clone();
        let (address, _tasks) = accepts(runtime, move |stream| {
            let (state, handler) = (of_the_tasks.clone(), handler.clone());
            state.open.send_modify(|open| *open += 1);
            async move {
                let answered = answer(BufReader::new(stream), &state, &*handler).await;
                state.open.send_modify(|open| *open -= 1);
                answered
            }
        });
        Server {
            address,
            state,
            _tasks,
        }
    }

    /// The URL of this path.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}/{path}", self.address)
    }

    /// The requests so far.
    pub fn seen(&self) -> Vec<Seen> {
        self.state.seen.lock().expect("no panic in it").clone()
    }

    /// How many requests have come.
    pub fn requests(&self) -> usize {
        self.seen().len()
    }

    /// The values of a header, one for each request that has it.
    pub fn values(&self, header: &str) -> Vec<String> {
        let seen = self.seen();
        let values = seen.iter().filter_map(|seen| seen.header(header));
        values.map(str::to_owned).collect()
    }

    /// Waits until all that was asked is done. The clients are gone, but what they have sent may be on its
    /// way still.
    pub async fn is_done(&self) {
        // Connections are accepted one after the other, so this is the last one.
        let mut last = TcpStream::connect(self.address).await.expect("it listens");
        last.shutdown().await.expect("it is open");
        let end = last.read(&mut [0]).await;
        assert_eq!(end.expect("it is accepted and closed"), 0);
        let mut open = self.state.open.subscribe();
        let closed = timeout(AMPLE, open.wait_for(|open| *open == 0)).await;
        drop(closed.expect("the clients hang up").expect("a server"));
    }

    /// How often it has stalled.
    pub fn stalls(&self) -> watch::Sender<usize> {
        self.state.stalls.clone()
    }

    /// A runtime for one call, with virtual time. The time of an attempt is over when the server stalls: so
    /// it is never over because a machine is slow.
    pub fn until_it_stalls(&self) -> UntilItStalls {
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
        if length <= 1 << 16 {
            seen.body.resize(length, 0);
            stream.read_exact(&mut seen.body).await?;
        }
        let act = handler(&seen).await;
        let begun = seen.body.len();
        seen.body.resize(begun.max(act.reads.min(length)), 0);
        stream.read_exact(&mut seen.body[begun..]).await?;
        let is_partly_read = seen.body.len() < length;
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

/// Where so many writers meet who have read: none of them writes before all have read, so all but one of
/// their first writes are stale, however slow the machine is.
#[derive(Debug)]
pub struct Meeting {
    reads: AtomicUsize,
    writers: usize,
    all: Barrier,
}

impl Meeting {
    /// Of so many writers.
    pub fn of(writers: usize) -> Arc<Self> {
        Arc::new(Meeting {
            reads: AtomicUsize::new(0),
            writers,
            all: Barrier::new(writers),
        })
    }

    /// A writer has read. Whoever calls replies with what was read before.
    pub async fn has_read(&self) {
        if self.reads.fetch_add(1, Relaxed) < self.writers {
            self.all.wait().await;
        }
    }
}

/// The time of an attempt in [`UntilItStalls`]; whatever is shorter is a wait.
pub const LIMIT: Duration = Duration::from_secs(10);

/// Made by [`Server::until_it_stalls`].
#[derive(Clone)]
pub struct UntilItStalls {
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
