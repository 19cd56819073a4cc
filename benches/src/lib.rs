//! What a retry costs, measured beside the peers. The program `benches` prints the tables.

mod allocations;
mod build;
mod bytes;
pub mod callgrind;
pub mod contenders;
pub mod counting;
pub mod drive;
mod heap;
mod limits;
pub mod operation;
pub mod questions;
pub mod sections;
mod table;
