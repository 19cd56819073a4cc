//! Who decides: patterns beside codes, and what an error says.

use super::*;

/// Without codes and judges nothing is asked of the error's type.
#[test]
fn errors_that_say_nothing() {
    #[retry(base = "1ms")]
    async fn text(flaky: &Flaky) -> Result<u32, String> {
        flaky.call().map_err(|error| error.to_string())
    }
    #[retry(base = "1ms", on = [Code::Unavailable])]
    fn pattern(flaky: &Flaky, error: fn() -> Code) -> Result<u32, Code> {
        flaky.call().map_err(|_| error())
    }
    assert_eq!(run(text(&Flaky::failing(2))), Ok(3));
    let busy = asked(|flaky| pattern(flaky, || Code::Unavailable));
    assert_eq!(busy, (3, Ok(3)));
    let gone = asked(|flaky| pattern(flaky, || Code::NotFound));
    assert_eq!(gone, (1, Err(Code::NotFound)));
}

/// Variants that are named as well-known ones.
#[derive(Debug, PartialEq)]
enum Code {
    NotFound,
    Unavailable,
}

#[derive(Debug, PartialEq)]
enum Kind {
    A,
    Busy { since: u32 },
    Api { code: u16, detail: u32 },
    Gone,
    Io(u8),
}

impl Fault for Kind {
    fn status(&self) -> Option<u16> {
        match self {
            Kind::Api { code, .. } => Some(*code),
            _ => None,
        }
    }
}

const MINE: Codes = codes![500..=504];

/// Codes are judged by the policy, patterns are retried. A path to a single letter is a variant.
#[retry(base = "1ms", on = [429, MINE, Kind::A, Kind::Busy { .. }, Kind::Api { code: 404, detail } if *detail == 3, Kind::Api { detail: 9, .. }, Kind::Io(1 | 2)])]
async fn mixed(flaky: &Flaky, error: fn(u32) -> Kind) -> Result<u32, Kind> {
    flaky.call().map_err(|_| error(flaky.calls()))
}

fn missing(detail: u32) -> Kind {
    Kind::Api { code: 404, detail }
}

#[test]
fn patterns_beside_codes() {
    let rows: [(fn(u32) -> Kind, u32); 9] = [
        (|_| Kind::A, 3),
        (|since| Kind::Busy { since }, 3),
        (|_| Kind::Gone, 1),
        (|_| Kind::Io(2), 3),
        (|_| Kind::Io(3), 1),
        (|detail| Kind::Api { code: 503, detail }, 3),
        (|call| missing(call + 2), 2),
        (|call| missing(call + 3), 1),
        // The guard says no, so the next pattern is tried.
        (|_| missing(9), 3),
    ];
    for (error, calls) in rows {
        let got = asked(|flaky| run(mixed(flaky, error)));
        assert_eq!(got.0, calls, "{:?}", error(1));
    }
}

/// A pattern repeats neither what may have arrived and must not be made twice, nor what stays as it is: that says
/// nothing of what was done.
#[test]
fn patterns_of_a_call_that_must_not_be_made_twice() {
    #[derive(Debug, Fault)]
    enum Pay {
        #[fault(maybe_sent)]
        Reset,
        #[fault(permanent)]
        Gone,
        #[fault(throttled)]
        TooFast,
    }
    #[retry(base = "1ms", on = [429, Pay::Reset { .. }, Pay::Gone | Pay::TooFast], idempotent = false)]
    fn charge(flaky: &Flaky, error: fn() -> Pay) -> Result<u32, Pay> {
        flaky.call().map_err(|_| error())
    }
    let rows: [(fn() -> Pay, u32); 3] =
        [(|| Pay::Reset, 1), (|| Pay::Gone, 1), (|| Pay::TooFast, 3)];
    for (error, calls) in rows {
        let got = asked(|flaky| charge(flaky, error));
        assert_eq!((got.0, got.1.is_ok()), (calls, calls == 3), "{:?}", error());
    }
}

#[test]
fn what_an_error_says_of_its_delivery_and_of_a_wait() {
    #[derive(Debug, PartialEq, Fault)]
    #[fault(status = 429, retry_after = Duration::from_secs(7))]
    struct Hinted;
    #[retry(on = [503], base = "1ms", idempotent = false)]
    async fn once(flaky: &Flaky) -> Result<u32, Error> {
        flaky.call().map_err(|_| Error::Reset)
    }
    #[retry(on = [503], base = "1ms", idempotent)]
    async fn again(flaky: &Flaky) -> Result<u32, Error> {
        flaky.call().map_err(|_| Error::Reset)
    }
    #[retry(on = [429], base = "1ms", throttled_base = "2ms", max_retry_after = "5s")]
    fn too_long_a_hint(flaky: &Flaky) -> Result<u32, Hinted> {
        flaky.call().map_err(|_| Hinted)
    }
    assert_eq!(asked(|flaky| run(once(flaky))), (1, Err(Error::Reset)));
    assert_eq!(asked(|flaky| run(again(flaky))), (3, Ok(3)));
    assert_eq!(asked(too_long_a_hint), (1, Err(Hinted)));
}
