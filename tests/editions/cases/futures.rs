//! Functions that return a future, also under another name: what the function ends with shows that it is one.

use super::*;

type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;
type Task<'a> = BoxFuture<'a, u32>;

/// Those of the crate `futures`. An alias may be called so and yet put its argument into more than the output.
mod crate_futures {
    use super::{Future, Pin};
    pub(super) type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
    pub(super) type LocalBoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;
}

#[test]
fn in_a_box() {
    #[retry(base = "1ms", on = [503])]
    fn own(flaky: &Flaky) -> BoxFuture<'_, u32> {
        Box::pin(async move { Ok(flaky.call()?) })
    }
    #[retry(base = "1ms")]
    fn without_parameter<'a>(flaky: &'a Flaky, name: String) -> Task<'a> {
        let more = 1;
        Box::pin(async move {
            let call = flaky.call()?;
            Ok(call + more + name.len() as u32)
        })
    }
    /// `?` converts to the type that only the alias says.
    #[retry(base = "1ms", attempt = n)]
    fn usual<'a>(
        flaky: &'a Flaky,
        name: &'a str,
    ) -> crate_futures::BoxFuture<'a, Result<usize, Error>> {
        Box::pin(async move {
            if n.number() == 2 {
                return Err(Error::Reset);
            }
            flaky.call()?;
            Ok(name.len())
        })
    }
    #[retry(base = "1ms")]
    fn local<T: Copy>(
        flaky: &Flaky,
        with: T,
    ) -> crate_futures::LocalBoxFuture<'_, Result<(u32, T), Error>>
    where
        T: 'static,
    {
        Box::pin(async move { Ok((flaky.call()?, with)) })
    }
    #[retry(base = "1ms")]
    fn hidden(
        flaky: &Flaky,
    ) -> crate_futures::BoxFuture<'_, Result<impl Iterator<Item = u32>, ApiError>> {
        Box::pin(async move { Ok(0..flaky.call()?) })
    }
    assert_eq!(run(own(&Flaky::failing(2))), Ok(3));
    let name = "four".to_owned();
    assert_eq!(run(without_parameter(&Flaky::failing(2), name)), Ok(8));
    assert_eq!(asked(|flaky| run(usual(flaky, "four"))), (3, Ok(4)));
    assert_eq!(run(local(&Flaky::failing(2), 'x')), Ok((3, 'x')));
    assert_eq!(run(hidden(&Flaky::failing(2))).unwrap().count(), 3);
}

#[test]
fn of_an_async_block() {
    #[retry(base = "1ms", on = [503])]
    fn get(flaky: &Flaky) -> impl Future<Output = Result<u32, ApiError>> + Send + '_ {
        let limit = 10;
        async move {
            let call = flaky.call()?;
            assert!(call < limit);
            Ok(call)
        }
    }
    trait Source {
        fn read(&self, name: String) -> impl Future<Output = Result<usize, Error>>;
    }
    impl Source for Flaky {
        #[retry(base = "1ms")]
        fn read(&self, name: String) -> impl Future<Output = Result<usize, Error>> {
            async move {
                self.call()?;
                Ok(name.len())
            }
        }
    }
    assert_eq!(run(sent(get(&Flaky::failing(2)))), Ok(3));
    assert_eq!(run(Flaky::failing(2).read("four".to_owned())), Ok(4));
}

/// tower's idiom: a clone that the future owns, `Send` although it is not `Sync`.
#[test]
fn what_the_block_captures_need_not_be_sync() {
    struct Service(Cell<u32>);
    impl Service {
        #[retry(base = "1ms")]
        fn call<'a>(&mut self, flaky: &'a Flaky) -> BoxFuture<'a, u32> {
            let seen = self.0.clone();
            let (first, more): (Cell<u32>, u32) = (seen, 1);
            let seen: Cell<u32> = first;
            Box::pin(async move {
                seen.set(seen.get() + more);
                std::future::ready(()).await;
                flaky.call()?;
                Ok(seen.get())
            })
        }
        #[retry(base = "1ms")]
        fn with_an_argument<'a>(&self, flaky: &'a Flaky, seen: Cell<u32>) -> BoxFuture<'a, u32> {
            let more = self.0.get();
            Box::pin(async move {
                seen.set(seen.get() + more);
                std::future::ready(()).await;
                flaky.call()?;
                Ok(seen.get())
            })
        }
    }
    let mut service = Service(Cell::new(2));
    assert_eq!(run(service.call(&Flaky::failing(2))), Ok(5));
    let flaky = Flaky::failing(2);
    assert_eq!(run(service.with_an_argument(&flaky, Cell::new(1))), Ok(7));
}

/// `keep(..)` and `clone(..)`; and the block's own copies, made anew by each attempt.
#[test]
fn what_the_block_takes() {
    type Vector = Vec<u32>;
    #[retry(base = "1ms", keep(seen))]
    fn kept(flaky: &Flaky, mut seen: Vector) -> impl Future<Output = Result<usize, ApiError>> + '_ {
        async move {
            seen.push(1);
            flaky.call()?;
            Ok(seen.len())
        }
    }
    #[retry(base = "1ms", keep(seen))]
    fn boxed(flaky: &Flaky, mut seen: u32) -> Task<'_> {
        Box::pin(async move {
            seen += 1;
            flaky.call()?;
            Ok(seen)
        })
    }
    #[retry(base = "1ms", clone(mut seen))]
    fn changed(flaky: &Flaky, seen: Vector) -> impl Future<Output = Result<usize, ApiError>> + '_ {
        async move {
            seen.push(1);
            flaky.call()?;
            Ok(seen.into_boxed_slice().len())
        }
    }
    #[retry(base = "1ms", max_attempts = 3, clone(seen))]
    fn cloned(seen: Vector) -> impl Future<Output = Result<u32, usize>> {
        async move {
            let mut seen = seen;
            seen.push(1);
            Err(seen.len())
        }
    }
    #[retry(base = "1ms", max_attempts = 3)]
    fn own(n: u32) -> impl Future<Output = Result<u32, u32>> {
        async move {
            let mut n = n;
            n += 1;
            Err(n)
        }
    }
    assert_eq!(run(kept(&Flaky::failing(2), vec![])), Ok(3));
    assert_eq!(run(boxed(&Flaky::failing(2), 0)), Ok(3));
    assert_eq!(run(changed(&Flaky::failing(2), vec![])), Ok(1));
    assert_eq!(run(cloned(vec![0])), Err(2));
    assert_eq!(run(own(7)), Err(8));
}
