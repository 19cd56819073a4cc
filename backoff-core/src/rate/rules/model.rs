//! The rules once more, in plain numbers and without optimization, for calls that come and end in any order.

use super::{
    schedules::{MS, REFUSED, SECOND, at},
    *,
};
use proptest::{collection::vec, prelude::*};

/// One step of many calls.
#[derive(Clone, Copy, Debug)]
enum Step {
    Passes(u64),
    /// A call begins, if its turn has come.
    Begins,
    /// One of the calls in flight ends.
    Ends(usize, Option<Reply>),
    Queue(bool),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let passes = prop_oneof![8 => 1..200_u64, 2 => 200..5_000_u64, 1 => 5_000..90_000_u64];
    let reply = prop_oneof![
        6 => Just(Some(Reply::Admitted)),
        3 => Just(Some(REFUSED)),
        1 => (1..100_u64).prop_map(|s| Some(Reply::Refused { hint: s * SECOND })),
        1 => Just(None),
    ];
    let step = prop_oneof![
        4 => passes.prop_map(|ms| Step::Passes(ms * MS + 1)),
        4 => Just(Step::Begins),
        4 => (any::<prop::sample::Index>(), reply)
            .prop_map(|(at, reply)| Step::Ends(at.index(1_000), reply)),
        1 => any::<bool>().prop_map(Step::Queue),
    ];
    vec(step, 1..400)
}

/// The state of the rules, in seconds.
#[derive(Debug, Default)]
struct Model {
    now: u64,
    is_on: bool,
    next: f64,
    cut: f64,
    admitted: f64,
    settle: f64,
    /// The time of the refusal that closed, the rate then, the gap, the refusals in a row, and the named time.
    closed: Option<(f64, f64, f64, u32, Option<f64>)>,
    was_off: bool,
    window: Option<u32>,
    /// The calls that were admitted, and since when.
    long: (f64, u64),
    short: (f64, u64),
    until: f64,
    idle: Option<f64>,
    cuts: u32,
}

impl Model {
    fn seconds(&self) -> f64 {
        self.now as f64 / 1e9
    }

    fn rate(&self) -> f64 {
        let time = self.idle.unwrap_or(self.seconds()) - self.cut;
        self.admitted * (1.0 + 0.15 * ((time - self.settle) / self.settle).powi(3))
    }

    fn per_second(&self) -> Option<f64> {
        let rate = self
            .closed
            .map_or_else(|| self.rate(), |closed| 1.0 / closed.2);
        self.is_on.then_some(rate)
    }

    fn passes(&mut self, nanos: u64) {
        self.now += nanos;
        if self.is_on && self.seconds() >= self.until {
            let (now, cuts) = (self.now, self.cuts);
            *self = Model {
                now,
                cuts,
                settle: 1.8,
                ..Model::default()
            };
        }
    }

    /// The share of the counted calls in a second.
    fn counted(&self, count: (f64, u64), more: f64, least: f64) -> f64 {
        (count.0 + more) / ((self.now - count.1) as f64 / 1e9).max(least)
    }

    fn counts_anew(&mut self) {
        if self.is_on {
            return;
        }
        for (count, longest) in [(&mut self.long, 60), (&mut self.short, 1)] {
            if count.0 == 0.0 || self.now - count.1 > longest * SECOND {
                *count = (0.0, self.now);
            }
        }
    }

    /// When a call may go, if it waits for no reply.
    fn turn(&self, in_flight: usize) -> Option<f64> {
        match self.window {
            Some(window) if self.closed.is_none() && in_flight >= window as usize => None,
            _ if self.is_on => Some(self.next),
            _ => Some(0.0),
        }
    }

    fn goes(&mut self) {
        if let Some(rate) = self.per_second() {
            self.next = self.next.max(self.seconds() - 0.02) + 1.0 / rate;
        }
    }

    fn leaves_out_idle(&mut self) {
        let now = self.seconds();
        if let Some(since) = self.idle.replace(now) {
            self.cut += now - since;
            self.long.1 += ((now - since) * 1e9).round() as u64;
        } else {
            self.idle = None;
        }
    }

