//! Unknown keys: with a mistake, of a policy only, and as other libraries call them.

use ui::ApiError;

const RETRIES: u32 = 3;

fn is_busy(error: &ApiError) -> bool {
    error.0 == 429
}

#[derive(Debug)]
enum Busy {
    Now,
}

ui::refused! {
    // A key that is like none: the list of all keys.
    #[retry(colour = "blue")]
    #[retry(dedline = "300s")]
    #[retry(on = [503], retry_after_slack = "5s", scaled = 0.1)]

    // Some count retries, some count calls.
    #[retry(retries = 3)]
    #[retry(tries = 3)]
    #[retry(retry = 3)]
    #[retry(max_retries = RETRIES)]
    #[retry(max_retries = 3)]
    #[retry(max_times = 3)]
    #[retry(stop_after_attempt = 7)]
    #[retry(attempts(3))]
    #[retry(MaxRetryAttempts = 3)]
    #[retry(maxAttempts = 3)]
    #[retry(retries = 1 << 2)]
    #[retry(retries = "3")]

    // What shall not be.
    #[retry(hedge = READS)]
    #[retry(no_jitter)]
    #[retry(non_idempotent)]

    // Times, some of them with a unit.
    #[retry(timeout_ms = 500)]
    #[retry(initial_delay = 100, max_delay = 1000, multiplier = 2)]
    #[retry(min_delay = "100ms", max_interval = "10s")]
    #[retry(max_elapsed_time = 900_000, base_secs = 1)]
    #[retry(rate = RATE, max_wait = "5s")]
    #[retry(fixed = "1s", delay_ms = 200)]
    #[retry(exponential, wait = 2)]
    #[retry(timeout_ms = 1e3, delay = true)]
    #[retry(randomization_factor = 0.5)]

    // Who decides, and who is told.
    #[retry(retry_if = is_busy)]
    #[retry(if = |error| error.0 == 429)]
    #[retry(retry_on = [429, 503])]
    #[retry(include = [429], exclude = [404])]
    #[retry(on_retry = |event| println!("{event:?}"), before_sleep = |_| {})]
    #[retry(name = "invoices.get")]
    #[retry(context = true, adjust = |_, wait| wait)]
    #[retry(retry_if_result = |value| value.is_none())]
    #[retry(error = ApiError)]
    #[retry(retry_on = 503)]
    #[retry(retry_on = Busy::Now, retry_if = 503)]

    // The builders of other libraries, and tenacity's functions.
    #[retry(ExponentialBuilder::default().with_max_times(3), when = is_busy)]
    #[retry(policy = ConstantBuilder::default())]
    #[retry(ExponentialBackoff::from_millis(10).map(jitter).take(3))]
    #[retry(retry_policy = RetryPolicy::exponential(ONE_SECOND))]
    #[retry(stop = stop_after_attempt(3), wait = wait_exponential(multiplier = 1, max = 10))]
    #[retry(stop = (stop_after_delay(10) | stop_after_attempt(5)), reraise = True)]
    #[retry(retry = retry_if_exception_type(IOError), wait = wait_fixed(2))]
    #[retry(stop = stop_after_delay(10))]
}
