//! Times, measured by criterion, for the questions that concern every crate. Times depend on the machine and
//! its load. To judge a change, compare instructions instead.

use benches::{
    contenders::{
        backoff_04, backon, bare, by_hand, gax, ours, ours_members, retry, tokio_retry,
        tokio_retry2, tower, tryhard,
    },
    drive::paused,
    operation::FAILURES,
};
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use std::{
    cell::Cell,
    future::Future,
    hint::black_box,
    pin::pin,
    task::{Context, Poll, Waker},
    time::Duration,
};

fn poll_once<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => unreachable!("nothing here waits"),
    }
}

fn success(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("success");
    macro_rules! of {
        ($($who:literal: $success:path,)*) => {$(
            group.bench_function($who, |bencher| {
                bencher.iter(|| poll_once($success(black_box(1))));
            });
        )*};
    }
    of! {
        "bare": bare::success,
        "by hand": by_hand::success,
        "ours, attribute": ours::attribute::success,
        "ours, function form": ours::function::success,
        "tokio-retry2": tokio_retry2::success,
        "tokio-retry": tokio_retry::success,
        "tryhard": tryhard::success,
        "tower": tower::success,
        "backoff": backoff_04::success,
        "backon": backon::success,
        "backon-macros": backon::attribute::success,
        "google-cloud-gax": gax::success,
    }
}

/// A call with five failures, with a timer that is ready at once.
fn five_failures(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("5 failures");
    macro_rules! of {
        ($($who:literal: $flaky:path,)*) => {$(
            group.bench_function($who, |bencher| {
                let left = Cell::new(0);
                bencher.iter(|| {
                    left.set(FAILURES);
                    let _ = black_box(poll_once($flaky(&left)));
                });
            });
        )*};
    }
    of! {
        "by hand": by_hand::flaky_ready,
        "ours, attribute": ours::attribute::flaky_ready,
        "ours, function form": ours::function::flaky_ready,
        "tower (no delay)": tower::flaky_ready,
        "backoff": backoff_04::flaky_ready,
        "backon": backon::flaky_ready,
        "backon-macros": backon::attribute::flaky_ready,
        "google-cloud-gax": gax::flaky_ready,
    }
}

/// A hundred waits, from the first wait.
fn next_delay(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("100 delays");
    macro_rules! of {
        ($($who:literal: $delays:path,)*) => {$(
            group.bench_function($who, |bencher| {
                let waits = |delays: &mut dyn Iterator<Item = Duration>| {
                    for _ in 0..100 {
                        black_box(delays.next());
                    }
                };
                bencher.iter_batched_ref($delays, |delays| waits(delays), BatchSize::SmallInput);
            });
        )*};
    }
    of! {
        "by hand": by_hand::delays,
        "ours": ours::delays,
        "tokio-retry2": tokio_retry2::delays,
        "tokio-retry": tokio_retry::delays,
        "retry": retry::delays,
        "tryhard (no jitter)": tryhard::delays,
        "backoff": backoff_04::delays,
        "backon": backon::delays,
        "google-cloud-gax": gax::delays,
    }
}

/// A hundred tasks add one member each to a role that has 1,500 members.
fn members(criterion: &mut Criterion) {
    let runtime = paused();
    criterion.bench_function("100 adds to 1,500 members/ours", |bencher| {
        bencher.iter_batched_ref(
            ours_members::role,
            |members| runtime.block_on(ours_members::adds(members)),
            BatchSize::LargeInput,
        );
    });
}

criterion_group!(questions, success, five_failures, next_delay, members);
criterion_main!(questions);
