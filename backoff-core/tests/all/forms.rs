//! All forms of a call decide the same about each error of one table.
use crate::common::{
    error::TestError as E,
    forms::{
        Came, Ended, Form, Kind, PLAIN, Reply, SECOND, Setting, Trial, call, check, fails, gives,
        runs, steps,
    },
    time::Time,
};
use backoff_core::{FaultKind, GrpcCode, Policy, Verdict, codes, retry, retry_block};
use std::{cell::Cell, future::ready, time::Duration};

const POLICY: Policy = PLAIN.max_attempts(3).on(codes![429, 503]);

/// How many attempts were made, and how long they waited in all.
type Ends = (usize, Duration);
const ONCE: Ends = (1, Duration::ZERO);
/// Three attempts, with 1 s and 2 s between them.
const THRICE: Ends = (3, Duration::from_secs(3));

fn ends(came: &Came) -> Ends {
    (came.begun.len(), came.end)
}

/// The function that judges is a pattern.
fn patterns<'t>(trial: &'t Trial<'t>) -> Option<Ended> {
    #[retry(policy = trial.policy, on = [E { .. }], runtime = trial.time.clone())]
    async fn call(trial: &Trial<'_>) -> Result<Reply, E> {
        trial.attempt().await
    }
    trial.wait(call(trial))
}

fn bare<'t>(trial: &'t Trial<'t>) -> Option<Ended> {
    #[retry(max_attempts = 3, jitter = none, runtime = trial.time.clone())]
    async fn call(trial: &Trial<'_>) -> Result<Reply, E> {
        trial.attempt().await
    }
    trial.wait(call(trial))
}

fn bare_blocking<'t>(trial: &'t Trial<'t>) -> Option<Ended> {
    #[retry(max_attempts = 3, jitter = none, runtime = trial.time.clone())]
    fn call(trial: &Trial<'_>) -> Result<Reply, E> {
        trial.attempt_blocking()
    }
    Some(call(trial).into())
}

fn bare_block<'t>(trial: &'t Trial<'t>) -> Option<Ended> {
    let runtime = trial.time.clone();
    trial.wait(retry_block!(
        max_attempts = 3,
        jitter = none,
        runtime = runtime,
        async { trial.attempt().await }
    ))
}

/// Patterns beside codes, in a blocking function.
fn blocking_patterns<'t>(trial: &'t Trial<'t>) -> Option<Ended> {
    #[retry(policy = trial.policy, on = [503, E { .. }], runtime = trial.time.clone())]
    fn call(trial: &Trial<'_>) -> Result<Reply, E> {
        trial.attempt_blocking()
    }
    Some(call(trial).into())
}

fn bare_careful<'t>(trial: &'t Trial<'t>) -> Option<Ended> {
    #[retry(max_attempts = 3, jitter = none, idempotent = false, runtime = trial.time.clone())]
    async fn call(trial: &Trial<'_>) -> Result<Reply, E> {
        trial.attempt().await
    }
    trial.wait(call(trial))
}

const PATTERNS: &[Form] = &[
    Form::new("attribute, patterns", Kind::Keys, patterns),
    Form::new("blocking", Kind::BlockingKeys, blocking_patterns),
];
/// Under the default policy with three attempts.
const BARE_CAREFUL: &[Form] = &[Form::new("attribute", Kind::Keys, bare_careful)];
const BARE: &[Form] = &[
    Form::new("attribute", Kind::Keys, bare),
    Form::new("attribute, blocking", Kind::BlockingKeys, bare_blocking),
    Form::new("block", Kind::Keys, bare_block),
];

/// What an error says; what comes of it by the codes, idempotent and not; by a function that says yes,
/// idempotent and not; and under a bare attribute.
type Row = (E, [Ends; 5]);

/// Retried, but not where it may have been applied.
const RISKY: [Ends; 5] = [THRICE, ONCE, THRICE, ONCE, THRICE];
/// Only the function says yes.
const UNNAMED: [Ends; 5] = [ONCE, ONCE, THRICE, ONCE, ONCE];
/// Nothing is known: repeated where nobody named codes, or where the function says so.
const UNKNOWN: [Ends; 5] = [ONCE, ONCE, THRICE, ONCE, THRICE];

