//! Fields of types near to what a fault reads: any integer as a status, an `Option` to forward to.

use backoff_core::{Delivery, Fault};
use ui::ApiError;

#[derive(Fault)]
#[fault(status = code)]
struct Signed {
    code: i32,
}

#[derive(Fault)]
enum Wide {
    #[fault(status = self.0 + 100)]
    Sum(u64),
    #[fault(status = code)]
    Maybe { code: Option<i64> },
    #[fault(status = 503)]
    Fixed,
}

#[derive(Fault)]
struct Perhaps<E> {
    #[fault(forward)]
    inner: Option<E>,
}

#[derive(Fault)]
#[fault(maybe_sent)]
struct Source {
    #[fault(forward)]
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

#[test]
fn works() {
    assert_eq!(Signed { code: 503 }.status(), Some(503));
    assert_eq!(Signed { code: -1 }.status(), None);
    assert_eq!(Wide::Sum(403).status(), Some(503));
    assert_eq!(Wide::Maybe { code: Some(503) }.status(), Some(503));
    assert_eq!(Wide::Maybe { code: None }.status(), None);
    assert_eq!(Wide::Fixed.status(), Some(503));
    assert_eq!(
        Perhaps {
            inner: Some(ApiError(503))
        }
        .status(),
        Some(503)
    );
    assert_eq!(Perhaps::<ApiError> { inner: None }.status(), None);
    assert_eq!(
        Source { source: None }.delivery(),
        Some(Delivery::MaybeSent)
    );
}
