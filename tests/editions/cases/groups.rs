//! What a `macro_rules!` has matched stands in a group without delimiters.

use super::*;

type Boxed<'a, T> = Pin<Box<dyn Future<Output = Result<T, ApiError>> + Send + 'a>>;

macro_rules! returns {
    ($($name:ident, $t:ty, $body:expr;)*) => {$(
        #[retry(base = "1ms")]
        fn $name(_flaky: &'static Flaky) -> $t {
            $body
        }
    )*};
}

static CALLS: [Flaky; 4] = [const { Flaky::failing(2) }; 4];
static UNCALLED: Flaky = Flaky::failing(0);

returns! {
    boxed, Pin<Box<dyn Future<Output = Result<u32, ApiError>> + Send>>, Box::pin(async move { CALLS[0].call() });
    alias, Boxed<'static, u32>, Box::pin(async move { CALLS[1].call() });
    blocking, Result<u32, ApiError>, CALLS[2].call();
}

#[test]
fn a_return_type() {
    assert_eq!(run(boxed(&UNCALLED)), Ok(3));
    assert_eq!(run(alias(&UNCALLED)), Ok(3));
    assert_eq!(blocking(&UNCALLED), Ok(3));
    assert_eq!(UNCALLED.calls(), 0);
}

macro_rules! future_of {
    ($name:ident, $output:ty) => {
        #[retry(base = "1ms")]
        fn $name(flaky: &Flaky) -> impl Future<Output = $output> + '_ {
            async move { flaky.call() }
        }
    };
}

future_of!(implied, Result<u32, ApiError>);

macro_rules! future_by_bound {
    ($name:ident, $t:ty) => {
        #[retry(base = "1ms")]
        fn $name() -> $t {
            async move { CALLS[3].call() }
        }
    };
}

future_by_bound!(bound, impl Future<Output = Result<u32, ApiError>>);

#[test]
fn the_output_of_a_future() {
    let flaky = Flaky::failing(2);
    assert_eq!(run(implied(&flaky)), Ok(3));
    assert_eq!(run(bound()), Ok(3));
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
        fn by_pattern(flaky: &Flaky, $arg: $ty) -> Result<usize, ApiError> {
            flaky.call()?;
            let $arg = $arg;
            Ok($arg.len())
        }
    };
}

mod policies {
    pub(super) const P: backoff_core::Policy = backoff_core::Policy::exponential();
}

everything!(
    /// Made of fragments.
    #[must_use]
    pub(super) fragments<'a>((flaky, _) => (&'a Flaky, u8), text: String) -> Result<(&'a Flaky, usize), ApiError>,
    2 + 1,
    "1ms",
    |error: &ApiError| error.0 == 503,
    ApiError(503),
    policies::P,
    {
        let length = text.len();
        flaky.call()?;
        Ok((flaky, length))
    }
);

/// How often it calls an operation that always fails.
fn calls(fails: impl FnOnce(&Flaky) -> bool) -> u32 {
    let flaky = Flaky::failing(u32::MAX);
    assert!(fails(&flaky));
    flaky.calls()
}

#[test]
fn every_fragment() {
    let flaky = Flaky::failing(2);
    let (back, length) = run(fragments((&flaky, 1), "text".to_owned())).unwrap();
    assert_eq!((back.calls(), length), (3, 4));
    let text = || "text".to_owned();
    let by_closure = calls(|flaky| run(fragments((flaky, 1), text())).is_err());
    let by_pattern = calls(|flaky| by_pattern(flaky, text()).is_err());
    assert_eq!((by_closure, by_pattern), (3, 4));
}

macro_rules! mutable {
    ($name:ident, $arg:ident, $self_:ident, $bytes:ty) => {
        #[retry(base = "1ms", clone($arg))]
        fn $name(flaky: &Flaky, mut $arg: $bytes) -> Result<usize, ApiError> {
            $arg.push(1);
            flaky.call()?;
            Ok($arg.len())
        }

        impl Bytes {
            #[retry(base = "1ms", max_attempts = $self_.0 + 1)]
            fn $name(&$self_, flaky: &Flaky) -> Result<usize, ApiError> {
                flaky.call()?;
                Ok(2)
            }
        }
    };
}

struct Bytes(u32);

mutable!(pushes, bytes, self, Vec<u8>);

#[test]
fn names_from_outside() {
    same(|_| Ok(1), |flaky| pushes(flaky, Vec::new()));
    same(|_| Ok(2), |flaky| Bytes(3).pushes(flaky));
    assert_eq!(calls(|flaky| Bytes(3).pushes(flaky).is_err()), 4);
}

macro_rules! whole {
    ($item:item) => {
        #[retry(base = "1ms")]
        $item
    };
}

whole! {
    async fn item(flaky: &Flaky) -> Result<(), ApiError> {
        let _local = D("local");
        flaky.call().map(|_| ())
    }
}

#[test]
fn a_whole_item() {
    same(|_| Ok(drop(D("local"))), |flaky| run(item(flaky)));
}

macro_rules! block {
    ($attempts:expr, async $body:block) => {
        retry_block!(max_attempts = $attempts, base = "1ms", async $body)
    };
    ($attempts:expr, $body:block) => {
        retry_block!(max_attempts = $attempts, base = "1ms", $body)
    };
}

#[test]
fn blocks() {
    let got = asked(|flaky| block!(3, { flaky.call() }));
    assert_eq!(got, (3, Ok(3)));
    let got = asked(|flaky| run(block!(3, async { flaky.call() })));
    assert_eq!(got, (3, Ok(3)));
}
