//! Many writers of one policy under a quota.

use backoff_cloud::{Codes, Policy, codes, iam};
use emulator::{Call, Emulator, Reply};

use crate::{emulator::client::*, server::scaled};

const WRITERS: usize = 32;
/// How many reads, and how many writes, are refused for certain. A slow machine may not use the quota up.
const REFUSED: usize = 24;
const ROLE: &str = "roles/viewer";

/// How many of the writers add their member under a quota of 200 calls a second, 8 at once, and
/// how many members the policy then has. All times are a hundredth of what they are in production, but for
/// the deadline: a slow machine has time.
async fn arrived(policy: Policy) -> (usize, usize) {
    let emulator = Emulator::builder().rate_limit(200, 8).start().unwrap();
    for call in [Call::GetIamPolicy, Call::SetIamPolicy] {
        emulator.script(call, vec![Reply::status(429); REFUSED]);
    }
    let policy = scaled(policy, 0.01);
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let store = iam::Rest::new(client(), format!("{}/v3", emulator.url()));
            tokio::spawn(async move {
                let member = format!("user:{writer}@example.com");
                let add = iam::add(&store, PROJECT, ROLE, &member);
                add.policy(policy).await.is_ok()
            })
        })
        .collect();
    let mut told = 0;
    for writer in writers {
        told += usize::from(writer.await.unwrap());
    }
    let refused = emulator.stats().faults;
    assert!(refused >= REFUSED as u64, "{:?}", emulator.stats());
    let policy = emulator.policy(PROJECT);
    let members = policy["bindings"][0]["members"].as_array();
    (told, members.map_or(0, Vec::len))
}

#[tokio::test]
async fn a_quota_loses_no_writer() {
    assert_eq!(arrived(iam::READ_MODIFY_WRITE).await, (WRITERS, WRITERS));
}

/// What the documentation lists is not enough in a crowd, which is why 429 is added.
#[tokio::test]
async fn the_documented_codes_alone_lose_writers_to_a_quota() {
    let documented = iam::READ_MODIFY_WRITE.on(codes![500, 502..=504, Codes::ABORTED]);
    let (told, members) = arrived(documented).await;
    assert_eq!(told, members);
    // Each refused read loses a writer.
    assert!(members <= WRITERS - REFUSED, "{members} arrived");
}
