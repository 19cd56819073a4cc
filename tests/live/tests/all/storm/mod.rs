//! A storm of failures: every failure of a connection and of a server, before and after the request is
//! applied, with every form of a call and every preset. No change is applied twice that must not be.

mod forms;
mod server;

use self::{forms::FORMS, server::Resources};
use backoff_cloud::presets;
use backoff_core::StopReason;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// How many operations of each form under each preset.
const OPERATIONS: usize = 8;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nothing_that_must_not_be_made_twice_is() {
    let resources = Resources::default();
    let server = resources.serve();
    let client = forms::Client::new(server.address);
    let number = AtomicU32::new(0);
    let (mut running, mut ended) = (tokio::task::JoinSet::new(), Vec::new());
    for &(preset, policy) in presets::ALL {
        for is_idempotent in [true, false] {
            let policy = policy.scaled(1e-3).idempotent(is_idempotent);
            for (form, is_update) in FORMS {
                for _ in 0..OPERATIONS {
                    // The sockets of a machine are not without number.
                    if running.len() >= 64 {
                        ended.extend(running.join_next().await);
                    }
                    let number = number.fetch_add(1, Relaxed);
                    let client = client.clone();
                    running.spawn(async move {
                        let ended = form.call(&client, policy, number).await;
                        (preset, policy, (form, is_update), ended, number)
                    });
                }
            }
        }
    }
    ended.extend(running.join_all().await.into_iter().map(Ok));
    drop(client);
    server.is_done().await;
    let mut twice = 0;
    for done in ended {
        let (preset, policy, (form, is_update), ended, number) = done.expect("it does not panic");
        let resource = resources.get(number);
        let is_idempotent = policy == policy.idempotent(true);
        let row =
            format!("{preset}, {form:?}, idempotent: {is_idempotent}: {ended:?}, {resource:?}");
        // A success is applied.
        assert!(ended.is_some() || resource.applied > 0, "{row}");
        if is_update || !is_idempotent {
            assert!(resource.applied <= 1, "{row}");
        }
        // What failed and was applied says so, unless the error is one that the policy does not repeat.
        if !is_idempotent && ended.is_some() && resource.applied > 0 {
            let is_told = matches!(
                ended,
                Some(StopReason::MaybeApplied | StopReason::Permanent | StopReason::NothingKnown)
            );
            assert!(is_told, "{row}");
        }
        twice += u32::from(resource.applied > 1);
    }
    // The storm is strong enough: what may be applied twice sometimes is.
    assert_ne!(twice, 0);
}
