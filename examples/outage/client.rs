//! What a program would contain: policies, a budget, a rate and a breaker with names, an annotated function, and a request.

use std::time::Duration;

use backoff_cloud::http::{self, ApiError, SendExt as _};
use backoff_cloud::{Breaker, Hedge, Rate};
use backoff_core::{Budget, Policy, codes, retry};

/// Shared by all who call the billing service.
pub(crate) static BUDGET: Budget = Budget::aws().name("billing");

static QUOTA: Rate = Rate::new().name("customers");
static DOWN: Breaker = Breaker::new()
    .name("customers")
    .opens_at(4, 8)
    .probe_every(Duration::from_secs(2));
static SLOW: Hedge = Hedge::after(Duration::from_millis(50));

/// Waits short enough for an outage of a few seconds.
const SHORT: Policy = Policy::exponential()
    .base(Duration::from_millis(100))
    .max_backoff(Duration::from_secs(1))
    .max_attempts(4)
    .deadline(Duration::from_secs(4))
    .on(codes![429, 500..=504])
    .spread_retry_after(true);
const BILLING: Policy = SHORT.name("billing").budget(&BUDGET);
const CUSTOMERS: Policy = SHORT.name("customers").rate(&QUOTA).breaker(&DOWN);

#[derive(serde::Deserialize)]
pub(crate) struct Invoice {
    pub(crate) number: u64,
}

#[retry(policy = BILLING, attempt_timeout = "250ms", operation = "invoices.get")]
pub(crate) async fn invoice(
    client: &reqwest::Client,
    service: &str,
    number: u64,
) -> Result<Invoice, ApiError> {
    let url = format!("{service}/invoices/{number}");
    http::json(client.get(url).send().await?).await
}

pub(crate) async fn customer(
    client: &reqwest::Client,
    service: &str,
    number: u64,
) -> Result<(), ApiError> {
    let request = client.get(format!("{service}/customers/{number}"));
    let call = CUSTOMERS.send(request).bytes().operation("customers.get");
    let call = call.attempt_timeout(Duration::from_millis(250));
    call.hedge(&SLOW).await.map(drop)
}
