//! What the page shows, as the query of its link: a preset, the rules that differ from it, and a crowd of clients.

use std::{collections::BTreeMap, ops::RangeInclusive};

use backoff_cloud::{Budget, Policy, PolicySettings, presets};
use examples::simulation::load::{Process, leaked};
use examples::simulation::quota::Hint;
use reqwest::Url;
use serde_json::{Map, Value, json};

/// What is wrong, by the name of the control.
pub(crate) type Mistakes = BTreeMap<String, String>;

/// A value of a control that offers a choice, its name, and how the page calls it. The first one is the default.
type Choice<T> = (&'static str, &'static str, T);

/// The share of the attempts that the service refuses in an outage; it answers none if the share is zero.
pub(crate) const OUTAGES: [Choice<Option<f64>>; 4] = [
    ("down", "503 to every attempt", Some(1.0)),
    ("half", "503 to half of the attempts", Some(0.5)),
    ("hangs", "nothing until an attempt is cut", Some(0.0)),
    ("none", "as always: no outage", None),
];

pub(crate) const HINTS: [Choice<Hint>; 3] = [
    ("none", "says nothing", Hint::Nothing),
    ("same", "says the same Retry-After to all", Hint::Next),
    ("turn", "says to each when its turn is", Hint::InTurn),
];

/// The code of a budget, and what the calls of a process share.
type Shared = (Option<&'static str>, fn(Policy) -> Process);

macro_rules! budget {
    ($code:expr) => {
        (Some(stringify!($code)), |it| {
            (it.budget(leaked($code)), None)
        })
    };
}

/// The places of two of the budgets. Those of all presets have the numbers of AWS'.
pub(crate) const NONE: usize = 1;
pub(crate) const AWS: usize = 2;
pub(crate) const BUDGETS: [Choice<Shared>; 5] = [
    ("preset", "as in the preset", budget!(Budget::aws())),
    ("none", "none", (None, |it| (it, None))),
    ("aws", "as the AWS SDKs", budget!(Budget::aws())),
    ("grpc", "as gRPC", budget!(Budget::grpc(10, 0.1))),
    (
        "ratio",
        "20 % of the successes",
        budget!(Budget::ratio(0.2, 10)),
    ),
];

/// The service, and who calls it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Crowd {
    pub(crate) clients: u32,
    /// Calls a second that the service answers, one after the other; zero if it answers all at once.
    pub(crate) capacity: u32,
    /// Calls a second that the service admits; zero if there is no quota.
    pub(crate) quota: u32,
    /// Of the outage.
    pub(crate) seconds: u32,
    /// Places in the lists of choices.
    pub(crate) outage: usize,
    pub(crate) hint: usize,
    pub(crate) budget: usize,
}

const NUMBERS: [(&str, u32, RangeInclusive<u32>); 4] = [
    ("clients", 100, 1..=10_000),
    ("capacity", 0, 0..=1_000_000),
    ("quota", 0, 0..=1_000_000),
    ("seconds", 20, 1..=3_600),
];

/// What the controls of the page say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct State {
    pub(crate) name: &'static str,
    pub(crate) preset: Policy,
    /// The rules that are said.
    pub(crate) settings: PolicySettings,
    /// The preset with these rules, and with the preset's budget.
    pub(crate) policy: Policy,
    pub(crate) crowd: Crowd,
}

impl State {
    /// Reads each rule alone, so that what is wrong stands beside its control, in the library's own words.
    pub(crate) fn read(query: &str) -> Result<Self, Mistakes> {
        let mut fields = pairs(query);
        let mut mistakes = Mistakes::new();
        let mut noted = |control: &str, what: String| {
            mistakes.entry(control.to_owned()).or_insert(what);
        };
        let [clients, capacity, quota, seconds] = NUMBERS.map(|(control, default, range)| {
            let Some(text) = fields.remove(control) else {
                return default;
            };
            let number = text.trim().parse().ok().filter(|it| range.contains(it));
            number.unwrap_or_else(|| {
                let (least, most) = range.into_inner();
                let what = format!("write a whole number from {least} to {most}");
                noted(control, what);
                default
            })
        });
        let mut place = |control: &str, names: &[&str]| {
            let Some(text) = fields.remove(control) else {
                return 0;
            };
            names.iter().position(|it| *it == text).unwrap_or_else(|| {
                noted(
                    control,
                    format!("{text:?} is not in the list: choose one there"),
                );
                0
            })
        };
        let names: Vec<_> = presets::ALL.iter().map(|it| it.0).collect();
        let (name, preset) = presets::ALL[place("preset", &names)];
        let crowd = Crowd {
            clients,
            capacity,
            quota,
            seconds,
            outage: place("outage", &OUTAGES.map(|it| it.0)),
            hint: place("hint", &HINTS.map(|it| it.0)),
            budget: place("budget", &BUDGETS.map(|it| it.0)),
        };
        let mut rules = Map::new();
        for (rule, text) in fields {
            let alone = json!({ &*rule: text });
            match serde_json::from_value::<PolicySettings>(alone) {
                Ok(_) => drop(rules.insert(rule, text.into())),
                Err(error) => noted(&rule, error.to_string()),
            }
        }
        let settings = settings(&rules);
        let policy = settings.over(preset).unwrap_or_else(|error| {
            let error = error.to_string();
            mistakes.entry(about(&error, &rules)).or_insert(error);
            preset
        });
        let state = Self {
            name,
            preset,
            settings,
            policy,
            crowd,
        };
        match mistakes.is_empty() {
            true => Ok(state),
            false => Err(mistakes),
        }
    }
}

