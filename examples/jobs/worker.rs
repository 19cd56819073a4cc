//! What a program would contain: a policy, a job, its handler, and a worker.

use std::sync::Arc;
use std::time::Duration;

use apalis::prelude::*;
use apalis_sqlite::SqliteStorage;
use backoff_cloud::apalis::{Job, RescheduleExt as _};
use backoff_cloud::http::{self, ApiError};
use backoff_cloud::{Fault, Policy, codes, iam};
use serde::{Deserialize, Serialize};

use crate::Where;
use crate::queue;

const POLICY: Policy = Policy::exponential()
    .base(Duration::from_millis(500))
    .max_backoff(Duration::from_secs(4))
    .max_attempts(12)
    .deadline(Duration::from_secs(45))
    .on(codes![409, 429, 500..=504])
    .retry_conflicts(true)
    .name("jobs");

/// A read-modify-write is one attempt of a job.
const ONCE: Policy = iam::READ_MODIFY_WRITE.max_attempts(1);

/// A job. The number is its operation id.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) enum Order {
    /// Gives a member a role.
    Grant(u32),
    /// Charges an account: must not be applied twice.
    Charge(u32),
}

impl Order {
    pub(crate) fn number(self) -> u32 {
        let (Order::Grant(number) | Order::Charge(number)) = self;
        number
    }
}

#[derive(Debug, Fault)]
pub(crate) enum Failed {
    #[fault(forward)]
    Http(ApiError),
    #[fault(forward)]
    Iam(iam::Failure<ApiError>),
}

impl std::fmt::Display for Failed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failed::Http(error) => error.fmt(f),
            Failed::Iam(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Failed {}

/// The services that the jobs call.
pub(crate) struct Services {
    client: reqwest::Client,
    policies: iam::Rest,
    ledger: String,
}

impl Services {
    fn new(places: &Where) -> Self {
        let client = reqwest::Client::new();
        Services {
            policies: iam::Rest::new(client.clone(), format!("{}/v3", places.emulator)),
            ledger: places.ledger.clone(),
            client,
        }
    }

    async fn carry_out(&self, order: Order) -> Result<(), Failed> {
        match order {
            Order::Grant(number) => {
                let (resource, member) = granted(number);
                let grant = iam::add(&self.policies, &resource, ROLE, &member);
                // What was retried inside is not repeated outside, so the failure alone is the job's.
                let granted = grant.policy(ONCE).await;
                granted
                    .map(drop)
                    .map_err(|gave_up| Failed::Iam(gave_up.error))
            }
            Order::Charge(number) => {
                let charge = self.client.post(format!("{}/charge/{number}", self.ledger));
                let charge = charge.header("idempotency-key", number.to_string());
                let reply = charge
                    .send()
                    .await
                    .map_err(|error| Failed::Http(error.into()))?;
                http::check(reply).await.map(drop).map_err(Failed::Http)
            }
        }
    }
}

pub(crate) const ROLE: &str = "roles/viewer";

/// The resource and the member of a grant.
pub(crate) fn granted(number: u32) -> (String, String) {
    let resource = format!("projects/p{}", number % 50);
    (resource, format!("user:u{number}@example.com"))
}

/// The handler.
async fn handle(
    order: Order,
    job: Job,
    storage: Data<SqliteStorage<Order>>,
    services: Data<Arc<Services>>,
) -> Result<(), BoxDynError> {
    let services = Arc::clone(&services);
    let work = |order| async move { services.carry_out(order).await };
    POLICY
        .reschedule(&job, order, (*storage).clone(), work)
        .await
}

/// A worker process with eight jobs at a time: runs until it is killed.
pub(crate) async fn run(places: &Where, name: &str) -> Result<(), BoxDynError> {
    let storage = queue::open(places).await?;
    let backend = storage
        .clone()
        .poll_with_interval(Duration::from_millis(100));
    let worker = WorkerBuilder::new(name)
        .backend(backend)
        .parallelize(tokio::spawn)
        .concurrency(8)
        .data(storage)
        .data(Arc::new(Services::new(places)))
        .build(handle);
    Ok(worker.run().await?)
}
