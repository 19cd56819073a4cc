//! The service that is called: it counts what it applies, and fails in every way that a client may meet. Its clock
//! moves by random steps, and sometimes jumps.

use backoff_core::{
    BlockingSleep, Clock, Conflict, Fault, Random, Sleep, Stopped, TimedOut, combine::Task,
};
use rand::{Rng as _, SeedableRng as _, rngs::SmallRng};
use std::{
    collections::HashMap,
    future::{pending, poll_fn},
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard},
    task::{Context, Poll, Waker},
    time::Duration,
};

/// The number of resources that updates change.
pub(crate) const RESOURCES: u32 = 64;

/// An error of a call.
#[derive(Clone, Debug, PartialEq, Fault)]
pub(crate) enum Failure {
    /// The server is busy: the request was perhaps applied.
    #[fault(status = 503)]
    Busy,
    /// Throttled, perhaps with a hint: the request was not applied.
    #[fault(status = 429, retry_after = self.0)]
    Throttled(Option<Duration>),
    /// No connection was opened.
    #[fault(not_sent)]
    Refused,
    /// The connection was lost after the request was sent.
    #[fault(maybe_sent)]
    Reset,
    /// Somebody else has written since the read.
    #[fault(conflict)]
    Stale,
    #[fault(status = 403)]
    Forbidden,
    #[fault(forward)]
    TimedOut(TimedOut),
    Stopped,
}

impl From<TimedOut> for Failure {
    fn from(late: TimedOut) -> Self {
        Failure::TimedOut(late)
    }
}

impl From<Stopped> for Failure {
    fn from(_: Stopped) -> Self {
        Failure::Stopped
    }
}

impl From<Conflict> for Failure {
    fn from(_: Conflict) -> Self {
        Failure::Stale
    }
}

/// What happens to a request.
#[derive(Clone, Debug)]
enum Fate {
    Fine,
    /// Fails before it is applied.
    Fails(Failure),
    /// Is applied, and its reply is lost.
    Lost(Failure),
    Hangs,
    AppliedAndHangs,
    Panics,
}

/// The members of a resource, and the version that a write has to name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Members {
    pub(crate) names: Vec<u32>,
    pub(crate) version: u64,
}

struct State {
    chance: SmallRng,
    now: Duration,
    /// How often the request of each call was applied.
    applied: HashMap<u32, u32>,
    members: HashMap<u32, Members>,
    tasks: Vec<Task>,
}

/// A handle of the service. Clones share it.
#[derive(Clone)]
pub(crate) struct Service(Arc<Mutex<State>>);

impl Service {
    pub(crate) fn new(seed: u64) -> Self {
        Service(Arc::new(Mutex::new(State {
            chance: SmallRng::seed_from_u64(seed),
            now: Duration::from_secs(100_000),
            applied: HashMap::new(),
            members: HashMap::new(),
            tasks: Vec::new(),
        })))
    }

    /// Runs a task that combines changes.
    pub(crate) fn spawn(&self, task: Task) {
        self.state().tasks.push(task);
    }

    /// Polls the tasks that combine changes. A task whose operation panics has ended.
    pub(crate) fn poll_tasks(&self) {
        let mut tasks = std::mem::take(&mut self.state().tasks);
        let mut context = Context::from_waker(Waker::noop());
        tasks.retain_mut(|task| {
            let polled = catch_unwind(AssertUnwindSafe(|| task.as_mut().poll(&mut context)));
            matches!(polled, Ok(Poll::Pending))
        });
        self.state().tasks.append(&mut tasks);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("no code panics under this lock")
    }

    /// A random number below `n`.
    pub(crate) fn below(&self, n: u64) -> u64 {
        self.state().chance.next_u64() % n
    }

    /// Lets a random time pass: mostly below 50 ms. One step in 20,000 is an hour, another one goes back by ten
    /// seconds.
    pub(crate) fn pass(&self) {
        let nanos = self.below(50_000_000);
        let kind = self.below(20_000);
        let mut state = self.state();
        state.now = match kind {
            0 => state.now + Duration::from_secs(3_600),
            1 => state.now.saturating_sub(Duration::from_secs(10)),
            _ => state.now + Duration::from_nanos(nanos),
        };
    }

    /// How often the request of a call was applied.
    pub(crate) fn applied(&self, id: u32) -> u32 {
        self.state().applied.get(&id).copied().unwrap_or(0)
    }

    /// How often a resource has a member.
    pub(crate) fn has(&self, resource: u32, name: u32) -> usize {
        let state = self.state();
        let members = state.members.get(&resource);
        members.map_or(0, |it| it.names.iter().filter(|it| **it == name).count())
    }

