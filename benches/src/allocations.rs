//! How often a call asks for memory: a call that succeeds, a call that fails five times first, and a call
//! on a thread.

use crate::{
    contenders::{
        backoff_04, backon, by_hand, gax, ours, ours_members, retry, tokio_retry, tokio_retry2,
        tower, tryhard,
    },
    counting::allocations,
    drive::paused,
    operation::FAILURES,
    table::Figure,
};
use std::{cell::Cell, future::Future, hint::black_box};

pub(crate) const QUESTION: &str = "allocations";

pub(crate) fn measure() -> Vec<Figure> {
    let mut figures = Vec::new();
    let mut put = |who, column, count: usize| {
        figures.push(Figure::new(QUESTION, who, column, count as f64));
    };
    macro_rules! of {
        ($who:literal, $contender:path) => {{
            use $contender as contender;
            put($who, "success", of_future(contender::success(1)));
            put($who, "5 failures", of_flaky(contender::flaky));
        }};
    }
    macro_rules! blocking {
        ($who:literal, $blocking:path) => {
            put($who, "blocking", of_call(|| $blocking(1)));
        };
    }
    of!("by hand", by_hand);
    blocking!("by hand", by_hand::blocking);
    of!("ours, attribute", ours::attribute);
    blocking!("ours, attribute", ours::attribute::blocking);
    of!("ours, function form", ours::function);
    blocking!("ours, function form", ours::function::blocking);
    put("ours, update", "success", of_future(ours::update(1)));
    let connection = ours::opened();
    let call = ours::reconnect_with(&connection, 1);
    put("ours, Reconnect::with", "success", of_future(call));
    let members = ours_members::role();
    let adds = of_future(ours_members::adds(&members));
    put("ours, iam::Members", "100 adds to 1,500", adds);
    of!("tokio-retry2", tokio_retry2);
    of!("tokio-retry", tokio_retry);
    of!("tryhard", tryhard);
    of!("tower", tower);
    blocking!("retry", retry::blocking);
    of!("backoff", backoff_04);
    blocking!("backoff", backoff_04::blocking);
    of!("backon", backon);
    blocking!("backon", backon::blocking);
    of!("backon-macros", backon::attribute);
    blocking!("backon-macros", backon::attribute::blocking);
    // The policy is made once for each client, so its memory is not counted.
    let policy = gax::policy();
    let call = gax::success_by(&policy, 1);
    put("google-cloud-gax", "success", of_future(call));
    put("google-cloud-gax", "5 failures", of_flaky(gax::flaky));
    figures
}

fn of_flaky<F: Future>(make: impl Fn(&'static Cell<u32>) -> F) -> usize {
    let left: &'static Cell<u32> = Box::leak(Box::new(Cell::new(0)));
    // One call before the measurement makes the values that a program makes once.
    left.set(FAILURES);
    paused().block_on(make(left));
    left.set(FAILURES);
    of_future(async { make(left).await })
}

fn of_future(future: impl Future) -> usize {
    paused().block_on(async {
        let before = allocations();
        black_box(future.await);
        allocations() - before
    })
}

fn of_call<T>(call: impl Fn() -> T) -> usize {
    black_box(call());
    let before = allocations();
    black_box(call());
    allocations() - before
}
