//! Whether a request may be made twice, by its method and its headers.

use super::outgoing::Built;
use backoff_core::{__private::may_send_twice, Policy};
use reqwest::Request;

/// Which requests may be made twice.
#[derive(Clone, Copy)]
pub(super) enum Rule {
    /// The method and the headers decide.
    ByRequest,
    /// The caller has decided for this request, or it has a key by which the server recognises it.
    Set(bool),
    /// A function of the caller decides.
    By(fn(&Request) -> bool),
}

impl Rule {
    /// The policy for this request.
    pub(super) fn policy(self, policy: Policy, request: &Built) -> Policy {
        let may_be_made_twice = match self {
            Rule::Set(may_be_made_twice) => may_be_made_twice,
            Rule::By(rule) => request.judged(rule),
            Rule::ByRequest => may_send_twice(&policy, request.method(), request.headers()),
        };
        policy.idempotent(may_be_made_twice)
    }
}

/// Whether the query has this parameter with a value.
pub(crate) fn has_parameter(request: &Request, name: &str) -> bool {
    let mut pairs = request.url().query_pairs();
    pairs.any(|(key, value)| key == name && !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        http::IntoOutgoing as _,
        plain_http,
        reply::{headers, provide_tls},
    };
    use reqwest::{Client, Method};

    const POLICY: Policy = Policy::exponential();

    fn request(method: &str, query: &str, header: &[(&'static str, &str)]) -> Built {
        provide_tls();
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let request = Client::new().request(method, format!("http://a.example/{query}"));
        let request = request.headers(headers(header)).into_outgoing();
        *request.built().unwrap()
    }

    #[test]
    fn only_the_methods_of_the_rfc_and_query_are_idempotent() {
        let idempotent = ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE", "QUERY"];
        let others = ["POST", "PATCH", "CONNECT", "get", "PROPFIND", "query"];
        for method in idempotent.iter().chain(&others) {
            let expected = match idempotent.contains(method) {
                true => plain_http::IDEMPOTENT,
                false => plain_http::NOT_IDEMPOTENT,
            };
            assert_eq!(plain_http::for_method(method), expected, "{method}");
            for policy in [plain_http::BY_METHOD, plain_http::IDEMPOTENT] {
                let decided = Rule::ByRequest.policy(policy, &request(method, "", &[]));
                assert_eq!(decided, expected, "{method}");
            }
        }
    }

    /// A row: a header, and whether it makes a `POST` and a `PATCH` idempotent. A precondition that still
    /// holds after the write was applied protects nothing. `storage::is_idempotent` judges Google's own
    /// preconditions, because not every operation obeys each of them.
    #[test]
    fn a_key_or_a_precondition_makes_a_request_idempotent() {
        let date = "Sat, 21 Nov 2026 00:00:00 GMT";
        for (name, is_idempotent, values) in [
            ("idempotency-key", true, &["1"][..]),
            ("if-match", true, &["\"e\"", "CAE=", "\"e\", \"f\""]),
            ("if-none-match", true, &["*"]),
            ("idempotency-key", false, &["", " "]),
            ("if-match", false, &["", "*", " * ", ", "]),
            ("if-match", false, &["\"e\", *", "\"\""]),
            ("if-none-match", false, &["", "\"e\""]),
            ("if-unmodified-since", false, &[date]),
            ("if-modified-since", false, &[date]),
            ("x-goog-if-generation-match", false, &["1"]),
            ("x-goog-if-metageneration-match", false, &["1"]),
        ] {
            for (value, method) in values.iter().flat_map(|it| [(it, "POST"), (it, "PATCH")]) {
                let policy = Rule::ByRequest.policy(POLICY, &request(method, "", &[(name, value)]));
                assert_eq!(policy == POLICY, is_idempotent, "{method} {name}: {value}");
            }
        }
        for query in ["", "?ifGenerationMatch=0", "?ifMetagenerationMatch=7"] {
            let policy = Rule::ByRequest.policy(POLICY, &request("POST", query, &[]));
            assert_eq!(policy, POLICY.idempotent(false), "{query}");
        }
    }

    /// A row: the rule, the method, and whether the request may be made twice by a policy, and by one that
    /// is careful.
    #[test]
    fn the_callers_word_counts_before_everything() {
        let reads = |request: &Request| request.method() == Method::GET;
        let none = &[][..];
        let key = &[("idempotency-key", "1")];
        for (rule, method, header, may_be, may_be_careful) in [
            (Rule::ByRequest, "GET", none, true, true),
            (Rule::ByRequest, "HEAD", none, true, true),
            (Rule::ByRequest, "PUT", none, true, false),
            (Rule::ByRequest, "DELETE", none, true, false),
            (Rule::ByRequest, "POST", key, true, false),
            (Rule::Set(true), "POST", none, true, true),
            (Rule::Set(false), "GET", none, false, false),
            (Rule::By(reads), "GET", none, true, true),
            (Rule::By(reads), "POST", none, false, false),
        ] {
            let request = request(method, "", header);
            let careful = POLICY.idempotent(false);
            let policies = [POLICY, POLICY.idempotent_by_method(), careful];
            let may = policies.map(|policy| rule.policy(policy, &request) == POLICY);
            assert_eq!(may, [may_be, may_be, may_be_careful], "{method} {header:?}");
        }
    }
}
