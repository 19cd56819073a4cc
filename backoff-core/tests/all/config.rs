//! A policy read from configuration: every rule, in several formats, and every kind of wrong input.
#![cfg_attr(not(feature = "tracing"), allow(deprecated))]

use backoff_core::{Budget, Codes, Jitter, LogLevel, Policy, PolicySettings, codes};
use proptest::prelude::*;
use serde::Deserialize;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// All rules that there are.
const RULES: &str = r#"
    base = "250ms"
    throttled_base = "2s"
    growth = "exponential"
    factor = 1.5
    max_backoff = "1m 30s"
    jitter = "proportional(0.2)"
    max_attempts = 7
    deadline = "5m"
    on = [408, "429", "500..=504"]
    also_on = ["ABORTED", " UNKNOWN "]
    retry_conflicts = true
    idempotent = false
    max_retry_after = "1h"
    retry_after_slack = "5s"
    spread_retry_after = true
    retry_after_alone = true
    log_waits = "debug"
"#;

fn names() -> Vec<&'static str> {
    let names = RULES.lines().filter_map(|line| line.split_once(" = "));
    names.map(|(name, _)| name.trim()).collect()
}

fn toml(text: &str) -> Result<Policy, String> {
    toml::from_str(text).map_err(|error| error.message().to_owned())
}

fn json(text: &str) -> Result<Policy, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

/// What is named in the text, over a preset.
fn over(text: &str, preset: Policy) -> Result<Policy, String> {
    let settings: PolicySettings = toml::from_str(text).unwrap();
    settings.over(preset).map_err(|error| error.to_string())
}

/// Also as an environment has it: text and nothing else.
#[test]
fn every_rule_is_its_setter() {
    let by_hand = Policy::exponential()
        .base(Duration::from_millis(250))
        .throttled_base(2 * SECOND)
        .factor(1.5)
        .max_backoff(90 * SECOND)
        .jitter(Jitter::Proportional(0.2))
        .max_attempts(7)
        .deadline(300 * SECOND)
        .on(codes![408, 429, 500..=504, Codes::ABORTED, Codes::UNKNOWN])
        .retry_conflicts(true)
        .idempotent(false)
        .max_retry_after(3_600 * SECOND)
        .retry_after_slack(5 * SECOND)
        .spread_retry_after(true)
        .retry_after_alone(true)
        .log_waits(LogLevel::Debug);
    assert_eq!(toml(RULES), Ok(by_hand));
    let as_text = RULES.lines().filter_map(|line| line.split_once(" = "));
    let as_text = as_text.map(|(name, value)| {
        let value = value.replace(['"', '[', ']'], "");
        format!("{name} = \"{value}\"\n")
    });
    assert_eq!(toml(&as_text.collect::<String>()), Ok(by_hand));
}

#[test]
fn every_jitter_and_every_growth_has_its_name() {
    use Jitter::{Additive, AdditiveWithin, Proportional};
    for (text, jitter) in [
        ("none", Jitter::None),
        ("full", Jitter::Full),
        ("equal", Jitter::Equal),
        ("decorrelated", Jitter::Decorrelated),
        ("slots", Jitter::Slots),
        ("whole_seconds", Jitter::WholeSeconds),
        ("additive(1s)", Additive(SECOND)),
        ("additive_within( 1s )", AdditiveWithin(SECOND)),
        ("proportional(1)", Proportional(1.0)),
    ] {
        let policy = Policy::exponential().jitter(jitter);
        assert_eq!(toml(&format!("jitter = '{text}'")), Ok(policy), "{text}");
    }
    for (text, policy) in [
        ("exponential", Policy::exponential()),
        ("constant", Policy::constant(SECOND)),
        ("linear(500ms)", Policy::linear(SECOND, SECOND / 2)),
        ("fibonacci", Policy::fibonacci(SECOND)),
    ] {
        assert_eq!(toml(&format!("growth = '{text}'")), Ok(policy), "{text}");
    }
    let slots = "growth = 'slots'\njitter = 'slots'\nmax_attempts = 16";
    assert_eq!(toml(slots), Ok(Policy::slots(SECOND)));
}

