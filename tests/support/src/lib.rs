//! What the tests of several packages share: a scripted server, what an error says, and the table of failures, which
//! has a column for each client.

mod facts;
mod failures;
mod frames;
mod server;

pub use facts::*;
pub use failures::*;
pub use frames::*;
pub use server::*;
