//! Messages about keys. One crate, because each costs a call of rustc.

mod keys {
    mod error_keeps_names;
    mod key_unfinished;
    mod signals;
    mod together;
    mod unknown;
    mod written;
}

fn main() {}
