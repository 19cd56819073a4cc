//! How far a load is. Events wait for calls, and the load goes on until the events are over, so that no
//! test depends on how long either takes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

use redis::{RedisError, RedisResult};
use redis_1 as redis;

use crate::until;

/// The course of a load. A clone is the same one.
#[derive(Clone, Default)]
pub(crate) struct Course(Arc<Progress>);

#[derive(Default)]
struct Progress {
    begun: AtomicUsize,
    served: AtomicUsize,
    /// The number after that of the youngest call that was served.
    served_up_to: AtomicUsize,
    is_over: AtomicBool,
}

impl Course {
    /// The numbers of the calls, until the course is over.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = usize> + use<> {
        let progress = Arc::clone(&self.0);
        std::iter::from_fn(move || {
            (!progress.is_over.load(SeqCst)).then(|| progress.begun.fetch_add(1, SeqCst))
        })
    }

    /// A call that tells whether it was served.
    pub(crate) fn tell<Calling>(
        &self,
        number: usize,
        call: Calling,
    ) -> impl Future<Output = Result<(), RedisError>> + use<Calling>
    where
        Calling: Future<Output = Result<(), RedisError>>,
    {
        let progress = Arc::clone(&self.0);
        async move {
            let outcome = call.await;
            if outcome.is_ok() {
                progress.served_up_to.fetch_max(number + 1, SeqCst);
                progress.served.fetch_add(1, SeqCst);
            }
            outcome
        }
    }

    /// How many calls have begun.
    pub(crate) fn begun(&self) -> usize {
        self.0.begun.load(SeqCst)
    }

    /// Waits until so many more calls have begun.
    pub(crate) async fn goes_on(&self, calls: usize) -> RedisResult<()> {
        let last = self.begun() + calls;
        until("calls begin", || self.begun() >= last).await
    }

    /// Waits until so many calls were served.
    pub(crate) async fn has_served(&self, calls: usize) -> RedisResult<()> {
        until("calls are served", || self.0.served.load(SeqCst) >= calls).await
    }

    /// Waits until a call was served that begins after this.
    pub(crate) async fn serves_again(&self) -> RedisResult<()> {
        let first = self.begun();
        let serves = || self.0.served_up_to.load(SeqCst) > first;
        until("a call is served", serves).await
    }

    /// No further call begins.
    pub(crate) fn end(&self) {
        self.0.is_over.store(true, SeqCst);
    }

    /// What happens while the calls are made. The calls end with it, also if it fails.
    pub(crate) async fn until_over<T, const N: usize>(
        courses: [&Course; N],
        events: impl Future<Output = T>,
    ) -> T {
        let outcome = events.await;
        for course in courses {
            course.end();
        }
        outcome
    }
}
