//! A policy from configuration: every rule of a constant, except functions and budgets.

mod duration;
mod names;
mod read_back;
mod value;

use crate::{
    delay::{
        exponential::{FACTOR, is_factor},
        growth::Growth as Kept,
        jitter::{Jitter, SHARE, is_share},
    },
    facts::codes::Codes,
    policy::{NO_ATTEMPTS, Policy, log_level::LogLevel},
    runtime::nanos,
};
use core::{fmt, time::Duration};
use serde_core::{
    Serialize, Serializer,
    de::{self, Deserialize, DeserializeSeed, Deserializer, MapAccess},
    ser::SerializeMap as _,
};
use value::{
    AsWritten, Value, attempts, codes, factor, first_wait, growth, jitter, level, time, yes_or_no,
};

pub use value::Growth;

/// Defines how a rule reads its value. An error says what to write instead.
type Take = fn(&mut PolicySettings, &Value) -> Result<(), String>;

/// Defines the settings: the rows of `table.rs` that have a key, and five more rules.
macro_rules! settings {
    ($(
        $(#[$meta:meta])*
        $rule:ident($argument:ident: $given:ty): $kept:ty = $default:expr => $value:expr $(, key $read:ident $values:literal)?;
    )*) => {
        settings! {
            @
            $($($rule: $given = $read => Policy::$rule, $values;)?)*
            growth: Growth = growth => grow,
                r#"`"exponential"`, `"constant"`, `"linear(500ms)"` with its step, `"fibonacci"`, `"slots"`"#;
            factor: f64 = factor => Policy::factor, "a number of at least 1, for exponential growth";
            on: Codes = codes => Policy::on,
                r#"statuses, ranges of them and gRPC codes: `[429, "500..=504", "ABORTED"]`, or as one text: `"429, 500..=504, ABORTED"`"#;
            also_on: Codes = codes => Policy::also_on, "as `on`";
            idempotent: bool = yes_or_no => Policy::idempotent, "`true`, `false`";
        }
    };
    (@ $($rule:ident: $type:ty = $read:path => $set:path, $values:literal;)*) => {
        /// The rules of a policy that a configuration names. [`over`](Self::over) applies them to a preset.
        /// Rules that the configuration does not name stay as in the preset.
        ///
        /// Any format of serde works: TOML, JSON, YAML, environment variables. Each value may also be text,
        /// because an environment has only text. A null value has no effect.
        ///
        /// Times are written as in `#[retry]`. The documentation of `#[retry]` lists the units under
        /// "Durations".
        ///
        /// Each rule has the meaning of the [setter](Policy) with the same name. As in
        /// [`codes!`](crate::codes), a status in `on` adds the gRPC codes with this status. A field that is `None` is
        /// not named.
        ///
        /// [`Policy::settings`] makes settings from a policy. Settings are written in a form in which they are read
        /// again. `settings.over(PRESET)?.schedule()` [prints](crate::schedule::Schedule) what they mean.
        ///
        /// An unknown rule, a rule that is named twice, and an invalid value are errors. The error names
        /// the rule and says what to write instead. The names that other systems have for a rule are known: gRPC's
        /// service config, Envoy, Istio, Cloud Tasks, Temporal, AWS, Spring, resilience4j, Terraform, object_store
        /// and libraries of Rust. It is also an error if, with a deadline, no failure or
        /// no throttled call would ever be followed by a wait.
        ///
        /// ```
        /// use backoff_core::{Jitter, Policy, PolicySettings, codes};
        /// use std::time::Duration;
        ///
        /// // A preset, or a policy of your own.
        /// const REQUEST: Policy = Policy::exponential().jitter(Jitter::Equal).on(codes![503]);
        ///
        /// let settings: PolicySettings = toml::from_str(r#"
        ///     max_backoff = "30s"
        ///     deadline = "1m 30s"
        ///     on = [429, "500..=504", "ABORTED"]
        /// "#)?;
        /// let policy = settings.over(REQUEST)?;
        ///
        /// let by_hand = REQUEST
        ///     .max_backoff(Duration::from_secs(30))
        ///     .deadline(Duration::from_secs(90))
        ///     .on(codes![429, 500..=504, backoff_core::Codes::ABORTED]);
        /// assert_eq!(policy, by_hand);
        ///
        /// let error = toml::from_str::<PolicySettings>("max_attempts = 0").unwrap_err();
        /// assert!(error.to_string().contains("`max_attempts` counts the first call too: write 1"));
        /// let error = toml::from_str::<PolicySettings>("initialBackoff = '1s'").unwrap_err();
        /// assert!(error.to_string().contains("write `base`"));
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        ///
        /// A [`Policy`] can also be read directly, for example as a field of a program's configuration.
        /// Rules that the configuration does not name are then as in [`Policy::exponential`]:
        ///
        /// ```
        /// use backoff_core::Policy;
        ///
        /// #[derive(serde::Deserialize)]
        /// struct Config {
        ///     url: String,
        ///     #[serde(default)]
        ///     retry: Policy,
        /// }
        ///
        /// let config: Config = serde_json::from_str(
        ///     r#"{ "url": "https://example.com", "retry": { "max_attempts": 3, "jitter": "equal" } }"#,
        /// )?;
        /// # let _ = config.url;
        /// let by_hand = Policy::exponential().max_attempts(3).jitter(backoff_core::Jitter::Equal);
        /// assert_eq!(config.retry, by_hand);
        /// # Ok::<(), serde_json::Error>(())
        /// ```
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        #[non_exhaustive]
        pub struct PolicySettings {
            $(
                #[doc = concat!("In a configuration: ", $values, ".")]
                pub $rule: Option<$type>,
            )*
        }

        /// The names of all rules.
        const RULES: &[(&str, Take)] = &[$(
            (stringify!($rule), |settings, value| {
                settings.$rule = Some($read(value)?);
                Ok(())
            }),
        )*];

        impl PolicySettings {
            /// Sets each named rule on the policy. A configuration may name `log_waits` without the feature `tracing`.
            #[cfg_attr(not(feature = "tracing"), allow(deprecated))]
            fn set_on(self, mut policy: Policy) -> Policy {
                $(if let Some(value) = self.$rule {
                    policy = $set(policy, value);
                })*
                policy
            }
        }

        /// Writes the rules that are named.
        impl Serialize for PolicySettings {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut rules = serializer.serialize_map(None)?;
                $(if let Some(value) = &self.$rule {
                    rules.serialize_entry(stringify!($rule), &AsWritten(value))?;
                })*
                rules.end()
            }
        }
    };
}

