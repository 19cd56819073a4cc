//! `Fault` for `tokio_postgres::Error`, version 0.7.

use super::{
    boxed::known_fault,
    sources::begins_with,
    sqlstate::{self, State},
};
use crate::facts::fault::{Delivery, Fault, FaultKind, message};
use std::{error::Error as _, io};
use tokio_postgres_07::{Error, error::Severity};

/// The SQLSTATE describes the server's error:
///
#[doc = include_str!("sqlstate.md")]
///
/// These errors come from the client:
///
/// | error | kind | applied? | another connection |
/// |---|---|---|---|
/// | connecting failed: refused, host name not found, timed out, no server that takes writes | transient | no | yes |
/// | a TLS handshake during which the connection broke | transient | no | yes |
/// | closed (`Error::is_closed`), I/O, a timeout | transient | perhaps | yes |
/// | anything else: parameters, decoding, TLS, authentication, configuration | permanent | | |
///
/// A connection that breaks before `COMMIT` gives the same error as one that breaks after it. So a
/// policy that is not [idempotent](crate::Policy::idempotent) ends with
/// [`StopReason::MaybeApplied`](crate::StopReason::MaybeApplied) after a lost connection at any
/// statement, although a commit may have happened only if the commit itself failed: wrap the errors
/// before the commit in [`NotApplied`](crate::NotApplied). A session that was terminated between two
/// statements is such a lost connection too, because the client drops the server's message. A
/// transaction that recognises its own effect may be idempotent: its first statement inserts an id of
/// the call into a table where the id is unique, with `ON CONFLICT DO NOTHING`. If no row was inserted,
/// the work is already done.
///
#[cfg_attr(all(feature = "macros", feature = "tokio"), doc = "```")]
#[cfg_attr(not(all(feature = "macros", feature = "tokio")), doc = "```ignore")]
/// use backoff_core::{Fault, Policy, retry};
/// # use tokio_postgres_07 as tokio_postgres;
/// use tokio_postgres::{Client, Error};
///
/// const TRANSACTION: Policy = Policy::exponential().retry_conflicts(true).idempotent(false);
/// # struct Line { client: Option<Client> }
/// # impl Line { async fn client(&mut self) -> Result<&mut Client, Error> { Ok(self.client.as_mut().unwrap()) } }
///
/// #[retry(policy = TRANSACTION, deadline = "20s")]
/// async fn pay(line: &mut Line) -> Result<(), Error> {
///     // The last client, or a new one.
///     let client = line.client().await?;
///     let paid = pay_on(client).await;
///     if paid.as_ref().is_err_and(Fault::must_reconnect) {
///         line.client = None;
///     }
///     paid
/// }
///
/// async fn pay_on(client: &mut Client) -> Result<(), Error> {
///     let transaction = client.transaction().await?;
///     transaction.execute("UPDATE accounts SET balance = balance - 1", &[]).await?;
///     transaction.commit().await
/// }
/// ```
///
/// A `Client` whose connection is lost stays unusable. Each attempt opens its own client, or takes one
/// from a pool. If the connection closes before the server has answered, the error does not show
/// whether the opening or a statement failed: wrap a failure of the opening in a
/// [`NotOpened`](crate::NotOpened), in an error of your own. The error of this crate has no
/// constructor, so `timeout` and `attempt_timeout` need an error of your own too.
///
/// The crate `postgres` 0.19 uses the same error.
impl Fault for Error {
    /// [`Delivery::NotSent`] also if the server says that it did nothing.
    fn delivery(&self) -> Option<Delivery> {
        if let Some(answer) = answer(self) {
            return answer.delivery;
        }
        let cause = || known_fault(self.source()?)?.delivery();
        match Failure::of(self)? {
            Failure::Connect if is_forbidden(self) => None,
            Failure::Connect => Some(Delivery::NotSent),
            Failure::Handshake => cause().map(|_| Delivery::NotSent),
            Failure::Lost => Some(cause().unwrap_or(Delivery::MaybeSent)),
        }
    }

    fn must_reconnect(&self) -> bool {
        match answer(self) {
            Some(answer) => answer.must_reconnect,
            None => self.delivery().is_some(),
        }
    }

    fn kind(&self) -> Option<FaultKind> {
        match answer(self) {
            Some(answer) => Some(answer.kind),
            None if self.delivery().is_some() => Some(FaultKind::Transient),
            None => Some(FaultKind::Permanent),
        }
    }

    /// The SQLSTATE.
    fn service_code(&self) -> Option<&str> {
        Some(self.code()?.code())
    }

    /// The server's message without its details, which quote values of rows. The text of the error itself
    /// is `db error`.
    fn service_message(&self) -> Option<&str> {
        Some(self.as_db_error()?.message())
    }

    message!();
}

fn answer(error: &Error) -> Option<State> {
    let answer = error.as_db_error()?;
    let severity = match answer.parsed_severity() {
        Some(Severity::Error) => Some(sqlstate::Severity::Error),
        Some(Severity::Fatal | Severity::Panic) => Some(sqlstate::Severity::Fatal),
        // This text is in the language of the server. Poolers use English.
        None if matches!(answer.severity(), "FATAL" | "PANIC") => Some(sqlstate::Severity::Fatal),
        _ => None,
    };
    State::of(answer.code().code(), severity)
}

/// The step that failed, if the server did not answer.
enum Failure {
    Connect,
    Handshake,
    Lost,
}

impl Failure {
    /// The text decides, because the crate does not publish the kind.
    fn of(error: &Error) -> Option<Self> {
        if error.is_closed() {
            return Some(Failure::Lost);
        }
        let kinds = [
            ("error connecting to server", Failure::Connect),
            ("error performing TLS handshake", Failure::Handshake),
            ("error communicating with the server", Failure::Lost),
            ("timeout waiting for server", Failure::Lost),
        ];
        let found = kinds.into_iter().find(|(text, _)| begins_with(error, text));
        found.map(|(_, failure)| failure)
    }
}

/// Whether the operating system refused the connection. The error of a server with the wrong role
/// (`target_session_attrs`) has the same kind, but no error number of the system.
fn is_forbidden(error: &Error) -> bool {
    let io: Option<&io::Error> = error.source().and_then(|source| source.downcast_ref());
    io.is_some_and(|io| io.kind() == io::ErrorKind::PermissionDenied && io.raw_os_error().is_some())
}

#[cfg(test)]
mod tests {
    use super::{super::rows::*, *};

    #[test]
    fn a_wrong_configuration_is_permanent_and_a_timeout_may_have_been_applied() {
        let error = "port=none".parse::<tokio_postgres_07::Config>();
        all_say(PERMANENT, false, [error.expect_err("no number")]);
        // The only failure of a connection that a test can make without a server.
        let late = Error::__private_api_timeout;
        all_say(MAYBE_APPLIED, true, [late()]);
        let hidden: Box<dyn std::error::Error> = Box::new(late());
        all_say(MAYBE_APPLIED, true, [hidden]);
    }
}