pub(crate) fn has_budget(policy: &Policy) -> bool {
    *policy != policy.without_budget()
}

/// Without its budget, and for reads: those are repeated where the method of a request decides.
pub(crate) fn of_reads(policy: &Policy) -> Policy {
    match *policy == policy.idempotent_by_method() {
        true => policy.idempotent(true).without_budget(),
        false => policy.without_budget(),
    }
}

/// The fields of a query that are not empty.
fn pairs(query: &str) -> BTreeMap<String, String> {
    let mut url = Url::parse("http://127.0.0.1/").expect("an address");
    url.set_query(Some(query));
    // Where messages write a text as in a file, people type its quotes.
    let plain = |(name, text): (String, String)| (name, text.trim().trim_matches('"').to_owned());
    let pairs = url.query_pairs().into_owned().map(plain);
    pairs.filter(|pair| !pair.1.is_empty()).collect()
}

/// The settings of rules that were read one by one before.
pub(crate) fn settings(rules: &Map<String, Value>) -> PolicySettings {
    serde_json::from_value(rules.clone().into()).expect("rules that were read before")
}

/// The rules that are named, in their written form.
pub(crate) fn named(settings: &PolicySettings) -> Map<String, Value> {
    let rules = serde_json::to_value(settings).expect("numbers and texts");
    serde_json::from_value(rules).expect("a table")
}

/// A value as a person writes it into a control.
pub(crate) fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(codes) => codes.iter().map(text).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

/// The control that a message is about: the first rule in it that was said.
fn about(message: &str, rules: &Map<String, Value>) -> String {
    let quoted = message.split('`').skip(1).step_by(2);
    let mut said = quoted.filter(|rule| rules.contains_key(*rule));
    said.next().unwrap_or("preset").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mistake(query: &str, control: &str) -> String {
        let mistakes = State::read(query).expect_err(query);
        assert_eq!(mistakes.len(), 1, "{mistakes:?}");
        mistakes.get(control).expect(control).clone()
    }

    #[test]
    fn a_query_says_what_differs() {
        let all = "preset=s3%3A%3AREQUEST&base=500ms&max_attempts=7&on=429,500..%3D504&clients=40&seconds=5&budget=grpc";
        let read = State::read(all).expect(all);
        assert_eq!(read.name, "s3::REQUEST");
        assert_eq!((read.crowd.clients, read.crowd.seconds), (40, 5));
        assert_eq!(BUDGETS[read.crowd.budget].0, "grpc");
        assert_eq!(read.settings.max_attempts, Some(7));
        // What is not said is as in the preset.
        assert_eq!(State::read("base=&clients="), State::read(""));
        // As a message writes it.
        assert_eq!(
            State::read("growth=\"linear(2s)\""),
            State::read("growth=linear(2s)")
        );
    }

    #[test]
    fn a_mistake_is_said_in_the_words_of_the_library_beside_its_control() {
        let alone = |rule: &str, value: &str| {
            let read = serde_json::from_value::<PolicySettings>(json!({ rule: value }));
            read.unwrap_err().to_string()
        };
        for (rule, value) in [
            ("max_attempts", "0"),
            ("factor", "0.5"),
            ("base", "5"),
            ("retires", "3"),
        ] {
            let said = mistake(&format!("{rule}={value}"), rule);
            assert_eq!(said, alone(rule, value));
            assert!(said.contains(rule), "{said}");
        }
        let together = json!({ "base": "10s", "deadline": "2s" });
        let together: PolicySettings = serde_json::from_value(together).unwrap();
        let error = together.over(presets::ALL[0].1).unwrap_err().to_string();
        assert_eq!(mistake("base=10s&deadline=2s", "base"), error);
    }

    #[test]
    fn what_is_no_rule_is_checked_too() {
        for (query, control, said) in [
            ("clients=10001", "clients", "from 1 to 10000"),
            ("seconds=0", "seconds", "from 1 to 3600"),
            (
                "outage=perhaps",
                "outage",
                "\"perhaps\" is not in the list: choose one there",
            ),
            (
                "preset=none",
                "preset",
                "\"none\" is not in the list: choose one there",
            ),
        ] {
            assert!(mistake(query, control).ends_with(said), "{query}");
        }
    }
}
