//! After this page your calls find the rate that a service allows, and you know when to use something else.
//!
//! # The problem
//!
//! A service allows so many calls a second and answers the others with 429. Each call finds a wait for itself, and the
//! calls of a process learn nothing from each other: 100 workers with 3,000 jobs under a limit of 50 a second make
//! 1.87 calls for each job with full jitter, and take 1.93 times the time that the limit needs. With a
//! [`Rate`](crate::Rate) they make 1.03 calls for each job and take as long as the limit needs
//! ([Measurements](super::measurements#rates)).
//!
//! # A rate
//!
//! Add the feature `rate` (`features = ["http", "rate"]`). Declare one `static` for each limit, and name it in
//! every policy for that limit, or as a key of a function, `#[retry(rate = GMAIL)]`:
//!
//! ```
//! use backoff_cloud::{Policy, Rate, TimedOut, retry};
//!
//! static GMAIL: Rate = Rate::new();
//! const POLICY: Policy = Policy::exponential().rate(&GMAIL);
//!
//! #[retry(policy = POLICY)]
//! async fn label(message: u64) -> Result<u64, TimedOut> {
//!     Ok(message)
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! assert_eq!(label(1).await, Ok(1));
//! assert_eq!(GMAIL.per_second(), None); // no 429 yet: no call is delayed
//! # }
//! ```
//!
//! Before the first 429 the rate delays no call. After it, all calls of the rate wait in one queue, first in,
//! first out. Single calls probe the service, at most 64 s apart, until one of them succeeds. Then the calls go at a
//! rate that rises slowly near the rate that the service took last, and fast far above it. A minute after the last
//! 429, or later with a longer [`settle`](crate::Rate::settle) or after a block, the rate switches itself off.
//!
//! - After a 429 a call waits as long as its `Retry-After` says, and then joins the end of the queue. After another
//!   failure the call waits as the policy says, and then joins the queue.
//! - The time in the queue is no attempt and costs no token of a budget. It counts against `deadline` and `timeout`.
//!   `attempt_timeout` begins with the attempt.
//! - A retry whose turn would come after the deadline ends at once with its last error and
//!   [`StopReason::Rate`](crate::StopReason::Rate). A call whose deadline comes in the queue ends with an error made from
//!   [`TimedOut`](crate::TimedOut). Derive [`Fault`](crate::Fault) for an error with `From<TimedOut>`, or write
//!   [`Fault::late`](crate::Fault::late). A call whose error cannot be made begins its attempt then, and the log warns.
//! - A call that is dropped leaves the queue. A call that is not polled holds up nobody: after 20 ms its turn goes on.
//!
//! # Services that state their quotas
//!
//! OpenAI, Groq, Anthropic, GitHub, Cloudflare and others state in each reply what remains of a quota. A `Rate` hears
//! that, so its calls keep the quota before the first 429: [how](crate::Rate#quotas). `send`, the functions of
//! [`http`](crate::http) and the layer of tower hear the replies by themselves. Of a reply that another client reads,
//! give the headers to [`observe`](crate::Rate::observe). [Calls to an LLM](super::quotas) has the program, and says
//! how to name tokens.
//!
//! # Every process of the quota needs it
//!
//! Calls with a `Rate` slow down at each 429, and calls with jitter alone do not. Beside a process of 50 workers with
//! jitter alone, a process with a `Rate` gets 3 % of the calls that the service admits. So give every process that
//! uses the quota a `Rate`, or none. The log warns when the service admits less than a tenth of the calls that it
//! admitted before the first 429.
//!
//! # Servers: `max_queue_time`
//!
//! A queue turns overload into waiting. A server whose callers leave after a few seconds says how long a call may wait
//! in the queue: `#[retry(rate = GMAIL, max_queue_time = "2s")]`, or
//! [`.max_queue_time(..)`](crate::Retrying::max_queue_time). After that time the call ends with an error made from
//! [`TimedOut`](crate::TimedOut), and nothing was sent.
//!
//! # Services that block
//!
//! Some services refuse everything for a while once somebody goes over the limit, and block longer whoever asks
//! meanwhile. `Rate::new().pause_after_refusal(Duration::from_secs(60))` lets no call go after a 429 for as long as
//! the service asks, or for a minute if it names no time.
//!
//! After any block of more than 75 s, calls go at half of the rate before it, for as long as the block took (up to five
//! minutes), so that the next one does not follow at once.
//!
//! # One rate for one limit
//!
//! One `Rate` for two limits throttles the free one to the rate of the other. Where each customer has a limit, give a
//! call its rate out of a [`Keyed`](crate::Keyed): [One for each host](super::budgets_and_outages#one-for-each-host). The first burst is refused as without a `Rate`, so 50 calls at
//! once under a limit of 5 a second make about two requests each.
//!
//! # Which tool
//!
//! | the problem | the tool |
//! |---|---|
//! | the service answers 429 from a rate that you do not know, or that others use too | a [`Rate`](crate::Rate) |
//! | you know the limit, and no other program uses it | a limiter such as the crate `governor`, [around each attempt](super::beyond#a-rate-limit): no call is refused |
//! | the service allows so many calls at the same time | a semaphore, [around each attempt](super::beyond#a-bulkhead) |
//! | the service is down, and retries keep it down | a [`Budget`](super::budgets_and_outages) |
//!
//! # What not to expect
//!
//! Full jitter alone is better in these cases:
//!
//! - The hints of the service are always far too long: a refused call obeys them, and stops the others for up to 64 s
//!   at a time.
//! - One or two callers have a quota of a few calls a minute, or the service counts in fixed windows and names their
//!   end.
//! - The calls have few attempts (`max_attempts(8)`), and the service refuses every call for a minute without a hint.
//!
//! And some limits need something else:
//!
//! - A service takes about five calls at the same time, and each call takes seconds. Use a semaphore.
//! - Several processes share nothing but the 429s of the service. They share a limit per second evenly, and a limit
//!   in windows of a minute unevenly.
//! - The clients of [Google](crate::gax) and [AWS](crate::aws) have loops of their own, which do not ask a
//!   `Rate`. Neither do [`resuming`](crate::Policy::resuming) and [`RetryState`](crate::RetryState).
//!
//! # What operators see
//!
//! Give the rate a name: `Rate::new().name("gmail")`. A change of the rate is an
//! [`Event::RateChanged`](crate::Event) and a log line at `DEBUG`. The log has a `WARN` when calls wait for more than a
//! minute or for longer than they may, when an attempt begins at its deadline without a turn, and when others use the
//! quota: each once until the service has taken calls again. With the feature `metrics`:
//!
//! | sign | meaning |
//! |---|---|
//! | gauge `retry.rate.limit` is finite | calls wait for their turn; the number is the calls a second |
//! | histogram `retry.rate.delay` | how long calls wait in the queue |
//! | counter `retry.rate.refused` | the 429s |
//!
//! Previous: [Budgets and outages](super::budgets_and_outages) · next: [Calls to an LLM](super::quotas)
