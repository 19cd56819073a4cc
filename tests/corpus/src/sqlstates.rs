//! SQLSTATEs, as a database's driver hands them over.

use backoff_core::{Fault as _, FaultKind};
use sqlx_09::error::{DatabaseError, Error, ErrorKind};
use std::{borrow::Cow, error::Error as StdError, fmt};

/// SQLSTATEs and numbers of SQLite, and texts that are nearly such codes.
pub const SAMPLES: &str = include_str!("../samples/sqlstates.txt");

#[derive(Debug)]
struct Refused(String);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the statement was refused")
    }
}

impl StdError for Refused {}

impl DatabaseError for Refused {
    fn message(&self) -> &str {
        "the statement was refused"
    }
    fn code(&self) -> Option<Cow<'_, str>> {
        Some(Cow::Borrowed(&self.0))
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

/// A SQLSTATE and a number of SQLite have a kind, and another text has none.
pub fn check(code: &str) {
    let error = Error::Database(Box::new(Refused(code.to_owned())));
    let is_sqlstate = code.len() == 5 && code.bytes().all(|it| it.is_ascii_alphanumeric());
    let is_number = (1..=4).contains(&code.len()) && code.bytes().all(|it| it.is_ascii_digit());
    let kind = error.kind();
    assert_eq!(kind.is_some(), is_sqlstate || is_number, "{code}");
    // Only classes 08, 25, 40, 53, 55 and 57 have states that another attempt can pass.
    let may_pass = ["08", "25", "40", "53", "55", "57"]
        .iter()
        .any(|it| code.starts_with(it));
    if is_sqlstate && !may_pass {
        assert_eq!(kind, Some(FaultKind::Permanent), "{code}");
    }
    let _ = (error.delivery(), error.must_reconnect());
}

#[test]
fn every_sample() {
    SAMPLES.lines().for_each(check);
}
