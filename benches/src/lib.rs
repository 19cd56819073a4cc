//! What a retry costs, measured beside the peers. The program `benches` prints the tables.

pub mod callgrind;
pub mod contenders;
pub mod drive;
pub mod operation;
pub mod questions;
pub mod sections;
mod table;
