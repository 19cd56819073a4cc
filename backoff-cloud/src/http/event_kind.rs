//! What an event of an LLM's stream means: an error, or the end. Gateways translate the streams of one service into
//! those of another, and some forward parts unchanged, so one function serves them all.

use super::body::{BodyFacts, object, parsed};
use super::{ApiError, StreamEvent};
use crate::services::LLM_RETRIED;
use backoff_core::{FaultKind, Policy, Verdict};
use reqwest::header::HeaderMap;

/// The kind of an error inside a stream, or `None` if the event is no error. The same function is in
/// [`openai`](crate::openai) and in [`anthropic`](crate::anthropic), because gateways mix their events. After the status
/// 200 a service has no other way to say that it failed. [`StreamEvent::to_error`] makes an
/// [`ApiError`] of the event.
///
/// An event is an error if it has the name or the type `error`, or the type `response.failed`, or if its JSON has an
/// `error`, or a `response` with an `error`. An `error` that is empty, or whose code is empty or 0, is none.
///
/// The first `code` or `type` of the error that is known decides; a used-up quota counts more than a 429 beside it. The
/// kind is the one that [`openai::REQUEST`](crate::openai::REQUEST) finds if the same error is in the JSON of a 200, so
/// the names and numbers of gRPC are known, too: `UNAVAILABLE` is 14.
///
/// | `code` or `type` of the error | kind |
/// |---|---|
/// | of a limit, such as `rate_limit_error`; 429 | [`Throttled`](FaultKind::Throttled) |
/// | of a failure of the server, such as `overloaded_error`; 408, 409, 500 to 599; no code | [`Transient`](FaultKind::Transient) |
/// | of a used-up quota ([`openai::kind`](crate::openai::kind)), and every other code | [`Permanent`](FaultKind::Permanent) |
///
/// Gateways spell these codes in other ways, such as `RateLimitError`, and forward those of
/// [`aws::kind`](crate::aws::kind) and [`azure::kind`](crate::azure::kind). They are known, too.
///
/// ```
/// use backoff_cloud::{FaultKind, anthropic, http::StreamEvent, openai};
///
/// let data = r#"{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}"#;
/// let event = StreamEvent::new("error", data);
/// assert_eq!(anthropic::event_kind(&event), Some(FaultKind::Transient));
/// // The error chunk of a gateway.
/// let data = r#"{"error": {"code": 429, "message": "slower"}, "choices": []}"#;
/// assert_eq!(openai::event_kind(&StreamEvent::new("message", data)), Some(FaultKind::Throttled));
/// let delta = r#"{"type": "response.output_text.delta", "delta": "four"}"#;
/// assert_eq!(openai::event_kind(&StreamEvent::new("message", delta)), None);
/// ```
///
/// Sources: the types of the events and of the errors in OpenAI's client for Python
/// (<https://github.com/openai/openai-python/blob/main/src/openai/types/responses/response_error.py> and the files beside
/// it); "Streaming messages" of Anthropic (<https://platform.claude.com/docs/en/build-with-claude/streaming>);
/// "Streaming" of OpenRouter (<https://openrouter.ai/docs/api-reference/streaming>) for the chunk of a gateway.
pub fn event_kind(event: &StreamEvent) -> Option<FaultKind> {
    // The codes are enough.
    let facts = event.facts(0);
    // As the same error in a 200. Without any code it is transient.
    let is_named = facts.names_code || facts.llm_kind.is_some();
    let status = if is_named { 200 } else { 500 };
    facts.says_error.then(|| {
        let error = ApiError::in_success(status, &HeaderMap::new(), facts);
        match Policy::exponential().on(LLM_RETRIED).judge(&error) {
            Verdict::Retry {
                kind: FaultKind::Throttled,
                ..
            } => FaultKind::Throttled,
            // A conflict too: the next answer may be whole.
            Verdict::Retry { .. } => FaultKind::Transient,
            _ => FaultKind::Permanent,
        }
    })
}

/// Whether the event is the last one of a stream that is complete: `[DONE]` of OpenAI's chat completions and of most
/// gateways; `response.completed`, `response.failed` and `response.incomplete` of OpenAI's responses; `message_stop` of
/// Anthropic. A `[DONE]` that is cut counts, too. The same function is in [`openai`](crate::openai) and in
/// [`anthropic`](crate::anthropic).
///
/// A server may leave the connection open after it. A stream that ends without it is not complete:
/// [`ApiError::ended_early`]. An [error](event_kind) ends a stream, too.
///
/// ```
/// use backoff_cloud::{anthropic, http::StreamEvent, openai};
///
/// assert!(openai::ends_stream(&StreamEvent::new("message", "[DONE]")));
/// assert!(anthropic::ends_stream(&StreamEvent::new("message_stop", r#"{"type": "message_stop"}"#)));
/// ```
///
/// Sources: those of [`event_kind`].
pub fn ends_stream(event: &StreamEvent) -> bool {
    const LAST: &str = "response.completed response.failed response.incomplete message_stop";
    let kind = object(event.data()).and_then(|all| parsed::<String>(all.kind));
    let is = |last| event.name() == last || kind.as_deref() == Some(last);
    // No JSON begins so. The answer is complete even if the stream ended inside of `[DONE]`.
    event.data().trim_ascii().starts_with("[D") || LAST.split(' ').any(is)
}

