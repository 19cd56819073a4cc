//! Requests of reqwest, sent by a policy in one call, to servers that do what they are told.

mod keys;
mod older;
mod redirects;
mod replies;
mod requests;
mod server;
mod storage;