    fn refused(&mut self, hint: u64) {
        self.leaves_out_idle();
        self.counts_anew();
        let now = self.seconds();
        if let Some((since, rate, gap, refusals, named)) = self.closed {
            let gap = gap.max(0.25 * (now - since)).min(64.0);
            self.closed = Some((since, rate, gap, refusals + 1, named));
        } else {
            let rate = if !self.is_on {
                self.counted(self.long, 1.0, 0.05)
                    .max(self.counted(self.short, 1.0, 0.05))
            } else if self.window.is_some() {
                self.rate().min(self.counted(self.long, 1.0, 0.001))
            } else {
                self.rate()
            };
            if self.is_on {
                self.settle = (self.settle * 1.2).min(300.0);
            }
            let named = (hint > 0).then(|| now + hint as f64 / 1e9);
            self.closed = Some((now, rate, (1.0 / (0.85 * rate)).min(64.0), 1, named));
            self.was_off = !self.is_on;
        }
        let Some((_, _, gap, refusals, named)) = self.closed else {
            unreachable!()
        };
        self.window = None;
        if !self.is_on {
            self.idle = Some(now);
        }
        self.is_on = true;
        self.cut = now;
        self.cuts += 1;
        self.next = now + gap;
        if let Some(named) = named.filter(|named| refusals >= 5 && *named > now) {
            self.next = self.next.max(now + (named - now) / 4.0).min(named);
        }
        self.until = self.next + (30.0 * self.settle).max(60.0);
    }

    fn admitted(&mut self, since: u32, in_flight: usize) {
        self.counts_anew();
        self.long.0 += 1.0;
        self.short.0 += 1.0;
        if !self.is_on {
            return;
        }
        self.leaves_out_idle();
        let now = self.seconds();
        self.settle = (self.settle / 1.2_f64.powf(0.15)).max(1.8);
        let Some((_, closed_at_rate, ..)) = self.closed.filter(|_| since == self.cuts) else {
            self.window = self.window.map(|window| window + 1);
            return;
        };
        let counted = self.counted(self.long, 0.0, 0.001).min(closed_at_rate);
        let is_few = self.long.0 < 4.0 && !self.was_off;
        self.admitted = if self.was_off {
            let short = self.counted(self.short, 0.0, 0.001);
            self.window = Some(in_flight as u32 + 2);
            counted.max(short.min(closed_at_rate))
        } else if counted >= closed_at_rate / 2.0 {
            (counted + closed_at_rate) / 2.0
        } else if is_few {
            closed_at_rate / 2.0
        } else {
            counted
        };
        self.admitted = self.admitted.max(1.0 / 64.0);
        if !is_few {
            self.long = (0.0, self.now);
        }
        self.closed = None;
        self.cut = now;
        self.cuts += 1;
        self.next = self.next.min(now + 1.0 / self.rate());
    }

    fn queue(&mut self, waits: bool) {
        let now = self.seconds();
        match (waits, self.idle) {
            (false, None) if self.is_on => self.idle = Some(now),
            (true, Some(_)) => {
                self.leaves_out_idle();
                self.idle = None;
            }
            _ => {}
        }
    }
}

fn agree(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-6 * a.abs().max(1.0)
}

proptest! {
    #[test]
    fn the_rules_follow_their_model(steps in steps()) {
        let mut rules = Rules::new(SETTLE);
        let mut model = Model { settle: 1.8, ..Model::default() };
        let mut flying: Vec<(u8, u32)> = Vec::new();
        for step in steps {
            match step {
                Step::Passes(nanos) => {
                    model.passes(nanos);
                    rules.at(at(model.now));
                }
                Step::Begins => {
                    if rules.turn(flying.len() as u32) <= rules.now() {
                        flying.push((rules.epoch(), model.cuts));
                        rules.goes(true);
                        model.goes();
                    }
                }
                Step::Ends(n, reply) => {
                    if flying.is_empty() {
                        continue;
                    }
                    let (epoch, since) = flying.swap_remove(n % flying.len());
                    // The number of a cut has one byte.
                    prop_assume!(model.cuts - since < 256);
                    let Some(reply) = reply else { continue };
                    rules.replied(reply, epoch, flying.len() as u32);
                    match reply {
                        Reply::Admitted => model.admitted(since, flying.len()),
                        Reply::Refused { hint } if since == model.cuts => model.refused(hint),
                        Reply::Refused { .. } => {}
                    }
                }
                Step::Queue(true) => {
                    rules.queued();
                    model.queue(true);
                }
                Step::Queue(false) => {
                    rules.emptied();
                    model.queue(false);
                }
            }
            match (rules.per_second(), model.per_second()) {
                (Some(a), Some(b)) => prop_assert!(agree(a, b), "{a} {b} {model:?}"),
                (a, b) => prop_assert_eq!(a, b),
            }
            let turn = rules.turn(flying.len() as u32);
            match model.turn(flying.len()) {
                Some(turns) => prop_assert!(agree(turn as f64 / 1e9, turns), "{turn} {turns}"),
                None => prop_assert_eq!(turn, AFTER_REPLY),
            }
            // A rate never stops.
            let least = 0.999 * BETA / LONGEST_GAP;
            prop_assert!(rules.per_second().is_none_or(|rate| rate >= least));
        }
    }
}
