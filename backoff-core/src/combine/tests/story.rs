//! A story: a row that says what the server does, who changes the resource when, and what comes of it.
//! Each caller is a task. Times are in milliseconds.

use super::*;
use crate::{budget::Budget, report::StopReason};
use tokio::{
    task::JoinError,
    time::{Instant, sleep_until, timeout},
};

/// The member that a change adds to the value before it fails.
pub(super) const FAILED: u32 = u32::MAX;

type Change = Box<dyn FnMut(&mut Members) -> Result<bool, TestError> + Send>;
type Combine = fn(Policy, &Arc<Server>) -> Combined;

/// A caller: its change, its limits, and its outcome.
#[derive(Default)]
pub(super) struct Caller {
    name: u32,
    /// None if the change does not recognise its own effect.
    pub(super) change: Option<Change>,
    key: u32,
    at: u64,
    deadline: Option<u64>,
    stops: Option<u64>,
    polls: Vec<u64>,
    leaves: Option<u64>,
    told: Option<String>,
    until: Option<u64>,
}

/// Does not recognise its own effect.
pub(super) fn appends(name: u32) -> Caller {
    Caller {
        name,
        ..Caller::default()
    }
}

fn caller(
    name: u32,
    change: impl FnMut(&mut Members) -> Result<bool, TestError> + Send + 'static,
) -> Caller {
    Caller {
        change: Some(Box::new(change)),
        ..appends(name)
    }
}

/// Recognises its own effect.
pub(super) fn adds(name: u32) -> Caller {
    caller(name, move |members| Ok(members.add(name)))
}

/// Fails with its own error after it has touched the value. If the write before may be applied, the change
/// fails when it is applied again.
pub(super) fn fails_itself(may_be_applied: bool) -> Caller {
    let mut succeeds = may_be_applied;
    let error = OWN;
    caller(FAILED, move |members| {
        let succeeds = core::mem::take(&mut succeeds);
        members.names.push(if succeeds { 0 } else { FAILED });
        succeeds.then_some(true).ok_or(error)
    })
    .error(CombineError::Own {
        error,
        may_be_applied,
    })
}

