//! Bodies of odd shapes.

use super::*;

alike! { items_in_the_body [base = "1ms"] |flaky| run(f(flaky)) =>
    pub(super) async fn f(flaky: &Flaky) -> Result<u32, ApiError> {
        use std::collections::BTreeMap as Map;
        const STEP: u32 = 2;
        static NAME: &str = "name";
        #[derive(Debug, Default)]
        struct Sum(u32);
        impl Sum {
            fn add(&mut self, by: u32) -> Option<&mut Self> {
                if by == 0 {
                    return None;
                }
                self.0 += by;
                Some(self)
            }
        }
        macro_rules! twice {
            ($value:expr) => {
                $value * 2
            };
        }
        fn helper(flaky: &Flaky) -> Result<u32, ApiError> {
            flaky.call()?;
            return Ok(1);
        }
        let mut sum = Sum::default();
        sum.add(helper(flaky)?).map(|sum| sum.add(STEP));
        let map: Map<_, _> = [(NAME, sum.0)].iter().copied().collect();
        mod inner {
            pub(super) const MORE: u32 = 4;
        }
        Ok(twice!(map[NAME]) + inner::MORE)
    }
}

type Answer<'a> = Pin<Box<dyn Future<Output = Result<u32, ApiError>> + Send + 'a>>;

alike! { returns_of_closures [base = "1ms"] |flaky| run(f(flaky, &[1, 2])) =>
    pub(super) fn f<'a>(flaky: &'a Flaky, list: &[u32]) -> Answer<'a> {
        let typed = |number: &u32| -> u32 {
            if *number > 1 {
                return 1;
            }
            *number
        };
        let plain = list.iter().map(|number| match number {
            0 | 1 => return 0,
            _ => typed(number),
        });
        let made = async move |x: u32| -> u32 { return x };
        let sum: u32 = plain.sum();
        fn inner() -> u32 {
            return 1;
        }
        let more = { fn deep() -> u32 { return 1 } deep() };
        Box::pin(async move {
            if made(1).await == 0 {
                return Err(ApiError(404));
            }
            flaky.call()?;
            Ok(sum + inner() + more)
        })
    }
}

#[test]
fn list_of_opaque_values() {
    #[retry(base = "1ms")]
    async fn array(flaky: &Flaky) -> Result<[impl Fn(u32) -> u32 + use<>; 2], ApiError> {
        let call = flaky.call()?;
        Ok([call; 2].map(|call| move |more| call + more))
    }
    #[retry(base = "1ms")]
    fn many<'a>(
        flaky: &'a Flaky,
    ) -> Result<
        (
            Vec<impl Iterator<Item = [u8; 2]> + use<'a>>,
            impl Sized + use<'a>,
        ),
        ApiError,
    > {
        flaky.call()?;
        Ok((vec![vec![[1, 2]].into_iter()], flaky))
    }
    let [first, second] = run(array(&Flaky::failing(2))).map_err(|_| ()).unwrap();
    assert_eq!((first(1), second(2)), (4, 5));
    let flaky = Flaky::failing(2);
    let (mut lists, _) = many(&flaky).map_err(|_| ()).unwrap();
    assert_eq!(lists[0].next(), Some([1, 2]));
}

alike! { loops_with_labels [base = "1ms"] |flaky| run(f(flaky)) =>
    pub(super) async fn f(flaky: &Flaky) -> Result<u32, ApiError> {
        let found = 'found: {
            for number in 0.. {
                if number == 3 {
                    break 'found number;
                }
            }
            0
        };
        let mut sum = 0;
        'outer: for a in 0..3 {
            for b in 0..3 {
                if b == a {
                    continue 'outer;
                }
                sum += b;
            }
        }
        let value = loop {
            match flaky.call() {
                Ok(_) => break found + sum,
                Err(error) => return Err(error),
            }
        };
        'last: {
            if value == 0 {
                break 'last Err(ApiError(404));
            }
            Ok(value)
        }
    }
}

alike! { options_and_let_else [base = "1ms"] |flaky| f(flaky, "12") =>
    pub(super) fn f(flaky: &Flaky, text: &str) -> Result<u32, ApiError> {
        let digit = |at: usize| text.get(at..)?.chars().next()?.to_digit(10);
        let (Some(first), None) = (digit(0), digit(9)) else {
            return Err(ApiError(404));
        };
        let tried = (|| -> Result<u32, ApiError> { Ok(flaky.call()? * 0 + first) })()?;
        let none = (|| { let x: Option<u32> = None; x?; Some(1) })();
        Ok(none.map_or(tried, |none| none + tried))
    }
}

