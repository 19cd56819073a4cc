//! All policies of this crate: how long each one waits and when it ends, and which failures it retries.
//!
//! A test compares every cell of both tables with the constants. [Sources](sources) says where the numbers of each module come
//! from, and when that was read. [`ALL`] is the list for programs.
//!
//! To see what a preset does, run `cargo run -p examples --example lab` in a clone of the repository, and open the address
//! that it prints with the name of the preset: `?preset=iam::READ_MODIFY_WRITE`. [Waits and
//! limits](crate::guide::waits_and_limits#see-what-a-policy-does) has a picture.
//!
//! # Waits and ends
//!
//! The column "waits" is the wait before retry `n`, counted from 0, without jitter. The column "jitter"
//! says how chance changes this wait:
//!
//! - `full`: the wait is drawn between zero and the formula.
//! - `+ 1 s`: up to 1 s is added to `2ⁿ s`; the maximum stays the same.
//! - `± 20 %`, `± 1/7`: the wait is up to this part shorter or longer; the maximum stays the same.
//!
//! If the service asks for a longer wait, that wait follows. (After throttling `github::REQUEST` waits as
//! long as GitHub asks, also if that is shorter.) The presets `READ_MODIFY_WRITE`, `kubernetes::UPDATE` and
//! `kubernetes::UPDATE_MANAGED` add the wait of the table to it
//! ([`spread_retry_after`](Policy::spread_retry_after)), because many writers of one resource are told
//! the same time and would come back together.
//!
//! A policy with a deadline begins no wait that would end after the deadline. The time counts from the
//! first attempt.
//!
//! | preset | for | waits | jitter | begins no attempt after |
//! |---|---|---|---|---|
#![doc = presets!(waits)]
//!
//! # Retried failures
//!
//! [`Policy::judge`] has the order of the rules. A reply that names a gRPC code is
//! judged by this code; only a reply without one is judged by its HTTP status. An error that knows its
//! [kind](crate::Fault::kind) is judged by the kind: the errors of AWS and Azure have one for the service's
//! codes that [`aws::kind`](crate::aws::kind) and [`azure::kind`](crate::azure::kind) know.
//!
//! Beside these statuses, `github::REQUEST` retries a 403 that is a [limit](crate::github::kind).
//!
//! The column "conflict" says whether the policy retries an error of the kind
//! [`Conflict`](crate::FaultKind::Conflict). The column "lost reply" says whether the policy retries a
//! request that may have been applied, because the connection broke after the request was sent. Every
//! policy retries a request that was not sent. The row of `plain_http::BY_METHOD` is for attributes and
//! closures; `send` and a layer of tower decide by the method of the request.
//!
//! | preset | HTTP statuses | gRPC codes | conflict | lost reply |
//! |---|---|---|---|---|
#![doc = presets!(failures)]

use backoff_core::Policy;

/// Defines the constants of this module.
macro_rules! constants {
    ($($module:ident::$name:ident: $for:literal; $($waits:literal),+; $($failures:literal),+;)+) => {
        /// Every policy of this crate with its name. [The tables](self) have their numbers.
        ///
        /// ```
        /// use backoff_cloud::{iam, presets};
        ///
        /// let (_, policy) = presets::ALL.iter().find(|(name, _)| *name == "iam::REQUEST").unwrap();
        /// assert_eq!(*policy, iam::REQUEST);
        /// ```
        pub const ALL: &[(&str, Policy)] = &[
            $((concat!(stringify!($module), "::", stringify!($name)), crate::$module::$name)),+
        ];

        /// The cells of both tables.
        #[cfg(test)]
        const CELLS: &[([&str; 4], [&str; 4])] = &[
            $(([$for, $($waits),+], [$($failures),+])),+
        ];
    };
}

presets!(constants);

pub mod sources;

#[cfg(test)]
mod rules;
#[cfg(all(test, feature = "http"))]
mod services;
#[cfg(test)]
mod tests;
