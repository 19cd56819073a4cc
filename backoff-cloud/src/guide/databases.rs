//! databases
