//! Functions as async-graphql 7 has rewritten them before, for a return type that is not named `Result`: its output is
//! pasted here.

use super::*;
use std::convert::Infallible;

type Answer = Result<u32, ApiError>;

struct Query<'a>(&'a Flaky);

impl Query<'_> {
    // In `#[Object]`: `async fn field(&self, add: String) -> Answer { .. }`
    #[retry(base = "1ms", clone(add))]
    async fn field(&self, add: String) -> Result<Answer, Infallible> {
        {
            ::std::result::Result::Ok(
                async move {
                    let value: Answer = {
                        if add.is_empty() {
                            return Ok(0);
                        }
                        let calls = self.0.call()?;
                        Ok(calls + add.into_bytes().len() as u32)
                    };
                    value
                }
                .await,
            )
        }
    }

    // With `#[graphql(entity)]`.
    #[retry(base = "1ms", max_attempts = 2)]
    async fn entity(&self) -> Result<Answer, Infallible> {
        {
            let value: Answer = async move {
                let calls = self.0.call()?;
                Ok(calls)
            }
            .await;
            ::std::result::Result::Ok(value)
        }
    }

    // The user's own: the block is a part of the body.
    #[retry(base = "1ms")]
    async fn own(&self) -> Answer {
        let value: Answer = async move { Ok(1) }.await;
        let calls = self.0.call()?;
        ::std::result::Result::Ok(value? + calls)
    }
}

#[test]
fn resolvers() {
    let field = asked(|flaky| run(sent(Query(flaky).field("ab".to_owned()))));
    assert_eq!(field, (3, Ok(Ok(5))));
    let entity = asked(|flaky| run(sent(Query(flaky).entity())));
    assert_eq!(entity, (2, Ok(Err(ApiError(503)))));
    assert_eq!(asked(|flaky| run(Query(flaky).own())), (3, Ok(4)));
}
