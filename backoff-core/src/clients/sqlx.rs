//! `Fault` for `sqlx::Error`, versions 0.8 and 0.9, which are equal for this purpose.

macro_rules! fault_for {
    ($sqlx:ident) => {
        use crate::{
            clients::{
                boxed::known_fault,
                sqlstate::{State, state},
            },
            drive::stopping::Stopped,
            facts::{
                fault::{Delivery, Fault, FaultKind, TimedOut},
                not_opened::NotOpened,
            },
        };
        use ::$sqlx::Error;
        use core::fmt;
        use std::io;

        /// The SQLSTATE describes the server's error:
        ///
        #[doc = include_str!("sqlstate.md")]
        ///
        /// ```
        /// use backoff_core::{Delivery, Fault};
        #[doc = concat!("# use ", stringify!($sqlx), " as sqlx;")]
        ///
        /// let error = sqlx::Error::PoolTimedOut;
        /// assert_eq!(error.delivery(), Some(Delivery::NotSent));
        /// ```
        ///
        /// These errors come from the client:
        ///
        /// | error | kind | applied? | another connection |
        /// |---|---|---|---|
        /// | `Io`: refused, host name not found | transient | no | yes |
        /// | `Io`: broken, closed by the server, timed out | transient | perhaps | yes |
        /// | `PoolTimedOut` | transient | no | |
        /// | `Tls`, if the connection broke during the handshake | transient | no | yes |
        /// | `Io` of the kind `NotFound`: missing certificate file, missing Unix socket | permanent | | |
        /// | any other `Tls`; `PoolClosed`, `Decode`, `RowNotFound`, `Configuration`, … | permanent | | |
        ///
        /// A missing certificate file and the socket of a server that is down give the same error, so
        /// neither is retried. If you connect through a Unix socket and want to retry during a restart
        /// of the server, retry `Io` of the kind `NotFound` with `when`.
        ///
        /// A connection that breaks before `COMMIT` gives the same error as one that breaks after it.
        /// So a policy that is not [idempotent](crate::Policy::idempotent) ends with
        /// [`StopReason::MaybeApplied`](crate::StopReason::MaybeApplied) after an `Io` of any
        /// statement, although a commit may have happened only if the commit itself failed: wrap the
        /// errors before the commit in [`NotApplied`](crate::NotApplied). A transaction that recognises
        /// its own effect may be idempotent: its first statement inserts an id of the call into a table
        /// where the id is unique, with `ON CONFLICT DO NOTHING`. If no row was inserted, the work is
        /// already done.
        ///
        #[cfg_attr(all(feature = "macros", feature = "tokio"), doc = "```")]
        #[cfg_attr(not(all(feature = "macros", feature = "tokio")), doc = "```ignore")]
        /// use backoff_core::{Policy, retry};
        #[doc = concat!("# use ", stringify!($sqlx), "::{self as sqlx, pool::Pool, database::Database};")]
        ///
        /// const TRANSACTION: Policy = Policy::exponential().retry_conflicts(true).idempotent(false);
        ///
        /// #[retry(policy = TRANSACTION, timeout = "20s")]
        /// async fn pay<D: Database>(pool: &Pool<D>) -> sqlx::Result<()> { // or `&PgPool`
        ///     let transaction = pool.begin().await?;
        ///     // … read, decide, write
        ///     transaction.commit().await
        /// }
        /// ```
        ///
        /// A pool opens connections itself. It drops a broken connection. If a server is starting up or
        /// refuses connections, the pool tries again and again for `acquire_timeout` (30 s by default)
        /// before it returns `PoolTimedOut`. With a limit of a second or two, the policy makes these
        /// retries instead. A pool keeps a connection whose server has become a replica:
        /// `PgPoolOptions::before_acquire` can ask `SHOW transaction_read_only` and refuse the
        /// connection.
        ///
        /// For a code that is not a SQLSTATE, such as the codes of SQLite, nothing is known. MySQL's
        /// codes follow the same standard, and `40001` is a deadlock there too.
        impl Fault for Error {
            fn inner(&self) -> Option<&dyn Fault> {
                match self {
                    Error::Io(error) => Some(error),
                    _ => None,
                }
            }

            /// [`Delivery::NotSent`] also if the server says that it did nothing.
            fn delivery(&self) -> Option<Delivery> {
                match self {
                    Error::Database(_) => answer(self)?.delivery,
                    Error::Io(error) => error.delivery(),
                    Error::Tls(error) => {
                        let cause = known_fault(&**error)?;
                        cause.delivery().map(|_| Delivery::NotSent)
                    }
                    Error::PoolTimedOut => Some(Delivery::NotSent),
                    _ => None,
                }
            }

            fn must_reconnect(&self) -> bool {
                match self {
                    Error::Database(_) => answer(self).is_some_and(|answer| answer.elsewhere),
                    Error::PoolTimedOut => false,
                    _ => self.delivery().is_some(),
                }
            }

            fn kind(&self) -> Option<FaultKind> {
                match self {
                    Error::Database(_) => answer(self).map(|answer| answer.kind),
                    _ if self.delivery().is_some() => Some(FaultKind::Transient),
                    Error::Io(error) => Fault::kind(error),
                    _ => Some(FaultKind::Permanent),
                }
            }

            fn message(&self) -> Option<&dyn fmt::Display> {
                Some(self)
            }
        }

        /// For attempts that are [cut](crate::Retrying::attempt_timeout): an `Io` of the kind
        /// `TimedOut`.
        impl From<TimedOut> for Error {
            fn from(error: TimedOut) -> Self {
                Error::Io(error.into())
            }
        }

        /// For attempts that a signal has [cut](crate::Retrying::cut_on): an `Io`.
        impl From<Stopped> for Error {
            fn from(error: Stopped) -> Self {
                Error::Io(error.into())
            }
        }

        /// For failed openings: an `Io` with the [`NotOpened`] inside, of the same kind as the error of
        /// opening, or of the kind `NotConnected` if that was not an `Io`. A permanent error stays
        /// unchanged.
        impl From<NotOpened<Error>> for Error {
            fn from(not_opened: NotOpened<Error>) -> Self {
                if Fault::kind(&not_opened.error) == Some(FaultKind::Permanent) {
                    return not_opened.error;
                }
                let kind = match &not_opened.error {
                    Error::Io(error) => error.kind(),
                    _ => io::ErrorKind::NotConnected,
                };
                Error::Io(io::Error::new(kind, not_opened))
            }
        }

        fn answer(error: &Error) -> Option<State> {
            state(&error.as_database_error()?.code()?)
        }

        #[cfg(test)]
        mod tests {
            use super::*;
            use crate::{judge::Verdict, policy::Policy};
            use ::$sqlx::error::{DatabaseError, ErrorKind};
            use std::{borrow::Cow, error::Error as StdError};

            const CAREFUL: Policy = Policy::exponential()
                .retry_conflicts(true)
                .idempotent(false);

            /// An error as a driver makes it from the server's answer.
            #[derive(Debug)]
            struct Answer(&'static str);

            impl fmt::Display for Answer {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str(self.0)
                }
            }

            impl StdError for Answer {}

            impl DatabaseError for Answer {
                fn message(&self) -> &str {
                    self.0
                }
                fn code(&self) -> Option<Cow<'_, str>> {
                    Some(self.0.into())
                }
                fn as_error(&self) -> &(dyn StdError + Send + Sync + 'static) {
                    self
                }
                fn as_error_mut(&mut self) -> &mut (dyn StdError + Send + Sync + 'static) {
                    self
                }
                fn into_error(self: Box<Self>) -> Box<dyn StdError + Send + Sync + 'static> {
                    self
                }
                fn kind(&self) -> ErrorKind {
                    ErrorKind::Other
                }
            }

            fn io(kind: io::ErrorKind) -> Error {
                Error::Io(kind.into())
            }

            #[test]
            fn a_code_of_the_server_decides() {
                let conflict = Verdict::Retry {
                    kind: FaultKind::Conflict,
                    retry_after: None,
                };
                for (code, verdict, elsewhere) in [
                    ("40001", conflict, false),
                    ("57P03", true.into(), true),
                    ("57P01", Verdict::MaybeApplied, true),
                    ("08006", Verdict::MaybeApplied, true),
                    ("23505", Verdict::Permanent, false),
                    ("2067", Verdict::NothingKnown, false),
                ] {
                    let error = Error::from(Answer(code));
                    assert_eq!(CAREFUL.judge(&error), verdict, "{code}");
                    assert_eq!(error.must_reconnect(), elsewhere, "{code}");
                }
            }

            #[test]
            fn what_was_not_sent_is_repeated_by_everybody() {
                for error in [
                    io(io::ErrorKind::ConnectionRefused),
                    Error::PoolTimedOut,
                    Error::Tls(io::Error::from(io::ErrorKind::ConnectionReset).into()),
                    Error::from(NotOpened::new(io(io::ErrorKind::TimedOut))),
                    Error::from(NotOpened::new(Error::from(Answer("57P03")))),
                ] {
                    assert_eq!(CAREFUL.judge(&error), Verdict::from(true), "{error}");
                    let is_pool = matches!(error, Error::PoolTimedOut);
                    assert_eq!(error.must_reconnect(), !is_pool, "{error}");
                }
            }

            #[test]
            fn what_broke_may_have_been_applied() {
                let cut = TimedOut::new(core::time::Duration::from_secs(1));
                for error in [
                    io(io::ErrorKind::UnexpectedEof),
                    io(io::ErrorKind::ConnectionReset),
                    Error::from(cut),
                ] {
                    assert_eq!(CAREFUL.judge(&error), Verdict::MaybeApplied, "{error}");
                    assert!(error.must_reconnect());
                }
            }

            #[test]
            fn what_no_repetition_cures_is_permanent() {
                for error in [
                    Error::RowNotFound,
                    Error::PoolClosed,
                    io(io::ErrorKind::NotFound),
                    Error::Decode("no number".into()),
                    Error::Tls("no such certificate".into()),
                    Error::from(NotOpened::new(Error::from(Answer("28P01")))),
                ] {
                    let judged = Policy::exponential().judge(&error);
                    assert_eq!(judged, Verdict::Permanent, "{error}");
                }
            }

            #[test]
            fn it_is_found_in_a_box() {
                let hidden: Box<dyn StdError> = Box::new(Error::PoolTimedOut);
                assert_eq!(hidden.delivery(), Some(Delivery::NotSent));
            }
        }
    };
}

#[cfg(feature = "sqlx-08")]
mod sqlx_08 {
    fault_for!(sqlx_08);
}
#[cfg(feature = "sqlx-09")]
mod sqlx_09 {
    fault_for!(sqlx_09);
}
