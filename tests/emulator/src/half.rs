//! Replies that do not come whole.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody, to_bytes};
use axum::http::header::CONTENT_LENGTH;
use axum::response::Response;
use http_body_1::Frame;

/// A reply of which nothing is sent: its body fails at once, and hyper writes nothing after an error.
pub(crate) fn none() -> Response {
    let half = None;
    Response::new(Body::new(Half {
        half,
        is_sent: true,
    }))
}

/// The same reply with only the first half of its body.
pub(crate) async fn of(reply: Response) -> Response {
    let (mut head, body) = reply.into_parts();
    // The body is in memory, so reading it does not fail.
    let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
    head.headers.insert(CONTENT_LENGTH, body.len().into());
    let half = Half {
        half: Some(body.slice(..body.len() / 2)),
        is_sent: false,
    };
    Response::from_parts(head, Body::new(half))
}

#[derive(Debug)]
struct Half {
    half: Option<Bytes>,
    is_sent: bool,
}

impl HttpBody for Half {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if let Some(half) = self.half.take() {
            return Poll::Ready(Some(Ok(Frame::data(half))));
        }
        if self.is_sent {
            return Poll::Ready(Some(Err(io::ErrorKind::BrokenPipe.into())));
        }
        // hyper writes to the socket what it has when a body pauses.
        self.is_sent = true;
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}
