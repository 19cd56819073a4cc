//! A story: a row that says what the server does, who changes the resource when, and what comes of it.
//! Each story is run in every form of waiting. Times are in milliseconds.

use super::*;
use crate::{budget::Budget, report::StopReason};
use core::future::poll_fn;
use tokio::{
    task::JoinError,
    time::{Instant, sleep_until, timeout},
};

/// How the callers of a story wait. A caller that panics is a task of its own in every form.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Form {
    /// All in one task, which polls them in their order.
    Joined,
    /// Each in a task of its own.
    Spawned,
}

pub(super) const FORMS: [Form; 2] = [Form::Joined, Form::Spawned];

/// The member that a change adds to the value before it fails.
pub(super) const FAILED: u32 = u32::MAX;

type Change = Box<dyn FnMut(&mut Members) -> Result<bool, TestError> + Send>;
type Make = Arc<dyn Fn() -> Change + Send + Sync>;

/// A caller: its change, its limits, and its outcome.
#[derive(Clone)]
pub(super) struct Caller {
    name: u32,
    /// None if the change does not recognise its own effect.
    pub(super) change: Option<Make>,
    key: u32,
    at: u64,
    with: Arc<dyn Fn(Pending) -> Pending + Send + Sync>,
    polls: Vec<u64>,
    leaves: Option<u64>,
    told: String,
    until: Option<u64>,
}

/// Does not recognise its own effect.
pub(super) fn appends(name: u32) -> Caller {
    Caller {
        name,
        change: None,
        key: 0,
        at: 0,
        with: Arc::new(|update| update),
        polls: Vec::new(),
        leaves: None,
        told: "written".to_owned(),
        until: None,
    }
}

fn caller(name: u32, change: impl Fn() -> Change + Send + Sync + 'static) -> Caller {
    let change: Option<Make> = Some(Arc::new(change));
    Caller {
        change,
        ..appends(name)
    }
}

/// Recognises its own effect.
pub(super) fn adds(name: u32) -> Caller {
    caller(name, move || {
        let mut add = add(name);
        Box::new(move |members| Ok(add(members)))
    })
}

/// Fails with its own error after it has touched the value. If the write before may be applied, the change
/// fails when it is applied again.
pub(super) fn fails_itself(may_be_applied: bool) -> Caller {
    let change = move || -> Change {
        let mut succeeds = may_be_applied;
        Box::new(move |members| {
            members.names.push(FAILED);
            core::mem::take(&mut succeeds).then_some(true).ok_or(OWN)
        })
    };
    let error = OWN;
    caller(FAILED, change).error(CombineError::Own {
        error,
        may_be_applied,
    })
}

pub(super) fn panics_itself() -> Caller {
    let change = || -> Change {
        Box::new(|members| {
            members.names.push(FAILED);
            panic!("the change panics")
        })
    };
    caller(FAILED, change).panics()
}

impl Caller {
    /// Changes another resource.
    pub(super) fn on(self, key: u32) -> Self {
        Caller { key, ..self }
    }

    /// Begins at this time.
    pub(super) fn at(self, at: u64) -> Self {
        Caller { at, ..self }
    }

    fn with(self, with: impl Fn(Pending) -> Pending + Send + Sync + 'static) -> Self {
        let before = self.with;
        let with = Arc::new(move |update| with(before(update)));
        Caller { with, ..self }
    }

    pub(super) fn attempts(self, most: u32) -> Self {
        self.with(move |update| update.max_attempts(most))
    }

    pub(super) fn deadline(self, after: u64) -> Self {
        self.with(move |update| update.deadline(ms(after)))
    }

    /// Its signal comes so long after its beginning.
    pub(super) fn stops(self, after: u64) -> Self {
        self.with(move |update| update.stop_on(pass(after)))
    }

    /// Is polled once at each of these times only, and at the last of them begins to wait.
    pub(super) fn polled<const N: usize>(self, times: [u64; N]) -> Self {
        let polls = times.into();
        Caller { polls, ..self }
    }

    /// Is dropped so long after its beginning.
    pub(super) fn leaves(self, after: u64) -> Self {
        let leaves = Some(after);
        Caller { leaves, ..self }.told("left")
    }

    fn told(self, told: &str) -> Self {
        let told = told.to_owned();
        Caller { told, ..self }
    }

    pub(super) fn unchanged(self) -> Self {
        self.told("unchanged")
    }

    pub(super) fn panics(self) -> Self {
        self.told("panicked")
    }

    pub(super) fn error(self, error: CombineError<TestError>) -> Self {
        self.told(&came(&Err(error)))
    }

    /// Shares a failure with its group.
    pub(super) fn fails(self, error: TestError, reason: StopReason, may_be_applied: bool) -> Self {
        let error = Arc::new(error);
        self.error(CombineError::Shared {
            error,
            reason,
            may_be_applied,
        })
    }

    /// Gets the failure of its last attempt.
    pub(super) fn given_up(self, error: TestError) -> Self {
        self.fails(error, StopReason::Attempts, false)
    }

    pub(super) fn refused(self, status: u16) -> Self {
        self.fails(TestError::status(status), StopReason::Permanent, false)
    }

    /// Is not applied again because it may have been applied.
    pub(super) fn maybe_applied(self, error: TestError) -> Self {
        self.fails(error, StopReason::MaybeApplied, true)
    }

    pub(super) fn out_of_time(self, may_be_applied: bool) -> Self {
        self.error(CombineError::OutOfTime { may_be_applied })
    }

