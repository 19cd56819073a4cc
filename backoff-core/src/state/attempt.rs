//! The number of an attempt and the time it has.

use super::request_id::RequestId;
#[cfg(feature = "rate")]
use crate::rate::counted;
use crate::{policy::NEVER, rate::AtRate};
use core::time::Duration;

/// The number of this attempt, the time that remains for it, the id of the call, whether an earlier
/// attempt of the call may have been applied, and whether this is the second request of a hedge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    number: u32,
    elapsed: u64,
    remaining: u64,
    id: RequestId,
    maybe_applied: bool,
    pub(crate) is_hedge: bool,
    /// What the rate of the call needs to know the attempt.
    at_rate: Option<AtRate>,
}

impl Attempt {
    #[inline]
    pub(super) const fn new(
        number: u32,
        elapsed: u64,
        remaining: u64,
        id: RequestId,
        at_rate: Option<AtRate>,
    ) -> Self {
        Attempt {
            number,
            elapsed,
            remaining,
            id,
            maybe_applied: false,
            is_hedge: false,
            at_rate,
        }
    }

    /// The same, and whether an earlier attempt may have been applied.
    #[inline]
    pub(crate) const fn remembering(self, maybe_applied: bool) -> Self {
        Attempt {
            maybe_applied,
            ..self
        }
    }

    /// The number of the attempt, from 1.
    pub const fn number(&self) -> u32 {
        self.number
    }

    /// The time since the start of the first attempt.
    pub const fn elapsed(&self) -> Duration {
        Duration::from_nanos(self.elapsed)
    }

    /// The rest of the deadline, or of the call's `timeout` if that is shorter; [`Duration::MAX`]
    /// without either.
    #[inline]
    pub const fn remaining(&self) -> Duration {
        shown(self.remaining)
    }

    /// The id of the call: the same in each attempt of the call, and different in each call if the
    /// runtime draws different random numbers for each call ([`RequestId`]).
    ///
    /// If a queue delivers a message again, that is another call, with another id. There, derive an
    /// idempotency key from the message.
    pub const fn id(&self) -> RequestId {
        self.id
    }

    /// Whether an earlier attempt of this call may have been applied: its reply was lost, the attempt was
    /// cut, or a proxy answered with 502. `false` in the first attempt.
    ///
    /// An upload whose first reply was lost finds its own file there: the second attempt is answered with
    /// 409. After a 429 or a refused connection nothing was uploaded, and the same 409 means the file of
    /// somebody else. So ask this, and not whether [`number`](Self::number) is greater than 1. `true` is no
    /// proof: somebody else may have been there as well. To be sure, read what the server has.
    ///
    /// An earlier attempt counts if a policy with [`idempotent(false)`](crate::Policy::idempotent) would
    /// have ended the call after it, with [`StopReason::MaybeApplied`](crate::StopReason::MaybeApplied). An
    /// error without facts, as under [`when_any`](crate::Policy::when_any), counts unless the function calls it
    /// throttled, a conflict or pending. A value that is not yet [the awaited one](crate::Retrying::until) does
    /// not count.
    ///
    /// Always `false` in an attempt of a [`RetryState`](crate::RetryState), which does not see the errors. Such a
    /// loop asks `policy.idempotent(false).judge(&error)`.
    ///
    /// ```
    /// use backoff_core::{Fault, Policy};
    ///
    /// #[derive(Debug, PartialEq)]
    /// struct Http(u16);
    /// impl Fault for Http {
    ///     fn status(&self) -> Option<u16> { Some(self.0) }
    /// }
    ///
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// // A server that answers with these, and what an upload makes of it.
    /// let upload = async |replies: [u16; 2]| {
    ///     let mut replies = replies.into_iter();
    ///     Policy::exponential()
    ///         .retry_with(|attempt| {
    ///             let status = replies.next().unwrap();
    ///             let is_ours = status == 409 && attempt.maybe_applied();
    ///             std::future::ready(if is_ours { Ok(()) } else { Err(Http(status)) })
    ///         })
    ///         .await
    /// };
    /// assert_eq!(upload([502, 409]).await, Ok(()));
    /// assert_eq!(upload([429, 409]).await, Err(Http(409)));
    /// # }
    /// # #[cfg(not(feature = "tokio"))] fn main() {}
    /// ```
    pub const fn maybe_applied(&self) -> bool {
        self.maybe_applied
    }