rules!(settings);

fn grow(policy: Policy, growth: Growth) -> Policy {
    policy.growth(match (growth, policy.growth) {
        // The factor stays.
        (Growth::Exponential, kept @ Kept::Exponential(_)) => kept,
        (Growth::Exponential, _) => Kept::Exponential(2.0),
        (Growth::Constant, _) => Kept::Constant,
        (Growth::Linear(step), _) => Kept::Linear(nanos(step)),
        (Growth::Fibonacci, _) => Kept::Fibonacci,
        (Growth::Slots, _) => Kept::Slots,
    })
}

/// Rules that make no sense, that contradict each other or the policy to which they are applied, or that no
/// configuration can say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicySettingsError {
    instead: &'static str,
    /// The part of a policy that no configuration can say, and its name.
    part: Option<(&'static str, Option<&'static str>)>,
}

impl fmt::Display for PolicySettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.part {
            Some((part, Some(name))) => write!(f, "`{part}` {name:?} cannot be written: ")?,
            Some((part, None)) => write!(f, "`{part}` cannot be written: ")?,
            None => {}
        }
        f.write_str(self.instead)
    }
}

impl core::error::Error for PolicySettingsError {}

impl PolicySettings {
    /// The policy with these rules in place of its own rules. The policy's budget stays. Its custom
    /// function stays too, unless `growth` is named.
    ///
    /// # Errors
    /// Returns an error if `max_attempts` or `deadline` is zero, if `factor` is below 1 or a proportional jitter is not
    /// within 0 to 1. Also returns an error if `factor` is named and the waits do not grow by a factor, and if `base` or
    /// `throttled_base` is named and longer than the longest wait, or `max_backoff` is named and shorter than the
    /// policy's `base`. Also returns an error if `base` is named
    /// and longer than the deadline, and if the resulting policy has no limit of attempts, or a deadline in its place, and all its
    /// waits, or all its waits after throttling, are zero.
    pub fn over(self, policy: Policy) -> Result<Policy, PolicySettingsError> {
        self.checked(policy).map_err(|instead| PolicySettingsError {
            instead,
            part: None,
        })
    }

