//! The same policy as an attribute, as a constant and as TOML.

use std::{collections::BTreeMap, time::Duration};

use backoff_cloud::Policy;
use serde_json::{Map, Value};

use crate::state::{BUDGETS, NONE, State, has_budget, named, of_reads, settings, text};

/// By the name of the place on the page.
pub(crate) type Snippets = BTreeMap<&'static str, String>;

/// By their names.
type Rules = Map<String, Value>;

pub(crate) fn snippets(state: &State) -> Snippets {
    let (rules, name, budget) = (changed(state), state.name, state.crowd.budget);
    let without = ["", ", without its budget"][usize::from(budget > 0)];
    let mut toml = format!(
        "# `PolicySettings` reads this, and\n# `settings.over({name})?` is the policy{without}.\n"
    );
    for (rule, value) in &rules {
        toml += &format!("{rule} = {value}\n");
    }
    let own = BUDGETS[budget].2.0.filter(|_| budget > 0);
    let shared = own.map_or_else(String::new, |it| {
        format!("static BUDGET: Budget = {it};\n\n")
    });
    let key = own.map_or("", |_| "    budget = BUDGET,\n");
    let setter = own.map_or("", |_| "\n    .budget(&BUDGET)");
    let code = begins(state, rules).map(|(begin, rules)| {
        let setters = setters(&rules);
        let constant = format!("{shared}const POLICY: Policy = {begin}{setters}{setter};\n");
        (shared + &attribute(begin, &rules, key), constant)
    });
    let (attribute, constant) = code.unwrap_or_else(|why| (why.clone(), why));
    BTreeMap::from([
        ("attribute", attribute),
        ("constant", constant),
        ("toml", toml),
    ])
}

/// The rules that are said, without those whose absence changes nothing.
fn changed(state: &State) -> Rules {
    let mut rules = named(&state.settings);
    for (rule, value) in rules.clone() {
        rules.remove(&rule);
        // Two policies that log at different levels are equal.
        if rule == "log_waits" || settings(&rules).over(state.preset) != Ok(state.policy) {
            rules.insert(rule, value);
        }
    }
    rules
}

/// The code of the policy with which a constant begins, and the rules that it changes. No setter changes the growth, so
/// a policy with another growth begins with its constructor and the other rules of the preset.
fn begins(state: &State, mut rules: Rules) -> Result<(String, Rules), String> {
    let (preset, budget) = (&state.preset, state.crowd.budget);
    let Some(growth) = rules.remove("growth") else {
        let is_without = has_budget(preset) && budget == NONE;
        let without = ["", "\n    .without_budget()"][usize::from(is_without)];
        return Ok((state.name.to_owned() + without, rules));
    };
    let settings = of_reads(preset).settings().map_err(|error| {
        let needed = "Another algorithm needs a policy with all rules of the preset";
        format!("// {needed}.\n// But {error}.\n")
    })?;
    let mut kept = named(&settings);
    let base = rules.remove("base").unwrap_or_else(|| kept["base"].clone());
    let (growth, base) = (text(&growth), duration(&text(&base)));
    let name = growth.split('(').next().unwrap_or_default();
    let mut begin = match name {
        "linear" => format!("Policy::linear({base}, {})", duration(argument(&growth))),
        _ => format!("Policy::{name}({base})"),
    };
    let mut begun = Policy::exponential();
    if name == "slots" {
        begun = Policy::slots(Duration::from_secs(1));
        // It has a number of attempts, which no setter takes away.
        let is_timed = kept.contains_key("deadline") || rules.contains_key("deadline");
        let without = ["5", "unlimited"][usize::from(is_timed)];
        kept.entry("max_attempts").or_insert(without.into());
    }
    let others = named(&begun.settings().expect("no code"));
    kept.retain(|rule, value| {
        let is_given = ["growth", "base", "factor"].contains(&&**rule) || rules.contains_key(rule);
        !is_given && others.get(rule) != Some(value)
    });
    rules.retain(|rule, value| others.get(rule) != Some(value));
    if has_budget(preset) && budget == 0 {
        let module = state.name.split("::").next().unwrap_or_default();
        begin += &format!("\n    .budget(&{module}::BUDGET)");
    }
    // Whether the method of a request decides is no setting.
    if state.policy == state.policy.idempotent_by_method() {
        begin += "\n    .idempotent_by_method()";
    }
    Ok((begin + &setters(&kept), rules))
}

