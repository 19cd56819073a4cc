//! A server of raw sockets that fails in every way, before and after it applies a request.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpListener, TcpStream},
    sync::watch,
    time::timeout,
};

/// The value that one operation changes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Resource {
    pub(crate) version: u32,
    pub(crate) calls: u32,
    pub(crate) applied: u32,
}

/// How the server treats a request.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Well,
    /// This status, with these lines of headers and this body.
    Says(u16, &'static str, &'static str),
    /// The connection is reset.
    Reset,
    /// The connection ends without a reply.
    Closed,
    /// Half of a good reply arrives.
    Cut,
    /// No reply arrives, for longer than the client waits.
    Stalls,
}

const ABORTED: &str = r#"{"error":{"code":409,"status":"ABORTED","message":"somebody else"}}"#;
const EXHAUSTED: &str = r#"{"error":{"code":429,"status":"RESOURCE_EXHAUSTED"}}"#;

/// Each fate, whether the request is applied all the same, and how often of a hundred.
const FATES: [(Fate, bool, u64); 14] = [
    (Fate::Well, true, 45),
    (Fate::Says(503, "", ""), false, 6),
    (Fate::Says(503, "", ""), true, 4),
    (Fate::Says(500, "", ""), false, 4),
    (Fate::Says(503, "retry-after-ms: 2\r\n", ""), false, 4),
    (Fate::Says(429, "", EXHAUSTED), false, 6),
    (Fate::Says(409, "", ABORTED), false, 5),
    (Fate::Reset, false, 4),
    (Fate::Reset, true, 4),
    (Fate::Closed, false, 4),
    (Fate::Closed, true, 4),
    (Fate::Cut, true, 5),
    (Fate::Stalls, false, 3),
    // It arrives when the client no longer waits.
    (Fate::Stalls, true, 2),
];

/// How long a request stalls before it is applied: longer than a client waits.
const STALL: Duration = Duration::from_millis(120);

#[derive(Clone, Default)]
pub(crate) struct Server {
    resources: Arc<Mutex<HashMap<u32, Resource>>>,
    /// How many connections are open.
    open: watch::Sender<u32>,
}

impl Server {
    pub(crate) async fn start(&self) -> SocketAddr {
        let loopback = (Ipv4Addr::LOCALHOST, 0);
        let listener = TcpListener::bind(loopback).await.expect("a port");
        let address = listener.local_addr().expect("its address");
        let server = self.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let server = server.clone();
                let open = Open::new(&server.open);
                tokio::spawn(async move {
                    // What a client does to its connection is no failure of the server.
                    let _ = server.serve(stream).await;
                    drop(open);
                });
            }
        });
        address
    }

    /// Waits until the server has done all that was asked. The clients are gone, but what they have sent
    /// may be on its way still.
    pub(crate) async fn is_done(&self, address: SocketAddr) {
        // Connections are accepted one after the other, so this is the last one.
        let mut last = TcpStream::connect(address).await.expect("a connection");
        last.shutdown().await.expect("it is open");
        let end = last.read(&mut [0]).await;
        assert_eq!(end.expect("it is accepted and closed"), 0);
        let mut open = self.open.subscribe();
        let closed = open.wait_for(|open| *open == 0);
        let closed = timeout(Duration::from_secs(60), closed).await;
        drop(closed.expect("the clients hang up").expect("a server"));
    }

    /// What came of the operation with this number.
    pub(crate) fn resource(&self, number: u32) -> Resource {
        let resources = self.resources.lock().expect("no test panics in it");
        resources.get(&number).copied().unwrap_or_default()
    }

    async fn serve(&self, stream: TcpStream) -> std::io::Result<()> {
        let mut stream = BufReader::new(stream);
        while let Some(request) = read(&mut stream).await? {
            let (fate, is_applied) = self.fate(request.number);
            if fate == Fate::Stalls {
                tokio::time::sleep(STALL).await;
            }
            let reply = self.answer(&request, is_applied);
            let reply = match fate {
                Fate::Well | Fate::Cut | Fate::Stalls => reply,
                Fate::Says(status, headers, body) => whole(status, headers, body),
                Fate::Closed => return Ok(()),
                Fate::Reset => return stream.get_ref().set_zero_linger(),
            };
            if fate == Fate::Cut {
                let half = &reply.as_bytes()[..reply.len() - 3];
                return stream.write_all(half).await;
            }
            stream.write_all(reply.as_bytes()).await?;
        }
        Ok(())
    }

    /// What becomes of the next request of this operation: the same in every run.
    fn fate(&self, number: u32) -> (Fate, bool) {
        let mut resources = self.resources.lock().expect("no test panics in it");
        let resource = resources.entry(number).or_default();
        resource.calls += 1;
        drawn(number, resource.calls)
    }

    /// Does what is asked, if it is to be applied; the reply of a server that works.
    fn answer(&self, request: &Request, is_applied: bool) -> String {
        let mut resources = self.resources.lock().expect("no test panics in it");
        let resource = resources.entry(request.number).or_default();
        if !request.writes {
            let Resource {
                version, applied, ..
            } = resource;
            let body = format!(r#"{{"version":{version},"members":{applied}}}"#);
            return whole(200, "", &body);
        }
        if request
            .version
            .is_some_and(|version| version != resource.version)
        {
            return whole(409, "", ABORTED);
        }
        if is_applied {
            resource.applied += 1;
            resource.version += 1;
        }
        whole(200, "", "{}")
    }
}

/// Counts a connection as long as it lives.
struct Open(watch::Sender<u32>);

impl Open {
    fn new(count: &watch::Sender<u32>) -> Self {
        count.send_modify(|open| *open += 1);
        Open(count.clone())
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.send_modify(|open| *open -= 1);
    }
}

struct Request {
    number: u32,
    writes: bool,
    /// The precondition of a write.
    version: Option<u32>,
}

/// `POST /7` or `PUT /7/3`, where 3 is the version that was read; `GET /7` reads.
async fn read(stream: &mut BufReader<TcpStream>) -> std::io::Result<Option<Request>> {
    let mut first = String::new();
    if stream.read_line(&mut first).await? == 0 {
        return Ok(None);
    }
    let mut length = 0;
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await?;
        let line = line.trim().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(number) = line.strip_prefix("content-length:") {
            length = number.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    let mut words = first.split(' ');
    let method = words.next().unwrap_or_default();
    let mut path = words.next().unwrap_or_default().split('/').skip(1);
    let mut number = || path.next().and_then(|part| part.parse().ok());
    Ok(Some(Request {
        number: number().expect("the number of an operation"),
        writes: method != "GET",
        version: number(),
    }))
}

fn drawn(number: u32, call: u32) -> (Fate, bool) {
    let mut hasher = DefaultHasher::new();
    (number, call).hash(&mut hasher);
    let mut drawn = hasher.finish() % 100;
    for (fate, is_applied, weight) in FATES {
        match drawn.checked_sub(weight) {
            Some(left) => drawn = left,
            None => return (fate, is_applied),
        }
    }
    unreachable!("the weights sum up to a hundred")
}

fn whole(status: u16, headers: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status} \r\ncontent-length: {length}\r\n{headers}\r\n{body}")
}
