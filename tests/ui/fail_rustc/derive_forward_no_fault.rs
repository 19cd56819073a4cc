//! `forward` to a field that is no fault.

use backoff_core::Fault;

struct Inner;

#[derive(Fault)]
struct Outer {
    #[fault(forward)]
    inner: Option<Inner>,
}

fn main() {}