    fn fate(&self, is_write: bool) -> Fate {
        let hint = Duration::from_millis(self.below(20_000));
        match self.below(100) {
            0 => Fate::Panics,
            1 => Fate::Hangs,
            2 => Fate::Fails(Failure::Forbidden),
            3 if is_write => Fate::AppliedAndHangs,
            4..=7 if is_write => Fate::Lost(Failure::Reset),
            8..=11 if is_write => Fate::Lost(Failure::Busy),
            12..=19 => Fate::Fails(Failure::Busy),
            20..=25 => Fate::Fails(Failure::Throttled(None)),
            26..=28 => Fate::Fails(Failure::Throttled(Some(hint))),
            29..=33 => Fate::Fails(Failure::Refused),
            34..=37 => Fate::Fails(Failure::Reset),
            _ => Fate::Fine,
        }
    }

    /// One request: `apply` is called at most once.
    async fn request<T>(
        &self,
        is_write: bool,
        apply: impl FnOnce(&mut State) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let fate = self.fate(is_write);
        for _ in 0..self.below(3) {
            self.hop().await;
        }
        match fate {
            Fate::Fine => apply(&mut self.state()),
            Fate::Fails(failure) => Err(failure),
            Fate::Lost(failure) => {
                apply(&mut self.state())?;
                Err(failure)
            }
            Fate::Hangs => pending().await,
            Fate::AppliedAndHangs => {
                apply(&mut self.state())?;
                pending().await
            }
            Fate::Panics => resume_unwind(Box::new("the operation panics")),
        }
    }

    /// One request of the call with this id.
    pub(crate) async fn call(&self, id: u32) -> Result<u32, Failure> {
        self.request(true, |state| {
            *state.applied.entry(id).or_default() += 1;
            Ok(id)
        })
        .await
    }

    pub(crate) async fn read(&self, resource: u32) -> Result<Members, Failure> {
        self.request(false, |state| {
            Ok(state.members.entry(resource).or_default().clone())
        })
        .await
    }

    pub(crate) async fn write(&self, resource: u32, members: Members) -> Result<u64, Failure> {
        self.request(true, |state| {
            let stored = state.members.entry(resource).or_default();
            if stored.version != members.version {
                return Err(Failure::Stale);
            }
            *stored = members;
            stored.version += 1;
            Ok(stored.version)
        })
        .await
    }

    /// Runs a request to its end without a timer, for the blocking forms: one that hangs was cut by the client.
    pub(crate) fn blocking<T>(
        &self,
        request: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        let mut request = std::pin::pin!(request);
        let mut context = Context::from_waker(std::task::Waker::noop());
        for _ in 0..8 {
            if let Poll::Ready(done) = request.as_mut().poll(&mut context) {
                return done;
            }
            self.pass();
        }
        Err(Failure::TimedOut(TimedOut::new(Duration::from_secs(8))))
    }

    /// Gives way once.
    fn hop(&self) -> impl Future<Output = ()> {
        let mut was_polled = false;
        poll_fn(move |context| {
            let is_over = std::mem::replace(&mut was_polled, true);
            ready_if(is_over, context)
        })
    }

    /// A signal that comes in one poll of sixteen. Polling it after it came is an error of the library.
    pub(crate) fn signal(&self) -> impl Future<Output = ()> + Unpin + Send + 'static {
        let (service, mut came) = (self.clone(), false);
        poll_fn(move |context| {
            assert!(!came, "a signal that came is polled again");
            came = service.below(16) == 0;
            ready_if(came, context)
        })
    }
}

/// Ready, or pending with a call of the waker: the soak polls at random, and asks nobody when.
fn ready_if(is_ready: bool, context: &Context<'_>) -> Poll<()> {
    if is_ready {
        return Poll::Ready(());
    }
    context.waker().wake_by_ref();
    Poll::Pending
}

/// The service's clock and random numbers are the runtime of the calls.
impl Clock for Service {
    fn now(&self) -> Duration {
        self.state().now
    }
}

impl Random for Service {
    fn random(&self) -> u64 {
        self.state().chance.next_u64()
    }
}

impl BlockingSleep for Service {
    fn sleep_blocking(&self, wait: Duration) {
        let mut state = self.state();
        state.now += wait;
        drop(state);
        self.pass();
    }
}

impl Sleep for Service {
    type Sleep = Until;

    fn sleep(&self, wait: Duration) -> Until {
        let due = self.now().saturating_add(wait);
        Until {
            service: self.clone(),
            due,
        }
    }
}

/// A wait until the service's clock shows this time.
pub(crate) struct Until {
    service: Service,
    due: Duration,
}

impl Future for Until {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        ready_if(self.service.now() >= self.due, context)
    }
}
