//! Many random changes under random faults, on a paused clock and on threads.

use super::{story::*, *};
use crate::runtime::Tokio;
use core::ops::Range;
use rand::{Rng as _, SeedableRng, rngs::SmallRng};
use std::panic;
use tokio::runtime::Runtime;

/// Changes on the paused clock, and on threads.
const PAUSED: u32 = 80_000;
const ON_THREADS: u32 = 20_000;

/// A generator that is shared.
struct Chance(Mutex<SmallRng>);

impl Chance {
    fn new(seed: u64) -> Self {
        Chance(Mutex::new(SmallRng::seed_from_u64(seed)))
    }

    fn below(&self, n: u64) -> u64 {
        self.0.lock().unwrap().next_u64() % n
    }

    fn percent(&self, percent: u64) -> bool {
        self.below(100) < percent
    }

    fn pick<T: Clone>(&self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize].clone()
    }
}

/// Keeps the panics that belong to the test out of its output.
fn keep_quiet() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !is_meant(info.payload()) {
                before(info);
            }
        }));
    });
}

/// Draws a fate for every call; this many in a hundred fail.
fn fates(chance: Arc<Chance>, percent: u64) -> impl Fn(bool) -> Fate + Send + Sync {
    move |is_write| {
        if !chance.percent(percent) {
            return Fate::Fine;
        }
        let [denied, slow_down, bad] = [403, 429, 400].map(TestError::status);
        let lost = [UNAVAILABLE, TestError::LOST];
        let refused = [TestError::CONFLICT, slow_down, bad];
        match chance.below(if is_write { 20 } else { 8 }) {
            0 => Fate::Panic,
            1 => Fate::Hang,
            2 => Fate::Fail(denied),
            3..=7 => Fate::Fail(chance.pick(&lost)),
            8 => Fate::DoneAndHang,
            9..=12 => Fate::DoneBut(chance.pick(&lost)),
            _ => Fate::Fail(chance.pick(&refused)),
        }
    }
}

/// One caller. None if it was dropped while it waited.
async fn caller(
    mut update: Updating<u32, Members, u64, TestError, (Tokio, Mutex<SmallRng>)>,
    chance: Arc<Chance>,
    ms: u64,
) -> Option<Told> {
    let within = |chance: &Chance| Duration::from_millis(chance.below(ms));
    tokio::time::sleep(within(&chance)).await;
    if chance.percent(15) {
        update = update.deadline(within(&chance));
    }
    if chance.percent(15) {
        update = update.max_attempts(1 + chance.below(3) as u32);
    }
    if chance.percent(5) {
        // Kept for a while, polled once.
        if let Poll::Ready(told) = poll(&mut update) {
            return Some(told);
        }
        tokio::time::sleep(within(&chance)).await;
        if chance.percent(50) {
            return None;
        }
    }
    if chance.percent(15) {
        return tokio::time::timeout(within(&chance), update).await.ok();
    }
    Some(update.await)
}

/// Another writer, who removes members. The test records the removed members.
async fn remover(server: Arc<Server>, chance: Arc<Chance>, key: u32, ms: u64) -> Vec<u32> {
    let mut removed = Vec::new();
    for _ in 0..chance.below(6) {
        pass(chance.below(ms)).await;
        let mut resources = server.resources.lock().unwrap();
        let members = resources.entry(key).or_default();
        if !members.names.is_empty() {
            let which = chance.below(members.names.len() as u64) as usize;
            removed.push(members.names.remove(which));
            members.version += 1;
        }
    }
    removed
}

