//! The same policy as an attribute, as a constant and as TOML.

use backoff_cloud::{Policy, PolicySettings};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::state::{State, named, settings, text};

#[derive(Serialize)]
pub(crate) struct Snippets {
    pub(crate) attribute: String,
    pub(crate) constant: String,
    pub(crate) toml: String,
}

/// The rules that `#[retry]` has as keys.
const KEYS: [&str; 11] = [
    "base",
    "throttled_base",
    "factor",
    "max_backoff",
    "jitter",
    "max_attempts",
    "deadline",
    "max_retry_after",
    "on",
    "also_on",
    "idempotent",
];

pub(crate) fn snippets(state: &State) -> Snippets {
    let rules = changed(state);
    let budget = state.crowd.budget().map(|it| it.0);
    let toml: String = rules
        .iter()
        .map(|(rule, value)| format!("{rule} = {value}\n"))
        .collect();
    let toml = format!(
        "# `PolicySettings` reads this, and\n# `settings.over({})?` is the policy.\n{toml}",
        state.name
    );
    let (constant, attribute) = match begins(state, rules) {
        Ok((begin, rules)) => (
            constant(&begin, &rules, budget),
            attribute(&begin, &rules, budget),
        ),
        Err(why) => {
            let why = format!("// {why}\n");
            (why.clone(), why)
        }
    };
    Snippets {
        attribute,
        constant,
        toml,
    }
}

/// The rules that are said and change something.
fn changed(state: &State) -> Map<String, Value> {
    let mut rules = named(&state.settings);
    rules.retain(|rule, value| {
        let alone = settings(&Map::from_iter([(rule.clone(), value.clone())]));
        alone.over(state.preset) != Ok(state.preset)
    });
    rules
}

/// The code of the policy with which a constant begins, and the rules that it changes. No setter changes the growth, so
/// a policy with another growth begins with its constructor.
fn begins(
    state: &State,
    rules: Map<String, Value>,
) -> Result<(String, Map<String, Value>), String> {
    let Some(growth) = rules.get("growth").map(text) else {
        return Ok((state.name.to_owned(), rules));
    };
    let policy = state.policy.without_budget();
    let settings = policy.settings().map_err(|error| error.to_string())?;
    let all = named(&settings);
    let base = settings.base.unwrap_or_default();
    let (name, step) = growth.split_once('(').unwrap_or((&growth, ""));
    let step = step.trim_end_matches(')');
    let first = duration(&text(&all["base"]));
    let (begin, code) = match name {
        "exponential" => (Policy::exponential(), "Policy::exponential()".to_owned()),
        "constant" => (Policy::constant(base), format!("Policy::constant({first})")),
        "linear" => (
            Policy::linear(base, parsed(step)),
            format!("Policy::linear({first}, {})", duration(step)),
        ),
        "fibonacci" => (
            Policy::fibonacci(base),
            format!("Policy::fibonacci({first})"),
        ),
        _ => (Policy::slots(base), format!("Policy::slots({first})")),
    };
    let mut rules = all;
    let others = named(&begin.settings().map_err(|error| error.to_string())?);
    // `slots` has a number of attempts, and no setter takes it away.
    if others.contains_key("max_attempts") && settings.max_attempts.is_none() {
        let attempts = match settings.deadline {
            Some(_) => json!("unlimited"),
            None => json!(5),
        };
        rules.insert("max_attempts".to_owned(), attempts);
    }
    rules.retain(|rule, value| others.get(rule) != Some(value));
    Ok((code, rules))
}

/// The name and the code of the budget: none if the preset's stays.
type Shared = Option<Option<&'static str>>;

fn constant(begin: &str, rules: &Map<String, Value>, budget: Shared) -> String {
    let mut code = format!("const POLICY: Policy = {begin}");
    for (rule, value) in rules {
        code += &format!("\n    .{rule}({})", rust(rule, value));
    }
    code += match budget {
        Some(Some(_)) => "\n    .budget(&BUDGET)",
        Some(None) => "\n    .without_budget()",
        None => "",
    };
    with_budget(budget) + &code + ";\n"
}

fn attribute(begin: &str, rules: &Map<String, Value>, budget: Shared) -> String {
    let mut policy = begin.to_owned();
    let mut keys = String::new();
    for (rule, value) in rules {
        if KEYS.contains(&rule.as_str()) || rule == "retry_conflicts" {
            keys += &format!("    {rule} = {},\n", key(rule, value));
        } else {
            policy += &format!(".{rule}({})", rust(rule, value));
        }
    }
    match budget {
        Some(Some(_)) => keys += "    budget = BUDGET,\n",
        Some(None) => policy += ".without_budget()",
        None => {}
    }
    with_budget(budget) + &format!("#[retry(\n    policy = {policy},\n{keys})]\n")
}

fn with_budget(budget: Shared) -> String {
    let code = budget
        .flatten()
        .map(|code| format!("static BUDGET: Budget = {code};\n\n"));
    code.unwrap_or_default()
}

