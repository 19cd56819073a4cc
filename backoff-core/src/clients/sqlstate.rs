//! The meaning of a SQLSTATE, for all clients of databases, and of the numbers of MySQL and SQLite. The table with the
//! reasons is `sqlstate.md`, which is part of the clients' pages; the tables of the numbers are on the pages of the
//! presets `mysql` and `sqlite`.

use crate::facts::fault::{Delivery, FaultKind};

/// The meaning of the server's error for a statement, or for a connection that the server refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) kind: FaultKind,
    pub(crate) delivery: Option<Delivery>,
    /// Whether another connection is needed: this one is closed, or leads to the wrong server.
    pub(crate) must_reconnect: bool,
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
                must_reconnect: true,
                ..state
            },
            _ => state,
        })
    }
}

/// The state of a SQLSTATE or of an extended code of SQLite, which has at most four digits; `None` for any other code.
pub(crate) fn state(code: &str) -> Option<State> {
    if code.len() == 5 && code.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Some(state_of(code));
    }
    let is_number = code.len() <= 4 && code.bytes().all(|byte| byte.is_ascii_digit());
    let number: u16 = is_number.then(|| code.parse().ok())??;
    // The lowest byte is the primary code: `SQLITE_BUSY`, `SQLITE_LOCKED`.
    Some(match number & 0xff {
        5 | 6 => not_applied(FaultKind::Conflict, false),
        _ => permanent(false),
    })
}

/// The state of an error of MySQL, where its number says more than its SQLSTATE. Some numbers have several meanings,
/// which only the text of the message tells apart.
#[cfg(any(feature = "sqlx-08-mysql", feature = "sqlx-09-mysql", test))]
pub(crate) fn state_of_mysql(number: u16, message: &str) -> Option<State> {
    let says = |words: &str| message.contains(words);
    Some(match number {
        1020 | 1205 | 1213 | 1614 | 3101 | 3572 => not_applied(FaultKind::Conflict, false),
        1180 if says("149") => not_applied(FaultKind::Conflict, false),
        1040 | 1203 => not_applied(FaultKind::Throttled, true),
        1226 if says("connections") => not_applied(FaultKind::Throttled, true),
        1836 | 3032 | 3168 => not_applied(FaultKind::Transient, true),
        1047 if says("WSREP") => not_applied(FaultKind::Transient, true),
        1290 if says("read-only") || says("read_only") => not_applied(FaultKind::Transient, true),
        1053 | 1927 | 2006 | 2013 | 3169 | 4031 => maybe_applied(true),
        _ => return None,
    })
}

fn not_applied(kind: FaultKind, must_reconnect: bool) -> State {
    State {
        kind,
        delivery: Some(Delivery::NotSent),
        must_reconnect,
    }
}

fn maybe_applied(must_reconnect: bool) -> State {
    State {
        kind: FaultKind::Transient,
        delivery: Some(Delivery::MaybeSent),
        must_reconnect,
    }
}

fn state_of(code: &str) -> State {
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

fn permanent(must_reconnect: bool) -> State {
    State {
        kind: FaultKind::Permanent,
        delivery: None,
        must_reconnect,
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
            self.must_reconnect
        }
    }

    /// Checks that these codes, separated by blanks, have the same facts.
    #[track_caller]
    fn states(codes: &str, said: TestError, must_reconnect: bool) {
        let states = codes.split(' ').map(|code| state(code).expect("a state"));
        all_say(said, must_reconnect, states);
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
        states("5 6 261 262 517 773", conflict, false);
        states("1 11 19 1555 2067 8714", PERMANENT, false);
        for code in ["", "-5", "+5", "000005", "40001 ", "4000é", "123456"] {
            assert_eq!(state(code), None, "{code}");
        }
    }

    #[test]
    fn a_number_of_mysql_says_it_together_with_its_text() {
        let conflict = TestError::CONFLICT.and_delivery(Delivery::NotSent);
        let full = NOT_APPLIED.and_kind(FaultKind::Throttled);
        let rows = r#"
            conflict      | 1020 1205 1213 1614 3101 3572 |
            conflict      | 1180 | Got error 149 "Lock deadlock; Retry transaction" during COMMIT
            full          | 1040 1203 |
            full          | 1226 | User 'a' has exceeded the 'max_user_connections' resource (current value: 5)
            not applied   | 1836 3032 3168 |
            not applied   | 1047 | WSREP has not yet prepared node for application use
            not applied   | 1290 | The MariaDB server is running with the --read-only option so it cannot
            not applied   | 1290 | The MySQL server is running with the --super_read_only option so it cannot
            maybe applied | 1053 1927 2006 2013 3169 4031 |
            nothing       | 1062 |
            nothing       | 1290 | The MySQL server is running with the --secure-file-priv option so it cannot
            nothing       | 1180 | Got error 28 "No space left on device" during COMMIT
            nothing       | 1226 | User 'a' has exceeded the 'max_questions' resource (current value: 5)
            nothing       | 1047 | Unknown command
        "#;
        for row in rows.lines().filter(|row| !row.trim().is_empty()) {
            let (said, reply) = row.split_once('|').expect(row);
            let (numbers, message) = reply.split_once('|').expect(row);
            let numbers = numbers.split_whitespace().map(|it| it.parse().expect(row));
            let states = numbers.map(|number| state_of_mysql(number, message));
            let said = match said.trim() {
                "conflict" => conflict,
                "full" => full,
                "not applied" => NOT_APPLIED,
                "maybe applied" => MAYBE_APPLIED,
                _ => {
                    assert!(states.into_iter().all(|state| state.is_none()), "{row}");
                    continue;
                }
            };
            let states = states.map(|state| state.expect(row));
            all_say(said, said != conflict, states);
        }
    }

    #[test]
    fn a_session_that_has_ended_is_left_and_an_error_in_the_protocol_is_permanent() {
        let of = |code, severity| State::of(code, severity).unwrap();
        let (error, fatal) = (Some(Severity::Error), Some(Severity::Fatal));
        for code in ["40001", "42601", "57014"] {
            assert_eq!(of(code, error), of(code, None), "{code}");
            assert!(!of(code, None).must_reconnect && of(code, fatal).must_reconnect);
            assert_eq!(of(code, fatal).kind, of(code, None).kind, "{code}");
        }
        all_say(PERMANENT, false, [of("08P01", error)]);
        let fatal = [of("08P01", None), of("08P01", fatal)];
        all_say(MAYBE_APPLIED, true, fatal);
    }
}
