//! SQLSTATEs, as a database's driver hands them over.

use crate::samples::texts;
use backoff_core::{Fault as _, FaultKind};
use sqlx_core::error::{DatabaseError, Error, ErrorKind};
use std::{borrow::Cow, error::Error as StdError, fmt};

const CORPUS: &str = include_str!("../corpus/sqlstates.txt");

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

#[test]
fn a_sqlstate_and_a_number_of_sqlite_have_a_kind_and_another_text_has_none() {
    bolero::check!()
        .with_generator(texts(CORPUS))
        .for_each(|code: &String| {
            let error = Error::Database(Box::new(Refused(code.clone())));
            let is_sqlstate = code.len() == 5 && code.bytes().all(|it| it.is_ascii_alphanumeric());
            let is_number =
                (1..=4).contains(&code.len()) && code.bytes().all(|it| it.is_ascii_digit());
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
        });
}
