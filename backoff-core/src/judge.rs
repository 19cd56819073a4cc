//! Decides whether a failure is retried: by the policy's codes, or by the caller's function.

use crate::{
    facts::{
        codes,
        fault::{Delivery, Fault, FaultKind, says_something},
        grpc::GrpcCode,
    },
    policy::Policy,
    runtime::nanos,
};
use core::time::Duration;

/// A judge's decision about one failure. The limits of the policy apply in addition to the decision.
///
/// A function given to `when` returns a `bool` or a `Verdict`. A `Verdict` can carry a hint.
///
/// ```
/// use backoff_core::{FaultKind, Verdict};
/// use std::time::Duration;
///
/// assert_eq!(Verdict::from(false), Verdict::Permanent);
/// let verdict = Verdict::from(true).after(Some(Duration::from_secs(3)));
/// assert_eq!(
///     verdict,
///     Verdict::Retry { kind: FaultKind::Transient, retry_after: Some(Duration::from_secs(3)) },
/// );
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The failure is retried.
    Retry {
        /// The kind of the failure.
        kind: FaultKind,
        /// How long the server asks the client to wait.
        retry_after: Option<Duration>,
    },
    /// The failure is not retryable.
    Permanent,
    /// Nothing is known about the error, so no rule applies and the failure is not retried.
    NothingKnown,
    /// The attempt may have been applied, and must not be applied twice.
    MaybeApplied,
    /// The server asked not to be called again.
    StoppedByServer,
}

impl Verdict {
    /// The same verdict with a server's hint. A verdict that stops the retries does not change.
    #[must_use]
    pub const fn after(self, hint: Option<Duration>) -> Self {
        match self {
            Verdict::Retry { kind, .. } => Verdict::Retry {
                kind,
                retry_after: hint,
            },
            stop => stop,
        }
    }
}

/// `true` means retry.
impl From<bool> for Verdict {
    #[inline]
    fn from(retry: bool) -> Self {
        if retry {
            Verdict::Retry {
                kind: FaultKind::Transient,
                retry_after: None,
            }
        } else {
            Verdict::Permanent
        }
    }
}

/// A [`Verdict`] that fits into two registers. The hot path passes this form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ruling {
    /// The server's hint in nanoseconds; zero means no hint. A hint of zero counts as a nanosecond.
    pub(crate) hint: u64,
    pub(crate) ruled: Ruled,
}

/// The kind of a [`Ruling`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ruled {
    Retry(FaultKind),
    Permanent,
    NothingKnown,
    MaybeApplied,
    StoppedByServer,
}

impl Ruling {
    /// Nothing is known about the error, so no rule applies.
    pub(crate) const NOTHING_KNOWN: Ruling = Ruling::of(Ruled::NothingKnown);

    /// Not retried: the policy does not name the code.
    pub(crate) const PERMANENT: Ruling = Ruling::of(Ruled::Permanent);

    /// Not repeated, because the attempt may have been applied.
    pub(crate) const MAYBE_APPLIED: Ruling = Ruling::of(Ruled::MaybeApplied);

    #[inline]
    const fn of(ruled: Ruled) -> Self {
        Ruling { hint: 0, ruled }
    }

    /// No attempt follows, because the failure is not retryable or nothing is known about it.
    #[inline]
    pub(crate) const fn is_permanent(self) -> bool {
        matches!(self.ruled, Ruled::Permanent | Ruled::NothingKnown)
    }

    /// Retried, because another writer was faster.
    #[inline]
    pub(crate) const fn is_conflict(self) -> bool {
        matches!(self.ruled, Ruled::Retry(FaultKind::Conflict))
    }

    /// Retried, because the value is not the awaited one yet.
    #[cfg(feature = "tracing")]
    pub(crate) const fn is_pending(self) -> bool {
        matches!(self.ruled, Ruled::Retry(FaultKind::Pending))
    }

    /// The kind of a failure at this stage of an update: a conflict only if the write was refused, because
    /// another writer was faster.
    pub(crate) const fn kind_at(self, stage: Stage) -> FaultKind {
        match (self.ruled, stage) {
            (Ruled::Retry(FaultKind::Conflict), Stage::Write | Stage::Conflict) => {
                FaultKind::Conflict
            }
            (Ruled::Retry(FaultKind::Throttled), _) => FaultKind::Throttled,
            _ => FaultKind::Transient,
        }
    }

