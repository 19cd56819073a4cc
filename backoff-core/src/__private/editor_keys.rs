//! The keys of the attribute, as an editor offers them.

/// Each key of `#[retry]` that can be the name of a field; `crate` cannot. Only rust-analyzer sees uses
/// of this struct.
#[derive(Debug)]
pub struct Keys {
    /// A `Policy`: the rules to start from; the other keys change single rules. Without it: `Policy::exponential()`. Example: `policy = iam::REQUEST`.
    pub policy: (),
    /// A duration: the wait after the first failure, before jitter. Without it: 1 s. Example: `base = "1s"`.
    pub base: (),
    /// A duration: replaces `base` after throttling. Without it: as `base`. Example: `throttled_base = "5s"`.
    pub throttled_base: (),
    /// A number from 1: how much longer each wait is than the one before. Without it: 2. Example: `factor = 1.5`.
    pub factor: (),
    /// A duration: the longest wait, including jitter; only a server's hint can be longer, up to `max_retry_after`. Without it: 64 s. Example: `max_backoff = "64s"`.
    pub max_backoff: (),
    /// `full`, `equal`, `decorrelated`, `slots`, `whole_seconds`, `none`; a duration, the most that is added to each wait; or a `Jitter`. Without it: `full`. Example: `jitter = "1s"`.
    pub jitter: (),
    /// A number from 1: the highest number of calls of the function, including the first one. Without it: 5; no limit if there is a `deadline` or a `timeout` and any wait can be longer than zero. Example: `max_attempts = 8`.
    pub max_attempts: (),
    /// A duration from the start of the call: a wait that would end later is not begun. Without it: none. Example: `deadline = "5m"`.
    pub deadline: (),
    /// A duration: if a server asks for a longer wait, the call gives up. Without it: the deadline or the `timeout`, else 5 min. Example: `max_retry_after = "60s"`.
    pub max_retry_after: (),
    /// A duration: the time limit of the whole call, whatever the server does; async only, and the error is `From<TimedOut>`. Without it: none. Example: `timeout = "60s"`.
    pub timeout: (),
    /// A duration: the time limit of each attempt; async only, and the error is `From<TimedOut>`. Without it: none. Example: `attempt_timeout = "10s"`.
    pub attempt_timeout: (),
    /// A future, made once for each call; when it is ready, the call's wait ends; async only. Without it: none. Example: `stop_on = token.cancelled()`.
    pub stop_on: (),
    /// As `stop_on`, and the running attempt is cut, too; the error is `From<Stopped>`. Without it: none. Example: `cut_on = token.cancelled()`.
    pub cut_on: (),
    /// A `static` `Budget`, or a `&'static Budget`, whose tokens all retries of one service take. Without it: the policy's budget. Example: `budget = BUDGET`.
    pub budget: (),
    /// A `static` `Rate`, or a `&'static Rate`, by which all calls with it find the rate that the service allows (feature `rate`). Without it: the policy's rate. Example: `rate = RATE`.
    pub rate: (),
    /// A number (`u32`), beside a rate: how many tokens of the service's quota each attempt uses at most (feature `rate`). Without it: 0: only quotas of requests delay the call. Example: `tokens = prompt.len() as u32 / 3 + 500`.
    pub tokens: (),
    /// A `static` `Breaker`, or a `&'static Breaker`, which ends calls at once while their service is down (feature `breaker`); the error is `From<TimedOut>`. Without it: the policy's breaker. Example: `breaker = DOWN`.
    pub breaker: (),
    /// A duration: the longest wait in the queue of the rate; the error is `From<TimedOut>`. Without it: none. Example: `max_queue_time = "5s"`.
    pub max_queue_time: (),
    /// HTTP statuses, ranges of them, constants of type `Codes`, and patterns of the error, with guards. Without it: the policy's codes; without a policy, errors about which nothing is known as well. Example: `on = [429, 500..=504, Error::Busy { .. }]`.
    pub on: (),
    /// Codes in addition to the policy's codes. Without it: none. Example: `also_on = [408]`.
    pub also_on: (),
    /// A function or closure of `&E` that decides instead of the codes and returns a `bool` or a `Verdict`. Without it: as `on`. Example: `when = |error| error.is_busy()`.
    pub when: (),
    /// Types to search for along the sources of an error that hides its type. Without it: the types that the library knows. Example: `faults(ApiError)`.
    pub faults: (),
    /// A function or closure of `&T` that says whether a value is the awaited one; the error is `From<NotYet>`. Without it: any value ends the call. Example: `until = |operation| operation.done`.
    pub until: (),
    /// A number from 1, beside `until`: how many awaited values in a row end the call. Without it: 1. Example: `consecutive = 3`.
    pub consecutive: (),
    /// Whether the operation may be applied twice; with `false`, a call that may have been applied is not repeated. Without it: `true`. Example: `idempotent = false`.
    pub idempotent: (),
    /// Whether an error that reports a conflict is retried. Without it: `false`. Example: `retry_conflicts`.
    pub retry_conflicts: (),
    /// Whether the codes judge a value that is a `Fault` (a response, a status) like an error; the last response is returned unchanged. Without it: `true` in the attribute where codes or a policy are named, `false` in `retry_block!`. Example: `responses = false`.
    pub responses: (),
    /// Arguments; each attempt gets a copy of its own. Write `mut` before an argument that the body changes. Without it: attempts borrow them. Example: `clone(body, mut seen)`.
    pub clone: (),
    /// Arguments declared `mut`; the next attempt sees their changes. Without it: a `mut` argument is an error, unless it is in `clone(..)`. Example: `keep(seen)`.
    pub keep: (),
    /// A name for the `Attempt`, different from those of the arguments: its number, the time elapsed and remaining, the id of the call, whether an earlier attempt may have been applied. Example: `attempt = n`.
    pub attempt: (),
    /// A function or closure of `&Event<'_, E>`, called after each failure, and when a call succeeds after retries; an `Event` is `Debug`, and `Display` if the error is. Without it: no function is called. Example: `notify = |event| log(event)`.
    pub notify: (),
    /// `off`, `error`, `warn`, `info`, `debug`, `trace`, or a `LogLevel`: the level of the log event before each wait, with the feature `tracing`. Without it: the policy's level, else `info`. Example: `log_waits = debug`.
    pub log_waits: (),
    /// Whether each attempt runs in a span of `tracing`; this needs the feature `tracing`. Without it: `false`. Example: `attempt_spans`.
    pub attempt_spans: (),
    /// A function from `Duration` to a future (in a sync function: to nothing) that waits instead of the timer. Without it: tokio's, or the thread's. Example: `sleep = my_timer`.
    pub sleep: (),
    /// A value with the clock, timer and random numbers of another executor. Without it: tokio's, or the thread's. Example: `runtime = MyRuntime`.
    pub runtime: (),
    /// A text: the name of the operation in logs and metrics. Without it: the function's path. Example: `operation = "billing.charge"`.
    pub operation: (),
}
