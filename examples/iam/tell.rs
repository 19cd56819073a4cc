//! One way, told to the end: all writers begin at the same time, and the last one is waited for.

use std::sync::Arc;
use std::time::Duration;

use backoff_cloud::iam::{PlainPolicy, Rest};
use emulator::Emulator;
use tokio::task::JoinSet;

use crate::client::{Client, Pace};
use crate::record::{Ending, Log, Story};
use crate::way::Way;
use crate::{Error, RESOURCE, ways};

/// Runs ways at the same time, each against a service of its own. To make a client takes longer than many calls, so the
/// ways share one.
pub(crate) async fn tell_all(
    ways: &[Way],
    pace: Pace,
    writers: u16,
    service: impl Fn() -> Result<Emulator, Error>,
) -> Result<Vec<Story>, Error> {
    // Repeats nothing by itself.
    let http = reqwest::Client::builder().retry(reqwest::retry::never());
    let http = http.build()?;
    let services: Vec<_> = ways.iter().map(|_| service()).collect::<Result<_, _>>()?;
    let told =
        |(way, service): (&Way, _)| tokio::spawn(tell(*way, pace, http.clone(), service, writers));
    let running: Vec<_> = ways.iter().zip(services).map(told).collect();
    let mut stories = Vec::new();
    for story in running {
        stories.push(story.await??);
    }
    Ok(stories)
}

/// Lets all writers loose on the service in one way, and waits for the last of them.
async fn tell(
    way: Way,
    pace: Pace,
    http: reqwest::Client,
    service: Emulator,
    writers: u16,
) -> Result<Story, Error> {
    let log = Arc::new(Log::start());
    let shared = Client {
        rest: Rest::new(http, format!("{}/v1", service.url())),
        writer: 0,
        log: Arc::clone(&log),
        pace,
    };
    let members = ways::members(shared.clone());
    let mut running = JoinSet::new();
    for writer in 0..usize::from(writers) {
        let client = Client {
            writer,
            ..shared.clone()
        };
        let members = members.clone();
        running.spawn(async move {
            let ok = way.grant(&client, &members, &member(writer)).await;
            (writer, ok, client.log.now())
        });
    }

    let mut told_ok = vec![false; writers.into()];
    let mut took = Duration::ZERO;
    while let Some(ended) = running.join_next().await {
        let (writer, ok, at) = ended?;
        told_ok[writer] = ok;
        took = took.max(at);
    }

    let policy: PlainPolicy = serde_json::from_value(service.policy(RESOURCE))?;
    let is_there = |writer| {
        let mut bindings = policy.bindings.iter();
        bindings.any(|binding| binding.members.contains(&member(writer)))
    };
    let told_ok = told_ok.into_iter().enumerate();
    let endings = told_ok.map(|(writer, ok)| Ending::new(ok, is_there(writer)));
    let endings = endings.collect();
    Ok(Story {
        title: way.title(),
        calls: log.calls(),
        endings,
        took,
    })
}

fn member(writer: usize) -> String {
    format!("user:writer-{:02}@example.com", writer + 1)
}
