//! `Fault` for errors whose type is hidden: the chain of sources is searched for a known error.

#[cfg(feature = "combine")]
use crate::combine::CombineError;
use crate::{
    call::signal::Stopped,
    facts::{
        fault::{Fault, TimedOut, message},
        not_applied::NotApplied,
        not_opened::NotOpened,
    },
    report::{RetryError, UpdateReport},
};
use std::{
    error::Error,
    io,
    sync::{Arc, OnceLock},
};

/// One error of a chain, which can be checked for its type.
#[derive(Clone, Copy, Debug)]
pub struct Cause<'e> {
    link: &'e (dyn Error + 'static),
    #[cfg(feature = "anyhow-1")]
    whole: Option<&'e anyhow_1::Error>,
}

impl<'e> Cause<'e> {
    pub(crate) fn new(link: &'e (dyn Error + 'static)) -> Self {
        Cause {
            link,
            #[cfg(feature = "anyhow-1")]
            whole: None,
        }
    }

    #[cfg(feature = "anyhow-1")]
    fn of_anyhow(whole: &'e anyhow_1::Error) -> Self {
        Cause {
            link: &**whole,
            whole: Some(whole),
        }
    }

    /// This error if it is a `T`, or a `T` that only the `anyhow::Error` around it can find.
    pub(super) fn find<T: Error + Send + Sync + 'static>(&self) -> Option<&'e T> {
        let itself = self.link.downcast_ref();
        #[cfg(feature = "anyhow-1")]
        let itself = itself.or_else(|| self.added());
        itself
    }

    /// The error that `.context(..)` or `anyhow!(..)` added at this link. The link has a private type
    /// of anyhow, and only anyhow can look into it, from its outermost layer to its innermost. An error
    /// that is found this way counts at the position of its link, so the order of the chain is kept.
    #[cfg(feature = "anyhow-1")]
    fn added<T>(&self) -> Option<&'e T>
    where
        T: core::fmt::Display + core::fmt::Debug + Send + Sync + 'static,
    {
        let found: &T = self.whole?.downcast_ref()?;
        let is_in = |link: &(dyn Error + 'static)| {
            let begin = core::ptr::from_ref(link).addr();
            let end = begin + size_of_val(link);
            (begin..=end).contains(&core::ptr::from_ref(found).addr())
        };
        let is_deeper = self.link.source().is_some_and(is_in);
        (is_in(self.link) && !is_deeper).then_some(found)
    }

    /// An inner error that `source` leaves out.
    fn hidden(&self) -> Option<Self> {
        // An error made with `io::Error::new`.
        let hidden = self
            .find::<io::Error>()
            .and_then(io::Error::get_ref)
            .map(|inner| inner as &(dyn Error + 'static));
        // An error in a box: the sources of that link are the sources of the boxed error.
        #[cfg(feature = "anyhow-1")]
        let hidden = hidden.or_else(|| {
            self.added::<Box<dyn Error + Send + Sync>>()
                .map(|boxed| &**boxed as &(dyn Error + 'static))
        });
        hidden.map(Cause::new)
    }

    /// The next error of the chain.
    fn next(mut self) -> Option<Self> {
        self.link = self.link.source()?;
        Some(self)
    }
}

/// The known facts of an error whose type is hidden, or that has a known error among its sources. The
/// result is the first error, from the outside in, that states any fact. `None` if nothing is known; a
/// policy does not retry such an error.
///
/// Known types are [`TimedOut`], `io::Error`, the errors of the clients whose features are on,
/// `backoff-cloud`'s `ApiError`, and the [`RetryError`], the [`NotApplied`] and the [`CombineError`] of
/// each of them, also in a `Box` or an `Arc`. A type of your own is not known. An error in a wrapper
/// with `#[error(transparent)]` is not known either, because such a wrapper leaves the error out of its
/// sources.
///
/// ```
/// use backoff_core::{Delivery, known_fault};
/// use std::{error::Error, fmt, io};
///
/// #[derive(Debug)]
/// struct NotSaved(Box<io::Error>);
/// impl fmt::Display for NotSaved {
///     fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { f.write_str("not saved") }
/// }
/// impl Error for NotSaved {
///     fn source(&self) -> Option<&(dyn Error + 'static)> { Some(&self.0) }
/// }
///
/// let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
/// let hidden: Box<dyn Error> = Box::new(NotSaved(Box::new(refused)));
/// let fault = known_fault(&*hidden).expect("an io::Error is known");
/// assert_eq!(fault.delivery(), Some(Delivery::NotSent));
/// assert!(known_fault(&fmt::Error).is_none());
/// ```
pub fn known_fault<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e dyn Fault> {
    first_known(Cause::new(error), &|_| None)
}

/// The first error, from the outside in, that states any fact: an error that `named` knows, or an error
/// of the types that this crate knows.
pub(crate) fn first_known<'e>(
    first: Cause<'e>,
    named: &impl Fn(Cause<'e>) -> Option<&'e dyn Fault>,
) -> Option<&'e dyn Fault> {
    let mut next = Some(first);
    while let Some(cause) = next {
        if let Some(fault) = named(cause) {
            return Some(fault);
        }
        if let Some(fault) = cause.hidden().and_then(|it| first_known(it, named)) {
            return Some(fault);
        }
        if let Some(io) = as_fault::<io::Error>(cause) {
            return Some(io);
        }
        if let Some(fault) = of_a_client(cause) {
            return Some(fault);
        }
        next = cause.next();
    }
    None
}

fn of_a_client(cause: Cause<'_>) -> Option<&dyn Fault> {
    if let Some(fault) = as_fault::<TimedOut>(cause).or_else(|| as_fault::<Stopped>(cause)) {
        return Some(fault);
    }
    if let Some(fault) = super::of_a_client(cause) {
        return Some(fault);
    }
    OF_CLOUD.iter().find_map(|ask| ask.get()?(cause))
}

type Ask = for<'e> fn(Cause<'e>) -> Option<&'e dyn Fault>;

/// Functions that find the errors of `backoff-cloud`, which this crate cannot name: the error of its
/// HTTP clients and the error of its changes of allow policies.
static OF_CLOUD: [OnceLock<Ask>; 4] = [const { OnceLock::new() }; 4];

/// Registers an error type of `backoff-cloud`, so that the search finds it. Call this once for each
/// type, before the first error of the type exists.
#[doc(hidden)]
pub fn register<T: Fault + Error + Send + Sync + 'static>() {
    let is_kept = OF_CLOUD.iter().any(|free| free.set(as_fault::<T>).is_ok());
    debug_assert!(is_kept, "there is room for every error of `backoff-cloud`");
}