    /// Whether an attempt that failed at this stage may have been applied. The facts of the failure decide;
    /// without facts, the kind that the judge has named decides. A policy with `idempotent(false)` does not
    /// repeat such an attempt.
    pub(crate) fn may_be_applied(self, stage: Stage, fault: Option<&dyn Fault>) -> bool {
        match stage {
            Stage::Cut | Stage::CutOnce | Stage::InDoubt => true,
            Stage::Whole | Stage::Write | Stage::WriteOnce => match (fault, self.ruled) {
                (Some(fault), _) => is_perhaps_applied(fault),
                (None, Ruled::Retry(kind)) => !did_nothing(kind),
                (None, _) => true,
            },
            Stage::Read
            | Stage::CutRead
            | Stage::Change
            | Stage::Conflict
            | Stage::Pending
            | Stage::Late
            | Stage::Queued
            | Stage::Refused => false,
        }
    }

    /// The ruling if the attempt may have been applied, and must not be applied twice.
    #[cfg(feature = "combine")]
    pub(crate) const fn not_repeated(self) -> Self {
        match self.ruled {
            Ruled::Retry(_) => Self::MAYBE_APPLIED,
            _ => self,
        }
    }

    /// Retried, without a server's hint.
    #[inline]
    pub(crate) const fn is_plain(self) -> bool {
        self.hint == 0 && matches!(self.ruled, Ruled::Retry(_))
    }
}

/// Whether a value with these facts is a success under every policy, because no code stands for 2xx.
#[inline]
pub(crate) fn is_success<F: Fault + ?Sized>(fault: &F) -> bool {
    matches!(fault.status(), Some(200..=299))
        && fault.kind().is_none()
        && fault.delivery().is_none()
        && fault.grpc_code().is_none()
}

impl Ruling {
    /// The server's hint in nanoseconds, and zero for a hint of zero.
    #[inline]
    pub(crate) const fn asked(self) -> u64 {
        if self.hint > 1 { self.hint } else { 0 }
    }
}

/// A hint for a [`Ruling`].
#[inline]
fn hint_of(hint: Option<Duration>) -> u64 {
    hint.map_or(0, |hint| nanos(hint).max(1))
}

impl From<Verdict> for Ruling {
    #[inline]
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Retry { kind, retry_after } => Ruling {
                hint: hint_of(retry_after),
                ruled: Ruled::Retry(kind),
            },
            Verdict::Permanent => Ruling::of(Ruled::Permanent),
            Verdict::NothingKnown => Ruling::NOTHING_KNOWN,
            Verdict::MaybeApplied => Ruling::MAYBE_APPLIED,
            Verdict::StoppedByServer => Ruling::of(Ruled::StoppedByServer),
        }
    }
}

impl From<Ruling> for Verdict {
    #[inline]
    fn from(ruling: Ruling) -> Self {
        match ruling.ruled {
            Ruled::Retry(kind) => Verdict::Retry {
                kind,
                retry_after: (ruling.hint > 0).then(|| Duration::from_nanos(ruling.asked())),
            },
            Ruled::Permanent => Verdict::Permanent,
            Ruled::NothingKnown => Verdict::NothingKnown,
            Ruled::MaybeApplied => Verdict::MaybeApplied,
            Ruled::StoppedByServer => Verdict::StoppedByServer,
        }
    }
}

/// The part of an attempt that failed. This part decides how the failure is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stage {
    /// The whole attempt.
    Whole,
    /// The read of a read-modify-write. A read can always be repeated, and after a conflict the next
    /// step is a read.
    Read,
    /// The write of a read-modify-write. After a conflict, the next step is a read.
    Write,
    /// The write of a read-modify-write whose change cannot recognise its own effect. A write that may
    /// have been applied is not repeated.
    WriteOnce,
    /// The change of a read-modify-write refused the value that it was given: no attempt follows.
    Change,
    /// The write's reply says that another writer was faster.
    Conflict,
    /// The value is not yet the expected one.
    Pending,
    /// The attempt was cut, and may have been applied.
    Cut,
    /// The attempt was cut during the read of a read-modify-write, which can always be repeated.
    CutRead,
    /// The attempt was cut during a [`WriteOnce`](Stage::WriteOnce).
    CutOnce,
    /// A write may have been applied, and the next read shows another version.
    InDoubt,
    /// The attempt did not begin, because no time was left.
    Late,
    /// The attempt did not begin, because the call waited too long for its turn at its rate.
    Queued,
    /// The attempt did not begin, because the breaker is open.
    Refused,
}

