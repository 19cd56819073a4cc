//! Whether an HTTP request has the same effect when it is sent twice, according to its method and
//! headers.

#[cfg(feature = "http-1")]
pub use headers::*;

/// Whether a request with this method has the same effect when it is sent twice.
pub fn is_idempotent(method: &str) -> bool {
    is_safe(method) || matches!(method, "PUT" | "DELETE")
}

/// Whether a method changes nothing.
pub fn is_safe(method: &str) -> bool {
    matches!(method, "GET" | "HEAD" | "OPTIONS" | "TRACE" | "QUERY")
}

#[cfg(feature = "http-1")]
mod headers {
    use http_1::header::{HeaderMap, IF_MATCH, IF_NONE_MATCH};

    /// The header with a key by which a server recognises a repeated request.
    pub const IDEMPOTENCY_KEY: &str = "idempotency-key";

    /// Whether a request may be sent twice: its method is idempotent, or it carries a key or a
    /// precondition.
    pub fn may_repeat(method: &str, headers: &HeaderMap) -> bool {
        super::is_idempotent(method) || has_key(headers) || has_precondition(headers)
    }

    /// Whether there is a key by which a server can recognise the repeated request.
    pub fn has_key(headers: &HeaderMap) -> bool {
        has_value(headers, IDEMPOTENCY_KEY)
    }

    /// Whether there is a precondition that fails after the write has been applied.
    fn has_precondition(headers: &HeaderMap) -> bool {
        let is_new = headers.get(IF_NONE_MATCH);
        has_etag(headers) || is_new.is_some_and(|value| value.as_bytes().trim_ascii() == b"*")
    }

    /// Whether `If-Match` names an etag. `*` does not count, because it matches the result of the write
    /// too.
    pub fn has_etag(headers: &HeaderMap) -> bool {
        let values = headers.get_all(IF_MATCH);
        let parts = values
            .iter()
            .flat_map(|value| value.as_bytes().split(|c| *c == b','));
        let mut etags = parts
            .map(<[u8]>::trim_ascii)
            .filter(|etag| !etag.is_empty())
            .peekable();
        etags.peek().is_some() && etags.all(|etag| !matches!(etag, b"*" | b"\"\"" | b"\"*\""))
    }

    /// Whether there is a header of this name whose first value is not empty.
    pub fn has_value(headers: &HeaderMap, name: &str) -> bool {
        let value = headers.get(name);
        value.is_some_and(|value| !value.as_bytes().trim_ascii().is_empty())
    }
}
