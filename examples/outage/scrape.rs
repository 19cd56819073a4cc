//! `/metrics` on loopback.

use axum::{Router, http::header::CONTENT_TYPE, routing::get};
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};
use tokio::net::TcpListener;

use crate::Error;

/// In seconds: of attempts that take milliseconds, and of calls that may wait for some seconds.
const DURATIONS: [f64; 8] = [0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0];

/// The recorder of this program. Without buckets the exporter would make summaries of the histograms,
/// which cannot be added up over several processes.
pub(crate) fn install() -> Result<PrometheusHandle, BuildError> {
    let durations = Matcher::Suffix("duration".to_owned());
    let delays = Matcher::Suffix("delay".to_owned());
    let retries = Matcher::Suffix("retries".to_owned());
    let handle = PrometheusBuilder::new()
        .with_recommended_naming(true)
        .set_buckets_for_metric(durations, &DURATIONS)?
        .set_buckets_for_metric(delays, &DURATIONS)?
        .set_buckets_for_metric(retries, &[1.0, 2.0, 3.0])?
        .install_recorder()?;
    // With the recommended naming a metric's unit is part of its name, and a unit is known only after
    // the description.
    backoff_core::telemetry::describe();
    Ok(handle)
}

/// Serves `/metrics` until the program ends; gives its URL.
pub(crate) async fn serve(handle: PrometheusHandle, port: u16) -> Result<String, Error> {
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    let url = format!("http://{}/metrics", listener.local_addr()?);
    let content_type = [(CONTENT_TYPE, "text/plain; version=0.0.4")];
    let page = async move || (content_type, handle.render());
    let routes = Router::new().route("/metrics", get(page));
    tokio::spawn(async move { axum::serve(listener, routes).await });
    Ok(url)
}

/// The page, as text.
pub(crate) async fn read(url: &str) -> Result<String, Error> {
    let reply = reqwest::get(url).await?.error_for_status()?;
    Ok(reply.text().await?)
}
