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

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse};
use axum::routing::{get, post};
use backoff_cloud::presets;
use clap::Parser;
use examples::terminal::{ended, say};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::signal::ctrl_c;
use tokio::task::spawn_blocking;

use crate::draw::{ENDS, documented, draw};
use crate::snippets::snippets;
use crate::state::{BUDGETS, HINTS, OUTAGES, State, named, of_reads, text};

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
    let shutdown = async { drop(ctrl_c().await) };
    let server = axum::serve(listener, routes());
    Ok(server.with_graceful_shutdown(shutdown).await?)
}

/// The largest body of a request.
const BODY: usize = 64 * 1_024;
/// How long a request may compute.
const TIME: Duration = Duration::from_millis(1_900);

fn routes() -> Router {
    Router::new()
        .route("/", get(async || Html(page())))
        .route("/draw", post(drawn))
        .layer(DefaultBodyLimit::max(BODY))
}

/// Takes the query of the page.
async fn drawn(query: String) -> Result<impl IntoResponse, (StatusCode, String)> {
    let failed = |error: Error| (StatusCode::INTERNAL_SERVER_ERROR, error.to_string());
    let until = Instant::now() + TIME;
    let reply = spawn_blocking(move || reply(&query, until)).await;
    let reply = reply.map_err(Error::from).flatten().map_err(failed)?;
    Ok(([(header::CONTENT_TYPE, "application/json")], reply))
}

/// The mistakes by the name of the control, or what the page shows.
fn reply(query: &str, until: Instant) -> Result<String, Error> {
    let state = match State::read(query) {
        Err(mistakes) => return Ok(json!({ "mistakes": mistakes }).to_string()),
        Ok(state) => state,
    };
    let reads = of_reads(&state.preset);
    let mut rules = reads.settings().map(|it| named(&it)).unwrap_or_default();
    if reads != state.preset.without_budget() {
        rules.remove("idempotent");
    }
    let preset: BTreeMap<_, _> = rules.iter().map(|(rule, it)| (rule, text(it))).collect();
    let explained = state.policy.explain().to_string();
    let reply = json!({
        "query": state.query(),
        "preset": preset,
        "explain": explained.split("; ").collect::<Vec<_>>(),
        "snippets": snippets(&state),
        "charts": draw(&state, until)?,
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

    async fn answered(body: String) -> (StatusCode, String) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let url = format!("http://{}/draw", listener.local_addr().unwrap());
        let server = tokio::spawn(async { axum::serve(listener, routes()).await });
        let reply = reqwest::Client::new()
            .post(url)
            .body(body)
            .send()
            .await
            .unwrap();
        let answered = (reply.status(), reply.text().await.unwrap());
        server.abort();
        answered
    }

    #[tokio::test]
    async fn a_change_is_answered_with_charts_or_with_what_is_wrong() {
        let (status, text) = answered("preset=s3::REQUEST&clients=1&seconds=1".to_owned()).await;
        assert_eq!(status, StatusCode::OK);
        let reply: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(reply["query"], "preset=s3%3A%3AREQUEST&clients=1&seconds=1");
        assert_eq!(reply["preset"]["jitter"], "full");
        let svg = reply["charts"]["waits"]["svg"].as_str().unwrap();
        assert!(svg.starts_with("<svg "));
        let (_, text) = answered("preset=plain_http::BY_METHOD&clients=1".to_owned()).await;
        assert!(text.contains(r#""growth":"exponential""#) && !text.contains("\"idempotent\""));
        let (_, text) = answered("max_attempts=0".to_owned()).await;
        assert!(
            text.contains(r#"{"mistakes":{"max_attempts":"`max_attempts`"#),
            "{text}"
        );
    }

    #[tokio::test]
    async fn a_body_that_is_too_large_is_refused() {
        for (size, status) in [
            (BODY, StatusCode::OK),
            (BODY + 1, StatusCode::PAYLOAD_TOO_LARGE),
        ] {
            assert_eq!(answered("x".repeat(size)).await.0, status);
        }
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
