//! The errors that this library finds: no reply in time, a reply that cannot be read, a request that was refused.

use super::body::excerpt;
use backoff_core::{__private::Rounded, Delivery, FaultKind};
use serde_json::error::Category;
use std::time::Duration;

/// An error that the server has not sent.
pub(super) struct Own {
    pub(super) text: String,
    /// `None` if the server has answered completely.
    pub(super) delivery: Option<Delivery>,
    /// For a body that is not the JSON that was asked for: the beginnings of the parser's message, which repeats
    /// whole texts of the server, and of the body.
    pub(super) excerpt: Option<String>,
    /// Why a body ended early.
    pub(super) cause: Option<reqwest::Error>,
}

impl Own {
    /// Another attempt helps only if the reply was lost, or a part of it.
    pub(super) fn kind(&self) -> Option<FaultKind> {
        let is_lost = self.delivery == Some(Delivery::MaybeSent);
        (!is_lost).then_some(FaultKind::Permanent)
    }

    fn new(text: String, delivery: Option<Delivery>) -> Self {
        Own {
            text,
            delivery,
            excerpt: None,
            cause: None,
        }
    }

    /// A part of a success that is longer than `limit`.
    pub(super) fn too_long(what: &str, limit: usize) -> Self {
        let text = format!(
            "{what} is longer than {limit} bytes, the limit of `http::Limits`; to read a longer one, \
             pass `http::Limits::new().body(bytes)` to `.limits(..)` of the request, or call its \
             `json`, `open` or `success`"
        );
        Own::new(text, None)
    }

    /// A reply whose head did not arrive within this time.
    pub(super) fn no_head(time: Duration) -> Self {
        let text = format!(
            "no reply arrived within {}, the limit of `http::Limits`; to wait longer, pass \
             `http::Limits::new().head_timeout(time)` to `.limits(..)` of the request",
            Rounded(time)
        );
        Own::new(text, Some(Delivery::MaybeSent))
    }

    /// A success whose body paused for longer than this time.
    pub(super) fn stalled(time: Duration) -> Self {
        let text = format!(
            "the body of the reply stopped: no byte arrived within {}, the limit of \
             `http::Limits`; to wait longer, pass `http::Limits::new().read_timeout(time)` to \
             `.limits(..)` of the request, or call its `json`, `open` or `success`",
            Rounded(time)
        );
        Own::new(text, Some(Delivery::MaybeSent))
    }

    /// A success whose body ended before all of it had arrived. The client knows the cause, unless the caller misses
    /// something. The text of the client alone calls this "decoding".
    pub(super) fn ended_early(cause: Option<reqwest::Error>) -> Self {
        let text = "the body of the reply ended too early".to_owned();
        Own {
            cause,
            ..Own::new(text, Some(Delivery::MaybeSent))
        }
    }

    /// A request that was refused before it was sent, and the reason.
    pub(super) fn not_sent(reason: String) -> Self {
        let text = format!("nothing was sent: {reason}");
        Own::new(text, Some(Delivery::NotSent))
    }

    /// A success whose body is not the JSON that was asked for. A body with the beginning of a JSON text
    /// counts as cut, because HTTP does not always notice when a body ends too early. So does an empty body,
    /// unless HTTP `says_end`, where the body ends.
    ///
    /// The text shows nothing of the body, which may contain a password or a token, because the request was a
    /// success.
    pub(super) fn not_json<T>(error: &serde_json::Error, body: &[u8], says_end: bool) -> Self {
        let problem = match error.classify() {
            Category::Syntax => "it is not valid JSON",
            Category::Data => "a value has another type, or is missing",
            Category::Eof => "it ends too early",
            Category::Io => "it cannot be read",
        };
        let text = format!(
            "the reply is not the JSON of a `{}`: {problem}, at line {}, column {}; it has {} bytes, \
             and `ApiError::excerpt` shows their beginning",
            std::any::type_name::<T>(),
            error.line(),
            error.column(),
            body.len()
        );
        let is_cut = error.is_eof() && !(says_end && body.trim_ascii().is_empty());
        let parser = excerpt(error.to_string().as_bytes());
        Own {
            excerpt: Some(format!("{parser}: {}", excerpt(body))),
            ..Own::new(text, is_cut.then_some(Delivery::MaybeSent))
        }
    }
}
