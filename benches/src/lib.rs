//! What a retry costs, compared with other libraries. The program `benches` prints the tables.

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
