//! The Rust code in tables and sentences of the guide compiles. Doctests compile the other code.
#![cfg(all(
    feature = "breaker",
    feature = "http",
    feature = "rate",
    feature = "tower"
))]

use backoff_cloud::http::SendExt as _;
use backoff_cloud::{
    Breaker, Budget, Codes, Event, Hedge, Jitter, LogLevel, Policy, Rate, TimedOut, codes, retry,
};
use std::{fs, path::Path, time::Duration};

const POLICY: Policy = Policy::exponential();
static READS: Hedge = Hedge::p95();
static GMAIL: Rate = Rate::new();

fn shows(page: &str, code: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("src/guide/{page}.rs"));
    let text = fs::read_to_string(path).expect("a page of the guide");
    let bare = |text: &str| {
        text.replace("//!", "")
            .replace("\\|", "|")
            .split_whitespace()
            .collect::<String>()
    };
    assert!(bare(&text).contains(&bare(code)), "{page} has no `{code}`");
}

/// Compiles an expression, or the methods behind `=>`, and asserts that the page shows them.
macro_rules! code {
    ($page:literal: $start:expr => $($methods:tt)+) => {{
        let _ = || $start $($methods)+;
        shows($page, stringify!($($methods)+));
    }};
    ($page:literal: $code:expr) => {{
        let _ = || $code;
        shows($page, stringify!($code));
    }};
}

/// The same for the keys of an attribute.
macro_rules! keys {
    ($page:literal: $($keys:tt)+) => {{
        #[retry($($keys)+)]
        async fn call() -> Result<(), TimedOut> { Ok(()) }
        let _ = call;
        shows($page, stringify!($($keys)+));
    }};
}

async fn get() -> Result<(), TimedOut> {
    Ok(())
}

#[test]
fn other_libraries() {
    let d = Duration::from_secs(1);
    let (min, max, reserve) = (d, d, 100);
    code!("coming_from": Policy::exponential());
    code!("coming_from": POLICY => .base(d));
    code!("coming_from": POLICY => .max_backoff(d));
    code!("coming_from": POLICY => .deadline(d));
    code!("coming_from": POLICY => .max_attempts(4));
    code!("coming_from": POLICY => .jitter(Jitter::Equal));
    code!("coming_from": POLICY => .jitter(Jitter::Full));
    code!("coming_from": POLICY => .jitter(Jitter::Proportional(0.5)));
    code!("coming_from": POLICY => .base(min));
    code!("coming_from": POLICY => .max_backoff(max));
    code!("coming_from": POLICY => .factor(2.0));
    code!("coming_from": POLICY => .base(Duration::from_secs(1)).factor(2.0));
    code!("coming_from": POLICY => .base(Duration::from_millis(500)).factor(2.0));
    code!("coming_from": POLICY => .on(codes![408, 429, 500..=599]));
    code!("coming_from": POLICY => .also_on(codes![429, Codes::RESOURCE_EXHAUSTED]));
    code!("coming_from": POLICY => .idempotent(false));
    shows("coming_from", "POLICY.when(|_| true)");
    let _: Result<(), TimedOut> = POLICY.when(|_| true).retry_blocking(|| Ok(()));
    shows("coming_from", "POLICY.when_any(|_| true)");
    let _: Result<(), TimedOut> = POLICY.when_any(|_| true).retry_blocking(|| Ok(()));
    code!("coming_from": POLICY => .max_backoff(Duration::MAX));
    code!("coming_from": POLICY => .max_attempts(Policy::UNLIMITED));
    code!("coming_from": POLICY.waits());
    code!("coming_from": POLICY.schedule());
    {
        let n = 3;
        code!("coming_from": POLICY => .max_attempts(n + 1));
        code!("coming_from": Policy::exponential().max_attempts(n + 1));
    }
    code!("coming_from": POLICY.layer());
    code!("coming_from": Budget::ratio(0.2, reserve));
    {
        let f = 1.5;
        code!("coming_from": POLICY => .factor(f));
    }
    let (f, n) = (get, |_: &Event<'_, TimedOut>| ());
    let condition = |_: &TimedOut| true;
    code!("coming_from": POLICY.retry(f));
    code!("coming_from": POLICY.retry(f).notify(n));
    code!("coming_from": POLICY.when(condition).retry(f));
    let f = || Err::<(), _>(TimedOut::new(Duration::ZERO));
    code!("coming_from": POLICY.retry_blocking(f));
}

#[test]
fn budgets_rates_and_breakers() {
    code!("budgets_and_outages": Budget::ratio(0.2, 100));
    code!("budgets_and_outages": Budget::costs(500, 5, 5));
    code!("budgets_and_outages": Budget::grpc(10, 0.1));
    code!("budgets_and_outages": Breaker::new().opens_at(15, 24));
    code!("measurements": Breaker::new().opens_at(15, 24));
    code!("rates": Rate::new().pause_after_refusal(Duration::from_secs(60)));
    code!("rates": Rate::new().name("gmail"));
    keys!("rates": rate = GMAIL);
    keys!("rates": rate = GMAIL, max_queue_time = "2s");
}

#[test]
fn calls() {
    code!("hedging": POLICY.retry(get).hedge(&READS));
    fn send(client: &reqwest::Client, url: &str) {
        type Page = serde_json::Value;
        code!("hedging": POLICY.send(client.get(url)).json::<Page>().hedge(&READS));
    }
    let _ = send;
    shows(
        "hedging",
        "POLICY.send(client.get(url)).json::<Page>().hedge(&READS)",
    );
    code!("hedging": POLICY.layer().hedge(&READS));
    code!("waits_and_limits": POLICY => .max_attempts(Policy::UNLIMITED));
    code!("waits_and_limits": POLICY => .max_retry_after(Duration::from_secs(60)));
    {
        use Jitter::{Additive, Proportional};
        code!("waits_and_limits": Additive(Duration::from_secs(1)));
        code!("waits_and_limits": Proportional(0.2));
    }
    code!("telemetry_and_shutdown": POLICY => .log_waits(LogLevel::Debug));
    code!("telemetry_and_shutdown": POLICY => .name("billing"));
    code!("telemetry_and_shutdown": POLICY.retry(get) => .operation("invoices.get"));
    keys!("errors": on = [429, 500..=504]);
    keys!("errors": also_on = [404]);
    keys!("errors": also_on = [Codes::ABORTED]);
    keys!("right_and_wrong": deadline = "30s");
    keys!("right_and_wrong": timeout = "30s", attempt_timeout = "10s");
}
