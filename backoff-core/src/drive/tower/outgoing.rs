//! Whether a request may be made twice, by what it says of itself.

use crate::{
    facts::idempotence::{is_safe, may_repeat},
    policy::Policy,
};
use http_1 as http;

/// A request that a [`RetryLayer`](super::RetryLayer) can be given. Implement it for a request type of your own; the
/// method has a default, so `impl Outgoing for MyRequest {}` will do.
///
/// ```
/// use backoff_core::{Policy, tower::Outgoing};
///
/// enum Query { Read(String), Append(String) }
///
/// impl Outgoing for Query {
///     fn may_repeat(&self, _policy: &Policy) -> bool { matches!(self, Query::Read(_)) }
/// }
/// # assert!(Query::Read(String::new()).may_repeat(&Policy::exponential()));
/// # assert!(!Query::Append(String::new()).may_repeat(&Policy::exponential()));
/// ```
pub trait Outgoing {
    /// Whether the request may be made twice. Unless it is implemented, the policy says so
    /// ([`Policy::idempotent`]).
    fn may_repeat(&self, policy: &Policy) -> bool {
        policy.idempotent
    }

    /// Whether this one request may be made twice, in its sender's word, if the request bears one. It
    /// counts before what the layer and the policy say.
    fn said(&self) -> Option<bool> {
        None
    }
}

/// By method and headers, as the page of [the module](super) says.
fn by_head(policy: &Policy, method: &http::Method, headers: &http::HeaderMap) -> bool {
    if policy.idempotent {
        may_repeat(method.as_str(), headers)
    } else {
        is_safe(method.as_str())
    }
}

/// An extension of an `http::Request`: whether this request may be made twice. It counts before what the
/// layer, the policy and the request's method say.
///
/// ```
/// use backoff_core::tower::Idempotent;
/// # use http_1 as http;
///
/// // A search, although it is a `POST`.
/// let request = http::Request::post("/search").extension(Idempotent(true)).body("{}");
/// # assert!(request.unwrap().extensions().get::<Idempotent>().is_some());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Idempotent(pub bool);

/// What the request says of itself, by the extension [`Idempotent`] or by its method and headers.
impl<B> Outgoing for http::Request<B> {
    fn may_repeat(&self, policy: &Policy) -> bool {
        by_head(policy, self.method(), self.headers())
    }

    fn said(&self) -> Option<bool> {
        let said = self.extensions().get::<Idempotent>();
        said.map(|Idempotent(said)| *said)
    }
}

#[cfg(feature = "reqwest-012")]
impl Outgoing for reqwest_012::Request {
    fn may_repeat(&self, policy: &Policy) -> bool {
        by_head(policy, self.method(), self.headers())
    }
}

#[cfg(feature = "reqwest-013")]
impl Outgoing for reqwest_013::Request {
    fn may_repeat(&self, policy: &Policy) -> bool {
        by_head(policy, self.method(), self.headers())
    }
}
