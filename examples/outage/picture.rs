//! The picture of the run, from the metrics as Prometheus reads them.

use std::time::Duration;

use examples::axis::Scale::Linear;
use examples::chart::{Chart, Line, PHONE, Panel, draw};
use examples::drawing::Picture;
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::time::{Instant, interval_at};

use crate::service::{PHASES, Phase};

/// How often the metrics are read.
const EVERY: Duration = Duration::from_millis(250);

/// Reads the metrics again and again, as long as the run lasts.
pub(crate) async fn readings(metrics: PrometheusHandle, lasts: Duration) -> Vec<String> {
    let mut moments = interval_at(Instant::now() + EVERY, EVERY);
    let mut pages = Vec::new();
    for _ in 1..lasts.as_millis() / EVERY.as_millis() {
        moments.tick().await;
        pages.push(metrics.render());
    }
    pages
}

/// The sum of all series that begin so and contain this.
fn sum(page: &str, begin: &str, word: &str) -> f64 {
    let lines = page.lines();
    let lines = lines.filter(|line| line.starts_with(begin) && line.contains(word));
    lines
        .filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok())
        .sum()
}

/// Attempts, the budget and the breaker, one beneath the other. Each phase lasted so many times as long as planned.
pub(crate) fn drawn(pages: &[String], times: u32) -> Picture {
    let every = EVERY.as_secs_f64();
    let line = |name, number, values: &[f64]| {
        let at = |(index, value)| ((index + 1) as f64 * every, value);
        let line = Line::bound(name, values.iter().copied().enumerate().map(at));
        Line::measured(name, number, line.points)
    };
    let levels = |begin, word| pages.iter().map(move |page| sum(page, begin, word));
    let level = |name, number, begin| line(name, number, &levels(begin, "").collect::<Vec<_>>());
    let rate = |name, number, word| {
        let counts = levels("retry_attempt_duration_seconds_count", word).collect::<Vec<_>>();
        let rates = counts.windows(2).map(|pair| (pair[1] - pair[0]) / every);
        line(name, number, &rates.collect::<Vec<_>>())
    };
    let lasted = |phases: &[Phase]| {
        let lasted = phases.iter().map(|phase| phase.lasts * times);
        lasted.sum::<Duration>().as_secs_f64()
    };
    let panel = |y, lines| {
        let mut panel = Panel::new(("time, s", Linear), (y, Linear), lines);
        panel.band = Some((lasted(&PHASES[..1]), lasted(&PHASES[..5]), "outage"));
        panel
    };
    let attempts = vec![rate("all", 2, ""), rate("failed", 0, "error_type")];
    let tokens = level("billing", 3, "retry_budget_level{");
    let breaker = level("customers", 4, "retry_breaker_state{");
    draw(&Chart {
        title: "An outage in the metrics".to_owned(),
        subtitle: "The service throttles, fails, is down, and recovers.".to_owned(),
        width: PHONE,
        panels: vec![
            panel("attempts a second", attempts),
            panel("tokens of the budget", vec![tokens]),
            panel("breaker: 0 closed, 1 open", vec![breaker]),
        ],
    })
}
