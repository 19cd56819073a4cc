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

/// As other libraries call them. Obeyed literally, the first one would repeat what is permanent.
#[derive(Fault)]
enum Foreign {
    #[fault(transparent)]
    A(Error),
    #[fault(source)]
    B(Error),
    #[fault(retryable)]
    C,
    #[fault(status)]
    D(u16),
    #[fault(retry_after)]
    E { wait: Option<std::time::Duration> },
    #[fault(code = 503)]
    F,
    #[fault(status)]
    G(u16, u16),
    H(#[fault(transparent)] Error),
    I(#[fault(http_status)] u16),
}

fn is_fault<T: Fault>(_: T) {}

fn main() {
    is_fault(Error::A);
    is_fault(Foreign::C);
}
