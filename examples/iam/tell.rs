//! One way, told to the end: all writers begin at the same time, and the last one is waited for.

use std::sync::Arc;
use std::time::Duration;

use backoff_cloud::iam::{PlainPolicy, Rest};
use emulator::Emulator;
use indicatif::ProgressBar;
use tokio::task::JoinSet;

use crate::client::{Client, Pace};
use crate::record::{Ending, Log, Story};
use crate::way::Way;
use crate::{Error, RESOURCE, ways};

/// Lets all writers loose on the service in one way, and waits for the last of them. To make a client
/// takes longer than many calls, so ways that run at the same time share one that was made before.
pub(crate) async fn tell(
    way: Way,
    pace: Pace,
    http: reqwest::Client,
    service: Emulator,
    writers: u16,
    bar: ProgressBar,
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
    let (mut took, mut gave_up) = (Duration::ZERO, 0);
    while let Some(ended) = running.join_next().await {
        let (writer, ok, at) = ended?;
        told_ok[writer] = ok;
        took = took.max(at);
        if ok {
            bar.inc(1)
        } else {
            gave_up += 1
        }
        bar.set_message(format!("{gave_up} gave up, {} calls", log.calls().len()));
    }
    // Not `finish`, which would fill the bar.
    bar.abandon();

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

/// A client that repeats nothing by itself.
pub(crate) fn http() -> Result<reqwest::Client, Error> {
    let client = reqwest::Client::builder().retry(reqwest::retry::never());
    Ok(client.build()?)
}

fn member(writer: usize) -> String {
    format!("user:writer-{:02}@example.com", writer + 1)
}
