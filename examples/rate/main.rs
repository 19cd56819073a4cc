//! 50 workers call a server that allows 100 calls a second and answers the others with 429: first each call waits for
//! itself, and then all calls share a `Rate`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

use backoff_cloud::http::{ApiError, SendExt as _};
use backoff_cloud::{Policy, Rate};
use emulator::Emulator;
use examples::terminal::say;
use tokio::task::JoinSet;

const JOBS: u32 = 800;
const WORKERS: u32 = 50;
const A_SECOND: u32 = 100;

/// What all calls know of the limit. A program has one for each limit.
static QUOTA: Rate = Rate::new().name("quota");

/// Exponential backoff with full jitter. The deadline is long enough for every job.
const ALONE: Policy = Policy::exponential().deadline(Duration::from_secs(600));

/// The same, and the calls share what each 429 says.
const SHARED: Policy = ALONE.rate(&QUOTA);

/// Reads who may do what with a secret.
async fn allow_policy(
    policy: &Policy,
    client: &reqwest::Client,
    service: &str,
    secret: u32,
) -> Result<serde_json::Value, ApiError> {
    let url = format!("{service}/v1/projects/demo/secrets/{secret}:getIamPolicy");
    policy.send(client.get(url)).json().await
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    for (way, policy) in [("each call alone", &ALONE), ("with a Rate", &SHARED)] {
        // At first the calls of a second may come at once.
        let server = Emulator::builder()
            .latency(Duration::from_millis(20))
            .rate_limit(A_SECOND, A_SECOND)
            .start()?;
        let start = Instant::now();
        let client = reqwest::Client::new();
        let next = Arc::<AtomicU32>::default();
        let mut workers = JoinSet::new();
        for _ in 0..WORKERS {
            let (client, url) = (client.clone(), server.url().to_owned());
            let next = Arc::clone(&next);
            workers.spawn(async move {
                while let job = next.fetch_add(1, Relaxed)
                    && job < JOBS
                {
                    allow_policy(policy, &client, &url, job).await?;
                }
                Ok::<_, ApiError>(())
            });
        }
        let done = workers.join_all().await.into_iter();
        done.collect::<Result<(), _>>()?;
        let (stats, took) = (server.stats(), start.elapsed().as_secs_f64());
        let (calls, refused) = (stats.calls, stats.faults);
        say(&format!(
            "{way}: {JOBS} jobs, {calls} calls, {refused} of them refused, {took:.1} s\n"
        ))?;
    }
    if let Some(rate) = QUOTA.per_second() {
        say(&format!("The Rate allows {rate:.0} calls a second now.\n"))?;
    }
    Ok(())
}
