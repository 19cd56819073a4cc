//! The cost of many changes at once, and the behaviour of a single change.

use super::{story::*, *};
use crate::runtime::Tokio;
use rand::{SeedableRng, rngs::SmallRng};

const PLAIN: Policy = Policy::exponential();

#[test]
fn changes_at_the_same_time_are_one_read_and_one_write() {
    run([1, 100].map(|n| {
        story(format!("{n} at the same time"))
            .policy(PLAIN)
            .callers((0..n).map(|name| adds(name).until(10)))
            .ends(0..n, 1, 1)
    }));
    run([
        story("a thousand resources, each with three callers")
            .policy(PLAIN)
            .callers((0..3_000).map(|n| adds(n).on(n % 1_000).until(10)))
            .ends([0, 1_000, 2_000], 1_000, 1_000),
        story("what the server answers at once")
            .policy(PLAIN)
            .server(|| Server::new(0))
            .callers([adds(1).until(0), adds(1).at(1).unchanged().until(1)])
            .ends([1], 2, 1),
    ]);
}

#[test]
fn what_is_made_of_it_can_be_sent_and_shared() {
    fn is_sent<T: Send + 'static>(_: &T) {}
    fn is_shared<T: Send + Sync + Clone + 'static>(_: &T) {}
    let combined = combine(AT_ONCE, &Arc::new(Server::new(0)));
    is_shared(&combined);
    is_sent(&combined.update(0, append(1)));
    is_sent(&combined.update(0, |_: &mut Members| Ok::<(), TestError>(())));
}

/// Nothing in these tests takes that long.
const HANGS: Duration = Duration::from_secs(60);

/// A caller that comes at the moment when the other caller is done gets its outcome.
#[test]
fn two_threads_that_come_and_go_at_the_same_moment_both_get_through() {
    const ROUNDS: u32 = 4_000;
    let server = Arc::new(Server::new(0));
    let combined = combine(PLAIN, &server);
    let here = AtomicU32::new(0);
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = &runtime.worker_threads(2).enable_time().build().unwrap();
    std::thread::scope(|scope| {
        for which in 0..2 {
            let (combined, here) = (combined.clone(), &here);
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    here.fetch_add(1, Relaxed);
                    let start = std::time::Instant::now();
                    while here.load(Relaxed) < 2 * (round + 1) {
                        assert!(start.elapsed() < 2 * HANGS, "the other one failed");
                        std::thread::yield_now();
                    }
                    let count = move |members: &mut Members| {
                        members.names.resize(2, 0);
                        members.names[which] += 1;
                    };
                    let update = combined.update(round % 2, count);
                    let told =
                        runtime.block_on(async { tokio::time::timeout(HANGS, update).await });
                    assert!(start.elapsed() < HANGS, "nobody woke it");
                    assert!(told.is_ok_and(|told| written(&told)));
                }
            });
        }
    });
    for key in 0..2 {
        assert_eq!(server.get(key).names, [ROUNDS / 2; 2]);
    }
    assert_eq!(combined.busy(), 0);
}

/// A hundred tasks with calls of 50 ms, over a network that loses replies, on a policy like that of
/// IAM.
#[test]
fn a_hundred_tasks_on_a_bad_network_are_a_few_calls() {
    let (mut calls, mut took) = (Vec::new(), Vec::new());
    for seed in 0..60 {
        let chance = random::Chance::new(seed);
        let fate = move |_| match chance.below(100) {
            0..10 => Fate::Fail(TestError::status(503)),
            10..15 => Fate::DoneBut(TestError::status(503)),
            15..18 => Fate::Fail(TestError::LOST),
            18..20 => Fate::DoneBut(TestError::LOST),
            _ => Fate::Fine,
        };
        let server = Arc::new(Server::by_chance(50, fate));
        let jitter = Mutex::new(SmallRng::seed_from_u64(seed));
        let policy = Policy::exponential().max_attempts(10);
        let combined = combine(policy, &server).runtime((Tokio, jitter));
        let elapsed = paused().block_on(async {
            let start = tokio::time::Instant::now();
            let tasks: Vec<_> = (0..100)
                .map(|name| tokio::spawn(combined.update(0, add(name))))
                .collect();
            for task in tasks {
                assert!(task.await.unwrap().is_ok());
            }
            start.elapsed()
        });
        assert_eq!(server.get(0).names.len(), 100);
        let (reads, writes) = server.calls();
        calls.push(reads + writes);
        took.push(elapsed.as_millis());
    }
    calls.sort_unstable();
    took.sort_unstable();
    assert_eq!(
        (calls[29], took[29]),
        (2, 100),
        "p50 of {calls:?}, {took:?}"
    );
    assert!(
        calls[56] <= 6 && took[56] <= 2_300,
        "p95 of {calls:?}, {took:?}"
    );
}

/// A list whose copies are counted.
#[derive(Debug)]
struct Counted(Vec<u32>, Arc<Alive>);

/// How many copies there are, and were at most.
#[derive(Debug, Default)]
struct Alive(AtomicU32, AtomicU32);

impl Counted {
    fn new(names: Vec<u32>, alive: &Arc<Alive>) -> Self {
        let now = alive.0.fetch_add(1, Relaxed) + 1;
        alive.1.fetch_max(now, Relaxed);
        Counted(names, Arc::clone(alive))
    }
}

impl Clone for Counted {
    fn clone(&self) -> Self {
        Counted::new(self.0.clone(), &self.1)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.1.0.fetch_sub(1, Relaxed);
    }
}

/// Ten thousand callers find nothing to do, in the value that was read or after the change of another one.
#[tokio::test(start_paused = true)]
async fn callers_who_find_nothing_to_do_share_a_copy() {
    for first in [0, 1] {
        let alive = Arc::<Alive>::default();
        let read = Arc::clone(&alive);
        let combined = PLAIN.combine(
            move |_| {
                let value = Counted::new(vec![0], &read);
                async move {
                    pass(5).await;
                    Ok::<_, TestError>(value)
                }
            },
            |_, _: Counted| async { Ok(()) },
        );
        let callers = (0..10_000).map(|n| {
            let name = if n == 0 { first } else { 0 };
            let update = combined.update(0, move |value: &mut Counted| {
                let is_new = !value.0.contains(&name);
                value.0.extend(is_new.then_some(name));
                is_new
            });
            // The caller drops its own copy at once.
            tokio::spawn(async { update.await.unwrap().is_written() })
        });
        let mut written = 0;
        for caller in callers.collect::<Vec<_>>() {
            written += u32::from(caller.await.unwrap());
        }
        assert_eq!(written, first);
        assert!(alive.1.load(Relaxed) <= 6, "{alive:?}");
        assert_eq!((alive.0.load(Relaxed), combined.busy()), (0, 0));
    }
}
