//! A policy from configuration.

use backoff_core::{Policy, PolicySettings};

/// Settings in JSON, and texts that are nearly settings.
pub const SAMPLES: &str = include_str!("../samples/settings.txt");

/// Settings are a policy that can be explained and listed, or an error that says what to write.
pub fn check(text: &str) {
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
}

#[test]
fn every_sample() {
    SAMPLES.lines().for_each(check);
}
