//! The listener and the sockets under the HTTP server. A test can make them fail.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Sleep;

/// A listener whose connections obey a [`Line`].
pub(super) struct Loopback(pub(super) TcpListener);

impl Listener for Loopback {
    type Io = Wire;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Wire, SocketAddr) {
        let (stream, peer) = Listener::accept(&mut self.0).await;
        // Optional: without it replies are late, not wrong.
        let _ = stream.set_nodelay(true);
        (
            Wire {
                stream,
                line: Line::default(),
                hold: None,
            },
            peer,
        )
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

/// Controls the connection of a request from the request's handler.
#[derive(Clone, Debug, Default)]
pub(super) struct Line(Arc<Mutex<Ending>>);

/// How the next bytes on the connection end it.
#[derive(Debug, Default)]
enum Ending {
    /// They do not end it.
    #[default]
    Open,
    /// With a FIN and no byte.
    Close,
    /// With an RST and no byte.
    Reset,
    /// After part of the body.
    Truncate(Truncation),
}

impl Line {
    /// Closes the connection instead of writing.
    pub(super) fn close(&self) {
        *self.lock() = Ending::Close;
    }

    /// Resets the connection instead of writing.
    pub(super) fn reset(&self) {
        *self.lock() = Ending::Reset;
    }

    /// Writes the head and `body` bytes of the body, then nothing for `hold`, then closes.
    pub(super) fn truncate(&self, body: usize, hold: Duration) {
        *self.lock() = Ending::Truncate(Truncation {
            matched: 0,
            body_left: body,
            hold,
        });
    }

    fn lock(&self) -> MutexGuard<'_, Ending> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Connected<IncomingStream<'_, Loopback>> for Line {
    fn connect_info(stream: IncomingStream<'_, Loopback>) -> Self {
        stream.io().line.clone()
    }
}

/// The blank line that ends a reply's head.
const END_OF_HEAD: &[u8] = b"\r\n\r\n";

/// How much of a reply that ends early may still be written.
#[derive(Clone, Copy, Debug)]
struct Truncation {
    /// How many bytes of [`END_OF_HEAD`] the last written bytes match.
    matched: usize,
    body_left: usize,
    hold: Duration,
}

impl Truncation {
    /// How many of `bytes` may be written, and what may be written after them.
    fn pass(mut self, bytes: &[u8]) -> (usize, Self) {
        for (at, &byte) in bytes.iter().enumerate() {
            if self.matched < END_OF_HEAD.len() {
                self.matched = match byte {
                    _ if byte == END_OF_HEAD[self.matched] => self.matched + 1,
                    b'\r' => 1,
                    _ => 0,
                };
            } else if self.body_left > 0 {
                self.body_left -= 1;
            } else {
                return (at, self);
            }
        }
        (bytes.len(), self)
    }
}

/// A connection that asks its [`Line`] before every write.
pub(super) struct Wire {
    stream: TcpStream,
    line: Line,
    hold: Option<Pin<Box<Sleep>>>,
}

impl AsyncRead for Wire {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_read(cx, buf)
    }
}

// Vectored writes are off by default, so `poll_write` sees every byte.
impl AsyncWrite for Wire {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let mut ending = this.line.lock();
        match &mut *ending {
            Ending::Open => Pin::new(&mut this.stream).poll_write(cx, buf),
            Ending::Close => Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
            Ending::Reset => {
                // With a linger of zero, dropping the stream sends an RST instead of a FIN.
                this.stream.set_zero_linger()?;
                Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()))
            }
            Ending::Truncate(truncation) => {
                let (allowed, _) = truncation.pass(buf);
                if allowed == 0 && !buf.is_empty() {
                    let hold = truncation.hold;
                    let sleep = this
                        .hold
                        .get_or_insert_with(|| Box::pin(tokio::time::sleep(hold)));
                    ready!(sleep.as_mut().poll(cx));
                    return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
                }
                let sent = ready!(Pin::new(&mut this.stream).poll_write(cx, &buf[..allowed]))?;
                *truncation = truncation.pass(&buf[..sent]).1;
                Poll::Ready(Ok(sent))
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if matches!(*this.line.lock(), Ending::Reset) {
            // A FIN now would reach the caller before the RST.
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut this.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn truncation(body_left: usize) -> Truncation {
        Truncation {
            matched: 0,
            body_left,
            hold: Duration::ZERO,
        }
    }

    #[test]
    fn the_head_passes_whole_and_the_body_in_part() {
        let reply = b"HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\n{\"a\":12}";
        let (allowed, _) = truncation(3).pass(reply);
        assert_eq!(&reply[..allowed], &reply[..reply.len() - 5]);
    }

    #[test]
    fn a_head_in_pieces_is_still_recognised() {
        let reply = b"HTTP/1.1 200 OK\r\nx: y\r\n\r\nbody";
        let mut rest = truncation(1);
        let mut sent = 0;
        for byte in reply {
            let (allowed, next) = rest.pass(&[*byte]);
            sent += allowed;
            rest = next;
        }
        assert_eq!(sent, reply.len() - 3);
    }

    #[test]
    fn a_stray_carriage_return_restarts_the_match() {
        let reply = b"a\r\n\r\r\n\r\nbody";
        assert_eq!(truncation(0).pass(reply).0, reply.len() - 4);
    }
}
