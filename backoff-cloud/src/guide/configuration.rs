//! After this page the operators of a program can change its waits and limits without a new build.
//!
//! The feature `serde` reads the rules of a policy from every format that serde has:
//!
//! ```sh
//! cargo add backoff-cloud --features http,serde
//! cargo add serde --features derive
//! cargo add toml
//! ```
//!
//! # Settings over a preset
//!
//! The preset stays in the code. The configuration names the rules that it changes, and
//! [`over`](crate::PolicySettings::over) puts them on the preset:
//!
//! ```
//! use backoff_cloud::{Policy, PolicySettings, storage};
//! use std::time::Duration;
//!
//! #[derive(serde::Deserialize)]
//! #[serde(deny_unknown_fields)] // otherwise `[retyr]` is ignored, and the preset stays as it is
//! struct Config {
//!     bucket: String,
//!     #[serde(default)]
//!     retry: PolicySettings,
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let config: Config = toml::from_str(r#"
//!     bucket = "photos"
//!
//!     [retry]
//!     max_backoff = "30s"
//!     deadline = "1m 30s"
//! "#)?;
//! let policy: Policy = config.retry.over(storage::REQUEST)?;
//!
//! let by_hand = storage::REQUEST
//!     .max_backoff(Duration::from_secs(30))
//!     .deadline(Duration::from_secs(90));
//! assert_eq!((config.bucket.as_str(), policy), ("photos", by_hand));
//! # Ok(()) }
//! ```
//!
//! A `deadline` replaces the default limit of five attempts, also in a preset that has no limit of its own: name
//! `max_attempts` too if you want both.
//!
//! The names of the rules are those of the [setters](crate::Policy) and of the keys of `#[retry]`.
//! They are the fields of [`PolicySettings`](crate::PolicySettings), with the texts that each takes.
//!
//! # Use the policy
//!
//! A [`Policy`](crate::Policy) is `Copy`. Keep it beside the client, and name the field in the attribute:
//!
//! ```no_run
//! use backoff_cloud::{Policy, http::{self, ApiError}, retry};
//! use serde_json::Value;
//!
//! struct Photos { client: reqwest::Client, policy: Policy }
//!
//! impl Photos {
//!     #[retry(policy = self.policy)]
//!     async fn list(&self, url: &str) -> Result<Value, ApiError> {
//!         http::json(self.client.get(url).send().await?).await
//!     }
//! }
//! ```
//!
//! Write `policy.explain()` into the log when the program starts, and the waits on one line by
//! `format!("{:#}", policy.schedule())`. Then operators see the rules that hold.
//!
//! # Environment variables
//!
//! Each value may be text, because an environment has nothing else:
//!
//! ```
//! use backoff_cloud::{PolicySettings, storage};
//! use serde::{Deserialize as _, de::value::{Error, MapDeserializer}};
//!
//! /// The variable `RETRY_MAX_ATTEMPTS` is the rule `max_attempts`.
//! fn settings(variables: impl Iterator<Item = (String, String)>) -> Result<PolicySettings, Error> {
//!     let rules = variables.filter_map(|(name, value)| {
//!         Some((name.strip_prefix("RETRY_")?.to_lowercase(), value))
//!     });
//!     PolicySettings::deserialize(MapDeserializer::new(rules))
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let variables = [("RETRY_MAX_ATTEMPTS", "4"), ("RETRY_ON", "429, 503"), ("HOME", "/")];
//! # let settings_of_three = settings(variables.map(|(a, b)| (a.to_owned(), b.to_owned())).into_iter())?;
//! # let by_hand = storage::REQUEST.max_attempts(4).on(backoff_cloud::codes![429, 503]);
//! # assert_eq!(settings_of_three.over(storage::REQUEST)?, by_hand);
//! let policy = settings(std::env::vars())?.over(storage::REQUEST)?;
//! # Ok(()) }
//! ```
//!
//! With a file and an environment, call `over` twice. The last call wins:
//! `environment.over(file.over(storage::REQUEST)?)?`.
//!
//! # A wrong value
//!
//! An unknown rule, a rule that is named twice and an invalid value are errors. The message says what to write, and
//! the format adds the line. An error of `over` has no line: add the name of the file.
//!
//! ```
//! use backoff_cloud::PolicySettings;
//!
//! for (wrong, message) in [
//!     ("deadline = 90", r#"write text with the unit, as "64s", "250ms" or "1m 30s""#),
//!     ("max_attempts = 0", "counts the first call too: write 1 to never retry"),
//!     ("factor = 0.5", "write 2.0 to double each wait, 1.0 to keep it"),
//!     (r#"on = "5xx""#, r#"write a status as 429, a range as "500..=504""#),
//!     ("retries = 3", "is not a rule of a policy: write `max_attempts` as 4"),
//! ] {
//!     let error = toml::from_str::<PolicySettings>(wrong).unwrap_err();
//!     assert!(error.to_string().contains(message), "{error}");
//! }
//! ```
//!
//! The names of gRPC's service config, Envoy, Istio, Cloud Tasks, Temporal, AWS, Spring, resilience4j, Terraform,
//! object_store and many libraries are known: the message says which rule they mean here.
//!
//! In other systems a number of attempts of 0 or -1 means "no limit". Here write `max_attempts = "unlimited"`. See [Retry for ever](super::waits_and_limits#retry-for-ever).
//!
//! Rules can also contradict the preset, such as a `base` that is longer than the preset's `max_backoff`. Then `over`
//! returns the error. So read the configuration when the program starts.
//!
//! # Reload
//!
//! A call takes a copy of its policy when the call begins. So replace the policy in one place, and the next call has
//! the new rules; calls that run keep theirs:
//!
//! ```
//! use backoff_cloud::{Policy, PolicySettings, retry, storage, TimedOut};
//! use std::sync::RwLock;
//!
//! static POLICY: RwLock<Policy> = RwLock::new(storage::REQUEST);
//!
//! fn policy() -> Policy { *POLICY.read().unwrap() }
//!
//! /// When the file has changed. A wrong file changes nothing.
//! fn reload(text: &str) -> Result<(), Box<dyn std::error::Error>> {
//!     let settings: PolicySettings = toml::from_str(text)?;
//!     *POLICY.write().unwrap() = settings.over(storage::REQUEST)?;
//!     Ok(())
//! }
//!
//! #[retry(policy = policy())]
//! async fn load(calls: &mut u32) -> Result<(), TimedOut> {
//!     *calls += 1;
//!     Err(TimedOut::new(Default::default()))
//! }
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! reload("max_attempts = 3").unwrap();
//! assert!(reload("max_attempts = 0").is_err());
//! let mut calls = 0;
//! load(&mut calls).await.unwrap_err();
//! assert_eq!(calls, 3);
//! # }
//! ```
//!
//! A `watch` channel of tokio does the same: `*receiver.borrow()` is the policy.
//!
//! # A policy without a preset
//!
//! A field of type [`Policy`](crate::Policy) is read directly. A rule that is not named is as in
//! [`Policy::exponential`](crate::Policy::exponential).
//!
//! # Show and write a policy
//!
//! [`Policy::settings`](crate::Policy::settings) goes the other way: a page for operators shows the fields, and a file
//! that is written from them is read as the same policy.
//!
//! ```
//! use backoff_cloud::{Policy, storage};
//! use std::time::Duration;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut settings = storage::REQUEST.deadline(Duration::from_secs(90)).settings()?;
//! assert_eq!(settings.deadline, Some(Duration::from_secs(90)));
//! settings.max_attempts = Some(4); // what the operator typed
//! let file = serde_json::to_string_pretty(&settings)?;
//! assert!(file.contains(r#""deadline": "90s""#));
//!
//! let read: Policy = serde_json::from_str(&file)?;
//! assert_eq!(read, settings.over(Policy::exponential())?);
//! # Ok(()) }
//! ```
//!
//! A budget, a rate, a breaker and a function are no text. The error names the part: take the settings of the policy
//! without it (`POLICY.without_budget().settings()`), and put it on the policy that is read.
//!
//! # What stays in the code
//!
//! | | why |
//! |---|---|
//! | functions (`when`, `Policy::custom`), budgets, rates, breakers, the policy's name | they are no text; those of the preset hold |
//! | `timeout`, `attempt_timeout` | they belong to a call: keep a number of seconds in your configuration, and give it to the call |
//! | `idempotent` | it is a rule and can be read, but only the code knows whether a request may be made twice |
//!
//! Previous: [Many writers](super::many_writers) · next: [Budgets and outages](super::budgets_and_outages)
