//! A dashboard and alerts for a program that retries: what the panels show, and what to do when an alert fires.
//!
//! # Dashboards and alerts
//!
//! An outage in these metrics, as the program `outage` of the repository reads them every 250 ms: first the attempts
//! fail, then the budget ends the retries, and the breaker ends the calls.
//!
#![doc = include_str!("../../doc/outage-metrics.svg")]
//!
//! The dashboard and the alerts read the metrics from Prometheus. [Telemetry](super::telemetry_and_shutdown#what-to-turn-on) says what to turn
//! on in the program; set buckets up to your longest deadline. A budget, a rate or a breaker is shown if it has a name.
//!
//! | file | use |
//! |---|---|
//! | `docs/operations/grafana.json` in the repository | In Grafana: Dashboards, New, Import. Then choose the data source. |
//! | `docs/operations/alerts.yml` in the repository | Name it in `rule_files` of Prometheus, and change the limits. |
//!
//! | panels | what they show |
//! |---|---|
//! | calls, by outcome, reason and error | how many calls end, and why they fail; a call that waits is not there yet |
//! | attempts, by result | each attempt at once: an outage is seen here first |
//! | durations, and waits | the 50th, 95th and 99th percentile |
//! | retries a call | how much load the retries add |
//! | budgets | tokens left, in the process with the fewest |
//! | breakers | whether one is open, how often it opened, and how many calls it ended; one that has never opened is not shown |
//! | rates | the limit, the queue, the time in it, and the 429s |
//! | hedges | second requests, and how many of them were first |
//!
//! # When an alert fires
//!
//! | alert | what it means | what to do |
//! |---|---|---|
//! | `RetryBudgetEmpty` | A process has had less than 5 % of its tokens for five minutes: failed calls are not retried. | Repair the service. The budget fills again when calls succeed. |
//! | `RetryBreakerOpen` | A breaker has been open for a minute. | Look in the log for the status that opened it. The next probe that succeeds closes it; without calls there is no probe. |
//! | `RetryCallsFail` | More than 5 % of an operation's calls fail. Answers such as a 404 do not count. | See the reasons. `permanent`: correct the request or the credentials. `deadline`: compare it with the duration of an attempt. `rate`: send less. Others: repair the service. |
//! | `RetryManyRetries` | The operation makes more than one retry for five calls. | See the errors of attempts. A 429: send less, or use a [rate](super::rates). Others: find the cause, and use a [budget](super::budgets_and_outages). |
//! | `RetryRateQueueGrows` | More than ten calls wait, and more come than go. | Make fewer calls, or ask for a higher limit. `max_queue_time` ends calls that wait too long. |
//! | `RetryAttemptsTimeOut` | A timer cuts more than 5 % of the attempts. | Raise the limit if the service is only slower. If it hangs, use a [breaker that stops first attempts](crate::Breaker#stop-first-attempts-too). |
//!
//! `Budget::grpc` stops retries at half of its tokens: write 0.51 into the first rule. Prometheus misses the first
//! value of a new counter, so a failure that happens once in the life of a process may be in the log alone.
//!
//! # In the log
//!
//! A subscriber that writes JSON (`tracing_subscriber::fmt().json()`) gives each field a name. In LogQL, of Grafana
//! Loki:
//!
//! ```text
//! # Calls that a budget ended, by operation
//! sum by (fields_operation) (count_over_time({app="shop"} | json | target="backoff" | fields_reason="budget" [5m]))
//! # What happened to one breaker
//! {app="shop"} | json | target="backoff" | fields_breaker="invoices"
//! # Waits of more than 10 s
//! {app="shop"} | json | target="backoff" | fields_delay > 10
//! ```
//!
//! In a file: `jq -c 'select(.target == "backoff" and .fields.delay > 10)' log.json`.
//!
//! # With OpenTelemetry
//!
//! [OpenTelemetry](crate::telemetry#opentelemetry) has the recorder and its bounds. By default, the gauges then end
//! with `_ratio` in Prometheus, and `retry_rate_limit_count_per_second` is `retry_rate_limit_per_second`. The
//! dashboard and the alerts accept both names.
//!
//! Previous: [Telemetry and shutdown](super::telemetry_and_shutdown) · next: [Testing](super::testing)
