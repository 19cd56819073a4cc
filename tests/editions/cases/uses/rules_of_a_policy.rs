//! Keys that set single rules of a policy.

use std::time::Duration;

use backoff_core::{Budget, Delivery, Fault, Policy, retry};
use ui::{ApiError, Flaky};

static NONE_LEFT: Budget = Budget::ratio(0.1, 10).starting_with(0);
static PLENTY: Budget = Budget::ratio(0.1, 10);
const POLICY: Policy = Policy::exponential().budget(&NONE_LEFT);

#[derive(Debug, PartialEq)]
struct Reset;

impl Fault for Reset {
    fn delivery(&self) -> Option<Delivery> {
        Some(Delivery::MaybeSent)
    }
}

#[derive(Debug, PartialEq)]
struct Hinted;

impl Fault for Hinted {
    fn status(&self) -> Option<u16> {
        Some(429)
    }
    fn retry_after(&self) -> Option<Duration> {
        Some(Duration::from_secs(7))
    }
}

#[retry(on = [503], base = "1ms", idempotent = false)]
async fn once(flaky: &Flaky) -> Result<u32, Reset> {
    flaky.call().map_err(|_| Reset)
}

#[retry(on = [503], base = "1ms", idempotent)]
async fn again(flaky: &Flaky) -> Result<u32, Reset> {
    flaky.call().map_err(|_| Reset)
}

#[retry(base = "1ms", budget = NONE_LEFT)]
async fn poor(flaky: &Flaky) -> Result<u32, ApiError> {
    flaky.call()
}

#[retry(policy = POLICY, base = "1ms", budget = PLENTY, jitter = slots)]
fn rich(flaky: &Flaky) -> Result<u32, ApiError> {
    flaky.call()
}

#[retry(base = "1ms", budget = budget)]
fn given(flaky: &Flaky, budget: &'static Budget) -> Result<u32, ApiError> {
    flaky.call()
}

#[retry(on = [408], also_on = [503], base = "1ms")]
fn both(flaky: &Flaky) -> Result<u32, ApiError> {
    flaky.call()
}

#[retry(on = [429], base = "1ms", throttled_base = "2ms", max_retry_after = "5s")]
fn too_long_a_hint(flaky: &Flaky) -> Result<u32, Hinted> {
    flaky.call().map_err(|_| Hinted)
}

#[retry(base = "1ms", name = "a.name", on = [503])]
fn named(flaky: &Flaky) -> Result<u32, ApiError> {
    flaky.call()
}

#[tokio::test]
async fn works() {
    assert_eq!(once(&Flaky::failing(2)).await, Err(Reset));
    assert_eq!(again(&Flaky::failing(2)).await, Ok(3));
    assert_eq!(poor(&Flaky::failing(2)).await, Err(ApiError(503)));
    assert_eq!(rich(&Flaky::failing(2)), Ok(3));
    assert_eq!(given(&Flaky::failing(2), &NONE_LEFT), Err(ApiError(503)));
    assert_eq!(given(&Flaky::failing(2), &PLENTY), Ok(3));
    assert_eq!(both(&Flaky::failing(2)), Ok(3));
    assert_eq!(too_long_a_hint(&Flaky::failing(2)), Err(Hinted));
    assert_eq!(named(&Flaky::failing(2)), Ok(3));
}
