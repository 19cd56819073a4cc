//! Tests that use several crates and talk to real servers. They also test the page below.
#![cfg_attr(doctest, doc = include_str!("../../../README.md"))]

/// The README of the macros. Its example needs a library that re-exports the macros.
#[cfg_attr(doctest, doc = include_str!("../../../backoff-macros/README.md"))]
mod macros {}

/// Examples of the guide, whose clients this package has.
#[cfg_attr(
    doctest,
    doc = "```no_run\n# use http_1 as http;\n# use hyper_1 as hyper;"
)]
#[cfg_attr(doctest, doc = include_str!("../../../backoff-cloud/src/guide/examples/hyper.rs"))]
#[cfg_attr(
    doctest,
    doc = "```\n\n```no_run\n# use reqwest_middleware_05 as reqwest_middleware;"
)]
#[cfg_attr(doctest, doc = include_str!("../../../backoff-cloud/src/guide/examples/middleware.rs"))]
#[cfg_attr(
    doctest,
    doc = "```\n\n```no_run\n# use tonic_014 as tonic;\n# use tonic_014::client::Grpc as GreeterClient;"
)]
#[cfg_attr(doctest, doc = include_str!("../../../backoff-cloud/src/guide/examples/tonic.rs"))]
#[cfg_attr(doctest, doc = "```\n\n```no_run\n# use tonic_014 as tonic;")]
#[cfg_attr(doctest, doc = include_str!("../../../backoff-cloud/src/guide/examples/tonic_attribute.rs"))]
#[cfg_attr(doctest, doc = "```")]
mod guide {}
