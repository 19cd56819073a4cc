//! Who decides whether a failure is retried: the policy's codes, or the caller's function.

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

/// What a judge says of one failure. Limits are not its affair: they hold whatever it says.
///
/// A function handed to `when` may answer with a `bool` or with this, which can carry a hint.
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
        /// What kind of failure it was.
        kind: FaultKind,
        /// How long the server asks to be left alone.
        retry_after: Option<Duration>,
    },
    /// The failure is not retryable.
    Permanent,
    /// The error says nothing about itself, so no rule applies and it is not retried.
    NothingKnown,
    /// The attempt may have been applied, and must not be applied twice.
    MaybeApplied,
    /// The server asked not to be called again.
    StoppedByServer,
}

impl Verdict {
    /// The same verdict with a server's hint; one that stops stays as it is.
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

/// `true` retries.
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

/// A [`Verdict`] in two registers, which is how the hot path hands it on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ruling {
    /// The server's hint in nanoseconds; zero is none.
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
    /// No rule applies to an error that says nothing about itself.
    pub(crate) const NOTHING_KNOWN: Ruling = Ruling::of(Ruled::NothingKnown);

    /// Not retried: the policy does not name it.
    pub(crate) const PERMANENT: Ruling = Ruling::of(Ruled::Permanent);

    /// It must not be repeated, because it may have been applied.
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

    /// Retried, because somebody else was faster.
    #[inline]
    pub(crate) const fn is_conflict(self) -> bool {
        matches!(self.ruled, Ruled::Retry(FaultKind::Conflict))
    }

    /// Whether a write of an update, which is this stage, was refused because somebody else was faster.
    pub(crate) const fn is_lost_race(self, stage: Stage) -> bool {
        self.is_conflict() && matches!(stage, Stage::Write | Stage::Conflict)
    }

    /// Whether an attempt that failed at this stage may have been applied: by what the failure says of
    /// itself, and where it says nothing, by the kind that the judge has named. What is in doubt here is what
    /// a policy with `idempotent(false)` does not repeat.
    pub(crate) fn leaves_doubt(self, stage: Stage, fault: Option<&dyn Fault>) -> bool {
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
            | Stage::Late => false,
        }
    }

    /// Retried, and the server asks for nothing.
    #[inline]
    pub(crate) const fn is_plain(self) -> bool {
        self.hint == 0 && matches!(self.ruled, Ruled::Retry(_))
    }
}

impl From<Verdict> for Ruling {
    #[inline]
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Retry { kind, retry_after } => Ruling {
                hint: retry_after.map_or(0, nanos),
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
                retry_after: (ruling.hint > 0).then(|| Duration::from_nanos(ruling.hint)),
            },
            Ruled::Permanent => Verdict::Permanent,
            Ruled::NothingKnown => Verdict::NothingKnown,
            Ruled::MaybeApplied => Verdict::MaybeApplied,
            Ruled::StoppedByServer => Verdict::StoppedByServer,
        }
    }
}

/// What failed, which decides how the failure is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stage {
    /// The whole attempt.
    Whole,
    /// The read of a read-modify-write. A read can always be repeated, and a conflict leads back to
    /// the read.
    Read,
    /// The write of a read-modify-write. A conflict leads back to the read.
    Write,
    /// The write of a read-modify-write whose change cannot recognise its own effect: a write that
    /// may have been applied is not repeated.
    WriteOnce,
    /// The change of a read-modify-write refused what was read: no attempt follows.
    Change,
    /// The write's reply says that somebody else was faster.
    Conflict,
    /// The value is not yet the awaited one.
    Pending,
    /// The attempt was cut, and may have been applied.
    Cut,
    /// The attempt was cut during the read of a read-modify-write, which can always be repeated.
    CutRead,
    /// The attempt was cut during a [`WriteOnce`](Stage::WriteOnce).
    CutOnce,
    /// A write may have been applied, and the value that was read next has another version.
    InDoubt,
    /// The attempt was not begun, because no time remained for it.
    Late,
}

impl Stage {
    const fn is_step(self) -> bool {
        matches!(self, Stage::Read | Stage::Write | Stage::WriteOnce)
    }

    /// The stage of an attempt that was cut while this was under way.
    #[inline]
    pub(crate) const fn cut(self) -> Self {
        match self {
            Stage::Read => Stage::CutRead,
            Stage::WriteOnce => Stage::CutOnce,
            _ => Stage::Cut,
        }
    }

    /// Whether the error stands for something that is no failure of the operation's own.
    #[inline]
    pub(crate) const fn is_cut(self) -> bool {
        matches!(
            self,
            Stage::Cut | Stage::CutRead | Stage::CutOnce | Stage::Late
        )
    }

