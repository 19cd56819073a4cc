//! The server and the clients that the tests with AWS' SDK share. A test tells the server what to answer.
#![cfg(feature = "client")]

#[path = "../../official/src/socket.rs"]
#[expect(
    unreachable_pub,
    reason = "another package shares this file with its tests"
)]
mod socket;

use aws_sdk_dynamodb::{
    Client,
    config::{
        AsyncSleep, BehaviorVersion, Builder, Credentials, IdentityCache, Intercept, Region,
        Sleep as Sleeping, StalledStreamProtectionConfig,
        retry::{ClassifyRetry, RetryConfig},
        timeout::TimeoutConfig,
    },
    error::SdkError,
    operation::put_item::{PutItemError, PutItemOutput},
    types::AttributeValue,
};
use backoff_cloud::{Jitter, Policy, Sleep, aws, dynamodb};
use backoff_core::testing::VirtualTime;
use std::{
    io::{Read, Write},
    net::TcpStream,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::sync::watch;

/// How the server treats one request.
#[derive(Clone, Copy, Debug)]
pub enum Answer {
    /// A status, headers (each with its `\r\n`) and a body.
    Reply(u16, &'static str, &'static str),
    /// The connection is reset before the request is read.
    Reset,
    /// The connection is closed when the request is read.
    Closed,
    /// The head of a success, and half of its body.
    Cut,
    /// No answer.
    Stall,
}

impl Answer {
    /// The success of a write.
    pub const OK: Answer = Answer::Reply(200, "", "{}");
}

/// A reply that another attempt cures.
pub const BUSY: Answer = Answer::Reply(503, "", "");
/// A reply that asks for longer waits.
pub const THROTTLED: Answer = Answer::Reply(400, "", r#"{"__type":"ThrottlingException"}"#);
/// A conflict.
pub const FAILED: Answer = Answer::Reply(
    400,
    "",
    r#"{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException"}"#,
);

/// DynamoDB's documented waits without chance: 25, 50, 100 ms, and after throttling 1, 2, 4 s.
pub const POLICY: Policy = dynamodb::REQUEST.without_budget().jitter(Jitter::None);

/// So many milliseconds each.
#[must_use]
pub fn ms(waits: &[u64]) -> Vec<Duration> {
    waits.iter().copied().map(Duration::from_millis).collect()
}

/// A server on the loopback address.
#[derive(Clone, Debug)]
pub struct Server {
    url: String,
    seen: Arc<AtomicUsize>,
    bodies: Arc<Mutex<Vec<String>>>,
    stalls: watch::Sender<usize>,
}

impl Server {
    /// A server that answers its first request with the first answer, and so on; all after the last
    /// answer succeed.
    ///
    /// # Panics
    /// When there is no free port.
    #[must_use]
    pub fn answering(answers: &[Answer]) -> Self {
        let mut server = Server {
            url: String::new(),
            seen: Arc::default(),
            bodies: Arc::default(),
            stalls: watch::Sender::new(0),
        };
        let (serving, answers): (_, Arc<[_]>) = (server.clone(), answers.into());
        let address = socket::listen(move |stream| {
            let n = serving.seen.fetch_add(1, Ordering::SeqCst);
            let answer = answers.get(n).copied().unwrap_or(Answer::OK);
            serving.give(answer, stream);
        });
        server.url = format!("http://{address}");
        server
    }

    /// The address of the server.
    #[must_use]
    pub fn url(&self) -> String {
        self.url.clone()
    }

    /// The bodies of the requests that the server has read.
    ///
    /// # Panics
    /// If a thread of the server has panicked.
    #[must_use]
    pub fn bodies(&self) -> Vec<String> {
        self.bodies.lock().expect("no panic").clone()
    }

    /// How many requests the server has seen. Each request has a new connection.
    #[must_use]
    pub fn seen(&self) -> usize {
        self.seen.load(Ordering::SeqCst)
    }

    fn give(&self, answer: Answer, mut stream: TcpStream) {
        if let Answer::Reset = answer {
            // What was sent and not read makes the closing a reset.
            drop(stream.read(&mut [0]));
            return;
        }
        let body = socket::read_request(&stream).body;
        self.bodies.lock().expect("no panic").push(body);
        let text = match answer {
            Answer::Reply(status, headers, body) => socket::reply(status, headers, body),
            Answer::Cut => "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{\"a".to_owned(),
            Answer::Closed | Answer::Reset => return,
            Answer::Stall => {
                self.stalls.send_modify(|stalls| *stalls += 1);
                // Until the client hangs up.
                drop(stream.read(&mut [0]));
                return;
            }
        };
        // A client that hangs up is no failure of the server's.
        drop(stream.write_all(text.as_bytes()));
    }

    /// A timer for a client of this server, which advances virtual time.
    #[must_use]
    pub fn until_stuck(&self, time: &VirtualTime) -> UntilStuck {
        UntilStuck {
            time: time.clone(),
            stuck: self.stalls.clone(),
            ended: Arc::default(),
            limits: Arc::default(),
        }
    }
}

/// An address where nobody listens.
///
/// # Panics
/// When there is no free port.
#[must_use]
pub fn nobody() -> String {
    format!("http://{}", socket::nobody())
}

/// A client's timer, which advances virtual time.
#[derive(Debug)]
pub struct Timer(pub VirtualTime);

impl AsyncSleep for Timer {
    fn sleep(&self, duration: Duration) -> Sleeping {
        Sleeping::new(self.0.sleep(duration))
    }
}

/// A timer whose limits of time are over when the client is stuck, and not because a machine is slow: when
/// the server stalls, or when the client begins a wait of an hour. Shorter waits take no time. Made by
/// [`Server::until_stuck`].
#[derive(Clone, Debug)]
pub struct UntilStuck {
    time: VirtualTime,
    stuck: watch::Sender<usize>,
    /// How many limits are over.
    ended: Arc<AtomicUsize>,
    limits: Arc<Mutex<Vec<Duration>>>,
}

impl UntilStuck {
    /// The least limit; what is shorter is a wait.
    const LIMIT: Duration = Duration::from_millis(200);
    const HOUR: Duration = Duration::from_secs(3600);

    /// The limits of time so far.
    ///
    /// # Panics
    /// If a client has panicked in a sleep.
    #[must_use]
    pub fn limits(&self) -> Vec<Duration> {
        self.limits.lock().expect("no panic").clone()
    }
}

impl AsyncSleep for UntilStuck {
    fn sleep(&self, duration: Duration) -> Sleeping {
        if duration < Self::LIMIT {
            return Sleeping::new(self.time.sleep(duration));
        }
        if duration >= Self::HOUR {
            self.stuck.send_modify(|stuck| *stuck += 1);
            return Sleeping::new(std::future::pending());
        }
        self.limits.lock().expect("no panic").push(duration);
        let Self {
            time, stuck, ended, ..
        } = self.clone();
        Sleeping::new(async move {
            let is_stuck = |stuck: &usize| *stuck > ended.load(Ordering::SeqCst);
            drop(stuck.subscribe().wait_for(is_stuck).await);
            ended.fetch_add(1, Ordering::SeqCst);
            time.advance(duration);
        })
    }
}

/// A client's configuration without timeouts.
#[must_use]
pub fn config(url: &str) -> Builder {
    let credentials = Credentials::new("id", "secret", None, None, "test");
    config_of_nobody(url).credentials_provider(credentials)
}

/// The same configuration without credentials.
#[must_use]
pub fn config_of_nobody(url: &str) -> Builder {
    Builder::new()
        .behavior_version(BehaviorVersion::latest())
        .endpoint_url(url)
        .region(Region::from_static("eu-west-1"))
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        // The cache asks the timer too.
        .identity_cache(IdentityCache::no_cache())
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
        .timeout_config(TimeoutConfig::builder().disable_connect_timeout().build())
}

/// The error of a write.
pub type PutError = SdkError<PutItemError>;

/// Makes one write.
///
/// # Errors
/// Returns the client's error.
pub async fn put(client: &Client) -> Result<PutItemOutput, PutError> {
    let put = client.put_item().table_name("accounts");
    put.item("id", AttributeValue::S("ann".to_owned()))
        .send()
        .await
}

/// A client that makes each request once.
#[must_use]
pub fn once(config: Builder) -> Client {
    Client::from_conf(config.retry_config(RetryConfig::disabled()).build())
}

/// A client of this server that makes each request once.
#[must_use]
pub fn outside(url: &str) -> Client {
    once(config(url))
}

/// A client with both halves of a policy inside.
#[must_use]
pub fn with(config: Builder, retry: impl Intercept + ClassifyRetry + Clone + 'static) -> Client {
    let config = config.interceptor(retry.clone()).retry_classifier(retry);
    Client::from_conf(config.build())
}

/// A client's configuration in virtual time.
#[must_use]
pub fn timed(url: &str, time: &VirtualTime) -> Builder {
    config(url).sleep_impl(Timer(time.clone()))
}

/// A client with a policy inside, in virtual time.
#[must_use]
pub fn inside(url: &str, policy: Policy, time: &VirtualTime) -> Client {
    with(timed(url, time), aws::inside(policy).runtime(time.clone()))
}

/// A server with these answers, and a client of it with a policy inside, in virtual time.
#[must_use]
pub fn served(answers: &[Answer], policy: Policy) -> (VirtualTime, Server, Client) {
    let (time, server) = (VirtualTime::new(), Server::answering(answers));
    let client = inside(&server.url(), policy, &time);
    (time, server, client)
}

/// Where the policy is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Form {
    /// In a loop around a client that tries once.
    Around,
    /// Inside the client.
    Inside,
    /// Inside, and once more around, where everything may be repeated: what was given up inside is not
    /// begun anew.
    Both,
}

impl Form {
    /// All of them.
    pub const ALL: [Form; 3] = [Form::Around, Form::Inside, Form::Both];

    /// Makes a write under a policy.
    ///
    /// # Errors
    /// Returns the client's last error.
    pub async fn put(
        self,
        url: &str,
        policy: Policy,
        time: &VirtualTime,
    ) -> Result<PutItemOutput, PutError> {
        let client = match self {
            Form::Around => outside(url),
            Form::Inside | Form::Both => inside(url, policy, time),
        };
        let policy = match self {
            Form::Around => policy,
            Form::Both => policy.idempotent(true),
            Form::Inside => return put(&client).await,
        };
        policy.retry(|| put(&client)).runtime(time.clone()).await
    }
}

/// The examples of the documentation, compiled.
///
#[doc = "```no_run"]
#[doc = include_str!("../../../backoff-cloud/src/aws/examples/inside.rs")]
#[doc = "```"]
///
#[doc = "```no_run"]
#[doc = "# use anyhow_1 as anyhow;"]
#[doc = include_str!("../../../backoff-cloud/src/aws/examples/outside.rs")]
#[doc = "```"]
#[derive(Debug)]
pub struct Examples;
