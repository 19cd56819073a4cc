//! Where the attempts of a call get their requests: copies of one request, or a request that is built for
//! each attempt.

use super::{
    error::ApiError,
    outgoing::{Built, Outgoing},
};

/// The caller's function, which builds a request for each attempt.
pub(super) type Build = Box<dyn FnMut() -> Outgoing + Send>;

/// The request or the function that the caller gave.
pub(super) enum Source {
    Request(Outgoing),
    Build(Build),
}

impl Source {
    /// The request of the first attempt and the source of the other requests, or the mistake in the request.
    pub(super) fn begun(self) -> Result<(Box<Built>, Option<Build>), ApiError> {
        match self {
            Source::Request(request) => Ok((request.built()?, None)),
            Source::Build(mut build) => Ok((build().built()?, Some(build))),
        }
    }
}

/// The requests of the attempts.
pub(super) enum Copies {
    Many(Box<Built>),
    /// The policy makes one attempt, of a request that has no copy.
    Once(Option<Box<Built>>),
    /// The request of the first attempt was built before the policy was known.
    Anew(Option<Box<Built>>, Build),
    /// The mistake in the request.
    Refused(String),
}

impl Copies {
    /// `is_once` says that the policy makes one attempt.
    pub(super) fn of(request: Box<Built>, build: Option<Build>, is_once: bool) -> Self {
        match build {
            Some(build) => Copies::Anew(Some(request), build),
            None if request.can_be_copied() => Copies::Many(request),
            None if is_once => Copies::Once(Some(request)),
            None => Copies::Refused(UNREPEATABLE.to_owned()),
        }
    }

    /// Whether there is a request of another attempt.
    pub(super) const fn has_next(&self) -> bool {
        !matches!(self, Copies::Once(None) | Copies::Refused(_))
    }

    /// The request of the next attempt.
    pub(super) fn next(&mut self) -> Result<Built, ApiError> {
        let request = match self {
            Copies::Many(request) => request.copy(),
            Copies::Once(request) => request.take().map(|request| *request),
            Copies::Anew(first, build) => match first.take() {
                None => return build().built().map(|request| *request).map_err(refused),
                first => first.map(|request| *request),
            },
            Copies::Refused(problem) => return Err(ApiError::not_sent(problem.clone())),
        };
        request.ok_or_else(|| ApiError::not_sent(UNREPEATABLE.to_owned()))
    }
}

/// The error of the builder of a request. The error's text has no secrets of the URL.
fn refused(error: ApiError) -> ApiError {
    ApiError::not_sent(error.to_string())
}

const UNREPEATABLE: &str = "the body of the request is a stream or a multipart form and cannot be sent again; \
    give the body as bytes or as a text, or have the request built for each attempt, with \
    `policy.send_with(move || client.post(&url).body(stream()))`, or write \
    `policy.max_attempts(1).send(..)` to send the request once";
