//! The cases of `tests/ui/pass` are compiled and run again, as a crate of edition 2021 sees them.
