//! Functions that return a future, also under another name: what the function ends with shows that it is one.

use super::*;

type Boxed<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;

/// Those of the crate `futures`. An alias may be called so and yet put its argument into more than the output.
mod crate_futures {
    use super::{Future, Pin};
    pub(super) type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
    pub(super) type LocalBoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;
}

mod own {
    pub(super) type BoxFuture<'a, T> = super::Boxed<'a, T>;
}

#[test]
fn in_a_box() {
    #[retry(base = "1ms", on = [503])]
    fn own_alias(flaky: &Flaky, name: String) -> own::BoxFuture<'_, u32> {
        let more = 1;
        Box::pin(async move { Ok(flaky.call()? + more + name.len() as u32) })
    }
    /// `?` converts to the type that only the alias says.
    #[retry(base = "1ms", attempt = n)]
    fn usual(flaky: &Flaky) -> crate_futures::BoxFuture<'_, Result<u32, Error>> {
        Box::pin(async move {
            if n.number() == 2 {
                return Err(Error::Reset);
            }
            Ok(flaky.call()?)
        })
    }
    #[retry(base = "1ms")]
    fn local<T: Copy + 'static>(
        flaky: &Flaky,
        with: T,
    ) -> crate_futures::LocalBoxFuture<'_, Result<impl Fn() -> T, Error>> {
        Box::pin(async move { flaky.call().map_err(Error::from).map(|_| move || with) })
    }
    let name = "four".to_owned();
    assert_eq!(run(own_alias(&Flaky::failing(2), name)), Ok(8));
    assert_eq!(run(usual(&Flaky::failing(1))), Ok(2));
    let local = run(local(&Flaky::failing(2), 'x')).map(|with| with());
    assert_eq!(local, Ok('x'));
}

/// tower's idiom: a clone that the future owns, `Send` although it is not `Sync`.
#[test]
fn what_the_block_captures_need_not_be_sync() {
    struct Service(Cell<u32>);
    impl Service {
        #[retry(base = "1ms")]
        fn call<'a>(&mut self, flaky: &'a Flaky, own: Cell<u32>) -> Boxed<'a, u32> {
            let seen = self.0.clone();
            let (first, more): (Cell<u32>, u32) = (seen, 1);
            let seen: Cell<u32> = first;
            Box::pin(async move {
                seen.set(seen.get() + more);
                own.set(own.get() + 1);
                std::future::ready(()).await;
                flaky.call()?;
                Ok(seen.get() + own.get())
            })
        }
    }
    let mut service = Service(Cell::new(2));
    assert_eq!(run(service.call(&Flaky::failing(2), Cell::new(0))), Ok(8));
}

/// `keep(..)` and `clone(..)`; and the block's own copies, made anew by each attempt.
#[test]
fn what_the_block_takes() {
    #[retry(base = "1ms", keep(seen, job))]
    fn kept(flaky: &Flaky, mut seen: u32, mut job: Option<Vec<u32>>) -> Boxed<'_, u32> {
        seen += 10;
        Box::pin(async move {
            seen += 1;
            flaky.call()?;
            Ok(seen + job.take().map_or(0, |job| job[0]))
        })
    }
    #[retry(base = "1ms", clone(mut seen))]
    fn changed(
        flaky: &Flaky,
        seen: Vec<u32>,
    ) -> impl Future<Output = Result<usize, ApiError>> + '_ {
        async move {
            seen.push(1);
            flaky.call()?;
            Ok(seen.into_boxed_slice().len())
        }
    }
    assert_eq!(run(kept(&Flaky::failing(2), 0, Some(vec![100]))), Ok(113));
    assert_eq!(run(changed(&Flaky::failing(2), vec![])), Ok(1));
}
