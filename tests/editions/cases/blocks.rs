//! Blocks that borrow and change what is around them.

use super::*;

#[test]
fn async_blocks() {
    async fn around(flaky: &Flaky) -> Result<u32, ApiError> {
        let (mut attempts, name, body) = (0, "four".to_owned(), vec![1, 2]);
        let sent = retry_block!(base = "1ms", on = [503], clone(mut body), async {
            attempts += 1;
            body.push(3);
            let body: Box<[u8]> = body.into();
            if attempts == 1 {
                return Err(ApiError(503));
            }
            flaky.call()?;
            Ok::<_, ApiError>(body.len() + name.len())
        });
        assert_eq!((sent.await?, body.len()), (7, 2));
        Ok(attempts)
    }
    assert_eq!(run(sent(around(&Flaky::failing(2)))), Ok(4));
    let flaky = Flaky::failing(2);
    let spawned = async {
        let block = retry_block!(base = "1ms", on = [503], async move { flaky.call() });
        tokio::spawn(block).await
    };
    assert_eq!(run(spawned).unwrap(), Ok(3));
}

/// A block that is not async runs at once.
#[test]
fn blocking_blocks() {
    let (flaky, mut seen) = (Flaky::failing(9), Vec::new());
    let end = retry_block!(
        base = "1ms",
        max_attempts = 3,
        when = |error: &ApiError| { error.0 == 503 },
        attempt = n,
        {
            seen.push(n.number());
            if seen.len() == 1 {
                return Err(ApiError(503));
            }
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
        flaky.call().map(|_| v)
    });
    assert_eq!((sent, v), (Ok(vec![7, 1]), vec![7]));
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
    async fn by_pattern(flaky: &Flaky) -> Result<u32, Own> {
        retry_block!(base = "1ms", on = [Own(503)], async { Ok(flaky.call()?) }).await
    }
    assert_eq!(returned(&Flaky::failing(2)), Ok(3));
    assert_eq!(judged(&Flaky::failing(2)), Ok(3));
    assert_eq!(run(by_pattern(&Flaky::failing(2))), Ok(3));
}

#[test]
fn blocks_inside_of_blocks() {
    #[retry(base = "1ms", max_attempts = 2)]
    async fn f(flaky: &Flaky) -> Result<u32, ApiError> {
        let mut seen = 0;
        let first = retry_block!(base = "1ms", max_attempts = 2, async {
            seen += 1;
            flaky.call()
        });
        let call = first.await?;
        let nested = retry_block!(max_attempts = 2, { Ok::<_, ApiError>(call + seen) });
        nested
    }
    let flaky = Flaky::failing(3);
    assert_eq!((run(f(&flaky)), flaky.calls()), (Ok(6), 4));
}
