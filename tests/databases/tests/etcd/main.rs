//! Read-modify-write against a real etcd.

mod store;

use backoff_cloud::{Policy, http::ApiError};
use databases::{Folder, Server, Tested, all, free_port, needs};
use std::{collections::BTreeSet, io, process::Command, time::Duration};
use store::Store;

needs![has_etcd, "etcd is not installed: apt-get install etcd-server": sixteen_writers_all_arrive];

/// The waits are short because etcd is near and fast. The deadline is long, so that every name arrives from a
/// slow machine too.
const UPDATE: Policy = Policy::exponential()
    .base(Duration::from_millis(20))
    .max_backoff(Duration::from_millis(500))
    .deadline(Duration::from_secs(600));

/// How long etcd may take until it answers. It needs about a second, and on a slow machine more.
const UP: Policy = Policy::constant(Duration::from_millis(20)).deadline(Duration::from_secs(120));

/// Starts an etcd on free ports and in a new folder, and returns when it answers.
async fn started() -> Tested<(Server, Store)> {
    // Another process may take a port before etcd does, which then ends.
    for _ in 0..10 {
        let folder = Folder::new("etcd")?;
        let name = folder.path().file_name().and_then(|name| name.to_str());
        let name = name.expect("a name").to_owned();
        let [url, peers] = [free_port()?, free_port()?].map(|it| format!("http://127.0.0.1:{it}"));
        let mut program = Command::new("etcd");
        program.args(["--name", &name, "--data-dir", &folder.file("data")]);
        program.args([
            "--listen-client-urls",
            &url,
            "--advertise-client-urls",
            &url,
        ]);
        program.args([
            "--listen-peer-urls",
            &peers,
            "--initial-advertise-peer-urls",
            &peers,
        ]);
        program.args(["--initial-cluster", &format!("{name}={peers}")]);
        let mut server = Server::start(program, folder)?;
        let store = Store::new(&url, "a key")?;
        let mut resuming = UP.when_any(|_: &io::Error| true).resuming();
        while !server.has_ended()? {
            let error = match store.is_named(&name).await {
                Ok(true) => return Ok((server, store)),
                Ok(false) => "another etcd answers".to_owned(),
                Err(error) => error.to_string(),
            };
            resuming.failed(io::Error::other(error)).await?;
        }
    }
    Err("etcd ends as soon as it starts".into())
}

/// Adds a name to a list that other writers change too.
async fn add(store: Store, name: String) -> Result<(), ApiError> {
    let written = UPDATE
        .update(
            || store.read(),
            |names| names.add(&name),
            async |names| store.swap(&names).await,
        )
        .conflict_if(|reply| !reply.succeeded)
        .attempt_timeout(Duration::from_secs(60));
    written.await.map(drop)
}

async fn sixteen_writers_all_arrive() -> Tested {
    let (_server, store) = started().await?;
    let names: BTreeSet<_> = (0..16).map(|number| format!("writer-{number}")).collect();
    all(names
        .clone()
        .into_iter()
        .map(|name| add(store.clone(), name)))
    .await?;
    let arrived = store.read().await?.names;
    assert_eq!(arrived.len(), names.len(), "none twice: {arrived:?}");
    assert_eq!(BTreeSet::from_iter(arrived), names);
    Ok(())
}