/// `also_on` adds to `on`, so it comes last.
fn setters(rules: &Rules) -> String {
    let mut rules: Vec<_> = rules.iter().collect();
    rules.sort_by_key(|it| it.0 == "also_on");
    let setter = |it: (&String, &Value)| format!("\n    .{}({})", it.0, code(it.0, it.1, false));
    rules.into_iter().map(setter).collect()
}

/// `budget` is the line of its key.
fn attribute(begin: String, rules: &Rules, budget: &str) -> String {
    // These are no keys.
    const OTHERS: [&str; 3] = [
        "spread_retry_after",
        "retry_after_alone",
        "retry_after_slack",
    ];
    let is_key = |rule: &str| !OTHERS.contains(&rule);
    let (keys, others): (Rules, Rules) = rules.clone().into_iter().partition(|it| is_key(&it.0));
    let policy = (begin + &setters(&others)).replace('\n', "\n    ");
    let key = |it: (&String, &Value)| format!("    {} = {},\n", it.0, code(it.0, it.1, true));
    let keys: String = keys.iter().map(key).collect();
    format!("#[retry(\n    policy = {policy},\n{keys}{budget})]\n")
}

/// The value of a rule as code: of a setter, or of a key, which has short forms.
fn code(rule: &str, value: &Value, is_key: bool) -> String {
    let text = text(value);
    match (rule, is_key) {
        ("jitter", true) if text.starts_with("additive(") => format!("{:?}", argument(&text)),
        ("jitter", true) if !text.contains('(') => text,
        ("jitter", _) => jitter(&text),
        ("on" | "also_on", true) => format!("[{}]", codes(&text)),
        ("on" | "also_on", false) => format!("codes![{}]", codes(&text)),
        ("max_attempts", false) if text == "unlimited" => "Policy::UNLIMITED".to_owned(),
        ("log_waits", false) => format!("LogLevel::{}", camel(&text)),
        ("factor" | "max_attempts" | "log_waits", _) => text,
        _ if value.is_boolean() => text,
        (_, true) => format!("{text:?}"),
        (_, false) => duration(&text),
    }
}

/// What stands in the parentheses.
fn argument(text: &str) -> &str {
    let (_, argument) = text.split_once('(').unwrap_or_default();
    argument.trim_end_matches(')')
}

fn jitter(text: &str) -> String {
    let name = text.split('(').next().unwrap_or_default();
    match (name, argument(text)) {
        (_, "") => format!("Jitter::{}", camel(name)),
        ("proportional", share) => format!("Jitter::Proportional({share})"),
        (_, most) => format!("Jitter::{}({})", camel(name), duration(most)),
    }
}

/// The numbers as they are, and the names as constants.
fn codes(text: &str) -> String {
    let is_name = |code: &str| code.starts_with(|it: char| it.is_ascii_alphabetic());
    let code = |code| if is_name(code) { "Codes::" } else { "" }.to_owned() + code;
    text.split(", ").map(code).collect::<Vec<_>>().join(", ")
}

fn camel(name: &str) -> String {
    let words = name.split('_').map(|word| {
        let (first, rest) = word.split_at(1.min(word.len()));
        first.to_uppercase() + rest
    });
    words.collect()
}