    /// Whether this is the second request of an attempt whose first request is slow: a [`Hedge`](crate::Hedge)
    /// began it. Send it to another replica than the first request. The two requests have the same
    /// [`number`](Self::number) and the same [`id`](Self::id).
    ///
    /// ```
    /// use backoff_core::{Hedge, Policy, TimedOut};
    /// use std::time::Duration;
    ///
    /// static READS: Hedge = Hedge::after(Duration::from_millis(50));
    ///
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// // The first replica is slow.
    /// let get = async |replica| {
    ///     if replica == "a" { tokio::time::sleep(Duration::from_secs(9)).await }
    ///     Ok::<_, TimedOut>(replica)
    /// };
    /// let answered = Policy::exponential()
    ///     .retry_with(|attempt| get(if attempt.is_hedge() { "b" } else { "a" }))
    ///     .hedge(&READS)
    ///     .await;
    /// assert_eq!(answered, Ok("b"));
    /// # }
    /// # #[cfg(not(feature = "tokio"))] fn main() {}
    /// ```
    pub const fn is_hedge(&self) -> bool {
        self.is_hedge
    }
}

#[cfg(feature = "rate")]
impl Attempt {
    /// The [`Rate`](crate::Rate) of the call learns from the headers of this attempt's reply what remains of the service's quotas: as
    /// [`Rate::observe`](crate::Rate::observe), from any thread. Only for replies that the library does not see, and for those that another task
    /// reads. Without a rate, nothing happens.
    ///
    /// ```
    /// # use backoff_core::{Policy, Rate, TimedOut};
    /// # use http_1 as http;
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), TimedOut> {
    /// static OPENAI: Rate = Rate::new();
    /// const POLICY: Policy = Policy::exponential().rate(&OPENAI);
    ///
    /// # async fn send() -> http::HeaderMap { http::HeaderMap::new() }
    /// POLICY
    ///     .retry_with(async |attempt| {
    ///         let reads = tokio::spawn(async move { attempt.observe(&send().await) });
    ///         reads.await.map_err(|_| TimedOut::new(std::time::Duration::ZERO))
    ///     })
    ///     .await
    /// # }
    /// # #[cfg(not(feature = "tokio"))] fn main() {}
    /// ```
    #[cfg(feature = "http-1")]
    pub fn observe(&self, headers: &http_1::HeaderMap) {
        if let Some(at_rate) = self.at_rate {
            at_rate.observe(headers);
        }
    }

    /// Says how many tokens of the service's quotas this attempt has used: as [`Rate::used`](crate::Rate::used), from any thread. Without a rate,
    /// nothing happens.
    ///
    /// ```
    /// # use backoff_core::{Policy, Rate, TimedOut};
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), TimedOut> {
    /// static CLAUDE: Rate = Rate::new();
    /// const POLICY: Policy = Policy::exponential().rate(&CLAUDE);
    ///
    /// # struct Answer { output_tokens: usize }
    /// # async fn ask() -> Result<Answer, TimedOut> { Ok(Answer { output_tokens: 7 }) }
    /// let answer = POLICY
    ///     .retry_with(async |attempt| {
    ///         let answer = ask().await?;
    ///         attempt.used(answer.output_tokens);
    ///         Ok::<_, TimedOut>(answer)
    ///     })
    ///     .tokens(500_usize) // the estimate
    ///     .await?;
    /// # Ok(()) }
    /// # #[cfg(not(feature = "tokio"))] fn main() {}
    /// ```
    pub fn used(&self, tokens: impl TryInto<u32>) {
        if let Some(at_rate) = self.at_rate {
            at_rate.used(counted(tokens));
        }
    }
}

/// The remaining time as a `Duration`.
#[inline]
pub(super) const fn shown(remaining: u64) -> Duration {
    match remaining {
        NEVER => Duration::MAX,
        nanos => Duration::from_nanos(nanos),
    }
}
