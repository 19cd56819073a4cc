//! What is learned of quotas from the headers of replies and from the program, and the attempt to which that belongs.

#[cfg(feature = "http-1")]
use super::control::UNREAD;
use super::{CountedAttempt, Heard, ON, Rate, Shared, Tokens, quotas::Share};
#[cfg(feature = "http-1")]
use crate::facts::quota::{header_pairs, quotas};
#[cfg(feature = "http-1")]
use crate::runtime::date;
use crate::{
    running::{Stack, enter, leave},
    runtime::{Clock as _, Std},
};
use core::{
    cell::{Cell, RefCell},
    sync::atomic::Ordering::Release,
};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError, Weak},
};

/// The most replies that are kept until a call reads the clock.
const MOST_HEARD: usize = 32;

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

/// The rates that have made attempts. An attempt has the number of its rate: so it is `Copy`, and finds its rate on any
/// thread.
static RATES: Mutex<BTreeMap<u32, Weak<Shared>>> = Mutex::new(BTreeMap::new());

fn with_rates<T>(change: impl FnOnce(&mut BTreeMap<u32, Weak<Shared>>) -> T) -> T {
    change(&mut RATES.lock().unwrap_or_else(PoisonError::into_inner))
}

/// The number of an attempt's rate, and the attempt at that rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AtRate(u32, CountedAttempt);

impl AtRate {
    fn rate(self) -> Option<Arc<Shared>> {
        with_rates(|rates| rates.get(&self.0)?.upgrade())
    }

    #[cfg(feature = "http-1")]
    pub(crate) fn observe(self, headers: &http_1::HeaderMap) {
        if let Some(rate) = self.rate() {
            rate.observe(headers, Some(self.1));
        }
    }

    pub(crate) fn used(self, tokens: Tokens) {
        if let Some(rate) = self.rate() {
            rate.hears(Heard::Used(tokens), Some(self.1));
        }
    }
}

impl Shared {
    pub(super) fn enlist(self: &Arc<Self>) {
        with_rates(|rates| rates.insert(self.id, Arc::downgrade(self)));
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        with_rates(|rates| rates.remove(&self.id));
    }
}

/// So many tokens, or as many as are counted.
pub(crate) fn counted(tokens: impl TryInto<Tokens>) -> Tokens {
    tokens.try_into().unwrap_or(Tokens::MAX)
}

impl Rate {
    /// An attempt of this rate.
    pub(crate) fn attempt(&self, attempt: CountedAttempt) -> AtRate {
        AtRate(self.shared().id, attempt)
    }

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
        self.shared().observe(headers, self.running_attempt());
    }

    /// Says how many tokens of the service's quotas were used that no reply has stated yet, such as those of a stream that has
    /// ended. They are subtracted until the reply of a later attempt states what remains. Inside of an attempt whose reply has
    /// not come, the number replaces that of [`tokens`](crate::Retrying::tokens). A number that is no `u32`, such as a negative
    /// one, counts as [`u32::MAX`].
    ///
    /// A service that counts the tokens before it answers, as OpenAI does, needs no such word. Without quotas of tokens, nothing
    /// happens.
    ///
    /// ```
    /// # use backoff_core::Rate;
    /// # static CLAUDE: Rate = Rate::new();
    /// # let output_tokens = 800_usize;
    /// CLAUDE.used(output_tokens);
    /// ```
    pub fn used(&self, tokens: impl TryInto<u32>) {
        let heard = Heard::Used(counted(tokens));
        self.shared().hears(heard, self.running_attempt());
    }

    /// The attempt of this rate that this thread runs.
    fn running_attempt(&self) -> Option<CountedAttempt> {
        let of_rate = |it: &&(Arc<Shared>, CountedAttempt)| Arc::ptr_eq(&it.0, self.shared());
        let own = RUNNING.try_with(|running| {
            let running = running.borrow();
            let mut all = running.iter().rev().flatten();
            all.find(of_rate).map(|it| it.1)
        });
        own.ok().flatten()
    }
}

/// The rate of the innermost call of which this thread runs an attempt learns from the headers of the reply, if the call has
/// a rate.
#[cfg(feature = "http-1")]
pub fn observe_reply(headers: &http_1::HeaderMap) {
    let innermost = RUNNING.try_with(|running| running.borrow().last().cloned());
    match innermost {
        Ok(Some(Some((shared, attempt)))) => shared.observe(headers, Some(attempt)),
        #[cfg(feature = "tracing")]
        Ok(None)
            if tracing::enabled!(target: "backoff", tracing::Level::DEBUG)
                && !quotas(|| header_pairs(headers), date()).0.is_empty() =>
        {
            tracing::debug!(target: "backoff", "{UNHEARD}");
        }
        _ => {}
    }
}

#[cfg(all(feature = "http-1", feature = "tracing"))]
const UNHEARD: &str = "a reply states quotas, and this thread runs no attempt of a call with a rate: if the reply belongs to \
     such a call, pass its headers to `Attempt::observe`";

impl Shared {
    #[cfg(feature = "http-1")]
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
        if !stated.is_empty() {
            self.hears(Heard::Stated(stated), attempt);
        }
    }

    fn hears(&self, heard: Heard, attempt: Option<CountedAttempt>) {
        let attempt = attempt.map(|(number, tokens)| (number, Share::of(tokens)));
        let mut state = self.lock();
        state.heard.push((heard, attempt, Std.now()));
        if state.heard.len() > MOST_HEARD
            && let Heard::Used(oldest) = state.heard.remove(0).0
        {
            // A newer reply takes the place of an older one, but tokens are added up.
            let used = state.heard.iter_mut().find_map(|(heard, ..)| match heard {
                Heard::Used(tokens) => Some(tokens),
                Heard::Stated(_) => None,
            });
            if let Some(tokens) = used {
                *tokens = tokens.saturating_add(oldest);
            }
        }
        drop(state);
        // The next call reads the clock.
        self.flag.fetch_or(ON, Release);
    }
}