    /// As `over`. The error says what to write instead.
    fn checked(self, policy: Policy) -> Result<Policy, &'static str> {
        if let Some(instead) = self.mistake() {
            return Err(instead);
        }
        let grown = self.growth.map_or(policy, |grows| grow(policy, grows));
        if self.factor.is_some() && !matches!(grown.growth, Kept::Exponential(_)) {
            return Err(
                "`factor` belongs to exponential backoff: leave it out, or write \
                 \"exponential\" as `growth`",
            );
        }
        let policy = self.set_on(policy);
        match self.too_long(&policy).or_else(|| without_pause(&policy)) {
            Some(instead) => Err(instead),
            None => Ok(policy),
        }
    }

    /// What to write instead of a value that makes no sense for any policy.
    fn mistake(&self) -> Option<&'static str> {
        let share = match self.jitter {
            Some(Jitter::Proportional(share)) => share,
            _ => 0.0,
        };
        let mistakes = [
            (self.max_attempts == Some(0), NO_ATTEMPTS),
            (self.deadline == Some(Duration::ZERO), NO_DEADLINE),
            (!is_factor(self.factor.unwrap_or(1.0)), FACTOR),
            (!is_share(share), SHARE),
        ];
        mistakes
            .into_iter()
            .find_map(|(is_made, instead)| is_made.then_some(instead))
    }

    /// What to write instead of a first wait that is longer than a limit of the policy, if one of the two is named here.
    fn too_long(&self, policy: &Policy) -> Option<&'static str> {
        let named = [self.base, self.throttled_base].map(|wait| wait.map(nanos));
        let [base, throttled] = named.map(|wait| wait.unwrap_or_default());
        if base > policy.max_backoff {
            return Some(
                "`base` is longer than `max_backoff`: write a shorter `base`, or a longer `max_backoff`",
            );
        }
        if throttled > policy.max_backoff {
            return Some(
                "`throttled_base` is longer than `max_backoff`: write a shorter `throttled_base`, or a longer \
                 `max_backoff`",
            );
        }
        if self.max_backoff.is_some() && 0 < policy.max_backoff && policy.max_backoff < policy.base
        {
            return Some(
                "`max_backoff` is shorter than the `base` of the policy: write a shorter `base` too",
            );
        }
        let instead =
            "`base` is longer than `deadline`: write a shorter `base`, or a longer `deadline`";
        (base > policy.deadline).then_some(instead)
    }
}

const NO_DEADLINE: &str = "a deadline of zero retries nothing: write a longer one as \"5m\", or leave it out for the \
                           default of 5 attempts";

/// What to write instead, for a policy with a deadline and without a number of attempts whose waits, or
/// whose waits after throttling, are all zero.
fn without_pause(policy: &Policy) -> Option<&'static str> {
    if !policy.has_no_number() {
        return None;
    }
    if policy.max_backoff == 0 {
        return Some(
            "`max_backoff` of zero calls without a pause: write a longer one as \"64s\", or name \
             a number as `max_attempts`",
        );
    }
    if !policy.may_wait(policy.base) {
        return Some(
            "`base` is so short that every wait is zero: write a longer one as \"1s\", or name \
             a number as `max_attempts`",
        );
    }
    (!policy.waits).then_some(
        "`throttled_base` is so short that every wait after throttling is zero: write a longer one as \
         \"1s\", or name a number as `max_attempts`",
    )
}

/// Applies the rules of [`PolicySettings`] to [`Policy::exponential`].
impl<'de> Deserialize<'de> for Policy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let settings = PolicySettings::deserialize(deserializer)?;
        settings
            .over(Policy::exponential())
            .map_err(de::Error::custom)
    }
}

impl<'de> Deserialize<'de> for PolicySettings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(OfRules)
    }
}

struct OfRules;

impl<'de> de::Visitor<'de> for OfRules {
    type Value = PolicySettings;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the rules of a policy, by their names")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<PolicySettings, A::Error> {
        let (mut settings, mut seen) = (PolicySettings::default(), [false; RULES.len()]);
        while let Some(name) = map.next_key::<String>()? {
            map.next_value_seed(Named {
                name: &name,
                settings: &mut settings,
                seen: &mut seen,
            })?;
        }
        Ok(settings)
    }
}

/// Reads the value of a rule, and makes the error about it: outside of this the format does not know the
/// line any more.
struct Named<'a> {
    name: &'a str,
    settings: &'a mut PolicySettings,
    seen: &'a mut [bool; RULES.len()],
}

