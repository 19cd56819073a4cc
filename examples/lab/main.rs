//! A laboratory for policies: a page that shows what a policy does, alone and in a crowd, before you ship it.
//!
//! ```text
//! cargo run -p examples --example lab
//! ```
//!
//! Prints the address of the page, and serves it on loopback only. `draw.rs` computes all numbers with the library itself, in
//! virtual time. The page shows them, and its link holds the state.

mod draw;
mod snippets;
mod state;
#[cfg(test)]
#[rustfmt::skip]
mod written;

use std::time::{Duration, Instant};
use std::{net::Ipv4Addr, process::ExitCode, sync::Arc};

use axum::Router;
use axum::extract::{DefaultBodyLimit, State as Shared};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{Html, IntoResponse};
use axum::routing::{get, post};
use backoff_cloud::presets;
use clap::Parser;
use examples::terminal::{ended, say};
use serde_json::json;
use tokio::{net::TcpListener, signal::ctrl_c, sync::Mutex, task::spawn_blocking, time::sleep};

use crate::draw::{ENDS, Stop, documented, draw};
use crate::snippets::snippets;
use crate::state::{BUDGETS, HINTS, OUTAGES, State, of_reads};

type Error = Box<dyn std::error::Error + Send + Sync>;

/// Shows what a policy does, on a page for your browser
#[derive(Parser)]
#[command(name = "lab")]
struct Options {
    /// The port on 127.0.0.1; 0 for any that is free
    #[arg(long, default_value_t = 8377)]
    port: u16,
}

#[tokio::main]
async fn main() -> ExitCode {
    ended(run(&Options::parse()).await)
}

async fn run(options: &Options) -> Result<(), Error> {
    let port = options.port;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await;
    let listener =
        listener.map_err(|error| format!("port {port}: {error}; write `-- --port 0`"))?;
    let address = listener.local_addr()?;
    say(&format!(
        "Open http://{address}/ in a browser. Ctrl-C ends this program.\n"
    ))?;
    // The first page does not wait for it.
    spawn_blocking(documented);
    let ended = async || drop(ctrl_c().await);
    let server = axum::serve(listener, routes(Turn::default()));
    tokio::select! {
        served = server.with_graceful_shutdown(ended()) => Ok(served?),
        // A request whose body never ends may go on so long.
        () = async { ended().await; sleep(Duration::from_secs(3)).await } => Ok(()),
    }
}

/// The largest body of a request.
const BODY: usize = 64 * 1_024;
/// How long a request may compute. A test decides by other means.
const TIME: Duration = Duration::from_millis(if cfg!(test) { 600_000 } else { 1_900 });
/// Is held by the request that computes: two at once would take each other's time.
type Turn = Arc<Mutex<()>>;

fn routes(turn: Turn) -> Router {
    Router::new()
        .route("/", get(async || Html(page())))
        .route("/draw", post(drawn))
        .layer(DefaultBodyLimit::max(BODY))
        .with_state(turn)
}

/// Takes the query of the page.
async fn drawn(
    Shared(turn): Shared<Turn>,
    headers: HeaderMap,
    query: String,
) -> Result<impl IntoResponse, (StatusCode, String)> {
    if is_foreign(&headers) {
        let what = "Only the laboratory's own page may ask.";
        return Err((StatusCode::FORBIDDEN, what.to_owned()));
    }
    let failed = |error: Error| (StatusCode::INTERNAL_SERVER_ERROR, error.to_string());
    let turn = turn.lock_owned().await;
    // Dropped with this future, as soon as the page has no use for the reply any more.
    let asks = Arc::new(());
    let asked = Arc::downgrade(&asks);
    let reply = spawn_blocking(move || {
        let (_turn, until) = (turn, Instant::now() + TIME);
        reply(&query, &|| {
            asked.strong_count() == 0 || Instant::now() >= until
        })
    });
    let reply = reply.await.map_err(Error::from).flatten().map_err(failed)?;
    drop(asks);
    Ok(([(header::CONTENT_TYPE, "application/json")], reply))
}

/// Whether a page of another site sends the request; a program says nothing of a site.
fn is_foreign(headers: &HeaderMap) -> bool {
    let is_other = |name, own: &str| headers.get(name).is_some_and(|it| it != own);
    let host = headers.get(header::HOST).and_then(|it| it.to_str().ok());
    let own = format!("http://{}", host.unwrap_or_default());
    is_other("sec-fetch-site", "same-origin") || is_other("origin", &own)
}

/// The mistakes by the name of the control, or what the page shows.
fn reply(query: &str, stop: Stop) -> Result<String, Error> {
    let state = match State::read(query) {
        Err(mistakes) => return Ok(json!({ "mistakes": mistakes }).to_string()),
        Ok(state) => state,
    };
    let reads = of_reads(&state.preset);
    // Those of a policy with a function cannot be read.
    let mut preset = reads.settings().ok();
    if reads != state.preset.without_budget() {
        preset.iter_mut().for_each(|it| it.idempotent = None);
    }
    let policy = match state.crowd.budget {
        0 => state.policy,
        chosen => BUDGETS[chosen].2.1(state.policy.without_budget()).0,
    };
    let explained = policy.explain().to_string();
    let reply = json!({
        "preset": preset,
        "explain": explained.split("; ").collect::<Vec<_>>(),
        "snippets": snippets(&state),
        "charts": draw(&state, stop)?,
        "ends": ENDS.map(|it| it.0),
    });
    Ok(reply.to_string())
}

