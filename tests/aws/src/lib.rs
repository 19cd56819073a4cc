//! The clients that the tests with AWS' SDK share.
#![cfg(feature = "client")]

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
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use support::{Act, Server, reply};
use tokio::sync::watch;

/// A reply whose body names this error.
pub fn typed(status: u16, name: &str) -> Act {
    reply(status, "", format!(r#"{{"__type":"{name}"}}"#))
}

/// A reply that another attempt cures.
pub fn busy() -> Act {
    reply(503, "", "")
}

/// A reply that asks for longer waits.
pub fn throttled() -> Act {
    typed(400, "ThrottlingException")
}

/// A conflict.
pub fn conflict() -> Act {
    let name = "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException";
    typed(400, name)
}

/// DynamoDB's documented waits without chance: 25, 50, 100 ms, and after throttling 1, 2, 4 s.
pub const POLICY: Policy = dynamodb::REQUEST.without_budget().jitter(Jitter::None);

/// So many milliseconds each.
pub fn ms(waits: &[u64]) -> Vec<Duration> {
    waits.iter().copied().map(Duration::from_millis).collect()
}

/// The address where nobody listens.
pub fn nobody() -> String {
    format!("http://{}", support::nobody())
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
/// the server stalls, or when the client begins a wait of an hour. Shorter waits take no time.
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

    /// A timer for a client of this server, which advances virtual time.
    pub fn of(server: &Server, time: &VirtualTime) -> Self {
        UntilStuck {
            time: time.clone(),
            stuck: server.stalls(),
            ended: Arc::default(),
            limits: Arc::default(),
        }
    }

    /// The limits of time so far.
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
        let it = self.clone();
        Sleeping::new(async move {
            let is_stuck = |stuck: &usize| *stuck > it.ended.load(Ordering::SeqCst);
            drop(it.stuck.subscribe().wait_for(is_stuck).await);
            it.ended.fetch_add(1, Ordering::SeqCst);
            it.time.advance(duration);
        })
    }
}

/// A client's configuration without timeouts.
pub fn config(url: &str) -> Builder {
    let credentials = Credentials::new("id", "secret", None, None, "test");
    config_of_nobody(url).credentials_provider(credentials)
}

/// The same configuration without credentials.
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
pub async fn put(client: &Client) -> Result<PutItemOutput, PutError> {
    let id = AttributeValue::S("ann".to_owned());
    let put = client.put_item().table_name("accounts").item("id", id);
    put.send().await
}

/// A client that makes each request once.
pub fn once(config: Builder) -> Client {
    Client::from_conf(config.retry_config(RetryConfig::disabled()).build())
}

/// A client of this server that makes each request once.
pub fn outside(url: &str) -> Client {
    once(config(url))
}

/// A client with both halves of a policy inside.
pub fn with(config: Builder, retry: impl Intercept + ClassifyRetry + Clone + 'static) -> Client {
    let config = config.interceptor(retry.clone()).retry_classifier(retry);
    Client::from_conf(config.build())
}

/// A client's configuration in virtual time.
pub fn timed(url: &str, time: &VirtualTime) -> Builder {
    config(url).sleep_impl(Timer(time.clone()))
}

/// A client with a policy inside, in virtual time.
pub fn inside(url: &str, policy: Policy, time: &VirtualTime) -> Client {
    with(timed(url, time), aws::inside(policy).runtime(time.clone()))
}

/// A server that answers so first, and a client of it with a policy inside, in virtual time.
pub fn served(answers: Vec<Act>, policy: Policy) -> (VirtualTime, Server, Client) {
    let (time, server) = (VirtualTime::new(), Server::start(answers));
    let client = inside(&server.url(""), policy, &time);
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
    pub async fn put(
        self,
        url: &str,
        policy: Policy,
        time: &VirtualTime,
    ) -> Result<PutItemOutput, PutError> {
        let (client, policy) = match self {
            Form::Around => (outside(url), policy),
            Form::Inside => return put(&inside(url, policy, time)).await,
            Form::Both => (inside(url, policy, time), policy.idempotent(true)),
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
