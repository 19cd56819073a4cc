//! Calls of the library in virtual time, on one thread: a service, who calls it, and what is measured of them. The
//! examples `simulation` and `lab` use it.
//!
//! A [`Load`](load::Load) says what the service does and who calls it, and a [`Strategy`](load::Strategy) is a policy and
//! what the calls of a process share. There is one [`service`], and one [`clock`]. Every call is one of the library, with
//! the simulation's clock and random source, so the simulation itself knows no formula.

pub mod clock;
pub mod load;
pub mod measures;
pub mod quota;
pub mod row;
pub mod service;
