//! Whether the pace of a row is worth being the default: it is compared with full jitter for crowds of
//! all sizes, near and far, that come at once and one after the other, and its product is held against
//! limits.

use std::iter;
use std::time::Duration;

use crate::Error;
use crate::contention::{HOP, HOP_DEVIATION};
use crate::measured::{Measured, measure};
use crate::row::{Crowd, Hop};
use crate::runs::Crew;
use crate::stats::Mean;
use crate::strategies::{COMPARED, COUNTED, FULL, Strategy};
use crate::verdict::{Bound, Limit, Verdict};

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
        // What would make this smaller makes other numbers of clients worse than full jitter.
        product: 4.5,
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

/// Runs everything with so many seeds.
pub(crate) fn check(seeds: u64) -> Result<Verdict, Error> {
    let plan = Plan {
        clients: &CLIENTS,
        paces: &PACES,
    };
    plan.check(&Crew::new(seeds, plan.experiments()))
}

/// A crowd, and what was measured of it.
struct Setting {
    /// Mean and deviation of a hop.
    network: (u64, u64),
    crowd: Crowd,
    full: Measured,
    /// In the order of the plan.
    paced: Vec<Measured>,
}

impl Setting {
    fn is_of_two(&self) -> bool {
        self.crowd.clients == 2
    }

    /// Whether products are measured here.
    fn has_product(&self) -> bool {
        self.crowd.clients == CROWD && self.crowd.over.is_zero()
    }

    fn hops(&self) -> String {
        hops(self.network)
    }

    fn come(&self) -> String {
        match self.crowd.over {
            Duration::ZERO => "at once".to_owned(),
            over => format!("over {} s", over.as_secs()),
        }
    }

    /// How a pace compares with full jitter.
    fn ratio(&self, pace: usize, of: Of) -> Mean {
        of(&self.paced[pace]).over(of(&self.full))
    }
}

fn hops((mean, deviation): (u64, u64)) -> String {
    format!("|N({mean}, {deviation})| ms")
}

/// One of the things that were measured.
type Of = fn(&Measured) -> Mean;
const CALLS: Of = |measured| measured.calls;
const TIME: Of = |measured| measured.completion;
const WAIT: Of = |measured| measured.wait;

/// The largest ratio of a pace to full jitter among some settings, and where that is.
fn worst<'a>(
    settings: impl Iterator<Item = &'a Setting>,
    pace: usize,
    of: Of,
) -> Option<(Mean, &'a Setting)> {
    settings
        .map(|setting| (setting.ratio(pace, of), setting))
        .max_by(|(one, _), (other, _)| one.mean.total_cmp(&other.mean))
}

