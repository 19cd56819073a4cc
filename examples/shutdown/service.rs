//! The service: the code that a program would contain.

use std::collections::BTreeMap;
use std::future::pending;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use axum::{Router, extract::State, http::StatusCode, routing::get};
use backoff_core::{Event, Policy};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// With this policy a call to an upstream that is down waits for up to ten seconds.
const CALL: Policy = Policy::exponential().deadline(std::time::Duration::from_secs(10));

/// The values that the handlers share.
#[derive(Clone)]
pub(crate) struct Service {
    pub(crate) client: reqwest::Client,
    pub(crate) upstream: String,
    pub(crate) shutdown: CancellationToken,
    /// Whether a shutdown ends the calls' waits. Only the demonstration sets this to `false`.
    pub(crate) stops: bool,
    pub(crate) log: Log,
}

impl Service {
    /// Serves until the shutdown begins and all running requests are answered.
    pub(crate) async fn serve(self, listener: TcpListener) -> io::Result<()> {
        let begins = self.shutdown.clone().cancelled_owned();
        let router = Router::new().route("/", get(answer)).with_state(self);
        axum::serve(listener, router)
            .with_graceful_shutdown(begins)
            .await
    }

    async fn ask(&self) -> reqwest::Result<String> {
        let reply = self.client.get(&self.upstream).send().await?;
        reply.error_for_status()?.text().await
    }
}

/// Calls the upstream, and retries while the upstream is down.
async fn answer(State(service): State<Service>) -> Result<String, StatusCode> {
    let call = CALL
        .retry(|| service.ask())
        .notify(|event| service.log.note(event));
    let answer = if service.stops {
        call.stop_on(service.shutdown.cancelled()).await
    } else {
        call.await
    };
    answer.map_err(|_| StatusCode::SERVICE_UNAVAILABLE)
}

/// Returns when the program gets Ctrl-C or SIGTERM.
pub(crate) async fn asked_to_end() -> io::Result<()> {
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted,
        terminated = terminated() => terminated,
    }
}

#[cfg(unix)]
async fn terminated() -> io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    match signal(SignalKind::terminate())?.recv().await {
        Some(()) => Ok(()),
        None => pending().await,
    }
}

#[cfg(not(unix))]
async fn terminated() -> io::Result<()> {
    pending().await
}

/// How often each event was logged.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<BTreeMap<&'static str, usize>>>);

impl Log {
    fn note(&self, event: &Event<'_, reqwest::Error>) {
        let what = match event {
            Event::GaveUp { reason, .. } => reason.name(),
            _ => "waiting",
        };
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry(what).or_default() += 1;
    }

    /// "60 waiting, 20 stopped".
    pub(crate) fn summary(&self) -> String {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let counts: Vec<String> = counts
            .iter()
            .map(|(what, n)| format!("{n} {what}"))
            .collect();
        counts.join(", ")
    }
}
