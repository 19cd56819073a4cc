//! All forms of a call decide the same about each error of one table.
use backoff_core::{
    Delivery, Fault, FaultKind, GrpcCode, Jitter, NotApplied, Policy, TimedOut, codes, retry,
    retry_block, testing::VirtualTime,
};
use std::{
    cell::{Cell, RefCell},
    future::ready,
    time::Duration,
};

const SECOND: Duration = Duration::from_secs(1);
const POLICY: Policy = Policy::exponential()
    .jitter(Jitter::None)
    .max_attempts(3)
    .on(codes![429, 503]);
const CAREFUL: Policy = POLICY.idempotent(false);

/// A form's name, and a call in that form.
type Form<'f> = (&'static str, &'f dyn Fn(&Trial));

/// What an error may say of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Facts {
    status: Option<u16>,
    grpc: Option<GrpcCode>,
    kind: Option<FaultKind>,
    delivery: Option<Delivery>,
    hint: Option<Duration>,
    stop: bool,
    /// Whether it is handed over in a [`NotApplied`].
    not_applied: bool,
}

impl Facts {
    fn wrapped(&self) -> Option<NotApplied<Facts>> {
        let inside = Facts {
            not_applied: false,
            ..*self
        };
        self.not_applied.then_some(NotApplied(inside))
    }
}

impl Fault for Facts {
    fn status(&self) -> Option<u16> {
        self.status
    }
    fn grpc_code(&self) -> Option<GrpcCode> {
        self.grpc
    }
    fn kind(&self) -> Option<FaultKind> {
        match self.wrapped() {
            Some(wrapped) => wrapped.kind(),
            None => self.kind,
        }
    }
    fn delivery(&self) -> Option<Delivery> {
        match self.wrapped() {
            Some(wrapped) => wrapped.delivery(),
            None => self.delivery,
        }
    }
    fn retry_after(&self) -> Option<Duration> {
        self.hint
    }
    fn must_stop(&self) -> bool {
        self.stop
    }
}

impl From<TimedOut> for Facts {
    fn from(_: TimedOut) -> Self {
        unreachable!("no attempt is cut here")
    }
}

/// What came of a call: how many attempts were made, and how long they waited in all.
type Came = (u32, Duration);

const ONCE: Came = (1, Duration::ZERO);
/// Three attempts, with 1 s and 2 s between them.
const THRICE: Came = (3, Duration::from_secs(3));

/// An operation that always fails so, and the time in which it does.
struct Trial {
    facts: Facts,
    calls: Cell<u32>,
    time: VirtualTime,
}

impl Trial {
    fn of(facts: Facts) -> Self {
        Trial {
            facts,
            calls: Cell::new(0),
            time: VirtualTime::new(),
        }
    }

    fn call(&self) -> Result<(), Facts> {
        self.calls.set(self.calls.get() + 1);
        Err(self.facts)
    }

    fn came(&self) -> Came {
        (self.calls.get(), self.time.elapsed())
    }
}

/// The forms in which the policy's codes judge.
fn by_codes(policy: &'static Policy, facts: Facts) -> Vec<(&'static str, Came)> {
    #[retry(policy = *policy, runtime = trial.time.clone())]
    async fn annotated(policy: &Policy, trial: &Trial) -> Result<(), Facts> {
        trial.call()
    }
    #[retry(policy = *policy, runtime = trial.time.clone())]
    fn annotated_blocking(policy: &Policy, trial: &Trial) -> Result<(), Facts> {
        trial.call()
    }
    let forms: [Form; 8] = [
        ("function form", &|trial| {
            let call = policy.retry(|| ready(trial.call()));
            assert!(block_on(call.runtime(trial.time.clone())).is_err());
        }),
        ("function form, cut", &|trial| {
            let call = policy.retry(|| ready(trial.call()));
            let call = call.attempt_timeout(SECOND).timeout(3_600 * SECOND);
            assert!(block_on(call.runtime(trial.time.clone())).is_err());
        }),
        ("update, in its write", &|trial| {
            let call = policy.update(|| ready(Ok(())), |()| true, |()| ready(trial.call()));
            assert!(block_on(call.runtime(trial.time.clone())).is_err());
        }),
        ("blocking", &|trial| {
            let call = policy.blocking(|| trial.call());
            assert!(call.runtime(trial.time.clone()).call().is_err());
        }),
        ("blocking update, in its write", &|trial| {
            let call = policy.blocking_update(|| Ok(()), |()| true, |()| trial.call());
            assert!(call.runtime(trial.time.clone()).call().is_err());
        }),
        ("attribute", &|trial| {
            assert!(block_on(annotated(policy, trial)).is_err());
        }),
        ("attribute, blocking", &|trial| {
            assert!(annotated_blocking(policy, trial).is_err());
        }),
        ("block", &|trial| {
            let block = retry_block!(policy = *policy, runtime = trial.time.clone(), async {
                trial.call()
            });
            assert!(block_on(block).is_err());
        }),
    ];
    came(facts, &forms)
}