    /// Whether the judge is asked about the error.
    #[inline]
    pub(crate) const fn is_judged(self) -> bool {
        matches!(
            self,
            Stage::Whole | Stage::Read | Stage::Write | Stage::WriteOnce
        )
    }

    /// What is to be done about a failure about which [no judge is asked](Self::is_judged): whatever
    /// error a cut attempt was put into, it was cut.
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
    /// Who is retried. The first rule that applies decides:
    ///
    /// 1. The server asked to stop ([`Fault::must_stop`]): refused.
    /// 2. The error knows its [kind](Fault::kind): permanent is permanent, a conflict is retried
    ///    only [where the policy says so](Policy::retry_conflicts), the others are retried.
    /// 3. It has a [gRPC code](Fault::grpc_code): by the policy's gRPC codes, whatever the HTTP
    ///    status is.
    /// 4. It has an [HTTP status](Fault::status): by the policy's statuses.
    /// 5. It is a [failure of the transport](Fault::delivery): retried.
    /// 6. Otherwise nothing is known about the error, and it is not retried.
    ///
    /// What would be retried but may have been applied is not, if the operation is not
    /// [idempotent](Policy::idempotent).
    #[inline]
    pub fn judge<F: Fault + ?Sized>(&self, fault: &F) -> Verdict {
        self.rule(Stage::Whole, fault).into()
    }

    /// As [`judge`](Self::judge), for a failure at this stage.
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

    /// Whether what failed at this stage may be repeated although it may have been applied.
    #[inline]
    const fn may_repeat(&self, stage: Stage) -> bool {
        match stage {
            Stage::Read => true,
            Stage::WriteOnce => false,
            _ => self.idempotent,
        }
    }

    /// Retried, unless the attempt may have been applied and must not be twice.
    #[inline]
    fn retried<F: Fault + ?Sized>(
        &self,
        stage: Stage,
        kind: FaultKind,
        hint: Option<Duration>,
        fault: &F,
    ) -> Ruling {
        // What holds for most comes first.
        let is_harmless = self.idempotent && stage != Stage::WriteOnce;
        if !is_harmless && !self.may_repeat(stage) && is_perhaps_applied(fault) {
            return Ruling::MAYBE_APPLIED;
        }
        Ruling {
            hint: hint.map_or(0, nanos),
            ruled: Ruled::Retry(kind),
        }
    }

    #[inline]
    fn kind_if_retried<F: Fault + ?Sized>(&self, stage: Stage, fault: &F) -> Option<FaultKind> {
        let kind = kind_of(fault);
        let retried = if fault.kind().is_some() {
            match kind {
                FaultKind::Permanent => false,
                FaultKind::Conflict => self.conflicts || stage.is_step(),
                FaultKind::Transient | FaultKind::Throttled | FaultKind::Pending => true,
            }
        } else if let Some(code) = fault.grpc_code() {
            self.codes.contains_grpc(code)
                || stage.is_step() && codes::CONFLICTS.contains_grpc(code)
        } else if let Some(status) = fault.status() {
            self.codes.contains_status(status)
                || stage.is_step() && codes::CONFLICTS.contains_status(status)
        } else {
            fault.delivery().is_some()
        };
        retried.then_some(kind)
    }

    /// As [`rule`](Self::rule), where an error is repeated about which nothing is known, unless it must
    /// not be applied twice.
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

    /// What the caller's function has said of an error, completed by what the error says of itself:
    /// the function replaces the codes, and nothing else.
    #[inline(never)]
    pub(crate) fn said(&self, stage: Stage, verdict: Verdict, fault: Option<&dyn Fault>) -> Ruling {
        match (verdict, fault) {
            (Verdict::Retry { .. }, Some(fault)) if fault.must_stop() => {
                Ruling::of(Ruled::StoppedByServer)
            }
            (Verdict::Retry { kind, retry_after }, Some(fault)) => {
                let kind = match (kind, kind_of(fault)) {
                    (FaultKind::Transient, FaultKind::Permanent) => FaultKind::Transient,
                    (FaultKind::Transient, known) => known,
                    (said, _) => said,
                };
                self.retried(stage, kind, retry_after.or(fault.retry_after()), fault)
            }
            // Nobody else knows whether it was applied.
            (Verdict::Retry { kind, .. }, None)
                if stage == Stage::WriteOnce && !did_nothing(kind) =>
            {
                Ruling::MAYBE_APPLIED
            }
            (verdict, _) => verdict.into(),
        }
    }
}

/// What kind of failure it is, by what the error says of itself or by what its code says.
fn kind_of<F: Fault + ?Sized>(fault: &F) -> FaultKind {
    if let Some(kind) = fault.kind() {
        return kind;
    }
    match (fault.grpc_code(), fault.status()) {
        (Some(GrpcCode::ResourceExhausted), _) => FaultKind::Throttled,
        (Some(GrpcCode::Aborted | GrpcCode::FailedPrecondition), _) => FaultKind::Conflict,
        // One comparison tells most statuses apart from these.
        (None, Some(status @ 409..=429)) => match status {
            429 => FaultKind::Throttled,
            409 | 412 => FaultKind::Conflict,
            _ => FaultKind::Transient,
        },
        _ => FaultKind::Transient,
    }
}

