//! Programs that are only compiled. Each has many functions that differ in a number.

use std::fmt::Write as _;

/// One program: the text before its functions, one function, and a call of the function. `{i}` is the
/// number of the function.
pub(super) struct Source {
    pub(super) who: &'static str,
    head: &'static str,
    function: &'static str,
    call: &'static str,
}

pub(super) const DEPENDENCIES: &str = r#"
backoff-core = { path = "{repository}/backoff-core", default-features = false, features = ["tokio", "macros"] }
backon = { version = "1", default-features = false, features = ["tokio-sleep"] }
backon-macros = "1"
tokio = { version = "1", features = ["time"] }
"#;

/// The functions of a program.
pub(super) const MANY: u32 = 300;

/// The text that all programs begin with: a client and its error.
const COMMON: &str = r#"
use std::{future::Future, pin::Pin};

type Outcome = Result<u64, ApiError>;
type Boxed<'a> = Pin<Box<dyn Future<Output = Outcome> + Send + 'a>>;

#[derive(Debug)]
pub struct ApiError {
    pub code: u16,
}

pub struct Client;

impl Client {
    pub async fn get(&self, name: &str, number: u64) -> Outcome {
        match name.len() as u64 ^ number {
            7 => Err(ApiError { code: 503 }),
            other => Ok(other),
        }
    }
}
"#;

const OURS: &str = r#"
use backoff_core::{Fault, Policy, retry};
use std::time::Duration;

impl Fault for ApiError {
    fn status(&self) -> Option<u16> {
        Some(self.code)
    }
}

pub const POLICY: Policy = Policy::exponential()
    .base(Duration::from_millis(1))
    .max_backoff(Duration::from_secs(64))
    .max_attempts(11);
"#;

const BACKON: &str = r#"
use backon::{ExponentialBuilder, Retryable};
use backon_macros::backon;
use std::time::Duration;

pub const POLICY: ExponentialBuilder = ExponentialBuilder::new()
    .with_min_delay(Duration::from_millis(1))
    .with_max_delay(Duration::from_secs(64))
    .with_max_times(10)
    .with_jitter();

pub fn policy() -> ExponentialBuilder {
    POLICY
}
"#;

macro_rules! function {
    ($attribute:literal) => {
        concat!(
            $attribute,
            "
pub async fn f{i}(client: &Client, name: &str) -> Outcome {
    let first = client.get(name, {i}).await?;
    client.get(name, first).await
}
"
        )
    };
}

const CALL: &str = "Box::pin(f{i}(client, name))";

/// Functions with an attribute.
pub(super) const FUNCTIONS: &[Source] = &[
    Source {
        who: "plain",
        head: "",
        function: function!(""),
        call: CALL,
    },
    Source {
        who: "ours",
        head: OURS,
        function: function!(
            r#"#[retry(base = "1ms", max_backoff = "64s", max_attempts = 11, on = [429, 500..=504])]"#
        ),
        call: CALL,
    },
    Source {
        who: "ours, policy = POLICY",
        head: OURS,
        function: function!("#[retry(policy = POLICY)]"),
        call: CALL,
    },
    Source {
        who: "backon-macros",
        head: BACKON,
        function: function!("#[backon(backoff = policy)]"),
        call: CALL,
    },
];

/// Calls of a function form. Each closure has a different type.
pub(super) const CALLS: &[Source] = &[
    Source {
        who: "plain",
        head: "",
        function: "",
        call: "Box::pin(async move { client.get(name, {i}).await })",
    },
    Source {
        who: "ours",
        head: OURS,
        function: "",
        call: "Box::pin(POLICY.retry(move || client.get(name, {i})))",
    },
    Source {
        who: "backon",
        head: BACKON,
        function: "",
        call: "Box::pin((move || client.get(name, {i})).retry(POLICY))",
    },
];

impl Source {
    /// The program with this number of functions.
    pub(super) fn text(&self, many: u32) -> String {
        let mut text = format!("#![allow(unused_imports)]\n{COMMON}{}", self.head);
        let mut calls = String::new();
        for i in 0..many {
            let i = i.to_string();
            text.push_str(&self.function.replace("{i}", &i));
            // Each call is in its own function, as in a real program.
            let _ = writeln!(
                text,
                "fn g{i}<'a>(client: &'a Client, name: &'a str) -> Boxed<'a> {{\n    {}\n}}",
                self.call.replace("{i}", &i)
            );
            let _ = writeln!(calls, "    g{i},");
        }
        let _ = writeln!(
            text,
            "type Call = for<'a> fn(&'a Client, &'a str) -> Boxed<'a>;\n\
             static CALLS: [Call; {many}] = [\n{calls}];\n\n\
             fn main() {{\n    \
             for call in &CALLS {{\n        drop(std::hint::black_box(call(&Client, \"a\")));\n    }}\n}}"
        );
        text
    }
}