/// The page, with the choices of its controls.
fn page() -> String {
    let option = |(value, shown)| format!("<option value=\"{value}\">{shown}</option>");
    let presets = presets::ALL.iter().map(|it| option((it.0, it.0)));
    let outages = OUTAGES.map(|it| option((it.0, it.1))).concat();
    let hints = HINTS.map(|it| option((it.0, it.1))).concat();
    let budgets = BUDGETS.map(|it| option((it.0, it.1))).concat();
    include_str!("page.html")
        .replace("<!--presets-->", &presets.collect::<String>())
        .replace("<!--outages-->", &outages)
        .replace("<!--hints-->", &hints)
        .replace("<!--budgets-->", &budgets)
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::{Client, RequestBuilder};
    use tokio::task::yield_now;
    use tokio::time::timeout;

    /// A request of the page to a server of its own.
    async fn asking(turn: Turn, body: &str) -> RequestBuilder {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let url = format!("http://{}/draw", listener.local_addr().unwrap());
        tokio::spawn(async { axum::serve(listener, routes(turn)).await });
        Client::new().post(url).body(body.to_owned())
    }

    async fn answered(body: &str) -> (StatusCode, String) {
        let reply = asking(Turn::default(), body).await.send().await.unwrap();
        (reply.status(), reply.text().await.unwrap())
    }

    #[tokio::test]
    async fn a_change_is_answered_with_charts_or_with_what_is_wrong() {
        let (status, text) = answered("preset=s3::REQUEST&clients=1&seconds=1").await;
        assert_eq!(status, StatusCode::OK);
        let reply: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(reply["preset"]["jitter"], "full");
        let svg = reply["charts"]["waits"]["svg"].as_str().unwrap();
        assert!(svg.starts_with("<svg "));
        let budget = "when its budget of";
        for (query, has, has_not) in [
            (
                "preset=plain_http::BY_METHOD",
                r#""growth":"exponential""#,
                "\"idempotent\"",
            ),
            (
                "preset=github::REQUEST",
                r#""preset":null"#,
                "`throttled_if`",
            ),
            (
                "preset=s3::REQUEST",
                "when its budget of 500 tokens",
                "without_budget",
            ),
            (
                "preset=s3::REQUEST&budget=none",
                ".without_budget()",
                budget,
            ),
            (
                "preset=iam::REQUEST&budget=none",
                "Policy = iam::REQUEST;",
                ".without_budget()",
            ),
            (
                "preset=iam::REQUEST&budget=grpc",
                "when its budget of 10 tokens",
                "500 tokens",
            ),
            (
                "max_attempts=0",
                r#"{"mistakes":{"max_attempts":"`max_attempts`"#,
                "svg",
            ),
        ] {
            let (_, text) = answered(&format!("{query}&clients=1")).await;
            assert!(
                text.contains(has) && !text.contains(has_not),
                "{query}: {text}"
            );
        }
    }

    #[tokio::test]
    async fn a_body_that_is_too_large_is_refused() {
        for (size, status) in [
            (BODY, StatusCode::OK),
            (BODY + 1, StatusCode::PAYLOAD_TOO_LARGE),
        ] {
            assert_eq!(answered(&"x".repeat(size)).await.0, status);
        }
    }

    #[tokio::test]
    async fn a_page_of_another_site_is_refused() {
        for (name, value, status) in [
            ("sec-fetch-site", "same-origin", StatusCode::OK),
            ("sec-fetch-site", "same-site", StatusCode::FORBIDDEN),
            ("origin", "http://127.0.0.1:1", StatusCode::FORBIDDEN),
            ("origin", "null", StatusCode::FORBIDDEN),
        ] {
            let request = asking(Turn::default(), "clients=1&seconds=1").await;
            let reply = request.header(name, value).send().await.unwrap();
            assert_eq!(reply.status(), status, "{name}: {value}");
        }
    }

    #[tokio::test]
    async fn a_request_that_nobody_waits_for_gives_its_turn_away() {
        let turn = Turn::default();
        let long = asking(Arc::clone(&turn), "clients=10000&seconds=3600").await;
        let long = tokio::spawn(long.send());
        let begun = async {
            while turn.try_lock().is_ok() {
                yield_now().await;
            }
        };
        let minute = Duration::from_secs(60);
        timeout(minute, begun).await.expect("it computes");
        long.abort();
        drop(timeout(minute, turn.lock()).await.expect("it is stopped"));
    }

    #[test]
    fn the_page_has_all_choices_and_loads_nothing() {
        let page = page();
        for (name, _) in presets::ALL {
            assert!(page.contains(&format!("value=\"{name}\"")), "{name}");
        }
        assert!(!page.contains("<!--") && !page.contains("://"));
    }
}
