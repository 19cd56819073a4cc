//! `Fault` for `redis::RedisError`, version 1.

use super::sources::is_own_configuration;
use crate::{
    call::{settings::values::Conflict, signal::Stopped},
    facts::{
        fault::{Delivery, Fault, FaultKind, TimedOut, made_late, message},
        not_opened::NotOpened,
    },
};
use redis::{ErrorKind, RedisError, ServerError, ServerErrorKind};
use redis_1 as redis;
use std::{error::Error, io, sync::Arc};

/// A server that is up sends these replies if it cannot serve a command now. The server did not begin
/// the command.
///
/// | reply | meaning | another connection |
/// |---|---|---|
/// | `LOADING` | the server reads its data from disk or from its primary | |
/// | `BUSY` | the server runs a script | |
/// | `NOREPLICAS` | the server has too few replicas to accept a write | |
/// | `CLUSTERDOWN` | the cluster has no owner for the key | |
/// | `TRYAGAIN` | the keys are being moved | |
/// | `READONLY` | the server is a replica now | yes |
/// | `MASTERDOWN` | the server is a replica without its primary | yes |
/// | `UNBLOCKED`, by force | the server has become a replica | yes |
/// | `ERR max number of clients reached` | the server closes the connection | yes |
///
/// A replica answers on a connection that stays open. So if the address stays the same, only a new
/// connection reaches the new primary: `Reconnect` opens one if
/// [`must_reconnect`](Fault::must_reconnect) is `true`.
///
/// A failure of the connection: not sent if the connection was refused, otherwise perhaps applied. A
/// server that hangs is reported as a timeout. Its connection is opened again too, since the server may
/// have been replaced meanwhile.
///
/// If the server discarded a transaction (`EXECABORT`), the replies to its commands decide. In a
/// pipeline that is not a transaction, some commands were applied, so a reply from the table means
/// "perhaps applied" there.
///
/// All other errors are permanent: `NOAUTH`, `WRONGTYPE`, `OOM` (waiting frees no memory), a reply of
/// an unexpected type, a server whose certificate is not trusted (rustls, OpenSSL), and the redirections
/// of a cluster, which the cluster client follows. `EXEC` of a watched transaction answers a conflict with
/// an empty value, which is not an error: see
/// [`Retrying::conflict_if`](crate::Retrying::conflict_if).
///
/// The replies come from <https://redis.io/docs/latest/develop/reference/protocol-spec/> and from the
/// server's source, measured with redis 7.0.
impl Fault for RedisError {
    /// A [`NotOpened`] if no connection was opened; a [`Stopped`] if a signal cut the attempt.
    fn inner(&self) -> Option<&dyn Fault> {
        let inside = io_error(self)?.get_ref()?;
        if let Some(stopped) = inside.downcast_ref::<Stopped>() {
            return Some(stopped);
        }
        let not_opened: &NotOpened<RedisError> = inside.downcast_ref()?;
        Some(not_opened)
    }

    /// [`Delivery::NotSent`] also if the server says that it did not begin the command.
    fn delivery(&self) -> Option<Delivery> {
        if let Some(inner) = self.inner() {
            return inner.delivery();
        }
        match self.kind() {
            ErrorKind::Io => broken(self),
            // No server that was asked was the right one for the command.
            ErrorKind::ClusterConnectionNotFound
            | ErrorKind::MasterNameNotFoundBySentinel
            | ErrorKind::NoValidReplicasFoundBySentinel => Some(Delivery::NotSent),
            _ => {
                let refusal = refusal(self)?;
                refusal.nothing_done.then_some(Delivery::NotSent)
            }
        }
    }

    fn must_reconnect(&self) -> bool {
        match refusal(self) {
            Some(refusal) => refusal.must_reconnect,
            None => self.delivery().is_some(),
        }
    }

    fn kind(&self) -> Option<FaultKind> {
        match refusal(self) {
            Some(_) => Some(FaultKind::Transient),
            None => self.delivery().is_none().then_some(FaultKind::Permanent),
        }
    }

    /// Redis' own code, such as `READONLY`.
    fn service_code(&self) -> Option<&str> {
        self.code()
    }