impl Stage {
    const fn is_step(self) -> bool {
        matches!(self, Stage::Read | Stage::Write | Stage::WriteOnce)
    }

    /// The stage of an attempt that was cut in this stage.
    #[inline]
    pub(crate) const fn cut(self) -> Self {
        match self {
            Stage::Read => Stage::CutRead,
            Stage::WriteOnce => Stage::CutOnce,
            _ => Stage::Cut,
        }
    }

    /// Whether the error describes something other than a failure of the operation.
    #[inline]
    pub(crate) const fn is_cut(self) -> bool {
        matches!(
            self,
            Stage::Cut
                | Stage::CutRead
                | Stage::CutOnce
                | Stage::Late
                | Stage::Queued
                | Stage::Refused
        )
    }

    /// Whether the judge decides about the error.
    #[inline]
    pub(crate) const fn is_judged(self) -> bool {
        matches!(
            self,
            Stage::Whole | Stage::Read | Stage::Write | Stage::WriteOnce
        )
    }

    /// The ruling for a failure that [no judge decides about](Self::is_judged). A cut attempt is a cut
    /// attempt, whatever error type the caller converted it to.
    #[cold]
    #[inline(never)]
    pub(crate) const fn ruling(self, policy: &Policy) -> Ruling {
        Ruling::of(match self {
            Stage::Cut if !policy.idempotent => Ruled::MaybeApplied,
            Stage::CutOnce | Stage::InDoubt => Ruled::MaybeApplied,
            Stage::Cut | Stage::CutRead => Ruled::Retry(FaultKind::Transient),
            Stage::Conflict => Ruled::Retry(FaultKind::Conflict),
            Stage::Pending => Ruled::Retry(FaultKind::Pending),
            _ => Ruled::Permanent,
        })
    }
}

impl Policy {
    /// Decides whether a failure is retried. The first rule that applies decides:
    ///
    /// 1. The server asked not to be called again ([`Fault::must_stop`]): not retried.
    /// 2. The error knows its [kind](Fault::kind): a permanent error is not retried, a conflict is
    ///    retried only [if the policy says so](Policy::retry_conflicts), the other kinds are retried.
    /// 3. The error has a [gRPC code](Fault::grpc_code): the policy's gRPC codes decide, whatever the
    ///    HTTP status is.
    /// 4. The error has an [HTTP status](Fault::status): the policy's statuses decide. It is throttled
    ///    where [`Policy::throttled_if`] says so.
    /// 5. The error is a [failure of the transport](Fault::delivery): retried.
    /// 6. Otherwise nothing is known about the error, and it is not retried.
    ///
    /// If the operation is not [idempotent](Policy::idempotent), a retryable failure is still not
    /// retried if the attempt may have been applied.
    #[inline]
    pub fn judge<F: Fault + ?Sized>(&self, fault: &F) -> Verdict {
        self.rule(Stage::Whole, fault).into()
    }

    /// Like [`judge`](Self::judge), for a failure at this stage.
    #[inline]
    pub(crate) fn rule<F: Fault + ?Sized>(&self, stage: Stage, fault: &F) -> Ruling {
        if fault.must_stop() {
            return Ruling::of(Ruled::StoppedByServer);
        }
        match self.kind_if_retried(stage, fault) {
            Some(kind) => self.retried(stage, kind, fault.retry_after(), fault),
            None if says_something(fault) => Ruling::of(Ruled::Permanent),
            None => Ruling::NOTHING_KNOWN,
        }
    }

    /// Whether a failure at this stage may be repeated although the attempt may have been applied.
    #[inline]
    const fn may_repeat(&self, stage: Stage) -> bool {
        match stage {
            Stage::Read => true,
            Stage::WriteOnce => false,
            _ => self.idempotent,
        }
    }

    /// Retried, unless the attempt may have been applied and must not be applied twice.
    #[inline]
    fn retried<F: Fault + ?Sized>(
        &self,
        stage: Stage,
        kind: FaultKind,
        hint: Option<Duration>,
        fault: &F,
    ) -> Ruling {
        // The most frequent case comes first.
        let is_harmless = self.idempotent && stage != Stage::WriteOnce;
        if !is_harmless && !self.may_repeat(stage) && is_perhaps_applied(fault) {
            return Ruling::MAYBE_APPLIED;
        }
        Ruling {
            hint: hint_of(hint),
            ruled: Ruled::Retry(kind),
        }
    }

