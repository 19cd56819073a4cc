//! `Fault` for the errors of other crates: one file for each crate, and one feature for each crate
//! other than the standard library. If an error can be made from a cut attempt, its `From<TimedOut>` is
//! in the same file.

pub(crate) mod boxed;
mod io;
mod sources;

#[cfg(feature = "aws-smithy-1")]
pub(crate) mod aws_smithy;
#[cfg(feature = "azure-core-1")]
mod azure_core;
#[cfg(feature = "gax-1")]
mod gax;
#[cfg(feature = "h2-04")]
mod h2;
#[cfg(feature = "http-1")]
mod http;
#[cfg(feature = "hyper-1")]
mod hyper;
#[cfg(feature = "hyper-util-01")]
mod hyper_util;
#[cfg(feature = "kube-5")]
mod kube;
#[cfg(feature = "object-store-014")]
mod object_store;
#[cfg(feature = "redis-1")]
mod redis;
#[cfg(any(feature = "reqwest-012", feature = "reqwest-013"))]
mod reqwest;
#[cfg(any(
    feature = "sqlx-08",
    feature = "sqlx-09",
    feature = "tokio-postgres-07"
))]
mod sqlstate;
#[cfg(any(feature = "sqlx-08", feature = "sqlx-09"))]
mod sqlx;
#[cfg(feature = "tokio-postgres-07")]
mod tokio_postgres;
#[cfg(feature = "tonic-014")]
mod tonic;
#[cfg(feature = "ureq-3")]
mod ureq;
