//! A story: a row that says what the server does, who changes the resource when, and what comes of it.
//! Each story is run in every form of waiting. Times are in milliseconds.

use super::*;
use crate::{budget::Budget, report::StopReason};
use core::future::poll_fn;
use tokio::time::{Instant, timeout};

/// How the callers of a story wait. A caller that panics is a task of its own in every form.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Form {
    /// All in one task, which polls them in their order.
    Joined,
    /// All in one task, each with a report.
    Reported,
    /// Each in a task of its own.
    Spawned,
}

pub(super) const FORMS: [Form; 3] = [Form::Joined, Form::Reported, Form::Spawned];

type Change = Box<dyn FnMut(&mut Members) -> Result<bool, TestError> + Send>;

/// A caller: its change, its limits, and what it is told.
pub(super) struct Caller {
    name: u32,
    /// None if the change does not recognise its own effect.
    change: Option<Change>,
    key: u32,
    at: u64,
    with: Box<dyn FnOnce(Pending) -> Pending + Send>,
    leaves: Option<u64>,
    told: String,
    until: Option<u64>,
    /// Attempts, writes, conflicts and the time that was slept.
    report: Option<[u64; 4]>,
}

fn caller(name: u32, change: Option<Change>, told: &str) -> Caller {
    Caller {
        name,
        change,
        key: 0,
        at: 0,
        with: Box::new(|update| update),
        leaves: None,
        told: told.to_owned(),
        until: None,
        report: None,
    }
}

/// Recognises its own effect.
pub(super) fn adds(name: u32) -> Caller {
    let mut add = add(name);
    let change = move |members: &mut Members| Ok(add(members));
    caller(name, Some(Box::new(change)), "written")
}

/// Does not recognise its own effect.
pub(super) fn appends(name: u32) -> Caller {
    caller(name, None, "written")
}

/// Fails with its own error after it has touched the value. If the write before may be applied, the change
/// fails when it is applied again.
pub(super) fn fails_itself(may_be_applied: bool) -> Caller {
    let mut succeeds = may_be_applied;
    let change = move |members: &mut Members| {
        members.names.push(66);
        core::mem::take(&mut succeeds).then_some(true).ok_or(OWN)
    };
    let error = OWN;
    caller(66, Some(Box::new(change)), "").error(CombineError::Own {
        error,
        may_be_applied,
    })
}

