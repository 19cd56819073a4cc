//! Thirteen programs to copy, each with its dependencies. The tests run them.
//!
//! The files are in `examples/cookbook` of the repository.
//!
//! Previous: [Beyond one process](super::jobs) · next: [Databases](super::databases)

/// A page for each program: its first line, and the file.
macro_rules! programs {
    ($($name:ident: $file:literal, $title:literal;)*) => {$(
        #[doc = $title]
        ///
        /// [All programs](super::cookbook)
        ///
        /// ```ignore
        #[doc = include_str!($file)]
        /// ```
        pub mod $name {}
    )*};
}

programs! {
    axum: "examples/axum.rs", "A service on axum: it retries calls to another service, logs each wait, serves `/metrics`, and ends waits at shutdown.";
    get: "examples/get.rs", "A GET that is sent again after a failure, and waits at least as long as `Retry-After` says.";
    github: "examples/github.rs", "The stars of repositories of GitHub. When a limit is reached, all calls wait until it is refilled.";
    hosts: "examples/hosts.rs", "Pages of many hosts, with a breaker for each. Logs and errors name the host that is down.";
    iam: "examples/iam.rs", "Changes of a project's allow policy, beside other programs that change it.";
    jobs: "examples/jobs.rs", "Jobs of apalis in SQLite, which come back after a failure.";
    llm: "examples/cookbook_llm.rs", "An answer of an LLM, at once or piece by piece.";
    post_with_key: "examples/post_with_key.rs", "A POST to Stripe that makes one payment intent, however often it is sent.";
    progress: "examples/progress.rs", "A command-line program without async. One line shows what it waits for.";
    redis: "examples/redis.rs", "Redis commands that go on through a failover.";
    s3: "examples/s3.rs", "A change of an object in S3 that others change too, by `If-Match`.";
    sqlx: "examples/sqlx.rs", "A transaction of sqlx that is repeated as a whole.";
    tests_without_waiting: "examples/tests_without_waiting.rs", "An order that is sent with retries, and tests of it that do not wait.";
}
