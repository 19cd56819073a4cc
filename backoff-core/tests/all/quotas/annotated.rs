//! Annotated functions and blocks with the keys `rate` and `tokens`.

use super::{Refused, SECOND, headers};
use crate::common::{forms::PLAIN, time::Time};
use backoff_core::{__private::observe_reply, Rate, retry, retry_block};
use http_1::HeaderMap;
use std::{
    cell::RefCell,
    future::{Future, pending, poll_fn},
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    pin::pin,
    slice::Iter,
};

/// What an attempt does after a second. A reply states that so many of 1,000 tokens remain, and when all are back.
#[derive(Clone, Copy)]
enum Does {
    Succeeds(u32, u64),
    Is429(u32, u64),
    Panics,
    Hangs,
}
use Does::{Hangs, Is429, Panics, Succeeds};

type Outcome = Result<(), Refused>;

struct Trial {
    time: Time,
    script: RefCell<Iter<'static, Does>>,
    hears: fn(&HeaderMap),
    tokens: u32,
}

fn stated(left: u32, full_in: u64) -> HeaderMap {
    headers(&[
        ("x-ratelimit-limit-tokens", "1000".into()),
        ("x-ratelimit-remaining-tokens", left.to_string()),
        ("x-ratelimit-reset-tokens", format!("{full_in}s")),
    ])
}

impl Trial {
    fn step(&self) -> Option<Outcome> {
        let does = *self.script.borrow_mut().next().unwrap();
        Some(match does {
            Succeeds(left, full_in) => {
                (self.hears)(&stated(left, full_in));
                Ok(())
            }
            Is429(left, full_in) => {
                (self.hears)(&stated(left, full_in));
                Err(Refused(None))
            }
            // Without a message on the terminal.
            Panics => resume_unwind(Box::new("the attempt")),
            Hangs => return None,
        })
    }

    async fn attempt(&self) -> Outcome {
        self.time.after(SECOND).await;
        match self.step() {
            Some(outcome) => outcome,
            None => pending().await,
        }
    }

    fn attempt_blocking(&self) -> Outcome {
        self.time.pass(SECOND);
        self.step()
            .unwrap_or_else(|| resume_unwind(Box::new("nobody drops a blocking call")))
    }

    /// Whoever hangs is dropped after a second. Replies outside of the call are none of its rate's.
    fn wait(&self, call: impl Future<Output = Outcome>) {
        let hangs = matches!(self.script.borrow().as_slice(), [Hangs]);
        let end = self.time.elapsed() + if hangs { SECOND } else { 300 * SECOND };
        let mut call = pin!(call);
        let call = poll_fn(|cx| {
            let polled = call.as_mut().poll(cx);
            observe_reply(&stated(0, 100));
            polled
        });
        assert_eq!(self.time.run_until(end, call), (!hangs).then_some(Ok(())));
    }
}

/// A form: how its replies find the rate, and a call.
type Form = (fn(&HeaderMap), fn(&Trial));

/// Adds forms with these keys. `RATE` is a rate of the form's own.
macro_rules! forms {
    ($trial:ident: $($kind:ident [$($keys:tt)*] $($hears:expr)?;)*) => {
        vec![$(forms!(each: $trial $kind [$($keys)*] $($hears)?)),*].concat()
    };
    (each: $trial:ident $kind:ident $keys:tt) => {
        forms!(each: $trial $kind $keys observe_reply)
    };
    (each: $trial:ident $kind:ident $keys:tt $hears:expr) => {
        vec![
            forms!(one: $trial ($kind function) $keys $hears),
            forms!(one: $trial ($kind block) $keys $hears),
        ]
    };
    (one: $trial:ident $form:tt $keys:tt $hears:expr) => {{
        static RATE: Rate = Rate::new();
        fn call($trial: &Trial) {
            forms!(run: $trial $form $keys)
        }
        ($hears as fn(&HeaderMap), call as fn(&Trial))
    }};
    (run: $trial:ident (awaited function) [$($keys:tt)*]) => {{
        #[retry($($keys)*, runtime = $trial.time.clone())]
        async fn call($trial: &Trial) -> Outcome {
            $trial.attempt().await
        }
        $trial.wait(call($trial));
    }};
    (run: $trial:ident (awaited block) [$($keys:tt)*]) => {
        $trial.wait(async { retry_block!($($keys)*, runtime = $trial.time.clone(), async { $trial.attempt().await }).await })
    };
    (run: $trial:ident (blocking function) [$($keys:tt)*]) => {{
        #[retry($($keys)*, runtime = $trial.time.clone())]
        fn call($trial: &Trial) -> Outcome {
            $trial.attempt_blocking()
        }
        call($trial).unwrap();
    }};
    (run: $trial:ident (blocking block) [$($keys:tt)*]) => {{
        let outcome: Outcome = retry_block!($($keys)*, runtime = $trial.time.clone(), { $trial.attempt_blocking() });
        outcome.unwrap();
    }};
}

/// A reply in the body finds the rate of the key, a first attempt and a retry wait for their tokens, and a call that is
/// dropped or panics gives the tokens back and hears nothing any more.
#[test]
fn the_keys_rate_and_tokens() {
    let forms: Vec<Form> = forms! { trial:
        awaited [policy = PLAIN, rate = RATE, tokens = 500];
        awaited [policy = PLAIN, rate = RATE, tokens = trial.tokens];
        awaited [on = [429], rate = RATE, tokens = trial.tokens, attempt_spans = false, attempt_timeout = "5s"];
        awaited [policy = PLAIN, rate = RATE, tokens = 500, stop_on = pending::<()>()];
        awaited [policy = PLAIN, rate = RATE, tokens = trial.tokens, cut_on = pending::<()>(), max_queue_time = "90s"];
        awaited [policy = PLAIN.rate(&RATE), tokens = trial.tokens] |headers| RATE.observe(headers);
        blocking [policy = PLAIN, rate = RATE, tokens = 500];
        blocking [on = [429], rate = RATE, tokens = trial.tokens];
        blocking [policy = PLAIN.rate(&RATE), tokens = trial.tokens] |headers| RATE.observe(headers);
    };
    for (number, (hears, call)) in forms.into_iter().enumerate() {
        let time = Time::default();
        let calls: [(&'static [Does], u32); 5] = [
            (&[Succeeds(0, 100)], 1),
            // The first reply says that nothing is left: a call tries that after 2 s, and is refused.
            (&[Is429(0, 100), Succeeds(600, 40)], 2 + 1 + 50 + 1),
            (&[Panics], 1),
            (&[Hangs], 1),
            (&[Succeeds(600, 40)], 1),
        ];
        for (script, takes) in calls {
            let before = time.elapsed();
            let trial = Trial {
                time: time.clone(),
                script: RefCell::new(script.iter()),
                hears,
                tokens: 500,
            };
            let _panic = catch_unwind(AssertUnwindSafe(|| call(&trial)));
            let took = time.elapsed() - before;
            // The real time between a reply and the next look at the clock counts as well.
            let is_near = took.abs_diff(SECOND * takes) < 10 * SECOND;
            assert!(is_near, "form {number} took {took:?} and not {takes} s");
            observe_reply(&stated(0, 100));
        }
    }
}
