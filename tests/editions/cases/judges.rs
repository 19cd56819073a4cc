//! Who decides: patterns beside codes, and what an error says.

use super::*;

#[derive(Debug, PartialEq)]
enum Kind {
    A,
    Api { code: u16, detail: u32 },
    Unavailable,
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

/// Codes are judged by the policy, patterns are retried. A path to a single letter, and one to a name of gRPC, is
/// a variant.
#[test]
fn patterns_beside_codes() {
    #[retry(base = "1ms", on = [429, MINE, Kind::A, Kind::Unavailable, Kind::Api { code: 404, detail } if *detail == 3, Kind::Api { detail: 9, .. }, Kind::Io(1 | 2)])]
    async fn mixed(flaky: &Flaky, error: fn(u32) -> Kind) -> Result<u32, Kind> {
        flaky.call().map_err(|_| error(flaky.calls()))
    }
    fn missing(detail: u32) -> Kind {
        Kind::Api { code: 404, detail }
    }
    let rows: [(fn(u32) -> Kind, u32); 9] = [
        (|_| Kind::A, 3),
        (|_| Kind::Unavailable, 3),
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
fn calls_that_must_not_be_made_twice() {
    #[derive(Debug, Fault)]
    enum Pay {
        #[fault(maybe_sent)]
        Reset,
        #[fault(permanent)]
        Gone,
        #[fault(throttled)]
        TooFast,
    }
    type Answer = Result<u32, Pay>;
    #[retry(base = "1ms", on = [429, Pay::Reset { .. }, Pay::Gone | Pay::TooFast], idempotent = false)]
    fn once(flaky: &Flaky, error: fn() -> Pay) -> Answer {
        flaky.call().map_err(|_| error())
    }
    #[retry(base = "1ms", on = [429], idempotent)]
    fn again(flaky: &Flaky, error: fn() -> Pay) -> Answer {
        flaky.call().map_err(|_| error())
    }
    let rows: [(fn(&Flaky, fn() -> Pay) -> Answer, fn() -> Pay, u32); 4] = [
        (once, || Pay::Reset, 1),
        (once, || Pay::Gone, 1),
        (once, || Pay::TooFast, 3),
        (again, || Pay::Reset, 3),
    ];
    for (row, &(call, error, calls)) in rows.iter().enumerate() {
        let got = asked(|flaky| call(flaky, error).is_ok());
        assert_eq!(got, (calls, calls == 3), "row {}", row);
    }
}