    #[inline]
    fn kind_if_retried<F: Fault + ?Sized>(&self, stage: Stage, fault: &F) -> Option<FaultKind> {
        let kind = kind_of(fault);
        let retried = if fault.kind().is_some() {
            match kind {
                FaultKind::Permanent => false,
                FaultKind::Conflict => self.retry_conflicts || stage.is_step(),
                FaultKind::Transient | FaultKind::Throttled | FaultKind::Pending => true,
            }
        } else if let Some(code) = fault.grpc_code() {
            self.codes.contains_grpc(code)
                || stage.is_step() && codes::CONFLICTS.contains_grpc(code)
        } else if let Some(status) = fault.status() {
            if self.throttled_if.is_some_and(|is_limit| is_limit(&fault)) {
                return Some(FaultKind::Throttled);
            }
            self.codes.contains_status(status)
                || stage.is_step() && codes::CONFLICTS.contains_status(status)
        } else {
            fault.delivery().is_some()
        };
        retried.then_some(kind)
    }

    /// Like [`rule`](Self::rule), but an error about which nothing is known is repeated too, unless the
    /// attempt must not be applied twice.
    #[inline(never)]
    pub(crate) fn rule_any(&self, stage: Stage, fault: Option<&dyn Fault>) -> Ruling {
        let Some(fault) = fault else {
            return if self.may_repeat(stage) {
                Ruling::of(Ruled::Retry(FaultKind::Transient))
            } else {
                Ruling::MAYBE_APPLIED
            };
        };
        match self.rule(stage, fault) {
            Ruling::NOTHING_KNOWN => {
                self.retried(stage, FaultKind::Transient, fault.retry_after(), fault)
            }
            ruling => ruling,
        }
    }

    /// The verdict of the caller's function, completed by the error's own facts: the function replaces
    /// only the policy's codes.
    #[inline(never)]
    pub(crate) fn rule_by_verdict(
        &self,
        stage: Stage,
        verdict: Verdict,
        fault: Option<&dyn Fault>,
    ) -> Ruling {
        match (verdict, fault) {
            (Verdict::Retry { .. }, Some(fault)) if fault.must_stop() => {
                Ruling::of(Ruled::StoppedByServer)
            }
            (Verdict::Retry { kind, retry_after }, Some(fault)) => {
                let kind = match (kind, kind_of(fault)) {
                    (FaultKind::Transient, FaultKind::Permanent) => FaultKind::Transient,
                    (FaultKind::Transient, known) => known,
                    (kind, _) => kind,
                };
                self.retried(stage, kind, retry_after.or(fault.retry_after()), fault)
            }
            // Without facts, it is unknown whether the write was applied.
            (Verdict::Retry { kind, .. }, None)
                if stage == Stage::WriteOnce && !did_nothing(kind) =>
            {
                Ruling::MAYBE_APPLIED
            }
            (verdict, _) => verdict.into(),
        }
    }
}

/// The kind of the failure, from the error's own kind or from its code.
pub(crate) fn kind_of<F: Fault + ?Sized>(fault: &F) -> FaultKind {
    if let Some(kind) = fault.kind() {
        return kind;
    }
    match (fault.grpc_code(), fault.status()) {
        (Some(GrpcCode::ResourceExhausted), _) => FaultKind::Throttled,
        (Some(GrpcCode::Aborted | GrpcCode::FailedPrecondition), _) => FaultKind::Conflict,
        // One comparison excludes most statuses.
        (None, Some(status @ 409..=429)) => match status {
            429 => FaultKind::Throttled,
            409 | 412 => FaultKind::Conflict,
            _ => FaultKind::Transient,
        },
        _ => FaultKind::Transient,
    }
}

/// The HTTP status of a reply, or the one that its gRPC code stands for.
pub(crate) fn http_status(fault: &dyn Fault) -> Option<u16> {
    let grpc = fault.grpc_code().map(GrpcCode::http_status);
    grpc.or_else(|| fault.status())
}

/// What a breaker hears of a failure that is not retried: a success (nothing) if the service has answered the request, by a
/// status below 500 (or a gRPC code that stands for one) or by a code of its own.
pub(crate) fn unretried(fault: Option<&dyn Fault>) -> Option<FaultKind> {
    let is_answer = |fault: &dyn Fault| match http_status(fault) {
        Some(status) => status < 500 && status != 429 && status != 499,
        None => fault.service_code().is_some(),
    };
    let answered = fault.filter(|fault| fault.delivery().is_none());
    (!answered.is_some_and(is_answer)).then_some(FaultKind::Permanent)
}

