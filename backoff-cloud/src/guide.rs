//! The guide: how to do each thing that the library is for, one page for each.
//!
//! | you want to | page |
//! |---|---|
//! | retry one request, or a function | [The first retry](first_retry) |
//! | find the part of the library for your task | [Which of these do I need](which) |
//! | copy a whole program | [The cookbook](cookbook) |
//! | use the policy of a provider | [all presets](crate::presets) |
//!
//! Each page ends with a link to the next one. The search box above finds pages by their subject: try `429`,
//! `idempotency key` or `shutdown`.
//!
//! **Begin here**
//!
//! 1. [The first retry](first_retry): from `cargo add` to a program that retries, in two minutes.
//! 2. [Why retries, and why they hurt](why_retries): when a retry helps, what harm retries do, and what prevents it.
//! 3. [Which of these do I need](which): from what you want to do to the part of the library that does it.
//! 4. [Errors](errors): which errors are retried, and how your own error says what it knows.
//! 5. [Waits and limits](waits_and_limits): how long a call waits, and what ends it.
//!
//! **Writes**
//!
//! 6. [Idempotency](idempotency): requests that must not be made twice, and keys for requests.
//! 7. [Read, modify, write](read_modify_write): change a value that others change too.
//! 8. [Many writers](many_writers): what to use where many programs change one resource.
//!
//! **In production**
//!
//! 9. [Configuration](configuration): policies from files and from the environment.
//! 10. [Budgets and outages](budgets_and_outages): keep retries from prolonging an outage.
//! 11. [Rates](rates): find the rate that a service allows, with all calls together.
//! 12. [Calls to an LLM](quotas): keep the quotas that OpenAI, Anthropic and GitHub state in each reply.
//! 13. [Hedging](hedging): a second request for a slow read.
//! 14. [Right and wrong](right_and_wrong): mistakes that are easy to make, each beside the right code.
//! 15. [Telemetry and shutdown](telemetry_and_shutdown): what a program logs and measures, and how
//!     it stops its calls.
//! 16. [What to watch](operations): a dashboard and alerts, and what to do when one fires.
//! 17. [Testing](testing): test code that retries without waiting.
//! 18. [Beyond one process](jobs): calls that wait for hours, or that must survive a crash.
//! 19. [The cookbook](cookbook): thirteen programs to copy.
//!
//! **By subject**
//!
//! 20. [Databases](databases): whole transactions, and connections that are replaced.
//! 21. [Polling, pages and streams](polling_pages_streams): long operations, lists of many pages, and
//!     watches.
//! 22. [tower](mod@tower): a policy as a layer around a client.
//! 23. [gRPC](grpc): tonic, by attribute or by a layer.
//! 24. [Blocking programs](blocking): programs without async, with a progress line.
//! 25. [Executors](executors): run without tokio, on smol, in a browser, on a board.
//! 26. [Beyond retries](beyond): what other tools do better.
//!
//! **From other code**
//!
//! 27. [Coming from another crate](coming_from): how to say the same with this library.
//! 28. [Ported programs](ported): real code before and after.
//! 29. [Comparison](comparison): what other libraries do, with the sources.
//! 30. [Measurements](measurements): the figures of these pages, and the commands that measure them.
//!
//! The tests compile the Rust code of these pages, and run the code that needs no network. `CONTRIBUTING.md` in the
//! repository names the commands.

// The examples need these features. `cargo test --workspace` has them.
#![cfg(any(
    not(doctest),
    all(
        feature = "breaker",
        feature = "http",
        feature = "rate",
        feature = "serde",
        feature = "testing",
        feature = "tower",
        feature = "tracing"
    )
))]
// Some links lead to items that exist with their feature only. The pages are checked with all features; few programs
// have both of these.
#![cfg_attr(
    not(all(feature = "apalis-1", feature = "gax-1")),
    allow(rustdoc::broken_intra_doc_links)
)]

#[doc(alias("getting started", "tutorial", "quick start", "cargo add"))]
#[doc(alias("reqwest", "first program"))]
pub mod first_retry;

#[doc(alias("thundering herd", "retry storm", "retry amplification"))]
#[doc(alias("cascading failure", "exponential backoff", "transient"))]
#[doc(alias = "why retry")]
pub mod why_retries;

#[doc(alias("choose", "decision", "overview", "cheat sheet"))]
#[doc(alias("attribute or policy", "which policy"))]
pub mod which;

#[doc(alias("503", "500", "retryable", "status code", "anyhow", "thiserror"))]
#[doc(alias("error type", "classification", "which errors", "5xx"))]
pub mod errors;

#[doc(alias("Retry-After", "jitter", "timeout", "deadline", "max_attempts"))]
#[doc(alias("max_delay", "cancel", "linear", "fibonacci"))]
#[doc(alias(
    "retry forever",
    "unlimited",
    "infinite",
    "Lambda",
    "forever",
    "daemon"
))]
#[doc(alias("retry for ever", "endless", "duration", "total time", "worst case"))]
pub mod waits_and_limits;

