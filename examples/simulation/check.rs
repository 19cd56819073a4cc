//! Whether the pace of a row is worth being the default: it is compared with full jitter for crowds of
//! all sizes, near and far, that come at once and one after the other, and its product is held against
//! limits.

use std::time::Duration;

use crate::Error;
use crate::contention::{HOP, HOP_DEVIATION};
use crate::measured::{Measured, measure};
use crate::row::{Crowd, Hop};
use crate::runs::Crew;
use crate::stats::Mean;
use crate::strategies::{COMPARED, COUNTED, FULL, Strategy};

const CLIENTS: [u32; 9] = [1, 2, 3, 5, 10, 20, 50, 100, 200];
/// At this number of clients the products are measured.
const CROWD: u32 = 100;
/// Mean and standard deviation of a hop in milliseconds. The first network is that of the published
/// simulation, and the products are measured on it.
const NETWORKS: [(u64, u64); 3] = [
    (HOP.as_millis() as u64, HOP_DEVIATION.as_millis() as u64),
    (10, 8),
    (100, 20),
];
/// The time over which the clients come.
const ARRIVALS: [Duration; 2] = [Duration::ZERO, Duration::from_secs(2)];

/// How many times what full jitter needs may be needed, in calls and in time.
const WORST: f64 = 1.15;
/// The same for two clients.
const WORST_OF_TWO: f64 = 1.25;
/// How many reads there may be for each write.
const READS: f64 = 1.3;
const PACES: [Pace; 2] = [
    Pace {
        strategy: COUNTED,
        product: 2.3,
    },
    Pace {
        strategy: COMPARED,
        product: 3.4,
    },
];

/// A strategy that wants to be the default.
#[derive(Clone, Copy)]
struct Pace {
    strategy: Strategy,
    /// The largest product with `CROWD` clients on the first network.
    product: f64,
}

/// What is run.
struct Plan<'a> {
    clients: &'a [u32],
    paces: &'a [Pace],
}

/// What must not be passed, and what was measured.
struct Limit {
    what: String,
    most: f64,
    measured: Mean,
    /// In which circumstances, if there are several.
    at: String,
}

impl Limit {
    fn is_held(&self) -> bool {
        self.measured.mean <= self.most
    }

    fn row(&self) -> Vec<String> {
        let verdict = if self.is_held() { "held" } else { "MISSED" };
        vec![
            self.what.clone(),
            self.at.clone(),
            self.measured.to_string(),
            format!("{:.2}", self.most),
            verdict.to_owned(),
        ]
    }
}

/// What the check found.
pub(crate) struct Verdict {
    /// For people.
    pub(crate) text: String,
    limits: Vec<Limit>,
}

impl Verdict {
    /// # Errors
    /// Where a limit is missed.
    pub(crate) fn held(&self) -> Result<(), Error> {
        let missed = self.limits.iter().filter(|limit| !limit.is_held()).count();
        if missed > 0 {
            return Err(format!("{missed} of {} limits are missed", self.limits.len()).into());
        }
        Ok(())
    }
}

/// Runs everything with so many seeds.
pub(crate) fn check(seeds: u64) -> Result<Verdict, Error> {
    let plan = Plan {
        clients: &CLIENTS,
        paces: &PACES,
    };
    plan.check(&Crew::new(seeds, plan.experiments()))
}

/// How a pace compares with full jitter under the same circumstances.
#[derive(Clone)]
struct Ratio {
    mean: Mean,
    clients: u32,
    circumstances: String,
}

/// The ratios of one pace, on one network, with one kind of arrival.
struct Compared {
    network: String,
    arrival: String,
    pace: usize,
    /// One for each number of clients.
    calls: Vec<Ratio>,
    time: Vec<Ratio>,
    wait: Vec<Ratio>,
    /// Where all come at once, and there are `CROWD` clients.
    product: Option<Mean>,
}

