//! `POLICY.send(request)` with requests of reqwest. A test tells the server what to answer.

mod forms;
mod keys;
mod redirects;
mod replies;
mod requests;
mod services;
mod storage;

/// A client of reqwest 0.12, without the retries that it makes by itself.
pub(crate) fn client_012() -> reqwest_012::Client {
    let builder = reqwest_012::Client::builder().retry(reqwest_012::retry::never());
    builder.build().expect("a client")
}
