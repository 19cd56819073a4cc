//! A storm of failures: every failure of a connection and of a server, before and after the request is
//! applied, with every form of a call and every preset. Counts the changes that are applied once and twice.
//!
//! `cargo test -p live storm:: -- --nocapture` prints the counts.

mod forms;
mod presets;
mod server;

use self::forms::{FORMS, Form};
use self::server::{Resource, Resources};
use backoff_core::{Policy, StopReason};
use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

/// How many operations of each form under each preset.
const OPERATIONS: usize = 8;

/// The results of many operations.
#[derive(Debug, Default)]
struct Tally {
    operations: u32,
    calls: u32,
    succeeded: u32,
    once: u32,
    twice: u32,
    /// Failed, and applied: each of them has to be told.
    failed_and_applied: u32,
    told: u32,
}

impl Tally {
    fn count(&mut self, resource: Resource, ended: Option<StopReason>) {
        self.operations += 1;
        self.calls += resource.calls;
        self.succeeded += u32::from(ended.is_none());
        self.once += u32::from(resource.applied == 1);
        self.twice += u32::from(resource.applied > 1);
        if ended.is_some() && resource.applied > 0 {
            self.failed_and_applied += 1;
            self.told += u32::from(ended == Some(StopReason::MaybeApplied));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nothing_that_must_not_be_made_twice_is() {
    let resources = Resources::default();
    let server = resources.serve();
    let client = forms::Client::new(server.address);
    let (mut by_form, mut by_preset) = (BTreeMap::new(), BTreeMap::new());
    let number = AtomicU32::new(0);
    let (mut running, mut ended) = (tokio::task::JoinSet::new(), Vec::new());
    for &(preset, policy) in presets::ALL {
        for is_idempotent in [true, false] {
            let policy = policy.scaled(1e-3).idempotent(is_idempotent);
            for form in FORMS {
                for _ in 0..OPERATIONS {
                    // The sockets of a machine are not without number.
                    if running.len() >= 64 {
                        ended.extend(running.join_next().await);
                    }
                    let number = number.fetch_add(1, Relaxed);
                    let client = client.clone();
                    running.spawn(async move {
                        let ended = form.call(&client, policy, number).await;
                        (preset, policy, form, ended, number)
                    });
                }
            }
        }
    }
    ended.extend(running.join_all().await.into_iter().map(Ok));
    drop(client);
    server.is_done().await;
    for done in ended {
        let (preset, policy, form, ended, number) = done.expect("it does not panic");
        let done = (preset, policy, form, ended, resources.get(number));
        check(done, &mut by_form, &mut by_preset);
    }
    for (key, tally) in by_form.iter().chain(&by_preset) {
        println!("{key}: {tally:?}");
    }
}

type Done = (&'static str, Policy, Form, Option<StopReason>, Resource);

fn check(
    done: Done,
    by_form: &mut BTreeMap<String, Tally>,
    by_preset: &mut BTreeMap<String, Tally>,
) {
    let (preset, policy, form, ended, resource) = done;
    let is_idempotent = policy == policy.idempotent(true);
    let kind = if is_idempotent { "yes" } else { "no" };
    let said = || format!("{preset}, {form:?}, idempotent: {kind}: {ended:?}, {resource:?}");
    // A success is applied.
    assert!(ended.is_some() || resource.applied > 0, "{}", said());
    if form.is_update() || !is_idempotent {
        assert!(resource.applied <= 1, "{}", said());
    }
    // What failed and was applied says so, unless the error is one that the policy does not repeat.
    if !is_idempotent && ended.is_some() && resource.applied > 0 {
        let is_told = matches!(
            ended,
            Some(StopReason::MaybeApplied | StopReason::Permanent | StopReason::NothingKnown)
        );
        assert!(is_told, "{}", said());
    }
    let count = |tallies: &mut BTreeMap<String, Tally>, key: String| {
        tallies.entry(key).or_default().count(resource, ended);
    };
    count(by_form, format!("{form:?}, {kind}"));
    count(by_preset, format!("{preset}, {kind}"));
}
