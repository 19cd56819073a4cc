//! The five strategies of the AWS Architecture Blog's "Exponential Backoff And Jitter", and two of
//! ours, on one [`row`](crate::row): hops of |N(10, 2)| ms, and nobody gives up. A test compares the means with published ones.

use crate::Error;
use crate::Findings;
use crate::axis::Scale;
use crate::chart::{Chart, Line, Panel};
use crate::measured::measure;
use crate::results::Results;
use crate::row::{Crowd, Hop};
use crate::runs::Crew;
use crate::strategies::{COMBINED, CONTENTION, FULL, PACED, Strategy};

const CLIENTS: [u32; 5] = [10, 20, 50, 100, 200];

/// The strategies that are ranked by their calls.
const JITTERS: [&str; 3] = ["full", "equal", "decorrelated"];

const CALLS: &str = "calls";
const COMPLETION: &str = "completion, ms";
const LABELS: [&str; 2] = ["clients", "strategy"];
const MEASURES: [&str; 4] = [CALLS, COMPLETION, "reads", "product"];

/// Seconds until all are done if each reads the row the moment it was written, one after the other,
/// and every hop takes the mean: there is one hop before all that and one after. Not quite the
/// least possible: of many that try at the same time, those win whose hops are short.
fn in_turn(clients: u32, hop: Hop) -> f64 {
    f64::from(2 * clients + 2) * hop.mean().as_secs_f64()
}

/// All strategies with each number of clients.
pub(crate) fn findings(seeds: u64) -> Result<Findings, Error> {
    let hop = Hop::published()?;
    let crew = Crew::new(seeds, CLIENTS.len() * CONTENTION.len());
    let mut results = Results::new(&LABELS, &MEASURES);
    for clients in CLIENTS {
        for strategy in CONTENTION {
            let measured = measure(&crew, &Crowd::at_once(clients, hop), strategy)?;
            // Changes that are combined are no longer one call each.
            let product = (strategy.together == 1).then_some(measured.product);
            let means = [measured.calls, measured.completion, measured.reads].map(Some);
            let means = means.into_iter().chain([product]).collect();
            results.add([&clients.to_string(), strategy.name], means);
        }
    }
    drop(crew);

    let chart = |measure, y, factor, bound, least: &dyn Fn(u32) -> f64| {
        let names = CONTENTION.iter().map(|strategy| strategy.name);
        let mut lines = results.lines(names, &CLIENTS, measure, factor);
        let least = CLIENTS.map(|clients| (clients.into(), least(clients)));
        lines.push(Line::bound(bound, least));
        let scale = Scale::Logarithmic;
        Chart {
            title: headline(&results, measure),
            subtitle: format!(
                "Clients that write one row with optimistic concurrency: hops of |N(10, 2)| ms, base \
                 5 ms, cap 2 s. Means of {seeds} seeds; bars show ± 1 standard error where it is larger \
                 than the mark."
            ),
            panels: vec![Panel::new(("clients", scale), (y, scale), lines)],
        }
    };
    let calls = chart(CALLS, "write calls", 1.0, "one call each", &f64::from);
    let time = "time until all are done, s";
    let completion = chart(COMPLETION, time, 1e-3, "one after the other", &|clients| {
        in_turn(clients, hop)
    });
    Ok(Findings {
        title: format!("Clients that write one row at the same time, {seeds} seeds."),
        remarks: fewest(&results, &CLIENTS) + REMARKS,
        results,
        charts: vec![
            ("contention-calls", calls),
            ("contention-completion", completion),
        ],
    })
}

/// What the largest crowd shows.
fn headline(results: &Results, measure: &str) -> String {
    let crowd = CLIENTS[CLIENTS.len() - 1].to_string();
    let of = |strategy: Strategy| {
        let mean = results.mean(&[&crowd, strategy.name], measure)?.mean;
        Some(match measure {
            CALLS => format!("{mean:.0}"),
            _ => format!("{:.1} s", mean / 1e3),
        })
    };
    let [full, paced, combined] = [FULL, PACED, COMBINED].map(|one| of(one).unwrap_or_default());
    let costs = if measure == CALLS { " calls" } else { "" };
    format!(
        "{crowd} clients: {full}{costs} with full jitter, {paced} at a pace, {combined} combined by tens"
    )
}