pub(super) fn panics_itself() -> Caller {
    caller(FAILED, |members| {
        members.names.push(FAILED);
        panic!("the change panics")
    })
    .told("panicked")
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

    /// Withdraws so long after its beginning.
    pub(super) fn deadline(self, after: u64) -> Self {
        let deadline = Some(after);
        Caller { deadline, ..self }
    }

    /// Leaves so long after its beginning.
    pub(super) fn stops(self, after: u64) -> Self {
        let stops = Some(after);
        Caller { stops, ..self }
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
        let told = Some(told.to_owned());
        Caller { told, ..self }
    }

    pub(super) fn unchanged(self) -> Self {
        self.told("unchanged")
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

    /// Gets no other outcome than that it has left.
    pub(super) fn left(self, may_be_applied: bool) -> Self {
        self.error(CombineError::Left { may_be_applied })
    }

    pub(super) fn interrupted(self, may_be_applied: bool) -> Self {
        self.error(CombineError::Interrupted { may_be_applied })
    }

    /// When it gets its outcome.
    pub(super) fn until(self, until: u64) -> Self {
        let until = Some(until);
        Caller { until, ..self }
    }

    async fn wait(self, combined: Combined, start: Instant) {
        let update = match self.change {
            Some(change) => combined.update(self.key, change),
            None => combined.update(self.key, append(self.name)),
        };
        let mut update = Some(update);
        drop(combined);
        pass(self.at).await;
        let after = |millis: Option<u64>| millis.map_or(Duration::MAX, ms);
        let waiting = async {
            let change = update.as_mut().unwrap();
            for (index, at) in self.polls.iter().enumerate() {
                sleep_until(start + ms(*at)).await;
                if index + 1 < self.polls.len() {
                    assert!(poll(change).is_pending());
                }
            }
            let stopped = async {
                if let Ok(ended) = timeout(after(self.stops), &mut *change).await {
                    return ended;
                }
                change.leave();
                change.await
            };
            match timeout(after(self.deadline), stopped).await {
                Ok(ended) => ended,
                Err(_) => {
                    let may_be_applied = update.take().unwrap().withdraw();
                    Err(CombineError::Left { may_be_applied })
                }
            }
        };
        let ended = timeout(after(self.leaves), waiting).await;
        drop(update);
        let told = ended.as_ref().map_or("left".to_owned(), came);
        let until = start.elapsed().as_millis() as u64;
        let expected = self.told.unwrap_or_else(|| "written".to_owned());
        let expected = (expected, self.until.unwrap_or(until));
        assert_eq!((told, until), expected, "{}", self.name);
        if let Ok(Ok(Updated::Unchanged(seen))) = &ended {
            assert!(seen.names.contains(&self.name), "{seen:?}");
        }
    }
}

/// The behaviour of the server, the callers, and the results.
pub(super) struct Story {
    pub(super) name: String,
    policy: Policy,
    budget: Option<(&'static Budget, f64)>,
    combine: Combine,
    server: Server,
    callers: Vec<Caller>,
    then: Box<dyn FnOnce(&Server)>,
}

/// A story with calls of 5 ms, and retries without a wait.
pub(super) fn story(name: impl Into<String>) -> Story {
    Story {
        name: name.into(),
        policy: AT_ONCE,
        budget: None,
        combine,
        server: Server::new(5),
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
    pub(super) fn budget(self, budget: Budget, tokens: f64) -> Self {
        let budget = Some((&*Box::leak(Box::new(budget)), tokens));
        Story { budget, ..self }
    }

    pub(super) fn combined(self, combine: Combine) -> Self {
        Story { combine, ..self }
    }

    pub(super) fn server(self, server: Server) -> Self {
        Story { server, ..self }
    }

    /// The fates of the first reads and writes.
    pub(super) fn failing<const R: usize, const W: usize>(
        self,
        on_read: [Fate; R],
        on_write: [Fate; W],
    ) -> Self {
        self.server(Server::failing(on_read, on_write))
    }

    /// Each write with one of these names is refused with this status.
    pub(super) fn refusing(self, names: impl IntoIterator<Item = u32>, status: u16) -> Self {
        let server = Server {
            refused: (names.into_iter().collect(), status),
            ..self.server
        };
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
            let ended = (server.get(0).names, server.calls());
            assert_eq!(ended, (names, (reads, writes)));
        })
    }

    /// The results.
    pub(super) fn then(self, then: impl FnOnce(&Server) + 'static) -> Self {
        let then = Box::new(then);
        Story { then, ..self }
    }

    async fn run(self) {
        let server = Arc::new(self.server);
        let policy = match self.budget {
            Some((budget, _)) => self.policy.budget(budget),
            None => self.policy,
        };
        let combined = (self.combine)(policy, &server);
        let start = Instant::now();
        let spawn = |caller: Caller| {
            let panics = caller.told.as_deref() == Some("panicked");
            (panics, tokio::spawn(caller.wait(combined.clone(), start)))
        };
        for (panics, task) in self.callers.into_iter().map(spawn).collect::<Vec<_>>() {
            let panic = task.await.err().map(JoinError::into_panic);
            assert_eq!(panic.map(|panic| is_meant(&*panic)), panics.then_some(true));
        }
        // A task whose callers have left ends when it is polled.
        pass(1).await;
        (self.then)(&server);
        assert_eq!(combined.busy(), 0, "a resource is left");
        server.is_clean();
        if let Some((budget, tokens)) = self.budget {
            assert_eq!(budget.tokens(), tokens);
        }
    }
}

pub(super) fn run(stories: impl IntoIterator<Item = Story>) {
    for story in stories {
        let name = story.name.clone();
        let running = || {
            let story = async { timeout(SECOND * 3_600, story.run()).await };
            paused().block_on(story).expect("nobody hangs");
        };
        assert!(!panics(running), "{name:?}");
    }
}
