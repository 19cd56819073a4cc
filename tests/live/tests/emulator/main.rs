//! The emulator as its callers meet it: over real sockets, by hand and through a client.

mod client;
mod consistency;
mod faults;
mod instances;
mod life;
mod policies;
mod quota;
mod rubbish;
mod writers;