/// Whether a failure of this kind means that the server did nothing.
const fn did_nothing(kind: FaultKind) -> bool {
    matches!(
        kind,
        FaultKind::Throttled | FaultKind::Conflict | FaultKind::Pending
    )
}

/// Whether the attempt may have been applied although it failed.
pub(crate) fn is_perhaps_applied<F: Fault + ?Sized>(fault: &F) -> bool {
    if let Some(transport) = fault.delivery() {
        return transport == Delivery::MaybeSent;
    }
    let says_it_did_nothing = match (fault.kind(), fault.grpc_code(), fault.status()) {
        (Some(kind), _, status) => did_nothing(kind) || matches!(status, Some(409 | 449)),
        (None, Some(code), _) => codes::NOTHING_DONE.contains_grpc(code),
        (None, None, Some(status)) => codes::NOTHING_DONE.contains_status(status),
        (None, None, None) => false,
    };
    !says_it_did_nothing
}

/// Whether a conditional write was refused for its value, so that a part of its changes may be accepted.
#[cfg(feature = "combine")]
pub(crate) fn refuses_value<F: Fault + ?Sized>(fault: &F) -> bool {
    is_refused(&codes::VALUE_REFUSED, fault)
}

/// Whether a conditional write may have been applied although it failed.
#[cfg(feature = "combine")]
pub(crate) fn is_perhaps_written<F: Fault + ?Sized>(fault: &F) -> bool {
    is_perhaps_applied(fault) && !is_refused(&codes::WRITE_REFUSED, fault)
}