/// Two policies that differ in the level alone are equal, so it is compared as it is shown.
#[test]
fn every_level_has_its_name() {
    let shown = |policy: Policy| format!("{policy:?}");
    let levels = [
        ("off", LogLevel::Off),
        ("error", LogLevel::Error),
        ("warn", LogLevel::Warn),
        ("info", LogLevel::Info),
        ("debug", LogLevel::Debug),
        (" trace ", LogLevel::Trace),
    ];
    for (name, level) in levels {
        let expected = shown(Policy::exponential().log_waits(level));
        // Over the quietest and the loudest: what is named replaces what a preset has.
        for preset in [LogLevel::Off, LogLevel::Error] {
            let preset = Policy::exponential().log_waits(preset);
            let read = over(&format!("log_waits = {name:?}"), preset).unwrap();
            assert_eq!(shown(read), expected, "{name}");
            let written = serde_json::to_value(read.settings().unwrap()).unwrap();
            assert_eq!(written["log_waits"], name.trim());
        }
    }
    let quiet = Policy::exponential().log_waits(LogLevel::Debug);
    assert_eq!(shown(over("", quiet).unwrap()), shown(quiet));
}

#[test]
fn what_is_not_named_stays_as_the_preset_has_it() {
    static BUDGET: Budget = Budget::aws();
    fn squares(n: u32) -> Duration {
        SECOND * n.saturating_pow(2)
    }
    const PRESET: Policy = Policy::exponential()
        .factor(3.0)
        .jitter(Jitter::Equal)
        .max_attempts(4)
        .on(codes![503])
        .idempotent(false)
        .budget(&BUDGET);
    const BY_METHOD: Policy = PRESET.idempotent_by_method();
    assert_ne!(BY_METHOD, PRESET);
    let changed = PRESET.deadline(SECOND).also_on(codes![429]);
    let custom = Policy::custom(squares).base(SECOND);
    let exponential = Policy::exponential().factor(3.0);
    for (text, preset, expected) in [
        ("", PRESET, PRESET),
        ("deadline = '1s'\nalso_on = 429", PRESET, changed),
        ("growth = 'exponential'", PRESET, PRESET),
        ("idempotent = true", PRESET, PRESET.idempotent(true)),
        ("", BY_METHOD, BY_METHOD),
        ("idempotent = false", BY_METHOD, PRESET),
        ("base = '2s'", custom, custom.base(2 * SECOND)),
        ("growth = 'exponential'\nfactor = 3", custom, exponential),
    ] {
        assert_eq!(over(text, preset), Ok(expected), "{text}");
    }
    let error = over("factor = 3", Policy::constant(SECOND)).unwrap_err();
    assert!(error.starts_with("`factor` belongs to exponential"));
}

#[test]
fn a_policy_is_a_field_of_a_programs_configuration() {
    #[derive(Deserialize)]
    struct Config {
        #[serde(default)]
        retry: Policy,
        storage: Option<PolicySettings>,
    }
    let config: Config = toml::from_str("[storage]\nmax_attempts = 2").unwrap();
    assert_eq!(config.retry, Policy::exponential());
    let storage = config.storage.unwrap().over(Policy::constant(SECOND));
    assert_eq!(storage, Ok(Policy::constant(SECOND).max_attempts(2)));
    let error = toml::from_str::<Config>("[retry]\ngrowth = 'constant'\nfactor = 2").err();
    assert!(error.unwrap().message().contains("`factor`"));
}

