//! A parameter of the `impl` around is not known to a constant.

use backoff_core::{Policy, retry};
use std::marker::PhantomData;
use ui::ApiError;

trait Rules {
    const POLICY: Policy;
}

struct Client<Rule>(PhantomData<Rule>);

impl<Rule: Rules> Client<Rule> {
    #[retry(policy = Rule::POLICY)]
    async fn f(&self) -> Result<(), ApiError> {
        Ok(())
    }
}

struct Own;

impl Rules for Own {
    const POLICY: Policy = Policy::exponential();
}

fn main() {
    drop(Client::<Own>(PhantomData).f());
}
