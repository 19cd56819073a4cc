//! The features of this crate: what each one adds, and which other features it turns on.
//!
//! ```toml
//! [dependencies]
//! backoff-cloud = { version = "0.1", features = ["http", "tracing"] }
//! ```
//!
//! A feature needs Rust 1.90, unless its row names a newer version. The presets need no feature.
//!
//! # Clients and services
//!
//! | feature | adds | turns on |
//! |---|---|---|
//! | `http` | [`http`](crate::http): sends a request of reqwest 0.13 with retries, and returns the reply as a value, or as an error that keeps its status, headers, `Retry-After` and body; [`iam::Rest`](crate::iam::Rest). | `tokio`, `http-1`, `h2-04`, `hyper-1`, `reqwest-013` |
//! | `combine` | [`iam::Members`](crate::iam::Members), beside [`Policy::combine`](crate::Policy::combine). On by default. | `tokio` |
//! | `apalis-1` | [`apalis`](crate::apalis): jobs of apalis that come back as a policy says. | `tokio` |
//! | `aws-smithy-1` | [`aws::inside`](crate::aws::inside): a policy inside the clients of AWS' SDK for Rust, beside `Fault` for their errors. Needs Rust 1.94.1. | `tokio` |
//! | `gax-1` | [`gax`](crate::gax): a policy inside Google's own clients, beside `Fault` for their errors. Needs Rust 1.91. | `tokio`, `reqwest-013` |
//! | `google-cloud-iam-v1` | [`iam::add`](crate::iam::add), [`iam::remove`](crate::iam::remove) and [`iam::Members`](crate::iam::Members) with Google's client for IAM. Needs Rust 1.91. | `gax-1` |
//! | `google-cloud-iam-admin-v1`, `google-cloud-resourcemanager-v3`, `google-cloud-secretmanager-v1` | the same with Google's client for service accounts, for the Resource Manager, or for the Secret Manager. Needs Rust 1.91. | `google-cloud-iam-v1` |
//!
//! The next tables are those of `backoff-core`. If a feature has a row above too, the row above holds for this crate.
//!
#![doc = include_str!("features.md")]
// Some links lead to items that exist with their feature only. The page is checked with all features; few programs
// have both of these.
#![cfg_attr(
    not(all(feature = "apalis-1", feature = "gax-1")),
    allow(rustdoc::broken_intra_doc_links)
)]
