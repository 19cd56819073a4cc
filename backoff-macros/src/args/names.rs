//! Names of keys in other libraries and systems, and what each name means here.
//!
//! One table for the macros and for configuration: this file is compiled into backoff-core too, where
//! `src/policy/config/names.rs` and `names.txt` are links.

const TABLE: &str = include_str!("names.txt");

/// The meaning of names that do not count the first call: `max_attempts` is one more.
pub(crate) const RETRIES: &str = "retries";

/// All names, with their meanings in the attribute and in a configuration: a key, [`RETRIES`], or the
/// sentence that says what to write.
pub(crate) fn all() -> impl Iterator<Item = (&'static str, [&'static str; 2])> {
    let lines = TABLE.lines().filter_map(|line| line.split_once(" -> "));
    lines.flat_map(|(names, meant)| {
        let both = meant.split_once(" || ").unwrap_or((meant, meant));
        names.split(' ').map(move |name| (name, both.into()))
    })
}

/// The meanings of a name, in the attribute and in a configuration.
pub(crate) fn meanings(name: &str) -> Option<[&'static str; 2]> {
    Some(all().find(|(other, _)| *other == name)?.1)
}

/// `max_delay_ms` as `max_delay` and `ms`.
pub(crate) fn split_unit(name: &str) -> Option<(&str, &'static str)> {
    let (stem, unit) = name.rsplit_once('_')?;
    match unit {
        "ms" | "millis" | "milliseconds" => Some((stem, "ms")),
        "s" | "sec" | "secs" | "seconds" => Some((stem, "s")),
        _ => None,
    }
}

/// `maxAttempts`, `MaxAttempts`, `MAX_ATTEMPTS` and `max-attempts` as `max_attempts`.
pub(crate) fn snake(word: &str) -> String {
    if !word.contains(char::is_lowercase) {
        return word.replace('-', "_").to_lowercase();
    }
    let mut name = String::new();
    for letter in word.replace('-', "_").chars() {
        if letter.is_uppercase() && !name.is_empty() && !name.ends_with('_') {
            name.push('_');
        }
        name.extend(letter.to_lowercase());
    }
    name
}
