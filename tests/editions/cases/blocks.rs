//! Blocks that borrow and change what is around them.

use super::*;

const POLICY: Policy = Policy::exponential().on(codes![503]);

#[test]
fn async_blocks() {
    async fn around(flaky: &Flaky) -> Result<u32, ApiError> {
        let mut attempts = 0;
        let name = String::from("four");
        let body = vec![1, 2];
        let sent = retry_block!(policy = POLICY, base = "1ms", clone(body), async {
            attempts += 1;
            let body: Box<[u8]> = body.into();
            if attempts == 1 {
                return Err(ApiError(503));
            }
            flaky.call()?;
            Ok::<_, ApiError>(body.len() + name.len())
        })
        .await?;
        assert_eq!((sent, body.len()), (6, 2));
        Ok(attempts)
    }
    assert_eq!(run(sent(around(&Flaky::failing(2)))), Ok(4));
    let flaky = Flaky::failing(2);
    let spawned = async {
        tokio::spawn(retry_block!(base = "1ms", on = [503], async move {
            flaky.call()
        }))
        .await
    };
    assert_eq!(run(spawned).unwrap(), Ok(3));
}

/// A block that is not async runs at once.
#[test]
fn blocking_blocks() {
    fn around(flaky: &Flaky) -> Result<u32, ApiError> {
        let mut attempts = 0;
        let calls = retry_block!(base = "1ms", on = [503], max_attempts = 4, {
            attempts += 1;
            if attempts == 1 {
                return Err(ApiError(503));
            }
            flaky.call()
        })?;
        assert_eq!(calls + 1, attempts);
        Ok(attempts)
    }
    assert_eq!(around(&Flaky::failing(2)), Ok(4));
    let (flaky, mut seen) = (Flaky::failing(9), Vec::new());
    let end = retry_block!(
        base = "1ms",
        max_attempts = 3,
        when = |error: &ApiError| { error.0 == 503 },
        attempt = n,
        {
            seen.push(n.number());
            flaky.call()
        },
    );
    assert_eq!((end, seen), (Err(ApiError(503)), vec![1, 2, 3]));
}

/// Each attempt may change its copy.
#[test]
fn copies() {
    let (flaky, v) = (Flaky::failing(2), vec![7]);
    let sent = retry_block!(base = "1ms", clone(mut v), {
        v.push(1);
        flaky.call()?;
        Ok::<_, ApiError>(v)
    });
    assert_eq!((sent, &v), (Ok(vec![7, 1]), &vec![7]));
    let flaky = Flaky::failing(2);
    let sent = retry_block!(base = "1ms", clone(mut v), async {
        v.push(1);
        flaky.call()?;
        Ok::<_, ApiError>(v)
    });
    assert_eq!(run(sent), Ok(vec![7, 1]));
}

/// An error that is no `Fault` and whose type is known from where the block stands, or from a key.
#[test]
fn types_from_outside() {
    #[derive(Debug, PartialEq)]
    struct Own(u16);
    impl From<ApiError> for Own {
        fn from(error: ApiError) -> Self {
            Own(error.0)
        }
    }
    fn returned(flaky: &Flaky) -> Result<u32, Own> {
        retry_block!(base = "1ms", { Ok(flaky.call()?) })
    }
    fn judged(flaky: &Flaky) -> Result<u32, Own> {
        retry_block!(base = "1ms", when = |error| error.0 == 503, {
            Ok(flaky.call()?)
        })
    }
    fn matched(flaky: &Flaky) -> Result<u32, Own> {
        let called: Result<_, Own> = retry_block!(base = "1ms", on = [Own(503)], {
            let called = flaky.call()?;
            Ok(called)
        });
        called
    }
    async fn awaited(flaky: &Flaky) -> Result<u32, Own> {
        retry_block!(base = "1ms", when = |error: &Own| error.0 == 503, async {
            Ok(flaky.call()?)
        })
        .await
    }
    async fn by_pattern(flaky: &Flaky) -> Result<u32, Own> {
        retry_block!(base = "1ms", on = [Own(503)], async { Ok(flaky.call()?) }).await
    }
    assert_eq!(returned(&Flaky::failing(2)), Ok(3));
    assert_eq!(judged(&Flaky::failing(2)), Ok(3));
    assert_eq!(matched(&Flaky::failing(2)), Ok(3));
    assert_eq!(run(awaited(&Flaky::failing(2))), Ok(3));
    assert_eq!(run(by_pattern(&Flaky::failing(2))), Ok(3));
}