/// The error as this type, or as a wrapper of this type: a retry that was given up, a failed opening,
/// a failure that was not applied, or a failed group of changes. `$find` looks for a type, `$type` also in a `Box` or
/// an `Arc`.
macro_rules! of_type {
    ($find:ident, $type:ty, $cause:expr) => {{
        let cause = $cause;
        let found = $find::<$type>(cause)
            .or_else(|| $find::<Box<$type>>(cause))
            .or_else(|| $find::<Arc<$type>>(cause))
            .or_else(|| $find::<RetryError<$type>>(cause))
            .or_else(|| $find::<RetryError<$type, UpdateReport>>(cause))
            .or_else(|| $find::<NotOpened<$type>>(cause))
            .or_else(|| $find::<NotOpened<Arc<$type>>>(cause))
            .or_else(|| $find::<RetryError<NotOpened<$type>>>(cause))
            .or_else(|| $find::<RetryError<NotOpened<$type>, UpdateReport>>(cause))
            .or_else(|| $find::<NotApplied<$type>>(cause))
            .or_else(|| $find::<RetryError<NotApplied<$type>>>(cause))
            .or_else(|| $find::<RetryError<NotApplied<$type>, UpdateReport>>(cause));
        #[cfg(feature = "combine")]
        let found = found.or_else(|| $find::<CombineError<$type>>(cause));
        found
    }};
}

