//! A soak: many calls of all forms, interleaved on one thread, under random faults: lost replies, requests that hang,
//! panics in operations and hooks, signals, calls that are dropped while they run, and a clock that jumps.
//!
//! It checks after each step that the tokens of two budgets are those of a model; after each call that nothing was
//! applied twice that must not be, that nothing acknowledged is lost, and that what was perhaps applied is said to be;
//! after each round that no byte stays allocated.
//!
//! `cargo run --release --manifest-path tests/attacks/Cargo.toml --features soak -- --seconds 60`

#![forbid(unsafe_code)]

mod account;
mod forms;
mod service;

use backoff_core::StopReason;
use forms::{Call, Effect, Ended, FORMS, Form, Running, Shared};
use service::Service;
use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    process::ExitCode,
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};

/// The calls of one round. Live bytes are compared between the rounds.
const ROUND: u32 = 5_000;
/// How many calls run at the same time.
const AT_ONCE: usize = 48;
/// The first rounds make what lives as long as the thread, such as its random source.
const WARM: u32 = 2;
/// The soak makes at least this many calls.
const CALLS: u32 = 100_000;

struct Going {
    form: usize,
    call: Call,
    running: Running,
}

/// How a call left the soak.
enum Left {
    Ended(Ended),
    Dropped,
    Panicked,
}

struct Round {
    shared: Shared,
    going: Vec<Going>,
}

impl Round {
    /// Begins and steps calls until this many have left.
    fn run(&mut self, calls: u32) {
        let mut begun = 0;
        while begun < calls || !self.going.is_empty() {
            if begun < calls && self.going.len() < AT_ONCE {
                self.begin(begun);
                begun += 1;
            }
            let form = self.step();
            self.compare(form);
        }
        // A task whose callers have left ends when it is polled.
        self.shared.service.poll_tasks();
        assert_eq!(
            self.shared.busy(),
            0,
            "a resource has callers that have left"
        );
    }

    fn begin(&mut self, id: u32) {
        let form = self.shared.service.below(FORMS.len() as u64) as usize;
        let call = Call::new(id, FORMS[form].effect, &self.shared);
        let running = (FORMS[form].run)(call.clone());
        self.going.push(Going {
            form,
            call,
            running,
        });
    }

    /// Lets time pass, and polls a random call or drops it.
    fn step(&mut self) -> &'static str {
        let service = &self.shared.service;
        service.pass();
        service.poll_tasks();
        let chosen = service.below(self.going.len() as u64) as usize;
        let form = &FORMS[self.going[chosen].form];
        let left = if service.below(100) == 0 {
            Left::Dropped
        } else {
            let running = &mut self.going[chosen].running;
            let mut context = Context::from_waker(Waker::noop());
            match catch_unwind(AssertUnwindSafe(|| running.as_mut().poll(&mut context))) {
                Ok(Poll::Pending) => return form.name,
                Ok(Poll::Ready(ended)) => Left::Ended(ended),
                Err(panic) => match panic.downcast_ref::<&str>() {
                    Some(&"the operation panics" | &"the hook panics") => Left::Panicked,
                    _ => resume_unwind(panic),
                },
            }
        };
        let Going { call, running, .. } = self.going.swap_remove(chosen);
        drop(running);
        if let Left::Ended(Ended::Succeeded) = left {
            call.account.succeeds();
        }
        call.account.closes();
        self.check(form, &call, &left);
        form.name
    }

    fn check(&self, form: &Form, call: &Call, left: &Left) {
        let service = &self.shared.service;
        let applied = match form.effect {
            Effect::Member => service.has(call.resource(), call.id),
            Effect::Repeated | Effect::Once => service.applied(call.id) as usize,
        };
        let name = form.name;
        if form.effect != Effect::Repeated {
            assert!(applied <= 1, "{name}: applied {applied} times");
        }
        match *left {
            Left::Ended(Ended::Succeeded) => assert!(applied > 0, "{name}: acknowledged and lost"),
            Left::Ended(Ended::Failed(reason, may_be_applied)) if applied > 0 => {
                assert_ne!(
                    may_be_applied,
                    Some(false),
                    "{name}: applied, and {reason:?}"
                );
                if form.effect == Effect::Once && reason.is_some() {
                    assert_eq!(reason, Some(StopReason::MaybeApplied), "{name}: applied");
                }
            }
            _ => {}
        }
    }

    fn compare(&self, form: &str) {
        for bank in [&self.shared.aws, &self.shared.share] {
            if let Some((model, tokens)) = bank.difference() {
                panic!("{form}: the model has {model} tokens, the budget {tokens}");
            }
        }
    }
}

fn main() -> ExitCode {
    let (mut seed, mut time) = (1, Duration::ZERO);
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let number = arguments.next().and_then(|it| it.parse().ok());
        match (name.as_str(), number) {
            ("--seed", Some(number)) => seed = number,
            ("--seconds", Some(number)) => time = Duration::from_secs(number),
            _ => {
                eprintln!("usage: soak [--seed NUMBER] [--seconds NUMBER]");
                return ExitCode::FAILURE;
            }
        }
    }
    let (start, mut rounds) = (Instant::now(), 0);
    while rounds * ROUND < CALLS || start.elapsed() < time {
        let measured = allocation_counter::measure(|| {
            let shared = Shared::new(Service::new(seed + u64::from(rounds)));
            let going = Vec::new();
            Round { shared, going }.run(ROUND);
        });
        assert!(
            rounds < WARM || measured.bytes_current == 0,
            "round {rounds}: {} bytes stay",
            measured.bytes_current
        );
        rounds += 1;
    }
    println!(
        "{} calls in {rounds} rounds from seed {seed}: no byte stays, nothing is lost",
        rounds * ROUND
    );
    ExitCode::SUCCESS
}
