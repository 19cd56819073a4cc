//! Policies of types and of values. No borrow of `self` and no guard lives as long as the call.

use super::*;
use std::marker::PhantomData;
use std::sync::Mutex;

trait Rules {
    const POLICY: Policy;
}

struct Patient;

impl Rules for Patient {
    const POLICY: Policy = keys::QUICK.max_attempts(3);
}

/// The macro cannot see the parameter of the `impl` around.
struct Generic<Rule>(PhantomData<Rule>);

impl<Rule: Rules> Generic<Rule> {
    #[retry(policy = <Rule as Rules>::POLICY)]
    async fn named(&self, flaky: &Flaky) -> Result<u32, ApiError> {
        flaky.call()
    }

    async fn block(&self, flaky: &Flaky) -> Result<u32, ApiError> {
        retry_block!(policy = Rule::POLICY, async { flaky.call() }).await
    }
}

#[test]
fn of_a_parameter() {
    #[retry(policy = S::POLICY)]
    async fn own<S: Rules>(flaky: &Flaky) -> Result<u32, ApiError> {
        flaky.call()
    }
    let generic = Generic::<Patient>(PhantomData);
    assert_eq!(run(own::<Patient>(&Flaky::failing(2))), Ok(3));
    assert_eq!(run(generic.named(&Flaky::failing(2))), Ok(3));
    assert_eq!(run(generic.block(&Flaky::failing(2))), Ok(3));
}

struct Client {
    policy: Policy,
    attempts: u32,
    flaky: Flaky,
    changed: u32,
}

impl Client {
    const POLICY: Policy = Patient::POLICY.max_attempts(2);

    fn next(&mut self) -> Result<u32, ApiError> {
        self.changed += 1;
        self.flaky.call()
    }

    #[retry(policy = Self::POLICY)]
    async fn of_type(&mut self) -> Result<u32, ApiError> {
        self.next()
    }

    #[retry(policy = self.policy, max_attempts = self.attempts, when = |_| true)]
    async fn of_value(&mut self) -> Result<u32, ApiError> {
        self.next()
    }

    async fn block(&mut self) -> Result<u32, ApiError> {
        let block = retry_block!(policy = self.policy, max_attempts = 3, async {
            self.next()
        });
        block.await
    }
}

#[test]
fn of_self() {
    let with = |call: fn(&mut Client) -> Result<u32, ApiError>| {
        let mut client = Client {
            policy: Client::POLICY,
            attempts: 3,
            flaky: Flaky::failing(2),
            changed: 0,
        };
        (call(&mut client).ok(), client.changed)
    };
    assert_eq!(with(|client| run(client.of_type())), (None, 2));
    assert_eq!(with(|client| run(client.of_value())), (Some(3), 3));
    assert_eq!(with(|client| run(client.block())), (Some(3), 3));
}

#[test]
fn behind_a_guard() {
    #[retry(policy = *shared.lock().unwrap(), when = |_| true)]
    async fn guarded(shared: &Mutex<Policy>) -> Result<(), bool> {
        Err(shared.try_lock().is_ok())
    }
    let shared = Mutex::new(Patient::POLICY);
    assert_eq!(run(sent(guarded(&shared))), Err(true));
}
