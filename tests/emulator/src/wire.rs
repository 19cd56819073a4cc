//! The listener and the sockets under the HTTP server. A test can have a connection reset.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};

/// A listener whose connections obey a [`Line`].
pub(crate) struct Loopback(pub(crate) TcpListener);

impl Listener for Loopback {
    type Io = Wire;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Wire, SocketAddr) {
        let (stream, peer) = Listener::accept(&mut self.0).await;
        // Optional: without it replies are late, not wrong.
        let _ = stream.set_nodelay(true);
        let line = Line::default();
        (Wire { stream, line }, peer)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

/// Controls the connection of a request from the request's handler.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line {
    is_reset: Arc<AtomicBool>,
}

impl Line {
    /// Resets the connection instead of writing.
    pub(crate) fn reset(&self) {
        self.is_reset.store(true, Ordering::Relaxed);
    }

    fn is_reset(&self) -> bool {
        self.is_reset.load(Ordering::Relaxed)
    }
}

impl Connected<IncomingStream<'_, Loopback>> for Line {
    fn connect_info(stream: IncomingStream<'_, Loopback>) -> Self {
        stream.io().line.clone()
    }
}

/// A connection that asks its [`Line`] before every write.
pub(crate) struct Wire {
    stream: TcpStream,
    line: Line,
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
        if this.line.is_reset() {
            // With a linger of zero, dropping the stream sends an RST instead of a FIN.
            this.stream.set_zero_linger()?;
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        Pin::new(&mut this.stream).poll_write(cx, buf)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.line.is_reset() {
            // A FIN now would reach the caller before the RST.
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut this.stream).poll_shutdown(cx)
    }
}