/// The forms in which the caller's function judges, and says yes to everything.
fn by_function(policy: &'static Policy, facts: Facts) -> Vec<(&'static str, Came)> {
    #[retry(policy = *policy, when = |_| true, runtime = trial.time.clone())]
    async fn annotated(policy: &Policy, trial: &Trial) -> Result<(), Facts> {
        trial.call()
    }
    #[retry(policy = *policy, when = |_| true, runtime = trial.time.clone())]
    fn annotated_blocking(policy: &Policy, trial: &Trial) -> Result<(), Facts> {
        trial.call()
    }
    #[retry(policy = *policy, on = [Facts { .. }], runtime = trial.time.clone())]
    async fn patterns(policy: &Policy, trial: &Trial) -> Result<(), Facts> {
        trial.call()
    }
    let forms: [Form; 7] = [
        ("function form", &|trial| {
            let call = policy.when(|_: &Facts| true).retry(|| ready(trial.call()));
            assert!(block_on(call.runtime(trial.time.clone())).is_err());
        }),
        ("update, in its write", &|trial| {
            let judged = policy.when(|_: &Facts| true);
            let call = judged.update(|| ready(Ok(())), |()| true, |()| ready(trial.call()));
            assert!(block_on(call.runtime(trial.time.clone())).is_err());
        }),
        ("blocking", &|trial| {
            let call = policy.when(|_: &Facts| true).blocking(|| trial.call());
            assert!(call.runtime(trial.time.clone()).call().is_err());
        }),
        ("attribute", &|trial| {
            assert!(block_on(annotated(policy, trial)).is_err());
        }),
        ("attribute, blocking", &|trial| {
            assert!(annotated_blocking(policy, trial).is_err());
        }),
        ("attribute, patterns", &|trial| {
            assert!(block_on(patterns(policy, trial)).is_err());
        }),
        ("block", &|trial| {
            let judge = |_: &Facts| true;
            let block = retry_block!(
                policy = *policy,
                when = judge,
                runtime = trial.time.clone(),
                async { trial.call() }
            );
            assert!(block_on(block).is_err());
        }),
    ];
    came(facts, &forms)
}

/// The bare attribute and block, under the default policy with three attempts.
fn bare(facts: Facts) -> Vec<(&'static str, Came)> {
    #[retry(max_attempts = 3, jitter = none, runtime = trial.time.clone())]
    async fn annotated(trial: &Trial) -> Result<(), Facts> {
        trial.call()
    }
    #[retry(max_attempts = 3, jitter = none, runtime = trial.time.clone())]
    fn annotated_blocking(trial: &Trial) -> Result<(), Facts> {
        trial.call()
    }
    let forms: [Form; 3] = [
        ("attribute", &|trial| {
            assert!(block_on(annotated(trial)).is_err());
        }),
        ("attribute, blocking", &|trial| {
            assert!(annotated_blocking(trial).is_err());
        }),
        ("block", &|trial| {
            let block = retry_block!(
                max_attempts = 3,
                jitter = none,
                runtime = trial.time.clone(),
                async { trial.call() }
            );
            assert!(block_on(block).is_err());
        }),
    ];
    came(facts, &forms)
}

fn came(facts: Facts, forms: &[Form<'_>]) -> Vec<(&'static str, Came)> {
    let run = |(name, form): &Form<'_>| {
        let trial = Trial::of(facts);
        form(&trial);
        (*name, trial.came())
    };
    forms.iter().map(run).collect()
}

/// Virtual time is ready when it is polled, so nothing here is ever pending.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
        .block_on(future)
}

/// What an error says; what comes of it by the codes, idempotent and not; by a function that says yes,
/// idempotent and not; and under a bare attribute.
type Row = (Facts, [Came; 5]);

