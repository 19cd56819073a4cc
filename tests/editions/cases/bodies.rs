//! Bodies of odd shapes.

use super::*;

alike! { items_in_the_body [base = "1ms"] |flaky| run(f(flaky)) =>
    pub(super) async fn f(flaky: &Flaky) -> Result<u32, ApiError> {
        use std::collections::BTreeMap as Map;
        const STEP: u32 = 2;
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
        let mut sum = Sum(0);
        sum.add(helper(flaky)?).map(|sum| sum.add(STEP));
        let map: Map<_, _> = [("name", sum.0)].iter().copied().collect();
        mod inner {
            pub(super) const MORE: u32 = 4;
        }
        Ok(twice!(map["name"]) + inner::MORE)
    }
}

alike! { loops_and_let_else [base = "1ms"] |flaky| run(f(flaky, "12")) =>
    pub(super) async fn f(flaky: &Flaky, text: &str) -> Result<u32, ApiError> {
        let (Some(first), None) = (text.chars().next(), text.chars().nth(9)) else {
            return Err(ApiError(404));
        };
        let mut sum = first.to_digit(10).unwrap_or(0);
        'outer: for a in 0..3 {
            for b in 0..3 {
                if b == a {
                    continue 'outer;
                }
                sum += b;
            }
        }
        loop {
            match flaky.call() {
                Ok(_) => break Ok(sum),
                Err(error) => return Err(error),
            }
        }
    }
}

#[test]
fn recursion() {
    #[retry(base = "1ms", max_attempts = 2)]
    async fn boxed(flaky: &Flaky, depth: u32) -> Result<u32, ApiError> {
        match depth {
            0 => flaky.call(),
            _ => Box::pin(boxed(flaky, depth - 1)).await,
        }
    }
    // Two levels of two attempts and one of a call: eight.
    let flaky = Flaky::failing(7);
    assert_eq!((run(boxed(&flaky, 2)), flaky.calls()), (Ok(8), 8));
}

#[test]
fn ends_of_every_kind() {
    #[retry(base = "1ms", max_attempts = 2)]
    async fn macro_at_the_end(flaky: &Flaky) -> Result<u32, String> {
        macro_rules! end {
            ($value:expr) => {
                return $value.map_err(|error: ApiError| error.to_string())
            };
        }
        end!(flaky.call())
    }
    // `?` and the tail convert as in the function itself.
    #[retry(base = "1ms")]
    async fn converted(flaky: &Flaky, text: &str) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
        (async { flaky.call() }).await?;
        if text.is_empty() {
            return Err("nothing to read".into());
        }
        let numbers = text.split(' ').map(|word| word.parse()).collect();
        match numbers {
            Ok(numbers) => Ok(numbers),
            Err::<_, std::num::ParseIntError>(error) => Err(Box::new(error)),
        }
    }
    #[retry(base = "1ms")]
    fn opaque(
        flaky: &Flaky,
    ) -> Result<(Vec<impl Iterator<Item = u32> + use<>>, [u8; 2]), ApiError> {
        let call = flaky.call()?;
        return Ok((vec![0..call], [1, 2]));
    }
    assert_eq!(run(macro_at_the_end(&Flaky::failing(1))), Ok(2));
    let numbers = run(converted(&Flaky::failing(2), "1 2"));
    assert_eq!(numbers.ok(), Some(vec![1, 2]));
    let error = run(converted(&Flaky::failing(0), "seven")).unwrap_err();
    assert!(error.is::<std::num::ParseIntError>());
    let lists = opaque(&Flaky::failing(2)).ok().map(|(lists, _)| lists);
    assert_eq!(lists.into_iter().flatten().flatten().count(), 3);
}
