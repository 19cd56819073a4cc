//! `Fault` for errors whose type is hidden: the chain of sources is searched for a known error.

use crate::{
    drive::stopping::Stopped,
    facts::{
        fault::{Fault, TimedOut},
        not_applied::NotApplied,
        not_opened::NotOpened,
    },
    many::CombineError,
    report::{RetryError, UpdateReport},
};
use core::fmt;
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
    fn find<T: Error + Send + Sync + 'static>(&self) -> Option<&'e T> {
        let itself = own(self.link);
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
        T: fmt::Display + fmt::Debug + Send + Sync + 'static,
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

/// This error as a `T`: directly, or in a `Box` or an `Arc`, which are error types too.
fn own<'e, T: Error + 'static>(link: &'e (dyn Error + 'static)) -> Option<&'e T> {
    let itself = link.downcast_ref::<T>();
    let itself = itself.or_else(|| link.downcast_ref::<Box<T>>().map(|boxed| &**boxed));
    itself.or_else(|| link.downcast_ref::<Arc<T>>().map(|shared| &**shared))
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
pub fn know<T: Fault + Error + Send + Sync + 'static>() {
    let is_kept = OF_CLOUD.iter().any(|free| free.set(as_fault::<T>).is_ok());
    debug_assert!(is_kept, "there is room for every error of `backoff-cloud`");
}

/// The error as this type, or as a wrapper of this type: a retry that was given up, a failed opening,
/// or a failure that was not applied. `$find` looks for a type.
macro_rules! of_type {
    ($find:ident, $type:ty, $cause:expr) => {
        of_type!(
            @ $find, $cause,
            $type,
            RetryError<$type>,
            RetryError<$type, UpdateReport>,
            NotOpened<$type>,
            NotOpened<Arc<$type>>,
            RetryError<NotOpened<$type>>,
            RetryError<NotOpened<$type>, UpdateReport>,
            NotApplied<$type>,
            RetryError<NotApplied<$type>>,
            RetryError<NotApplied<$type>, UpdateReport>,
            CombineError<$type>,
            RetryError<CombineError<$type>, UpdateReport>,
        )
    };
    (@ $find:ident, $cause:expr, $($type:ty),+ $(,)?) => {{
        let cause = $cause;
        $(
            if let Some(fault) = $find::<$type>(cause) {
                return Some(fault);
            }
        )+
        None
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
        own::<T>(cause.link).map(|fault| fault as &dyn Fault)
    }
    of_type!(found, T, cause)
}

/// An error whose type is hidden.
pub trait Chain {
    /// The first error of the chain.
    fn first(&self) -> Cause<'_>;
}

macro_rules! hidden {
    ($($hidden:ty: $first:expr),+ $(,)?) => {
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
            impl Fault for $hidden {
                fn inner(&self) -> Option<&dyn Fault> {
                    first_known(self.first(), &|_| None)
                }

                fn message(&self) -> Option<&dyn fmt::Display> {
                    Some(self)
                }
            }
        )+
    };
}

hidden!(
    Box<dyn Error>: |error| Cause::new(&**error),
    Box<dyn Error + Send>: |error| Cause::new(&**error),
    Box<dyn Error + Send + Sync>: |error| Cause::new(&**error),
);