fn table() -> Vec<Row> {
    let says = Facts::default();
    let status = |status| Facts {
        status: Some(status),
        ..says
    };
    let code = |grpc| Facts {
        grpc: Some(grpc),
        ..says
    };
    let kind = |kind| Facts {
        kind: Some(kind),
        ..says
    };
    let delivery = |delivery| Facts {
        delivery: Some(delivery),
        ..says
    };
    let hinted = |facts| Facts {
        hint: Some(10 * SECOND),
        ..facts
    };
    let stop = |facts| Facts {
        stop: true,
        ..facts
    };
    let not_applied = |facts| Facts {
        not_applied: true,
        ..facts
    };
    // The hint outlasts each backoff.
    let hints = (3, 20 * SECOND);
    vec![
        // A code of the policy: a 503 may have been applied, a 429 was not.
        (status(503), [THRICE, ONCE, THRICE, ONCE, THRICE]),
        (status(429), [THRICE, THRICE, THRICE, THRICE, THRICE]),
        (
            code(GrpcCode::Unavailable),
            [THRICE, ONCE, THRICE, ONCE, THRICE],
        ),
        // No code of the policy: only the function says yes.
        (status(404), [ONCE, ONCE, THRICE, ONCE, ONCE]),
        (code(GrpcCode::NotFound), [ONCE, ONCE, THRICE, ONCE, ONCE]),
        // The kind outranks the codes.
        (
            kind(FaultKind::Transient),
            [THRICE, ONCE, THRICE, ONCE, THRICE],
        ),
        (kind(FaultKind::Throttled), [THRICE; 5]),
        (kind(FaultKind::Permanent), [ONCE, ONCE, THRICE, ONCE, ONCE]),
        // The connection.
        (delivery(Delivery::NotSent), [THRICE; 5]),
        (
            delivery(Delivery::MaybeSent),
            [THRICE, ONCE, THRICE, ONCE, THRICE],
        ),
        // Somebody knows that nothing was applied: as above, and nothing is too dangerous.
        (not_applied(status(503)), [THRICE; 5]),
        (not_applied(code(GrpcCode::Unavailable)), [THRICE; 5]),
        (not_applied(kind(FaultKind::Transient)), [THRICE; 5]),
        (not_applied(delivery(Delivery::MaybeSent)), [THRICE; 5]),
        (not_applied(status(404)), [ONCE, ONCE, THRICE, THRICE, ONCE]),
        (
            not_applied(kind(FaultKind::Permanent)),
            [ONCE, ONCE, THRICE, THRICE, ONCE],
        ),
        (not_applied(says), [ONCE, ONCE, THRICE, ONCE, THRICE]),
        // Hints, and a server that asks not to be called, are heard by everybody.
        (hinted(status(503)), [hints, ONCE, hints, ONCE, hints]),
        (hinted(status(429)), [hints; 5]),
        (stop(status(503)), [ONCE; 5]),
        (stop(says), [ONCE; 5]),
        // Nothing is known: repeated where nobody named codes, or where the function says so.
        (says, [ONCE, ONCE, THRICE, ONCE, THRICE]),
        (hinted(says), [ONCE, ONCE, hints, ONCE, hints]),
    ]
}

#[test]
fn all_forms_agree_about_every_error() {
    for (facts, [codes, careful, function, careful_function, bare_form]) in table() {
        let agree = |judge: &str, forms: Vec<(&str, Came)>, expected: Came| {
            for (form, came) in forms {
                assert_eq!(came, expected, "{facts:?}, {judge}, {form}");
            }
        };
        agree("by codes", by_codes(&POLICY, facts), codes);
        agree(
            "by codes, not idempotent",
            by_codes(&CAREFUL, facts),
            careful,
        );
        agree("by function", by_function(&POLICY, facts), function);
        let forms = by_function(&CAREFUL, facts);
        agree("by function, not idempotent", forms, careful_function);
        agree("bare", bare(facts), bare_form);
    }
}

#[test]
fn an_error_of_any_type_is_judged_by_the_function_alone_in_every_form() {
    #[retry(policy = POLICY, when = |error: &&str| *error == "busy", runtime = time.clone())]
    async fn annotated(time: &VirtualTime, calls: &Cell<u32>) -> Result<(), &'static str> {
        calls.set(calls.get() + 1);
        Err("busy")
    }
    #[retry(jitter = none, max_attempts = 3, runtime = time.clone())]
    async fn bare(time: &VirtualTime, calls: &Cell<u32>) -> Result<(), &'static str> {
        calls.set(calls.get() + 1);
        Err("of no `Fault`")
    }
    let seen = RefCell::new(Vec::new());
    let note = |time: &VirtualTime, calls: &Cell<u32>| {
        seen.borrow_mut().push((calls.get(), time.elapsed()));
    };
    let (time, calls) = (VirtualTime::new(), Cell::new(0));
    let count = || {
        calls.set(calls.get() + 1);
        Err::<(), _>("busy")
    };
    let judged = POLICY.when_any(|error: &&str| *error == "busy");
    let call = judged.retry(|| ready(count())).runtime(time.clone());
    assert!(block_on(call).is_err());
    note(&time, &calls);
    let (time, calls) = (VirtualTime::new(), Cell::new(0));
    assert!(block_on(annotated(&time, &calls)).is_err());
    note(&time, &calls);
    let (time, calls) = (VirtualTime::new(), Cell::new(0));
    assert!(block_on(bare(&time, &calls)).is_err());
    note(&time, &calls);
    assert_eq!(*seen.borrow(), [THRICE; 3]);
}
