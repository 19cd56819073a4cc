//! Policies of types and of values. No borrow of `self` and no guard lives as long as the call.

use super::*;
use std::marker::PhantomData;
use std::sync::Mutex;

trait Rules {
    const POLICY: Policy;
}

struct Patient;

impl Rules for Patient {
    const POLICY: Policy = Policy::exponential()
        .base(Duration::from_millis(1))
        .max_attempts(3);
}

#[test]
fn of_a_parameter() {
    #[retry(policy = S::POLICY)]
    async fn of_type<S: Rules>(flaky: &Flaky) -> Result<u32, ApiError> {
        flaky.call()
    }
    assert_eq!(run(of_type::<Patient>(&Flaky::failing(2))), Ok(3));
}

/// The macro cannot see the parameter of the `impl` around.
struct Generic<Rule>(PhantomData<Rule>);

impl<Rule: Rules> Generic<Rule> {
    #[retry(policy = Rule::POLICY)]
    async fn named(&self, flaky: &Flaky) -> Result<u32, ApiError> {
        flaky.call()
    }

    #[retry(policy = <Rule as Rules>::POLICY, max_attempts = 2)]
    async fn qualified(&self, flaky: &Flaky) -> Result<u32, ApiError> {
        flaky.call()
    }

    async fn block(&self, flaky: &Flaky) -> Result<u32, ApiError> {
        retry_block!(policy = Rule::POLICY, async { flaky.call() }).await
    }
}

#[test]
fn of_the_impl_around() {
    let generic = Generic::<Patient>(PhantomData);
    assert_eq!(run(generic.named(&Flaky::failing(2))), Ok(3));
    assert_eq!(run(generic.block(&Flaky::failing(2))), Ok(3));
    let qualified = asked(|flaky| run(generic.qualified(flaky)));
    assert_eq!(qualified, (2, Err(ApiError(503))));
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

    #[retry(policy = self.policy, max_attempts = self.attempts)]
    async fn of_value(&mut self) -> Result<u32, ApiError> {
        self.next()
    }

    #[retry(policy = self.policy, max_attempts = self.attempts, when = |_| true)]
    fn blocking(&mut self) -> Result<u32, ApiError> {
        self.next()
    }

    async fn block(&mut self) -> Result<u32, ApiError> {
        retry_block!(policy = self.policy, max_attempts = 3, async {
            self.next()
        })
        .await
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
        (call(&mut client), client.changed)
    };
    assert_eq!(with(|client| run(client.of_type())).1, 2);
    assert_eq!(with(|client| run(client.of_value())), (Ok(3), 3));
    assert_eq!(with(|client| client.blocking()), (Ok(3), 3));
    assert_eq!(with(|client| run(client.block())), (Ok(3), 3));
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

const POLICY: Policy = Policy::exponential();

async fn get() -> Result<u32, TimedOut> {
    Ok(1)
}

/// The ways to store, spawn or return a future of a policy that is no constant.
#[tokio::test(start_paused = true)]
async fn owned() {
    type Answer = Result<u32, TimedOut>;
    fn owned(policy: Policy) -> impl Future<Output = Answer> + Send + 'static {
        policy.retry(get).owned()
    }
    fn moved(policy: Policy) -> impl Future<Output = Answer> + Send + 'static {
        async move { policy.retry(get).await }
    }
    fn constant() -> impl Future<Output = Answer> + Send + 'static {
        const { POLICY.max_attempts(3) }.retry(get)
    }
    let policy = POLICY.max_attempts(3);
    let borrowed = policy.retry(get);
    let joined = tokio::join!(
        borrowed,
        POLICY.max_attempts(3).retry(get).owned(),
        // Macros written before edition 2024 take no bare `const` block for an expression.
        (const { POLICY.max_attempts(3) }).retry(get),
    );
    assert_eq!(joined, (Ok(1), Ok(1), Ok(1)));
    assert_eq!(tokio::spawn(owned(policy)).await.unwrap(), Ok(1));
    assert_eq!(tokio::spawn(moved(policy)).await.unwrap(), Ok(1));
    assert_eq!(tokio::spawn(constant()).await.unwrap(), Ok(1));
}
