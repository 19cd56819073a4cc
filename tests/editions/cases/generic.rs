//! Generics and lifetimes in odd places.

use super::*;
use std::fmt::Debug;

struct Ring<T, const N: usize = 3> {
    flaky: Flaky,
    items: [T; N],
}

impl<T: Copy + Debug, const N: usize> Ring<T, N> {
    const HALF: u32 = 1 + N as u32 / 2;

    #[retry(base = "1ms", max_attempts = Self::HALF + 1)]
    async fn sum<const M: usize>(&self, more: [T; M]) -> Result<usize, ApiError>
    where
        [T; M]: Debug,
    {
        self.flaky.call()?;
        Ok(N + more.len() + self.items.len() + M)
    }

    #[retry(base = "1ms", max_attempts = 1 + N as u32)]
    fn first(&self) -> Result<T, ApiError> {
        self.flaky.call()?;
        let [first, ..] = &self.items[..] else {
            return Err(ApiError(404));
        };
        Ok(*first)
    }
}

#[test]
fn constants_with_defaults() {
    fn ring<const N: usize>(failures: u32, items: [u8; N]) -> Ring<u8, N> {
        let flaky = Flaky::failing(failures);
        Ring { flaky, items }
    }
    let by_default: Ring<u8> = ring(1, [1, 2, 3]);
    assert_eq!(run(by_default.sum([4])), Ok(8));
    assert_eq!(ring(2, [1, 2]).first(), Ok(1));
    assert_eq!(ring(2, [1]).first(), Err(ApiError(503)));
}

alike! { parameters_only_in_the_body [base = "1ms"] |flaky| run(f::<u8, 4>(flaky)) =>
    pub(super) async fn f<T, const N: usize>(flaky: &Flaky) -> Result<usize, ApiError>
    where
        T: Default + Into<u64>,
    {
        flaky.call()?;
        let list: [u64; N] = std::array::from_fn(|_| T::default().into());
        Ok(list.len() + std::mem::size_of::<T>())
    }
}

#[test]
fn lifetimes() {
    struct Client<'c, 's: 'c> {
        flaky: &'c Flaky,
        name: &'s str,
    }
    impl<'c, 's: 'c> Client<'c, 's> {
        #[retry(base = "1ms")]
        async fn name(&self) -> Result<&'s str, ApiError> {
            self.flaky.call()?;
            Ok(self.name)
        }
        #[retry(base = "1ms")]
        fn longest<'a, 'b>(&'a self, other: &'b str) -> Result<std::borrow::Cow<'b, str>, ApiError>
        where
            's: 'b,
            'a: 'a,
        {
            self.flaky.call()?;
            Ok(if other.len() > self.name.len() {
                other
            } else {
                self.name
            }
            .into())
        }
        #[retry(base = "1ms")]
        fn each<'f>(
            &'f self,
            mut_: &'f (dyn for<'x> Fn(&'x str) -> &'x str + Sync),
        ) -> impl Future<Output = Result<&'f str, ApiError>> + use<'f, 'c, 's> {
            async move {
                self.flaky.call()?;
                Ok(mut_(self.name))
            }
        }
    }
    let name = "name".to_owned();
    fn client<'c, 's>(flaky: &'c Flaky, name: &'s str) -> Client<'c, 's> {
        Client { flaky, name }
    }
    same(|_| Ok("name"), |flaky| run(client(flaky, &name).name()));
    let flaky = Flaky::failing(2);
    assert_eq!(client(&flaky, &name).longest("other"), Ok("other".into()));
    let flaky = Flaky::failing(2);
    assert_eq!(run(client(&flaky, &name).each(&|name| &name[..1])), Ok("n"));
}

#[test]
fn results_that_capture() {
    trait Captures<'a> {}
    impl<T> Captures<'_> for T {}
    #[retry(base = "1ms")]
    fn opaque<'a>(flaky: &'a Flaky) -> Result<impl Debug + Captures<'a> + use<'a>, ApiError> {
        flaky.call().map(|call| (call, flaky))
    }
    #[retry(base = "1ms")]
    fn nothing<T: Debug>(flaky: &Flaky, value: &T) -> Result<impl Debug + use<T>, ApiError> {
        flaky.call().map(|call| format!("{call}{value:?}"))
    }
    #[retry(base = "1ms")]
    fn closure<'a>(flaky: &'a Flaky) -> Result<Box<dyn Fn() -> u32 + 'a>, ApiError> {
        let call = flaky.call()?;
        Ok(Box::new(move || call + flaky.calls()))
    }
    let flaky = Flaky::failing(2);
    assert!(format!("{:?}", opaque(&flaky)).contains("Ok((3"));
    let got = format!("{:?}", nothing(&Flaky::failing(2), &1));
    assert_eq!(got, r#"Ok("31")"#);
    let flaky = Flaky::failing(2);
    assert_eq!(closure(&flaky).map(|closure| closure()).ok(), Some(6));
}

#[test]
fn bounds_that_lead_nowhere() {
    #[retry(base = "1ms", when = |_| true)]
    async fn f<'a, E, F, Fut>(make: F) -> Result<<Vec<&'a str> as IntoIterator>::Item, E>
    where
        for<'x> F: Fn(&'x str) -> Fut,
        Fut: Future<Output = Result<&'a str, E>>,
    {
        make("name").await
    }
    let flaky = Flaky::failing(2);
    let got = run(f(|_| std::future::ready(flaky.call().map(|_| "name"))));
    assert_eq!((got, flaky.calls()), (Ok("name"), 3));
}
