//! What the headers of replies state of quotas, and the attempt to which a reply belongs.

use super::{CountedAttempt, Rate, Shared};
#[cfg(feature = "http-1")]
use super::{ON, control::UNREAD, quotas::Share};
#[cfg(feature = "http-1")]
use crate::facts::quota::{header_pairs, quotas};
use crate::running::{Stack, enter, leave};
#[cfg(feature = "http-1")]
use crate::runtime::{Clock as _, Std, date};
use core::cell::{Cell, RefCell};
#[cfg(feature = "http-1")]
use core::sync::atomic::Ordering::Release;
use std::sync::Arc;

/// The most replies that are kept until a call reads the clock.
#[cfg(feature = "http-1")]
const MOST_STATED: usize = 32;

/// An attempt, and its rate. Nothing for the attempt of a call without a rate: the replies that it gets belong to no rate.
type ObservedAttempt = Option<(Arc<Shared>, CountedAttempt)>;

std::thread_local! {
    /// The attempts that this thread runs, one inside of the other. Empty, unless one of them has a rate.
    static RUNNING: Stack<ObservedAttempt> = const { RefCell::new(Vec::new()) };
    /// How many they are. A number of its own, so that an attempt without a rate does not look at the list.
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

fn begin_scope(attempt: ObservedAttempt) -> bool {
    let enters = enter(&RUNNING, attempt);
    COUNT.set(COUNT.get() + usize::from(enters));
    enters
}

/// The thread does not run the innermost attempt any more.
#[cold]
#[inline(never)]
pub(crate) fn end_scope() {
    leave(&RUNNING);
    COUNT.set(COUNT.get() - 1);
}

/// Whether an attempt of a call with a rate runs on this thread.
#[inline(always)]
pub(crate) fn is_inside() -> bool {
    COUNT.get() > 0
}

/// Inside of such an attempt, an attempt of a call without a rate runs on this thread. Returns whether it does.
#[cold]
#[inline(never)]
pub(crate) fn begin_scope_without_rate() -> bool {
    begin_scope(None)
}

impl Rate {
    /// This attempt runs on this thread, until [`end_scope`]. Returns whether it does.
    pub(crate) fn begin_scope(&self, attempt: CountedAttempt) -> bool {
        begin_scope(Some((Arc::clone(self.shared()), attempt)))
    }

    /// Learns from the headers of a reply what remains of the service's quotas: see [the page above](Rate#quotas). Only for
    /// replies that the library does not see. Call it for every reply, a success too, best inside of the attempt: then the rate
    /// knows which attempt has the reply.
    ///
    /// ```
    /// # use backoff_core::Rate;
    /// # use http_1 as http;
    /// # static OPENAI: Rate = Rate::new();
    /// # let mut headers = http::HeaderMap::new();
    /// # headers.insert("x-ratelimit-limit-requests", "500".parse().unwrap());
    /// headers.insert("x-ratelimit-remaining-requests", "499".parse().unwrap());
    /// # headers.insert("x-ratelimit-reset-requests", "120ms".parse().unwrap());
    /// OPENAI.observe(&headers);
    /// ```
    #[cfg(feature = "http-1")]
    pub fn observe(&self, headers: &http_1::HeaderMap) {
        let of_rate = |it: &&(Arc<Shared>, CountedAttempt)| Arc::ptr_eq(&it.0, self.shared());
        let own = RUNNING.try_with(|running| {
            let running = running.borrow();
            let mut all = running.iter().rev().flatten();
            all.find(of_rate).map(|it| it.1)
        });
        self.shared().observe(headers, own.ok().flatten());
    }
}

/// The rate of the innermost call of which this thread runs an attempt learns from the headers of the reply, if the call has
/// a rate.
#[cfg(feature = "http-1")]
pub fn observe_reply(headers: &http_1::HeaderMap) {
    let innermost = RUNNING.try_with(|running| running.borrow().last().cloned());
    if let Ok(Some(Some((shared, attempt)))) = innermost {
        shared.observe(headers, Some(attempt));
    }
}

#[cfg(feature = "http-1")]
impl Shared {
    fn observe(&self, headers: &http_1::HeaderMap, attempt: Option<CountedAttempt>) {
        let (stated, unread) = quotas(|| header_pairs(headers), date());
        if let Some((header, value)) = unread
            && self.lock().control.is_first_warning(UNREAD)
        {
            #[cfg(feature = "tracing")]
            tracing::warn!(
                target: "backoff",
                rate = self.name.get(),
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
        let mut state = self.lock();
        if state.stated.len() == MOST_STATED {
            state.stated.remove(0);
        }
        state.stated.push((stated, attempt, Std.now()));
        drop(state);
        // The next call reads the clock.
        self.flag.fetch_or(ON, Release);
    }
}
