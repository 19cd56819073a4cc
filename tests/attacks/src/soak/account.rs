//! A model of a budget, written from its documentation: what the budget must hold after each step.

use crate::service::Failure;
use backoff_core::{Budget, Event, FaultKind};
use std::sync::{Arc, Mutex};

/// The rules of the two budgets, in thousandths of a token.
struct Model {
    tokens: u64,
    capacity: u64,
    transient: u64,
    throttled: u64,
    /// What a success brings back if no retry came before it; otherwise the cost of the last retry.
    success: u64,
    returns_the_last_cost: bool,
}

/// A budget and its model.
pub(crate) struct Bank {
    pub(crate) budget: &'static Budget,
    model: Mutex<Model>,
}

impl Bank {
    pub(crate) fn aws(budget: &'static Budget) -> Arc<Self> {
        Self::of(budget, [500_000, 14_000, 5_000, 1_000], true)
    }

    pub(crate) fn share(budget: &'static Budget, capacity: u64) -> Arc<Self> {
        Self::of(budget, [capacity, 1_000, 1_000, 200], false)
    }

    fn of(
        budget: &'static Budget,
        [capacity, transient, throttled, success]: [u64; 4],
        returns_the_last_cost: bool,
    ) -> Arc<Self> {
        budget.refill();
        let model = Model {
            tokens: capacity,
            capacity,
            transient,
            throttled,
            success,
            returns_the_last_cost,
        };
        Arc::new(Bank {
            budget,
            model: Mutex::new(model),
        })
    }

    /// What the model holds and what the budget holds, where they differ.
    pub(crate) fn difference(&self) -> Option<(f64, f64)> {
        let model = self.model.lock().expect("nothing panics here").tokens as f64 / 1_000.0;
        let tokens = self.budget.tokens();
        (model != tokens).then_some((model, tokens))
    }
}

/// The tokens that one call has taken.
#[derive(Default)]
struct Taken {
    /// Whether an attempt was made since the last success. A change that is combined with others makes none here,
    /// because it uses no budget.
    is_open: bool,
    /// For the retry that the call waits for.
    next: u64,
    /// For the last retry that was made.
    last: Option<u64>,
}

/// The account of one call.
#[derive(Clone)]
pub(crate) struct Account {
    bank: Arc<Bank>,
    taken: Arc<Mutex<Taken>>,
}

impl Account {
    pub(crate) fn new(bank: &Arc<Bank>) -> Self {
        Account {
            bank: Arc::clone(bank),
            taken: Arc::default(),
        }
    }

    /// The hook of the call.
    pub(crate) fn heard(&self, event: &Event<'_, Failure>) {
        // A hook that panics at this event ends a call that has succeeded.
        if let Event::Succeeded { .. } = event {
            self.succeeds();
        }
        if let Event::Waiting { .. } = event {
            let fault = event.fault().expect("a failure has facts");
            let mut model = self.bank.model.lock().expect("nothing panics here");
            let cost = match (fault.kind(), fault.status()) {
                (Some(FaultKind::Conflict), _) => 0,
                (_, Some(429)) => model.throttled,
                _ => model.transient,
            };
            assert!(cost <= model.tokens, "a retry was made on credit");
            model.tokens -= cost;
            self.taken.lock().expect("nothing panics here").next = cost;
        }
    }

    /// An attempt begins: the retry is made, and its tokens are used.
    pub(crate) fn begins(&self) {
        let mut taken = self.taken.lock().expect("nothing panics here");
        taken.is_open = true;
        if taken.next > 0 {
            taken.last = Some(std::mem::take(&mut taken.next));
        }
    }

    /// The call succeeded.
    pub(crate) fn succeeds(&self) {
        let mut model = self.bank.model.lock().expect("nothing panics here");
        let mut taken = self.taken.lock().expect("nothing panics here");
        if !std::mem::take(&mut taken.is_open) {
            return;
        }
        let last = taken.last.take();
        let back = match last {
            Some(cost) if model.returns_the_last_cost => cost,
            _ => model.success,
        };
        model.tokens = (model.tokens + back).min(model.capacity);
    }

    /// The call is over: the tokens of a retry that was not made come back.
    pub(crate) fn closes(&self) {
        let mut model = self.bank.model.lock().expect("nothing panics here");
        let taken = std::mem::take(&mut self.taken.lock().expect("nothing panics here").next);
        model.tokens = (model.tokens + taken).min(model.capacity);
    }
}