/// Whether a reply refused the request by one of these codes. A failure of the transport has no code.
#[cfg(feature = "combine")]
fn is_refused<F: Fault + ?Sized>(codes: &codes::Codes, fault: &F) -> bool {
    fault.delivery().is_none()
        && matches!(fault.kind(), None | Some(FaultKind::Permanent))
        && match (fault.grpc_code(), fault.status()) {
            (Some(code), _) => codes.contains_grpc(code),
            (None, status) => status.is_some_and(|status| codes.contains_status(status)),
        }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{codes, test_error::TestError};
    use Delivery::{MaybeSent, NotSent};
    use FaultKind::{Conflict, Permanent, Throttled, Transient};
    use GrpcCode::{
        Aborted, AlreadyExists, InvalidArgument, NotFound, PermissionDenied, ResourceExhausted,
        Unavailable,
    };

    const POLICY: Policy = Policy::exponential().on(codes![429, 500, 503, crate::Codes::ABORTED]);
    const HINT: Duration = Duration::from_secs(3);

    const fn retried(kind: FaultKind) -> Verdict {
        Verdict::Retry {
            kind,
            retry_after: None,
        }
    }

    const fn status(status: u16) -> TestError {
        TestError::status(status)
    }

    /// The rules in their order: each one outranks those after it.
    #[test]
    fn a_policy_judges_by_its_rules_in_their_order() {
        let careful = POLICY.idempotent(false);
        let conflicts = POLICY.retry_conflicts(true);
        let limits = POLICY.throttled_if(|fault| fault.status() == Some(403));
        let conflict = status(503).and_kind(Conflict);
        let unavailable = status(503).and_grpc(Unavailable);
        let not_found = status(404).and_grpc(NotFound);
        let exists = status(409).and_grpc(AlreadyExists);
        let invalid = status(503).and_grpc(InvalidArgument);
        let away = status(404).and_grpc(Unavailable);
        let denied = status(403).and_grpc(PermissionDenied);
        let throttled = retried(Throttled).after(Some(HINT));
        let stops = unavailable.and_kind(Transient).asking_to_stop();
        let not_sent = |code| status(code).and_delivery(NotSent);
        for (policy, fault, verdict) in [
            (POLICY, stops, Verdict::StoppedByServer),
            // 2. The kind outranks every code.
            (POLICY, unavailable.and_kind(Permanent), Verdict::Permanent),
            (POLICY, not_found.and_kind(Transient), retried(Transient)),
            (POLICY, not_found.and_kind(Throttled), retried(Throttled)),
            (POLICY, conflict, Verdict::Permanent),
            (conflicts, conflict, retried(Conflict)),
            // 3. The gRPC code outranks the status, and tells the two kinds of 409 apart.
            (POLICY, status(409).and_grpc(Aborted), retried(Conflict)),
            (POLICY.also_on(codes![409]), exists, Verdict::Permanent),
            (POLICY, invalid, Verdict::Permanent),
            (POLICY, away, retried(Transient)),
            // 4. The status decides where there is no gRPC code.
            (POLICY, not_sent(429), retried(Throttled)),
            (POLICY, not_sent(503), retried(Transient)),
            (POLICY, not_sent(501), Verdict::Permanent),
            (POLICY, not_sent(409), Verdict::Permanent),
            (limits, status(403), retried(Throttled)),
            (limits, status(404), Verdict::Permanent),
            (limits, status(503), retried(Transient)),
            (limits, denied, Verdict::Permanent),
            (limits, status(403).and_kind(Permanent), Verdict::Permanent),
            (limits.idempotent(false), status(403), retried(Throttled)),
            // 5. A failure of the transport is retried where that is safe.
            (POLICY, TestError::LOST, retried(Transient)),
            (careful, TestError::LOST, Verdict::MaybeApplied),
            (careful, TestError::REFUSED, retried(Transient)),
            // 6. An error that says nothing is not retried.
            (POLICY, TestError::UNKNOWN, Verdict::NothingKnown),
            // A retried failure keeps its hint.
            (POLICY, status(429).after(HINT), throttled),
            (POLICY, status(404).after(HINT), Verdict::Permanent),
        ] {
            assert_eq!(policy.judge(&fault), verdict, "{fault:?}");
        }
    }

    #[test]
    fn what_must_not_be_made_twice_is_repeated_only_where_nothing_was_done() {
        let policy = POLICY
            .also_on(crate::codes![403, 408, 409, 412, 425, 449])
            .retry_conflicts(true);
        let careful = policy.idempotent(false);
        let code = |code| status(503).and_grpc(code);
        let kind = |kind| status(503).and_kind(kind);
        let nothing_done = [403, 408, 409, 412, 425, 429, 449]
            .map(status)
            .into_iter()
            .chain([
                code(PermissionDenied),
                code(ResourceExhausted),
                code(Unavailable).and_delivery(NotSent),
                kind(FaultKind::Pending),
                kind(Conflict),
                kind(Throttled),
                status(409).and_kind(Transient),
                status(449).and_kind(Transient),
            ]);
        let is_retried = |verdict| matches!(verdict, Verdict::Retry { .. });
        for facts in nothing_done {
            let verdict = careful.judge(&facts);
            assert!(is_retried(verdict), "{facts:?}");
            assert_eq!(verdict, policy.judge(&facts), "{facts:?}");
        }
        for facts in [
            status(500),
            status(503),
            code(Unavailable),
            kind(Transient),
            // The code outranks the status.
            status(429).and_grpc(Unavailable),
            status(429).and_delivery(MaybeSent),
        ] {
            assert!(is_retried(policy.judge(&facts)), "{facts:?}");
            assert_eq!(careful.judge(&facts), Verdict::MaybeApplied, "{facts:?}");
        }
        assert_eq!(careful.judge(&status(404)), Verdict::Permanent);
    }

    #[test]
    fn a_function_that_judges_faults_replaces_no_hint_and_no_request_to_stop() {
        let (yes, no) = (Verdict::from(true), Verdict::from(false));
        let careful = POLICY.idempotent(false);
        let hinted = |code| status(code).after(HINT);
        let (own, zero) = (Some(Duration::from_secs(1)), Some(Duration::ZERO));
        let [with_hint, with_own] = [Some(HINT), own].map(|wait| Verdict::from(true).after(wait));
        let (throttled, stopped) = (retried(Throttled), Verdict::StoppedByServer);
        for (policy, verdict, fault, expected) in [
            (careful, yes, status(503), Verdict::MaybeApplied),
            (careful, yes, status(429), throttled),
            (POLICY, yes, status(503), yes),
            (POLICY, yes, hinted(404), with_hint),
            (POLICY, yes, hinted(404).asking_to_stop(), stopped),
            (POLICY, no, hinted(503), Verdict::Permanent),
            (POLICY, with_own, hinted(429), throttled.after(own)),
            (POLICY, yes.after(zero), hinted(429), throttled.after(zero)),
        ] {
            let ruling = policy.rule_by_verdict(Stage::Whole, verdict, Some(&fault));
            assert_eq!(Verdict::from(ruling), expected, "{fault:?}");
        }
    }
}
