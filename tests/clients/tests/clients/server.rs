//! A server on threads that misbehaves as a test asks.

#[path = "../../../official/src/socket.rs"]
#[expect(
    unreachable_pub,
    reason = "another package shares this file with its tests"
)]
mod socket;

pub(crate) use socket::{Request, nobody, reply};
use socket::{listen, read_request};
use socket2::{Domain, SockRef, Socket, Type};
use std::{
    fmt,
    io::{Read as _, Write, copy, sink},
    net::{Ipv4Addr, SocketAddr, TcpStream},
    sync::{
        Arc, Barrier, Mutex,
        atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

/// A limit that is to be reached.
pub(crate) const PATIENCE: Duration = Duration::from_millis(300);

/// A limit that is not to be reached, on a slow machine either.
pub(crate) const AMPLE: Duration = Duration::from_secs(60);

/// How a connection ends after the bytes of a reply.
#[derive(Clone, Copy, Debug)]
pub(crate) enum End {
    /// In order, with a FIN.
    Close,
    /// With an RST.
    Reset,
    /// Never, as far as the client can wait.
    Stall,
}

impl End {
    /// How long a client waits for what ends so.
    pub(crate) fn patience(self) -> Duration {
        match self {
            End::Stall => PATIENCE,
            End::Close | End::Reset => AMPLE,
        }
    }
}

/// A server of HTTP/1.1 that serves as long as the test runs.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    address: String,
    calls: Arc<AtomicU32>,
}

impl Server {
    /// Answers every request with these bytes, and ends its connection so.
    pub(crate) fn of(reply: impl Into<Vec<u8>>, end: End) -> Self {
        let reply = reply.into();
        Server::start(move |_| (reply.clone(), end))
    }

    /// Answers every request with what this makes of it.
    pub(crate) fn answering(answer: impl Fn(Request) -> String + Send + Sync + 'static) -> Self {
        Server::start(move |request| (answer(request).into_bytes(), End::Close))
    }

    /// Answers the first request with the first of these, and so on; all further ones with the last.
    pub(crate) fn in_turn(replies: Vec<String>) -> Self {
        let next = AtomicUsize::new(0);
        Server::answering(move |_| {
            let n = next.fetch_add(1, Relaxed).min(replies.len() - 1);
            replies[n].clone()
        })
    }

    fn start(answer: impl Fn(Request) -> (Vec<u8>, End) + Send + Sync + 'static) -> Self {
        let calls = Arc::new(AtomicU32::new(0));
        let (counted, answer) = (Arc::clone(&calls), Arc::new(answer));
        let address = listen(move |stream| {
            let request = read_request(&stream);
            counted.fetch_add(1, Relaxed);
            let (reply, end) = answer(request);
            drop(reply_and_end(stream, &reply, end));
        });
        Server { address, calls }
    }

    /// How many requests came.
    pub(crate) fn calls(&self) -> u32 {
        self.calls.load(Relaxed)
    }
}

/// Its address.
impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.address.fmt(f)
    }
}

/// A server that reads once from each connection, and ends the connection so.
pub(crate) fn hanging_up(end: End) -> String {
    listen(move |mut stream| {
        // What the client does is no failure of the server.
        drop(stream.read(&mut [0; 4_096]));
        drop(reply_and_end(stream, b"", end));
    })
}

/// A server that accepts nobody, with a queue that is full: the kernel answers no more. It is so as long
/// as what is returned lives.
pub(crate) fn full() -> (SocketAddr, Socket, Vec<TcpStream>) {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    let loopback = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    socket.bind(&loopback.into()).expect("a port on loopback");
    let address = socket.local_addr().ok().and_then(|it| it.as_socket());
    let address = address.expect("its address");
    socket.listen(1).expect("a short queue");
    let mut queue = Vec::new();
    while let Ok(stream) = TcpStream::connect_timeout(&address, PATIENCE) {
        queue.push(stream);
        assert!(queue.len() < 64, "the queue is never full");
    }
    (address, socket, queue)
}

fn reply_and_end(mut stream: TcpStream, reply: &[u8], end: End) -> std::io::Result<()> {
    stream.write_all(reply)?;
    match end {
        End::Close => {}
        // With a linger of zero, dropping the stream sends an RST in place of a FIN.
        End::Reset => SockRef::from(&stream).set_linger(Some(Duration::ZERO))?,
        // Until the client goes away.
        End::Stall => drop(copy(&mut stream, &mut sink())),
    }
    Ok(())
}

/// Where so many writers meet who have read: none of them writes before all have read, so all but one of
/// their first writes are stale, however slow the machine is.
#[derive(Debug)]
pub(crate) struct Meeting {
    reads: AtomicU32,
    writers: u32,
    all: Barrier,
}

impl Meeting {
    pub(crate) fn of(writers: u32) -> Self {
        Meeting {
            reads: AtomicU32::new(0),
            writers,
            all: Barrier::new(writers as usize),
        }
    }

    /// A writer has read. Whoever calls holds no lock, and replies with what was read before.
    pub(crate) fn has_read(&self) {
        if self.reads.fetch_add(1, Relaxed) < self.writers {
            self.all.wait();
        }
    }
}

/// A reply whose header announces a longer body than the server sends.
pub(crate) fn half(headers: &str, body: &[u8]) -> Vec<u8> {
    let length = 2 * body.len();
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n{headers}\r\n");
    [head.as_bytes(), body].concat()
}

/// The page of a proxy whose server is away.
pub(crate) fn html_502() -> String {
    reply(502, "content-type: text/html\r\n", "<h1>Bad Gateway</h1>")
}

/// A header without which a client of objects takes no reply for an object.
pub(crate) const LAST_MODIFIED: &str =
    "etag: \"1\"\r\nlast-modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n";

/// An object with a number, which is written only by who has read the last one. So many writers meet when they
/// have read for the first time.
pub(crate) fn object(path: &'static str, writers: u32) -> (Server, Arc<Mutex<u32>>) {
    let kept = Arc::new(Mutex::new(0));
    let (number, meeting) = (Arc::clone(&kept), Meeting::of(writers));
    let server = Server::answering(move |request| {
        assert!(request.first.contains(path), "{}", request.first);
        let mut number = number.lock().expect("no panic");
        let version = format!("\"{number}\"");
        if request.first.starts_with("GET") {
            let headers = LAST_MODIFIED.replace("\"1\"", &version);
            let read = reply(200, &headers, &number.to_string());
            drop(number);
            meeting.has_read();
            read
        } else if !request.head.contains(&format!("if-match: {version}\r\n")) {
            let body = "<Error><Code>PreconditionFailed</Code></Error>";
            reply(412, "x-ms-error-code: ConditionNotMet\r\n", body)
        } else {
            *number = request.body.parse().expect("a number");
            reply(200, &format!("etag: \"{number}\"\r\n"), "")
        }
    });
    (server, kept)
}