/// The error as this type, or as a wrapper of this type.
pub(crate) fn as_fault<T>(cause: Cause<'_>) -> Option<&dyn Fault>
where
    T: Fault + Error + Send + Sync + 'static,
{
    fn found<T>(cause: Cause<'_>) -> Option<&dyn Fault>
    where
        T: Fault + Error + Send + Sync + 'static,
    {
        cause.find::<T>().map(|fault| fault as &dyn Fault)
    }
    of_type!(found, T, cause)
}

/// The same for a type that is not `Send`, which anyhow does not accept.
pub(crate) fn as_own_fault<T: Fault + Error + 'static>(cause: Cause<'_>) -> Option<&dyn Fault> {
    fn found<T: Fault + Error + 'static>(cause: Cause<'_>) -> Option<&dyn Fault> {
        let fault = cause.link.downcast_ref::<T>();
        fault.map(|fault| fault as &dyn Fault)
    }
    of_type!(found, T, cause)
}

/// An error whose type is hidden.
pub trait Chain {
    /// The first error of the chain.
    fn first(&self) -> Cause<'_>;
}

macro_rules! hidden {
    ($($hidden:ty: $first:expr, $late:expr;)+) => {
        $(
            impl Chain for $hidden {
                fn first(&self) -> Cause<'_> {
                    let first: fn(&$hidden) -> Cause<'_> = $first;
                    first(self)
                }
            }

            /// The facts are searched along the chain of sources: [`TimedOut`], `io::Error`, the errors
            /// of the clients whose features are on, and the [`RetryError`] of each of them. In an
            /// `anyhow::Error`, an error that `.context(..)` added, or an error in a box, can be found
            /// too. If nothing is found, nothing is known about the error, and a policy treats it as
            /// permanent; the key `faults(..)` of `#[retry]` names types of your own.
            ///
            /// `Box::<dyn Error>::from(anyhow_error)`, and so `?` and `io::Error::other`, hide the error that the
            /// `anyhow::Error` was made of, unless a `.context(..)` is around that error. anyhow's
            /// `reallocate_into_boxed_dyn_error_without_backtrace` makes a box in which the error is found.
            impl Fault for $hidden {
                fn inner(&self) -> Option<&dyn Fault> {
                    first_known(self.first(), &|_| None)
                }

                message!();

                fn late() -> Option<fn(TimedOut) -> Self> {
                    Some($late)
                }
            }
        )+
    };
}

hidden!(
    Box<dyn Error>: |error| Cause::new(&**error), |late| Box::new(late);
    Box<dyn Error + Send>: |error| Cause::new(&**error), |late| Box::new(late);
    Box<dyn Error + Send + Sync>: |error| Cause::new(&**error), |late| Box::new(late);
);

#[cfg(feature = "anyhow-1")]
hidden!(anyhow_1::Error: |error| Cause::of_anyhow(error), Self::new;);

#[cfg(test)]
mod tests {
    use super::{super::rows::*, *};
    use crate::{
        facts::fault::{Delivery, FaultKind},
        policy::Policy,
        report::{Report, StopReason},
        test_error::TestError,
    };
    use core::{marker::PhantomData, time::Duration};
    use std::rc::Rc;

    type Hidden = Box<dyn Error + Send + Sync>;

    const BUSY: TestError = TestError::status(503);

