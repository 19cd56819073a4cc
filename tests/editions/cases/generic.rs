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
}

#[test]
fn constants_with_defaults() {
    let ring = |failures| Ring {
        flaky: Flaky::failing(failures),
        items: [1, 2, 3],
    };
    let by_default: Ring<u8> = ring(2);
    assert_eq!(run(by_default.sum([4])), Ok(8));
    assert_eq!(run(ring(3).sum([4])), Err(ApiError(503)));
}

#[test]
fn lifetimes() {
    struct Client<'c, 's: 'c>(&'c Flaky, &'s str);
    impl<'c, 's: 'c> Client<'c, 's> {
        #[retry(base = "1ms")]
        fn longest<'a, 'b>(&'a self, other: &'b str) -> Result<std::borrow::Cow<'b, str>, ApiError>
        where
            's: 'b,
            'a: 'a,
        {
            self.0.call()?;
            let is_longer = other.len() > self.1.len();
            Ok(if is_longer { other } else { self.1 }.into())
        }
        #[retry(base = "1ms")]
        fn each<'f>(
            &'f self,
            change: &'f (dyn for<'x> Fn(&'x str) -> &'x str + Sync),
        ) -> impl Future<Output = Result<&'f str, ApiError>> + use<'f, 'c, 's> {
            async move { self.0.call().map(|_| change(self.1)) }
        }
    }
    let flakies = [(); 2].map(|()| Flaky::failing(2));
    let longest = Client(&flakies[0], "name").longest("other");
    assert_eq!(longest, Ok("other".into()));
    let client = Client(&flakies[1], "name");
    assert_eq!(run(client.each(&|name| &name[..1])), Ok("n"));
}
