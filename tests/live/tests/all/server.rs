//! The scripted server, and the clients of reqwest.

pub(crate) use support::*;

use backoff_cloud::{Policy, http::Outgoing};
use flate2::{Compression, write::GzEncoder};
use hyper_1::body::{Body, Bytes, Frame};
use reqwest::{Client, ClientBuilder};
use std::{
    io::{self, Write as _},
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};
use tokio::runtime::{Builder, Runtime};

/// Short waits for tests.
pub(crate) const FAST: Policy = Policy::exponential()
    .base(Duration::from_millis(1))
    .max_attempts(4);

/// The policy, so many times as fast, with time for a slow machine: the deadline would be scaled too.
pub(crate) const fn scaled(policy: Policy, factor: f64) -> Policy {
    policy.scaled(factor).deadline(Duration::from_secs(600))
}

/// A client without the retries that reqwest makes by itself.
pub(crate) fn builder() -> ClientBuilder {
    Client::builder().retry(reqwest::retry::never())
}

pub(crate) fn client() -> Client {
    builder().build().expect("a client")
}

/// A client of reqwest 0.12, without the retries that it makes by itself.
pub(crate) fn client_012() -> reqwest_012::Client {
    let builder = reqwest_012::Client::builder().retry(reqwest_012::retry::never());
    builder.build().expect("a client")
}

/// The same request of either version of reqwest, with these headers.
pub(crate) fn both(method: &str, url: &str, headers: &[(&str, &str)]) -> [Outgoing; 2] {
    let method = || method.parse().expect("a method");
    let mut newer = client().request(method(), url);
    let method = reqwest_012::Method::from_bytes(method().as_str().as_bytes());
    let mut older = client_012().request(method.expect("a method"), url);
    for (name, value) in headers {
        (newer, older) = (newer.header(*name, *value), older.header(*name, *value));
    }
    [newer.into(), older.into()]
}

/// A runtime on the thread of the test, for what is measured there.
pub(crate) fn runtime(is_paused: bool) -> Runtime {
    let mut builder = Builder::new_current_thread();
    let builder = builder.enable_all().start_paused(is_paused);
    builder.build().expect("a runtime")
}

/// So many of these pieces, packed by gzip.
pub(crate) fn packed(pieces: u64, piece: impl AsRef<[u8]>) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    for _ in 0..pieces {
        packed.write_all(piece.as_ref()).expect("it is memory");
    }
    packed.finish().expect("it is memory")
}

type Piece = Poll<Option<io::Result<Bytes>>>;

/// A body whose pieces come from a function.
pub(crate) struct Pieces(Box<dyn FnMut(&mut Context<'_>) -> Piece + Send + Sync>);

impl Pieces {
    pub(crate) fn new(next: impl FnMut(&mut Context<'_>) -> Piece + Send + Sync + 'static) -> Self {
        Pieces(Box::new(next))
    }
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        (self.0)(context).map(|piece| piece.map(|piece| piece.map(Frame::data)))
    }
}
