//! A server of raw sockets that treats each request as a script says, and remembers the requests.

use backoff_cloud::{Clock, Policy, Random, Sleep};
use backoff_core::testing::VirtualTime;
use reqwest::Client;
use std::{
    collections::VecDeque,
    io,
    net::Ipv4Addr,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinSet,
};

/// How the server treats a request.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// These bytes, and the connection ends in order.
    Reply(Vec<u8>),
    /// The connection is reset, without a reply.
    Reset,
    /// The connection ends in order, without a reply.
    Close,
    /// A success that ends before its body does.
    BrokenStream,
    /// A success of whose body a part comes, and nothing more.
    StallInBody,
    /// Nothing comes.
    Stall,
    /// So many bytes of the request's body are read, then comes this reply.
    ReplyAfter(usize, Vec<u8>),
}

/// A whole reply with these lines of headers, each with its line end.
pub(crate) fn reply(status: u16, headers: &str, body: impl AsRef<[u8]>) -> Act {
    Act::Reply(bytes(status, headers, body.as_ref()))
}

pub(crate) fn bytes(status: u16, headers: &str, body: &[u8]) -> Vec<u8> {
    let length = match status {
        204 | 304 => String::new(),
        _ => format!("content-length: {}\r\n", body.len()),
    };
    let head = format!("HTTP/1.1 {status} \r\nconnection: close\r\n{length}{headers}\r\n");
    [head.as_bytes(), body].concat()
}

/// The request that the server got.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// The method, the path and the query.
    pub(crate) line: String,
    head: String,
    pub(crate) body: Vec<u8>,
}

impl Seen {
    /// The value of a header, whose name is written in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut fields = self.head.lines().filter_map(|line| line.split_once(": "));
        let (_, value) = fields.find(|(given, _)| given.eq_ignore_ascii_case(name))?;
        Some(value)
    }
}

#[derive(Default)]
struct State {
    script: VecDeque<Act>,
    seen: Vec<Seen>,
    stalls: watch::Sender<usize>,
}

/// It serves until it is dropped.
pub(crate) struct Server {
    url: String,
    state: Arc<Mutex<State>>,
    _tasks: JoinSet<()>,
}

impl Server {
    /// Does this with the first requests, and answers every other with an empty JSON object.
    pub(crate) async fn start(script: impl IntoIterator<Item = Act>) -> Self {
        let loopback = (Ipv4Addr::LOCALHOST, 0);
        let listener = TcpListener::bind(loopback).await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("its address"));
        let state = Arc::new(Mutex::new(State {
            script: script.into_iter().collect(),
            ..State::default()
        }));
        let mut tasks = JoinSet::new();
        let of_the_listener = state.clone();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let state = of_the_listener.clone();
                connections.spawn(async move { answer(stream, &state).await });
            }
        });
        Server {
            url,
            state,
            _tasks: tasks,
        }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}/{path}", self.url)
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.state
            .lock()
            .expect("no test panics in it")
            .seen
            .clone()
    }

    /// How many requests have come.
    pub(crate) fn requests(&self) -> usize {
        self.seen().len()
    }

    /// A runtime for one call, with virtual time. The time of an attempt is over when the server stalls: so
    /// it is never over because a machine is slow.
    pub(crate) fn until_it_stalls(&self) -> UntilItStalls {
        let state = self.state.lock().expect("no test panics in it");
        UntilItStalls {
            time: VirtualTime::new(),
            stalls: state.stalls.subscribe(),
            cut: Arc::default(),
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

const HALF: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"half\": ";

async fn answer(mut stream: TcpStream, state: &Mutex<State>) -> io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let (line, _) = head.split_once(" HTTP/1.1").expect("a request of HTTP/1.1");
    let mut seen = Seen {
        line: line.to_owned(),
        head: head.clone(),
        body: Vec::new(),
    };
    let length = seen.header("content-length");
    let length = length.map_or(0, |length| length.parse().expect("a number"));
    let act = {
        let mut state = state.lock().expect("no test panics in it");
        state.script.pop_front()
    };
    let act = act.unwrap_or_else(|| reply(200, "", "{}"));
    let read = match act {
        Act::ReplyAfter(limit, _) => limit.min(length),
        _ => length,
    };
    seen.body.resize(read, 0);
    stream.read_exact(&mut seen.body).await?;
    state.lock().expect("no test panics in it").seen.push(seen);
    match act {
        Act::Reply(bytes) => {
            stream.write_all(&bytes).await?;
            stream.shutdown().await
        }
        Act::ReplyAfter(_, bytes) => {
            stream.write_all(&bytes).await?;
            // What the client still sends is read, or the end would be a reset that eats the reply.
            stream.shutdown().await?;
            tokio::io::copy(&mut stream, &mut tokio::io::sink()).await?;
            Ok(())
        }
        Act::BrokenStream => {
            stream.write_all(HALF).await?;
            stream.shutdown().await
        }
        Act::StallInBody => {
            stream.write_all(HALF).await?;
            std::future::pending().await
        }
        Act::Close => stream.shutdown().await,
        // With a linger of zero, dropping the stream sends an RST in place of a FIN.
        Act::Reset => stream.set_zero_linger(),
        Act::Stall => {
            let stalls = state.lock().expect("no test panics in it").stalls.clone();
            stalls.send_modify(|stalls| *stalls += 1);
            std::future::pending().await
        }
    }
}

/// A client without the retries that reqwest makes by itself.
pub(crate) fn client() -> Client {
    let builder = Client::builder().retry(reqwest::retry::never());
    builder.build().expect("a client")
}

/// Short waits for tests.
pub(crate) const FAST: Policy = Policy::exponential()
    .base(Duration::from_millis(1))
    .max_attempts(4);
