//! Every strategy that is compared, as the `Policy` that a program would write. A new one is a
//! line here.

use std::time::Duration;

use backoff_cloud::{Breaker, Budget, Codes, Jitter, Policy, codes, iam};

/// A way to wait, and its name in tables and charts.
#[derive(Clone, Copy)]
pub(crate) struct Strategy {
    pub(crate) name: &'static str,
    pub(crate) policy: Policy,
    /// The waits after conflicts are those of a `Pace`.
    pub(crate) is_paced: bool,
    /// How many clients stand in one process, which combines their changes.
    pub(crate) together: u32,
}

const fn strategy(name: &'static str, policy: Policy) -> Strategy {
    Strategy {
        name,
        policy,
        is_paced: false,
        together: 1,
    }
}

const fn paced(policy: Policy) -> Strategy {
    Strategy {
        is_paced: true,
        ..strategy("paced", policy)
    }
}

/// Processes of ten clients each, which combine what their clients change, and keep a pace.
const fn combined(policy: Policy) -> Strategy {
    Strategy {
        name: "combined by tens",
        together: 10,
        ..paced(policy)
    }
}

const BASE: Duration = Duration::from_millis(5);
const CAP: Duration = Duration::from_secs(2);

/// Nobody gives up. The first wait is `BASE` · 2¹: the exponent of AWS' simulation counts from 1.
const ROW: Policy = Policy::exponential()
    .base(BASE.saturating_mul(2))
    .max_backoff(CAP)
    .max_attempts(u32::MAX)
    .on(codes![Codes::ABORTED]);

/// What the others are compared with.
pub(crate) const FULL: Strategy = strategy("full", ROW.jitter(Jitter::Full));
/// Each writer at its own pace.
pub(crate) const PACED: Strategy = paced(ROW);
pub(crate) const COMBINED: Strategy = combined(ROW);
/// Writers under a limit of calls. They wait up to 64 times the base.
pub(crate) const LIMITED: Strategy = paced(
    ROW.base(Duration::from_millis(20))
        .max_backoff(Duration::from_millis(1_280))
        .on(codes![Codes::ABORTED, 429]),
);

/// Those of the AWS Architecture Blog's "Exponential Backoff And Jitter", under its names, and
/// ours: waits at a pace, and processes that combine.
pub(crate) const CONTENTION: &[Strategy] = &[
    strategy("none", ROW.base(Duration::ZERO).jitter(Jitter::None)),
    strategy("exponential", ROW.jitter(Jitter::None)),
    FULL,
    strategy("equal", ROW.jitter(Jitter::Equal)),
    strategy("decorrelated", ROW.base(BASE).jitter(Jitter::Decorrelated)),
    PACED,
    COMBINED,
];

/// Base 1 s, cap 64 s, deadline 300 s.
const ALLOW_POLICY: Policy = iam::READ_MODIFY_WRITE;
pub(crate) const PACED_IAM: Strategy = paced(ALLOW_POLICY);

/// What a client of IAM may do about a conflict.
pub(crate) const IAM: &[Strategy] = &[
    strategy(
        "none",
        ALLOW_POLICY.base(Duration::ZERO).jitter(Jitter::None),
    ),
    strategy("exponential", ALLOW_POLICY.jitter(Jitter::None)),
    strategy("full", ALLOW_POLICY.jitter(Jitter::Full)),
    strategy("equal", ALLOW_POLICY.jitter(Jitter::Equal)),
    strategy("decorrelated", ALLOW_POLICY.jitter(Jitter::Decorrelated)),
    strategy(
        "Google's formula",
        ALLOW_POLICY.jitter(iam::DOCUMENTED_JITTER),
    ),
    strategy(
        "Google's, drawn within cap",
        ALLOW_POLICY.jitter(Jitter::AdditiveWithin(Duration::from_secs(1))),
    ),
    PACED_IAM,
    combined(ALLOW_POLICY),
];

/// Base 1 s, cap 64 s, and nobody gives up.
const THROTTLED: Policy = Policy::exponential().max_attempts(u32::MAX).on(codes![429]);

/// The names of the strategies of a batch that draw their waits. The second one draws them on top of
/// what the service asks for.
pub(crate) const JITTERED: &str = "exponential + jitter";
pub(crate) const SPREAD: &str = "jitter, spread_retry_after";

/// What the callers of a batch may do once they are throttled.
pub(crate) const BATCH: &[Strategy] = &[
    strategy("fixed 1 s", fixed(Duration::from_secs(1))),
    strategy("fixed 5 s", fixed(Duration::from_secs(5))),
    strategy("exponential", THROTTLED.jitter(Jitter::None)),
    strategy(JITTERED, SHARED),
    strategy(SPREAD, SHARED.spread_retry_after(true)),
];

/// What a caller does that shares nothing, in the scenario [`rate`](crate::rate).
pub(crate) const SHARED: Policy = THROTTLED.jitter(Jitter::Full);

const fn fixed(wait: Duration) -> Policy {
    Policy::constant(wait)
        .jitter(Jitter::None)
        .max_attempts(u32::MAX)
        .on(codes![429])
}

/// Up to five attempts, first wait up to 100 ms: what a request does when the service is down.
pub(crate) const REQUEST: Policy = Policy::exponential()
    .base(Duration::from_millis(100))
    .max_attempts(5);

/// What each process that calls a service does about an outage.
#[derive(Clone, Copy)]
pub(crate) struct Contender {
    pub(crate) name: &'static str,
    /// The policy of one process. Its budget is its own and full, and its breaker is closed.
    pub(crate) client: fn() -> Client,
}

/// A process that calls a service.
#[derive(Clone, Copy)]
pub(crate) struct Client {
    pub(crate) policy: Policy,
    pub(crate) breaker: Option<&'static Breaker>,
}

impl From<Policy> for Client {
    fn from(policy: Policy) -> Self {
        Client {
            policy,
            breaker: None,
        }
    }
}

impl Client {
    /// As a budget, the breaker lives as long as the program.
    fn and(self, breaker: Breaker) -> Self {
        let breaker: &Breaker = Box::leak(Box::new(breaker));
        Client {
            policy: self.policy.breaker(breaker),
            breaker: Some(breaker),
        }
    }
}

const fn contender(name: &'static str, client: fn() -> Client) -> Contender {
    Contender { name, client }
}

/// A policy holds its budget for ever, as a program's `static`; so the few bytes of each are never given
/// back.
fn with(budget: Budget) -> Client {
    REQUEST.budget(Box::leak(Box::new(budget))).into()
}

pub(crate) const OUTAGE: &[Contender] = &[
    contender("no budget", || REQUEST.into()),
    contender("20 % of successes", || with(Budget::ratio(0.2, 100))),
    contender("AWS, retry costs 5", || with(Budget::costs(500, 5, 5))),
    contender("AWS, retry costs 14", || with(Budget::aws())),
    contender("gRPC (10, 0.1)", || with(Budget::grpc(10, 0.1))),
    contender("no retry", || REQUEST.max_attempts(1).into()),
    contender("breaker", || Client::from(REQUEST).and(Breaker::new())),
    contender("breaker, 15 of 24", || {
        Client::from(REQUEST).and(Breaker::new().opens_at(15, 24))
    }),
    contender("breaker, 15 of 24, probes each 5 s", || {
        let breaker = Breaker::new().opens_at(15, 24);
        Client::from(REQUEST).and(breaker.probe_every(Duration::from_secs(5)))
    }),
    contender("breaker, 15 of 24, and AWS, 14", || {
        with(Budget::aws()).and(Breaker::new().opens_at(15, 24))
    }),
];
