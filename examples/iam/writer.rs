//! One of many processes: it makes its changes at once, through one `iam::Members`.

use std::io;
use std::time::Duration;

use backoff_cloud::iam::{self, Members, Rest};
use clap::Args;
use examples::terminal::say;
use tokio::task::JoinSet;

use crate::tell::http;
use crate::{Error, RESOURCE};

const ROLE: &str = "roles/viewer";

/// What a writer tells its parent, a line each.
pub(crate) const READY: &str = "ready";
pub(crate) const DONE: &str = "done";

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The service
    #[arg(long)]
    url: String,
    /// Which of the processes this is
    #[arg(long)]
    number: u16,
    /// How many changes it makes
    #[arg(long)]
    changes: u16,
    /// The base of its policy
    #[arg(long, value_name = "MS")]
    base: u64,
}

impl Options {
    /// The arguments that give these options.
    pub(crate) fn arguments(url: &str, number: u16, changes: u16, base: u64) -> Vec<String> {
        let values = [
            ("url", url.to_owned()),
            ("number", number.to_string()),
            ("changes", changes.to_string()),
            ("base", base.to_string()),
        ];
        let options = values.map(|(name, value)| format!("--{name}={value}"));
        ["writer".to_owned()].into_iter().chain(options).collect()
    }
}

/// The member that a change adds.
pub(crate) fn member(process: u16, change: u16) -> String {
    format!("user:{process}-{change}@example.com")
}

/// Says that it is ready, waits for a line, makes its changes, and says that they are done.
pub(crate) async fn run(options: &Options) -> Result<(), Error> {
    let client = Rest::new(http()?, format!("{}/v3", options.url));
    let policy = iam::READ_MODIFY_WRITE.base(Duration::from_millis(options.base));
    let members = Members::new(client).policy(policy);
    say(&format!("{READY}\n"))?;
    if io::stdin().read_line(&mut String::new())? == 0 {
        return Err("the parent went away before it gave the signal".into());
    }
    let mut running = JoinSet::new();
    for change in 0..options.changes {
        let member = member(options.number, change);
        running.spawn(members.add(RESOURCE, ROLE, &member).into_future());
    }
    while let Some(added) = running.join_next().await {
        added??;
    }
    say(&format!("{DONE}\n"))?;
    Ok(())
}