fn table() -> [Row; 24] {
    // The hint outlasts each backoff.
    let (hint, hints) = (10 * SECOND, (3, 20 * SECOND));
    let unavailable = E::grpc(GrpcCode::Unavailable);
    let (transient, permanent) = (E::kind(FaultKind::Transient), E::kind(FaultKind::Permanent));
    [
        // A code of the policy: a 503 may have been applied, a 429 was not.
        (E::status(503), RISKY),
        (E::status(429), [THRICE; 5]),
        (unavailable, RISKY),
        // No code of the policy.
        (E::status(404), UNNAMED),
        (E::grpc(GrpcCode::NotFound), UNNAMED),
        // The kind outranks the codes.
        (transient, RISKY),
        (E::kind(FaultKind::Throttled), [THRICE; 5]),
        (permanent, UNNAMED),
        (E::status(404).and_kind(FaultKind::Throttled), [THRICE; 5]),
        // The connection.
        (E::REFUSED, [THRICE; 5]),
        (E::LOST, RISKY),
        // Somebody knows that nothing was applied: as above, and nothing is too dangerous.
        (E::status(503).not_applied(), [THRICE; 5]),
        (unavailable.not_applied(), [THRICE; 5]),
        (transient.not_applied(), [THRICE; 5]),
        (E::LOST.not_applied(), [THRICE; 5]),
        (
            E::status(404).not_applied(),
            [ONCE, ONCE, THRICE, THRICE, ONCE],
        ),
        (permanent.not_applied(), [ONCE, ONCE, THRICE, THRICE, ONCE]),
        (E::UNKNOWN.not_applied(), UNKNOWN),
        // Hints, and a server that asks not to be called, are heard by everybody.
        (
            E::status(503).after(hint),
            [hints, ONCE, hints, ONCE, hints],
        ),
        (E::status(429).after(hint), [hints; 5]),
        (E::status(503).asking_to_stop(), [ONCE; 5]),
        (E::UNKNOWN.asking_to_stop(), [ONCE; 5]),
        (E::UNKNOWN, UNKNOWN),
        (E::UNKNOWN.after(hint), [ONCE, ONCE, hints, ONCE, hints]),
    ]
}

#[test]
fn all_forms_agree_about_every_error() {
    let yes: fn(&E) -> Verdict = |_| true.into();
    let (codes, function) = (call(POLICY), call(POLICY).when(yes));
    let columns: [(&str, Setting, &'static [Form]); 5] = [
        ("by codes", codes, &[]),
        ("by codes, not idempotent", codes.careful(), &[]),
        ("by function", function, PATTERNS),
        ("by function, not idempotent", function.careful(), PATTERNS),
        ("bare", codes, BARE),
    ];
    // Nor does a hint or a kind of its own say what was applied.
    let judges: [fn(&E) -> Verdict; 2] = [
        |_| Verdict::from(true).after(Some(SECOND / 2)),
        |_| Verdict::Retry {
            kind: FaultKind::Throttled,
            retry_after: None,
        },
    ];
    for (error, expected) in table() {
        let script = [fails(error)];
        let agree = |judge: &str, setting: &Setting, special: &'static [Form], expected: Ends| {
            let special = special
                .iter()
                .map(|form| (form, form.run(setting, &script)));
            let special: Vec<_> = special.collect();
            let all = (judge != "bare").then(|| runs(setting, &script));
            for (form, came) in special.into_iter().chain(all.into_iter().flatten()) {
                assert_eq!(ends(&came), expected, "{error:?}, {judge}, {}", form.name);
            }
        };
        for ((judge, setting, special), expected) in columns.iter().zip(expected) {
            agree(judge, setting, special, expected);
        }
        let [_, _, _, careful, bare] = expected;
        let bare = if careful == ONCE { ONCE } else { bare };
        agree("bare", &codes, BARE_CAREFUL, bare);
        for judge in judges.iter().filter(|_| error.hint.is_none()) {
            agree(
                "by hint or kind",
                &call(POLICY).when(*judge).careful(),
                &[],
                careful,
            );
        }
    }
}

/// A read changes nothing. A function that sees errors of any type sees no facts, as its documentation says: what it
/// says holds.
#[test]
fn a_read_and_what_a_function_of_any_error_names_are_repeated() {
    let policy = POLICY.idempotent(false);
    let judged = policy.when(|_: &E| true);
    let time = Time::default();
    let read = judged.blocking_update(|| Err::<(), _>(E::LOST), |()| true, |()| Ok(()));
    assert!(read.runtime(time.clone()).call().is_err());
    assert_eq!(time.waits().len(), 2);
    let any = "any | careful, when_any | error lost | 0 1 3; at 3 attempts: error lost";
    check(call(POLICY), any);
}

