//! Messages about functions. One crate, because each costs a call of rustc.

mod functions {
    mod copied;
    mod derive_fault;
    mod future;
    mod no_block;
    mod no_result;
    mod not_a_function;
    mod ret_borrow;
    mod retry_twice;
}

fn main() {}