impl Plan<'_> {
    fn experiments(&self) -> usize {
        NETWORKS.len() * ARRIVALS.len() * self.clients.len() * (1 + self.paces.len())
    }

    fn check(&self, crew: &Crew) -> Result<Verdict, Error> {
        let none = "there is nothing to take a mean of without seeds";
        let mut compared = Vec::new();
        let mut limits = Vec::new();
        let mut products = Vec::new();
        for (place, (mean, deviation)) in NETWORKS.into_iter().enumerate() {
            let [mean_hop, deviation_of_it] = [mean, deviation].map(Duration::from_millis);
            let hop = Hop::new(mean_hop, deviation_of_it)?;
            for over in ARRIVALS {
                let network = format!("|N({mean}, {deviation})| ms");
                let arrival = match over {
                    Duration::ZERO => "at once".to_owned(),
                    over => format!("over {} s", over.as_secs()),
                };
                let first = compared.len();
                compared.extend((0..self.paces.len()).map(|pace| Compared {
                    network: network.clone(),
                    arrival: arrival.clone(),
                    pace,
                    calls: Vec::new(),
                    time: Vec::new(),
                    wait: Vec::new(),
                    product: None,
                }));
                for &clients in self.clients {
                    let crowd = Crowd { clients, hop, over };
                    let full = measure(crew, &crowd, &FULL).ok_or(none)?;
                    let in_crowd = clients == CROWD && over.is_zero();
                    if in_crowd && place == 0 {
                        products.push(product_row(&FULL, &full));
                    }
                    let ratio = |one: Mean, other: Mean| Ratio {
                        mean: one.over(other),
                        clients,
                        circumstances: format!("{network} {arrival}"),
                    };
                    for (pace, cell) in self.paces.iter().zip(&mut compared[first..]) {
                        let paced = measure(crew, &crowd, &pace.strategy).ok_or(none)?;
                        cell.calls.push(ratio(paced.calls, full.calls));
                        cell.time.push(ratio(paced.completion, full.completion));
                        cell.wait.push(ratio(paced.wait, full.wait));
                        if in_crowd {
                            cell.product = Some(paced.product);
                        }
                        if in_crowd && place == 0 {
                            products.push(product_row(&pace.strategy, &paced));
                            limits.extend(pace.limits(&paced));
                        }
                    }
                }
            }
        }
        for (number, pace) in self.paces.iter().enumerate() {
            let own: Vec<_> = compared.iter().filter(|one| one.pace == number).collect();
            limits.extend(pace.limits_beside_full(&own));
        }
        Ok(Verdict {
            text: self.text(&products, &compared, &limits),
            limits,
        })
    }

    fn text(&self, products: &[Vec<String>], compared: &[Compared], limits: &[Limit]) -> String {
        let header = ["strategy", "calls", "reads", "time, ms", "product"];
        let products = examples::table::table(&header, 1, products);

        let header = [
            "strategy",
            "hops",
            "come",
            "calls",
            "at N =",
            "time",
            "at N =",
            "calls of 2",
            "time of 2",
            "a client's wait",
            "at N =",
            "product",
        ];
        let rows = compared.iter().map(|one| {
            let name = self.paces[one.pace].strategy.name;
            let mut row = [name, &one.network, &one.arrival]
                .map(str::to_owned)
                .to_vec();
            for ratios in [&one.calls, &one.time] {
                row.extend(shown(worst(ratios, |clients| clients != 2)));
            }
            for ratios in [&one.calls, &one.time] {
                row.push(shown(worst(ratios, |clients| clients == 2))[0].clone());
            }
            row.extend(shown(worst(&one.wait, |_| true)));
            row.push(one.product.map_or("–".to_owned(), |mean| mean.to_string()));
            row
        });
        let ratios = examples::table::table(&header, 3, &rows.collect::<Vec<_>>());

        let header = ["limit", "worst with", "measured", "at most", ""];
        let rows: Vec<_> = limits.iter().map(Limit::row).collect();
        let limits = examples::table::table(&header, 2, &rows);
        let (mean, deviation) = NETWORKS[0];
        format!(
            "{CROWD} clients at once, hops of |N({mean}, {deviation})| ms:\n\n{products}\n\
             Worst ratios to full jitter, for N of {:?}:\n\n{ratios}\n\
             product: with {CROWD} clients, (calls / N - 1) * (time / (N * two hops) - 1).\n\
             a client's wait: the mean from a client's arrival to its success; no limit holds for it.\n\
             \n{limits}",
            self.clients,
        )
    }
}

impl Pace {
    /// What its crowd must keep.
    fn limits(&self, crowd: &Measured) -> [Limit; 2] {
        let name = self.strategy.name;
        let limit = |what, measured, most| Limit {
            what: format!("{name}: {what}"),
            most,
            measured,
            at: format!("N = {CROWD}"),
        };
        [
            limit("product", crowd.product, self.product),
            limit("reads / calls", crowd.reads.over(crowd.calls), READS),
        ]
    }

