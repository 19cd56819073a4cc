//! What the replies of a service state of its limits: the truth, or not.

use rand::RngExt as _;
use rand::rngs::SmallRng;
use reqwest::header::{HeaderMap, HeaderName};

use crate::quota::Left;

#[derive(Clone, Copy)]
pub(crate) struct Stated {
    /// OpenAI's names, of which each limit has its own, and not GitHub's, whose windows end in a whole second.
    pub(crate) is_steady: bool,
    /// Such a part of the replies states that nothing is left, and that this ends in so many seconds.
    pub(crate) zeros: (f64, f64),
    /// By so many seconds the stated end is later than the true one.
    pub(crate) late: f64,
    /// So many replies state anything.
    pub(crate) replies: usize,
}

impl Stated {
    /// The truth.
    pub(crate) const WINDOW: Self = Self {
        is_steady: false,
        zeros: (0.0, 0.0),
        late: 0.0,
        replies: usize::MAX,
    };

    pub(crate) const STEADY: Self = Self {
        is_steady: true,
        ..Self::WINDOW
    };

    /// The headers of a reply.
    pub(crate) fn headers(&self, truth: &[Left], rng: &mut SmallRng) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let (zeros, ends_in) = self.zeros;
        for (left, ending) in truth.iter().zip(["-requests", "-tokens"]) {
            let (remaining, full_in) = match rng.random_bool(zeros) {
                true => (0.0, ends_in),
                false => (left.left, left.full_in + self.late),
            };
            let (ending, reset) = match self.is_steady {
                true => (ending, format!("{}ms", (full_in * 1e3).ceil())),
                false => ("", full_in.ceil().to_string()),
            };
            for (what, value) in [
                ("limit", left.limit.to_string()),
                ("remaining", remaining.floor().to_string()),
                ("reset", reset),
            ] {
                let name = HeaderName::try_from(format!("x-ratelimit-{what}{ending}"));
                if let (Ok(name), Ok(value)) = (name, value.try_into()) {
                    headers.insert(name, value);
                }
            }
        }
        headers
    }
}