#[test]
fn a_null_says_nothing_and_an_empty_list_of_codes_leaves_the_connection() {
    let read = json(r#"{ "deadline": null, "max_attempts": 2, "on": [] }"#);
    let policy = Policy::exponential().max_attempts(2).on(Codes::NONE);
    assert_eq!(read, Ok(policy));
}

/// What is written, with the beginning of what is said, or the part that says what to write instead.
#[rustfmt::skip]
const REFUSED: &[(&str, &str)] = &[
    ("max_attempts = 0", "`max_attempts` counts the first call too: write 1 to never retry; for no limit write"),
    ("max_attempts = -1", "for no limit write `Policy::UNLIMITED`, in a configuration \"unlimited\""),
    ("max_attempts = 2.5", "2.5 is not a number of attempts: write a whole number"),
    ("max_attempts = 'many'", "write a whole number from 1, or \"unlimited\""),
    ("base = 64", "`base`: 64 is not a time: write text with the unit, as \"64s\""),
    ("base = 2.0", "\"1m 30s\"; the growth of the waits is `factor`"),
    ("base = '64'", "`base`: `64` has no unit: write `64ms` or `64s`"),
    ("base = '2m'", "`base` is longer than `max_backoff`: write a shorter `base`, or a longer `max_backoff`"),
    ("max_backoff = '5s'\nbase = '6s'", "`base` is longer than `max_backoff`"),
    ("max_backoff = '500ms'", "`max_backoff` is shorter than the `base` of the policy: write a shorter `base` too"),
    ("deadline = '10s'\nbase = '11s'", "`base` is longer than `deadline`: write a shorter"),
    ("throttled_base = '65s'", "`throttled_base` is longer than `max_backoff`"),
    ("deadline = '0s'", "`deadline`: a deadline of zero retries nothing: write a longer one as \"5m\""),
    ("deadline = 0", "0 is not a time"),
    ("deadline = '-1s'", "cannot be negative: write `1s`"),
    ("deadline = 'soon'", "`soon` is not a duration"),
    ("max_backoff = '99999999999999999999999s'", "longer than a `Duration`"),
    ("max_backoff = { secs = 1, nanos = 0 }", "a table is not a time"),
    ("factor = 0.5", "`factor` must be finite and at least 1: write 2.0"),
    ("factor = nan", "write 2.0"),
    ("growth = 'constant'\nfactor = 2", "`factor` belongs to exponential backoff: leave it out"),
    ("growth = 'quadratic'", "write \"exponential\", \"constant\""),
    ("growth = 'linear'", "\"linear(1s)\" with the step"),
    ("growth = 'linear(x)'", "`x` is not a duration"),
    ("growth = 'constant(1s)'", "is not a growth"),
    ("deadline = '5M'", "`M` is not a unit of time; the units are ns, us, ms, s, m, h and d"),
    ("growth = 'linear(1M)'", "`M` is not a unit of time"),
    ("deadline = '5Min'", "`Min` is not a unit of time: write `5m`; the units are ns, us, ms, s, m, h and d"),
    ("jitter = 'Full'", "write \"full\""),
    ("jitter = 'additive'", "\"additive(1s)\""),
    ("jitter = true", "true is not a jitter"),
    ("jitter = 'proportional(1.5)'", "takes a share from 0 to 1: write 0.2"),
    ("on = 200", "a status below 400 is not a failure: name 400 to 599"),
    ("on = [600]", "an HTTP status is a number from 100 to 599"),
    ("on = [-1]", "-1 is not the status of a failure"),
    ("on = ['504..=500']", "write the smaller status first"),
    ("on = ['500..504']", "a range as \"500..=504\""),
    ("on = ['5xx']", "\"5xx\" is not a code: write a status as 429"),
    ("on = ['aborted']", "a gRPC code as \"ABORTED\""),
    ("on = ['OK']", "is not a code"),
    ("on = [[429]]", "a list is not a code"),
    ("idempotent = 'maybe'", "write true or false"),
    ("log_waits = 'loud'", "\"loud\" is not a level: write \"off\","),
    ("log_waits = 'Debug'", "\"debug\" or \"trace\""),
    ("log_waits = false", "false is not a level: write \"off\","),
];

#[test]
fn nonsense_is_refused_with_the_rules_name_and_what_to_write() {
    for (text, said) in REFUSED {
        let error = toml(text).expect_err(text);
        assert!(error.contains(said), "{text}: {error}");
        let name = text.rsplit('\n').next().unwrap().split(' ').next().unwrap();
        assert!(error.starts_with(&format!("`{name}`")), "{text}: {error}");
    }
}

/// A program may write the fields too.
#[test]
fn a_field_that_makes_no_sense_is_refused() {
    let said = |change: fn(&mut PolicySettings)| {
        let mut settings = PolicySettings::default();
        change(&mut settings);
        settings
            .over(Policy::exponential())
            .unwrap_err()
            .to_string()
    };
    for (said, instead) in [
        (
            said(|it| it.max_attempts = Some(0)),
            "write 1 to never retry",
        ),
        (
            said(|it| it.deadline = Some(Duration::ZERO)),
            "write a longer one as \"5m\"",
        ),
        (said(|it| it.factor = Some(0.5)), "write 2.0"),
        (
            said(|it| it.jitter = Some(Jitter::Proportional(1.5))),
            "write 0.2",
        ),
    ] {
        assert!(said.contains(instead), "{said}");
    }
}

/// As the files of other systems have them, and what is said of them.
#[rustfmt::skip]
const OTHERS: &[(&str, &str)] = &[
    // gRPC's service config
    ("maxAttempts = 4", "write `max_attempts`"),
    ("retryableStatusCodes = ['unavailable']", "the rule is `on`, and \"unavailable\" is not a code"),
    ("retryThrottling = { maxTokens = 10 }", "write `.budget(..)` on the call"),
    // Envoy, Istio
    ("num_retries = 3", "write `max_attempts` as 4, which counts the first call too"),
    ("retry_on = '5xx,reset'", "the rule is `on`, and \"5xx\" is not a code"),
    ("perTryTimeout = '2s'", "write `.attempt_timeout(..)` on the call"),
    ("attempts = 3", "Istio and Terraform do not count the first call"),
    // Cloud Tasks, Cloud Scheduler
    ("maxAttempts = -1", "the rule is `max_attempts`, and `max_attempts` counts the first call too"),
    ("maxRetryDuration = '0s'", "the rule is `deadline`, and a deadline of zero retries nothing"),
    ("maxDoublings = 16", "remove it: the waits are doubled up to `max_backoff`"),
    ("retryCount = 0", "write `max_attempts` as 1"),
    // Temporal
    ("maximumAttempts = 0", "for no limit write"),
    ("nonRetryableErrorTypes = ['A']", "name the codes to retry in `on`"),
    // AWS
    ("max_retries = -1", "for no limit write"),
    ("max_retries = 'three'", "write `max_attempts`, which counts the first call too"),
    ("retry_mode = 'adaptive'", "the policy in the code has the algorithm"),
    ("IntervalSeconds = 3", "write `base` as \"3s\""),
    ("JitterStrategy = 'FULL'", "the rule is `jitter`, and \"FULL\" is not a jitter"),
    // Spring, resilience4j
    ("max-attempts = 3", "write `max_attempts`"),
    ("initial-interval = 1000", "the rule is `base`, and 1000 is not a time"),
    ("enableRandomizedWait = true", "write `jitter` as \"full\""),
    // Terraform, object_store
    ("min_delay_ms = 250", "write `base` as \"250ms\""),
    ("min_delay_ms = '250'", "write `base` as \"250ms\""),
    ("max_delay_ms = 'many'", "the rule is `max_backoff`, and"),
    // The keys of the attribute that are no rules.
    ("timeout = '1m'", "write `.timeout(..)` on the call in the code, or the rule `deadline`"),
    (
        "max_wait = '5s'",
        "write `max_backoff` for the longest backoff; the longest wait in the queue of a rate is a setting of a call: \
         write `.max_queue_time(..)`",
    ),
    ("max_queue_time = '5s'", "write `.max_queue_time(..)` on the call"),
    ("tokens = 500", "write `.tokens(..)` on the call"),
    ("when = 'is_busy'", "write `.when(..)` on the call"),
    ("strategy = 'linear'", "remove it, because waits grow exponentially"),
    ("fixed = '1s'", "write `growth` as \"constant\""),
];

#[test]
fn the_names_of_other_systems_are_answered() {
    for (text, instead) in OTHERS {
        let error = toml(text).expect_err(text);
        let name = text.split(' ').next().unwrap();
        let is_named = error.starts_with(&format!("`{name}` is not a rule of a policy: "));
        assert!(is_named && error.contains(instead), "{text}: {error}");
    }
    // As a template that leaves the value open.
    let error = json(r#"{ "initialBackoff": null }"#).unwrap_err();
    assert!(error.contains("write `base`"), "{error}");
}

/// "For no limit": the deadline alone, in place of the default of five attempts. A preset keeps its own number, so a large
/// number is written over it.
#[test]
fn the_advice_for_no_limit_is_followed() {
    let advice = toml("max_attempts = 0").unwrap_err();
    assert!(
        advice.contains("in a configuration \"unlimited\""),
        "{advice}"
    );
    let unlimited = Policy::exponential().max_attempts(Policy::UNLIMITED);
    assert_eq!(toml("max_attempts = 'unlimited'"), Ok(unlimited));
    let timed = Policy::exponential().deadline(300 * SECOND);
    assert_eq!(toml("deadline = '5m'"), Ok(timed));
    assert_ne!(timed, timed.max_attempts(5));
    for text in [
        "deadline = '5m'\nmax_attempts = 5",
        "deadline = '5m'\nmax_attempts = 1000000",
    ] {
        let attempts = text.rsplit(' ').next().unwrap().parse().unwrap();
        let preset = Policy::exponential().max_attempts(3);
        assert_eq!(over(text, preset), Ok(timed.max_attempts(attempts)));
    }
}

/// A row: a document, and the line on which the mistake is.
#[test]
fn an_error_names_its_line() {
    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "the errors are what is read")]
    struct Config {
        url: String,
        retry: PolicySettings,
    }
    let table = "url = 'a'\n\n[retry]\nbase = '1s'\n";
    for (rest, line) in [
        ("max_attempts = 0", 5),
        ("\njitter = 'Full'\n", 6),
        ("hope = 3", 5),
        ("on = [\n  429,\n  '5xx',\n]", 5),
        ("\n\nmaxAttempts = 3", 7),
        ("deadline = '0s'", 5),
        ("[retry.backoff]\nbase = '1s'", 5),
    ] {
        let error = toml::from_str::<Config>(&format!("{table}{rest}")).expect_err(rest);
        let start = error.span().expect("a place").start;
        let text = format!("{table}{rest}");
        assert_eq!(text[..start].matches('\n').count() + 1, line, "{error}");
        assert!(
            error.to_string().contains(&format!("line {line}, ")),
            "{error}"
        );
    }
    let settings = "{\n \"base\": \"1s\",\n \"factor\": 0,\n \"jitter\": \"full\"\n}";
    let error = serde_json::from_str::<Policy>(settings).unwrap_err();
    assert_eq!(error.line(), 3, "{error}");
}

