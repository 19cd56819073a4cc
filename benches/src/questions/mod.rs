//! The questions that a number of instructions answers. Each question has one file.

mod blocking;
mod decision;
mod headers;
mod next_delay;
mod others;
mod retry;
mod rules;
mod success;

/// One measurement: something is done `n` times. The printed figure is the difference between two numbers of
/// repetitions, divided by the difference of these numbers.
#[derive(Clone, Copy)]
pub struct Case {
    pub question: &'static str,
    pub who: &'static str,
    pub column: &'static str,
    pub run: fn(u64),
    /// A call without the measured part, whose cost is subtracted.
    pub less: Option<fn(u64)>,
    /// How many times a call does the measured part. The rest is divided by this number.
    pub per: u32,
}

/// Collects the cases of a question, one after the other.
struct Cases {
    question: &'static str,
    all: Vec<Case>,
}

impl Cases {
    fn of(question: &'static str) -> Self {
        Cases {
            question,
            all: Vec::new(),
        }
    }

    /// The instructions of a call.
    fn call(&mut self, who: &'static str, column: &'static str, run: fn(u64)) {
        self.all.push(Case {
            question: self.question,
            who,
            column,
            run,
            less: None,
            per: 1,
        });
    }

    /// What each of these additional failures adds to a call.
    fn each(
        &mut self,
        who: &'static str,
        column: &'static str,
        per: u32,
        run: fn(u64),
        less: fn(u64),
    ) {
        self.call(who, column, run);
        let last = self.all.last_mut().expect("it was put down just now");
        (last.less, last.per) = (Some(less), per);
    }
}

/// All cases, in the order in which they are printed.
pub fn all() -> Vec<Case> {
    [
        success::cases(),
        retry::cases(),
        next_delay::cases(),
        decision::cases(),
        headers::cases(),
        blocking::cases(),
        others::cases(),
        rules::cases(),
    ]
    .into_iter()
    .flat_map(|cases| cases.all)
    .collect()
}
