//! The forms of a call. Each form makes one change.

use crate::server::builder;
use backoff_cloud::http::{self, ApiError};
use backoff_core::{Event, Policy, RetryError, StopReason, retry, retry_block};
use serde::Deserialize;
use serde_json::Value;
use std::{net::SocketAddr, sync::Mutex, time::Duration};
use tokio::runtime::Handle;

/// How long a form waits for an attempt, and how long the client, because the blocking forms cannot cut an
/// attempt by themselves.
const LIMIT: Duration = Duration::from_millis(50);
const PATIENCE: Duration = Duration::from_millis(60);

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Form {
    Function,
    Attribute,
    Block,
    Blocking,
    UpdateThatRecognises,
    UpdateThatDoesNot,
    UpdateWithVersions,
    BlockingUpdate,
}

/// Each form, and whether it is an update.
pub(crate) const FORMS: [(Form, bool); 8] = [
    (Form::Function, false),
    (Form::Attribute, false),
    (Form::Block, false),
    (Form::Blocking, false),
    (Form::UpdateThatRecognises, true),
    (Form::UpdateThatDoesNot, true),
    (Form::UpdateWithVersions, true),
    (Form::BlockingUpdate, true),
];

/// Why a call was given up, if it was.
pub(crate) type Ended = Option<StopReason>;

#[derive(Clone)]
pub(crate) struct Client {
    client: reqwest::Client,
    address: SocketAddr,
}

/// The version and the number of members.
#[derive(Clone, Copy, Deserialize)]
struct Read(u32, u32);

impl Client {
    pub(crate) fn new(address: SocketAddr) -> Self {
        let client = builder().timeout(PATIENCE).build().expect("a client");
        Client { client, address }
    }

    fn url(&self, path: impl std::fmt::Display) -> String {
        format!("http://{}/{path}", self.address)
    }

    /// Applies the change once more, whatever is there.
    async fn post(&self, number: u32) -> Result<Value, ApiError> {
        http::json(self.client.post(self.url(number)).send().await?).await
    }

    async fn read(&self, number: u32) -> Result<Read, ApiError> {
        http::json(self.client.get(self.url(number)).send().await?).await
    }

    /// Applies the change if the version is still what was read.
    async fn write(&self, number: u32, read: Read) -> Result<Value, ApiError> {
        let url = self.url(format!("{number}/{}", read.0));
        http::json(self.client.put(url).send().await?).await
    }
}

#[retry(policy = *policy, attempt_timeout = "50ms", notify = |event| note(reason, event))]
async fn annotated(
    policy: &Policy,
    client: &Client,
    number: u32,
    reason: &Mutex<Ended>,
) -> Result<Value, ApiError> {
    client.post(number).await
}

fn note(reason: &Mutex<Ended>, event: &Event<'_, ApiError>) {
    if let Event::GaveUp { reason: given, .. } = event {
        *reason.lock().expect("nobody panics") = Some(*given);
    }
}

fn reason<T, R>(outcome: Result<T, RetryError<ApiError, R>>) -> Ended {
    outcome.err().map(|gave_up| gave_up.reason)
}

impl Form {
    /// Makes the change.
    pub(crate) async fn call(self, client: &Client, policy: Policy, number: u32) -> Ended {
        let noted = Mutex::new(None);
        let post = || client.post(number);
        let get = || client.read(number);
        let put = |read| client.write(number, read);
        let always = |read: &mut Read| read.1 += 1;
        match self {
            Form::Function => {
                let call = policy.retry(post).attempt_timeout(LIMIT);
                reason(call.reported().await)
            }
            Form::Attribute => {
                let _ = annotated(&policy, client, number, &noted).await;
                noted.into_inner().expect("nobody panics")
            }
            Form::Block => {
                let call = retry_block!(
                    policy = policy,
                    attempt_timeout = LIMIT,
                    notify = |event: &Event<'_, ApiError>| note(&noted, event),
                    async { client.post(number).await }
                );
                let _ = call.await;
                noted.into_inner().expect("nobody panics")
            }
            Form::UpdateThatRecognises => {
                let update = policy.update(get, add, put).attempt_timeout(LIMIT);
                reason(update.reported().await)
            }
            Form::UpdateThatDoesNot => {
                let update = policy.update(get, always, put).attempt_timeout(LIMIT);
                reason(update.reported().await)
            }
            Form::UpdateWithVersions => {
                let update = policy.update(get, always, put).version(|read| read.0);
                reason(update.attempt_timeout(LIMIT).reported().await)
            }
            Form::Blocking | Form::BlockingUpdate => {
                let (client, runtime) = (client.clone(), Handle::current());
                let call = move || self.call_on_a_thread(&client, &runtime, policy, number);
                let done = tokio::task::spawn_blocking(call).await;
                done.expect("it does not panic")
            }
        }
    }

    /// A blocking call would block others.
    fn call_on_a_thread(self, client: &Client, on: &Handle, policy: Policy, number: u32) -> Ended {
        let post = || on.block_on(client.post(number));
        let read = || on.block_on(client.read(number));
        let write = |read| on.block_on(client.write(number, read));
        match self {
            Form::BlockingUpdate => {
                reason(policy.blocking_update(read, add, write).reported().call())
            }
            _ => reason(policy.blocking(post).reported().call()),
        }
    }
}

/// Adds the member, unless it is there.
fn add(read: &mut Read) -> bool {
    let is_missing = read.1 == 0;
    read.1 = 1;
    is_missing
}
