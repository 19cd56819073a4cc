//! The guide: how to do each thing that the library is for, one page for each.
//!
//! Read the pages in this order, or open the one that you need.
//!
//! `cargo test --workspace` compiles the Rust code of these pages, except that for smol (`-p runtimes --features smol`) and
//! for clients of databases (`-p databases --features servers`). The code runs where that is possible without a network.
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
//! 16. [Testing](testing): test code that retries without waiting.
//! 17. [Beyond one process](jobs): calls that wait for hours, or that must survive a crash.
//!
//! **By subject**
//!
//! 18. [Databases](databases): whole transactions, and connections that are replaced.
//! 19. [Polling, pages and streams](polling_pages_streams): long operations, lists of many pages, and
//!     watches.
//! 20. [tower](mod@tower): a policy as a layer around a client.
//! 21. [Blocking programs](blocking): programs without async, with a progress line.
//! 22. [Executors](executors): run without tokio, on smol, in a browser, on a board.
//! 23. [Beyond retries](beyond): what other tools do better.
//!
//! **From other code**
//!
//! 24. [Coming from another crate](coming_from): how to say the same with this library.
//! 25. [Ported programs](ported): real code before and after.
//! 26. [Comparison](comparison): what other libraries do, with the sources.

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

pub mod first_retry;

pub mod why_retries;

pub mod which;

pub mod errors;

pub mod waits_and_limits;

pub mod idempotency;

pub mod read_modify_write;

pub mod many_writers;

pub mod configuration;

pub mod budgets_and_outages;

pub mod rates;

pub mod quotas;

pub mod hedging;

pub mod right_and_wrong;

pub mod telemetry_and_shutdown;

pub mod testing;

pub mod jobs;

pub mod databases;

pub mod polling_pages_streams;

pub mod tower;

pub mod blocking;

pub mod executors;

pub mod beyond;

pub mod coming_from;

#[cfg(feature = "http")]
pub mod ported;

pub mod comparison;
