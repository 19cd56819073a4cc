//! How the figures of the guide were found, with the commands that draw or measure them.
//!
//! *Simulated* figures come from a virtual clock. They do not depend on the machine, and each command prints them
//! again. *Measured* figures come from real sockets on one machine.
//!
//! ```sh
//! cargo run --release -p examples --example simulation -- NAME
//! ```
//!
//! NAME is `contention`, `iam`, `outage`, `rate`, `quota`, `hedge` or `batch`. With `--check`, `contention`, `outage`,
//! `rate` and `quota` hold the results against limits.
//!
//! # Many writers
//!
//! The model is that of AWS' article [Exponential Backoff And
//! Jitter](https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/): all writers start at once, a
//! call takes two hops of about 10 ms, the base is 5 ms and the cap is 2 s. The figures are means of 1,000 runs with
//! different random numbers (`simulation -- contention`).
//!
//! The shorter all writers together wait, the more of them write within one window, and only one of these writes
//! succeeds. The longer they wait, the more windows stay empty. For writers who write at random moments, the two
//! wastes multiply to one:
//!
//! ```text
//! (writes / changes − 1) · (time / (changes · window) − 1) ≈ 1
//! ```
//!
//! So a small product means a good way to wait. With 100 writers and a window of 20 ms:
//!
//! | waits | writes for each change | windows for each change | product |
//! |---|---|---|---|
//! | at a pace | 7.1 | 1.76 | 4.7 |
//! | full jitter | 8.0 | 2.46 | 10.2 |
//! | equal jitter | 8.1 | 3.33 | 16.6 |
//! | exponential backoff without jitter | 18.6 | 31.8 | 542 |
//!
//! `simulation -- contention --check` compares a pace with full jitter for 1 to 200 writers. With a pace they make at
//! most as many calls; only 200 writers at once make more, by 0.7 %. Crowds are done sooner. A few far writers who
//! start at once are done later: three with a window of 200 ms take 1.4 times the time.
//!
//! At the speed of IAM (hops of 250 ms, `simulation -- iam`), 100 clients make 7.1 writes each at a pace and 6.3 with
//! full jitter; 99 of 100 have succeeded after 81 s and after 125 s.
//!
//! 128 writers under a limit of 60 calls a second:
//!
//! | longest wait, with a base of 20 ms | calls | time |
//! |---|---|---|
//! | 1.28 s | 3,566 | 15.3 s |
//! | 5.12 s | 1,618 | 9.1 s |
//! | 64 s, with a base of 1 s (`iam::READ_MODIFY_WRITE`) | 838 | 16.6 s |
//!
//! Measured, over HTTP, where the service takes 5 ms for each call and all waits are shortened a hundredfold, 100
//! tasks add one member each to one policy:
//!
//! ```sh
//! cargo run --release -p examples --example iam -- --tasks 100 --runs 5
//! ```
//!
//! | what the tasks do | calls | time | tasks that give up |
//! |---|---|---|---|
//! | the loop of IAM's guide, each task alone | 1,700 | 2.7 s | 61 |
//! | full jitter (`iam::READ_MODIFY_WRITE`), each task alone | 1,400 | 1.7 s | 0 |
//! | the same policy with `update(..).version(..)` | 1,400 | 1.2 s | 0 |
//! | combined (`iam::Members`) | 2 | 14 ms | 0 |
//!
//! The command's first table has sixteen writers, while the service throttles, fails and conflicts: with jitter, of
//! this library or of backon, all 16 members arrive; without jitter about 12.
//!
//! A combined change costs about 3,900 instructions for each caller, the same for 2,000 callers and for 38,000
//! (callgrind; a read and a write that cost nothing).
//!
//! # Outages
//!
//! A service answers 1,000 requests a second, and 20 processes send it 700. Then it accepts connections for 30 s and
//! answers nothing. Each request makes up to five attempts, and an attempt is cut after a second. The service does not
//! notice that, and answers requests whose clients have left. Means of 20 runs (`simulation -- outage`):
//!
//! | | attempts for each request in the outage | a request is given up after | recovers after | requests lost in 90 s | answered at 20 % errors |
//! |---|---|---|---|---|---|
//! | jitter alone | 4.62 | 5.75 s | never | 61,667 ± 63 | 99.97 % |
//! | `Budget::costs(500, 5, 5)` | 1.10 | | at once | 20,569 | 99.97 % |
//! | `Budget::aws()` | 1.03 | 1.04 s | at once | 20,649 ± 42 | 99.95 ± 0.01 % |
//! | `Breaker::new()` | 0.076 | 0.08 s | 1 s | 21,290 ± 29 | 96.4 ± 0.2 % |
//! | `Breaker::new().opens_at(15, 24)`, with `Budget::aws()` or without | 0.086 | 0.09 s | 1 s | 21,113 ± 26 | 99.96 ± 0.01 % |
//! | the same, with a probe every 5 s | 0.064 | 0.06 s | 2 s; up to 5 s if the outage ends just after a probe | 22,058 ± 28 | 99.95 ± 0.02 % |
//! | no retry at all | 1 | | at once | 20,985 | 79.98 % |
//!
//! # Rates
//!
//! `simulation -- rate`: 100 workers with 3,000 jobs under a limit of 50 calls a second, as in [Rates](super::rates).
//!
//! The same over real HTTP: `cargo run -p examples --example rate` has 800 jobs of 50 workers under 100 calls a
//! second, which need 8 s. With full jitter they took 24 to 74 s in four runs.
//!
//! `simulation -- quota`: with 500 requests and 80,000 tokens a minute, and minutes of small jobs between minutes of
//! large ones:
//!
//! | calls for a job; time over the least | full jitter | `Rate` without headers | `Rate` with headers |
//! |---|---|---|---|
//! | 1 process, 100 workers | 2.77; 1.06 | 1.13; 1.02 | 1.00; 1.00 |
//! | 4 processes, 100 workers | 2.77; 1.06 | 1.21; 1.04 | 1.04; 1.07 |
//! | 20 processes, 200 workers | 3.58; 1.07 | 1.45; 1.07 | 1.07; 1.09 |
//!
//! Several processes leave a part of the quota unused, because they learn of each other only from the replies.
//!
//! A test runs the program of [Calls to an LLM](super::quotas) with 1,000 prompts, first short and then long ones, 50
//! at a time. The server allows 500 requests and 200,000 tokens a minute; the tokens alone need 69 s:
//!
//! ```sh
//! cargo test -p live --test all -- quotas:: --nocapture
//! ```
//!
//! | the requests have | requests | 429s | prompts without an answer | time |
//! |---|---|---|---|---|
//! | a `Rate`, and the replies state the quotas | 1,000 | 0 | 0 | 71 s |
//! | a `Rate`, and the replies state nothing | 1,145 | 161 | 16 | 69 s |
//! | no `Rate` | about 1,560 | about 735 | about 175 | 40 s |
//!
//! # Hedges
//!
//! 20,000 reads of 20 ms, some of which take 20 times as long; means of 20 seeds (`simulation -- hedge`):
//!
//! | slow replies | | requests for a read | 99 % ended in | 99.9 % ended in |
//! |---|---|---|---|---|
//! | 2 % | no hedge | 1 | 398 ms | 492 ms |
//! | 2 % | `Hedge::after` 40 ms | 1.020 | 60 ms | 65 ms |
//! | 2 % | `Hedge::p95()` | 1.048 | 46 ms | 210 ms |
//! | 20 % | `Hedge::p95()` | 1.049 | 469 ms (without: 493 ms) | 520 ms (545 ms) |
//! | none | `Hedge::p95()` | 1.048 | 27 ms, as without | 29 ms, as without |
//!
//! Over real HTTP: `cargo run -p examples --example hedge`.
//!
//! # Other figures
//!
//! - SQLite: 16 writers of one row took 0.2 s with a `busy_timeout` of 20 ms, and 0.8 s with sqlx's 5 s.
//! - A `deadline = "3s"` around a client of Google's with its default policy took 56 s: an inner loop is one attempt.
//! - The example `jobs` makes 2,000 calls in four worker processes, and kills one of them each second. No job is lost,
//!   and nothing is made twice: `cargo run -p examples --features jobs --example jobs`.
//! - The costs of a call: `benches/README.md` in the repository.
//!
//! Previous: [Comparison](super::comparison)