    #[derive(Debug, thiserror::Error)]
    #[error("around another error")]
    struct Around<E>(#[source] E);

    /// The same error as another type, for each `T`.
    #[derive(Debug, thiserror::Error)]
    #[error("{0}")]
    struct As<T>(TestError, PhantomData<T>);

    impl<T> Fault for As<T> {
        fn inner(&self) -> Option<&dyn Fault> {
            Some(&self.0)
        }
    }

    fn hide(error: impl Error + Send + Sync + 'static) -> Hidden {
        Box::new(error)
    }

    fn given_up<E>(error: E) -> RetryError<E> {
        let report = Report {
            attempts: 3,
            elapsed: Duration::ZERO,
            slept: Duration::ZERO,
            maybe_applied: false,
        };
        RetryError::new(error, StopReason::Attempts, report)
    }

    fn late() -> io::Error {
        io::ErrorKind::TimedOut.into()
    }

    #[test]
    fn what_is_known_is_found_anywhere_in_the_chain_and_in_boxes() {
        all_say(MAYBE_SENT, true, [hide(CUT), hide(Around(Around(CUT)))]);
        let errors = [
            hide(Around(refused())),
            hide(Box::new(refused())),
            hide(Around(Arc::new(refused()))),
            hide(Around(Box::new(Around(Box::new(refused()))))),
        ];
        all_say(NOT_SENT, true, errors);
        let plain: Box<dyn Error> = Box::new(Around(refused()));
        all_say(NOT_SENT, true, [plain]);
        let unknown = [hide(Around(BUSY)), hide(Around(Box::new(BUSY)))];
        let text = unknown[0].message().expect("a text").to_string();
        assert_eq!(text, "around another error");
        all_say(UNKNOWN, false, unknown);
    }

    #[test]
    fn a_type_that_makes_itself_known_is_found() {
        type Known = As<u8>;
        let hidden = || hide(Around(As::<u8>(BUSY, PhantomData)));
        all_say(UNKNOWN, false, [hidden()]);
        register::<Known>();
        all_say(BUSY, false, [hidden()]);
    }

    #[test]
    fn that_nothing_was_applied_or_opened_is_not_lost_behind_another_error() {
        let not_applied = MAYBE_SENT.not_applied();
        let errors = [hide(NotApplied(CUT)), hide(Around(NotApplied(CUT)))];
        all_say(facts(&not_applied), true, errors);
        let given_up = given_up(NotApplied(CUT));
        all_say(PERMANENT, true, [hide(given_up)]);
        all_say(MAYBE_SENT, true, [hide(late())]);
        let errors = [
            hide(not_opened(late())),
            hide(not_opened(Arc::new(late()))),
            hide(Around(not_opened(CUT))),
        ];
        all_say(NOT_SENT.after(PAUSE), true, errors);
    }

    #[test]
    fn what_was_given_up_inside_is_permanent_however_it_was_made() {
        let policy = Policy::exponential().max_attempts(1);
        let updated = policy.blocking_update(|| Ok(1), |_| {}, |_| Err::<(), _>(CUT));
        let called = policy.blocking(|| Err::<(), _>(CUT));
        let opened = policy.blocking(|| Err::<(), _>(NotOpened::new(CUT)));
        let hidden = [
            hide(updated.reported().call().unwrap_err()),
            hide(called.reported().call().unwrap_err()),
            hide(opened.reported().call().unwrap_err()),
            hide(Around(given_up(late()))),
            #[cfg(feature = "combine")]
            hide(Around(CombineError::Shared {
                error: Arc::new(late()),
                reason: StopReason::Attempts,
                may_be_applied: true,
            })),
        ];
        for error in hidden {
            assert_eq!(error.kind(), Some(FaultKind::Permanent), "{error:?}");
        }
        let error = hide(given_up(BUSY));
        let found = first_known(error.first(), &as_fault::<TestError>).unwrap();
        assert_eq!(found.kind(), Some(FaultKind::Permanent));
    }

    #[test]
    fn a_named_type_is_found_too_also_inside_an_io_error_and_on_its_thread() {
        let status = |error: Hidden| first_known(error.first(), &as_fault::<TestError>)?.status();
        let other = TestError::status(429);
        let inside = io::Error::other(Around(other));
        for (error, expected) in [
            (hide(BUSY), Some(503)),
            (hide(Around(BUSY)), Some(503)),
            (hide(Around(inside)), Some(429)),
            (hide(Around(io::Error::other("plain"))), None),
        ] {
            assert_eq!(status(error), expected);
        }
        type Local = As<Rc<()>>;
        let local = || As::<Rc<()>>(BUSY, PhantomData);
        let unsent = BUSY.and_delivery(Delivery::NotSent);
        let found = |error: &(dyn Error + 'static)| {
            facts(first_known(Cause::new(error), &as_own_fault::<Local>).unwrap())
        };
        assert_eq!(found(&Around(local())), BUSY);
        assert_eq!(found(&Around(NotOpened::new(local()))), unsent);
    }

    #[cfg(feature = "anyhow-1")]
    mod behind_anyhow {
        use super::*;
        use anyhow_1::anyhow;

        type Other = As<()>;

        const OTHER: fn() -> Other = || As(TestError::status(429), PhantomData);

        /// The status of the first fault of the two types.
        fn status(error: anyhow_1::Error) -> Option<u16> {
            let named = |cause| as_fault::<Other>(cause).or_else(|| as_fault::<TestError>(cause));
            first_known(error.first(), &named)?.status()
        }

        #[test]
        fn the_outermost_counts_also_of_what_anyhow_was_given_in_a_box() {
            let plain = || anyhow!("plain");
            all_say(NOT_SENT, true, [plain().context(refused())]);
            let given_up = plain().context(given_up(BUSY));
            let fault = first_known(given_up.first(), &as_fault::<TestError>).unwrap();
            assert_eq!(fault.kind(), Some(FaultKind::Permanent));
            let around = anyhow!(hide(BUSY)).context("around");
            let no_fault = hide(Around(io::Error::other("plain")));
            for (error, expected) in [
                (plain().context(BUSY), Some(503)),
                (plain().context(BUSY).context("around"), Some(503)),
                (anyhow!(OTHER()).context(BUSY), Some(503)),
                // A context has no sources of its own.
                (anyhow!(Around(OTHER())).context(Around(BUSY)), Some(429)),
                (anyhow!(hide(Around(BUSY))), Some(503)),
                (around.context(Around(OTHER())), Some(503)),
                (anyhow!(OTHER()).context(hide(BUSY)), Some(503)),
                // An `io::Error` is known.
                (anyhow!(OTHER()).context(no_fault), None),
            ] {
                let text = format!("{error:?}");
                assert_eq!(status(error), expected, "{text}");
            }
        }

        /// A row: an error, and whether its fault is found after `into` and after the other conversion to a
        /// box. `into` keeps the error inside a private type of anyhow, and nobody can look into the box.
        #[test]
        fn an_anyhow_error_in_a_box_shows_its_sources_and_in_a_new_allocation_itself() {
            fn status(first: Cause<'_>) -> Option<u16> {
                first_known(first, &as_fault::<TestError>)?.status()
            }
            let is_found = |boxed: Hidden| {
                let found = status(boxed.first()).is_some();
                let inside = io::Error::other(boxed);
                assert_eq!(status(Cause::new(&inside)).is_some(), found);
                found
            };
            type Row = (fn() -> anyhow_1::Error, bool, bool);
            let rows: [Row; 4] = [
                (|| anyhow!(BUSY).context("around"), true, true),
                (|| anyhow!(Around(BUSY)), true, true),
                (|| anyhow!(BUSY), false, true),
                (|| anyhow!("plain").context(BUSY), false, false),
            ];
            for (error, by_into, reallocated) in rows {
                let text = format!("{:?}", error());
                assert_eq!(is_found(error().into()), by_into, "{text}");
                let boxed = error().reallocate_into_boxed_dyn_error_without_backtrace();
                assert_eq!(is_found(boxed), reallocated, "{text}");
            }
        }
    }
}
