//! azure_core: the pipeline through which every client of Azure sends its requests.

use crate::{
    facts::{
        Facts, NOT_SENT, NOTHING, POLICY,
        Repeated::{Always, IfIdempotent, Never},
        assert_says,
    },
    forms::{Form, fails_on_the_way, says, sixteen_writes, status},
    install_tls,
    server::{AMPLE, End, Server, nobody, object, reply},
};
use azure::{
    Error,
    credentials::{AccessToken, TokenCredential, TokenRequestOptions},
    error::ErrorKind,
    http::{
        ClientOptions, Context, Method, Pipeline, RawResponse, Request, RetryOptions, Transport,
        Url,
        headers::{ETAG, HeaderName},
        policies::auth::BearerTokenAuthorizationPolicy,
    },
};
use azure_core_1 as azure;
use backoff_core::{Delivery, Fault, FaultKind, StopReason, known_fault};
use std::{fmt::Display, sync::Arc, time::Duration};

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

fn request(host: impl Display, method: Method) -> Request {
    request_of(&format!("http://{host}"), method)
}

fn request_of(origin: &str, method: Method) -> Request {
    let url = format!("{origin}/container/blob");
    Request::new(Url::parse(&url).expect("a URL"), method)
}

async fn send(pipeline: &Pipeline, mut request: Request) -> Result<RawResponse, Error> {
    pipeline.send(&Context::new(), &mut request, None).await
}

struct Azure;

impl Form for Azure {
    type Error = Error;

    const CANNOT: &[(&str, &str)] = &[(
        "a chunk without a length",
        "reqwest calls it a body that cannot be decoded",
    )];

    async fn read(origin: &str, connect: Duration, whole: Duration) -> Result<(), Error> {
        let client = reqwest::Client::builder().connect_timeout(connect);
        let pipeline = pipeline(options(client.timeout(whole)));
        let sent = send(&pipeline, request_of(origin, Method::Get));
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
    let refused = Azure::read(&format!("http://{}", nobody()), AMPLE, AMPLE).await;
    let hidden = refused.expect_err("refused").with_context("while asking");
    let found = known_fault(&hidden).and_then(Fault::delivery);
    assert_eq!(found, Some(Delivery::NotSent));
}

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
            (503, "retry-after: 7\r\n", Some(7_000), IfIdempotent),
            (429, "retry-after: 7\r\n", Some(7_000), Always),
            (429, "retry-after-ms: 1500\r\n", Some(1_500), Always),
            (429, both, Some(2_500), Always),
            (503, dates, Some(0), IfIdempotent),
            (503, "retry-after: 1.5\r\n", Some(1_500), IfIdempotent),
            (429, quota, Some(2_500), Always),
            (500, quota, None, IfIdempotent),
            (409, exists, None, Never),
            (404, "", None, Never),
        ];
        let said =
            |(code, headers, hint, repeated)| (code, reply(code, headers, body), hint, repeated);
        says::<Azure>(rows.map(said)).await;
    }
}

/// Asks a server for a token, by a pipeline of its own.
#[derive(Debug)]
struct Asking(String);

#[async_trait::async_trait]
impl TokenCredential for Asking {
    async fn get_token(
        &self,
        _: &[&str],
        _: Option<TokenRequestOptions<'_>>,
    ) -> azure::Result<AccessToken> {
        let answer = Azure::read(&format!("http://{}", self.0), AMPLE, AMPLE).await;
        let error = answer.expect_err("this server gives no token");
        Err(Error::with_error(ErrorKind::Credential, error, "no token"))
    }
}

#[tokio::test]
async fn no_token() {
    let service = Server::of(reply(200, "", ""), End::Close);
    let of = async |tokens: String| {
        let credential = Arc::new(Asking(tokens));
        let policy = BearerTokenAuthorizationPolicy::new(credential, ["scope"]);
        let options = ClientOptions {
            per_try_policies: vec![Arc::new(policy)],
            ..options(reqwest::Client::builder())
        };
        // A token is sent by TLS alone, so the request is never begun.
        let mut request = request(&service, Method::Get);
        request.url_mut().set_scheme("https").expect("a scheme");
        send(&pipeline(options), request)
            .await
            .expect_err("no token")
    };
    // A service of tokens that has answered: its connection is of use.
    let answered = Facts {
        must_reconnect: false,
        retry_after: Some(Duration::from_secs(7)),
        ..NOT_SENT
    };
    let says = |said: String| Server::of(said, End::Close).to_string();
    let busy = reply(503, "retry-after: 7\r\n", "");
    for (tokens, facts, repeated) in [
        (nobody().to_string(), NOT_SENT, Always),
        (says(String::new()), NOT_SENT, Always),
        (says(busy), answered, Always),
        (says(reply(401, "", "")), NOTHING, Never),
    ] {
        let error = of(tokens).await;
        assert_eq!(*error.kind(), ErrorKind::Credential);
        let is_permanent = Fault::kind(&error) == Some(FaultKind::Permanent);
        assert_eq!(is_permanent, repeated == Never, "{error:?}");
        assert_says(&error, facts, repeated);
    }
    assert_eq!(service.calls(), 0);
}

#[tokio::test]
async fn own_doing() {
    let error = Error::with_message(ErrorKind::DataConversion, "no JSON");
    assert_eq!(Fault::kind(&error), Some(FaultKind::Permanent));
    assert_says(&error, NOTHING, Never);
}

#[tokio::test]
async fn writers_of_one_blob_lose_nothing() {
    let (server, kept) = object("/container/blob", 4);
    let server = &server;
    let pipeline = &pipeline(options(reqwest::Client::builder().timeout(AMPLE)));
    let write = async || {
        let written = POLICY
            .update(
                || send(pipeline, request(server, Method::Get)),
                |_| true,
                |read| async move {
                    let etag = read.headers().get_str(&ETAG)?.to_owned();
                    let number: u32 = std::str::from_utf8(read.body())?.parse()?;
                    let mut put = request(server, Method::Put);
                    put.insert_header(HeaderName::from_static("if-match"), etag);
                    put.set_body((number + 1).to_string());
                    send(pipeline, put).await
                },
            )
            .reported()
            .await;
        written.expect("written").1.conflicts
    };
    assert!(sixteen_writes(write).await > 0);
    assert_eq!(*kept.lock().expect("no panic"), 16);
    // Outside of an update it is the end.
    let mut put = request(server, Method::Put);
    put.insert_header(HeaderName::from_static("if-match"), "\"0\"");
    let stale = || send(pipeline, put.clone());
    let refused = POLICY
        .retry(stale)
        .reported()
        .await
        .expect_err("another has written");
    assert_says(&refused.error, status(412), Never);
    assert_eq!(refused.reason, StopReason::Permanent);
}