/// A time, read by the library, in the largest unit of which it is a whole number.
fn duration(text: &str) -> String {
    let read = settings(&Rules::from_iter([("base".to_owned(), text.into())]));
    let (mut number, mut unit) = (read.base.expect("a first wait").as_nanos(), 0);
    while unit < 3 && number.is_multiple_of(1_000) {
        (number, unit) = (number / 1_000, unit + 1);
    }
    let unit = ["nanos", "micros", "millis", "secs"][unit];
    format!("Duration::from_{unit}({number})")
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use backoff_cloud::{PolicySettings, presets};
    use expect_test::expect_file;

    fn of(query: &str) -> (State, Snippets) {
        let state = State::read(query).unwrap_or_else(|mistakes| panic!("{query}: {mistakes:?}"));
        (state, snippets(&state))
    }

    #[test]
    fn the_toml_over_the_preset_is_the_same_policy() {
        let changes = [
            "",
            "&base=2ms&factor=1.25&jitter=proportional(0.2)&max_attempts=9&deadline=90s",
            "&growth=linear(250ms)&max_attempts=unlimited&also_on=418,ABORTED&idempotent=false",
            "&on=429&also_on=503",
            "&on=429,500..=504&spread_retry_after=true&retry_after_slack=5s&retry_conflicts=true",
        ];
        for (name, preset) in presets::ALL {
            for change in changes {
                let query = format!("preset={name}{change}");
                // The factor belongs to exponential waits only.
                let Ok(state) = State::read(&query) else {
                    assert!(change.contains("factor"), "{query}");
                    continue;
                };
                let settings: PolicySettings = toml::from_str(&snippets(&state)["toml"]).unwrap();
                assert_eq!(settings.over(*preset), Ok(state.policy), "{query}");
                assert_eq!(
                    state.policy == *preset,
                    settings == PolicySettings::default(),
                    "{query}"
                );
            }
        }
    }

    /// The name of a test in `written.rs`, and the query whose code it has.
    const WRITTEN: [(&str, &str); 13] = [
        ("a_preset", "preset=storage::READ_MODIFY_WRITE"),
        (
            "times",
            "preset=iam::READ_MODIFY_WRITE&base=500ms&max_backoff=1m+30s&deadline=300s&throttled_base=2s&max_retry_after=1h\
             &retry_after_slack=1500us",
        ),
        (
            "codes_and_choices",
            "preset=iam::REQUEST&on=429,500..%3D504,ABORTED&also_on=418&idempotent=true&retry_conflicts=true\
             &spread_retry_after=true&max_attempts=9&factor=1.5",
        ),
        (
            "additive",
            "preset=iam::REQUEST&jitter=additive(1500us)&max_attempts=unlimited&retry_after_alone=true&budget=ratio",
        ),
        (
            "proportional",
            "preset=s3::REQUEST&jitter=proportional(0.2)&budget=none",
        ),
        (
            "linear",
            "preset=s3::REQUEST&growth=linear(250ms)&base=2s&jitter=additive_within(1s)",
        ),
        (
            "slots",
            "preset=kubernetes::REQUEST&growth=slots&jitter=full&budget=grpc",
        ),
        (
            "codes_beside_others",
            "preset=iam::REQUEST&on=429&also_on=503",
        ),
        (
            "longer_than_most",
            "preset=azure::STORAGE&growth=constant&base=90s",
        ),
        (
            "shorter_than_throttled",
            "preset=s3::REQUEST&growth=constant&max_backoff=500ms&also_on=418",
        ),
        ("no_codes", "preset=postgres::TRANSACTION&growth=linear(1s)"),
        ("methods", "preset=plain_http::BY_METHOD&growth=constant"),
        (
            "fibonacci",
            "preset=kubernetes::REQUEST&growth=fibonacci&jitter=whole_seconds&base=1s",
        ),
    ];

    /// Holds code that the page shows against the policy that the page draws.
    pub(crate) fn is_of(query: &str, made: Policy) {
        let (state, _) = of(query);
        assert_eq!(made.without_budget(), state.policy.without_budget());
        match state.crowd.budget {
            0 => assert_eq!(made, state.policy),
            other => assert_eq!(has_budget(&made), BUDGETS[other].2.0.is_some()),
        }
    }

    #[test]
    fn the_code_is_written_down_and_compiled() {
        let head = "//! Code that the page shows. `UPDATE_EXPECT=1 cargo test -p examples --example lab` writes it anew.\n\n\
                    use std::time::Duration;\n\n\
                    use backoff_cloud::{\n    \
                    Budget, Codes, Fault, Jitter, Policy, codes, iam, retry, s3, storage,\n};\n\n\
                    use crate::snippets::tests::is_of;\n\n\
                    #[derive(Debug, Fault)]\n#[fault(status = self.0)]\nstruct Failure(u16);\n";
        let test = |(name, query)| {
            let (_, code) = of(query);
            let (attribute, constant) = (&code["attribute"], &code["constant"]);
            format!(
                "\n#[test]\nfn {name}() {{\n{{\n{attribute}async fn call() -> Result<(), Failure> {{\n    \
                 Err(Failure(503))\n}}\nlet _ = call;\n}}\n{constant}is_of(\n{query:?},\nPOLICY,\n);\n}}\n"
            )
        };
        let tests = WRITTEN.map(test).concat();
        expect_file!["written.rs"].assert_eq(&(head.to_owned() + &tests));
    }

    #[test]
    fn code_has_a_line_for_each_rule_that_differs() {
        let query = "preset=iam::READ_MODIFY_WRITE&base=500ms&jitter=additive(1500us)&deadline=300s&on=503,ABORTED\
                     &spread_retry_after=false&max_attempts=unlimited&budget=aws";
        let (_, code) = of(query);
        assert_eq!(
            code["constant"],
            "static BUDGET: Budget = Budget::aws();\n\n\
             const POLICY: Policy = iam::READ_MODIFY_WRITE\n    .base(Duration::from_millis(500))\n    \
             .jitter(Jitter::Additive(Duration::from_micros(1500)))\n    .max_attempts(Policy::UNLIMITED)\n    \
             .on(codes![503, Codes::ABORTED, Codes::UNAVAILABLE])\n    .spread_retry_after(false)\n    \
             .budget(&BUDGET);\n"
        );
        assert_eq!(
            code["attribute"],
            "static BUDGET: Budget = Budget::aws();\n\n\
             #[retry(\n    policy = iam::READ_MODIFY_WRITE\n        .spread_retry_after(false),\n    base = \"500ms\",\n    \
             jitter = \"1.5ms\",\n    max_attempts = unlimited,\n    on = [503, Codes::ABORTED, Codes::UNAVAILABLE],\n    \
             budget = BUDGET,\n)]\n"
        );
    }

    #[test]
    fn another_growth_begins_with_its_constructor() {
        let (_, code) = of("preset=iam::REQUEST&growth=linear(250ms)&base=2s&deadline=60s");
        let begins = "const POLICY: Policy = Policy::linear(Duration::from_secs(2), Duration::from_millis(250))\n";
        assert!(code["constant"].starts_with(begins), "{}", code["constant"]);
        for rule in [".deadline(Duration::from_secs(60))", ".on(codes!["] {
            assert!(code["constant"].contains(rule), "{}", code["constant"]);
        }
        assert!(!code["constant"].contains("base(") && !code["constant"].contains("factor("));
        let (_, code) = of("preset=s3::REQUEST&growth=constant");
        assert!(code["attribute"].contains(
            "= Policy::constant(Duration::from_millis(50))\n        .budget(&s3::BUDGET)\n        ."
        ));
        let (_, code) = of("preset=iam::REQUEST&growth=slots&jitter=slots");
        assert!(code["constant"].contains(".max_attempts(Policy::UNLIMITED)"));
        // A function stays in the code.
        let (_, code) = of("preset=github::REQUEST&growth=fibonacci");
        assert!(code["constant"].contains("// But `throttled_if` cannot be written"));
    }
}
