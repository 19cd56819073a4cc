//! Messages about functions. One crate, because each costs a call of rustc.

mod functions {
    mod copied;
    mod derive_fault;
    mod future;
    mod no_block;
    mod not_a_function;
    mod retry_twice;
}

fn main() {}
