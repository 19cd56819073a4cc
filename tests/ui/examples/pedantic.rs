//! Annotated functions of every kind. Clippy's strictest sets are on, so that a lint which what the
//! macros write would set off fails the build's `cargo clippy -- -D warnings`.

#![warn(
    clippy::all,
    clippy::pedantic,
    clippy::nursery,
    clippy::allow_attributes,
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::clone_on_ref_ptr,
    clippy::default_numeric_fallback,
    clippy::else_if_without_else,
    clippy::exhaustive_enums,
    clippy::float_arithmetic,
    clippy::indexing_slicing,
    clippy::infinite_loop,
    clippy::min_ident_chars,
    clippy::mixed_read_write_in_expression,
    clippy::multiple_unsafe_ops_per_block,
    clippy::panic,
    clippy::question_mark_used,
    clippy::ref_patterns,
    clippy::same_name_method,
    clippy::semicolon_inside_block,
    clippy::shadow_reuse,
    clippy::shadow_same,
    clippy::shadow_unrelated,
    clippy::single_call_fn,
    clippy::std_instead_of_core,
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    missing_debug_implementations,
    missing_docs,
    rust_2018_idioms,
    rust_2024_compatibility,
    single_use_lifetimes,
    trivial_casts,
    trivial_numeric_casts,
    unreachable_pub,
    unused,
    unused_import_braces,
    unused_lifetimes,
    unused_qualifications,
    unused_results,
    variant_size_differences
)]
#![expect(
    clippy::question_mark_used,
    clippy::single_call_fn,
    clippy::exhaustive_enums,
    clippy::manual_async_fn,
    reason = "the functions below are users' own and do so"
)]

use backoff_core::{
    Attempt, Budget, Codes, Event, Fault, NotYet, Policy, Stopped, TimedOut, codes, retry,
    retry_block,
};
use core::future::Future;
use core::time::Duration;

/// What all functions here fail with.
#[derive(Debug, thiserror::Error, Fault)]
pub enum Error {
    /// The service said so.
    #[error("status {code}")]
    #[fault(status = code, retry_after = wait)]
    Api {
        /// The status.
        code: u16,
        /// How long to wait.
        wait: Option<Duration>,
    },
    /// Too slow.
    #[error(transparent)]
    #[fault(forward)]
    Late(#[from] TimedOut),
    /// The program shuts down.
    #[error(transparent)]
    #[fault(forward)]
    Stopped(#[from] Stopped),
    /// Not the awaited value.
    #[error(transparent)]
    #[fault(pending)]
    NotYet(#[from] NotYet),
    /// Changed meanwhile.
    #[error("changed")]
    #[fault(conflict)]
    Changed,
}

const POLICY: Policy = Policy::exponential().on(codes![503, Codes::ABORTED]);
static BUDGET: Budget = Budget::ratio(0.1, 10);

async fn work(name: &str) -> Result<usize, Error> {
    core::future::ready(()).await;
    Ok(name.len())
}

fn hear(event: &Event<'_, Error>) {
    drop(event.to_string());
}

/// Each attempt in a span.
///
/// # Errors
/// Any.
#[retry(attempt_spans, attempt_timeout = "10s", clone(body))]
pub async fn in_spans(name: &str, body: Vec<u8>) -> Result<usize, Error> {
    Ok(work(name).await?.saturating_add(body.len()))
}

/// With everything.
///
/// # Errors
/// Any.
#[retry(
    policy = POLICY, base = "1s", factor = 2, max_backoff = "64s", jitter = full, max_attempts = 3,
    deadline = "5m", attempt_timeout = "10s", throttled_base = "2s", max_retry_after = "1m",
    on = [429, 500..=504, Error::Changed, Error::Api { code: 404, wait } if wait.is_some()],
    also_on = [408], idempotent, retry_conflicts, budget = BUDGET, clone(body), keep(seen),
    attempt = attempt, notify = hear, operation = "everything"
)]
pub async fn everything(name: &str, mut body: Vec<u8>, mut seen: usize) -> Result<usize, Error> {
    body.push(1);
    seen = seen.saturating_add(number(attempt));
    let length = work(name).await?;
    Ok(length.saturating_add(body.len()).saturating_add(seen))
}

fn number(attempt: Attempt) -> usize {
    usize::try_from(attempt.number()).unwrap_or(usize::MAX)
}

/// Not async.
///
/// # Errors
/// Any.
#[retry(when = |error: &Error| matches!(error, Error::Changed), max_attempts = limit)]
pub fn blocking(limit: u32) -> Result<u32, Error> {
    Ok(limit)
}

/// Not async, with a hook and something awaited.
///
/// # Errors
/// Any.
#[retry(policy = POLICY, deadline = "1m", until = |value: &u32| *value > limit, notify = hear, operation = "told", attempt_spans = true)]
pub fn told(limit: u32) -> Result<u32, Error> {
    Ok(limit)
}

/// Awaited, with attempts that are cut.
///
/// # Errors
/// Any.
#[retry(deadline = "1m", attempt_timeout = "10s", until = |length| *length > 3, consecutive = 2)]
pub async fn awaited(name: &str) -> Result<usize, Error> {
    work(name).await
}

/// A future of its own.
///
/// # Errors
/// Any.
#[retry(on = [503])]
pub fn future(name: &str) -> impl Future<Output = Result<usize, Error>> + Send {
    async move { work(name).await }
}

/// A service.
#[async_trait::async_trait]
pub trait Service {
    /// Gets.
    async fn get(&self, name: &str) -> Result<usize, Error>;
    /// Gets, with limits of its own.
    async fn limited(&mut self, name: &str) -> Result<usize, Error>;
}

/// One.
#[derive(Debug)]
pub struct Client;

#[async_trait::async_trait]
impl Service for Client {
    #[retry(policy = POLICY)]
    async fn get(&self, name: &str) -> Result<usize, Error> {
        work(name).await
    }

