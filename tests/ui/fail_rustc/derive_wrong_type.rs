//! A field of another type than the fact.

use backoff_core::Fault;

#[derive(Fault)]
#[fault(status = code)]
struct Error {
    code: String,
}

fn main() {}
