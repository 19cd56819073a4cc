//! Attributes of the derive, written wrongly.

use backoff_core::Fault;

#[derive(Fault)]
enum Error {
    #[fault(statu = 503)]
    A,
    #[fault(status = 200)]
    B,
    #[fault(transient, permanent)]
    C,
    #[fault(forward)]
    D(u8, u8),
    #[fault(503)]
    E,
    #[fault]
    F,
}

fn is_fault<T: Fault>(_: T) {}

fn main() {
    is_fault(Error::A);
}