    message!();

    made_late!();
}

/// For attempts that are [cut](crate::Retrying::attempt_timeout): the error of the client's own
/// timeout.
impl From<TimedOut> for RedisError {
    fn from(error: TimedOut) -> Self {
        io::Error::new(io::ErrorKind::TimedOut, error).into()
    }
}

/// For attempts that a signal has [cut](crate::Retrying::cut_on): as an I/O error with the
/// [`Stopped`] inside.
impl From<Stopped> for RedisError {
    fn from(error: Stopped) -> Self {
        io::Error::other(error).into()
    }
}

/// For transactions under `WATCH`: [`Retrying::conflict_if`](crate::Retrying::conflict_if).
impl From<Conflict> for RedisError {
    fn from(_: Conflict) -> Self {
        (ErrorKind::Client, "the watched keys have changed meanwhile").into()
    }
}

/// For failed openings: an I/O error with the [`NotOpened`] inside, of the same kind as the error of
/// opening, or of the kind `NotConnected` if that was not an I/O error. A permanent error stays
/// unchanged.
impl From<NotOpened<RedisError>> for RedisError {
    fn from(not_opened: NotOpened<RedisError>) -> Self {
        if Fault::kind(&not_opened.error) == Some(FaultKind::Permanent) {
            return not_opened.error;
        }
        let kind = io_error(&not_opened.error).map(io::Error::kind);
        io::Error::new(kind.unwrap_or(io::ErrorKind::NotConnected), not_opened).into()
    }
}

/// The delivery of a request whose connection was not made, or broke.
fn broken(error: &RedisError) -> Option<Delivery> {
    let Some(io) = io_error(error) else {
        return error.is_connection_dropped().then_some(Delivery::MaybeSent);
    };
    match io.kind() {
        // A retry does not change the result.
        io::ErrorKind::PermissionDenied | io::ErrorKind::Unsupported => None,
        _ if is_own_configuration(io) => None,
        // Not sent, whatever the inner error is. `NotFound` means that the file of a Unix socket is
        // missing.
        io::ErrorKind::ConnectionRefused
        | io::ErrorKind::NotConnected
        | io::ErrorKind::NotFound => Some(Delivery::NotSent),
        // Timeouts of blocking connections are `WouldBlock`; a host name that was not found has no
        // kind.
        _ => io.delivery().or(Some(Delivery::MaybeSent)),
    }
}

fn io_error(error: &RedisError) -> Option<&io::Error> {
    let source = error.source()?;
    match source.downcast_ref::<Arc<dyn Error + Send + Sync>>() {
        Some(shared) => shared.downcast_ref(),
        None => source.downcast_ref(),
    }
}

/// A reply that says that the command cannot be served now.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Refusal {
    /// Whether another connection may lead to a server that can serve the command.
    must_reconnect: bool,
    nothing_done: bool,
}

fn refusal(error: &RedisError) -> Option<Refusal> {
    if let Some(reply) = error.source().and_then(|source| source.downcast_ref()) {
        return refusal_of(reply);
    }
    let is_reply = matches!(error.kind(), ErrorKind::Server(_) | ErrorKind::Extension);
    if !is_reply {
        return None;
    }
    // The replies to several commands can only be taken out of a copy, whose data is shared.
    let replies = error.clone().into_server_errors()?;
    let discarded = error.kind() == ErrorKind::Server(ServerErrorKind::ExecAbort);
    let mut all = None;
    for (_, reply) in replies.iter() {
        let one = refusal_of(reply)?;
        let must_reconnect =
            one.must_reconnect || all.is_some_and(|all: Refusal| all.must_reconnect);
        all = Some(Refusal {
            must_reconnect,
            nothing_done: discarded,
        });
    }
    all
}

fn refusal_of(reply: &ServerError) -> Option<Refusal> {
    let says = |start| {
        reply
            .details()
            .is_some_and(|detail| detail.starts_with(start))
    };
    let must_reconnect = match reply.code() {
        "LOADING" | "BUSY" | "NOREPLICAS" | "CLUSTERDOWN" | "TRYAGAIN" => false,
        "READONLY" | "MASTERDOWN" => true,
        // Another client sent `CLIENT UNBLOCK` on purpose, so only the forced unblock is retried.
        "UNBLOCKED" if says("force unblock") => true,
        "ERR" if says("max number of clients reached") => true,
        _ => return None,
    };
    Some(Refusal {
        must_reconnect,
        nothing_done: true,
    })
}

