//! Programs to copy, and programs that show figures of the library. Run the commands in the root of the repository.
//!
//! # The cookbook
//!
//! Copy a file of `examples/cookbook/` into your project. Its first lines name the dependencies. A test runs each program
//! against a service that fails:
//!
//! | Program | What it shows | Test |
//! |---|---|---|
//! | `get.rs` | A GET that waits at least as long as `Retry-After` says. | `cargo test -p examples --test cookbook get::` |
//! | `post_with_key.rs` | A POST to Stripe whose attempts have one idempotency key, so that one payment intent is made. | `cargo test -p examples --test cookbook post_with_key::` |
//! | `iam.rs` | Changes of an allow policy of Google Cloud: a grant, and a read-modify-write of your own. | `cargo test -p examples --test cookbook iam::` |
//! | `llm.rs` | An answer of an LLM, and an answer as a stream. | `cargo test -p examples --test cookbook llm::` |
//! | `github.rs` | Requests to GitHub, which wait for the next window when a limit is reached. | `cargo test -p examples --test cookbook github::` |
//! | `hosts.rs` | Pages of many hosts, with a breaker for each. | `cargo test -p examples --test cookbook hosts::` |
//! | `s3.rs` | A change of an object in S3, written with `If-Match` and read again after a conflict. | `cargo test -p examples --features s3 --test cookbook_s3` |
//! | `sqlx.rs` | A transaction of sqlx, which is made again after a conflict: SQLite, with comments for PostgreSQL. | `cargo test -p examples --features cookbook --test cookbook sqlx::` |
//! | `redis.rs` | Commands to a Redis that fails over. | `cargo test -p examples --features cookbook --test cookbook redis::` |
//! | `axum.rs` | A service with a graceful shutdown, a log and metrics. | `cargo test -p examples --features cookbook --test cookbook axum::` |
//! | `jobs.rs` | Jobs of apalis, which come back as a policy says. | `cargo test -p examples --features cookbook --test cookbook jobs::` |
//! | `progress.rs` | A command-line program that shows its waits in a progress line. | `cargo test -p examples --features cookbook --test cookbook progress::` |
//! | `tests_without_waiting.rs` | Tests of a program that retries: no wait lasts, and faults come by a script or a seed. | `cargo test -p examples --test cookbook tests_without_waiting::` |
//!
//! # Larger programs, and the library's figures
//!
//! Each example does one real thing and shows the result. `-- --help` after `iam`, `simulation`, `lab`, `jobs` or `outage` lists the options.
//!
//! | Command | What it shows |
//! |---|---|
//! | `cargo run -p examples --example hello` | The first program of the README: a call that is retried, and its server. |
//! | `cargo run -p examples --example iam` | Sixteen writers change one IAM policy at the same time, over real HTTP, while the service throttles, fails and conflicts: without retries, with the wrong retries, with one attribute, and combined into few calls. Then groups of different sizes change one policy, in four ways. Prints tables, and draws the two ways that differ most: `docs/readme.svg`. |
//! | `cargo run --release -p examples --example simulation -- contention` | Compares ways to wait, in virtual time and over many seeds. Scenarios: clients that write the same row (`contention`, and `iam` for IAM's times), a batch of calls against a rate limit (`batch`, `rate` for calls that share what a 429 says, and `quota` for replies that state what remains), reads of which some are slow and get a second request (`hedge`), and a service that is down for a while (`outage`). Prints a table, and draws charts with error bars. With `--check`, `contention`, `rate`, `quota` and `outage` hold what the library does against limits. |
//! | `cargo run -p examples --example lab` | Serves a page on which you change the rules of a policy and see what it does: the waits of one call, a crowd of clients in an outage, and clients that compete. The page has the policy as `#[retry(..)]`, as a constant and as TOML, and its address holds all values. |
//! | `cargo run -p examples --example rate` | 50 workers with 800 jobs call a server that allows 100 calls a second, over real HTTP: each call with full jitter alone, and then with a `Rate` that all calls share. Prints a line for each way. |
//! | `cargo run -p examples --example hedge` | Reads over real HTTP from a service of which one reply in 50 is 20 times as slow: without a second request for slow reads, with one after a fixed delay, and with one after the 95th percentile of the last answers. Prints a line for each way. |
//! | `cargo run -p examples --example connect` | Connects a real TCP socket to a server that is not up yet, as `connect_retry` of "Advanced Programming in the UNIX Environment" does. Gives up at once if no socket can be made. Prints a line for each attempt that fails. |
//! | `cargo run -p examples --example memorystore` | Creates an instance of Memorystore, polls the long-running operation until the instance is ready, and deletes the instance, while the service fails, throttles and loses replies. Prints a line for each call. |
//! | `cargo run -p examples --example pages` | Reads a list of many pages from a service that fails now and then, in two ways: a retry that begins again with the first page, and a retry that continues with the page that failed. Prints a line for each way. |
//! | `cargo run -p examples --features jobs --example jobs` | 2,000 jobs in a queue of apalis: grants of IAM, and charges by HTTP with an operation id, against a service that throttles, fails and loses replies. Four worker processes run the jobs, and one of them is killed each second. Prints how many jobs are left, and in the end what was done, given up and made twice. About twenty seconds. |
//! | `cargo run -p examples --features metrics --example outage` | Shows one outage as an operator sees it: a service throttles, fails, is down and recovers while a program calls it. Serves `/metrics` in Prometheus' format, prints the log and the page, and draws the metrics: `backoff-cloud/doc/outage-metrics.svg`. With `-- --keep`, the program continues to serve the page. |
//!
//! The examples share these modules: [`simulation`], [`table`], [`drawing`], [`axis`], [`chart`], [`stats`], [`results`]
//! and [`terminal`].

pub mod axis;
pub mod chart;
pub mod drawing;
pub mod results;
pub mod simulation;
pub mod stats;
pub mod table;
pub mod terminal;
