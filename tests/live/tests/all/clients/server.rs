//! A server of raw sockets that misbehaves as a test asks.

use hyper_1::body::{Body, Bytes, Frame};
use std::{
    io::{Error, ErrorKind},
    mem::replace,
    net::{Ipv4Addr, SocketAddr},
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpSocket, TcpStream},
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

pub(crate) async fn listener() -> TcpListener {
    let loopback = (Ipv4Addr::LOCALHOST, 0);
    TcpListener::bind(loopback)
        .await
        .expect("a port on loopback")
}

/// Answers every request with these bytes, and ends its connection so. It serves until the test's
/// runtime ends.
pub(crate) async fn serve(reply: impl Into<String>, end: End) -> SocketAddr {
    let (listener, reply) = (listener().await, reply.into());
    let address = listener.local_addr().expect("its address");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream, reply.clone(), end));
        }
    });
    address
}

async fn answer(mut stream: TcpStream, reply: String, end: End) -> std::io::Result<()> {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).await?;
        request.extend(byte);
    }
    stream.write_all(reply.as_bytes()).await?;
    match end {
        End::Close => stream.shutdown().await,
        // With a linger of zero, dropping the stream sends an RST in place of a FIN.
        End::Reset => stream.set_zero_linger(),
        End::Stall => std::future::pending().await,
    }
}

/// A request's body that fails after its first byte, with an error that would be repeated if it were
/// the connection's: it says more about itself than the request does.
pub(crate) struct Failing {
    begun: bool,
    error: ErrorKind,
}

impl Failing {
    pub(crate) fn with(error: ErrorKind) -> Self {
        let begun = false;
        Failing { begun, error }
    }
}

impl Body for Failing {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let first = Frame::data(Bytes::from_static(b"1"));
        let frame = match replace(&mut self.begun, true) {
            false => Ok(first),
            true => Err(Error::other(Error::from(self.error))),
        };
        Poll::Ready(Some(frame))
    }
}

/// A whole HTTP reply with these lines of headers. It says that the connection ends, or a client might send
/// another request on the connection before the end arrives.
pub(crate) fn reply(status: u16, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status} \r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
    )
}

/// A reply whose header announces a longer body than the server sends.
pub(crate) fn half(body: &str) -> String {
    let length = 2 * body.len();
    format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{body}")
}
