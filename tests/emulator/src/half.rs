//! A reply of which half of the body is sent.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody, to_bytes};
use axum::http::header::CONTENT_LENGTH;
use axum::response::Response;
use http_body_1::Frame;

/// The events after the first half of the body.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Then {
    /// Nothing, and the connection stays open.
    Nothing,
    /// The end of the connection.
    Close,
}

/// The same reply with only the first half of its body.
pub(crate) async fn of(reply: Response, then: Then) -> Response {
    let (mut head, body) = reply.into_parts();
    // The body is in memory, so reading it does not fail.
    let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
    head.headers.insert(CONTENT_LENGTH, body.len().into());
    let half = Half {
        half: Some(body.slice(..body.len() / 2)),
        then,
        is_sent: false,
    };
    Response::from_parts(head, Body::new(half))
}

#[derive(Debug)]
struct Half {
    half: Option<Bytes>,
    then: Then,
    is_sent: bool,
}

impl HttpBody for Half {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let this = self.get_mut();
        if let Some(half) = this.half.take() {
            return Poll::Ready(Some(Ok(Frame::data(half))));
        }
        match this.then {
            Then::Nothing => Poll::Pending,
            Then::Close if this.is_sent => Poll::Ready(Some(Err(io::ErrorKind::BrokenPipe.into()))),
            // hyper writes to the socket what it has when a body pauses, and nothing after an error.
            Then::Close => {
                this.is_sent = true;
                cx.waker().wake_by_ref();
                Poll::Pending
            }
        }
    }
}