    #[retry(policy = POLICY, max_attempts = self.limit())]
    async fn limited(&mut self, name: &str) -> Result<usize, Error> {
        let limit = usize::try_from(self.limit()).unwrap_or(0);
        Ok(work(name).await?.saturating_add(limit))
    }
}

impl Client {
    const fn limit(&self) -> u32 {
        let Self = self;
        3
    }

    /// In a span.
    ///
    /// # Errors
    /// Any.
    #[retry(policy = POLICY)]
    #[tracing::instrument]
    pub async fn spanned(&self, name: String) -> Result<usize, Error> {
        work(&name).await
    }
}

/// Blocks.
///
/// # Errors
/// Any.
pub async fn blocks(name: &str) -> Result<usize, Error> {
    let mut seen = 0_usize;
    let first = retry_block!(policy = POLICY, async {
        seen = seen.saturating_add(1);
        work(name).await
    })
    .await?;
    let second = retry_block!(max_attempts = 2, { Ok::<_, Error>(first) })?;
    Ok(second.saturating_add(seen))
}

/// Its waits end with the program.
///
/// # Errors
/// Any.
#[retry(policy = POLICY, stop_on = shutdown)]
pub async fn stopped(name: &str, shutdown: impl Future + Send) -> Result<usize, Error> {
    work(name).await
}

/// So do its attempts.
///
/// # Errors
/// Any.
#[retry(policy = POLICY, attempt_timeout = "10s", cut_on = shutdown, notify = hear)]
pub async fn cut_short(name: &str, shutdown: impl Future + Send) -> Result<usize, Error> {
    work(name).await
}

/// A boxed future under another name.
pub type Answer<'a> = core::pin::Pin<Box<dyn Future<Output = Result<usize, Error>> + Send + 'a>>;

/// An alias.
///
/// # Errors
/// Any.
#[must_use]
#[retry(on = [503])]
pub fn alias(name: &str) -> Answer<'_> {
    Box::pin(async move { work(name).await })
}

/// A copy for each attempt, and nothing else takes the argument.
///
/// # Errors
/// Any.
#[retry(on = [503], clone(body, mut seen))]
pub fn copied(body: Vec<u8>, seen: Vec<u8>) -> Result<usize, Error> {
    const LIMIT: usize = 3;
    seen.push(1);
    let all = [body, seen].concat();
    Ok(all.len().min(LIMIT))
}

/// The same, in a future of its own.
///
/// # Errors
/// Any.
#[retry(on = [503], clone(body))]
pub fn copied_future(body: Vec<u8>) -> impl Future<Output = Result<usize, Error>> + Send {
    async move {
        drop(body);
        work("").await
    }
}

/// What a chain of sources is searched for.
///
/// # Errors
/// Any.
#[retry(on = [503], faults(Error, Wide))]
pub fn chained(name: &str) -> Result<usize, Box<dyn core::error::Error + Send + Sync>> {
    Ok(name.len())
}

/// A status of another type, and an error that may be missing.
#[derive(Debug, thiserror::Error, Fault)]
pub enum Wide {
    /// The service said so.
    #[error("status {code}")]
    #[fault(status = code)]
    Code {
        /// The status.
        code: i32,
    },
    /// Another.
    #[error("other")]
    #[fault(status = 503)]
    Other {
        /// What it was.
        #[fault(forward)]
        inner: Option<Error>,
    },
}

/// Handed over, and copied.
///
/// # Errors
/// Any.
#[retry]
pub async fn handed_over(wait: Option<Duration>) -> Result<Option<Duration>, Error> {
    core::future::ready(Ok(wait)).await
}