impl<'de> DeserializeSeed<'de> for Named<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<(), D::Error> {
        let value = Value::deserialize(value).map_err(|error| about(self.name, &error))?;
        let Some(rule) = position(self.name) else {
            let name = self.name.escape_debug();
            let instead = instead(self.name, &value).unwrap_or_else(|| {
                let names: Vec<_> = RULES.iter().map(|(name, _)| format!("`{name}`")).collect();
                format!("write one of {}", names.join(", "))
            });
            return Err(de::Error::custom(format_args!(
                "`{name}` is not a rule of a policy: {instead}"
            )));
        };
        let name = RULES[rule].0;
        if core::mem::replace(&mut self.seen[rule], true) {
            return Err(about(name, &"it is named twice: leave one out"));
        }
        if matches!(value, Value::Nothing) {
            return Ok(());
        }
        take(rule, self.settings, &value).map_err(|instead| about(name, &instead))
    }
}

fn take(rule: usize, settings: &mut PolicySettings, value: &Value) -> Result<(), String> {
    RULES[rule].1(settings, value)?;
    settings
        .mistake()
        .map_or(Ok(()), |instead| Err(instead.to_owned()))
}

fn position(name: &str) -> Option<usize> {
    RULES.iter().position(|(rule, _)| *rule == name)
}

/// Settings that only the code can have.
const IN_CODE: &str = "attempt_timeout breaker budget consecutive cut_on max_queue_time notify operation rate responses \
                       runtime stop_on timeout tokens until when";

/// What to write instead of a name that is not a rule.
fn instead(word: &str, value: &Value) -> Option<String> {
    let name = names::snake(word);
    let meaning = |name: &str| {
        let mut own = RULES
            .iter()
            .map(|(rule, _)| *rule)
            .chain(IN_CODE.split(' '));
        let own = own.find(|own| *own == name);
        own.or_else(|| names::meanings(name).map(|[_, meant]| meant))
    };
    let mut with_unit = None;
    let meant = meaning(&name).or_else(|| {
        let (stem, unit) = names::split_unit(&name)?;
        let number = match value {
            Value::Text(text) => text.clone(),
            other => other.to_string(),
        };
        with_unit = Some(Value::Text(format!("{number}{unit}")));
        meaning(stem)
    })?;
    if meant == names::RETRIES {
        return Some(match value::whole(value) {
            Some(retries) if retries < 0 => NO_ATTEMPTS.to_owned(),
            Some(retries) => format!(
                "write `max_attempts` as {}, which counts the first call too",
                retries.saturating_add(1)
            ),
            None => "write `max_attempts`, which counts the first call too".to_owned(),
        });
    }
    let Some(rule) = position(meant) else {
        return Some(match meant {
            sentence if sentence.contains(' ') => sentence.to_owned(),
            "timeout" => "it is a setting of a call: write `.timeout(..)` on the call in the code, or the rule \
                          `deadline`, after which no attempt begins"
                .to_owned(),
            setting => format!("it is a setting of a call: write `.{setting}(..)` on the call in the code"),
        });
    };
    let own = RULES[rule].0;
    let read = match with_unit.as_ref().unwrap_or(value) {
        Value::Nothing => Ok(()),
        value => take(rule, &mut PolicySettings::default(), value),
    };
    Some(match (read, with_unit) {
        (Ok(()), Some(value)) => format!("write `{own}` as {value}"),
        (Ok(()), None) => format!("write `{own}`"),
        (Err(mistake), _) => format!("the rule is `{own}`, and {mistake}"),
    })
}

/// An error that names the rule, unless its text already does.
fn about<E: de::Error>(name: &str, mistake: &dyn fmt::Display) -> E {
    let mistake = mistake.to_string();
    if mistake.starts_with(&format!("`{name}`")) {
        E::custom(mistake)
    } else {
        E::custom(format_args!("`{name}`: {mistake}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_of_another_system_means_something_in_a_configuration() {
        for (name, [_, meant]) in names::all() {
            let is_known = meant.contains(' ') || meant == names::RETRIES;
            let is_in_code = IN_CODE.split(' ').any(|own| own == meant);
            let is_rule = position(meant).is_some();
            assert!(is_known || is_in_code || is_rule, "{name}");
            let is_pattern = meant.contains("=|") || meant.contains("|e");
            assert!(!is_pattern, "{name}: {meant}");
        }
        for setting in IN_CODE.split(' ') {
            assert!(position(setting).is_none(), "{setting}");
        }
    }
}
