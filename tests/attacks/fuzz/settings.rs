//! A policy from configuration.

use crate::samples::texts;
use backoff_core::{Policy, PolicySettings};

const CORPUS: &str = include_str!("../corpus/settings.txt");

#[test]
fn settings_are_a_policy_or_an_error() {
    bolero::check!()
        .with_generator(texts(CORPUS))
        .for_each(|text: &String| {
            let settings: Result<PolicySettings, _> = serde_json::from_str(text);
            let policy: Result<Policy, _> = serde_json::from_str(text);
            let Ok(settings) = settings else {
                assert!(policy.is_err());
                return;
            };
            let over = settings.over(Policy::exponential());
            match (over, policy) {
                (Ok(over), Ok(policy)) => {
                    assert_eq!(over.explain().to_string(), policy.explain().to_string());
                    // Every policy means something: its waits can be listed, and the first line says what it does.
                    assert!(policy.schedule().take(40).count() <= 40);
                    assert!(!policy.explain().to_string().is_empty());
                }
                (Err(error), Err(_)) => assert!(error.to_string().contains("write")),
                (over, policy) => panic!("{over:?} {policy:?}"),
            }
        });
}
