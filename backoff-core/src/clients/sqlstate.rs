//! The meaning of a SQLSTATE, for all clients of Postgres. The table with the reasons is `sqlstate.md`,
//! which is part of the clients' pages.

use crate::facts::fault::{Delivery, FaultKind};

/// The meaning of the server's error for a statement, or for a connection that the server refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) kind: FaultKind,
    pub(crate) delivery: Option<Delivery>,
    /// Whether another connection is needed: this one is closed, or leads to the wrong server.
    pub(crate) elsewhere: bool,
}

/// The severity of the server's error. Only some clients show it.
#[cfg(any(feature = "tokio-postgres-07", test))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Severity {
    /// The statement has failed, and the session goes on.
    Error,
    /// The session has ended: `FATAL` and `PANIC`.
    Fatal,
}

#[cfg(any(feature = "tokio-postgres-07", test))]
impl State {
    /// The state of a code if the severity is known too.
    pub(crate) fn of(code: &str, severity: Option<Severity>) -> Option<Self> {
        let state = state(code)?;
        Some(match severity {
            // A server sends this code if the program sent an invalid message. A pooler ends the
            // session.
            Some(Severity::Error) if code == "08P01" => permanent(false),
            Some(Severity::Fatal) => State {
                elsewhere: true,
                ..state
            },
            _ => state,
        })
    }
}

/// `None` for a code that is not a SQLSTATE, such as a number of SQLite.
pub(crate) fn state(code: &str) -> Option<State> {
    let is_sqlstate = code.len() == 5 && code.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_sqlstate.then(|| state_of(code))
}

fn state_of(code: &str) -> State {
    let not_applied = |kind, elsewhere| State {
        kind,
        delivery: Some(Delivery::NotSent),
        elsewhere,
    };
    let maybe_applied = |elsewhere| State {
        kind: FaultKind::Transient,
        delivery: Some(Delivery::MaybeSent),
        elsewhere,
    };
    match code {
        "40001" | "40P01" => not_applied(FaultKind::Conflict, false),
        "53300" => not_applied(FaultKind::Throttled, true),
        "53000" | "53100" | "53200" | "55P03" => not_applied(FaultKind::Transient, false),
        "08001" | "08004" | "25006" | "57P03" | "57P05" => not_applied(FaultKind::Transient, true),
        "40003" => maybe_applied(false),
        "57P01" | "57P02" => maybe_applied(true),
        _ if code.starts_with("08") => maybe_applied(true),
        _ => permanent(matches!(code, "25P03" | "25P04")),
    }
}

fn permanent(elsewhere: bool) -> State {
    State {
        kind: FaultKind::Permanent,
        delivery: None,
        elsewhere,
    }
}

#[cfg(test)]
mod tests {
    use super::{super::rows::*, *};
    use crate::{facts::fault::Fault, test_error::TestError};

    impl Fault for State {
        fn kind(&self) -> Option<FaultKind> {
            Some(self.kind)
        }
        fn delivery(&self) -> Option<Delivery> {
            self.delivery
        }
        fn must_reconnect(&self) -> bool {
            self.elsewhere
        }
    }

    /// What these states say, separated by blanks.
    #[track_caller]
    fn states(codes: &str, said: TestError, elsewhere: bool) {
        let states = codes.split(' ').map(|code| state(code).expect("a state"));
        all_say(said, elsewhere, states);
    }

    #[test]
    fn a_state_says_whether_the_statement_was_applied() {
        let conflict = TestError::CONFLICT.and_delivery(Delivery::NotSent);
        states("40001 40P01", conflict, false);
        states("53000 53100 53200 55P03", NOT_APPLIED, false);
        states("08001 08004 25006 57P03 57P05", NOT_APPLIED, true);
        let full = NOT_APPLIED.and_kind(FaultKind::Throttled);
        states("53300", full, true);
        let lost = "08000 08003 08006 08007 08P01 57P01 57P02";
        states(lost, MAYBE_APPLIED, true);
        states("40003", MAYBE_APPLIED, false);
        let permanent = "22012 23505 25P02 28P01 3D000 40002 42601 53400 57014 57P04 XX000";
        states(permanent, PERMANENT, false);
        states("25P03", PERMANENT, true);
        for code in ["", "5", "2067", "40001 ", "4000é"] {
            assert_eq!(state(code), None, "{code}");
        }
    }

    #[test]
    fn a_session_that_has_ended_is_left_and_an_error_in_the_protocol_is_permanent() {
        let of = |code, severity| State::of(code, severity).unwrap();
        let (error, fatal) = (Some(Severity::Error), Some(Severity::Fatal));
        for code in ["40001", "42601", "57014"] {
            assert_eq!(of(code, error), of(code, None), "{code}");
            assert!(!of(code, None).elsewhere && of(code, fatal).elsewhere);
            assert_eq!(of(code, fatal).kind, of(code, None).kind, "{code}");
        }
        all_say(PERMANENT, false, [of("08P01", error)]);
        let fatal = [of("08P01", None), of("08P01", fatal)];
        all_say(MAYBE_APPLIED, true, fatal);
    }
}
