//! The differences of the two Memorystore products.

use std::ops::RangeInclusive;

use serde_json::{Map, Value, json};

/// The Memorystore product that the emulator imitates. Both products have the same paths and the same
/// operations; names of types, states and fields differ.
///
/// ```
/// # fn main() -> std::io::Result<()> {
/// use backoff_cloud::emulator::{Emulator, Memorystore};
///
/// let emulator = Emulator::builder().memorystore(Memorystore::Redis).start()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Memorystore {
    /// Memorystore for Valkey, `memorystore.googleapis.com`, for the client `google-cloud-memorystore-v1`.
    /// An instance that is ready is `ACTIVE`, and a create or delete may have a `requestId`.
    ///
    /// Source: <https://cloud.google.com/memorystore/docs/valkey/reference/rest>.
    #[default]
    Valkey,
    /// Memorystore for Redis, `redis.googleapis.com`, for the client `google-cloud-redis-v1`. An instance
    /// that is ready is `READY`, and there is no `requestId`.
    ///
    /// Source: <https://cloud.google.com/memorystore/docs/redis/reference/rest>.
    Redis,
}

/// The state of an instance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum State {
    Creating,
    Ready,
    Deleting,
}

impl Memorystore {
    /// The type of a message in an `Any`.
    pub(super) fn type_of(self, message: &str) -> String {
        let package = match self {
            Self::Valkey => "google.cloud.memorystore.v1",
            Self::Redis => "google.cloud.redis.v1",
        };
        format!("type.googleapis.com/{package}.{message}")
    }

    /// A state by name, or by number if the client asked for numbers.
    pub(super) fn state(self, state: State, number: bool) -> Value {
        let (name, value) = match (state, self) {
            (State::Creating, _) => ("CREATING", 1),
            (State::Ready, Self::Valkey) => ("ACTIVE", 2),
            (State::Ready, Self::Redis) => ("READY", 2),
            (State::Deleting, _) => ("DELETING", 4),
        };
        if number { json!(value) } else { json!(name) }
    }

    /// The fields that the service adds to an instance that is ready.
    pub(super) fn endpoint(self) -> Map<String, Value> {
        let fields = match self {
            Self::Valkey => json!({"discoveryEndpoints": [{"address": "10.0.0.3", "port": 6379}]}),
            Self::Redis => json!({"host": "10.0.0.3", "port": 6379}),
        };
        match fields {
            Value::Object(fields) => fields,
            _ => Map::new(),
        }
    }

    /// The field of an operation's metadata that says that it was cancelled.
    pub(super) fn cancelled_field(self) -> &'static str {
        match self {
            Self::Valkey => "requestedCancellation",
            Self::Redis => "cancelRequested",
        }
    }

    /// Whether a create or delete may have a `requestId`.
    pub(super) fn knows_request_ids(self) -> bool {
        self == Self::Valkey
    }

    fn id_lengths(self) -> RangeInclusive<usize> {
        match self {
            Self::Valkey => 4..=63,
            Self::Redis => 1..=40,
        }
    }

    /// Checks the id of an instance. The error says which ids are allowed.
    pub(super) fn check_id(self, id: &str) -> Result<(), String> {
        let start = |byte: u8| match self {
            Self::Valkey => byte.is_ascii_lowercase() || byte.is_ascii_digit(),
            Self::Redis => byte.is_ascii_lowercase(),
        };
        let lengths = self.id_lengths();
        let bytes = id.as_bytes();
        let fits = lengths.contains(&bytes.len())
            && bytes.first().is_some_and(|&first| start(first))
            && !id.ends_with('-')
            && bytes
                .iter()
                .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'));
        if fits {
            return Ok(());
        }
        Err(format!(
            "instanceId must have {} to {} lowercase letters, digits and hyphens, begin with a \
             letter{}, and not end with a hyphen.",
            lengths.start(),
            lengths.end(),
            if self == Self::Valkey {
                " or digit"
            } else {
                ""
            },
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_as_each_product_documents_it() {
        let (valkey, redis) = (Memorystore::Valkey, Memorystore::Redis);
        for (id, by_valkey, by_redis) in [
            ("cache", true, true),
            ("c-1", false, true),
            ("1-cache", true, false),
            ("", false, false),
            ("cache-", false, false),
            ("-cache", false, false),
            ("Cache", false, false),
            ("c\u{e4}che", false, false),
            (&"c".repeat(40), true, true),
            (&"c".repeat(41), true, false),
            (&"c".repeat(63), true, false),
            (&"c".repeat(64), false, false),
        ] {
            assert_eq!(valkey.check_id(id).is_ok(), by_valkey, "{id}");
            assert_eq!(redis.check_id(id).is_ok(), by_redis, "{id}");
        }
    }

    #[test]
    fn a_state_has_a_name_and_a_number() {
        for (state, valkey, redis, number) in [
            (State::Creating, "CREATING", "CREATING", 1),
            (State::Ready, "ACTIVE", "READY", 2),
            (State::Deleting, "DELETING", "DELETING", 4),
        ] {
            assert_eq!(Memorystore::Valkey.state(state, false), valkey);
            assert_eq!(Memorystore::Redis.state(state, false), redis);
            assert_eq!(Memorystore::Redis.state(state, true), number);
        }
    }
}
