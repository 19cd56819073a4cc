//! Examples, each of which does one real thing and shows it.
//!
//! | Command | What it shows |
//! |---|---|
//! | `cargo run -p examples --example iam` | Sixteen writers change one IAM policy at the same time, over real HTTP, while the service throttles, fails and conflicts: without retries, with the wrong retries, with one attribute, and combined into few calls. Then crowds of different sizes do, in four ways. Prints tables and draws two pictures. With `-- processes` the writers are processes of their own. |
//! | `cargo run --release -p examples --example simulation -- contention` | How the ways to wait compare, in virtual time and over many seeds: clients who write the same row (`contention`, and at IAM's scale `iam`), a batch of calls against a rate limit (`batch`), a service that is down for a while (`outage`). Prints a table, draws charts with error bars, writes CSV. |
//! | `cargo run -p examples --example policy -- iam::REQUEST` | What a preset does, in words, as a table of its waits, and drawn. |
//! | `cargo run -p examples --example memorystore` | An instance of Memorystore is created, awaited and deleted, by polling a long-running operation that the service spoils now and then. Prints a line for each call. |
//! | `cargo run -p examples --features official --example official_client` | Google's own Secret Manager client: our policies inside it, a member of a role added by one call, and a read-modify-write with the attribute, while the service conflicts and fails. With `--release … -- contest`: 8 and 32 writers beside the loop of Google's guide. |
//! | `cargo run -p examples --example connect` | A real TCP socket, connected as `connect_retry` of "Advanced Programming in the UNIX Environment" does, to a server that is not up yet. Gives up at once where no socket can be made. |
//! | `cargo run -p examples --example pages` | A list of many pages, read from a service that fails now and then: by a retry that begins anew, and by one that goes on where it was. Prints a line for each. |
//! | `cargo run -p examples --example etcd` | Sixteen writers add their names to one key of a real etcd: without a compare, with one, with five attempts at once, and with `Policy::update`. Starts an etcd of its own, if one is installed. Prints a table. |
//! | `cargo run -p examples --features redis --example redis_failover` | Two real redis-servers behind one address; the primary is killed, hangs, is failed over and demoted under load, and every command is served. Needs redis-server. Prints a table, draws the line of served and failed calls. |
//! | `cargo run -p examples --example shutdown -- --demo` | An axum service that is asked to end while its handlers wait for an upstream that is down: how long the graceful shutdown takes without `stop_on` and with it. Without `--demo` it serves until Ctrl-C. Prints a table. |
//! | `cargo run -p examples --features metrics --example outage` | One outage as an operator sees it: a service throttles, fails, is down and recovers while a program calls it. Serves `/metrics` in Prometheus' format, shows the log and the page, checks that the page agrees with itself and with the callers, and draws attempts, outcomes and the budget from what a scraper read. With `-- --keep` it goes on serving the page. |
//!
//! What the examples share: [`table`], [`drawing`], [`axis`] and [`terminal`].

pub mod axis;
pub mod drawing;
pub mod table;
pub mod terminal;
