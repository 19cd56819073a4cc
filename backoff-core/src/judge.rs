//! Decides whether a failure is retried: by the policy's codes, or by the caller's function.

use crate::{
    facts::{
        codes,
        fault::{Fault, FaultKind, is_perhaps_applied, says_something},
        grpc::GrpcCode,
    },
    policy::Policy,
    runtime::nanos,
    stage::{EndedBy, Stage},
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

    const fn retry(kind: FaultKind) -> Self {
        Verdict::Retry {
            kind,
            retry_after: None,
        }
    }

    /// The kind of a failure that is retried.
    #[inline]
    pub(crate) const fn retried(self) -> Option<FaultKind> {
        match self {
            Verdict::Retry { kind, .. } => Some(kind),
            _ => None,
        }
    }

    /// The server's hint in nanoseconds; zero without a hint.
    #[inline]
    pub(crate) const fn hint(self) -> u64 {
        match self {
            Verdict::Retry {
                retry_after: Some(hint),
                ..
            } => nanos(hint),
            _ => 0,
        }
    }

    /// No attempt follows, because the failure is not retryable or nothing is known about it.
    #[inline]
    pub(crate) const fn is_permanent(self) -> bool {
        matches!(self, Verdict::Permanent | Verdict::NothingKnown)
    }

    /// Retried, because another writer was faster.
    #[inline]
    pub(crate) const fn is_conflict(self) -> bool {
        matches!(self.retried(), Some(FaultKind::Conflict))
    }

    /// The kind of a failure at this stage of an update: a conflict only if the write was refused, because
    /// another writer was faster.
    pub(crate) const fn kind_at(self, stage: Stage) -> FaultKind {
        let is_write = stage.is_write() || matches!(stage, Stage::Reply);
        match self.retried() {
            Some(FaultKind::Conflict) if is_write => FaultKind::Conflict,
            Some(FaultKind::Throttled) => FaultKind::Throttled,
            _ => FaultKind::Transient,
        }
    }

    /// Whether an attempt that failed at this stage may have been applied. The facts of the failure decide;
    /// without facts, the kind that the judge has named decides. A policy with `idempotent(false)` does not
    /// repeat such an attempt.
    pub(crate) fn may_be_applied(
        self,
        stage: Stage,
        ended_by: EndedBy,
        fault: Option<&dyn Fault>,
    ) -> bool {
        match (stage, ended_by) {
            (Stage::Read | Stage::Change | Stage::Reply | Stage::Value, _) => false,
            (Stage::Version, _) | (_, EndedBy::Clock | EndedBy::Signal) => true,
            (_, EndedBy::Operation) => match fault {
                Some(fault) => is_perhaps_applied_at(stage, fault),
                None => self.retried().is_none_or(|kind| !kind.did_nothing()),
            },
        }
    }
}

/// `true` means retry.
impl From<bool> for Verdict {
    #[inline]
    fn from(retry: bool) -> Self {
        match retry {
            true => Verdict::retry(FaultKind::Transient),
            false => Verdict::Permanent,
        }
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

impl Policy {
    /// Decides whether a failure is retried, by the first of these facts:
    ///
    /// 1. [`must_stop`](Fault::must_stop): not retried.
    /// 2. The [kind](Fault::kind): permanent is not retried, a conflict only with
    ///    [`retry_conflicts`](Policy::retry_conflicts), the others are.
    /// 3. The [gRPC code](Fault::grpc_code): the policy's codes decide.
    /// 4. The [status](Fault::status): [`throttled_if`](Policy::throttled_if) and the policy's codes decide.
    /// 5. A [failure of the transport](Fault::delivery): retried.
    ///
    /// An error that states nothing is not retried.
    /// A policy that is not [idempotent](Policy::idempotent) retries no attempt that may have been applied.
    #[inline]
    pub fn judge<F: Fault + ?Sized>(&self, fault: &F) -> Verdict {
        self.rule(Stage::Whole, fault)
    }

    /// Like [`judge`](Self::judge), for a failure at this stage.
    #[inline]
    pub(crate) fn rule<F: Fault + ?Sized>(&self, stage: Stage, fault: &F) -> Verdict {
        if fault.must_stop() {
            return Verdict::StoppedByServer;
        }
        match self.kind_if_retried(stage, fault) {
            Some(kind) => self.retried(stage, kind, fault.retry_after(), fault),
            None if says_something(fault) => Verdict::Permanent,
            None => Verdict::NothingKnown,
        }
    }

    /// The verdict for a failure that no judge decides about: of a stage that has one verdict, or of an attempt that was cut
    /// at this stage, whatever error type the caller converted the cut to.
    #[cold]
    #[inline(never)]
    pub(crate) const fn rule_unjudged(&self, stage: Stage) -> Verdict {
        match stage {
            Stage::Version => Verdict::MaybeApplied,
            Stage::Change => Verdict::Permanent,
            Stage::Reply => Verdict::retry(FaultKind::Conflict),
            Stage::Value => Verdict::retry(FaultKind::Pending),
            _ if self.may_repeat(stage) => Verdict::retry(FaultKind::Transient),
            _ => Verdict::MaybeApplied,
        }
    }

    /// Whether a failure at this stage may be repeated although the attempt may have been applied.
    #[inline]
    const fn may_repeat(&self, stage: Stage) -> bool {
        match stage {
            Stage::Read => true,
            _ => self.idempotent && !stage.is_write_once(),
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
    ) -> Verdict {
        // The most frequent case comes first.
        let is_harmless = self.idempotent && !stage.is_write_once();
        if !is_harmless && !self.may_repeat(stage) && is_perhaps_applied_at(stage, fault) {
            return Verdict::MaybeApplied;
        }
        Verdict::Retry {
            kind,
            retry_after: hint,
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
    pub(crate) fn rule_any(&self, stage: Stage, fault: Option<&dyn Fault>) -> Verdict {
        let Some(fault) = fault else {
            return if self.may_repeat(stage) {
                Verdict::retry(FaultKind::Transient)
            } else {
                Verdict::MaybeApplied
            };
        };
        match self.rule(stage, fault) {
            Verdict::NothingKnown => {
                self.retried(stage, FaultKind::Transient, fault.retry_after(), fault)
            }
            verdict => verdict,
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
    ) -> Verdict {
        match (verdict, fault) {
            (Verdict::Retry { .. }, Some(fault)) if fault.must_stop() => Verdict::StoppedByServer,
            (Verdict::Retry { kind, retry_after }, Some(fault)) => {
                let kind = match (kind, kind_of(fault)) {
                    (FaultKind::Transient, FaultKind::Permanent) => FaultKind::Transient,
                    (FaultKind::Transient, known) => known,
                    (kind, _) => kind,
                };
                self.retried(stage, kind, retry_after.or(fault.retry_after()), fault)
            }
            // Without facts, it is unknown whether the write was applied.
            (Verdict::Retry { kind, .. }, None) if stage.is_write_once() && !kind.did_nothing() => {
                Verdict::MaybeApplied
            }
            (verdict, _) => verdict,
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

/// Whether an attempt that failed at this stage may have been applied.
#[cold]
#[inline(never)]
fn is_perhaps_applied_at<F: Fault + ?Sized>(stage: Stage, fault: &F) -> bool {
    match stage.is_conditional() {
        true => fault.may_be_written(),
        false => is_perhaps_applied(fault),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{codes, facts::fault::Delivery, test_error::TestError};
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
            let verdict = policy.rule_by_verdict(Stage::Whole, verdict, Some(&fault));
            assert_eq!(verdict, expected, "{fault:?}");
        }
    }
}
