//! `Fault` for the errors of other crates: one file for each crate, and one feature for each crate
//! other than the standard library. If an error can be made from a cut attempt, its `From<TimedOut>` is
//! in the same file.

pub(crate) mod boxed;
mod io;
#[cfg(test)]
mod rows;
mod sources;
#[cfg(any(
    feature = "sqlx-08",
    feature = "sqlx-09",
    feature = "tokio-postgres-07"
))]
mod sqlstate;

/// Each client: its file, and behind each feature the errors that `boxed` knows.
macro_rules! clients {
    ($($vis:vis $file:ident { $($feature:literal: $($known:ty),*;)+ })*) => {
        $(
            #[cfg(any($(feature = $feature),+))]
            $vis mod $file;
        )*

        /// The facts of an error of one of the clients.
        fn of_a_client(cause: boxed::Cause<'_>) -> Option<&dyn crate::facts::fault::Fault> {
            $($($(
                #[cfg(feature = $feature)]
                if let Some(fault) = boxed::as_fault::<$known>(cause) {
                    return Some(fault);
                }
            )*)+)*
            let _ = cause;
            None
        }

        #[cfg(test)]
        mod tests {
            use crate::{
                __private::{Named, via::*},
                facts::fault::{Fault, TimedOut},
            };
            use std::{error::Error, io};

            #[test]
            fn an_error_that_can_be_made_from_timed_out_says_so() {
                /// A type and how the error is made.
                macro_rules! says_so {
                    ($error:ty) => {{
                        let made = (&Named::<$error>::of()).__backoff_late();
                        let says = <$error as Fault>::late();
                        assert_eq!(says.is_some(), made.is_some(), stringify!($error));
                    }};
                }

                says_so!(TimedOut);
                says_so!(io::Error);
                says_so!(Box<dyn Error + Send + Sync>);
                #[cfg(feature = "anyhow-1")]
                says_so!(anyhow_1::Error);
                #[cfg(feature = "aws-smithy-1")]
                {
                    use aws_smithy_runtime_api_1::client::{
                        orchestrator::HttpResponse, result::SdkError,
                    };
                    says_so!(SdkError<aws_smithy_types_1::error::ErrorMetadata, HttpResponse>);
                }
                $($($(
                    #[cfg(feature = $feature)]
                    says_so!($known);
                )*)+)*
            }
        }
    };
}

clients! {
    pub(crate) aws_smithy {
        "aws-smithy-1": aws_smithy_runtime_api_1::client::result::ConnectorError,
            aws_smithy_types_1::error::ErrorMetadata;
    }
    azure_core { "azure-core-1": azure_core_1::Error; }
    gax { "gax-1": google_cloud_gax_1::error::Error; }
    h2 { "h2-04": h2_04::Error; }
    http { "http-1": ; }
    hyper { "hyper-1": hyper_1::Error; }
    hyper_util { "hyper-util-01": ::hyper_util::client::legacy::Error; }
    kube { "kube-5": kube_client_5::Error; }
    object_store { "object-store-014": object_store_014::Error; }
    redis { "redis-1": redis_1::RedisError; }
    reqwest { "reqwest-012": reqwest_012::Error; "reqwest-013": reqwest_013::Error; }
    reqwest_middleware { "reqwest-middleware-05": reqwest_middleware_05::Error; }
    sqlx { "sqlx-08": sqlx_08::Error; "sqlx-09": sqlx_09::Error; }
    tokio_postgres { "tokio-postgres-07": tokio_postgres_07::Error; }
    tonic {
        "tonic-014": tonic_014::Status, tonic_014::transport::Error, tonic_014::ConnectError,
            tonic_014::TimeoutExpired;
    }
    ureq { "ureq-3": ureq_3::Error; }
}
