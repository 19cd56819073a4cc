//! The service, with an upstream that fails, or that is down when the service shuts down.

#[allow(dead_code, reason = "the test has no use for `main`")]
#[path = "../../cookbook/axum.rs"]
mod program;

use std::fs::{File, read_to_string, remove_file};
use std::future::ready;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use backoff_cloud::testing;
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use reqwest::StatusCode;
use support::{Server, reply};
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use program::{App, metrics, serve};

async fn started(
    upstream: &Server,
    metrics: PrometheusHandle,
    shutdown: &CancellationToken,
) -> io::Result<(SocketAddr, JoinHandle<io::Result<()>>)> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let app = App {
        client: reqwest::Client::new(),
        upstream: upstream.url("price"),
        metrics,
        shutdown: shutdown.clone(),
    };
    Ok((address, tokio::spawn(serve(listener, app))))
}

#[tokio::test]
async fn a_wait_is_logged_and_counted() -> Result<(), Box<dyn std::error::Error>> {
    let _instant = testing::instant();
    let file = format!("cookbook-{}.log", std::process::id());
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(file);
    let log = tracing_subscriber::fmt().with_writer(Arc::new(File::create(&file)?));
    // For all threads: an event that another thread writes first would be off for a subscriber of this thread.
    log.with_ansi(false).init();
    let upstream = Server::start([reply(503, "retry-after: 7\r\n", "")]);
    let (address, _serving) = started(&upstream, metrics()?, &CancellationToken::new()).await?;

    let price = reqwest::get(format!("http://{address}/price")).await?;
    assert_eq!(price.text().await?, "{}");
    let page = reqwest::get(format!("http://{address}/metrics")).await?;
    let page = page.text().await?;
    // The name has the unit only if no other test has called before `metrics()`.
    let page = page.replace("_seconds", "");
    let counted = r#"retry_call_duration_bucket{retry_operation="price""#;
    assert!(page.contains(counted), "{page}");
    let log = read_to_string(&file)?;
    let logged = r#"INFO backoff: attempt failed, waiting before the next operation="price""#;
    assert!(log.contains(logged), "{log}");
    remove_file(file)?;
    Ok(())
}

#[tokio::test]
async fn a_shutdown_ends_the_wait_and_answers_the_request() -> Result<(), Box<dyn std::error::Error>>
{
    let shutdown = CancellationToken::new();
    let begins = shutdown.clone();
    let upstream = Server::new(move |_| {
        begins.cancel();
        ready(reply(503, "", ""))
    });
    let metrics = PrometheusBuilder::new().build_recorder().handle();
    let (address, serving) = started(&upstream, metrics, &shutdown).await?;
    let price = reqwest::get(format!("http://{address}/price")).await?;
    assert_eq!(price.status(), StatusCode::BAD_GATEWAY);
    serving.await??;
    assert_eq!(upstream.requests(), 1);
    Ok(())
}
