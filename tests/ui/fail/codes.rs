//! Messages about codes. One crate, because each costs a call of rustc.

mod codes {
    mod lists;
    mod names;
    mod numbers;
    mod patterns;
}

fn main() {}