const REMARKS: &str = "\
calls: writes. N clients need at least N. AWS' article counts (N + 1) * N / 2 without backoff: there all clients
       move in lock step, and one of them succeeds each time. That is 55 for 10 clients and 20,100 for 200. The model's
       hops differ, so its clients fall out of step, and \"none\" needs fewer.
product: (calls / N - 1) * (time / (N * 20 ms) - 1), where 20 ms is the time from a read to the write after it.
         It is 1 for writers who write at random moments and, all together, at a constant rate. Less is better.
combined by tens: each ten clients are one process, which combines their changes and keeps a pace.
";

/// Which jitter needs the fewest calls for each number of clients.
fn fewest(results: &Results, clients: &[u32]) -> String {
    let winner = |clients: &u32| {
        let calls = |name| Some((results.mean(&[&clients.to_string(), name], CALLS)?, name));
        let mut jitters: Vec<_> = JITTERS.into_iter().filter_map(calls).collect();
        jitters.sort_by(|(one, _), (other, _)| one.mean.total_cmp(&other.mean));
        let (least, name) = jitters[0];
        // Of two means that are nearer to each other than that, either may be the smaller one.
        let is_clear = jitters[1].0.distance(least) > 3.0;
        format!("{clients}: {}", if is_clear { name } else { "not clear" })
    };
    let winners: Vec<_> = clients.iter().map(winner).collect();
    format!(
        "fewest calls among the three jitters, by the number of clients: {}.\n",
        winners.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Mean;

    /// Clients, strategy, calls and their standard error, milliseconds to completion and their standard error:
    /// means of 1,000 seeds, from a run of the same model by other code. Debug builds are slow, so there are
    /// only the smaller crowds.
    const PUBLISHED: [(u32, &str, f64, f64, f64, f64); 15] = [
        (10, "none", 51.2, 0.1, 382.0, 1.0),
        (10, "exponential", 50.8, 0.1, 3462.0, 41.0),
        (10, "full", 39.1, 0.1, 467.0, 4.0),
        (10, "equal", 42.6, 0.1, 733.0, 6.0),
        (10, "decorrelated", 37.6, 0.1, 436.0, 3.0),
        (20, "none", 152.9, 0.4, 606.0, 2.0),
        (20, "exponential", 150.1, 0.4, 14392.0, 90.0),
        (20, "full", 100.3, 0.1, 993.0, 8.0),
        (20, "equal", 108.1, 0.1, 1633.0, 15.0),
        (20, "decorrelated", 101.2, 0.2, 818.0, 5.0),
        (50, "none", 689.8, 0.5, 1140.0, 1.0),
        (50, "exponential", 624.3, 0.9, 36514.0, 100.0),
        (50, "full", 332.3, 0.2, 2875.0, 17.0),
        (50, "equal", 347.1, 0.2, 4215.0, 17.0),
        (50, "decorrelated", 374.1, 0.4, 2188.0, 15.0),
    ];

    #[test]
    fn meets_the_published_table() {
        for (clients, name, calls, calls_error, completion, completion_error) in PUBLISHED {
            let crew = Crew::silent(if clients == 50 { 100 } else { 200 });
            let strategy = CONTENTION.iter().find(|one| one.name == name).unwrap();
            let crowd = Crowd::at_once(clients, Hop::published().unwrap());
            let measured = measure(&crew, &crowd, strategy).unwrap();
            for (measured, mean, error) in [
                (measured.calls, calls, calls_error),
                (measured.completion, completion, completion_error),
            ] {
                let off = measured.distance(Mean { mean, error });
                assert!(off.abs() < 3.0, "{clients} {name}: {off}");
            }
        }
    }

    #[test]
    fn the_jitters_are_ranked_only_where_their_means_differ() {
        for (error, named) in [(0.1, "10: full.\n"), (1.0, "10: not clear.\n")] {
            let mut results = Results::new(&LABELS, &MEASURES);
            for strategy in CONTENTION {
                let mean = if strategy.name == "full" { 39.0 } else { 40.0 };
                let calls = Some(Mean { mean, error });
                results.add(["10", strategy.name], vec![calls, None, None, None]);
            }
            assert!(fewest(&results, &[10]).ends_with(named), "{named}");
        }
    }
}