#[doc(alias("idempotency key", "Idempotency-Key", "POST", "duplicate"))]
#[doc(alias(
    "exactly once",
    "at least once",
    "lost reply",
    "double charge",
    "twice"
))]
pub mod idempotency;

#[doc(alias("etag", "If-Match", "optimistic locking", "compare and swap"))]
#[doc(alias("409", "412", "precondition", "conflict"))]
pub mod read_modify_write;

#[doc(alias("contention", "crowd", "batching", "coalesce"))]
#[doc(alias("concurrent updates", "lost update", "pace"))]
pub mod many_writers;

#[doc(alias("config", "TOML", "serde", "environment variable", "settings"))]
#[doc(alias("dotenv", "reload", "hot reload", "config file"))]
pub mod configuration;

#[doc(alias("circuit breaker", "retry budget", "token bucket", "outage"))]
#[doc(alias("overload", "load shedding", "fail fast"))]
#[doc(alias("per host", "per tenant", "for each host", "host", "tenant"))]
pub mod budgets_and_outages;

#[doc(alias("rate limit", "429", "Too Many Requests", "throttle"))]
#[doc(alias("adaptive", "AIMD", "quota", "RESOURCE_EXHAUSTED"))]
pub mod rates;

#[doc(alias("LLM", "OpenAI", "Anthropic", "Claude", "GPT"))]
#[doc(alias("x-ratelimit-remaining", "tokens per minute", "RateLimit"))]
pub mod quotas;

#[doc(alias("hedged request", "backup request", "tail latency", "p99"))]
#[doc(alias("speculative retry", "slow read"))]
pub mod hedging;

#[doc(alias("pitfall", "mistake", "anti-pattern", "best practice"))]
#[doc(alias("error_for_status", "nested retries", "select!"))]
#[doc(alias("spawn_blocking", "traps"))]
pub mod right_and_wrong;

#[doc(alias("prometheus", "OpenTelemetry", "logging", "metrics", "tracing"))]
#[doc(alias("shutdown", "CancellationToken", "ctrl-c", "observability"))]
#[doc(alias("graceful shutdown", "SIGTERM"))]
pub mod telemetry_and_shutdown;

#[doc(alias("dashboard", "Grafana", "alert", "runbook", "monitoring"))]
#[doc(alias("PromQL", "LogQL", "Loki", "alertmanager"))]
pub mod operations;

#[doc(alias("mock", "virtual time", "start_paused", "unit test"))]
#[doc(alias("fault injection", "chaos", "wiremock", "test without waiting"))]
pub mod testing;

#[doc(alias("apalis", "queue", "cron", "Celery", "Temporal"))]
#[doc(alias("Step Functions", "durable", "background job"))]
pub mod jobs;

#[doc(alias("examples", "programs", "recipes"))]
pub mod cookbook;

#[doc(alias("sqlx", "PostgreSQL", "MySQL", "SQLite", "Redis", "deadlock"))]
#[doc(alias("serialization failure", "transaction", "40001", "failover"))]
pub mod databases;

#[doc(alias("polling", "long-running operation", "pagination", "page token"))]
#[doc(alias("stream", "watch", "server-sent events", "SSE", "resumable download"))]
pub mod polling_pages_streams;

#[doc(alias("layer", "middleware", "reqwest-middleware", "hyper", "client"))]
pub mod tower;

#[doc(alias("tonic", "Status", "protobuf"))]
pub mod grpc;

#[doc(alias("sync", "ureq", "thread", "command line", "CLI", "progress bar"))]
#[doc(alias = "without async")]
pub mod blocking;

#[doc(alias("smol", "wasm", "WebAssembly", "browser", "embassy", "no_std"))]
#[doc(alias("async-std", "monoio"))]
pub mod executors;

#[doc(alias("governor", "moka", "cache", "fallback", "rate limiter"))]
#[doc(alias("semaphore", "bulkhead", "concurrency limit"))]
pub mod beyond;

#[doc(alias("migration", "backon", "tokio-retry", "tokio-retry2"))]
#[doc(alias("reqwest-retry", "google-cloud-gax", "exponential_backoff"))]
pub mod coming_from;

#[cfg(feature = "http")]
#[doc(alias("case study", "before and after", "rattler", "rustic", "resend"))]
#[doc(alias = "async-openai")]
pub mod ported;

#[doc(alias("alternatives", "versus", "backon", "tower-resilience"))]
#[doc(alias(
    "seatbelt",
    "reqwest-retry",
    "performance",
    "compile time",
    "build time"
))]
#[doc(alias("dependencies", "allocation", "cost", "overhead"))]
pub mod comparison;

#[doc(alias("benchmark", "figures", "simulation"))]
pub mod measurements;
