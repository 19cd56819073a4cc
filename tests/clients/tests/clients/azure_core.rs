//! azure_core: the pipeline through which every client of Azure sends its requests.

use crate::{
    facts::{Facts, MAYBE_SENT, NOT_SENT, NOTHING, POLICY, Repeated, assert_row},
    install_tls,
    server::{
        AMPLE, End, Meeting, PATIENCE, Request as Received, Server, broken_off_replies, full, half,
        html_502, nobody, reply,
    },
    status,
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
use backoff_core::{Delivery, Fault, FaultKind, StopReason, TimedOut, known_fault};
use std::{
    fmt::Display,
    sync::{Arc, Mutex},
    time::Duration,
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

fn request(host: impl Display, method: Method) -> Request {
    let url = format!("http://{host}/container/blob");
    Request::new(Url::parse(&url).expect("a URL"), method)
}

async fn send(pipeline: &Pipeline, mut request: Request) -> Result<RawResponse, Error> {
    pipeline.send(&Context::new(), &mut request, None).await
}

async fn get(host: impl Display) -> Result<RawResponse, Error> {
    get_within(AMPLE, host).await
}

async fn get_within(limit: Duration, host: impl Display) -> Result<RawResponse, Error> {
    let options = options(reqwest::Client::builder().timeout(limit));
    send(&pipeline(options), request(host, Method::Get)).await
}

/// The error of the pipeline when the server does this.
async fn failure(bytes: impl Into<Vec<u8>>, end: End) -> Error {
    let server = Server::of(bytes, end);
    let got = get_within(end.patience(), &server).await;
    let error = got.expect_err("the failure");
    // On a slow machine the time may be over before the server has read the request.
    assert!(server.calls() <= 1, "its own retries are off");
    error
}

#[tokio::test]
async fn refused() {
    let error = get(nobody()).await.expect_err("refused");
    assert_eq!(*error.kind(), ErrorKind::Connection);
    assert_row(&error, NOT_SENT, Repeated::Always);
}

#[tokio::test]
async fn dns() {
    let error = get("no-such-host.invalid").await.expect_err("no name");
    assert_row(&error, NOT_SENT, Repeated::Always);
}

#[tokio::test]
async fn connect_timeout() {
    let (server, _socket, _queue) = full();
    let client = reqwest::Client::builder().connect_timeout(PATIENCE);
    let pipeline = pipeline(options(client));
    let sent = send(&pipeline, request(server, Method::Get)).await;
    let error = sent.expect_err("nobody answers");
    assert_row(&error, NOT_SENT, Repeated::Always);
}

#[tokio::test]
async fn broken_off() {
    for (bytes, end) in broken_off_replies() {
        let error = failure(bytes, end).await;
        assert_eq!(*error.kind(), ErrorKind::Io);
        assert_row(&error, MAYBE_SENT, Repeated::IfIdempotent);
    }
}

#[tokio::test]
async fn stall() {
    for bytes in [Vec::new(), half("", b"half")] {
        let error = failure(bytes, End::Stall).await;
        assert_row(&error, MAYBE_SENT, Repeated::IfIdempotent);
    }
}

#[tokio::test]
async fn statuses_and_hints() {
    let millis = |millis| Some(Duration::from_millis(millis));
    for (code, headers, hint, repeated) in [
        (503, "", None, Repeated::IfIdempotent),
        (
            503,
            "retry-after: 7\r\n",
            millis(7_000),
            Repeated::IfIdempotent,
        ),
        (429, "retry-after: 7\r\n", millis(7_000), Repeated::Always),
        (
            429,
            "retry-after-ms: 1500\r\n",
            millis(1_500),
            Repeated::Always,
        ),
        (
            429,
            "x-ms-retry-after-ms: 2500\r\nretry-after: 2\r\n",
            millis(2_500),
            Repeated::Always,
        ),
        (
            503,
            "date: Sun, 06 Nov 1994 08:49:37 GMT\r\nretry-after: Sun, 06 Nov 1994 08:50:07 GMT\r\n",
            millis(30_000),
            Repeated::IfIdempotent,
        ),
        (
            409,
            "x-ms-error-code: BlobAlreadyExists\r\n",
            None,
            Repeated::Never,
        ),
        (404, "", None, Repeated::Never),
    ] {
        let body = r#"{"error": {"code": "C", "message": "m"}}"#;
        for body in ["", body] {
            let error = failure(reply(code, headers, body), End::Close).await;
            let facts = Facts {
                retry_after: hint,
                ..status(code)
            };
            assert_row(&error, facts, repeated);
        }
    }
}

#[tokio::test]
async fn html() {
    let error = failure(html_502(), End::Close).await;
    assert_row(&error, status(502), Repeated::IfIdempotent);
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
        let answer = get(&self.0).await;
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
    let away = of(nobody().to_string()).await;
    assert_eq!(*away.kind(), ErrorKind::Credential);
    assert_row(&away, NOT_SENT, Repeated::Always);
    let lost = of(Server::of("", End::Close).to_string()).await;
    assert_row(&lost, NOT_SENT, Repeated::Always);
    let busy = Server::of(reply(503, "retry-after: 7\r\n", ""), End::Close);
    let busy = of(busy.to_string()).await;
    // The service of the tokens has answered: its connection is of use.
    let answered = Facts {
        must_reconnect: false,
        retry_after: Some(Duration::from_secs(7)),
        ..NOT_SENT
    };
    assert_row(&busy, answered, Repeated::Always);
    let denied = Server::of(reply(401, "", ""), End::Close);
    let denied = of(denied.to_string()).await;
    assert_eq!(Fault::kind(&denied), Some(FaultKind::Permanent));
    assert_row(&denied, NOTHING, Repeated::Never);
    assert_eq!(service.calls(), 0);
}

#[tokio::test]
async fn own_doing() {
    let error = Error::with_message(ErrorKind::DataConversion, "no JSON");
    assert_eq!(Fault::kind(&error), Some(FaultKind::Permanent));
    assert_row(&error, NOTHING, Repeated::Never);
}

#[tokio::test]
async fn inside_other_errors() {
    let hidden: Box<dyn std::error::Error> = Box::new(
        get(nobody())
            .await
            .expect_err("refused")
            .with_context("while asking"),
    );
    let found = known_fault(&*hidden).and_then(Fault::delivery);
    assert_eq!(found, Some(Delivery::NotSent));
    let cut = Error::from(TimedOut::new(PATIENCE));
    assert_row(&cut, MAYBE_SENT, Repeated::IfIdempotent);
}

/// A blob with a number, which is written only by who has read the last one. So many writers meet when they
/// have read for the first time.
fn blob(writers: u32) -> (Server, Arc<Mutex<u32>>) {
    let kept = Arc::new(Mutex::new(0));
    let (number, meeting) = (Arc::clone(&kept), Meeting::of(writers));
    let server = Server::answering(move |request: Received| {
        assert_eq!(request.path, "/container/blob");
        let mut number = number.lock().expect("no panic");
        match &*request.method {
            "GET" => {
                let etag = format!("etag: \"{number}\"\r\n");
                let read = reply(200, &etag, &number.to_string());
                drop(number);
                meeting.has_read();
                read
            }
            _ if !request
                .head
                .contains(&format!("if-match: \"{number}\"\r\n")) =>
            {
                reply(412, "x-ms-error-code: ConditionNotMet\r\n", "")
            }
            _ => {
                *number = request.body.parse().expect("a number");
                reply(201, "", "")
            }
        }
    });
    (server, kept)
}

#[tokio::test]
async fn writers_of_one_blob_lose_nothing() {
    let (server, kept) = blob(4);
    let server = &server;
    let pipeline = &pipeline(options(reqwest::Client::builder().timeout(AMPLE)));
    let mut reports = Vec::new();
    let write = async || {
        POLICY
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
            .await
    };
    for _ in 0..4 {
        let (a, b, c, d) = tokio::join!(write(), write(), write(), write());
        reports.extend([a, b, c, d].map(|done| done.expect("written").1));
    }
    assert_eq!(*kept.lock().expect("no panic"), 16);
    assert!(reports.iter().any(|report| report.conflicts > 0));
    // Outside of an update it is the end.
    let mut put = request(server, Method::Put);
    put.insert_header(HeaderName::from_static("if-match"), "\"0\"");
    let stale = || send(pipeline, put.clone());
    let refused = POLICY
        .retry(stale)
        .reported()
        .await
        .expect_err("another has written");
    assert_row(&refused.error, status(412), Repeated::Never);
    assert_eq!(refused.reason, StopReason::Permanent);
}