    /// What it must keep everywhere.
    fn limits_beside_full(&self, everywhere: &[&Compared]) -> Vec<Limit> {
        let all = |of: &dyn Fn(&Compared) -> Vec<Ratio>| {
            everywhere
                .iter()
                .flat_map(|one| of(one))
                .collect::<Vec<_>>()
        };
        let calls = all(&|one| one.calls.clone());
        let time = all(&|one| one.time.clone());
        let two: fn(u32) -> bool = |clients| clients == 2;
        let others: fn(u32) -> bool = |clients| clients != 2;
        let mut limits = Vec::new();
        for (what, ratios) in [("calls", &calls), ("time", &time)] {
            for (whose, among, most) in [("", others, WORST), (" of two", two, WORST_OF_TWO)] {
                limits.extend(worst(ratios, among).map(|ratio| Limit {
                    what: format!("{}: {what}{whose} / full jitter's", self.strategy.name),
                    most,
                    measured: ratio.mean,
                    at: format!("N = {}, {}", ratio.clients, ratio.circumstances),
                }));
            }
        }
        limits
    }
}

fn product_row(strategy: &Strategy, measured: &Measured) -> Vec<String> {
    let means = [
        measured.calls,
        measured.reads,
        measured.completion,
        measured.product,
    ];
    let means = means.iter().map(Mean::to_string);
    [strategy.name.to_owned()]
        .into_iter()
        .chain(means)
        .collect()
}

/// The largest ratio among some numbers of clients.
fn worst(ratios: &[Ratio], among: impl Fn(u32) -> bool) -> Option<&Ratio> {
    let some = ratios.iter().filter(|ratio| among(ratio.clients));
    some.max_by(|one, other| one.mean.mean.total_cmp(&other.mean.mean))
}

/// A ratio, and for how many clients.
fn shown(ratio: Option<&Ratio>) -> [String; 2] {
    match ratio {
        Some(ratio) => [format!("{:.3}", ratio.mean.mean), ratio.clients.to_string()],
        None => ["–", "–"].map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategies::CONTENTION;

    fn check(pace: Pace, clients: &[u32]) -> Verdict {
        let plan = Plan {
            clients,
            paces: &[pace],
        };
        plan.check(&Crew::silent(10)).unwrap()
    }

    fn find<'a>(verdict: &'a Verdict, what: &str) -> &'a Limit {
        let named = |limit: &&Limit| limit.what.contains(what);
        verdict.limits.iter().find(named).unwrap()
    }

    #[test]
    fn the_pace_holds_where_a_wait_without_jitter_misses() {
        let clients = [1, 2, 10, 100];
        let paced = check(PACES[0], &clients);
        // So few seeds measure the product within a tenth, and ratios of one crowd within some percent.
        let product = find(&paced, "product").measured;
        assert!((product.mean - 2.3).abs() < 0.6, "{product}");
        assert!(find(&paced, "reads").is_held(), "{}", paced.text);
        assert_eq!(paced.limits.len(), 6);

        let exponential = CONTENTION.iter().find(|one| one.name == "exponential");
        let strategy = *exponential.unwrap();
        let pace = Pace {
            strategy,
            ..PACES[0]
        };
        let alone = check(pace, &clients);
        for what in ["product", "calls / full", "time / full"] {
            let limit = find(&alone, what);
            assert!(!limit.is_held(), "{what} is held: {}", limit.measured);
        }
        assert_eq!(find(&alone, "time / full").most, WORST);
        assert!(alone.text.contains("MISSED"), "{}", alone.text);
        let error = alone.held().unwrap_err().to_string();
        assert!(error.ends_with(" of 6 limits are missed"), "{error}");
    }

    #[test]
    fn full_jitter_is_as_good_as_full_jitter() {
        let full = Pace {
            strategy: FULL,
            product: 20.0,
        };
        let verdict = check(full, &[1, 2, 5, 100]);
        verdict.held().unwrap();
        let ratio = find(&verdict, "calls of two / full").measured;
        assert_eq!(ratio.mean, 1.0);
        assert!(verdict.text.contains("held") && !verdict.text.contains("MISSED"));
    }

    #[test]
    fn the_worst_is_found_among_those_that_count() {
        let ratio = |clients, mean| Ratio {
            mean: Mean { mean, error: 0.0 },
            clients,
            circumstances: String::new(),
        };
        let ratios = [ratio(1, 1.0), ratio(2, 1.2), ratio(5, 0.9), ratio(10, 1.1)];
        let worst_of = |among: fn(u32) -> bool| worst(&ratios, among).map(|one| one.clients);
        assert_eq!(worst_of(|clients| clients != 2), Some(10));
        assert_eq!(worst_of(|clients| clients == 2), Some(2));
        assert_eq!(worst_of(|clients| clients == 3), None);
    }
}
