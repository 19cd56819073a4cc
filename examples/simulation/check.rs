//! Whether a pace is worth being the default: it is compared with full jitter for crowds of all sizes,
//! near and far, that come at once and one after the other, and its product is held against a limit.

use std::iter;
use std::time::Duration;

use crate::Error;
use crate::contention::{HOP, HOP_DEVIATION};
use crate::measured::{Measured, measure};
use crate::row::{Crowd, Hop};
use crate::runs::Crew;
use crate::stats::Mean;
use crate::strategies::{FULL, PACED, Strategy};
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

/// What is compared with full jitter, and how many times what full jitter needs may be needed. Full jitter's
/// first wait, 10 ms, is short beside the window of far clients: the last of three is done later at a pace.
const COMPARED: [(&str, Of, f64); 3] = [
    ("calls", CALLS, 1.01),
    ("a client's wait", WAIT, 1.3),
    ("time", TIME, 1.45),
];
/// How many reads there may be for each write.
const READS_AT_MOST: f64 = 1.3;
/// The largest product with `CROWD` clients on the first network.
const PRODUCT_AT_MOST: f64 = 5.0;

/// What is run: a strategy that wants to be the default, with these numbers of clients.
struct Plan<'a> {
    clients: &'a [u32],
    strategy: Strategy,
}

/// Runs everything with so many seeds.
pub(crate) fn check(seeds: u64) -> Result<Verdict, Error> {
    let plan = Plan {
        clients: &CLIENTS,
        strategy: PACED,
    };
    plan.check(&Crew::new(seeds, plan.experiments()))
}

/// A crowd, and what was measured of it.
struct Setting {
    /// Mean and deviation of a hop.
    network: (u64, u64),
    crowd: Crowd,
    full: Measured,
    paced: Measured,
}

impl Setting {
    /// Whether products are measured here.
    fn has_product(&self) -> bool {
        self.crowd.clients == CROWD && self.crowd.over.is_zero()
    }

    fn come(&self) -> String {
        match self.crowd.over {
            Duration::ZERO => "at once".to_owned(),
            over => format!("over {} s", over.as_secs()),
        }
    }

    /// How the strategy compares with full jitter.
    fn ratio(&self, of: Of) -> Mean {
        of(&self.paced).over(of(&self.full))
    }

    fn at(&self) -> String {
        format!(
            "N = {}, {} {}",
            self.crowd.clients,
            hops(self.network),
            self.come()
        )
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

/// The largest ratio to full jitter among some settings, and where that is.
fn worst(settings: &[Setting], of: Of) -> Option<(Mean, &Setting)> {
    settings
        .iter()
        .map(|setting| (setting.ratio(of), setting))
        .max_by(|(one, _), (other, _)| one.mean.total_cmp(&other.mean))
}

impl Plan<'_> {
    fn experiments(&self) -> usize {
        NETWORKS.len() * ARRIVALS.len() * self.clients.len() * 2
    }

    fn check(&self, crew: &Crew) -> Result<Verdict, Error> {
        let settings = self.measure(crew)?;
        let (hops, product) = (
            hops(NETWORKS[0]),
            "(calls / N - 1) * (time / (N * two hops) - 1)",
        );
        let text = format!(
            "{CROWD} clients at once, hops of {hops}:\n\n{}\n\
             Worst ratios to full jitter, for N of {:?}:\n\n{}\n\
             product: with {CROWD} clients, {product}.\n\
             a client's wait: the mean from a client's arrival to its success.\n\n\
             ",
            self.products(&settings),
            self.clients,
            self.ratios(&settings),
        );
        Ok(Verdict::new(&text, limits(&settings)))
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
                    settings.push(Setting {
                        network,
                        crowd,
                        full: measured(&FULL)?,
                        paced: measured(&self.strategy)?,
                    });
                }
            }
        }
        Ok(settings)
    }

    /// On the first network.
    fn products(&self, settings: &[Setting]) -> String {
        let crowd = settings.iter().find(|setting| setting.has_product());
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
        let rows: Vec<_> = crowd
            .into_iter()
            .flat_map(|one| [(FULL.name, &one.full), (self.strategy.name, &one.paced)])
            .map(row)
            .collect();
        examples::table::table(
            &["strategy", "calls", "reads", "time, ms", "product"],
            1,
            &rows,
        )
    }

    /// The worst ones for each network and kind of arrival.
    fn ratios(&self, settings: &[Setting]) -> String {
        let mut rows = Vec::new();
        for group in settings.chunks(self.clients.len()) {
            let mut row = vec![hops(group[0].network), group[0].come()];
            for (_, of, _) in COMPARED {
                row.extend(shown(worst(group, of)));
            }
            let crowd = group.iter().find(|setting| setting.has_product());
            let product = crowd.map(|crowd| crowd.paced.product.to_string());
            row.push(product.unwrap_or("–".to_owned()));
            rows.push(row);
        }
        let compared = COMPARED.iter().flat_map(|(what, ..)| [*what, "at N ="]);
        let header: Vec<_> = ["hops", "come"]
            .into_iter()
            .chain(compared)
            .chain(["product"])
            .collect();
        examples::table::table(&header, 2, &rows)
    }
}

