//! What a `macro_rules!` has matched stands in a group without delimiters.

use super::*;

type Boxed<T> = Pin<Box<dyn Future<Output = Result<T, ApiError>> + Send>>;

static CALLS: [Flaky; 4] = [const { Flaky::failing(2) }; 4];

macro_rules! returns {
    ($($name:ident, $t:ty, $body:expr;)*) => {$(
        #[retry(base = "1ms")]
        fn $name() -> $t {
            $body
        }
    )*};
}

returns! {
    boxed, Pin<Box<dyn Future<Output = Result<u32, ApiError>> + Send>>, Box::pin(async move { CALLS[0].call() });
    alias, Boxed<u32>, Box::pin(async move { CALLS[1].call() });
    blocking, Result<u32, ApiError>, CALLS[2].call();
    implied, impl Future<Output = Result<u32, ApiError>>, async move { CALLS[3].call() };
}

#[test]
fn a_return_type() {
    assert_eq!(run(boxed()), Ok(3));
    assert_eq!(run(alias()), Ok(3));
    assert_eq!(blocking(), Ok(3));
    assert_eq!(run(implied()), Ok(3));
}

macro_rules! everything {
    (
        $(#[$attr:meta])* $vis:vis $name:ident<$life:lifetime>($pattern:pat => $of:ty, $arg:ident: $ty:ty) -> $ret:ty,
        $attempts:expr, $base:literal, $when:expr, $errors:pat, $policy:path, $body:block
    ) => {
        $(#[$attr])*
        #[retry(policy = $policy, max_attempts = $attempts, base = $base, when = $when)]
        $vis async fn $name<$life>($pattern: $of, $arg: $ty) -> $ret $body

        #[retry(max_attempts = 1 + $attempts, base = $base, on = [$errors], clone($arg))]
        fn by_pattern(flaky: &Flaky, mut $arg: $ty) -> Result<usize, ApiError> {
            $arg.push('s');
            flaky.call()?;
            let $arg = $arg;
            Ok($arg.len())
        }
    };
}

everything!(
    /// Made of fragments.
    #[must_use]
    pub(super) fragments<'a>((flaky, _) => (&'a Flaky, u8), text: String) -> Result<(&'a Flaky, usize), ApiError>,
    2 + 1,
    "1ms",
    |error: &ApiError| error.0 == 503,
    ApiError(503),
    keys::QUICK,
    {
        let length = text.len();
        flaky.call()?;
        Ok((flaky, length))
    }
);

macro_rules! method {
    ($item:item, $self_:ident, $attempts:expr, async $body:block, $blocking:block) => {
        impl Bytes {
            #[retry(base = "1ms", max_attempts = $self_.0 + 1)]
            fn method(&$self_, flaky: &Flaky) -> Result<u32, ApiError> {
                flaky.call()
            }
        }

        #[retry(base = "1ms")]
        $item

        fn awaited() -> impl Future<Output = Result<u32, ApiError>> {
            retry_block!(max_attempts = $attempts, base = "1ms", async $body)
        }

        fn blocked() -> Result<u32, ApiError> {
            retry_block!(max_attempts = $attempts, base = "1ms", $blocking)
        }
    };
}

struct Bytes(u32);

static IN_BLOCKS: [Flaky; 2] = [const { Flaky::failing(2) }; 2];

method!(
    fn item(flaky: &Flaky) -> Result<u32, ApiError> {
        flaky.call()
    },
    self,
    1 + 2,
    async { IN_BLOCKS[0].call() },
    { IN_BLOCKS[1].call() }
);

/// A precedence that is lost would be another number of attempts.
#[test]
fn every_fragment() {
    let text = || "text".to_owned();
    let flaky = Flaky::failing(2);
    let (back, length) = run(fragments((&flaky, 1), text())).unwrap();
    assert_eq!((back.calls(), length), (3, 4));
    assert_eq!(by_pattern(&Flaky::failing(2), text()), Ok(5));
    let calls = |fails: fn(&Flaky, String) -> bool| {
        let flaky = Flaky::failing(u32::MAX);
        assert!(fails(&flaky, text()));
        flaky.calls()
    };
    assert_eq!(
        calls(|flaky, text| run(fragments((flaky, 1), text)).is_err()),
        3
    );
    assert_eq!(calls(|flaky, text| by_pattern(flaky, text).is_err()), 4);
    assert_eq!(calls(|flaky, _| Bytes(3).method(flaky).is_err()), 4);
    assert_eq!(item(&Flaky::failing(2)), Ok(3));
    assert_eq!((run(awaited()), blocked()), (Ok(3), Ok(3)));
}
