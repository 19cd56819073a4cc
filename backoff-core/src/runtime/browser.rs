//! The clock, the timer and the random numbers of a browser, or of any other host of JavaScript. On
//! `wasm32-unknown-unknown` the standard library has none of them.

pub use super::Std as AsyncRuntime;
use super::{Clock as _, Sleep, Std};
use core::task::{Context, Poll};
use core::{future::Future, pin::Pin, time::Duration};
use wasm_bindgen::prelude::{Closure, JsValue, wasm_bindgen};

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = performance, js_name = now)]
    fn milliseconds() -> f64;
    #[cfg(feature = "http-1")]
    #[wasm_bindgen(js_namespace = Date, js_name = now)]
    fn milliseconds_since_1970() -> f64;
    #[wasm_bindgen(js_namespace = Math, js_name = random)]
    fn below_one() -> f64;
    #[wasm_bindgen(js_name = setTimeout)]
    fn set_timeout(then: &JsValue, milliseconds: i32) -> JsValue;
    #[wasm_bindgen(js_name = clearTimeout)]
    fn clear_timeout(timer: &JsValue);
}

/// The time since the page was opened.
pub(super) fn now() -> Duration {
    Duration::from_secs_f64(milliseconds() / 1e3)
}

/// The date, by the user's clock.
#[cfg(feature = "http-1")]
pub(crate) fn date() -> std::time::SystemTime {
    std::time::UNIX_EPOCH + Duration::from_secs_f64(milliseconds_since_1970() / 1e3)
}

/// A different seed in each page.
pub(super) fn seed() -> [u64; 4] {
    [(); 4].map(|()| (below_one() * 2f64.powi(64)) as u64)
}

/// With the feature `wasm`: the timer of the browser.
impl Sleep for Std {
    type Sleep = StdSleep;

    fn sleep(&self, wait: Duration) -> StdSleep {
        StdSleep(self.now().saturating_add(wait), JsValue::UNDEFINED)
    }
}

/// A wait: its end, and the timer, if one is set.
#[derive(Debug)]
pub struct StdSleep(Duration, JsValue);

/// Clears the timer. JavaScript allows this for a timer that is over, and for none.
impl Drop for StdSleep {
    fn drop(&mut self) {
        clear_timeout(&self.1);
    }
}

impl Future for StdSleep {
    type Output = ();

    /// Each poll sets a new timer: it wakes the task that polls now. A browser's timer counts whole milliseconds, up
    /// to 24 days, and may be early by a part of one.
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        clear_timeout(&self.1);
        let left = self.0.saturating_sub(Std.now());
        if left.is_zero() {
            return Poll::Ready(());
        }
        let left = i32::try_from(left.as_micros().div_ceil(1_000)).unwrap_or(i32::MAX);
        let waker = cx.waker().clone();
        // JavaScript frees the function.
        let wakes = Closure::once(move || waker.wake()).into_js_value();
        self.1 = set_timeout(&wakes, left);
        Poll::Pending
    }
}

/// The task runs on this thread.
#[cfg(feature = "combine")]
pub(crate) fn spawn(task: super::Task) {
    wasm_bindgen_futures::spawn_local(task);
}