/// Nothing but the deadline would end it, after as many calls as fit.
#[test]
fn waits_of_zero_need_a_number_of_attempts() {
    for text in [
        "base = '0s'",
        "base = '0s'\ngrowth = 'constant'",
        "base = '0s'\ngrowth = 'fibonacci'",
        "base = '0s'\ngrowth = 'linear(0s)'",
        "base = '0s'\njitter = 'decorrelated'",
        "base = '0s'\njitter = 'additive(0s)'",
        "base = '250ms'\ngrowth = 'constant'\njitter = 'whole_seconds'",
        "max_backoff = '0s'",
        "max_backoff = '0s'\njitter = 'additive(1s)'",
        "throttled_base = '0s'",
    ] {
        let error = toml(&format!("{text}\ndeadline = '1m'")).expect_err(text);
        let said = match text.split_once(" =").unwrap().0 {
            "max_backoff" => "`max_backoff` of zero".to_owned(),
            name => format!("`{name}` is so short"),
        };
        assert!(error.starts_with(&said), "{text}: {error}");
        assert!(
            error.ends_with("or name a number as `max_attempts`"),
            "{text}: {error}"
        );
        // As many as a policy makes without being told.
        assert!(toml(text).is_ok(), "{text}");
        let counted = toml(&format!("{text}\ndeadline = '1m'\nmax_attempts = 9"));
        assert!(counted.is_ok(), "{text}: {counted:?}");
    }
    for pausing in [
        "base = '1ns'",
        "base = '0s'\njitter = 'additive(1s)'",
        "base = '0s'\ngrowth = 'linear(1s)'",
        "base = '250ms'\njitter = 'whole_seconds'",
        "growth = 'constant'\njitter = 'slots'",
    ] {
        let read = toml(&format!("{pausing}\ndeadline = '1m'"));
        assert!(read.is_ok(), "{pausing}: {read:?}");
    }
}

