//! The memory of each task when very many tasks wait for their next attempt, with everything that tokio
//! adds: the most memory that was held at once, divided by the number of tasks.

use crate::{
    contenders::{backon, bare, by_hand, ours, tokio_retry, tokio_retry2, tower, tryhard},
    counting,
    drive::paused,
    operation::{BASE, RETRIES},
    table::Figure,
};
use std::future::Future;

pub(crate) const QUESTION: &str = "heap, bytes a task";

pub(crate) const TASKS: &str = "100,000 tasks";
pub(crate) const MANY_TASKS: &str = "1,000,000 tasks";

pub(crate) fn measure(million: bool) -> Vec<Figure> {
    let mut figures = of_each(100_000, TASKS);
    if million {
        figures.extend(of_each(1_000_000, MANY_TASKS));
    }
    figures
}

fn of_each(tasks: u64, column: &'static str) -> Vec<Figure> {
    let figure = |who, number| Figure::new(QUESTION, who, column, number);
    vec![
        figure("bare sleep", of(tasks, bare::failing)),
        figure("by hand", of(tasks, by_hand::failing)),
        figure("ours, attribute", of(tasks, ours::attribute::failing)),
        figure("ours, function form", of(tasks, ours::function::failing)),
        figure("tokio-retry2", of(tasks, tokio_retry2::failing)),
        figure("tokio-retry", of(tasks, tokio_retry::failing)),
        figure("tryhard", of(tasks, tryhard::failing)),
        figure("tower", of(tasks, tower::failing)),
        figure("backon", of(tasks, backon::failing)),
        figure("backon-macros", of(tasks, backon::attribute::failing)),
    ]
}

fn of<F>(tasks: u64, make: fn(u64) -> F) -> f64
where
    F: Future<Output: Send> + Send + 'static,
{
    let runtime = paused();
    let held = counting::most_held(|| {
        runtime.block_on(async {
            let mut handles = Vec::with_capacity(tasks as usize);
            for i in 0..tasks {
                handles.push(tokio::spawn(make(i)));
            }
            // All tasks wait now; later they begin their next waits.
            tokio::time::sleep(BASE * RETRIES).await;
        });
    });
    held as f64 / tasks as f64
}
