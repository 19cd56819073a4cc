//! An axum service on Unix: it retries calls to another service, logs each wait, serves `/metrics`, and ends waits at shutdown.
//!
//! ```toml
//! [dependencies]
//! axum = "0.8"
//! backoff-cloud = { version = "0.1", features = ["http", "metrics", "tracing"] }
//! metrics-exporter-prometheus = { version = "0.18", default-features = false }
//! reqwest = "0.13"
//! tokio = { version = "1", features = ["full"] }
//! tokio-util = "0.7"
//! tracing-subscriber = "0.3"
//! ```

use axum::{Router, extract::State, http::StatusCode, routing::get};
use backoff_cloud::{http::SendExt as _, plain_http};
use metrics_exporter_prometheus::{BuildError, PrometheusBuilder, PrometheusHandle};
use std::{io, time::Duration};
use tokio::{net::TcpListener, signal::ctrl_c, signal::unix};
use tokio_util::sync::CancellationToken;

#[derive(Clone)]
pub(crate) struct App {
    pub(crate) client: reqwest::Client,
    pub(crate) upstream: String,
    pub(crate) metrics: PrometheusHandle,
    pub(crate) shutdown: CancellationToken,
}

async fn price(State(app): State<App>) -> Result<String, StatusCode> {
    let request = app.client.get(&app.upstream);
    let call = plain_http::BY_METHOD.send(request).text();
    let call = call.operation("price").timeout(Duration::from_secs(20));
    let price = call.stop_on(app.shutdown.cancelled()).await;
    price.map_err(|_| StatusCode::BAD_GATEWAY)
}

/// Serves until the shutdown begins and the running requests are answered.
pub(crate) async fn serve(listener: TcpListener, app: App) -> io::Result<()> {
    let shutdown = app.shutdown.clone().cancelled_owned();
    let metrics = async |State(app): State<App>| app.metrics.render();
    let routes = Router::new().route("/metrics", get(metrics));
    let routes = routes.route("/price", get(price)).with_state(app);
    let server = axum::serve(listener, routes);
    server.with_graceful_shutdown(shutdown).await
}

pub(crate) fn metrics() -> Result<PrometheusHandle, BuildError> {
    let builder = PrometheusBuilder::new().with_recommended_naming(true);
    let builder = builder.set_buckets(&[0.01, 0.1, 1.0, 10.0])?; // else histograms are summaries
    builder.install_recorder()
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    tracing_subscriber::fmt().init(); // shows INFO, at which waits are logged
    let (metrics, shutdown) = (metrics()?, CancellationToken::new());
    let mut terminate = unix::signal(unix::SignalKind::terminate())?;
    let app = App {
        client: reqwest::Client::new(),
        upstream: "http://127.0.0.1:4000/price".to_owned(),
        metrics: metrics.clone(),
        shutdown: shutdown.clone(),
    };
    let serving = tokio::spawn(serve(TcpListener::bind("127.0.0.1:3000").await?, app));
    loop {
        tokio::select! {
            _ = ctrl_c() => break,
            _ = terminate.recv() => break,
            _ = tokio::time::sleep(Duration::from_secs(5)) => metrics.run_upkeep(),
        }
    }
    shutdown.cancel();
    Ok(serving.await??)
}
