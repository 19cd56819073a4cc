//! A block that borrows and changes what is around it.

use backoff_core::{Policy, retry_block};
use ui::{ApiError, Flaky};

const POLICY: Policy = Policy::exponential().on(backoff_core::codes![503]);

fn is_send<T: Send>(value: T) -> T {
    value
}

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

#[tokio::test]
async fn works() {
    assert_eq!(is_send(around(&Flaky::failing(2))).await, Ok(4));
    let flaky = Flaky::failing(2);
    let owned = tokio::spawn(retry_block!(base = "1ms", on = [503], async move {
        flaky.call()
    }));
    assert_eq!(owned.await.unwrap(), Ok(3));
}
