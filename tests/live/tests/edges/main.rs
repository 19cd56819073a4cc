//! What a hostile server, or a careless caller, can do at the edges of the library.

mod bodies;
mod resources;
mod server;
