//! The guide: how to do each thing that the library is for, one page for each.
//!
//! Read the pages in this order, or open the one that you need. Every snippet is compiled when the
//! library is tested, and runs where that is possible without a network.
//!
//! **Begin here**
//!
//! 1. [The first retry](first_retry): from `cargo add` to a program that retries, in two minutes.
//! 2. [Errors](errors): which errors are retried, and how your own error says what it knows.
//! 3. [Waits and limits](waits_and_limits): how long a call waits, and what ends it.
//!
//! **Writes**
//!
//! 4. [Idempotency](idempotency): requests that must not be made twice, and keys for requests.
//! 5. [Read, modify, write](read_modify_write): change a value that others change too.
//! 6. [Many writers](many_writers): what to use where many programs change one resource.
//!
//! **In production**
//!
//! 7. [Budgets and outages](budgets_and_outages): keep retries from prolonging an outage.
//! 8. [Rates](rates): find the rate that a service allows, with all calls together.
//! 9. [Traps](traps): retries inside retries, calls that end early, and other mistakes.
//! 10. [Telemetry and shutdown](telemetry_and_shutdown): what a program logs and measures, and how
//!     it stops its calls.
//! 11. [Testing](testing): test code that retries without waiting.
//! 12. [Beyond one process](jobs): calls that wait for hours, or that must survive a crash.
//!
//! **By subject**
//!
//! 13. [Databases](databases): whole transactions, and connections that are replaced.
//! 14. [Polling, pages and streams](polling_pages_streams): long operations, lists of many pages, and
//!     watches.
//! 15. [tower](mod@tower): a policy as a layer around a client.
//! 16. [Executors](executors): run without tokio.
//! 17. [Beyond retries](beyond): what other tools do better.
//!
//! **From other code**
//!
//! 18. [Coming from another crate](coming_from): how to say the same with this library.
//! 19. [Ported programs](ported): real code before and after.
//! 20. [Comparison](comparison): what other libraries do, with the sources.

// Some links lead to items that exist with their feature only. The pages on docs.rs have all features.
#![cfg_attr(
    not(all(
        feature = "apalis-1",
        feature = "emulator",
        feature = "gax-1",
        feature = "http",
        feature = "metrics",
        feature = "rate",
        feature = "reconnect",
        feature = "serde",
        feature = "testing",
        feature = "tokio",
        feature = "tower",
        feature = "tracing"
    )),
    allow(rustdoc::broken_intra_doc_links)
)]

pub mod first_retry;

pub mod errors;

pub mod waits_and_limits;

pub mod idempotency;

pub mod read_modify_write;

pub mod many_writers;

pub mod budgets_and_outages;

pub mod rates;

pub mod traps;

pub mod telemetry_and_shutdown;

pub mod testing;

pub mod jobs;

pub mod databases;

pub mod polling_pages_streams;

pub mod tower;

pub mod executors;

pub mod beyond;

pub mod coming_from;

#[cfg(feature = "http")]
pub mod ported;

pub mod comparison;
