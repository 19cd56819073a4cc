//! The tables of the page are those of the policies.

use super::{ALL, CELLS};
use crate::reply::{Says, broken, grpc, life, of_kind, retries, table};
use backoff_core::{Decision, Delivery, FaultKind, GrpcCode, Policy, RetryState, StopReason};
use std::{collections::BTreeSet, fs, path::Path, time::Duration};

/// The rows of both tables: the preset, its name, and the cells of each table.
fn rows() -> impl Iterator<Item = (&'static str, Policy, [&'static str; 4], [&'static str; 4])> {
    let rows = ALL.iter().zip(CELLS);
    rows.map(|(&(name, policy), &(waits, failures))| (name, policy, waits, failures))
}

/// All public policies in the sources, as `module::NAME`.
fn public_policies(folder: &Path, module: Option<&str>, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).expect("the sources") {
        let path = entry.expect("the sources").path();
        let stem = path.file_stem().expect("a name").to_string_lossy();
        let module = module.unwrap_or(&stem);
        if path.is_dir() {
            public_policies(&path, Some(module), found);
            continue;
        }
        let source = fs::read_to_string(&path).expect("a source");
        found.extend(source.lines().filter_map(|line| {
            let (name, _) = line.strip_prefix("pub const ")?.split_once(": Policy =")?;
            Some(format!("{module}::{name}"))
        }));
    }
}

#[test]
fn every_public_policy_has_one_row() {
    let mut public = BTreeSet::new();
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    public_policies(&sources, None, &mut public);
    let named: BTreeSet<_> = ALL.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(named, public);
    assert_eq!(ALL.len(), public.len(), "a preset has two rows");
}

/// A time such as `1,800 s` or `20 ms`, in seconds.
fn seconds(text: &str) -> f64 {
    let (number, unit) = text.split_once(' ').expect(text);
    let number: f64 = number.replace(',', "").parse().expect(text);
    match unit {
        "s" => number,
        "ms" => number / 1_000.0,
        _ => panic!("`{text}` has no unit"),
    }
}

/// `min(factorⁿ · base, cap)`.
struct Formula {
    factor: f64,
    base: f64,
    cap: f64,
}

impl Formula {
    fn read(text: &str) -> Self {
        let inner = text
            .strip_prefix("min(")
            .and_then(|it| it.strip_suffix(')'));
        let (product, cap) = inner.and_then(|it| it.split_once(", ")).expect(text);
        let (factor, base) = product.split_once("ⁿ · ").expect(text);
        Formula {
            factor: factor.parse().expect(text),
            base: seconds(base),
            cap: seconds(cap),
        }
    }

    /// The wait before retry `n`, for a random number from 0 to 1.
    fn wait(&self, jitter: &str, n: i32, random: f64) -> f64 {
        let grown = self.base * self.factor.powi(n);
        if jitter == "full" {
            return grown.min(self.cap) * random;
        }
        if let Some(most) = jitter.strip_prefix("+ ") {
            return (grown + seconds(most) * random).min(self.cap);
        }
        let share = jitter.strip_prefix("± ").expect(jitter);
        let share = match (share.strip_suffix(" %"), share.strip_prefix("1/")) {
            (Some(percent), _) => percent.parse::<f64>().expect(jitter) / 100.0,
            (_, part) => 1.0 / part.expect(jitter).parse::<f64>().expect(jitter),
        };
        grown.min(self.cap / (1.0 + share)) * (1.0 - share + 2.0 * share * random)
    }
}

#[test]
fn the_waits_are_those_of_the_policies() {
    const MANY: u32 = 40;
    let not_sent = |kind| Says {
        delivery: Some(Delivery::NotSent),
        ..of_kind(kind)
    };
    for (name, policy, [_, waits, jitter, _], _) in rows() {
        let (plain, throttled) = waits
            .split_once(", after throttling ")
            .unwrap_or((waits, waits));
        let policy = policy.without_budget();
        let policy = policy.max_attempts(MANY + 1).deadline(Duration::MAX);
        for (kind, formula) in [
            (FaultKind::Transient, Formula::read(plain)),
            (FaultKind::Throttled, Formula::read(throttled)),
        ] {
            for (random, share) in [(0, 0.0), (1 << 63, 0.5), (u64::MAX, 1.0)] {
                let (waits, _) = life(&policy, &not_sent(kind), random, 99);
                assert_eq!(waits.len(), MANY as usize, "{name}");
                for (wait, n) in waits.iter().zip(0..) {
                    let said = formula.wait(jitter, n, share);
                    let is_said = (wait.as_secs_f64() - said).abs() < 1.5e-9;
                    assert!(is_said, "{name}: {wait:?} before retry {n}, not {said} s");
                }
            }
        }
    }
}