/// Some callers on one server. Returns the number of changes that were made.
async fn case(seed: u64, hop: u64) -> u32 {
    let chance = Arc::new(Chance::new(seed));
    let percent = chance.pick(&[0, 10, 30, 60]);
    let refused: Vec<u32> = (0..100).filter(|_| chance.percent(2)).collect();
    let server = Arc::new(Server {
        by_chance: Some(Box::new(fates(Arc::clone(&chance), percent))),
        refused: (refused.clone(), 422),
        ..Server::new(hop)
    });
    let base = Duration::from_millis(chance.pick(&[0, hop.max(1), 5 * hop.max(1)]));
    let policy = Policy::exponential().base(base).max_attempts(6);
    let policy = policy.idempotent(chance.percent(80));
    // The waits are drawn from the seed, as all else is.
    let waits = Mutex::new(SmallRng::seed_from_u64(seed));
    let mut combined = combine(policy, &server).runtime((Tokio, waits));
    if chance.percent(50) {
        combined = combined.version(|members| members.version);
    }
    let combined = combined.attempt_timeout(Duration::from_millis(6 * hop.max(1)));
    let (callers, keys) = (1 + chance.below(100) as u32, 1 + chance.below(3) as u32);
    let ms = chance.pick(&[1, 3, 30]) * hop.max(1);
    let tasks: Vec<_> = (0..callers)
        .map(|name| {
            let (kind, key) = (chance.below(8), name % keys);
            // Some callers make the same change as another caller.
            let name = match kind {
                0..4 if chance.percent(10) => 1_000 + key,
                _ => name,
            };
            let kind = match kind {
                0..4 => adds(name),
                4..6 => appends(name),
                6 => fails_itself(false),
                _ => panics_itself(),
            };
            let appends = kind.change.is_none();
            let update = match kind.change {
                Some(change) => combined.update(key, change),
                None => combined.update(key, append(name)),
            };
            let caller = caller(update, Arc::clone(&chance), ms);
            (name, appends, key, tokio::spawn(caller))
        })
        .collect();
    let removers: Vec<_> = (0..keys)
        .map(|key| tokio::spawn(remover(Arc::clone(&server), Arc::clone(&chance), key, ms)))
        .collect();
    let mut came = Vec::new();
    for (name, appends, key, task) in tasks {
        let told = task.await.unwrap_or_else(|error| {
            assert!(is_meant(&*error.into_panic()), "an assertion failed");
            None
        });
        came.push((name, appends, key, told));
    }
    let mut removed = Vec::new();
    for remover in removers {
        removed.push(remover.await.unwrap());
    }
    // A task whose callers have left ends when it is polled.
    for _ in 0..1_000 {
        if combined.busy() > 0 {
            pass(1).await;
        }
    }
    let left = (combined.busy(), server.steps.load(Relaxed));
    assert_eq!(left, (0, 0), "nothing is left");
    for (name, appends, key, told) in &came {
        let members = server.get(*key).names;
        let times = |among: &[u32]| among.iter().filter(|other| *other == name).count();
        let (here, gone) = (times(&members), times(&removed[*key as usize]));
        let is_shared = came.iter().filter(|other| other.0 == *name).count() > 1;
        let context = || format!("{name}: {told:?}, {here} here, {gone} removed");
        assert!(here <= 1, "twice there: {}", context());
        if *appends && !is_shared {
            assert!(here + gone <= 1, "applied twice: {}", context());
        }
        match told {
            Some(Ok(_)) => {
                assert!(here + gone > 0, "told success: {}", context());
                assert!(!refused.contains(name), "refused: {}", context());
            }
            Some(Err(error)) if !error.may_be_applied() && !is_shared => {
                assert_eq!(here + gone, 0, "surely not applied: {}", context());
            }
            _ => {}
        }
        assert!(!members.contains(&FAILED), "{}", context());
    }
    callers
}

/// Runs a case for each of these seeds, all at once. Returns the number of changes that were made.
fn cases(runtime: &Runtime, seeds: Range<u64>, hop: u64) -> u32 {
    // Only a case that hangs takes so long: all cases share this time.
    let patience = Duration::from_secs(600);
    let cases: Vec<_> = seeds
        .map(|seed| {
            let case = async move { tokio::time::timeout(patience, case(seed, hop)).await };
            (seed, runtime.spawn(case))
        })
        .collect();
    let made = |(seed, case)| match runtime.block_on(case) {
        Ok(Ok(made)) => made,
        Ok(Err(_)) => panic!("seed {seed} hangs"),
        Err(error) => panic!("seed {seed} failed: {error}"),
    };
    cases.into_iter().map(made).sum()
}

#[test]
fn no_random_change_is_lost_doubled_or_hangs() {
    keep_quiet();
    let runtime = paused();
    let (mut changes, mut seed) = (0, 0);
    while changes < PAUSED {
        changes += cases(&runtime, seed..seed + 1, 5);
        seed += 1;
    }
}

#[test]
fn no_random_change_is_lost_doubled_or_hangs_on_threads() {
    keep_quiet();
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(4).enable_time().build().unwrap();
    let (mut changes, mut seed) = (0, 1 << 32);
    while changes < ON_THREADS {
        // Many at once, so that they do not wait for the clock one after another.
        changes += cases(&runtime, seed..seed + 50, (seed / 50 + 1) % 2);
        seed += 50;
    }
}
