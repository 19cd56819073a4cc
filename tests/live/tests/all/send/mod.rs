//! `POLICY.send(request)` with requests of reqwest. A test tells the server what to answer.

mod keys;
mod older;
mod redirects;
mod replies;
mod requests;
mod server;
mod storage;
