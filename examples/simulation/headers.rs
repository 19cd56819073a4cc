//! What the replies of a service state of its limits: the truth, or not.

use rand::RngExt as _;
use rand::rngs::SmallRng;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use crate::quota::Left;

/// Which replies state that nothing is left.
#[derive(Clone, Copy)]
pub(crate) enum Zeros {
    None,
    /// Such a part of all.
    Part(f64),
    /// Those that refuse a call.
    Refusals,
}

#[derive(Clone, Copy)]
pub(crate) struct Stated {
    /// OpenAI's, of which each limit has its own, and not GitHub's, whose windows end in a whole second.
    pub(crate) is_steady: bool,
    /// All replies state that much is left, and not the truth.
    pub(crate) is_much: bool,
    pub(crate) zeros: Zeros,
    /// The seconds until the end that a reply states together with a zero.
    pub(crate) ends_in: f64,
    /// By so many seconds the stated end is later than the true one.
    pub(crate) late: f64,
    /// A reply states what was left so many seconds ago.
    pub(crate) old: f64,
    /// So many replies state anything.
    pub(crate) replies: usize,
}

impl Stated {
    /// The truth.
    const fn truth(is_steady: bool) -> Self {
        Self {
            is_steady,
            is_much: false,
            zeros: Zeros::None,
            ends_in: 0.0,
            late: 0.0,
            old: 0.0,
            replies: usize::MAX,
        }
    }

    pub(crate) const WINDOW: Self = Self::truth(false);
    pub(crate) const STEADY: Self = Self::truth(true);

    /// The headers of the reply with this number.
    pub(crate) fn headers(
        &self,
        truth: &[Left],
        number: usize,
        is_refused: bool,
        rng: &mut SmallRng,
    ) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let stated = if number < self.replies { truth } else { &[] };
        for (left, ending) in stated.iter().zip(["-requests", "-tokens"]) {
            let mut left = *left;
            if self.is_much {
                (left.limit, left.left, left.full_in) = (5_000.0, 4_000.0, 3_000.0);
            }
            left.full_in += self.late;
            let is_zero = match self.zeros {
                Zeros::None => false,
                Zeros::Part(part) => rng.random_bool(part),
                Zeros::Refusals => is_refused,
            };
            if is_zero {
                (left.left, left.full_in) = (0.0, self.ends_in);
            }
            let (ending, reset) = match self.is_steady {
                true => (ending, format!("{}ms", (left.full_in * 1e3).ceil())),
                false => ("", left.full_in.ceil().to_string()),
            };
            for (what, value) in [
                ("limit", left.limit.to_string()),
                ("remaining", left.left.floor().to_string()),
                ("reset", reset),
            ] {
                let name = HeaderName::try_from(format!("x-ratelimit-{what}{ending}"));
                if let (Ok(name), Ok(value)) = (name, HeaderValue::try_from(value)) {
                    headers.insert(name, value);
                }
            }
        }
        headers
    }
}