#[cfg(feature = "anyhow-1")]
hidden!(anyhow_1::Error: |error| Cause::of_anyhow(error));

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        codes,
        facts::fault::Delivery,
        judge::Verdict,
        policy::Policy,
        report::{Report, StopReason},
    };
    use io::ErrorKind;

    const POLICY: Policy = Policy::exponential().on(codes![503]);

    #[test]
    fn a_type_that_makes_itself_known_is_found() {
        #[derive(Debug)]
        struct Busy;
        impl fmt::Display for Busy {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("busy")
            }
        }
        impl Error for Busy {}
        impl Fault for Busy {
            fn status(&self) -> Option<u16> {
                Some(503)
            }
        }
        let hidden = || -> Box<dyn Error + Send + Sync> { Around(Busy).into() };
        assert_eq!(POLICY.judge(&hidden()), Verdict::NothingKnown);
        know::<Busy>();
        assert_eq!(POLICY.judge(&hidden()), Verdict::from(true));
    }

    #[test]
    fn what_was_given_up_inside_is_permanent_however_it_was_made() {
        let policy = Policy::exponential().max_attempts(1);
        let cut = || TimedOut::new(core::time::Duration::ZERO);
        let updated = policy
            .blocking_update(|| Ok(1), |_| {}, |_| Err::<(), _>(cut()))
            .reported();
        let called = policy.blocking(|| Err::<(), _>(cut())).reported();
        let opened = policy
            .blocking(|| Err::<(), _>(NotOpened::new(cut())))
            .reported();
        let hidden: [Box<dyn Error + Send + Sync>; 3] = [
            updated.unwrap_err().into(),
            called.unwrap_err().into(),
            opened.unwrap_err().into(),
        ];
        for error in hidden {
            assert_eq!(POLICY.judge(&error), Verdict::Permanent, "{error:?}");
        }
    }

    #[test]
    fn that_nothing_was_applied_is_not_lost_behind_another_error() {
        let careful = POLICY.idempotent(false);
        let cut = || TimedOut::new(core::time::Duration::ZERO);
        for (error, verdict) in [
            (hide(cut()), Verdict::MaybeApplied),
            (hide(NotApplied(cut())), Verdict::from(true)),
            (hide(Around(NotApplied(cut()))), Verdict::from(true)),
            (hide(given_up(NotApplied(cut()))), Verdict::Permanent),
        ] {
            assert_eq!(careful.judge(&error), verdict, "{error:?}");
        }
    }

    #[test]
    fn what_is_in_a_box_or_shared_is_found() {
        let refused = || io::Error::from(ErrorKind::ConnectionRefused);
        let hidden: [Box<dyn Error + Send + Sync>; 4] = [
            Box::new(Box::new(refused())),
            Box::new(Around(Box::new(refused()))),
            Box::new(Around(Arc::new(refused()))),
            Box::new(Around(Box::new(Around(Box::new(refused()))))),
        ];
        for error in hidden {
            let found = known_fault(&*error).and_then(Fault::delivery);
            assert_eq!(found, Some(Delivery::NotSent), "{error:?}");
        }
        assert!(known_fault(&Around(Box::new(Api(503)))).is_none());
    }

    #[derive(Debug)]
    struct Around<E>(E);

    impl<E> fmt::Display for Around<E> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("around another error")
        }
    }

    impl<E: Error + 'static> Error for Around<E> {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&self.0)
        }
    }

    #[derive(Debug)]
    struct Api(u16);

    impl fmt::Display for Api {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "status {}", self.0)
        }
    }

    impl Error for Api {}

    impl Fault for Api {
        fn status(&self) -> Option<u16> {
            Some(self.0)
        }
    }

    fn hide(error: impl Error + Send + Sync + 'static) -> Box<dyn Error + Send + Sync> {
        Box::new(error)
    }

    fn given_up<E>(error: E) -> RetryError<E> {
        let report = Report {
            attempts: 3,
            elapsed: Default::default(),
            slept: Default::default(),
        };
        RetryError::new(error, StopReason::Attempts, report)
    }

    #[test]
    fn what_is_known_is_found_anywhere_in_the_chain() {
        let late = || TimedOut::new(Default::default());
        for error in [hide(late()), hide(Around(Around(late())))] {
            assert_eq!(error.delivery(), Some(Delivery::MaybeSent));
            assert_ne!(POLICY.judge(&error), Verdict::Permanent);
        }
        let refused = || io::Error::from(ErrorKind::ConnectionRefused);
        assert_eq!(hide(Around(refused())).delivery(), Some(Delivery::NotSent));
        let plain: Box<dyn Error> = Box::new(Around(refused()));
        assert_eq!(plain.delivery(), Some(Delivery::NotSent));
    }

    #[test]
    fn what_is_found_nowhere_says_nothing() {
        let error = hide(Around(Api(503)));
        assert_eq!(POLICY.judge(&error), Verdict::NothingKnown);
        assert_eq!(error.message().unwrap().to_string(), "around another error");
    }

    #[test]
    fn a_named_type_is_found_too_also_inside_an_io_error() {
        let status = |error: Box<dyn Error + Send + Sync>| {
            first_known(error.first(), &as_fault::<Api>).and_then(|fault| fault.status())
        };
        assert_eq!(status(hide(Api(503))), Some(503));
        assert_eq!(status(hide(Around(Api(503)))), Some(503));
        assert_eq!(
            status(hide(Around(io::Error::other(Around(Api(429)))))),
            Some(429)
        );
        assert_eq!(status(hide(Around(io::Error::other("plain")))), None);
    }

    #[test]
    fn an_inner_retry_that_was_given_up_is_not_repeated() {
        let error = hide(Around(given_up(io::Error::from(ErrorKind::TimedOut))));
        assert_eq!(POLICY.judge(&error), Verdict::Permanent);
        let error = hide(given_up(Api(503)));
        let fault = first_known(error.first(), &as_fault::<Api>).unwrap();
        assert_eq!(POLICY.judge(fault), Verdict::Permanent);
        let error = hide(Around(CombineError::Shared {
            error: Arc::new(io::Error::from(ErrorKind::TimedOut)),
            reason: StopReason::Attempts,
            may_be_applied: true,
        }));
        assert_eq!(POLICY.judge(&error), Verdict::Permanent);
    }

    #[test]
    fn an_opening_that_failed_was_not_sent_whatever_the_error_inside_says() {
        let careful = POLICY.idempotent(false);
        let timed_out = || io::Error::from(ErrorKind::TimedOut);
        assert_eq!(careful.judge(&hide(timed_out())), Verdict::MaybeApplied);
        let pause = Some(core::time::Duration::from_millis(20));
        let late = TimedOut::new(Default::default());
        for error in [
            hide(NotOpened {
                error: timed_out(),
                pause,
            }),
            hide(NotOpened {
                error: Arc::new(timed_out()),
                pause,
            }),
            hide(Around(NotOpened { error: late, pause })),
        ] {
            assert_eq!(careful.judge(&error), Verdict::from(true).after(pause));
        }
    }

    #[test]
    fn a_type_that_stays_on_its_thread_is_found_too() {
        #[derive(Debug)]
        struct Local(std::rc::Rc<Api>);
        impl fmt::Display for Local {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
        impl Error for Local {}
        impl Fault for Local {
            fn status(&self) -> Option<u16> {
                self.0.status()
            }
        }
        let error: Box<dyn Error> = Box::new(Around(Local(Api(503).into())));
        let found = first_known(error.first(), &as_own_fault::<Local>).unwrap();
        assert_eq!(found.status(), Some(503));
        let not_opened = NotOpened::new(Local(Api(503).into()));
        let error: Box<dyn Error> = Box::new(Around(not_opened));
        let found = first_known(error.first(), &as_own_fault::<Local>).unwrap();
        assert_eq!(found.delivery(), Some(Delivery::NotSent));
    }

    #[cfg(feature = "anyhow-1")]
    mod behind_anyhow {
        use super::*;
        use anyhow_1::anyhow;

        #[derive(Debug)]
        struct Busy;

        impl fmt::Display for Busy {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("busy")
            }
        }

        impl Error for Busy {}

        impl Fault for Busy {
            fn status(&self) -> Option<u16> {
                Some(429)
            }
        }

        /// The facts of the first fault among `Busy` and `Api`.
        fn status(error: anyhow_1::Error) -> Option<u16> {
            let named = |cause| as_fault::<Busy>(cause).or_else(|| as_fault::<Api>(cause));
            first_known(error.first(), &named)?.status()
        }

        #[test]
        fn what_was_added_as_a_context_is_found() {
            assert_eq!(status(anyhow!("plain").context(Api(503))), Some(503));
            assert_eq!(status(anyhow!("plain").context(Busy)), Some(429));
            let deeper = anyhow!("plain").context(Api(503)).context("around");
            assert_eq!(status(deeper), Some(503));
            let given_up = anyhow!("plain").context(given_up(Api(503)));
            let fault = first_known(given_up.first(), &as_fault::<Api>).unwrap();
            assert_eq!(fault.kind(), Some(crate::FaultKind::Permanent));
            let late = anyhow!("plain").context(TimedOut::new(Default::default()));
            assert_eq!(late.delivery(), Some(Delivery::MaybeSent));
            let refused = io::Error::from(ErrorKind::ConnectionRefused);
            let refused = anyhow!("plain").context(refused);
            assert_eq!(refused.delivery(), Some(Delivery::NotSent));
        }

        #[test]
        fn the_outermost_counts() {
            assert_eq!(status(anyhow!(Api(503)).context(Busy)), Some(429));
            assert_eq!(status(anyhow!(Busy).context(Api(503))), Some(503));
            let between = anyhow!(Busy).context(Api(503)).context("around");
            assert_eq!(status(between), Some(503));
            let sources = anyhow!(Around(Busy)).context(Around(Api(503)));
            assert_eq!(
                status(sources),
                Some(429),
                "a context has no sources of its own"
            );
        }

        #[test]
        fn what_anyhow_was_given_in_a_box_is_found() {
            for error in [hide(Api(503)), hide(Around(Api(503)))] {
                assert_eq!(status(anyhow!(error)), Some(503));
            }
            let error = anyhow!(hide(Api(503)))
                .context("around")
                .context(Around(Busy));
            assert_eq!(status(error), Some(503));
            let error = anyhow!(hide(Api(503))).context(Busy);
            assert_eq!(status(error), Some(429));
            let error = anyhow!(Busy).context(hide(Api(503)));
            assert_eq!(status(error), Some(503));
            let error = anyhow!(Busy).context(hide(Around(io::Error::other("plain"))));
            assert_eq!(status(error), None, "an `io::Error` is known");
        }

        #[test]
        fn an_anyhow_error_in_a_box_shows_its_sources_only() {
            let boxed: Box<dyn Error + Send + Sync> = anyhow!(Around(Api(503))).into();
            assert!(first_known(boxed.first(), &as_fault::<Api>).is_some());
            let boxed: Box<dyn Error + Send + Sync> = anyhow!(Api(503)).into();
            assert!(first_known(boxed.first(), &as_fault::<Api>).is_none());
            let boxed: Box<dyn Error + Send + Sync> = anyhow!("plain").context(Api(503)).into();
            assert!(first_known(boxed.first(), &as_fault::<Api>).is_none());
        }
    }
}