/// Whether a failure of this kind says that nothing was done.
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
        (Some(kind), _, _) => did_nothing(kind),
        (None, Some(code), _) => codes::NOTHING_DONE.contains_grpc(code),
        (None, None, Some(status)) => codes::NOTHING_DONE.contains_status(status),
        (None, None, None) => false,
    };
    !says_it_did_nothing
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codes;

    #[derive(Debug, Default)]
    struct Facts {
        status: Option<u16>,
        grpc: Option<GrpcCode>,
        kind: Option<FaultKind>,
        transport: Option<Delivery>,
        stop: bool,
        hint: Option<Duration>,
    }

    impl Fault for Facts {
        fn status(&self) -> Option<u16> {
            self.status
        }
        fn grpc_code(&self) -> Option<GrpcCode> {
            self.grpc
        }
        fn kind(&self) -> Option<FaultKind> {
            self.kind
        }
        fn delivery(&self) -> Option<Delivery> {
            self.transport
        }
        fn must_stop(&self) -> bool {
            self.stop
        }
        fn retry_after(&self) -> Option<Duration> {
            self.hint
        }
    }

    const POLICY: Policy = Policy::exponential().on(codes![429, 500, 503, crate::Codes::ABORTED]);

    fn retried(kind: FaultKind) -> Verdict {
        Verdict::Retry {
            kind,
            retry_after: None,
        }
    }

    #[test]
    fn rule_1_a_server_that_asks_to_stop_is_obeyed_before_anything_else() {
        let fault = Facts {
            stop: true,
            kind: Some(FaultKind::Transient),
            status: Some(503),
            ..Facts::default()
        };
        assert_eq!(POLICY.judge(&fault), Verdict::StoppedByServer);
    }

    fn said(policy: &Policy, verdict: Verdict, facts: &Facts) -> Verdict {
        policy.said(Stage::Whole, verdict, Some(facts)).into()
    }

    fn is_retried(verdict: Verdict) -> bool {
        matches!(verdict, Verdict::Retry { .. })
    }

    #[test]
    fn rule_2_the_kind_outranks_every_code() {
        let with = |kind, grpc, status| Facts {
            kind: Some(kind),
            grpc,
            status,
            ..Facts::default()
        };
        let permanent = with(FaultKind::Permanent, Some(GrpcCode::Unavailable), Some(503));
        assert_eq!(POLICY.judge(&permanent), Verdict::Permanent);
        for kind in [FaultKind::Transient, FaultKind::Throttled] {
            let fault = with(kind, Some(GrpcCode::NotFound), Some(404));
            assert_eq!(POLICY.judge(&fault), retried(kind));
        }
    }

    #[test]
    fn rule_2_a_conflict_is_retried_only_where_the_policy_says_so() {
        let conflict = Facts {
            kind: Some(FaultKind::Conflict),
            status: Some(503),
            ..Facts::default()
        };
        assert_eq!(POLICY.judge(&conflict), Verdict::Permanent);
        assert_eq!(
            POLICY.retry_conflicts(true).judge(&conflict),
            retried(FaultKind::Conflict)
        );
    }

    #[test]
    fn rule_3_the_grpc_code_tells_the_two_kinds_of_409_apart() {
        let of = |code| Facts {
            grpc: Some(code),
            status: Some(409),
            ..Facts::default()
        };
        assert_eq!(
            POLICY.judge(&of(GrpcCode::Aborted)),
            retried(FaultKind::Conflict)
        );
        let both = POLICY.also_on(codes![409]);
        assert_eq!(both.judge(&of(GrpcCode::AlreadyExists)), Verdict::Permanent);
    }

    #[test]
    fn rule_3_the_grpc_code_outranks_the_status() {
        let fault = Facts {
            grpc: Some(GrpcCode::InvalidArgument),
            status: Some(503),
            ..Facts::default()
        };
        assert_eq!(POLICY.judge(&fault), Verdict::Permanent);
        let fault = Facts {
            grpc: Some(GrpcCode::Unavailable),
            status: Some(404),
            ..Facts::default()
        };
        assert_eq!(POLICY.judge(&fault), retried(FaultKind::Transient));
    }

    #[test]
    fn rule_4_the_status_decides_where_there_is_no_grpc_code() {
        let of = |status| {
            let transport = Some(Delivery::NotSent);
            Facts {
                status: Some(status),
                transport,
                ..Facts::default()
            }
        };
        assert_eq!(POLICY.judge(&of(429)), retried(FaultKind::Throttled));
        assert_eq!(POLICY.judge(&of(503)), retried(FaultKind::Transient));
        assert_eq!(POLICY.judge(&of(501)), Verdict::Permanent);
        assert_eq!(POLICY.judge(&of(409)), Verdict::Permanent);
    }

    #[test]
    fn rule_5_a_transport_failure_is_retried_where_that_is_safe() {
        let of = |transport| Facts {
            transport: Some(transport),
            ..Facts::default()
        };
        let careful = POLICY.idempotent(false);
        assert_eq!(
            POLICY.judge(&of(Delivery::MaybeSent)),
            retried(FaultKind::Transient)
        );
        assert_eq!(
            careful.judge(&of(Delivery::MaybeSent)),
            Verdict::MaybeApplied
        );
        assert_eq!(
            careful.judge(&of(Delivery::NotSent)),
            retried(FaultKind::Transient)
        );
    }

    #[test]
    fn what_must_not_be_made_twice_is_repeated_only_where_nothing_was_done() {
        let policy = POLICY
            .also_on(crate::codes![403, 408, 409, 412, 425])
            .retry_conflicts(true);
        let careful = policy.idempotent(false);
        let status = |status| Facts {
            status: Some(status),
            ..Facts::default()
        };
        let code = |code| Facts {
            grpc: Some(code),
            status: Some(503),
            ..Facts::default()
        };
        let kind = |kind| Facts {
            kind: Some(kind),
            status: Some(503),
            ..Facts::default()
        };
        let nothing_done = [
            status(403),
            code(GrpcCode::PermissionDenied),
            status(408),
            status(409),
            status(412),
            status(425),
            status(429),
            code(GrpcCode::ResourceExhausted),
            kind(FaultKind::Pending),
            kind(FaultKind::Conflict),
            kind(FaultKind::Throttled),
            Facts {
                transport: Some(Delivery::NotSent),
                ..code(GrpcCode::Unavailable)
            },
        ];
        for facts in nothing_done {
            let verdict = careful.judge(&facts);
            assert!(is_retried(verdict), "{facts:?}");
            assert_eq!(verdict, policy.judge(&facts), "{facts:?}");
        }
        let maybe_applied = [
            status(500),
            status(503),
            code(GrpcCode::Unavailable),
            kind(FaultKind::Transient),
            Facts {
                transport: Some(Delivery::MaybeSent),
                ..status(429)
            },
        ];
        for facts in maybe_applied {
            assert!(is_retried(policy.judge(&facts)), "{facts:?}");
            assert_eq!(careful.judge(&facts), Verdict::MaybeApplied, "{facts:?}");
        }
        assert_eq!(careful.judge(&status(404)), Verdict::Permanent);
        let any = |policy: &Policy, facts: &Facts| said(policy, true.into(), facts);
        assert_eq!(any(&careful, &status(503)), Verdict::MaybeApplied);
        assert_eq!(any(&careful, &status(429)), retried(FaultKind::Throttled));
        assert_eq!(any(&policy, &status(503)), retried(FaultKind::Transient));
    }

    #[test]
    fn rule_6_an_error_that_says_nothing_is_not_retried() {
        assert_eq!(POLICY.judge(&Facts::default()), Verdict::NothingKnown);
    }

    #[test]
    fn a_function_that_judges_faults_replaces_no_hint_and_no_request_to_stop() {
        let hint = Some(Duration::from_secs(3));
        let judge = |facts: Facts| said(&POLICY, (facts.status == Some(404)).into(), &facts);
        let of = |status, stop| Facts {
            status: Some(status),
            hint,
            stop,
            ..Facts::default()
        };
        assert_eq!(
            judge(of(404, false)),
            retried(FaultKind::Transient).after(hint)
        );
        assert_eq!(judge(of(404, true)), Verdict::StoppedByServer);
        assert_eq!(judge(of(503, false)), Verdict::Permanent);
        for own in [Duration::from_secs(1), Duration::ZERO] {
            let hinted = Verdict::from(true).after(Some(own));
            let expected =
                retried(FaultKind::Throttled).after(Some(own).filter(|own| !own.is_zero()));
            assert_eq!(said(&POLICY, hinted, &of(429, false)), expected);
        }
    }

    #[test]
    fn the_hint_goes_along_with_what_is_retried() {
        let hint = Some(Duration::from_secs(3));
        let fault = Facts {
            status: Some(429),
            hint,
            ..Facts::default()
        };
        assert_eq!(
            POLICY.judge(&fault),
            retried(FaultKind::Throttled).after(hint)
        );
        let fault = Facts {
            status: Some(404),
            hint,
            ..Facts::default()
        };
        assert_eq!(POLICY.judge(&fault), Verdict::Permanent);
    }
}