/// Nobody else knows anything about such an error.
#[test]
fn an_error_of_any_type_is_judged_by_the_function_alone_in_every_form() {
    type Outcome = Result<(), &'static str>;
    fn fails(calls: &Cell<usize>) -> Outcome {
        calls.set(calls.get() + 1);
        Err("busy")
    }
    #[retry(policy = POLICY, when = |error: &&str| *error == "busy", runtime = time.clone())]
    async fn annotated(time: &Time, calls: &Cell<usize>) -> Outcome {
        fails(calls)
    }
    #[retry(jitter = none, max_attempts = 3, runtime = time.clone())]
    async fn bare(time: &Time, calls: &Cell<usize>) -> Outcome {
        fails(calls)
    }
    #[retry(jitter = none, max_attempts = 3, runtime = time.clone())]
    async fn generic<F>(
        time: &Time,
        calls: &Cell<usize>,
        error: fn(&'static str) -> F,
    ) -> Result<(), F> {
        fails(calls).map_err(error)
    }
    let form = |time: &Time, calls: &Cell<usize>| {
        let judged = POLICY.when_any(|error: &&str| *error == "busy");
        time.run(judged.retry(|| ready(fails(calls))).runtime(time.clone()))
    };
    let forms: [fn(&Time, &Cell<usize>) -> Outcome; 2] = [
        |time, calls| time.run(annotated(time, calls)),
        |time, calls| time.run(bare(time, calls)),
    ];
    let of_a_fault: fn(&Time, &Cell<usize>) -> Outcome = |time, calls| {
        // The attribute does not know that the type is a `Fault`, and hears no hint.
        let error = |_| E::status(503).after(30 * SECOND);
        time.run(generic(time, calls, error)).map_err(|_| "busy")
    };
    let forms = forms
        .iter()
        .chain([&of_a_fault])
        .map(|form| form as &dyn Fn(&Time, &Cell<usize>) -> Outcome);
    for (form, number) in forms.chain([&form as _]).zip(0..) {
        let (time, calls) = (Time::default(), Cell::new(0));
        assert_eq!(form(&time, &calls), Err("busy"));
        assert_eq!((calls.get(), time.elapsed()), THRICE, "form {number}");
    }
}

/// An attempt knows whether an earlier one of its call may have been applied: in each form that gives an
/// `Attempt`, for each script of failures.
#[test]
fn an_attempt_knows_whether_an_earlier_one_may_have_been_applied() {
    let limited = PLAIN.max_attempts(8).retry_conflicts(true);
    // A doubt lasts until the call ends: `?` marks the attempts that have one.
    let rows = [
        ("200", "."),
        ("error lost, 200", ".?"),
        ("error 500, 200", ".?"),
        ("error 502, 200", ".?"),
        ("error 503, 200", ".?"),
        ("error refused, 200", ".."),
        ("error 429, 200", ".."),
        ("error conflict, 200", ".."),
        (
            "error refused, error 502, error refused, error 429, 200",
            "..???",
        ),
        ("hangs, 200", ".?"),
        ("hangs, error 429, 200", ".??"),
    ];
    let scripts = rows.map(|(words, doubts)| (steps(words), doubts));
    let facts = [E::kind(FaultKind::Throttled), E::status(503).not_applied()];
    let facts = facts.map(|error| (vec![fails(error), gives(200)], ".."));
    for (script, doubts) in scripts.iter().chain(&facts) {
        let hangs = script[0].error().is_none() && script.len() > 1;
        let settings = ["attempt_timeout 1", "", "when", "until"];
        for words in &settings[..if hangs { 1 } else { 4 }] {
            let setting = call(limited).with(words);
            let told = runs(&setting, script);
            let told = told.filter(|(_, came)| !came.doubts.is_empty());
            let forms = told.map(|(form, came)| {
                let expected: Vec<_> = doubts.chars().map(|doubt| doubt == '?').collect();
                assert_eq!(came.doubts, expected, "{}: {script:?}", form.name);
            });
            assert!(forms.count() >= 2, "{script:?}");
        }
        // What is in doubt is what a policy that is not idempotent does not repeat. A layer sends a request unchanged,
        // which ends no conflict.
        if let ([first, _], Some(error)) = (&script[..], script[0].error()) {
            let (careful, is_in_doubt) = (call(limited).careful(), *doubts == ".?");
            let verdict = careful.policy.judge(&error);
            assert_eq!(verdict == Verdict::MaybeApplied, is_in_doubt);
            let script = [*first, gives(200)];
            let calls = runs(&careful, &script);
            for (form, came) in calls.filter(|(form, _)| form.kind != Kind::Layer) {
                assert_eq!(came.begun.len() == 1, is_in_doubt, "{error}, {}", form.name);
            }
        }
    }
    // Responses are judged as errors are; a value that is not awaited leaves no doubt.
    for (words, first, expected) in [
        ("responses", 503, true),
        ("responses", 429, false),
        ("until", 202, false),
    ] {
        for (form, came) in runs(&call(limited).with(words), &[gives(first), gives(200)]) {
            let told = came.doubts.get(1).is_none_or(|told| *told == expected);
            assert!(told, "{first}, {}", form.name);
        }
    }
}

/// Nobody else knows anything about an error of another type.
#[test]
fn an_error_without_facts_is_in_doubt_unless_the_judge_names_its_kind() {
    let second = |verdict: Verdict| {
        let time = Time::default();
        let call = POLICY.when_any(move |_: &&str| verdict).retry_with(|n| {
            ready(match n.number() {
                1 => Err("an error"),
                _ => Ok(n.maybe_applied()),
            })
        });
        time.run(call.runtime(time.clone())).unwrap()
    };
    assert!(second(true.into()));
    for kind in [
        FaultKind::Throttled,
        FaultKind::Conflict,
        FaultKind::Pending,
    ] {
        let retry_after = None;
        assert!(!second(Verdict::Retry { kind, retry_after }), "{kind:?}");
    }
}
