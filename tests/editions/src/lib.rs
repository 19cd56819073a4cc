//! The cases of `cases` are tests: this package compiles the cases in edition 2021.
