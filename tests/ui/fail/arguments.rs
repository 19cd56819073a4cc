//! Messages about arguments. One crate, because each costs a call of rustc.

mod arguments {
    mod attempt_hides_argument;
    mod copied_or_kept;
}

fn main() {}
