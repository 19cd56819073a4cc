//! Methods of traits.

use super::*;

/// A blanket implementation of methods whose names the written code might call.
#[allow(dead_code)]
mod blanket {
    macro_rules! every_type_has {
        ($($method:ident)*) => {
            pub(super) trait Everything: Sized {
                $(fn $method(self) {})*
                fn or_else<F>(self, _: F) {}
                fn and_then<F>(self, _: F) {}
            }
        };
    }
    every_type_has! {
        policy retry sleep step error status run start on base into_future poll as_ref
    }
    impl<T> Everything for T {}
}

#[test]
fn blanket_methods() {
    #[allow(unused_imports)]
    use blanket::Everything;
    #[retry(policy = *policy)]
    async fn by_reference(flaky: &Flaky, policy: &Policy) -> Result<u32, ApiError> {
        Flaky::call(flaky)
    }
    #[retry(policy = policy, max_attempts = 3, idempotent, attempt = n, notify = |event| drop(format!("{event}")))]
    fn at_call(flaky: &Flaky, policy: Policy) -> Result<u32, ApiError> {
        let _ = n;
        Flaky::call(flaky)
    }
    #[retry(base = "1ms", on = [503], faults(ApiError))]
    fn hidden(flaky: &Flaky) -> Result<u32, Box<dyn std::error::Error + Send + Sync>> {
        Ok(Flaky::call(flaky)?)
    }
    #[retry(base = "1ms", when = |_| true)]
    fn when(flaky: &Flaky) -> Result<u32, ApiError> {
        Flaky::call(flaky)
    }
    let policy = Policy::on(Policy::exponential(), codes![503]);
    let policy = Policy::base(policy, Duration::from_millis(1));
    assert_eq!(run(by_reference(&Flaky::failing(2), &policy)), Ok(3));
    assert_eq!(at_call(&Flaky::failing(2), policy), Ok(3));
    assert_eq!(hidden(&Flaky::failing(2)).ok(), Some(3));
    assert_eq!(when(&Flaky::failing(2)), Ok(3));
}

trait Service: Send + Sync {
    const LIMIT: u32;
    fn flaky(&self) -> &Flaky;

    #[retry(base = "1ms", max_attempts = Self::LIMIT)]
    fn provided(&self) -> Result<u32, ApiError>
    where
        Self: Sized,
    {
        let call = self.flaky().call()?;
        Ok(call)
    }

    fn future<'a>(&'a self, more: &'a u32) -> impl Future<Output = Result<u32, ApiError>> + Send;
}

impl Service for &Flaky {
    const LIMIT: u32 = 3;
    fn flaky(&self) -> &Flaky {
        self
    }
    #[retry(base = "1ms")]
    fn future<'a>(&'a self, more: &'a u32) -> impl Future<Output = Result<u32, ApiError>> + Send {
        async move {
            let call = self.call()?;
            Ok(call + more)
        }
    }
}

#[test]
fn provided_and_required_methods() {
    assert_eq!((&Flaky::failing(2)).provided(), Ok(3));
    assert!((&Flaky::failing(3)).provided().is_err());
    assert_eq!(run(sent((&Flaky::failing(2)).future(&1))), Ok(4));
}
