//! `clone(mut name)`: each attempt may change its copy.

use backoff_core::{retry, retry_block};
use ui::{ApiError, Flaky};

#[retry(base = "1ms", clone(mut body))]
async fn sent(flaky: &Flaky, body: Vec<u8>) -> Result<Vec<u8>, ApiError> {
    body.push(1);
    flaky.call()?;
    Ok(body)
}

/// Both may say so.
#[retry(base = "1ms", clone(mut body, name))]
fn blocking(flaky: &Flaky, mut body: Vec<u8>, name: String) -> Result<usize, ApiError> {
    body.push(1);
    flaky.call()?;
    Ok(body.len() + name.into_bytes().len())
}

#[tokio::test]
async fn works() {
    assert_eq!(sent(&Flaky::failing(2), vec![]).await, Ok(vec![1]));
    assert_eq!(
        blocking(&Flaky::failing(2), vec![], "four".to_owned()),
        Ok(5)
    );

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
    assert_eq!(sent.await, Ok(vec![7, 1]));
}
