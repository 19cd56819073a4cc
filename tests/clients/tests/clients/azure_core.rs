//! azure_core: the pipeline through which every client of Azure sends its requests.

use crate::{assert_cut, install_tls};
use azure::{
    Error,
    credentials::{AccessToken, TokenCredential, TokenRequestOptions},
    error::ErrorKind,
    http::{
        ClientOptions, Context, Method, Pipeline, RawResponse, Request, RetryOptions, Transport,
        Url, policies::auth::BearerTokenAuthorizationPolicy,
    },
};
use azure_core_1 as azure;
use std::{fmt::Display, sync::Arc};
use support::{
    CLOSE, Column, Facts, NOT_SENT, NOTHING,
    Repeated::{Always, IfIdempotent, Never},
    Server, Target, assert_row, fails_on_the_way, nobody, reply, says, serve,
};

fn options(client: reqwest::ClientBuilder) -> ClientOptions {
    install_tls();
    let client = client.retry(reqwest::retry::never()).build();
    ClientOptions {
        retry: RetryOptions::none(),
        transport: Some(Transport::new(Arc::new(client.expect("a client")))),
        ..Default::default()
    }
}

fn pipeline(options: ClientOptions) -> Pipeline {
    Pipeline::new(None, None, options, Vec::new(), Vec::new(), None)
}

fn request(origin: impl Display, method: Method) -> Request {
    let url = format!("{origin}/container/blob");
    Request::new(Url::parse(&url).expect("a URL"), method)
}

async fn send(pipeline: &Pipeline, mut request: Request) -> Result<RawResponse, Error> {
    pipeline.send(&Context::new(), &mut request, None).await
}

struct Azure;

impl Column for Azure {
    type Error = Error;

    /// reqwest calls it a body that cannot be decoded.
    const CANNOT: &str = "a chunk without a length";

    const HAS_TLS: bool = cfg!(feature = "object-store");

    const REPLIES: (bool, bool) = (true, true);

    async fn read(target: Target) -> Result<(), Error> {
        let client = reqwest::Client::builder().connect_timeout(target.connect);
        let pipeline = pipeline(options(client.timeout(target.whole)));
        let sent = send(&pipeline, request(target.origin, Method::Get));
        sent.await.map(drop)
    }

    fn fits(error: &Error, row: &str) -> bool {
        match row {
            "nobody listens" => *error.kind() == ErrorKind::Connection,
            "reset" | "closed in the head" | "closed in the body" | "reset in the body" => {
                *error.kind() == ErrorKind::Io
            }
            _ => true,
        }
    }
}

#[tokio::test]
async fn on_the_way() {
    fails_on_the_way::<Azure>().await;
    assert_cut::<Error>();
    let refused = Azure::read(Target::at(nobody())).await;
    let hidden = refused.expect_err("refused").with_context("while asking");
    assert_row("with a context", hidden, NOT_SENT, Always);
    let own = Error::with_message(ErrorKind::DataConversion, "no JSON");
    assert_row("own doing", own, NOTHING, Never);
}

/// What headers say are rows of `backoff-core/src/facts/hint/headers.rs`.
#[tokio::test]
async fn statuses_and_hints() {
    let dates =
        "date: Sun, 06 Nov 1994 08:49:37 GMT\r\nretry-after: Sun, 06 Nov 1994 08:50:07 GMT\r\n";
    let quota = "x-ratelimit-remaining-tokens: 0\r\nx-ratelimit-reset-tokens: 2500ms\r\n";
    let both = "x-ms-retry-after-ms: 2500\r\nretry-after: 2\r\n";
    let exists = "x-ms-error-code: BlobAlreadyExists\r\n";
    for body in ["", r#"{"error": {"code": "C", "message": "m"}}"#] {
        let rows = [
            (503, "", None, IfIdempotent),
            (503, dates, Some(31_000), IfIdempotent),
            (429, both, Some(2_500), Always),
            (429, quota, Some(2_500), Always),
            (500, quota, None, IfIdempotent),
            (409, exists, None, Never),
            (412, "x-ms-error-code: ConditionNotMet\r\n", None, Never),
        ];
        let said =
            |(code, headers, hint, repeated)| (code, reply(code, headers, body), hint, repeated);
        says::<Azure>(rows.map(said)).await;
    }
}

/// Asks a server for a token, by a pipeline of its own.
#[derive(Debug)]
struct Asking(std::net::SocketAddr);

#[async_trait::async_trait]
impl TokenCredential for Asking {
    async fn get_token(
        &self,
        _: &[&str],
        _: Option<TokenRequestOptions<'_>>,
    ) -> azure::Result<AccessToken> {
        let answer = Azure::read(Target::at(self.0)).await;
        let error = answer.expect_err("this server gives no token");
        Err(Error::with_error(ErrorKind::Credential, error, "no token"))
    }
}

/// Rows: the service of tokens. One that has answered keeps its connection.
#[tokio::test]
async fn no_token() {
    let service = Server::start([]);
    let answered = Facts {
        must_reconnect: false,
        ..NOT_SENT
    };
    let busy = reply(503, "retry-after: 7\r\n", "");
    for (tokens, facts, repeated) in [
        (nobody(), NOT_SENT, Always),
        (serve(CLOSE), NOT_SENT, Always),
        (serve(busy), answered.after(7_000), Always),
        (serve(reply(401, "", "")), NOTHING, Never),
    ] {
        let credential = Arc::new(Asking(tokens));
        let policy = BearerTokenAuthorizationPolicy::new(credential, ["scope"]);
        let mut options = options(reqwest::Client::builder());
        options.per_try_policies = vec![Arc::new(policy)];
        // A token is sent by TLS alone, so the request is never begun.
        let request = request(format!("https://{}", service.address), Method::Get);
        let error = send(&pipeline(options), request)
            .await
            .expect_err("no token");
        assert_eq!(*error.kind(), ErrorKind::Credential);
        assert_row("no token", error, facts, repeated);
    }
    assert_eq!(service.requests(), 0);
}