alike! { async_closures_inside [base = "1ms"] |flaky| run(f(flaky)) =>
    pub(super) async fn f(flaky: &Flaky) -> Result<u32, ApiError> {
        let mut calls = 0;
        let mut call = async |more: u32| {
            calls += more;
            flaky.call()
        };
        call(1).await?;
        let (a, b) = tokio::join!(async { 1 }, async { Ok::<_, ApiError>(2) });
        'outer: loop {
            tokio::select! {
                biased;
                value = async { a } => {
                    let sum = value + b? + calls;
                    if sum > 100 {
                        break 'outer;
                    }
                    return Ok(sum);
                }
                () = std::future::pending() => unreachable!(),
            }
        }
        Err(ApiError(404))
    }
}

macro_rules! many {
    ($number:ident; $($word:tt)*) => {
        $( let $number = $number + { stringify!($word); 1 }; )*
    };
}

alike! { long_body [base = "1ms"] |flaky| run(f(flaky)) =>
    pub(super) async fn f(flaky: &Flaky) -> Result<u32, ApiError> {
        let n = 0;
        many!(n; a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a);
        many!(n; a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a);
        many!(n; a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a);
        flaky.call()?;
        many!(n; a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a);
        std::future::ready(()).await;
        many!(n; a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a);
        Ok(n)
    }
}

#[test]
fn recursion() {
    #[retry(base = "1ms", max_attempts = 2)]
    fn blocking(flaky: &Flaky, depth: u32) -> Result<u32, ApiError> {
        if depth == 0 {
            flaky.call()
        } else {
            blocking(flaky, depth - 1)
        }
    }
    #[retry(base = "1ms", max_attempts = 2)]
    async fn boxed(flaky: &Flaky, depth: u32) -> Result<u32, ApiError> {
        match depth {
            0 => flaky.call(),
            _ => Box::pin(boxed(flaky, depth - 1)).await,
        }
    }
    // Two levels of two attempts and one of a call: eight calls.
    let flaky = Flaky::failing(7);
    assert_eq!((blocking(&flaky, 2), flaky.calls()), (Ok(8), 8));
    let flaky = Flaky::failing(7);
    assert_eq!((run(boxed(&flaky, 2)), flaky.calls()), (Ok(8), 8));
}

#[test]
fn ends_of_every_kind() {
    #[retry(base = "1ms")]
    async fn never(flaky: &Flaky) -> Result<std::convert::Infallible, ApiError> {
        loop {
            flaky.call()?;
            return Err(ApiError(404));
        }
    }
    #[retry(base = "1ms")]
    fn returned(flaky: &Flaky) -> Result<u32, ApiError> {
        let call = flaky.call()?;
        return Ok(call);
    }
    #[retry(base = "1ms", max_attempts = 2)]
    async fn macro_at_the_end(flaky: &Flaky) -> Result<u32, String> {
        macro_rules! end {
            ($value:expr) => {
                return $value.map_err(|error: ApiError| error.to_string())
            };
        }
        end!(flaky.call())
    }
    #[retry(base = "1ms")]
    fn unit(flaky: &Flaky) -> Result<(), ApiError> {
        if flaky.call()? > 0 {}
        Ok(())
    }
    // `?` and the tail convert as in the function itself.
    #[retry(base = "1ms")]
    async fn converted(flaky: &Flaky, text: &str) -> Result<u32, Box<dyn std::error::Error>> {
        (async { flaky.call() }).await?;
        if text.is_empty() {
            return Err("nothing to read".into());
        }
        match text.parse() {
            Ok(number) => Ok(number),
            Err(error) => Err(Box::new(error)),
        }
    }
    // Types that only the signature knows.
    #[retry(base = "1ms")]
    async fn inferred(flaky: &Flaky, text: &str) -> Result<Vec<u8>, ApiError> {
        flaky.call()?;
        let words = text.split(' ');
        let numbers = words.map(|word| word.parse().unwrap_or_default()).collect();
        Ok(numbers)
    }
    assert_eq!(run(never(&Flaky::failing(2))), Err(ApiError(404)));
    assert_eq!(returned(&Flaky::failing(2)), Ok(3));
    assert_eq!(run(macro_at_the_end(&Flaky::failing(1))), Ok(2));
    assert_eq!(unit(&Flaky::failing(2)), Ok(()));
    assert_eq!(run(converted(&Flaky::failing(2), "7")).ok(), Some(7));
    let error = run(converted(&Flaky::failing(0), "seven")).unwrap_err();
    assert!(error.is::<std::num::ParseIntError>());
    assert_eq!(run(inferred(&Flaky::failing(2), "1 2")), Ok(vec![1, 2]));
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
