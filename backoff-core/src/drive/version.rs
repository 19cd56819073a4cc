//! Updates whose values have a version: the rules after a write that may have been applied, if the
//! change cannot recognise its own effect.

use super::{
    blocking::Blocking,
    future::Retrying,
    operation::{At, Closure, Operation},
    plan::Plan,
    settings::AttemptTypes,
    update::{Memory, Update},
    write_outcome::WriteOutcome,
};
use crate::{
    delay::Pace,
    facts::fault::Fault,
    judge::{self, Stage},
    runtime::Sleep,
    state::Overrides,
};
use core::{fmt, time::Duration};

/// The version of a value: an etag, a number, a generation. Two values with the same version are
/// the same value, and each write makes another version.
///
/// Implemented for numbers, texts, bytes, `SystemTime`, and an `Option` of these. For a type of your
/// own, implement the trait, or write the version as a text. `None`, an empty text and empty bytes mean
/// that the value has no version, because many services return an empty etag for such a value.
#[diagnostic::on_unimplemented(
    message = "`version` reads a number, a `String`, bytes or an `Option` of these from the value, not `{Self}`",
    label = "`{Self}` is not a version",
    note = "copy a borrowed version: `|value| value.etag.clone()`; write a type of your own as a text: `value.version.to_string()`; or implement `backoff_core::drive::Version` for it"
)]
pub trait Version {
    /// Whether both versions are the same one. An unknown version equals no other, not even itself.
    fn is_same(&self, other: &Self) -> bool;
}

macro_rules! versions {
    ($($version:ty),+ $(,)?) => {
        $(
            impl Version for $version {
                #[inline]
                fn is_same(&self, other: &Self) -> bool {
                    self == other
                }
            }
        )+
    };
}

macro_rules! texts {
    ($($version:ty),+ $(,)?) => {
        $(
            impl Version for $version {
                fn is_same(&self, other: &Self) -> bool {
                    !self.is_empty() && self == other
                }
            }
        )+
    };
}

versions!(
    u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize,
);

texts!(&'static str);

#[cfg(feature = "std")]
texts!(String, Box<str>, std::sync::Arc<str>, Vec<u8>, Box<[u8]>);

#[cfg(feature = "std")]
versions!(std::time::SystemTime);

impl<T: Version> Version for Option<T> {
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Some(version), Some(other)) => version.is_same(other),
            _ => false,
        }
    }
}

impl<const N: usize> Version for [u8; N] {
    fn is_same(&self, other: &Self) -> bool {
        self == other
    }
}

/// The memory of an update that compares versions: a write that may have been applied, and the pace of
/// the writer. Made by [`Retrying::version`] and [`Blocking::version`].
#[derive(Clone, Copy)]
pub struct Versioned<F, K, E> {
    version: F,
    /// The version that was read last.
    last: Option<K>,
    /// A write on top of that version is running, and its change does not recognise its own effect.
    is_writing: bool,
    /// A write on top of the last version may have been applied; this is its error. The inner `Option` is
    /// `None` until the decision that the update continues.
    maybe_applied: Option<Option<E>>,
    pace: Pace,
}

/// An update that remembers versions. Made by [`Retrying::version`] and [`Blocking::version`].
pub type VersionedUpdate<Read, Change, Write, F, K, E> =
    Update<Read, Change, Write, Versioned<F, K, E>>;

impl<F, K, E> Versioned<F, K, E> {
    const fn new(version: F) -> Self {
        Versioned {
            version,
            last: None,
            is_writing: false,
            maybe_applied: None,
            pace: Pace::new(),
        }
    }
}

impl<F, K, E, V> Memory<V, E> for Versioned<F, K, E>
where
    F: FnMut(&V) -> K,
    K: Version,
    E: Fault,
{
    const KEEPS: bool = true;

    fn read(&mut self, value: &V, recognises: bool, now: impl FnOnce() -> Duration) -> Option<E> {
        let version = (self.version)(value);
        let is_same = self.last.as_ref().is_some_and(|last| version.is_same(last));
        self.pace.read(now(), is_same);
        if recognises {
            self.last = Some(version);
            return None;
        }
        if let Some(error) = &mut self.maybe_applied
            && !is_same
        {
            return error.take();
        }
        self.last = Some(version);
        self.is_writing = true;
        None
    }

    fn failed(&mut self, error: &E, stage: Stage, at: At<'_>) {
        let is_writing = core::mem::take(&mut self.is_writing);
        at.policy
            .keep_pace(&mut self.pace, at.kind, || at.clock.now());
        // The write of this attempt succeeded, so that no earlier one can arrive.
        if stage == Stage::Pending {
            self.maybe_applied = None;
        }
        let is_maybe_applied =
            stage == Stage::Cut || stage == Stage::Write && judge::is_perhaps_applied(error);
        if is_writing && is_maybe_applied && self.maybe_applied.is_none() {
            self.maybe_applied = Some(None);
        }
    }

    fn overrides(&self) -> Option<Overrides<'static>> {
        self.pace.has_failed().then(|| Overrides::paced(&self.pace))
    }

    fn keep(&mut self, error: E) -> Option<E> {
        match &mut self.maybe_applied {
            Some(kept @ None) => {
                *kept = Some(error);
                None
            }
            _ => Some(error),
        }
    }

    fn kept(&mut self) -> Option<E> {
        self.maybe_applied.as_mut().and_then(Option::take)
    }

    fn last_word(&mut self, error: E) -> E {
        self.maybe_applied.take().flatten().unwrap_or(error)
    }

    fn write_outcome(&self) -> WriteOutcome {
        match &self.maybe_applied {
            None => WriteOutcome::Known,
            Some(None) => WriteOutcome::JustUnknown,
            Some(Some(_)) => WriteOutcome::Unknown,
        }
    }
}