pub(super) fn panics_itself() -> Caller {
    let change = |members: &mut Members| {
        members.names.push(66);
        panic!("the change panics")
    };
    caller(66, Some(Box::new(change)), "panicked")
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

    /// Sets limits.
    pub(super) fn with(self, with: impl FnOnce(Pending) -> Pending + Send + 'static) -> Self {
        let before = self.with;
        let with = Box::new(move |update| with(before(update)));
        Caller { with, ..self }
    }

    /// Its signal comes so long after its beginning.
    pub(super) fn stops(self, after: u64) -> Self {
        self.with(move |update| update.stop_on(pass(after)))
    }

    /// Is dropped so long after its beginning.
    pub(super) fn leaves(self, after: u64) -> Self {
        let (leaves, told) = (Some(after), "left".to_owned());
        Caller {
            leaves,
            told,
            ..self
        }
    }

    pub(super) fn unchanged(self) -> Self {
        let told = "unchanged".to_owned();
        Caller { told, ..self }
    }

    pub(super) fn error(self, error: CombineError<TestError>) -> Self {
        let told = came::<u64>(&Err(error));
        Caller { told, ..self }
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

    pub(super) fn refused(self, status: u16) -> Self {
        self.fails(TestError::status(status), StopReason::Permanent, false)
    }

    /// Is not applied again because it may have been applied.
    pub(super) fn in_doubt(self, error: TestError) -> Self {
        self.fails(error, StopReason::MaybeApplied, true)
    }

    pub(super) fn out_of_time(self, may_be_applied: bool) -> Self {
        self.error(CombineError::OutOfTime { may_be_applied })
    }

    pub(super) fn stopped(self, may_be_applied: bool) -> Self {
        self.error(CombineError::Stopped { may_be_applied })
    }

    /// When it is told.
    pub(super) fn until(self, until: u64) -> Self {
        let until = Some(until);
        Caller { until, ..self }
    }

    /// Attempts, writes, conflicts and the time slept in its report.
    pub(super) fn reports(self, report: [u64; 4]) -> Self {
        let report = Some(report);
        Caller { report, ..self }
    }

    async fn wait(self, update: Pending, story: (String, Form), start: Instant) {
        pass(self.at).await;
        let begun = start.elapsed();
        let waiting = async {
            if story.1 != Form::Reported {
                return (update.await, None);
            }
            match update.reported().await {
                Ok((updated, report)) => (Ok(updated), Some(report)),
                Err(ended) => (Err(ended.error), Some(ended.report)),
            }
        };
        let ended = timeout(self.leaves.map_or(Duration::MAX, ms), waiting).await;
        let story = (self.name, story);
        let told = ended
            .as_ref()
            .map_or("left".to_owned(), |(told, _)| came(told));
        assert_eq!(told, self.told, "{story:?}");
        let until = start.elapsed().as_millis() as u64;
        assert_eq!(until, self.until.unwrap_or(until), "{story:?}");
        if let Ok((Ok(Updated::Unchanged(seen)), _)) = &ended {
            assert!(seen.names.contains(&self.name), "{seen:?} in {story:?}");
        }
        if let Ok((_, Some(report))) = ended {
            assert_eq!(report.elapsed, start.elapsed() - begun, "{story:?}");
            assert_eq!(report.reads, report.attempts, "{story:?}");
            let [attempts, writes, conflicts] =
                [report.attempts, report.writes, report.conflicts].map(u64::from);
            let report = [attempts, writes, conflicts, report.slept.as_millis() as u64];
            assert_eq!(report, self.report.unwrap_or(report), "{story:?}");
        }
    }
}

/// What the server does, who calls, and what comes of it.
pub(super) struct Story {
    name: String,
    policy: Policy,
    budget: Option<(fn() -> Budget, f64)>,
    combined: fn(Combined) -> Combined,
    server: Box<dyn Fn() -> Server>,
    callers: Box<dyn Fn() -> Vec<Caller>>,
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
        callers: Box::new(Vec::new),
        then: Box::new(|_| ()),
    }
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
    pub(super) fn callers<C>(self, callers: impl Fn() -> C + 'static) -> Self
    where
        C: IntoIterator<Item = Caller>,
    {
        let callers = Box::new(move || callers().into_iter().collect());
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

    /// What holds in the end.
    pub(super) fn then(self, then: impl Fn(&Server) + 'static) -> Self {
        let then = Box::new(then);
        Story { then, ..self }
    }

    async fn run(&self, form: Form) {
        let server = Arc::new((self.server)());
        let budget = self.budget.map(|(make, _)| &*Box::leak(Box::new(make())));
        let policy = budget.map_or(self.policy, |budget| self.policy.budget(budget));
        let combined = (self.combined)(combine(policy, &server));
        let (start, said) = (Instant::now(), (self.name.clone(), form));
        let (mut joined, mut spawned) = (Vec::new(), Vec::new());
        for mut caller in (self.callers)() {
            let update = match caller.change.take() {
                Some(change) => combined.update(caller.key, change),
                None => combined.update(caller.key, append(caller.name)),
            };
            let with = core::mem::replace(&mut caller.with, Box::new(|update| update));
            let panics = caller.told == "panicked";
            let has_task = form == Form::Spawned || panics;
            let waiting = caller.wait(with(update), said.clone(), start);
            match has_task {
                true => spawned.push((tokio::spawn(waiting), panics)),
                false => joined.push(Box::pin(waiting)),
            }
        }
        poll_fn(|cx| {
            joined.retain_mut(|waiting| waiting.as_mut().poll(cx).is_pending());
            if joined.is_empty() {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
        for (task, panics) in spawned {
            let panic = task.await.err().map(|error| error.into_panic());
            let text = panic.as_ref().and_then(|panic| panic.downcast_ref());
            let expected = panics.then_some(&"the change panics");
            assert_eq!((text, panic.is_some()), (expected, panics), "{said:?}");
        }
        (self.then)(&server);
        let left = (combined.busy(), server.steps.load(Relaxed));
        assert_eq!(left, (0, 0), "what is left of {said:?}");
        let tokens = self.budget.map(|(_, tokens)| tokens);
        assert_eq!(budget.map(Budget::tokens), tokens, "{said:?}");
    }
}

/// Runs each story in every form.
pub(super) fn run(stories: impl IntoIterator<Item = Story>) {
    for story in stories {
        for form in FORMS {
            let running = || paused().block_on(story.run(form));
            assert!(!panics(running), "{:?} as {form:?}", story.name);
        }
    }
}
