//! The keys of the attribute, as an editor offers them.

/// Each key of `#[retry]` that can be the name of a field; `crate` cannot. Only rust-analyzer sees uses
/// of this struct.
#[derive(Debug)]
pub struct Keys {
    /// A `Policy`, of which the other keys change single rules. Without it: `Policy::exponential()`. Example: `policy = iam::REQUEST`.
    pub policy: (),
    /// The first wait, before jitter. Without it: 1 s. Example: `base = "1s"`.
    pub base: (),
    /// The first wait after throttling. Without it: as `base`. Example: `throttled_base = "5s"`.
    pub throttled_base: (),
    /// The growth of the waits, from 1. Without it: 2. Example: `factor = 1.5`.
    pub factor: (),
    /// The longest wait, except for a server's hint. Without it: 64 s. Example: `max_backoff = "64s"`.
    pub max_backoff: (),
    /// `full`, `equal`, `decorrelated`, `slots`, `whole_seconds`, `none`, a duration to add at most, or a `Jitter`. Without it: `full`. Example: `jitter = "1s"`.
    pub jitter: (),
    /// The most calls, the first one included, or `unlimited`. Without it: 5; no limit beside a `deadline` or `timeout` if no base is zero. Example: `max_attempts = 8`.
    pub max_attempts: (),
    /// No wait ends later than this after the start. Without it: none. Example: `deadline = "5m"`.
    pub deadline: (),
    /// A longer hint of the server ends the call; a call without any limit waits so long instead. Without it: the deadline or `timeout`, else 5 min. Example: `max_retry_after = "60s"`.
    pub max_retry_after: (),
    /// Cuts the whole call; async only. Without it: none. Example: `timeout = "60s"`.
    pub timeout: (),
    /// Cuts each attempt; async only. Without it: none. Example: `attempt_timeout = "10s"`.
    pub attempt_timeout: (),
    /// A future that ends the wait, with the last error; async only. Without it: none. Example: `stop_on = token.cancelled()`.
    pub stop_on: (),
    /// As `stop_on`, and cuts the running attempt. Without it: none. Example: `cut_on = token.cancelled()`.
    pub cut_on: (),
    /// A `static` `Budget` (or `&'static`) for the retries of one service. Without it: the policy's. Example: `budget = BUDGET`.
    pub budget: (),
    /// A `static` `Rate` (or `&'static`) for the calls of one service. Without it: the policy's. Example: `rate = RATE`.
    pub rate: (),
    /// Beside a rate: the most tokens of a quota that an attempt uses. Without it: 0. Example: `tokens = prompt.len() as u32 / 3 + 500`.
    pub tokens: (),
    /// A `static` `Breaker` (or `&'static`) that ends calls while the service is down. Without it: the policy's. Example: `breaker = DOWN`.
    pub breaker: (),
    /// The longest wait in the queue of the rate. Without it: none. Example: `max_queue_time = "5s"`.
    pub max_queue_time: (),
    /// Statuses, `Codes`, and patterns of the error, with guards. Without it: the policy's codes. Example: `on = [429, 500..=504, Error::Busy { .. }]`.
    pub on: (),
    /// More codes. Without it: none. Example: `also_on = [408]`.
    pub also_on: (),
    /// A function instead of the codes, which returns a `bool` or a `Verdict`. Without it: as `on`. Example: `when = |error| error.is_busy()`.
    pub when: (),
    /// Types to search for among the error's sources. Without it: the types that the library knows. Example: `faults(ApiError)`.
    pub faults: (),
    /// Whether a value is the awaited one. Without it: any value ends the call. Example: `until = |operation| operation.done`.
    pub until: (),
    /// How many awaited values in a row. Without it: 1. Example: `consecutive = 3`.
    pub consecutive: (),
    /// Whether the operation may be applied twice. Without it: `true`. Example: `idempotent = false`.
    pub idempotent: (),
    /// Whether a conflict is retried. Without it: `false`. Example: `retry_conflicts`.
    pub retry_conflicts: (),
    /// Whether a value that is a `Fault` is judged like an error. Without it: `true` beside codes or a policy, `false` in `retry_block!`. Example: `responses = false`.
    pub responses: (),
    /// Arguments of which each attempt gets a copy; `mut` if the body changes it. Without it: attempts borrow them. Example: `clone(body, mut seen)`.
    pub clone: (),
    /// `mut` arguments whose changes the next attempt sees. Without it: a `mut` argument does not compile without `clone`. Example: `keep(seen)`.
    pub keep: (),
    /// A name for the `Attempt`. Example: `attempt = n`.
    pub attempt: (),
    /// A function of each `Event`: a failure, or a success after retries. Without it: none. Example: `notify = |event| log(event)`.
    pub notify: (),
    /// The level of the log event before each wait, `off`, `error`, `warn`, `info`, `debug`, `trace` or a `LogLevel`. Without it: the policy's, else `info`. Example: `log_waits = debug`.
    pub log_waits: (),
    /// Whether each attempt has a span of `tracing`. Without it: `false`. Example: `attempt_spans`.
    pub attempt_spans: (),
    /// A function from `Duration` to a future (if sync, to nothing). Without it: tokio's, or the thread's. Example: `sleep = my_timer`.
    pub sleep: (),
    /// The clock, timer and random numbers of another executor. Without it: tokio's, or the thread's. Example: `runtime = MyRuntime`.
    pub runtime: (),
    /// The name in logs and metrics. Without it: the function's path. Example: `operation = "billing.charge"`.
    pub operation: (),
}
