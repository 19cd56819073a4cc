//! Reads that see a write late, and callers that wait until all reads see the write.

use std::time::{Duration, Instant};

use backoff_cloud::emulator::{Builder, Emulator, Faults};
use backoff_cloud::http::{self, ApiError};
use backoff_cloud::{Jitter, Policy, iam, retry};
use serde_json::{Value, json};

use crate::emulator::client::*;

const ROLE: &str = "roles/viewer";
const ANN: &str = "user:ann@example.com";
const BOB: &str = "user:bob@example.com";

/// Between two reads.
const APART: Duration = Duration::from_millis(60);
const POLL: Policy = Policy::constant(APART)
    .jitter(Jitter::None)
    .deadline(PATIENCE);

struct Project {
    emulator: Emulator,
    client: reqwest::Client,
}

impl Project {
    fn new(builder: Builder) -> Self {
        Project {
            emulator: builder.start().unwrap(),
            client: client(),
        }
    }

    async fn grant(&self, member: &str) {
        let store = iam::Rest::new(self.client.clone(), format!("{}/v3", self.emulator.url()));
        iam::add(&store, PROJECT, ROLE, member)
            .policy(FAST)
            .await
            .unwrap();
    }

    /// Whether a read shows the grant.
    async fn shows(&self, member: &str) -> Result<bool, ApiError> {
        let url = format!("{}/v1/{PROJECT}:getIamPolicy", self.emulator.url());
        let policy: Value = http::json(self.client.get(url).send().await?).await?;
        Ok(members(&policy).contains(&member))
    }

    /// What so many reads show, one right after the other.
    async fn shown(&self, member: &str, reads: usize) -> Vec<bool> {
        let mut shown = Vec::new();
        for _ in 0..reads {
            shown.push(self.shows(member).await.unwrap());
        }
        shown
    }
}

fn members(policy: &Value) -> Vec<&str> {
    let members = policy["bindings"][0]["members"].as_array();
    let members = members.into_iter().flatten();
    members.filter_map(Value::as_str).collect()
}

/// Reads flap as long as the emulator runs.
fn flapping(seed: u64) -> Project {
    Project::new(Emulator::builder().seed(seed).flaps_for(FOREVER))
}

#[tokio::test]
async fn one_read_that_shows_a_grant_promises_nothing() {
    let project = flapping(1);
    project.grant(ANN).await;
    let visible = const { POLL.base(Duration::from_millis(1)) }.retry(|| project.shows(ANN));
    assert!(visible.until(|visible| *visible).await.unwrap());
    let next = project.shown(ANN, 20).await;
    assert!(next.contains(&false) && next.contains(&true), "{next:?}");
}

#[tokio::test]
async fn a_seed_fixes_which_reads_flap() {
    let mut by_seed = Vec::new();
    for seed in [1, 1, 2] {
        let project = flapping(seed);
        project.grant(ANN).await;
        by_seed.push(project.shown(ANN, 40).await);
    }
    assert_eq!(by_seed[0], by_seed[1]);
    assert_ne!(by_seed[0], by_seed[2]);
}

#[tokio::test]
async fn several_reads_in_a_row_show_it_for_ever() {
    // Two waits between three reads are longer than reads flap.
    let flaps = Duration::from_millis(110);
    assert!(flaps < 2 * APART);
    for seed in 0..4 {
        let builder = Emulator::builder().seed(seed).flaps_for(flaps);
        let project = Project::new(builder.visible_after(APART));
        let start = Instant::now();
        project.grant(ANN).await;
        let visible = POLL.retry(|| project.shows(ANN)).until(|visible| *visible);
        let (visible, report) = visible.consecutive(3).reported().await.unwrap();
        assert!(visible && report.attempts >= 3, "{report:?}");
        assert!(start.elapsed() >= APART + 2 * APART);
        assert_eq!(project.shown(ANN, 10).await, [true; 10]);
    }
}

#[retry(policy = POLL, until = |visible| *visible, consecutive = 3)]
async fn steady(project: &Project, member: &str) -> Result<bool, ApiError> {
    project.shows(member).await
}

#[tokio::test]
async fn a_replica_that_fails_begins_the_row_anew() {
    let flaps = Duration::from_millis(110);
    let project = Project::new(Emulator::builder().flaps_for(flaps));
    project.grant(ANN).await;
    project.emulator.set_faults(Faults::none().status(503, 0.2));
    assert!(steady(&project, ANN).await.unwrap());
    project.emulator.set_faults(Faults::none());
    assert_eq!(project.shown(ANN, 10).await, [true; 10]);
}

#[tokio::test]
async fn a_change_of_a_stale_policy_conflicts_and_loses_nothing() {
    let mut conflicts = 0;
    for seed in 0..8 {
        let project = flapping(seed);
        project.grant(ANN).await;
        project.grant(BOB).await;
        let newest = project.emulator.policy(PROJECT);
        assert_eq!(members(&newest), [ANN, BOB]);
        let stats = project.emulator.stats();
        assert_eq!((stats.conflicts, stats.writes), (stats.stale_reads, 2));
        conflicts += stats.conflicts;
    }
    // By some of the seeds the second grant first reads the policy before the first one.
    assert!(conflicts > 0);
}

#[tokio::test]
async fn a_grant_that_is_not_visible_grants_nothing() {
    let ask_for = |emulator: &Emulator| {
        let path = format!("/v1/{PROJECT}:testIamPermissions");
        let asked = request("POST", &path, r#"{"permissions": ["a.b.get"]}"#);
        ask(emulator, &asked).json()
    };
    let everything = json!({"permissions": ["a.b.get"]});
    let never = Project::new(Emulator::builder().visible_after(FOREVER));
    assert_eq!(ask_for(&never.emulator), json!({}));
    never.grant(ANN).await;
    assert_eq!(ask_for(&never.emulator), json!({}));
    let flapping = flapping(1);
    flapping.grant(ANN).await;
    let answers: Vec<_> = (0..20).map(|_| ask_for(&flapping.emulator)).collect();
    assert!(answers.contains(&everything) && answers.contains(&json!({})));
    // By hand it is visible at once.
    let policy = never.emulator.policy(PROJECT);
    never.emulator.set_policy(PROJECT, policy);
    assert_eq!(ask_for(&never.emulator), everything);
    assert!(never.shows(ANN).await.unwrap());
}

#[tokio::test]
async fn etags_do_not_depend_on_reads_that_flap() {
    let mut runs = Vec::new();
    for reads in [0, 7] {
        let project = flapping(3);
        project.grant(ANN).await;
        let shown = project.shown(ANN, reads).await;
        assert_eq!(shown.len(), reads);
        project
            .emulator
            .set_policy(PROJECT, json!({"bindings": []}));
        runs.push(project.emulator.policy(PROJECT)["etag"].take());
    }
    assert_eq!(runs[0], runs[1]);
}
