//! The forms of a call. Each form makes one change.

use crate::server::builder;
use backoff_cloud::http::{self, ApiError};
use backoff_core::{Event, Policy, RetryError, StopReason, Verdict, retry, retry_block};
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
    Mutable,
    Attribute,
    Block,
    Blocking,
    UpdateThatRecognises,
    UpdateThatDoesNot,
    UpdateWithVersions,
    BlockingUpdate,
}

pub(crate) const FORMS: [Form; 9] = [
    Form::Function,
    Form::Mutable,
    Form::Attribute,
    Form::Block,
    Form::Blocking,
    Form::UpdateThatRecognises,
    Form::UpdateThatDoesNot,
    Form::UpdateWithVersions,
    Form::BlockingUpdate,
];

#[derive(Clone)]
pub(crate) struct Client {
    client: reqwest::Client,
    address: SocketAddr,
}

#[derive(Clone, Copy, Deserialize)]
struct Read {
    version: u32,
    members: u32,
}

impl Client {
    pub(crate) fn new(address: SocketAddr) -> Self {
        let client = builder().timeout(PATIENCE).build().expect("a client");
        Client { client, address }
    }

    /// Applies the change once more, whatever is there.
    async fn post(&self, number: u32) -> Result<Value, ApiError> {
        let url = format!("http://{}/{number}", self.address);
        http::json(self.client.post(url).send().await?).await
    }

    async fn read(&self, number: u32) -> Result<Read, ApiError> {
        let url = format!("http://{}/{number}", self.address);
        http::json(self.client.get(url).send().await?).await
    }

    /// Applies the change if the version is still what was read.
    async fn write(&self, number: u32, read: Read) -> Result<Value, ApiError> {
        let url = format!("http://{}/{number}/{}", self.address, read.version);
        http::json(self.client.put(url).send().await?).await
    }
}

#[retry(policy = *policy, attempt_timeout = "50ms", notify = |event| note(reason, event))]
async fn annotated(
    policy: &Policy,
    client: &Client,
    number: u32,
    reason: &Mutex<Option<StopReason>>,
) -> Result<Value, ApiError> {
    client.post(number).await
}

fn note(reason: &Mutex<Option<StopReason>>, event: &Event<'_, ApiError>) {
    if let Event::GaveUp { reason: given, .. } = event {
        *reason.lock().expect("nobody panics") = Some(*given);
    }
}

fn reason<T, R>(outcome: Result<T, RetryError<ApiError, R>>) -> Option<StopReason> {
    outcome.err().map(|gave_up| gave_up.reason)
}

impl Form {
    pub(crate) fn is_update(self) -> bool {
        matches!(
            self,
            Form::UpdateThatRecognises
                | Form::UpdateThatDoesNot
                | Form::UpdateWithVersions
                | Form::BlockingUpdate
        )
    }

    /// Makes the change; why it was given up, if it was.
    pub(crate) async fn call(
        self,
        client: &Client,
        policy: Policy,
        number: u32,
    ) -> Option<StopReason> {
        let noted = Mutex::new(None);
        let post = || client.post(number);
        let get = || client.read(number);
        let put = |read| client.write(number, read);
        let always = |read: &mut Read| read.members += 1;
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
                let update = policy.update(get, always, put).version(|read| read.version);
                reason(update.attempt_timeout(LIMIT).reported().await)
            }
            Form::Mutable | Form::Blocking | Form::BlockingUpdate => {
                let (client, runtime) = (client.clone(), Handle::current());
                let call = move || self.call_on_a_thread(&client, &runtime, policy, number);
                let done = tokio::task::spawn_blocking(call).await;
                done.expect("it does not panic")
            }
        }
    }

    /// The future of an async closure is not known to be `Send`, and a blocking call would block others.
    fn call_on_a_thread(
        self,
        client: &Client,
        runtime: &Handle,
        policy: Policy,
        number: u32,
    ) -> Option<StopReason> {
        let post = || runtime.block_on(client.post(number));
        let read = || runtime.block_on(client.read(number));
        let write = |read| runtime.block_on(client.write(number, read));
        match self {
            Form::Mutable => {
                let mut calls = 0;
                let call = policy.retry_mut(async || {
                    calls += 1;
                    client.post(number).await
                });
                let error = runtime.block_on(call).err()?;
                Some(match policy.judge(&error) {
                    Verdict::MaybeApplied => StopReason::MaybeApplied,
                    Verdict::Retry { .. } => StopReason::Attempts,
                    _ => StopReason::Permanent,
                })
            }
            Form::BlockingUpdate => reason(policy.blocking_update(read, add, write).reported()),
            _ => reason(policy.blocking(post).reported()),
        }
    }
}

/// Adds the member, unless it is there.
fn add(read: &mut Read) -> bool {
    let is_missing = read.members == 0;
    read.members = 1;
    is_missing
}