/// Otherwise all writers who are told the same time come back together.
#[test]
fn the_policies_for_writers_of_one_resource_add_the_wait_to_the_hint() {
    let hint = Duration::from_secs(4);
    let hinted = Says {
        delivery: Some(Delivery::NotSent),
        ..of_kind(FaultKind::Transient).hint(4_000)
    };
    for (name, policy, ..) in rows() {
        let (waits, _) = life(&policy, &hinted, u64::MAX, 1);
        let backoff = policy.backoff(0, Duration::ZERO, u64::MAX);
        let is_of_writers =
            name.ends_with("READ_MODIFY_WRITE") || name.starts_with("kubernetes::UPDATE");
        let wait = match is_of_writers {
            true => hint + backoff,
            false => hint.max(backoff),
        };
        assert_eq!(waits, [wait], "{name}");
    }
}

/// The decision after so many failures, the last of them at this time.
fn decision(policy: &Policy, failures: u32, at: Duration) -> Decision {
    let not_sent = broken(Delivery::NotSent);
    let mut retry = RetryState::start(policy, || Duration::ZERO);
    for _ in 1..failures {
        let decision = retry.failed(policy, policy.judge(&not_sent), || Duration::ZERO, || 0);
        assert!(matches!(decision, Decision::Wait(_)), "{policy}");
    }
    retry.failed(policy, policy.judge(&not_sent), || at, || 0)
}

#[test]
fn the_ends_are_those_of_the_policies() {
    for (name, policy, [.., said], _) in rows() {
        let limits = said.strip_suffix(", or when the budget is empty");
        let without = policy.without_budget();
        assert_eq!(limits.is_some(), policy != without, "{name}");
        let policy = without;
        let limits = limits.unwrap_or(said);

        let attempts = limits.split(" attempts").next().filter(|it| *it != limits);
        let attempts: Option<u32> = attempts.map(|it| it.parse().expect(said));
        let last = decision(&policy, attempts.unwrap_or(1_000), Duration::ZERO);
        let ended = matches!(last, Decision::Stop(StopReason::Attempts));
        assert_eq!(ended, attempts.is_some(), "{name}: {last:?}");

        let deadline = limits.rsplit(" or ").next().filter(|it| it.ends_with(" s"));
        let Some(deadline) = deadline.map(|it| Duration::from_secs_f64(seconds(it))) else {
            let late = decision(&policy, 1, Duration::from_secs(1 << 32));
            assert!(matches!(late, Decision::Wait(_)), "{name}: {late:?}");
            continue;
        };
        let last = deadline - policy.backoff(0, Duration::ZERO, 0);
        let fits = decision(&policy, 1, last);
        assert!(matches!(fits, Decision::Wait(_)), "{name}: {fits:?}");
        let late = decision(&policy, 1, last + Duration::from_nanos(1));
        assert_eq!(late, Decision::Stop(StopReason::Deadline), "{name}");
    }
}

/// `500, 502 to 504`.
fn listed(statuses: &[u16]) -> String {
    let runs = statuses.chunk_by(|one, next| one + 1 == *next);
    let shown = runs.flat_map(|run| match run {
        [first, _, .., last] => vec![format!("{first} to {last}")],
        few => few.iter().map(u16::to_string).collect(),
    });
    joined(shown.collect())
}

fn joined(parts: Vec<String>) -> String {
    match parts[..] {
        [] => "none".to_owned(),
        _ => parts.join(", "),
    }
}

#[test]
fn the_failures_are_those_of_the_policies() {
    let yes = |is: bool| if is { "yes" } else { "no" };
    for (name, policy, _, cells) in rows() {
        let (statuses, codes) = table(&policy);
        let codes = codes.iter().map(|code| format!("`{}`", code.name()));
        let row = [
            &listed(&statuses),
            &joined(codes.collect()),
            yes(retries(&policy, &of_kind(FaultKind::Conflict))),
            yes(retries(&policy, &broken(Delivery::MaybeSent))),
        ];
        assert_eq!(cells, row, "{name}");
        assert!(retries(&policy, &broken(Delivery::NotSent)), "{name}");
    }
}

#[test]
fn the_code_of_a_reply_counts_and_its_status_does_not() {
    for &(name, policy) in ALL {
        for code in GrpcCode::ALL {
            let alone = policy.judge(&grpc(code));
            for status in 400..600 {
                let reply = Says {
                    status: Some(status),
                    ..grpc(code)
                };
                assert_eq!(policy.judge(&reply), alone, "{name}: {status} {code}");
            }
        }
    }
}
