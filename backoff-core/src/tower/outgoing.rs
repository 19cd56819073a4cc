//! Decides from the request itself whether the request may be made twice.

use crate::policy::Policy;
use http_1 as http;

/// A request that a [`RetryLayer`](super::RetryLayer) accepts. Implement this trait for a request type
/// of your own. Its methods have defaults, so `impl Outgoing for MyRequest {}` is enough.
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
    /// Whether the request may be made twice. By default the policy decides ([`Policy::idempotent`]).
    fn may_repeat(&self, policy: &Policy) -> bool {
        policy.idempotent
    }

    /// The sender's own setting whether this one request may be made twice, if the request has such a
    /// setting. It takes precedence over the layer and the policy.
    fn idempotent(&self) -> Option<bool> {
        None
    }
}

/// An extension of an `http::Request`: whether this request may be made twice. The extension takes
/// precedence over the layer, the policy and the request's method.
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

/// Decides by the extension [`Idempotent`], or by the request's method and headers.
impl<B> Outgoing for http::Request<B> {
    fn may_repeat(&self, policy: &Policy) -> bool {
        policy.may_send_twice(self.method(), self.headers())
    }

    fn idempotent(&self) -> Option<bool> {
        let own = self.extensions().get::<Idempotent>();
        own.map(|Idempotent(own)| *own)
    }
}

#[cfg(feature = "reqwest-012")]
impl Outgoing for reqwest_012::Request {
    fn may_repeat(&self, policy: &Policy) -> bool {
        policy.may_send_twice(self.method(), self.headers())
    }
}

#[cfg(feature = "reqwest-013")]
impl Outgoing for reqwest_013::Request {
    fn may_repeat(&self, policy: &Policy) -> bool {
        policy.may_send_twice(self.method(), self.headers())
    }
}