impl Plan<'_> {
    fn experiments(&self) -> usize {
        NETWORKS.len() * ARRIVALS.len() * self.clients.len() * (1 + self.paces.len())
    }

    fn check(&self, crew: &Crew) -> Result<Verdict, Error> {
        let settings = self.measure(crew)?;
        let limits: Vec<_> = (0..self.paces.len())
            .flat_map(|pace| self.limits(pace, &settings))
            .collect();
        let (hops, product) = (
            hops(NETWORKS[0]),
            "(calls / N - 1) * (time / (N * two hops) - 1)",
        );
        let text = format!(
            "{CROWD} clients at once, hops of {hops}:\n\n{}\n\
             Worst ratios to full jitter, for N of {:?}:\n\n{}\n\
             product: with {CROWD} clients, {product}.\n\
             a client's wait: the mean from a client's arrival to its success; no limit holds for it.\n\n\
             ",
            self.products(&settings),
            self.clients,
            self.ratios(&settings),
        );
        Ok(Verdict::new(&text, limits))
    }

    fn measure(&self, crew: &Crew) -> Result<Vec<Setting>, Error> {
        let none = "there is nothing to take a mean of without seeds";
        let mut settings = Vec::new();
        for network in NETWORKS {
            let [mean, deviation] = <[_; 2]>::from(network).map(Duration::from_millis);
            let hop = Hop::new(mean, deviation)?;
            for over in ARRIVALS {
                for &clients in self.clients {
                    let crowd = Crowd { clients, hop, over };
                    let measured = |strategy| measure(crew, &crowd, strategy).ok_or(none);
                    let paced = self.paces.iter().map(|pace| measured(&pace.strategy));
                    settings.push(Setting {
                        network,
                        crowd,
                        full: measured(&FULL)?,
                        paced: paced.collect::<Result<_, _>>()?,
                    });
                }
            }
        }
        Ok(settings)
    }

    fn limits(&self, number: usize, settings: &[Setting]) -> Vec<Limit> {
        let pace = &self.paces[number];
        let name = pace.strategy.name;
        let mut limits = Vec::new();
        // The first network is the first of the settings.
        if let Some(crowd) = settings.iter().find(|setting| setting.has_product()) {
            let measured = &crowd.paced[number];
            let limit = |what, measured, most| Limit {
                what: format!("{name}: {what}"),
                bound: Bound::AtMost(most),
                measured,
                at: format!("N = {CROWD}, {} {}", crowd.hops(), crowd.come()),
            };
            let reads = measured.reads.over(measured.calls);
            limits.push(limit("product", measured.product, pace.product));
            limits.push(limit("reads / calls", reads, READS));
        }
        for (what, of) in [("calls", CALLS), ("time", TIME)] {
            for (whose, two, most) in [("", false, WORST), (" of two", true, WORST_OF_TWO)] {
                let among = settings.iter().filter(|setting| setting.is_of_two() == two);
                limits.extend(worst(among, number, of).map(|(measured, at)| Limit {
                    what: format!("{name}: {what}{whose} / full jitter's"),
                    bound: Bound::AtMost(most),
                    measured,
                    at: format!("N = {}, {} {}", at.crowd.clients, at.hops(), at.come()),
                }));
            }
        }
        limits
    }

    /// On the first network.
    fn products(&self, settings: &[Setting]) -> String {
        let crowd = settings.iter().find(|setting| setting.has_product());
        let names = iter::once(FULL.name).chain(self.paces.iter().map(|pace| pace.strategy.name));
        let row = |(name, measured): (&str, &Measured)| {
            let Measured {
                calls,
                reads,
                completion,
                product,
                ..
            } = measured;
            let means = [calls, reads, completion, product].map(Mean::to_string);
            iter::once(name.to_owned()).chain(means).collect()
        };
        let measured = crowd
            .iter()
            .flat_map(|crowd| iter::once(&crowd.full).chain(&crowd.paced));
        let rows: Vec<_> = names.zip(measured).map(row).collect();
        examples::table::table(
            &["strategy", "calls", "reads", "time, ms", "product"],
            1,
            &rows,
        )
    }

    /// The worst ones of each pace for each network and kind of arrival.
    fn ratios(&self, settings: &[Setting]) -> String {
        let mut rows = Vec::new();
        for group in settings.chunks(self.clients.len()) {
            for (number, pace) in self.paces.iter().enumerate() {
                let mut row = vec![
                    pace.strategy.name.to_owned(),
                    group[0].hops(),
                    group[0].come(),
                ];
                for of in [CALLS, TIME] {
                    let others = group.iter().filter(|setting| !setting.is_of_two());
                    row.extend(shown(worst(others, number, of)));
                }
                for of in [CALLS, TIME] {
                    let two = group.iter().filter(|setting| setting.is_of_two());
                    row.extend(shown(worst(two, number, of)).into_iter().take(1));
                }
                row.extend(shown(worst(group.iter(), number, WAIT)));
                let crowd = group.iter().find(|setting| setting.has_product());
                let product = crowd.map(|crowd| crowd.paced[number].product.to_string());
                row.push(product.unwrap_or("–".to_owned()));
                rows.push(row);
            }
        }
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
        examples::table::table(&header, 3, &rows)
    }
}

/// A ratio, and for how many clients.
fn shown(ratio: Option<(Mean, &Setting)>) -> [String; 2] {
    match ratio {
        Some((ratio, at)) => [format!("{:.3}", ratio.mean), at.crowd.clients.to_string()],
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
        let mut pace = PACES[0];
        pace.strategy = *exponential.unwrap();
        let alone = check(pace, &clients);
        for what in ["product", "calls / full", "time / full"] {
            let limit = find(&alone, what);
            assert!(!limit.is_held(), "{what} is held: {}", limit.measured);
        }
        assert_eq!(find(&alone, "time / full").bound, Bound::AtMost(WORST));
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
    fn the_worst_is_found_among_those_that_are_asked_for() {
        let plan = Plan {
            clients: &[1, 2, 20],
            paces: &[PACES[1]],
        };
        let settings = plan.measure(&Crew::silent(5)).unwrap();
        assert_eq!(settings.len() * 2, plan.experiments());
        let first = &settings[..3];
        let of = |two: bool| {
            let among = first
                .iter()
                .filter(move |setting| setting.is_of_two() == two);
            worst(among, 0, WAIT).unwrap()
        };
        assert_eq!(of(true).1.crowd.clients, 2);
        let [one, _, twenty] = [0, 1, 2].map(|at| first[at].ratio(0, WAIT).mean);
        assert_eq!(of(false).0.mean, one.max(twenty));
        assert!(worst(first[..0].iter(), 0, WAIT).is_none());
    }
}
