//! The text of an error and its source.

use super::{ApiError, Cut, Kind, Reply};
use backoff_core::__private::{Loggable, Rounded, is_secret};
use std::{error::Error, fmt};

/// One line of at most 500 characters, [without secrets](backoff_core::telemetry#secrets), because the text comes from a
/// server and is written into logs.
impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Loggable(&self.0).fmt(f)
    }
}

/// The same text in quotes, because `unwrap` and `{:?}` write into logs too. The methods of the error
/// return everything that the text leaves out.
impl fmt::Debug for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ApiError({:?})", self.to_string())
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Reply(reply) => reply.fmt(f),
            Kind::Own(own) => {
                f.write_str(&own.text)?;
                own.cause.iter().try_for_each(|cause| {
                    f.write_str(": ")?;
                    with_causes(f, cause)
                })
            }
            Kind::Other(error) => with_causes(f, &**error),
        }
    }
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HTTP {}", self.status)?;
        if let Some(code) = self.code() {
            write!(f, " {code}")?;
        }
        if let Some(code) = &self.head.service_code {
            let is_secret = is_secret(code);
            write!(f, " {}", if is_secret { "…" } else { code })?;
        }
        if let Some(cut) = &self.cut {
            write!(f, ", but its body was cut: {cut}")?;
        }
        if !self.facts.message.is_empty() {
            let message = &self.facts.message;
            let is_cut = self.cut.is_some() && !message.ends_with('…');
            write!(f, ": {message}{}", if is_cut { "…" } else { "" })?;
        }
        Ok(())
    }
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cut::Lost(error) => with_causes(f, error),
            Cut::Stalled(time) => write!(f, "it did not end within {}", Rounded(*time)),
            Cut::TooLong(limit) => write!(f, "it is longer than {limit} bytes"),
        }
    }
}

/// The source is an error of reqwest without secrets in its URL, or an error of this library. There is no
/// source if the body is not the JSON that was asked for, because the parser's error repeats the server's
/// text.
impl Error for ApiError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &*self.0 {
            Kind::Reply(Reply {
                cut: Some(Cut::Lost(error)),
                ..
            }) => Some(error),
            Kind::Own(own) => own.cause.as_ref().map(|cause| cause as _),
            Kind::Other(error) => Some(&**error),
            _ => None,
        }
    }
}

/// reqwest's error names its cause only in the source, and the cause is the useful part.
fn with_causes(f: &mut fmt::Formatter<'_>, error: &dyn Error) -> fmt::Result {
    write!(f, "{error}")?;
    let mut source = error.source();
    while let Some(cause) = source {
        write!(f, ": {cause}")?;
        source = cause.source();
    }
    Ok(())
}