impl<F, K, E> fmt::Debug for Versioned<F, K, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Versioned")
            .field("maybe_applied", &self.maybe_applied.is_some())
            .finish_non_exhaustive()
    }
}

impl<P, Read, Change, Write, K, R, S> Retrying<P, Update<Read, Change, Write>, K, R, S>
where
    P: Plan,
    K: AttemptTypes,
    R: Sleep,
    Update<Read, Change, Write>: Operation,
{
    /// Reads the version of a value. The version does two things: it sets the pace after a conflict, and it
    /// shows whether a write that may have been applied was applied.
    ///
    /// # After a conflict
    ///
    /// The wait follows from the number of conflicts and from how long an attempt takes, and does not
    /// double: see [`Pace`](crate::delay::Pace). In AWS' simulation a hundred writers then need nine tenths
    /// of the calls of full jitter, and seven tenths of the time. The waits are short, so writers who meet
    /// many others make many attempts: give the policy a [`deadline`](crate::Policy::deadline) rather than
    /// a small [`max_attempts`](crate::Policy::max_attempts). A policy without either makes up to 100
    /// attempts after such conflicts, and the usual number after other failures.
    ///
    /// The judge decides whether a failed write is a conflict: the codes, or a function given to
    /// [`when`](crate::Policy::when). After all other failures the policy's waits hold, and three sorts
    /// of failures are counted separately: all throttled ones, of reads and writes alike; other failed
    /// reads since the last answered read; other failed writes.
    /// [`max_backoff`](crate::Policy::max_backoff) holds; [`delays`](Self::delays) replaces all waits.
    ///
    /// # After a write that may have been applied
    ///
    /// A change that cannot recognise its own effect (a counter, a list that is appended to) is retried
    /// after such a write, and never applied twice. The update reads the value again. If the value still
    /// has the version that was read before, the write has not arrived yet, and the change is written again
    /// under that version. If this second write succeeds, the first write can no longer arrive, because its
    /// precondition is stale. If the value has another version, or the second write meets a conflict, then
    /// the winner may have been the first write, and nobody can know: the update ends with
    /// [`StopReason::MaybeApplied`](crate::StopReason::MaybeApplied) and the error of the first write.
    ///
    /// This requires that each write names the version as its precondition, and that each write makes
    /// another version. A value without a version (`None`, an empty etag) is never written again. A change
    /// that returns a `bool` recognises its own effect, and is written again whatever the version is.
    ///
    /// ```
    /// use backoff_core::{Delivery, Fault, FaultKind, Policy, Updated};
    /// use std::cell::Cell;
    ///
    /// #[derive(Debug)]
    /// enum Failure { Stale, Lost }
    /// impl Fault for Failure {
    ///     fn kind(&self) -> Option<FaultKind> {
    ///         matches!(self, Failure::Stale).then_some(FaultKind::Conflict)
    ///     }
    ///     fn delivery(&self) -> Option<Delivery> {
    ///         matches!(self, Failure::Lost).then_some(Delivery::MaybeSent)
    ///     }
    /// }
    ///
    /// #[derive(Clone, Copy)]
    /// struct Counter { number: u32, version: u64 }
    ///
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let stored = Cell::new(Counter { number: 1, version: 1 });
    /// let mut is_lost = true; // the first write does not arrive
    /// let updated = Policy::exponential()
    ///     .update(
    ///         || std::future::ready(Ok(stored.get())),
    ///         |counter| counter.number += 1,
    ///         |counter| {
    ///             if std::mem::take(&mut is_lost) { return std::future::ready(Err(Failure::Lost)) }
    ///             if counter.version != stored.get().version { return std::future::ready(Err(Failure::Stale)) }
    ///             stored.set(Counter { version: counter.version + 1, ..counter });
    ///             std::future::ready(Ok(()))
    ///         },
    ///     )
    ///     .version(|counter| counter.version)
    ///     .await;
    /// assert!(matches!(updated, Ok(Updated::Written(()))));
    /// assert_eq!(stored.get().number, 2);
    /// # }
    /// # #[cfg(not(feature = "tokio"))] fn main() {}
    /// ```
    pub fn version<F, T, V, E>(
        self,
        version: F,
    ) -> Retrying<P, VersionedUpdate<Read, Change, Write, F, T, E>, K, R, S>
    where
        Read: Closure<(), Value = V, Error = E>,
        F: FnMut(&V) -> T,
        T: Version,
        E: Fault,
        VersionedUpdate<Read, Change, Write, F, T, E>: Operation,
    {
        self.with_operation(|update| update.with_memory(Versioned::new(version)))
    }
}

impl<P, Read, Change, Write, K, R, S> Blocking<P, Update<Read, Change, Write>, K, R, S> {
    /// Reads the version of a value, as [`Retrying::version`] does.
    pub fn version<F, T, V, E>(
        self,
        version: F,
    ) -> Blocking<P, VersionedUpdate<Read, Change, Write, F, T, E>, K, R, S>
    where
        Read: Closure<(), Value = V, Error = E>,
        F: FnMut(&V) -> T,
        T: Version,
        E: Fault,
    {
        self.with_operation(|update| update.with_memory(Versioned::new(version)))
    }
}
