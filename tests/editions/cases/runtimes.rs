//! Attributes above that run the function in a runtime of its own.

use super::*;

#[tokio::test(flavor = "current_thread", start_paused = true)]
#[retry(base = "100s", max_backoff = "1000s", jitter = none, attempt = n, timeout = "1h")]
async fn a_paused_test() -> Result<(), Box<dyn std::error::Error>> {
    static FLAKY: Flaky = Flaky::failing(2);
    FLAKY.call()?;
    // Both waits are over.
    assert_eq!((n.number(), n.elapsed().as_secs()), (3, 300));
    Ok(())
}

#[retry(base = "1ms")]
#[tokio::test]
async fn a_test_below() -> Result<(), ApiError> {
    static FLAKY: Flaky = Flaky::failing(2);
    FLAKY.call().map(drop)
}

#[tokio::test]
#[tracing::instrument]
#[retry(base = "1ms")]
async fn a_test_in_a_span() -> Result<(), ApiError> {
    static FLAKY: Flaky = Flaky::failing(2);
    FLAKY.call().map(|call| assert_eq!(call, 3))
}

#[tokio::test(flavor = "current_thread")]
#[retry(base = "1ms")]
#[tracing::instrument(err)]
async fn a_test_around_a_span() -> Result<(), ApiError> {
    static FLAKY: Flaky = Flaky::failing(2);
    FLAKY.call().map(|call| assert_eq!(call, 3))
}

macro_rules! in_main {
    ($($name:ident($text:ident) $(#[$attr:meta])*;)*) => {$(
        #[tokio::main(flavor = "current_thread")]
        $(#[$attr])*
        async fn $name(flaky: &Flaky, $text: String) -> Result<usize, ApiError> {
            let _local = D("local");
            flaky.call()?;
            drop($text);
            D("tail").name().map(str::len)
        }
    )*};
}

in_main! {
    plain(text);
    retried(text) #[retry(base = "1ms", clone(text), on = [503])];
}

#[test]
fn a_main_and_a_runtime_of_the_body() {
    let text = || "text".to_owned();
    same(|flaky| plain(flaky, text()), |flaky| retried(flaky, text()));
    #[retry(base = "1ms")]
    fn own(flaky: &Flaky) -> Result<u32, ApiError> {
        let body = async { flaky.call() };
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.unwrap().block_on(body)
    }
    assert_eq!(own(&Flaky::failing(2)), Ok(3));
}
