//! What a program would contain: a policy with a name, a budget with a name, and one annotated function.

use std::time::Duration;

use backoff_cloud::http::{self, ApiError};
use backoff_core::{Budget, Policy, codes, retry};

/// Shared by all who call the billing service.
pub(crate) static BUDGET: Budget = Budget::aws().name("billing");

/// Waits short enough for an outage of a few seconds.
const BILLING: Policy = Policy::exponential()
    .name("billing")
    .base(Duration::from_millis(100))
    .max_backoff(Duration::from_secs(1))
    .max_attempts(4)
    .deadline(Duration::from_secs(4))
    .on(codes![429, 500..=504])
    .spread_retry_after(true)
    .budget(&BUDGET);

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
