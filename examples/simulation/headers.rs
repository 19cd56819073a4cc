//! What the replies of a service state of its limit: the truth, or not.

use rand::RngExt as _;
use rand::rngs::SmallRng;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use crate::quota::Left;

/// The names of the headers.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Names {
    /// GitHub's, whose quotas have windows that end in a whole second.
    Window,
    /// OpenAI's, whose quotas are refilled steadily.
    Steady,
}

/// Which replies state that nothing is left.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Zeros {
    None,
    /// Such a part of all.
    Part(f64),
    /// This one.
    One(u32),
    /// Those that refuse a call.
    Refusals,
}

#[derive(Clone, Copy)]
pub(crate) struct Stated {
    pub(crate) names: Names,
    /// All replies state this and not the truth.
    pub(crate) instead: Option<Left>,
    pub(crate) zeros: Zeros,
    /// The seconds until the end that a reply states together with a zero.
    pub(crate) ends_in: f64,
    /// By so many seconds the stated end is later than the true one.
    pub(crate) late: f64,
    /// So many replies state anything.
    pub(crate) replies: u32,
}

impl Stated {
    /// The truth.
    pub(crate) const fn under(names: Names) -> Self {
        Self {
            names,
            instead: None,
            zeros: Zeros::None,
            ends_in: 0.0,
            late: 0.0,
            replies: u32::MAX,
        }
    }

    /// The headers of the reply with this number.
    pub(crate) fn headers(
        &self,
        truth: Left,
        number: u32,
        is_refused: bool,
        rng: &mut SmallRng,
    ) -> HeaderMap {
        let mut headers = HeaderMap::new();
        if number >= self.replies {
            return headers;
        }
        let mut left = self.instead.unwrap_or(truth);
        left.full_in += self.late;
        let is_zero = match self.zeros {
            Zeros::None => false,
            Zeros::Part(part) => rng.random_bool(part),
            Zeros::One(one) => number == one,
            Zeros::Refusals => is_refused,
        };
        if is_zero {
            (left.left, left.full_in) = (0.0, self.ends_in);
        }
        match self.names {
            Names::Window => state(&mut headers, "", &left),
            Names::Steady => state(&mut headers, "-requests", &left),
        }
        headers
    }
}

/// Adds what is left of a quota, under names with this ending. Without an ending, the times have whole seconds.
pub(crate) fn state(headers: &mut HeaderMap, ending: &str, left: &Left) {
    let Left {
        limit,
        left,
        full_in,
    } = *left;
    let reset = match ending {
        "" => format!("{}", full_in.ceil()),
        _ => format!("{}ms", (full_in * 1e3).ceil()),
    };
    for (what, value) in [
        ("limit", limit.to_string()),
        ("remaining", left.floor().to_string()),
        ("reset", reset),
    ] {
        let name = HeaderName::try_from(format!("x-ratelimit-{what}{ending}"));
        if let (Ok(name), Ok(value)) = (name, HeaderValue::try_from(value)) {
            headers.insert(name, value);
        }
    }
}
