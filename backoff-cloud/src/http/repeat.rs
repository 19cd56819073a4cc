//! Whether a request may be made twice, by its method and its headers.

use super::outgoing::Built;
use backoff_core::{
    __private::{is_idempotent_policy, is_safe, may_repeat},
    Policy,
};
use reqwest::Request;

/// Which requests may be made twice.
#[derive(Clone, Copy)]
pub(super) enum Rule {
    /// The method and the headers decide.
    ByRequest,
    /// The same, and the request has a key by which the server recognises it.
    ByKey,
    /// The caller has decided for this request.
    Said(bool),
    /// A function of the caller decides.
    By(fn(&Request) -> bool),
}

impl Rule {
    /// The policy for this request.
    pub(super) fn policy(self, policy: Policy, request: &Built) -> Policy {
        let may_be_made_twice = match self {
            Rule::Said(said) => said,
            Rule::By(rule) => request.judged(rule),
            Rule::ByKey => true,
            Rule::ByRequest if !is_idempotent_policy(&policy) => is_safe(request.method().as_str()),
            Rule::ByRequest => may_repeat(request.method().as_str(), request.headers()),
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
    use crate::{http::Outgoing, plain_http};
    use reqwest::{Client, Method};

    const POLICY: Policy = Policy::exponential();

    fn request(method: &str, url: &str, header: Option<(&str, &str)>) -> Built {
        crate::reply::provide_tls();
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let request = Client::new().request(method, format!("http://a.example/{url}"));
        let request = match header {
            Some((name, value)) => request.header(name, value),
            None => request,
        };
        *Outgoing::from(request).built().unwrap()
    }

    fn is_repeated(request: &Built) -> bool {
        Rule::ByRequest.policy(POLICY, request) == POLICY
    }

    #[test]
    fn the_method_says_it_as_in_plain_http() {
        for method in [
            "GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE", "POST", "PATCH", "CONNECT", "get",
            "PROPFIND", "QUERY",
        ] {
            let said = Rule::ByRequest.policy(plain_http::IDEMPOTENT, &request(method, "", None));
            assert_eq!(said, plain_http::for_method(method), "{method}");
        }
    }

    #[test]
    fn a_key_or_a_precondition_makes_a_post_and_a_patch_idempotent() {
        for header in [
            ("idempotency-key", "1"),
            ("if-match", "\"e\""),
            ("if-match", "CAE="),
            ("if-match", "\"e\", \"f\""),
            ("if-none-match", "*"),
        ] {
            for method in ["POST", "PATCH"] {
                assert!(
                    is_repeated(&request(method, "", Some(header))),
                    "{header:?}"
                );
            }
        }
    }

    /// Such a precondition still holds after the write was applied. `storage::is_idempotent` judges
    /// Google's own preconditions, because not every operation obeys each of them.
    #[test]
    fn a_precondition_that_protects_nothing_does_not_count() {
        for header in [
            ("idempotency-key", ""),
            ("idempotency-key", " "),
            ("if-match", ""),
            ("if-match", "*"),
            ("if-match", " * "),
            ("if-match", ", "),
            ("if-match", "\"e\", *"),
            ("if-match", "\"\""),
            ("if-none-match", ""),
            ("if-none-match", "\"e\""),
            ("if-unmodified-since", "Sat, 21 Nov 2026 00:00:00 GMT"),
            ("if-modified-since", "Sat, 21 Nov 2026 00:00:00 GMT"),
            ("x-goog-if-generation-match", "1"),
            ("x-goog-if-metageneration-match", "1"),
        ] {
            assert!(
                !is_repeated(&request("POST", "", Some(header))),
                "{header:?}"
            );
        }
        for query in ["", "?ifGenerationMatch=0", "?ifMetagenerationMatch=7"] {
            assert!(!is_repeated(&request("POST", query, None)), "{query}");
        }
    }

    #[test]
    fn a_careful_policy_repeats_only_what_reads() {
        let careful = POLICY.idempotent(false);
        let of = |request: Built| Rule::ByRequest.policy(careful, &request) == POLICY;
        assert!(of(request("GET", "", None)) && of(request("HEAD", "", None)));
        assert!(!of(request("PUT", "", None)) && !of(request("DELETE", "", None)));
        assert!(!of(request("POST", "", Some(("idempotency-key", "1")))));
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
