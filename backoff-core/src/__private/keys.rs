//! The keys of the attribute, as an editor offers them.

/// Each key of `#[retry]` that can be the name of a field; `crate` cannot. Only rust-analyzer sees it
/// used.
#[derive(Debug)]
pub struct Keys {
    /// The `Policy` to start from; the other keys change single rules: `policy = iam::REQUEST`.
    pub policy: (),
    /// The wait after the first failure, before jitter: `base = "1s"`.
    pub base: (),
    /// The same after throttling: `throttled_base = "5s"`.
    pub throttled_base: (),
    /// How much longer each wait is than the one before: `factor = 1.5`.
    pub factor: (),
    /// The longest wait, jitter included: `max_backoff = "64s"`.
    pub max_backoff: (),
    /// How waits are spread: `jitter = full`.
    pub jitter: (),
    /// How often the function is called at most, the first call counted: `max_attempts = 8`.
    pub max_attempts: (),
    /// No wait is begun that would end later: `deadline = "5m"`.
    pub deadline: (),
    /// A server's hint beyond it ends the retries: `max_retry_after = "60s"`.
    pub max_retry_after: (),
    /// What the whole call may take, whatever the server does: `timeout = "60s"`.
    pub timeout: (),
    /// What one attempt may take: `attempt_timeout = "10s"`.
    pub attempt_timeout: (),
    /// Which codes are retried, and which patterns of the error: `on = [429, 500..=504, Error::Busy { .. }]`.
    pub on: (),
    /// Codes beside those of the policy: `also_on = [408]`.
    pub also_on: (),
    /// A function or closure of `&E` that decides instead of the codes: `when = |error| error.is_busy()`.
    pub when: (),
    /// Types to look for along the sources of an error that hides its type: `faults(ApiError)`.
    pub faults: (),
    /// A function or closure of `&T`: a value that is not what is awaited is asked for again: `until = |operation| operation.done`.
    pub until: (),
    /// Whether the operation may be applied twice: `idempotent = false`.
    pub idempotent: (),
    /// Whether an error that calls itself a conflict is retried: `retry_conflicts`.
    pub retry_conflicts: (),
    /// Whether a value that is a fault (a response) is judged by the codes too: `responses = false`.
    pub responses: (),
    /// The `static` `Budget` that all retries of one service are paid from: `budget = BUDGET`.
    pub budget: (),
    /// Arguments of which each attempt gets a copy of its own: `clone(body)`.
    pub clone: (),
    /// Arguments declared `mut` whose changes the next attempt is to see: `keep(seen)`.
    pub keep: (),
    /// A name for the `Attempt`, its number and the time elapsed: `attempt = n`.
    pub attempt: (),
    /// A function or closure of `&Event<'_, E>`, told of each failure: `notify = |event| log(event)`.
    pub notify: (),
    /// A function from `Duration` to a future that waits instead of the timer: `sleep = my_timer`.
    pub sleep: (),
    /// Clock, timer and random numbers of another executor: `runtime = MyRuntime`.
    pub runtime: (),
    /// The name in logs: `name = "billing.charge"`.
    pub name: (),
}
