//! The text of an error and its source.

use super::{ApiError, Cut, Kind, NotJson, Reply};
use backoff_core::__private::{Loggable, Rounded};
use serde_json::error::Category;
use std::{error::Error, fmt};

/// One line of at most 500 characters, without the passwords and queries of URLs, because the text comes
/// from a server and is written into logs.
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
            Kind::Reply(Reply {
                status,
                code,
                service_code,
                message,
                cut,
                ..
            }) => {
                write!(f, "HTTP {status}")?;
                if let Some(code) = code {
                    write!(f, " {code}")?;
                }
                if let Some(code) = service_code {
                    write!(f, " {code}")?;
                }
                if let Some(cut) = cut {
                    write!(f, ", but its body was cut: {cut}")?;
                }
                if !message.is_empty() {
                    write!(f, ": {message}")?;
                }
                Ok(())
            }
            Kind::Json(not_json) => not_json.fmt(f),
            Kind::TooLong(limit) => write!(
                f,
                "the body of the reply is longer than {limit} bytes, the limit of `http::Limits`; to \
                 read a longer body, pass `http::Limits::new().body(bytes)` to `.limits(..)` of the \
                 request, or call its `json` or `success`"
            ),
            Kind::NoHead(time) => write!(
                f,
                "no reply arrived within {}, the limit of `http::Limits`; to wait longer, pass \
                 `http::Limits::new().head_timeout(time)` to `.limits(..)` of the request",
                Rounded(*time)
            ),
            Kind::Stalled(time) => write!(
                f,
                "the body of the reply stopped: no byte arrived within {}, the limit of \
                 `http::Limits`; to wait longer, pass `http::Limits::new().read_timeout(time)` to \
                 `.limits(..)` of the request, or call its `json` or `success`",
                Rounded(*time)
            ),
            Kind::NotSent(reason) => write!(f, "nothing was sent: {reason}"),
            Kind::Other(error) => with_causes(f, &**error),
        }
    }
}

/// Shows nothing of the body, which may contain a password or a token, because the request was a success.
impl fmt::Display for NotJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NotJson {
            wanted,
            line,
            column,
            bytes,
            ..
        } = self;
        let problem = match self.problem {
            Category::Syntax => "it is not valid JSON",
            Category::Data => "a value has another type, or is missing",
            Category::Eof => "it ends too early",
            Category::Io => "it cannot be read",
        };
        write!(
            f,
            "the reply is not the JSON of a `{wanted}`: {problem}, at line {line}, column {column}; \
             it has {bytes} bytes, and `ApiError::excerpt` shows their beginning"
        )
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