/// The value of a rule as code.
fn rust(rule: &str, value: &Value) -> String {
    let text = text(value);
    match rule {
        "jitter" => jitter(&text),
        "on" | "also_on" => format!("codes![{}]", codes(&text)),
        "max_attempts" if text == "unlimited" => "Policy::UNLIMITED".to_owned(),
        "log_waits" => format!("LogLevel::{}", camel(&text)),
        "factor" | "max_attempts" => text,
        _ if value.is_boolean() => text,
        _ => duration(&text),
    }
}

/// The value of a key of the attribute, which has short forms for most of them.
fn key(rule: &str, value: &Value) -> String {
    let text = text(value);
    match rule {
        "jitter" => match text.strip_prefix("additive(") {
            Some(most) => format!("{:?}", most.trim_end_matches(')')),
            None if text.contains('(') => jitter(&text),
            None => text,
        },
        "on" | "also_on" => format!("[{}]", codes(&text)),
        "factor" | "max_attempts" => text,
        _ if value.is_boolean() => text,
        _ => format!("{text:?}"),
    }
}

fn jitter(text: &str) -> String {
    let Some((name, argument)) = text.trim_end_matches(')').split_once('(') else {
        return format!("Jitter::{}", camel(text));
    };
    let argument = match name {
        "proportional" => argument.to_owned(),
        _ => duration(argument),
    };
    format!("Jitter::{}({argument})", camel(name))
}

/// The numbers as they are, and the names as constants.
fn codes(text: &str) -> String {
    let codes =
        text.split(", ").map(
            |code| match code.starts_with(|it: char| it.is_ascii_alphabetic()) {
                true => format!("Codes::{code}"),
                false => code.to_owned(),
            },
        );
    codes.collect::<Vec<_>>().join(", ")
}

fn camel(name: &str) -> String {
    let words = name.split('_').map(|word| {
        let (first, rest) = word.split_at(1.min(word.len()));
        first.to_uppercase() + rest
    });
    words.collect()
}

/// A time as the library reads it.
fn parsed(text: &str) -> std::time::Duration {
    let settings: PolicySettings = serde_json::from_value(json!({ "base": text })).expect("a time");
    settings.base.expect("a first wait")
}

/// A time in the largest unit of which it is a whole number.
fn duration(text: &str) -> String {
    let nanos = parsed(text).as_nanos();
    let units = [
        ("secs", 1_000_000_000),
        ("millis", 1_000_000),
        ("micros", 1_000),
        ("nanos", 1),
    ];
    let unit = units
        .into_iter()
        .find(|(_, unit)| nanos.is_multiple_of(*unit));
    let (unit, nanos_of) = unit.expect("nanoseconds are whole");
    format!("Duration::from_{unit}({})", nanos / nanos_of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use backoff_cloud::presets;

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
                let settings: PolicySettings = toml::from_str(&snippets(&state).toml).unwrap();
                assert_eq!(settings.over(*preset), Ok(state.policy), "{query}");
                assert_eq!(
                    state.policy == *preset,
                    settings == PolicySettings::default(),
                    "{query}"
                );
            }
        }
    }

    #[test]
    fn code_has_a_line_for_each_rule_that_differs() {
        let query = "preset=iam::READ_MODIFY_WRITE&base=500ms&jitter=additive(1500us)&deadline=300s&on=503,ABORTED\
                     &spread_retry_after=false&max_attempts=unlimited&budget=aws";
        let (_, code) = of(query);
        assert_eq!(
            code.constant,
            "static BUDGET: Budget = Budget::aws();\n\n\
             const POLICY: Policy = iam::READ_MODIFY_WRITE\n    .base(Duration::from_millis(500))\n    \
             .jitter(Jitter::Additive(Duration::from_micros(1500)))\n    .max_attempts(Policy::UNLIMITED)\n    \
             .on(codes![503, Codes::ABORTED, Codes::UNAVAILABLE])\n    .spread_retry_after(false)\n    \
             .budget(&BUDGET);\n"
        );
        assert_eq!(
            code.attribute,
            "static BUDGET: Budget = Budget::aws();\n\n\
             #[retry(\n    policy = iam::READ_MODIFY_WRITE.spread_retry_after(false),\n    base = \"500ms\",\n    \
             jitter = \"1.5ms\",\n    max_attempts = unlimited,\n    on = [503, Codes::ABORTED, Codes::UNAVAILABLE],\n    \
             budget = BUDGET,\n)]\n"
        );
    }

    #[test]
    fn another_growth_begins_with_its_constructor() {
        let (_, code) = of("preset=iam::REQUEST&growth=linear(250ms)&base=2s&deadline=60s");
        let begins = "const POLICY: Policy = Policy::linear(Duration::from_secs(2), Duration::from_millis(250))\n";
        assert!(code.constant.starts_with(begins), "{}", code.constant);
        for rule in [".deadline(Duration::from_secs(60))", ".on(codes!["] {
            assert!(code.constant.contains(rule), "{}", code.constant);
        }
        assert!(!code.constant.contains("base(") && !code.constant.contains("factor("));
        let (_, code) = of("preset=iam::REQUEST&growth=slots&jitter=slots");
        assert!(code.constant.contains(".max_attempts(Policy::UNLIMITED)"));
        // A function stays in the code.
        let (_, code) = of("preset=github::REQUEST&growth=fibonacci");
        assert!(
            code.constant
                .starts_with("// `throttled_if` cannot be written")
        );
    }
}
