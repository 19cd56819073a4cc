//! Faults on purpose, by a seed or a script.

use core::{fmt::Debug, future::pending};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What befalls one call of an operation, in a [`script`]. `X` is the error of the operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Injected<X> {
    /// No fault: the operation runs, and its answer comes.
    Nothing,
    /// The operation does not run, and this comes at once.
    Error(X),
    /// The operation runs to its end, but its answer is lost, and this comes in its place.
    Lost(X),
    /// The operation runs, and its answer comes so much later. With the feature `tokio`.
    #[cfg(feature = "tokio")]
    Delay(core::time::Duration),
    /// The operation does not run, and nothing ever comes.
    Hang,
}

/// Faults for the operations that a test gives to a program: a share of the calls fails, is lost, is late or hangs.
///
/// Nothing is injected until a method asks for it. A share is a part of all calls, and a call meets one fault at most.
/// A method that is called again adds a fault, so that there can be errors of several kinds. Clones draw from one
/// sequence, so that a read and a write can each have one.
///
/// **A test that fails prints its faults**: the seed, the number of calls, and what befell the last 30 of them. The
/// first clone that is dropped while its thread panics prints them, so keep one in the test if a server thread or a task
/// has the other.
///
/// ```
/// use backoff_core::{Policy, TimedOut, testing};
/// use std::{cell::Cell, time::Duration};
///
/// # #[cfg(feature = "tokio")]
/// // In a test, write #[tokio::test(start_paused = true)] here: delays and hangs then take no time.
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// async fn every_order_is_made() {
///     const POLICY: Policy = Policy::exponential().max_attempts(20);
///     let reset = || TimedOut::new(Duration::ZERO); // the error of your client
///     let faults = testing::faults(7).errors(0.2, reset).lost(0.2, reset).hangs(0.1);
///
///     let made = Cell::new(0);
///     let order = async || Ok(made.set(made.get() + 1));
///     for _ in 0..100 {
///         let call = POLICY.retry(|| faults.around(order()));
///         call.attempt_timeout(Duration::from_secs(5)).await.unwrap();
///     }
///     // An order whose reply was lost was sent again, and made twice.
///     assert!(made.get() > 100);
/// }
/// # #[cfg(feature = "tokio")]
/// # every_order_is_made();
/// ```
///
/// The calls draw in the order in which they begin, one number each, of SplitMix64 (Steele, Lea, Flood 2014). So a seed
/// gives the same faults on each machine, unless calls of several threads begin in another order. The seed does not
/// give the jitter of the waits: if your test depends on the waits, use a policy without jitter.
#[must_use]
pub struct Faults<X>(Arc<Mutex<State<X>>>);

crate::named_debug::named_in_debug!(Faults);

/// Gives what befalls the call that drew this number.
type Source<X> = Box<dyn FnMut(f64) -> Option<Injected<X>> + Send>;

struct State<X> {
    seed: u64,
    sources: Vec<Source<X>>,
    /// All shares together.
    share: f64,
    past: Vec<String>,
}

/// Faults that are drawn from this seed. To try many, write `for seed in 0..100`: only the failed one is printed.
/// [`Faults`] has an example.
pub fn faults<X: Debug>(seed: u64) -> Faults<X> {
    Faults(Arc::new(Mutex::new(State {
        seed,
        sources: Vec::new(),
        share: 0.0,
        past: Vec::new(),
    })))
}

/// What befalls each of the first calls. Nothing befalls the calls after them, unless a method of [`Faults`] adds
/// shares, which are drawn from the seed 0.
///
/// ```
/// use backoff_core::{Policy, TimedOut, testing::{Injected, script}};
/// use std::cell::RefCell;
///
/// # #[cfg(feature = "tokio")]
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// const POLICY: Policy = Policy::exponential();
/// let lost = Injected::Lost(TimedOut::new(Default::default()));
/// let faults = script([lost, Injected::Nothing, lost]);
///
/// let written = RefCell::new(Vec::new());
/// for line in 1..=3 {
///     let append = async || Ok(written.borrow_mut().push(line));
///     POLICY.retry(|| faults.around(append())).await.unwrap();
/// }
/// assert_eq!(written.take(), [1, 1, 2, 2, 3]);
/// # }
/// # #[cfg(not(feature = "tokio"))] fn main() {}
/// ```
pub fn script<X: Debug + Send + 'static>(calls: impl Into<Vec<Injected<X>>>) -> Faults<X> {
    let mut calls = calls.into().into_iter();
    faults(0).with(move |_| calls.next())
}

impl<X: Debug> Faults<X> {
    /// This share of the calls does not run its operation, and gets the error that `error` makes.
    ///
    /// # Panics
    /// As all methods with a share: if a share is below 0, or if all shares together are more than 1.
    pub fn errors(self, share: f64, mut error: impl FnMut() -> X + Send + 'static) -> Self {
        self.share(share, move || Injected::Error(error()))
    }

    /// This share of the calls runs its operation to its end, and gets the error that `error` makes in place of the
    /// answer. Make the error that your client gives when a connection breaks: one whose [`Fault`](trait@crate::Fault)
    /// says [`MaybeSent`](crate::Delivery::MaybeSent).
    pub fn lost(self, share: f64, mut error: impl FnMut() -> X + Send + 'static) -> Self {
        self.share(share, move || Injected::Lost(error()))
    }

