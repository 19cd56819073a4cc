//! Durations in text.

use backoff_core::PolicySettings;
pub use macros::duration as parse;

/// Durations, and texts that are nearly durations.
pub const SAMPLES: &str = include_str!("../samples/durations.txt");

/// A text is a duration, or an error of at least a few words; the macros and the configuration agree.
pub fn check(text: &str) {
    let read = parse(text);
    // The library's configuration reads the same grammar, and has limits of its own.
    let settings: Result<PolicySettings, _> =
        serde_json::from_value(serde_json::json!({ "retry_after_slack": text }));
    match &read {
        Ok(duration) => {
            assert!(settings.is_ok(), "{duration:?}: {settings:?}");
            // humantime knows months and years too, which are refused here.
            if let Ok(other) = humantime::parse_duration(text) {
                assert_eq!(*duration, other);
            }
        }
        Err(message) => {
            assert!(settings.is_err());
            assert!(message.len() > 10, "{message}");
        }
    }
}

#[test]
fn every_sample() {
    SAMPLES.lines().for_each(check);
}
