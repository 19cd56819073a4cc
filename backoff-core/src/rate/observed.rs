//! What the headers of replies state of quotas, and the attempt to which a reply belongs.

use super::{Attempt, Rate, Shared};
use core::cell::RefCell;
use std::sync::Arc;

#[cfg(feature = "http-1")]
use super::{ON, control::UNREAD, quotas::Share};
#[cfg(feature = "http-1")]
use crate::facts::quota::{header_pairs, quotas};
#[cfg(feature = "http-1")]
use crate::runtime::{Clock as _, Std, date};
#[cfg(feature = "http-1")]
use core::sync::atomic::Ordering::Release;

/// An attempt, and its rate.
type Running = (Arc<Shared>, Attempt);

std::thread_local! {
    /// The attempts of rates that this thread runs, one inside of the other: the
    /// [`id`](crate::call::call_state::CallState::id) of the call, its rate, and the attempt.
    static RUNNING: RefCell<Vec<(usize, Running)>> = const { RefCell::new(Vec::new()) };
}

impl Rate {
    /// From now on this thread runs this attempt of the call.
    pub(crate) fn runs(&self, call: usize, attempt: Attempt) {
        let attempt = (Arc::clone(self.shared()), attempt);
        RUNNING.with_borrow_mut(|running| running.push((call, attempt)));
    }

    /// This thread does not run an attempt of this call any more.
    pub(crate) fn pauses(&self, call: usize) {
        RUNNING.with_borrow_mut(|running| running.retain(|it| it.0 != call));
    }

    /// Learns from the headers of a reply what remains of the service's quotas: see [the page above](Rate#quotas). Only
    /// needed where no function of this library sees the reply: `send` and the functions of `backoff-cloud`'s `http` and
    /// the layer of tower call `observe` themselves, for calls whose policy or settings name a rate.
    ///
    /// Call `observe` for every reply, a success too, best inside of the attempt: then the rate knows which attempt has
    /// the reply. A header that makes no sense changes nothing, and the first one of a rate is named in a `WARN`.
    ///
    /// ```
    /// use backoff_core::Rate;
    /// # use http_1 as http;
    ///
    /// static OPENAI: Rate = Rate::new();
    ///
    /// let mut headers = http::HeaderMap::new();
    /// headers.insert("x-ratelimit-limit-requests", "500".parse().unwrap());
    /// headers.insert("x-ratelimit-remaining-requests", "499".parse().unwrap());
    /// headers.insert("x-ratelimit-reset-requests", "120ms".parse().unwrap());
    /// OPENAI.observe(&headers);
    /// ```
    #[cfg(feature = "http-1")]
    pub fn observe(&self, headers: &http_1::HeaderMap) {
        let own = running().filter(|it| Arc::ptr_eq(&it.0, self.shared()));
        self.shared().observe(headers, own.map(|it| it.1));
    }
}

/// The attempt that this thread runs, and its rate.
#[cfg(feature = "http-1")]
fn running() -> Option<Running> {
    RUNNING.with_borrow(|running| running.last().map(|it| it.1.clone()))
}

/// The rate of the attempt that this thread runs, if there is one, learns from the headers of the reply.
#[cfg(feature = "http-1")]
pub fn observe_reply(headers: &http_1::HeaderMap) {
    if let Some((shared, attempt)) = running() {
        shared.observe(headers, Some(attempt));
    }
}

#[cfg(feature = "http-1")]
impl Shared {
    fn observe(&self, headers: &http_1::HeaderMap, attempt: Option<Attempt>) {
        let (stated, unread) = quotas(|| header_pairs(headers), date());
        if let Some((header, value)) = unread
            && self.lock().control.is_first_warning(UNREAD)
        {
            #[cfg(feature = "tracing")]
            tracing::warn!(
                target: "backoff",
                rate = self.name,
                header,
                value = %crate::text::Loggable(&String::from_utf8_lossy(value)),
                "{UNREAD}"
            );
            let _ = (header, value);
        }
        if stated.is_empty() {
            return;
        }
        let attempt = attempt.map(|(number, tokens)| (number, Share::of(tokens)));
        self.lock().stated.push((stated, attempt, Std.now()));
        // The next call reads the clock.
        self.flag.fetch_or(ON, Release);
    }
}