    /// This share of the calls runs its operation, and gets the answer so much later, by tokio's timer. A delay that is
    /// longer than the `attempt_timeout` of the call is an operation that ran while its caller gave up. With the feature
    /// `tokio`. A test in [`VirtualTime`](super::VirtualTime) calls `time.advance(..)` in the operation instead.
    #[cfg(feature = "tokio")]
    pub fn delays(self, share: f64, delay: core::time::Duration) -> Self {
        self.share(share, move || Injected::Delay(delay))
    }

    /// This share of the calls does not run its operation, and waits for ever. An `attempt_timeout`, a `timeout` or a
    /// signal ends it.
    pub fn hangs(self, share: f64) -> Self {
        self.share(share, || Injected::Hang)
    }

    /// One call of an async operation, which meets the next fault. If the operation does not run, its future is dropped
    /// unpolled. What a function does before it returns its future is done; if that matters, write
    /// `faults.around(async { .. })`.
    ///
    /// For a blocking operation, write `block_on(faults.around(async { operation() }))` with the `block_on` of an
    /// executor, such as that of the crate `pollster`. Nothing ends a hang there: in its place, use
    /// [`errors`](Self::errors) with the error of your client's time limit.
    pub fn around<T, F>(&self, operation: F) -> impl Future<Output = F::Output> + use<T, F, X>
    where
        F: Future<Output = Result<T, X>>,
    {
        let faults = self.clone();
        async move {
            match faults.next() {
                Injected::Nothing => operation.await,
                Injected::Error(error) => Err(error),
                Injected::Lost(error) => (operation.await, Err(error)).1,
                #[cfg(feature = "tokio")]
                Injected::Delay(delay) => (operation.await, tokio::time::sleep(delay).await).0,
                Injected::Hang => pending().await,
            }
        }
    }

    /// As [`around`](Self::around), for what does not answer with the error of the faults: in place of its answer comes
    /// a whole one. So a service of tower gets a response, or an error, between the retry and the client:
    ///
    /// ```
    /// use backoff_core::{Policy, TimedOut, codes, testing::{Injected, script}};
    /// # use http_1 as http;
    /// use http::{Request, Response};
    /// use tower::{ServiceBuilder, ServiceExt as _, service_fn};
    ///
    /// # #[cfg(all(feature = "tokio", feature = "tower"))]
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// const POLICY: Policy = Policy::exponential().on(codes![429, 503]);
    ///
    /// let busy = Response::builder().status(503).body("busy").unwrap();
    /// let lost = TimedOut::new(Default::default());
    /// let faults = script([Injected::Error(Ok(busy)), Injected::Lost(Err(lost))]);
    ///
    /// // The client of your program, or a stand-in.
    /// let client = service_fn(async |_: Request<String>| Ok(Response::new("a page")));
    /// let client = ServiceBuilder::new()
    ///     .layer(POLICY.layer())
    ///     .map_future(move |reply| faults.around_reply(reply))
    ///     .service(client);
    ///
    /// let request = Request::get("http://127.0.0.1/").body(String::new()).unwrap();
    /// assert_eq!(client.oneshot(request).await.unwrap().body(), &"a page");
    /// # }
    /// # #[cfg(not(all(feature = "tokio", feature = "tower")))] fn main() {}
    /// ```
    pub fn around_reply<F>(&self, operation: F) -> impl Future<Output = X> + use<F, X>
    where
        F: Future<Output = X>,
    {
        let call = self.around(async { Ok(operation.await) });
        async { call.await.unwrap_or_else(|injected| injected) }
    }

    fn share(self, share: f64, mut make: impl FnMut() -> Injected<X> + Send + 'static) -> Self {
        let begin = self.state().share;
        let end = begin + share;
        // A sum of shares is not exact.
        let is_share = share >= 0.0 && end < 1.000_001;
        assert!(is_share, "shares are 0 to 1 in all: {share} makes {end}");
        self.state().share = end;
        self.with(move |drawn| (begin..end).contains(&drawn).then(&mut make))
    }

    fn with(self, source: impl FnMut(f64) -> Option<Injected<X>> + Send + 'static) -> Self {
        self.state().sources.push(Box::new(source));
        self
    }

    fn next(&self) -> Injected<X> {
        let mut state = self.state();
        let drawn = draw(state.seed, state.past.len() as u64);
        let mut sources = state.sources.iter_mut();
        let next = sources.find_map(|source| source(drawn));
        let next = next.unwrap_or(Injected::Nothing);
        state.past.push(format!("{next:?}"));
        next
    }

    fn state(&self) -> MutexGuard<'_, State<X>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A number of SplitMix64, from 0 to 1. A seed gives the same numbers on each machine and in each version.
fn draw(seed: u64, index: u64) -> f64 {
    let z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(index + 1));
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}

impl<X> Clone for Faults<X> {
    fn clone(&self) -> Self {
        Faults(self.0.clone())
    }
}

impl<X> Drop for Faults<X> {
    fn drop(&mut self) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if std::thread::panicking() && !state.past.is_empty() {
            let past = core::mem::take(&mut state.past);
            let last = past[past.len().saturating_sub(30)..].join(", ");
            let (seed, calls) = (state.seed, past.len());
            eprintln!("the faults of seed {seed}, after {calls} calls: {last}");
        }
    }
}
