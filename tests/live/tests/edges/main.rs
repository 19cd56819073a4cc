//! What a hostile server, or a careless caller, can do at the edges of the library.

mod bodies;
mod replies;
mod resources;
mod server;
