//! Functions as macros of other crates have rewritten them before: their output is pasted here.

use super::*;

type Answer = Result<u32, ApiError>;

/// A resolver of async-graphql 7 whose return type is not named `Result`.
#[test]
fn resolvers() {
    struct Query<'a>(&'a Flaky);
    impl Query<'_> {
        // In `#[Object]`: `async fn field(&self, add: String) -> Answer { .. }`
        #[retry(base = "1ms", clone(add))]
        async fn field(&self, add: String) -> Result<Answer, std::convert::Infallible> {
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
        async fn entity(&self) -> Result<Answer, std::convert::Infallible> {
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
    let flaky = Flaky::failing(2);
    let got = run(sent(Query(&flaky).field("ab".to_owned())));
    assert_eq!((got, flaky.calls()), (Ok(Ok(5)), 3));
    let flaky = Flaky::failing(2);
    let got = run(sent(Query(&flaky).entity()));
    assert_eq!((got, flaky.calls()), (Ok(Err(ApiError(503))), 2));
    let flaky = Flaky::failing(2);
    assert_eq!(run(Query(&flaky).own()), Ok(4));
}
