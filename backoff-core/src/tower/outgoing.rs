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

    /// The host that the request goes to, with its port if that is not the scheme's own. Log events have it in the field
    /// `host`.
    fn host(&self) -> Option<&str> {
        None
    }
}

/// The host and the port of a URL, without a user and a password.
#[cfg(any(test, feature = "reqwest-012", feature = "reqwest-013"))]
fn host_of(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    (!host.is_empty()).then_some(host)
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

    fn host(&self) -> Option<&str> {
        let authority = self.uri().authority()?.as_str();
        authority.rsplit('@').next()
    }
}

#[cfg(feature = "reqwest-012")]
impl Outgoing for reqwest_012::Request {
    fn may_repeat(&self, policy: &Policy) -> bool {
        policy.may_send_twice(self.method(), self.headers())
    }

    fn host(&self) -> Option<&str> {
        host_of(self.url().as_str())
    }
}

#[cfg(feature = "reqwest-013")]
impl Outgoing for reqwest_013::Request {
    fn may_repeat(&self, policy: &Policy) -> bool {
        policy.may_send_twice(self.method(), self.headers())
    }

    fn host(&self) -> Option<&str> {
        host_of(self.url().as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_its_port_and_no_password() {
        for (url, host) in [
            ("https://api.example.com/a?b", Some("api.example.com")),
            ("http://ann:pw@[::1]:8080", Some("[::1]:8080")),
            ("http://a@b@c:1#x", Some("c:1")),
            ("unix:/run/a", None),
            ("file:///a", None),
        ] {
            assert_eq!(host_of(url), host, "{url}");
        }
        let request = http::Request::get("http://ann:pw@example.com:81/a")
            .body(())
            .unwrap();
        assert_eq!(request.host(), Some("example.com:81"));
        assert_eq!(http::Request::new(()).host(), None);
    }
}
