//! Messages about numbers. One crate, because each costs a call of rustc.

mod numbers {
    mod durations;
    mod jitter;
    mod limits;
}

fn main() {}
