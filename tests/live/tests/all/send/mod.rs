//! `POLICY.send(request)` with requests of reqwest. A test tells the server what to answer.

mod events;
mod forms;
mod hedges;
mod keys;
mod open;
mod replies;
mod requests;
mod services;
mod storage;
