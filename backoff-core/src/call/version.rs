//! Updates whose values have a version: the rules after a write that may have been applied, if the
//! change cannot recognise its own effect.

use super::{
    operation::{JudgedFailure, Memory},
    update::{Update, WriteMemory},
    write_outcome::{Remembered, WriteOutcome},
};
use crate::{
    delay::Pace,
    facts::fault::Fault,
    policy::Policy,
    runtime::Clock,
    stage::{EndedBy, Stage},
};
use core::time::Duration;

/// The version of a value: an etag, a number, a generation. Two values with the same version are
/// the same value, and each write makes another version.
///
/// Implemented for numbers, texts, bytes, `SystemTime`, and an `Option` of these. For a type of your
/// own, implement the trait, or write the version as a text. `None`, an empty text and empty bytes mean
/// that the value has no version, because many services return an empty etag for such a value.
#[diagnostic::on_unimplemented(
    message = "`version` reads a number, a `String`, bytes or an `Option` of these from the value, not `{Self}`",
    label = "`{Self}` is not a version",
    note = "copy a borrowed version: `|value| value.etag.clone()`; write a type of your own as a text: `value.version.to_string()`; or implement `backoff_core::call::Version` for it"
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
/// the writer. Made by [`Retrying::version`](crate::Retrying::version).
#[derive(Clone, Copy)]
#[doc(hidden)]
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

/// An update that remembers versions. Made by [`Retrying::version`](crate::Retrying::version).
pub type VersionedUpdate<Read, Change, Write, F, K, E> =
    Update<Read, Change, Write, Versioned<F, K, E>>;

impl<F, K, E> Versioned<F, K, E> {
    pub(super) const fn new(version: F) -> Self {
        Versioned {
            version,
            last: None,
            is_writing: false,
            maybe_applied: None,
            pace: Pace::new(),
        }
    }
}

impl<F, K, E, V> WriteMemory<V, E> for Versioned<F, K, E>
where
    F: FnMut(&V) -> K,
    K: Version,
    E: Fault,
{
    const KEEPS: bool = true;
    const IS_CONDITIONAL: bool = true;

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

    fn memory(&mut self) -> Option<&mut dyn Memory<E>> {
        Some(self)
    }
}

impl<F, K, E: Fault> Memory<E> for Versioned<F, K, E> {
    fn failed(
        &mut self,
        failure: &JudgedFailure<'_, E>,
        policy: &Policy,
        clock: &dyn Clock,
    ) -> Remembered<'_> {
        let stage = failure.stage;
        let is_writing = core::mem::take(&mut self.is_writing);
        let kind = failure.verdict.kind_at(stage);
        policy.keep_pace(&mut self.pace, kind, || clock.now());
        // The write of this attempt succeeded, so that no earlier one can arrive.
        if stage == Stage::Value {
            self.maybe_applied = None;
        }
        let is_cut = failure.ended_by != EndedBy::Operation;
        let is_maybe_applied = || is_cut || failure.error.is_some_and(Fault::may_be_written);
        let is_write = is_writing && stage.is_write();
        if is_write && self.maybe_applied.is_none() && is_maybe_applied() {
            self.maybe_applied = Some(None);
        }
        Remembered::Writes(self.write_outcome(), &self.pace)
    }

    fn write_outcome(&self) -> WriteOutcome {
        match &self.maybe_applied {
            None => WriteOutcome::Known,
            Some(None) => WriteOutcome::JustUnknown,
            Some(Some(_)) => WriteOutcome::Unknown,
        }
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
        self.maybe_applied.as_mut()?.take()
    }
}
