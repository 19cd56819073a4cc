//! `Fault` for `reqwest_middleware::Error`, version 0.5, and the conversion of a cut attempt to such an error.

use crate::{
    call::signal::Stopped,
    facts::fault::{Fault, TimedOut, made_late, message},
};
use reqwest_middleware_05::Error;

/// `Error::Reqwest` says what the error of reqwest says. The facts of `Error::Middleware` are those of its
/// `anyhow::Error`, and so of a known error in it. If it has none, nothing is known about the error, and a policy treats
/// it as permanent.
impl Fault for Error {
    fn inner(&self) -> Option<&dyn Fault> {
        Some(match self {
            Error::Reqwest(error) => error,
            Error::Middleware(error) => error,
        })
    }

    message!();

    made_late!();
}

/// For attempts that are [cut](crate::Retrying::attempt_timeout): `Middleware`, with the [`TimedOut`] in it.
impl From<TimedOut> for Error {
    fn from(error: TimedOut) -> Self {
        Error::middleware(error)
    }
}

/// For attempts that a signal has [cut](crate::Retrying::cut_on): `Middleware`, with the [`Stopped`] in it.
impl From<Stopped> for Error {
    fn from(error: Stopped) -> Self {
        Error::middleware(error)
    }
}

#[cfg(test)]
mod tests {
    use super::{super::rows::*, *};
    use anyhow_1::anyhow;

    #[test]
    fn an_error_of_a_middleware_says_what_is_known_in_it() {
        all_say(MAYBE_SENT, true, [Error::from(CUT), Error::middleware(CUT)]);
        let around = anyhow!(refused()).context("around");
        all_say(NOT_SENT, true, [Error::middleware(refused()), around.into()]);
        all_say(UNKNOWN, false, [Error::from(anyhow!("plain"))]);
        all_say(PERMANENT, false, [Error::from(Stopped)]);
    }
}
