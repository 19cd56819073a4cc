//! Hostile servers and careless callers.

mod bodies;
mod replies;
mod resources;
