//! Random scripts of callers under random faults, on a paused clock, against what must hold for each.

use super::{table::FAILED, *};
use rand::{Rng as _, SeedableRng, rngs::SmallRng};
use std::panic;
use tokio::time::timeout;

/// How many changes the scripts make.
const CHANGES: u32 = 80_000;
/// How many milliseconds a call of the server takes.
const HOP: u64 = 5;

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

/// A key or a reply. Some copies panic, if there is a generator.
#[derive(Debug)]
struct Copied<T>(T, Option<Arc<Chance>>);

impl core::fmt::Debug for Chance {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Chance")
    }
}

impl<T: Copy> Clone for Copied<T> {
    fn clone(&self) -> Self {
        let panics = self.1.as_ref().is_some_and(|chance| chance.below(150) == 0);
        assert!(!panics, "the copy panics");
        Copied(self.0, self.1.clone())
    }
}

impl<T: PartialEq> PartialEq for Copied<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<T: Eq> Eq for Copied<T> {}

impl<T: Hash> Hash for Copied<T> {
    fn hash<H: core::hash::Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

type Combined = Combining<Copied<u32>, Members, Copied<u64>, TestError>;
type Change = Changing<Copied<u32>, Members, Copied<u64>, TestError>;

/// The end of a caller: success, an error that may be applied or not, or nothing, because it was dropped or its change
/// panicked.
type Told = Option<Result<(), bool>>;

/// Draws a fate for every call; this many in a hundred fail.
fn fates(chance: Arc<Chance>, percent: u64) -> impl Fn(bool) -> Fate + Send + Sync {
    move |is_write| {
        if !chance.percent(percent) {
            return Fate::Fine;
        }
        let [denied, slow_down, bad, stale] = [403, 429, 400, 412].map(TestError::status);
        let lost = [UNAVAILABLE, TestError::LOST];
        let refused = [TestError::CONFLICT, slow_down, bad, stale];
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

fn combine(
    policy: Policy,
    server: &Arc<Server>,
    has_version: bool,
    limit: Duration,
    copies: &Option<Arc<Chance>>,
) -> Combined {
    let (server, copies) = (Arc::clone(server), copies.clone());
    Combining::new(
        move |key: Copied<u32>, group: Group<Members, Copied<u64>, TestError>| {
            let (server, copies) = (Arc::clone(&server), copies.clone());
            async move {
                let write = async |members| {
                    let reply = server.write(key.0, members).await?;
                    Ok(Copied(reply, copies.clone()))
                };
                let update = policy
                    .update(
                        || group.read(server.read(key.0)),
                        |_| group.has_changed(),
                        |members| group.write(write(members)),
                    )
                    .attempt_timeout(limit);
                match has_version {
                    true => update.version(|members| members.version).reported().await,
                    false => update.reported().await,
                }
            }
        },
    )
}

/// A change that recognises its own effect, but has it only sometimes.
fn flickers(name: u32, chance: Arc<Chance>) -> impl FnMut(&mut Members) -> bool {
    move |members| {
        let adds = chance.percent(70);
        match adds {
            true => members.add(name),
            false => {
                members.names.push(FAILED);
                false
            }
        }
    }
}

/// One caller: waits, leaves, withdraws, or is dropped.
async fn caller(mut change: Change, chance: Arc<Chance>, ms: u64) -> Told {
    let within = || Duration::from_millis(chance.below(ms));
    tokio::time::sleep(within()).await;
    if chance.percent(5) {
        // Kept for a while, polled once.
        if let Poll::Ready(told) = poll(&mut change) {
            return Some(told.map(drop).map_err(|error| error.may_be_applied()));
        }
        tokio::time::sleep(within()).await;
    }
    let end = chance.below(10);
    let patience = if end < 4 { within() } else { Duration::MAX };
    let told = match timeout(patience, &mut change).await {
        Ok(told) => told,
        Err(_) if end == 0 => return None,
        Err(_) if end == 1 => return Some(Err(change.withdraw())),
        Err(_) => {
            change.leave();
            change.await
        }
    };
    Some(told.map(drop).map_err(|error| error.may_be_applied()))
}

/// Some callers on one server. Returns the number of changes that were made.
async fn script(seed: u64) -> u32 {
    let chance = Arc::new(Chance::new(seed));
    let percent = chance.pick(&[0, 10, 30, 60]);
    let refused: Vec<u32> = (0..100).filter(|_| chance.percent(2)).collect();
    let server = Arc::new(Server {
        by_chance: Some(Box::new(fates(Arc::clone(&chance), percent))),
        refused: (refused.clone(), 422),
        ..Server::new(HOP)
    });
    let base = Duration::from_millis(chance.pick(&[0, HOP, 5 * HOP]));
    let policy = Policy::exponential().base(base).max_attempts(6);
    let policy = policy.idempotent(chance.percent(80));
    let policy = match chance.percent(20) {
        true => policy.on(crate::codes![400, 412, 422, 429, 503]),
        false => policy,
    };
    let copies = chance.percent(10).then(|| Arc::clone(&chance));
    let limit = Duration::from_millis(6 * HOP);
    let combined = combine(policy, &server, chance.percent(50), limit, &copies);
    let (callers, keys) = (1 + chance.below(100) as u32, 1 + chance.below(3) as u32);
    let ms = chance.pick(&[1, 3, 30]) * HOP;
    let tasks: Vec<_> = (0..callers)
        .map(|name| {
            let (kind, key) = (chance.below(9), name % keys);
            // Some callers make the same change as another caller.
            let name = match kind {
                0..4 if chance.percent(10) => 1_000 + key,
                _ => name,
            };
            let of = Copied(key, copies.clone());
            let change = match kind {
                0..4 => combined.update(of, add(name)),
                4..6 => combined.update(of, append(name)),
                6 => combined.update(of, flickers(name, Arc::clone(&chance))),
                7 => combined.update(of, |members| {
                    members.names.push(FAILED);
                    Err::<bool, _>(OWN)
                }),
                _ => combined.update(of, |members| -> bool {
                    members.names.push(FAILED);
                    panic!("the change panics")
                }),
            };
            let caller = caller(change, Arc::clone(&chance), ms);
            (name, kind, key, tokio::spawn(caller))
        })
        .collect();
    let mut came = Vec::new();
    for (name, kind, key, task) in tasks {
        let told = task.await.unwrap_or_else(|error| {
            assert!(is_meant(&*error.into_panic()), "an assertion failed");
            None
        });
        came.push((name, kind, key, told));
    }
    // A task whose callers have left ends when it is polled.
    for _ in 0..1_000 {
        if combined.busy() > 0 {
            pass(1).await;
        }
    }
    assert_eq!(combined.busy(), 0, "a resource is left");
    server.is_clean();
    for (name, kind, key, told) in &came {
        let names = server.get(*key).names;
        let times = names.iter().filter(|other| *other == name).count();
        let is_shared = came.iter().filter(|other| other.0 == *name).count() > 1;
        let context = || format!("{name} (kind {kind}): {told:?}, {times} times");
        assert!(times <= 1, "applied twice: {}", context());
        match told {
            // What a change leaves out of its own will is no change.
            Some(Ok(())) if *kind != 6 => {
                assert!(times > 0, "told success: {}", context());
                assert!(!refused.contains(name), "refused: {}", context());
            }
            Some(Err(false)) if !is_shared => {
                assert_eq!(times, 0, "surely not applied: {}", context());
            }
            _ => {}
        }
    }
    callers
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

#[test]
fn no_change_of_a_script_is_lost_doubled_or_hangs() {
    keep_quiet();
    let runtime = paused();
    let (mut changes, mut seed) = (0, 0);
    while changes < CHANGES {
        // Only a script that hangs takes so long.
        let script = async move { timeout(SECOND * 600, script(seed)).await };
        changes += match runtime.block_on(runtime.spawn(script)) {
            Ok(Ok(made)) => made,
            Ok(Err(_)) => panic!("seed {seed} hangs"),
            Err(error) => panic!("seed {seed} failed: {error}"),
        };
        seed += 1;
    }
}
