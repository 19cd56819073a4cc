//! A body that was read, wholly or in part, before it is sent.

use bytes::{Buf as _, Bytes};
use core::{
    fmt,
    pin::Pin,
    task::{Context, Poll, Waker},
};
use http_1::HeaderMap;
use http_body_1::{Body, Frame, SizeHint};
use std::{collections::VecDeque, vec::Vec};

/// The body of a request as it was read: the available bytes, and the rest that comes after them. Made
/// by [`RetryLayer::replaying`](super::RetryLayer::replaying).
pub struct Replay<B: Body> {
    chunks: VecDeque<Bytes>,
    trailers: Option<HeaderMap>,
    rest: Rest<B>,
}

/// The rest of the body after the bytes that were read.
enum Rest<B: Body> {
    Nothing,
    /// The body was too long, or its next chunk was not available yet.
    Body(B),
    Failed(B::Error),
}

// Nothing but the body is ever pinned.
impl<B: Body + Unpin> Unpin for Replay<B> {}

/// Reads the part of the body that is available at once, up to about `limit` bytes. Does not wait, so
/// that a stream that depends on its replies is not held up.
pub(super) fn read<B: Body + Unpin>(mut body: B, limit: usize) -> Replay<B> {
    let (mut chunks, mut trailers, mut length) = (Vec::new(), None, 0_usize);
    // A body that is not ready is polled again, with another waker, when it is sent.
    let mut context = Context::from_waker(Waker::noop());
    let rest = loop {
        if length > limit {
            break Rest::Body(body);
        }
        match Pin::new(&mut body).poll_frame(&mut context) {
            Poll::Pending => break Rest::Body(body),
            Poll::Ready(None) => break Rest::Nothing,
            Poll::Ready(Some(Err(error))) => break Rest::Failed(error),
            Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                Ok(mut data) => {
                    // An empty chunk counts, too, so that the loop ends.
                    length = length.saturating_add(data.remaining().max(1));
                    chunks.push(data.copy_to_bytes(data.remaining()));
                }
                Err(frame) => {
                    trailers = frame.into_trailers().ok();
                    // Nothing comes after trailers.
                    break Rest::Nothing;
                }
            },
        }
    };
    Replay {
        chunks: chunks.into(),
        trailers,
        rest,
    }
}

impl<B: Body> Replay<B> {
    /// The same body once more, if all of it was read. Both share the bytes.
    pub(super) fn copy(&self) -> Option<Self> {
        matches!(self.rest, Rest::Nothing).then(|| Replay {
            chunks: self.chunks.clone(),
            trailers: self.trailers.clone(),
            rest: Rest::Nothing,
        })
    }
}

impl<B: Body + Unpin> Body for Replay<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let this = &mut *self;
        if let Some(chunk) = this.chunks.pop_front() {
            return Poll::Ready(Some(Ok(Frame::data(chunk))));
        }
        if let Rest::Body(body) = &mut this.rest {
            let polled = Pin::new(body).poll_frame(cx);
            return polled
                .map_ok(|frame| frame.map_data(|mut data| data.copy_to_bytes(data.remaining())));
        }
        Poll::Ready(match core::mem::replace(&mut this.rest, Rest::Nothing) {
            Rest::Failed(error) => Some(Err(error)),
            _ => this
                .trailers
                .take()
                .map(|trailers| Ok(Frame::trailers(trailers))),
        })
    }

    fn is_end_stream(&self) -> bool {
        let is_read = self.chunks.is_empty() && self.trailers.is_none();
        is_read
            && match &self.rest {
                Rest::Nothing => true,
                Rest::Body(body) => body.is_end_stream(),
                Rest::Failed(_) => false,
            }
    }

    fn size_hint(&self) -> SizeHint {
        let read = self.chunks.iter().map(|chunk| chunk.len() as u64).sum();
        match &self.rest {
            Rest::Nothing if self.trailers.is_none() => SizeHint::with_exact(read),
            // With an exact length, HTTP/1 would send a `content-length`, after which no trailers come.
            Rest::Nothing => {
                let mut hint = SizeHint::new();
                hint.set_lower(read);
                hint
            }
            Rest::Failed(_) => SizeHint::new(),
            Rest::Body(body) => {
                let (rest, mut hint) = (body.size_hint(), SizeHint::new());
                hint.set_lower(rest.lower().saturating_add(read));
                if let Some(upper) = rest.upper().and_then(|upper| upper.checked_add(read)) {
                    hint.set_upper(upper);
                }
                hint
            }
        }
    }
}

// For any body, whether or not it is `Debug`.
impl<B: Body> fmt::Debug for Replay<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_whole = matches!(self.rest, Rest::Nothing);
        f.debug_struct("Replay")
            .field("chunks", &self.chunks.len())
            .field("is_whole", &is_whole)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::convert::Infallible;

    /// A body with these frames that never ends, because its sender still exists.
    struct Channel(VecDeque<Frame<Bytes>>);

    impl Body for Channel {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            match self.0.pop_front() {
                Some(frame) => Poll::Ready(Some(Ok(frame))),
                None => Poll::Pending,
            }
        }
    }

    #[test]
    fn trailers_are_sent_with_the_body_and_end_it() {
        let mut trailers = HeaderMap::new();
        trailers.insert("digest", "1".parse().unwrap());
        let frames = [
            Frame::data(Bytes::from_static(b"text")),
            Frame::trailers(trailers.clone()),
        ];
        let read = read(Channel(frames.into()), 100);
        for mut body in [read.copy().unwrap(), read] {
            let size = body.size_hint();
            assert_eq!((size.lower(), size.exact()), (4, None));
            let mut next = || {
                let mut context = Context::from_waker(Waker::noop());
                match Pin::new(&mut body).poll_frame(&mut context) {
                    Poll::Ready(frame) => frame.map(|frame| frame.unwrap()),
                    Poll::Pending => panic!("all is there"),
                }
            };
            assert_eq!(next().unwrap().into_data().unwrap(), "text");
            assert_eq!(next().unwrap().into_trailers().unwrap(), trailers);
            assert!(next().is_none());
            assert!(body.is_end_stream());
        }
    }
}
