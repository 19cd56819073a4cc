//! `Fault` for `sqlx::Error`, versions 0.8 and 0.9, which are equal for this purpose.

macro_rules! fault_for {
    ($sqlx:ident, $driver:ident, $mysql:literal) => {
        use crate::{
            clients::{
                boxed::known_fault,
                sqlstate::{State, state},
            },
            call::signal::Stopped,
            facts::{
                fault::{Delivery, Fault, FaultKind, TimedOut, made_late, message},
                not_opened::NotOpened,
            },
        };
        use ::$sqlx::Error;
        use std::{borrow::Cow, io};

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
        /// Of SQLite's errors, `SQLITE_BUSY` and `SQLITE_LOCKED` are conflicts, and all others are permanent. MySQL's
        /// SQLSTATEs follow the same standard, and `40001` is a deadlock there too.
        #[doc = concat!("The feature `", $mysql, "` also knows the numbers of MySQL, such as 1205: a lock was not free ")]
        /// in time.
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
                    Error::Database(_) => answer(self).is_some_and(|answer| answer.must_reconnect),
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

            /// The SQLSTATE.
            fn service_code(&self) -> Option<&str> {
                match self.as_database_error()?.code()? {
                    Cow::Borrowed(code) => Some(code),
                    // A number of SQLite.
                    Cow::Owned(_) => None,
                }
            }

            message!();

            made_late!();
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
            let error = error.as_database_error()?;
            #[cfg(feature = $mysql)]
            if let Some(error) = error.try_downcast_ref::<::$driver::MySqlDatabaseError>()
                && let Some(state) = crate::clients::sqlstate::state_of_mysql(error.number(), error.message())
            {
                return Some(state);
            }
            state(&error.code()?)
        }

        #[cfg(test)]
        mod tests {
            use super::*;
            use crate::clients::rows::*;
            use ::$sqlx::error::{DatabaseError, ErrorKind};
            use std::{borrow::Cow, error::Error as StdError};

            /// An error as a driver makes it from the server's answer.
            #[derive(Debug, thiserror::Error)]
            #[error("{0}")]
            struct Answer(&'static str);

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

            fn not_opened(error: Error) -> Error {
                Error::from(NotOpened::new(error))
            }

            fn answer(code: &'static str) -> Error {
                Error::from(Answer(code))
            }

            #[test]
            fn a_code_of_the_server_decides() {
                let conflict = NOT_APPLIED.and_kind(FaultKind::Conflict);
                all_say(conflict, false, ["40001", "517"].map(answer));
                all_say(NOT_APPLIED, true, [answer("57P03"), not_opened(answer("57P03"))]);
                all_say(MAYBE_APPLIED, true, ["57P01", "08006"].map(answer));
                all_say(PERMANENT, false, [answer("23505"), not_opened(answer("28P01"))]);
                all_say(UNKNOWN, false, [answer("busy")]);
            }

            #[test]
            fn a_failure_of_the_connection_says_what_was_sent() {
                let reset = || io::Error::from(io::ErrorKind::ConnectionReset);
                let not_sent = [
                    io(io::ErrorKind::ConnectionRefused),
                    Error::Tls(reset().into()),
                    not_opened(io(io::ErrorKind::TimedOut)),
                ];
                all_say(NOT_APPLIED, true, not_sent);
                let hidden: Box<dyn StdError> = Box::new(Error::PoolTimedOut);
                all_say(NOT_APPLIED, false, [hidden]);
                let cut = TimedOut::new(core::time::Duration::from_secs(1));
                all_say(MAYBE_APPLIED, true, [Error::Io(reset()), Error::from(cut)]);
                let permanent = [
                    Error::RowNotFound,
                    Error::PoolClosed,
                    io(io::ErrorKind::NotFound),
                    Error::Decode("no number".into()),
                    Error::Tls("no such certificate".into()),
                ];
                all_say(PERMANENT, false, permanent);
            }
        }
    };
}

#[cfg(feature = "sqlx-08")]
mod sqlx_08 {
    fault_for!(sqlx_08, sqlx_mysql_08, "sqlx-08-mysql");
}
#[cfg(feature = "sqlx-09")]
mod sqlx_09 {
    fault_for!(sqlx_09, sqlx_mysql_09, "sqlx-09-mysql");
}
