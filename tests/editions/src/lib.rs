//! Compiles and runs the cases of `tests/ui/pass` again, as a crate of edition 2021.