#[cfg(test)]
mod tests {
    use super::{super::rows::*, *};
    use io::ErrorKind::*;

    /// The error that a client makes of this reply.
    fn reply(line: &str) -> RedisError {
        redis::parse_redis_value(format!("-{line}\r\n").as_bytes())
            .and_then(redis::Value::extract_error)
            .expect_err("an error")
    }

    fn of(kind: io::ErrorKind) -> RedisError {
        io::Error::from(kind).into()
    }

    #[test]
    fn a_reply_says_whether_the_server_began_and_whether_another_one_can_help() {
        let replies = |lines: &'static str| lines.split('|').map(reply);
        let inside = |lines: &'static str| replies(lines).map(io::Error::other);
        let here = "LOADING Redis is loading the dataset in memory|BUSY Redis is busy running a script.|\
                    NOREPLICAS Not enough good replicas to write.|CLUSTERDOWN Hash slot not served|\
                    TRYAGAIN Multiple keys request during rehashing";
        all_say(NOT_APPLIED, false, replies(here));
        all_say(NOT_APPLIED, false, inside(here));
        let of_other_servers = "READONLY You can't write against a read only replica.|\
                                MASTERDOWN Link with MASTER is down|\
                                UNBLOCKED force unblock from blocking operation|\
                                ERR max number of clients reached";
        all_say(NOT_APPLIED, true, replies(of_other_servers));
        let permanent = "NOAUTH Authentication required.|OOM command not allowed|\
                         WRONGTYPE Operation against a key holding the wrong kind of value|\
                         EXECABORT Transaction discarded because of previous errors.|\
                         UNBLOCKED client unblocked via CLIENT UNBLOCK|ERR unknown command|\
                         MOVED 3999 127.0.0.1:6381|ASK 3999 127.0.0.1:6381|NOSCRIPT No matching script.";
        all_say(PERMANENT, false, replies(permanent));
        all_say(PERMANENT, false, inside(permanent));
    }

    #[test]
    fn a_connection_that_failed_is_opened_anew() {
        all_say(NOT_SENT, true, [ConnectionRefused, NotFound].map(of));
        let broken = [BrokenPipe, ConnectionReset, UnexpectedEof, TimedOut, WouldBlock, Other];
        all_say(MAYBE_SENT, true, broken.map(of));
        let cut = RedisError::from(CUT);
        assert!(cut.is_timeout());
        all_say(MAYBE_SENT, true, [cut]);
    }

    #[test]
    fn what_no_repetition_cures_is_permanent() {
        let no_number = redis::from_redis_value::<u32>(redis::Value::SimpleString("a".into()));
        let no_number = RedisError::from(no_number.expect_err("no number"));
        all_say(PERMANENT, false, [PermissionDenied, Unsupported].map(of));
        let unable = RedisError::from(io::Error::new(InvalidData, untrusted()));
        all_say(PERMANENT, false, [no_number, unable, Stopped::new().into()]);
    }

    #[test]
    fn what_was_not_opened_stays_so_with_its_kind_and_its_pause() {
        let not_opened = |error| RedisError::from(not_opened(error));
        let late = not_opened(of(TimedOut));
        let text = "no connection was opened: timed out"; // as the error of opening says
        assert!(late.is_timeout() && late.to_string() == text, "{late}");
        let refused = not_opened(of(ConnectionRefused));
        assert!(refused.is_connection_refusal());
        all_say(NOT_SENT.after(PAUSE), true, [late, refused]);
        let full = not_opened(reply("ERR max number of clients reached"));
        all_say(NOT_SENT.after(PAUSE), true, [full]);
        let denied = not_opened(reply("NOAUTH Authentication required."));
        assert_eq!(denied.code(), Some("NOAUTH"));
        all_say(PERMANENT, false, [denied]);
    }
}
