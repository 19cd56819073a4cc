//! The emulator over real sockets: hand-written requests and requests of a client.

mod client;
mod faults;
mod instances;
mod life;
mod policies;
mod quota;
mod rubbish;