fn limits(settings: &[Setting]) -> Vec<Limit> {
    let mut limits = Vec::new();
    // The first network is the first of the settings.
    if let Some(crowd) = settings.iter().find(|setting| setting.has_product()) {
        let measured = &crowd.paced;
        let limit = |what: &str, measured, most| Limit {
            what: what.to_owned(),
            bound: Bound::AtMost(most),
            measured,
            at: crowd.at(),
        };
        let reads = measured.reads.over(measured.calls);
        limits.push(limit("product", measured.product, PRODUCT_AT_MOST));
        limits.push(limit("reads / calls", reads, READS_AT_MOST));
    }
    for (what, of, most) in COMPARED {
        limits.extend(worst(settings, of).map(|(measured, at)| Limit {
            what: format!("{what} / full jitter's"),
            bound: Bound::AtMost(most),
            measured,
            at: at.at(),
        }));
    }
    limits
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

    fn check(strategy: Strategy, clients: &[u32]) -> Verdict {
        let plan = Plan { clients, strategy };
        plan.check(&Crew::silent(10)).unwrap()
    }

    fn find<'a>(verdict: &'a Verdict, what: &str) -> &'a Limit {
        let named = |limit: &&Limit| limit.what.starts_with(what);
        verdict.limits.iter().find(named).unwrap()
    }

    #[test]
    fn the_pace_holds_where_a_wait_without_jitter_misses() {
        let clients = [1, 2, 10, 100];
        let paced = check(PACED, &clients);
        // So few seeds measure the product within a tenth, and ratios of one crowd within some percent.
        let product = find(&paced, "product").measured;
        assert!((product.mean - 4.7).abs() < 0.6, "{product}");
        assert!(find(&paced, "reads").is_held(), "{}", paced.text);
        assert_eq!(paced.limits.len(), 5);

        let exponential = CONTENTION.iter().find(|one| one.name == "exponential");
        let alone = check(*exponential.unwrap(), &clients);
        for what in ["product", "calls /", "time /"] {
            let limit = find(&alone, what);
            assert!(!limit.is_held(), "{what} is held: {}", limit.measured);
        }
        assert_eq!(find(&alone, "time /").bound, Bound::AtMost(1.45));
        assert!(alone.text.contains("MISSED"), "{}", alone.text);
        let error = alone.held().unwrap_err().to_string();
        assert!(error.ends_with(" of 5 limits are missed"), "{error}");
    }

    #[test]
    fn full_jitter_is_as_good_as_full_jitter() {
        let verdict = check(FULL, &[1, 2, 5]);
        verdict.held().unwrap();
        assert_eq!(find(&verdict, "calls /").measured.mean, 1.0);
        assert!(verdict.text.contains("held") && !verdict.text.contains("MISSED"));
    }

    #[test]
    fn the_worst_is_found_among_those_that_are_asked_for() {
        let plan = Plan {
            clients: &[1, 2, 20],
            strategy: PACED,
        };
        let settings = plan.measure(&Crew::silent(5)).unwrap();
        assert_eq!(settings.len() * 2, plan.experiments());
        let ratios = [0, 1, 2].map(|at| settings[at].ratio(WAIT).mean);
        let (most, at) = worst(&settings[..3], WAIT).unwrap();
        assert_eq!(most.mean, ratios.into_iter().fold(0.0, f64::max));
        assert_eq!(at.ratio(WAIT).mean, most.mean);
        assert!(worst(&settings[..0], WAIT).is_none());
    }
}
