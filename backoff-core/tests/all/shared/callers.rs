//! Random callers of what calls share. Some of them misbehave.

use rand::{RngExt as _, SeedableRng as _, rngs::SmallRng};
use std::{
    cell::{Cell, RefCell},
    fmt::Debug,
    future::{Future, pending},
    time::Duration,
};
use tokio::{
    task::LocalSet,
    time::{sleep, timeout},
};

pub(super) const SECOND: Duration = Duration::from_secs(1);

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Ends,
    /// Its caller drops it after this time.
    Dropped(Duration),
    /// Its caller keeps it, and does not poll it after this time.
    Kept(Duration),
    /// Its step with this number panics.
    Panics(u32),
    /// Its step with this number hangs.
    Hangs(u32),
}

#[derive(Debug)]
struct Caller {
    arrives: Duration,
    fate: Fate,
    random: RefCell<SmallRng>,
    steps: Cell<u32>,
}

tokio::task_local! {
    /// The caller whose call is polled.
    static CALLER: Caller;
}

impl Caller {
    fn new(random: &mut SmallRng) -> Self {
        let time = Duration::from_millis(random.random_range(0..2_000));
        let step = random.random_range(0..3);
        Caller {
            arrives: Duration::from_millis(random.random_range(0..5_000)),
            fate: match random.random_range(0..8) {
                0 => Fate::Dropped(time),
                1 => Fate::Kept(time),
                2 => Fate::Panics(step),
                3 => Fate::Hangs(step),
                _ => Fate::Ends,
            },
            random: SmallRng::from_rng(random).into(),
            steps: Cell::default(),
        }
    }

    async fn makes<E: Debug>(self, call: impl Future<Output = Result<(), E>>, limit: Duration) {
        sleep(self.arrives).await;
        let (told, fate) = (format!("{self:?}"), self.fate);
        let mut call = Box::pin(CALLER.scope(self, call));
        match fate {
            Fate::Ends => match timeout(limit, call).await {
                Ok(outcome) => outcome.expect("the call succeeds"),
                Err(_) => panic!("after {limit:?} there waits {told}"),
            },
            Fate::Dropped(after) => drop(timeout(after, call).await),
            Fate::Kept(after) => {
                let _unfinished = timeout(after, &mut call).await;
                pending::<()>().await;
            }
            Fate::Panics(_) | Fate::Hangs(_) => drop(call.await),
        }
    }
}

/// A step of the call that is polled, for example an opening, an operation, a read or a write: takes up to half a
/// second, panics or hangs.
pub(super) async fn step() {
    let (number, fate) =
        CALLER.with(|caller| (caller.steps.replace(caller.steps.get() + 1), caller.fate));
    if fate == Fate::Panics(number) {
        panic!("in a step");
    }
    if fate == Fate::Hangs(number) {
        pending::<()>().await;
    }
    sleep(Duration::from_millis(draw(500))).await;
}

/// A random number below `end`.
pub(super) fn draw(end: u64) -> u64 {
    CALLER.with(|caller| caller.random.borrow_mut().random_range(0..end))
}

/// Lets twelve random callers `call` what is `shared`. Panics if one of those who behave fails, or does not end within
/// `limit`, which may depend on the number of those who misbehave.
pub(super) fn others_end<S: Clone, F, E: Debug + 'static>(
    seed: u64,
    limit: impl Fn(u32) -> Duration,
    shared: S,
    call: impl Fn(S) -> F,
) where
    F: Future<Output = Result<(), E>> + 'static,
{
    let mut random = SmallRng::seed_from_u64(seed);
    let callers = [(); 12].map(|()| Caller::new(&mut random));
    let behaves = |caller: &Caller| caller.fate == Fate::Ends;
    let limit = limit(callers.iter().filter(|caller| !behaves(caller)).count() as u32);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    let tasks = LocalSet::new();
    let others = callers.map(|caller| {
        let behaves = behaves(&caller);
        let task = tasks.spawn_local(caller.makes(call(shared.clone()), limit));
        behaves.then_some(task)
    });
    runtime.block_on(tasks.run_until(async {
        for task in others.into_iter().flatten() {
            task.await
                .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        }
    }));
}
