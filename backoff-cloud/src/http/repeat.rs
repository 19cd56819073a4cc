//! Whether a request may be made twice, by what it says of itself.

use backoff_core::Policy;
use reqwest::{
    Request,
    header::{HeaderMap, IF_MATCH, IF_NONE_MATCH, IF_UNMODIFIED_SINCE},
};

/// The header of a key by which a server knows a request again.
pub(super) const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// Which requests may be made twice.
#[derive(Clone, Copy)]
pub(super) enum Rule {
    /// What the request says of itself.
    ByRequest,
    /// As by request, and the request has a key by which the server knows it again.
    ByKey,
    /// The caller's word for this request.
    Said(bool),
    /// The caller's rule.
    By(fn(&Request) -> bool),
}

impl Rule {
    /// The policy for this request.
    pub(super) fn policy(self, policy: Policy, request: &Request) -> Policy {
        let careful = policy.idempotent(false);
        let is_idempotent = match self {
            Rule::Said(said) => said,
            Rule::By(rule) => rule(request),
            Rule::ByKey => true,
            Rule::ByRequest if policy == careful => request.method().is_safe(),
            Rule::ByRequest => is_idempotent(request),
        };
        if is_idempotent {
            policy.idempotent(true)
        } else {
            careful
        }
    }
}

/// Whether a request may be made twice: its method is idempotent, or it carries a key or a
/// precondition.
pub(super) fn is_idempotent(request: &Request) -> bool {
    request.method().is_idempotent() || has_key(request.headers()) || has_precondition(request)
}

fn has_key(headers: &HeaderMap) -> bool {
    headers.contains_key(IDEMPOTENCY_KEY)
}

fn has_precondition(request: &Request) -> bool {
    let headers = request.headers();
    let standard = [IF_MATCH, IF_NONE_MATCH, IF_UNMODIFIED_SINCE];
    let googles = [
        "x-goog-if-generation-match",
        "x-goog-if-metageneration-match",
    ];
    standard.iter().any(|name| headers.contains_key(name))
        || googles.iter().any(|name| headers.contains_key(*name))
        || has_parameter(request, "ifGenerationMatch")
        || has_parameter(request, "ifMetagenerationMatch")
}

/// Whether the query has this parameter with a value.
pub(crate) fn has_parameter(request: &Request, name: &str) -> bool {
    let mut pairs = request.url().query_pairs();
    pairs.any(|(key, value)| key == name && !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plain_http;
    use reqwest::Method;

    const POLICY: Policy = Policy::exponential();

    fn request(method: &str, url: &str, header: Option<&'static str>) -> Request {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let url = format!("http://a.example/{url}");
        let mut request = Request::new(method, url.parse().unwrap());
        if let Some(name) = header {
            let value = "1".parse().unwrap();
            request.headers_mut().insert(name, value);
        }
        request
    }

    #[test]
    fn the_method_says_it_as_in_plain_http() {
        for method in [
            "GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE", "POST", "PATCH", "CONNECT", "get",
            "PROPFIND",
        ] {
            let said = Rule::ByRequest.policy(plain_http::IDEMPOTENT, &request(method, "", None));
            assert_eq!(said, plain_http::for_method(method), "{method}");
        }
    }

    #[test]
    fn a_key_or_a_precondition_makes_a_post_and_a_patch_idempotent() {
        for name in [
            "idempotency-key",
            "if-match",
            "if-none-match",
            "if-unmodified-since",
            "x-goog-if-generation-match",
            "x-goog-if-metageneration-match",
        ] {
            for method in ["POST", "PATCH"] {
                assert!(is_idempotent(&request(method, "", Some(name))), "{name}");
            }
        }
        for query in ["?ifGenerationMatch=0", "?a=1&ifMetagenerationMatch=7"] {
            assert!(is_idempotent(&request("POST", query, None)), "{query}");
        }
        for query in [
            "",
            "?ifGenerationMatch=",
            "?ifGenerationNotMatch=1",
            "?x=ifGenerationMatch",
        ] {
            assert!(!is_idempotent(&request("POST", query, None)), "{query}");
        }
        assert!(!is_idempotent(&request(
            "POST",
            "",
            Some("if-modified-since")
        )));
    }

    #[test]
    fn a_careful_policy_repeats_only_what_reads() {
        let careful = POLICY.idempotent(false);
        let of = |request: Request| Rule::ByRequest.policy(careful, &request) == POLICY;
        assert!(of(request("GET", "", None)) && of(request("HEAD", "", None)));
        assert!(!of(request("PUT", "", None)) && !of(request("DELETE", "", None)));
        assert!(!of(request("POST", "", Some("idempotency-key"))));
    }

    #[test]
    fn the_callers_word_counts_before_everything() {
        let (get, post) = (request("GET", "", None), request("POST", "", None));
        let careful = POLICY.idempotent(false);
        for policy in [POLICY, careful] {
            assert_eq!(Rule::Said(true).policy(policy, &post), POLICY);
            assert_eq!(Rule::Said(false).policy(policy, &get), careful);
            assert_eq!(Rule::ByKey.policy(policy, &post), POLICY);
            let reads = |request: &Request| request.method() == Method::GET;
            assert_eq!(Rule::By(reads).policy(policy, &get), POLICY);
            assert_eq!(Rule::By(reads).policy(policy, &post), careful);
        }
    }
}