    pub(super) fn stopped(self, may_be_applied: bool) -> Self {
        self.error(CombineError::Stopped { may_be_applied })
    }

    /// When it gets its outcome.
    pub(super) fn until(self, until: u64) -> Self {
        let until = Some(until);
        Caller { until, ..self }
    }

    fn update(&self, combined: &Combined) -> Pending {
        (self.with)(match &self.change {
            Some(change) => combined.update(self.key, change()),
            None => combined.update(self.key, append(self.name)),
        })
    }

    async fn ends(&self, mut update: Pending, start: Instant) -> Told {
        for (index, at) in self.polls.iter().enumerate() {
            sleep_until(start + ms(*at)).await;
            if index + 1 < self.polls.len() {
                update = polled(update);
            }
        }
        update.await
    }

    async fn wait(self, update: Pending, start: Instant) {
        pass(self.at).await;
        let waiting = self.ends(update, start);
        let ended = timeout(self.leaves.map_or(Duration::MAX, ms), waiting).await;
        let told = ended.as_ref().map_or("left".to_owned(), came);
        let until = start.elapsed().as_millis() as u64;
        let expected = (self.told, self.until.unwrap_or(until));
        assert_eq!((told, until), expected, "{}", self.name);
        if let Ok(Ok(Updated::Unchanged(seen))) = &ended {
            assert!(seen.names.contains(&self.name), "{seen:?}");
        }
    }
}

/// The behaviour of the server, the callers, and the results.
pub(super) struct Story {
    name: String,
    policy: Policy,
    budget: Option<(fn() -> Budget, f64)>,
    combined: fn(Combined) -> Combined,
    server: Box<dyn Fn() -> Server>,
    callers: Vec<Caller>,
    then: Box<dyn Fn(&Server)>,
}

/// A story with calls of 5 ms, and retries without a wait.
pub(super) fn story(name: impl Into<String>) -> Story {
    Story {
        name: name.into(),
        policy: AT_ONCE,
        budget: None,
        combined: |combined| combined,
        server: Box::new(|| Server::new(5)),
        callers: Vec::new(),
        then: Box::new(|_| ()),
    }
}

/// A story with waits of a second.
pub(super) fn slowly(name: &str) -> Story {
    story(name).policy(EACH_SECOND)
}

impl Story {
    pub(super) fn policy(self, policy: Policy) -> Self {
        Story { policy, ..self }
    }

    /// A budget, and its tokens in the end.
    pub(super) fn budget(self, budget: fn() -> Budget, tokens: f64) -> Self {
        let budget = Some((budget, tokens));
        Story { budget, ..self }
    }

    pub(super) fn combined(self, combined: fn(Combined) -> Combined) -> Self {
        Story { combined, ..self }
    }

    pub(super) fn server(self, server: impl Fn() -> Server + 'static) -> Self {
        let server = Box::new(server);
        Story { server, ..self }
    }

    /// The callers, in the order of their first polls.
    pub(super) fn callers(self, callers: impl IntoIterator<Item = Caller>) -> Self {
        let callers = callers.into_iter().collect();
        Story { callers, ..self }
    }

    /// The members in the end, and the numbers of reads and writes.
    pub(super) fn ends(
        self,
        names: impl IntoIterator<Item = u32>,
        reads: u32,
        writes: u32,
    ) -> Self {
        let names: Vec<_> = names.into_iter().collect();
        self.then(move |server| {
            assert_eq!(
                (server.get(0).names, server.calls()),
                (names.clone(), (reads, writes))
            );
        })
    }

    /// The results.
    pub(super) fn then(self, then: impl Fn(&Server) + 'static) -> Self {
        let then = Box::new(then);
        Story { then, ..self }
    }

    async fn run(&self, form: Form) {
        let server = Arc::new((self.server)());
        let budget = self.budget.map(|(make, _)| &*Box::leak(Box::new(make())));
        let policy = budget.map_or(self.policy, |budget| self.policy.budget(budget));
        let combined = (self.combined)(combine(policy, &server));
        let start = Instant::now();
        let (mut joined, mut spawned) = (Vec::new(), Vec::new());
        for caller in &self.callers {
            let update = caller.update(&combined);
            let panics = caller.told == "panicked";
            let waiting = caller.clone().wait(update, start);
            match form == Form::Spawned || panics {
                true => spawned.push((tokio::spawn(waiting), panics)),
                false => joined.push(Box::pin(waiting)),
            }
        }
        poll_fn(|cx| {
            joined.retain_mut(|waiting| waiting.as_mut().poll(cx).is_pending());
            match joined.is_empty() {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        })
        .await;
        for (task, panics) in spawned {
            let panic = task.await.err().map(JoinError::into_panic);
            assert_eq!(panic.map(|panic| is_meant(&*panic)), panics.then_some(true));
        }
        // A task whose callers have left ends when it is polled.
        pass(1).await;
        (self.then)(&server);
        let left = (combined.busy(), server.steps.load(Relaxed));
        assert_eq!(left, (0, 0), "what is left");
        let tokens = self.budget.map(|(_, tokens)| tokens);
        assert_eq!(budget.map(Budget::tokens), tokens);
    }
}

/// Runs each story in every form.
pub(super) fn run(stories: impl IntoIterator<Item = Story>) {
    for story in stories {
        for form in FORMS {
            let running = || {
                let story = async { timeout(SECOND * 3_600, story.run(form)).await };
                paused().block_on(story).expect("nobody hangs");
            };
            assert!(!panics(running), "{:?} as {form:?}", story.name);
        }
    }
}