#[test]
fn a_rule_that_there_is_not_is_refused_with_those_that_there_are() {
    let error = toml("hope = 3").unwrap_err();
    assert!(error.starts_with("`hope` is not a rule of a policy: write one of `base`,"));
    for name in names() {
        assert!(error.contains(&format!(" `{name}`")), "{name}: {error}");
    }
    let error = json(r#"{ "base": "1s", "base": "2s" }"#).unwrap_err();
    assert!(error.starts_with("`base`: it is named twice"), "{error}");
    let error = json("3").unwrap_err();
    assert!(error.contains("expected the rules of a policy"), "{error}");
}

/// What parses elsewhere and means something else here, and almost everything that does not.
fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        "\\PC{0,20}",
        "[0-9a-z .=,()-]{0,24}",
        "-?[0-9]{1,25}(ns|us|ms|s|m|h|days|years)?",
        "[0-9]{1,4}(\\.\\.=?[0-9]{0,4})?",
        "(linear|additive|additive_within|proportional)\\([-0-9.a-z]{0,8}\\)",
    ]
}

fn any_value() -> impl Strategy<Value = serde_json::Value> {
    use serde_json::Value;
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-10i64..1_000).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any_text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map("[a-z]{1,4}", inner, 0..3)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5_000))]

    /// Nothing panics; an error names the rule; a policy that is read works.
    #[test]
    fn any_value_makes_a_policy_or_an_error_that_names_the_rule(
        name in prop::sample::select(names()),
        value in any_value(),
        random: u64,
    ) {
        let text = serde_json::json!({ name: value }).to_string();
        match json(&text) {
            Ok(policy) => {
                for retry in [0, 1, 7, u32::MAX] {
                    let _ = policy.backoff(retry, SECOND, random);
                }
                let _ = policy.explain().to_string();
            }
            Err(error) => prop_assert!(error.starts_with(&format!("`{name}`")), "{text}: {error}"),
        }
    }

    #[test]
    fn any_name_is_a_rule_or_refused(name in "\\PC{0,12}") {
        let text = serde_json::json!({ &name: null }).to_string();
        prop_assert_eq!(json(&text).is_ok(), names().contains(&name.as_str()));
    }
}