impl StreamEvent {
    /// The error that the event states, of this kind, for a stream whose service failed after its status 200.
    ///
    /// Message and code are those of the field `error` of the JSON, or of the `error` of its `response`, or else of the
    /// JSON itself. The status is the one that a reply would have had: the number in `code`, or else 429, 500 or 400, as
    /// the kind is throttled, transient or another. The kind decides about a retry, whatever the policy says about this
    /// status. The request has been accepted, so [`Delivery::MaybeSent`](crate::Delivery::MaybeSent).
    ///
    /// ```
    /// use backoff_cloud::{Verdict, anthropic, http::StreamEvent};
    ///
    /// let data = r#"{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}"#;
    /// let event = StreamEvent::new("error", data);
    /// let error = anthropic::event_kind(&event).map(|kind| event.to_error(kind)).expect("an error");
    /// assert_eq!(error.to_string(), "HTTP 500 overloaded_error: Overloaded");
    /// assert!(matches!(anthropic::REQUEST.judge(&error), Verdict::Retry { .. }));
    /// ```
    pub fn to_error(&self, kind: FaultKind) -> ApiError {
        ApiError::in_stream(self.facts(usize::MAX), kind)
    }

    fn facts(&self, longest: usize) -> BodyFacts {
        BodyFacts::read_within(self.data().as_bytes(), longest, self.name() == "error")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reply::cells;
    use backoff_core::{Delivery, Fault as _};

    /// Rows: the kind, the text of the error, and the data of the event. The code is more exact than the type.
    const ERRORS: &str = r#"
        OpenAI's responses
        Transient | HTTP 500 server_error: busy | {"type": "error", "code": "server_error", "message": "busy", "param": null}
        Transient | HTTP 500: wrong | {"type": "error", "code": null, "message": "wrong", "param": null}
        Permanent | HTTP 400 context_length_exceeded: long | {"type": "error", "error": {"type": "invalid_request_error", "code": "context_length_exceeded", "message": "long"}}
        Throttled | HTTP 429 rate_limit_exceeded: slower | {"type": "response.failed", "response": {"id": "r", "error": {"code": "rate_limit_exceeded", "message": "slower"}}}
        Transient | HTTP 500 vector_store_timeout | {"type": "response.failed", "response": {"error": {"code": "vector_store_timeout"}}}
        Permanent | HTTP 400 invalid_prompt: no | {"type": "response.failed", "response": {"error": {"code": "invalid_prompt", "message": "no"}}}
        Transient | HTTP 500: {"type":"response.failed","response":{"error":null}} | {"type":"response.failed","response":{"error":null}}
        Chat completions
        Permanent | HTTP 400 insufficient_quota: money | {"error": {"type": "insufficient_quota", "code": "insufficient_quota", "message": "money"}}
        Permanent | HTTP 400 credit_balance_exhausted | {"error": {"type": "insufficient_quota", "code": "credit_balance_exhausted"}}
        Throttled | HTTP 429 rate_limit_exceeded | {"error": {"type": "tokens", "code": "rate_limit_exceeded"}}
        Transient | HTTP 500 internal_error | {"error": {"type": "server_error", "code": "internal_error"}}
        Anthropic
        Transient | HTTP 500 overloaded_error: Overloaded | {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
        Throttled | HTTP 429 rate_limit_error | {"type": "error", "error": {"type": "rate_limit_error"}}
        Permanent | HTTP 400 billing_error | {"type": "error", "error": {"type": "billing_error"}}
        Gateways
        Transient | HTTP 502: lost | {"error": {"code": 502, "message": "lost"}, "choices": [{"finish_reason": "error"}]}
        Permanent | HTTP 429 insufficient_quota | {"error": {"code": 429, "type": "insufficient_quota"}}
        Throttled | HTTP 429 rate_limited: slower | {"object": "error", "type": "rate_limited", "code": null, "message": "slower"}
        Permanent | HTTP 400 weird | {"error": {"code": "weird"}, "id": 1}
        Throttled | HTTP 429 None | {"error": {"code": "429", "type": "None"}}
        Permanent | HTTP 402 api_error: money | {"error": {"code": 402, "type": "api_error", "message": "money"}}
        Throttled | HTTP 429 ThrottlingException | {"error": {"type": "ThrottlingException"}}
        Transient | HTTP 500 server_is_overloaded | {"error": {"type": "None", "code": "server_is_overloaded"}}
        Transient | HTTP 500: {"error":"the model has gone"} | {"error":"the model has gone"}
        Permanent | HTTP 400 insufficient_quota: m | {"code": "insufficient_quota", "error": {"message": "m"}}
        Google
        Transient | HTTP 500 UNAVAILABLE: busy | {"error": {"status": "UNAVAILABLE", "message": "busy"}}
        Transient | HTTP 503 UNAVAILABLE: busy | [{"error": {"code": 503, "status": "UNAVAILABLE", "message": "busy"}}]
        Transient | HTTP 500: busy | {"error": {"code": 14, "message": "busy"}}
        Throttled | HTTP 429 RESOURCE_EXHAUSTED | {"error": {"status": "RESOURCE_EXHAUSTED"}}
        Permanent | HTTP 400 NOT_FOUND | {"error": {"status": "NOT_FOUND"}}
        Transient | HTTP 500 ABORTED | {"error": {"status": "ABORTED"}}
        Transient | HTTP 409: m | {"error": {"code": 409, "message": "m"}}
    "#;

    #[test]
    fn an_error_in_a_stream_has_the_kind_of_its_code() {
        let rows: Vec<_> = ERRORS.lines().filter(|row| row.contains('|')).collect();
        for [said, text, data] in cells(&rows.join("\n")) {
            let kind = match said {
                "Transient" => FaultKind::Transient,
                "Throttled" => FaultKind::Throttled,
                _ => FaultKind::Permanent,
            };
            // Some servers send the name, and some do not.
            for name in ["message", "error"] {
                let event = StreamEvent::new(name, data);
                assert_eq!(event_kind(&event), Some(kind), "{data}");
                let error = event.to_error(kind);
                assert_eq!(error.to_string(), text);
                let facts = (error.kind(), error.delivery());
                assert_eq!(facts, (Some(kind), Some(Delivery::MaybeSent)), "{data}");
            }
        }
        let named = StreamEvent::new("error", "overloaded");
        assert_eq!(event_kind(&named), Some(FaultKind::Transient));
        let error = named.to_error(FaultKind::Throttled);
        assert_eq!(error.to_string(), "HTTP 429: overloaded");
        for (data, kind) in [
            (r#"{"code": 429}"#, FaultKind::Throttled),
            (r#"{"type": "invalid_request_error"}"#, FaultKind::Permanent),
        ] {
            let event = StreamEvent::new("error", data);
            assert_eq!(event_kind(&event), Some(kind), "{data}");
        }
        // A long response beside the error hides neither its code nor its message.
        let long = "x".repeat(100_000);
        let failed = format!(
            r#"{{"type": "response.failed", "response": {{"text": "{long}", "error": {{"code": "server_error", "message": "busy"}}}}}}"#
        );
        let error = StreamEvent::new("message", failed).to_error(FaultKind::Transient);
        assert_eq!(error.to_string(), "HTTP 500 server_error: busy");
    }

    /// Rows: whether the stream ends, the name of the event, and its data.
    #[test]
    fn other_events_are_no_errors() {
        let rows = r#"
            true  | message            | [DONE]
            true  | message            | [D
            true  | message_stop       | {"type": "message_stop"}
            true  | message            | {"type": "message_stop"}
            true  | response.completed | {"type": "response.completed", "response": {"error": null}}
            true  | message            | {"response": {"error": null}, "type": "response.incomplete"}
            false | message            | {"choices": [{"delta": {"content": "error"}}], "error": null}
            false | message            | {"choices": [{"delta": {"content": "[DONE]"}}]}
            false | message_delta      | {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}
            false | response.created   | {"type": "response.created", "response": {"error": null}}
            false | ping               | {"type": "ping"}
            false | message            | {"choices": [], "error": ""}
            false | message            | {"choices": [], "error": {"code": 0, "type": "", "message": ""}}
            false | message            | {"choices": [{}], "error": {"code": 0, "message": "success"}}
            false | message            | {"choices": [{}], "error": {"code": "", "message": "success"}}
            false | message            | {"choices": [], "error": {}}
            false | message            | {"choices": [], "error": []}
            false | message            | ["error"]
            false | message            | "error"
        "#;
        let spaced = [["true", "message", " [DONE]"], ["false", "message", ""]];
        for [ends, name, data] in cells(rows).chain(spaced) {
            let event = StreamEvent::new(name, data);
            let said = (ends_stream(&event).to_string(), event_kind(&event));
            assert_eq!(said, (ends.to_owned(), None), "{data}");
        }
        let failed =
            r#"{"type": "response.failed", "response": {"error": {"code": "server_error"}}}"#;
        assert!(ends_stream(&StreamEvent::new("message", failed)));
    }
}
