//! Functions that return a future.

use std::future::Future;

use backoff_core::retry;
use ui::{ApiError, Flaky};

#[retry(base = "1ms", on = [503])]
fn get(flaky: &Flaky) -> impl Future<Output = Result<u32, ApiError>> + Send + '_ {
    let limit = 10;
    async move {
        let call = flaky.call()?;
        assert!(call < limit);
        Ok(call)
    }
}

/// The block's own copies, made anew by each attempt.
#[retry(base = "1ms", max_attempts = 3)]
fn own(n: u32) -> impl Future<Output = Result<u32, u32>> {
    async move {
        let mut n = n;
        n += 1;
        Err(n)
    }
}

#[retry(base = "1ms", max_attempts = 3, clone(seen))]
fn cloned(seen: Vec<u32>) -> impl Future<Output = Result<u32, usize>> {
    async move {
        let mut seen = seen;
        seen.push(1);
        Err(seen.len())
    }
}

trait Source {
    fn read(&self, name: String)
    -> impl Future<Output = Result<usize, Box<dyn std::error::Error>>>;
}

impl Source for Flaky {
    #[retry(base = "1ms")]
    fn read(
        &self,
        name: String,
    ) -> impl Future<Output = Result<usize, Box<dyn std::error::Error>>> {
        async move {
            self.call()?;
            Ok(name.len())
        }
    }
}

fn is_send<T: Send>(value: T) -> T {
    value
}

#[tokio::test]
async fn works() {
    let flaky = Flaky::failing(2);
    assert_eq!(is_send(get(&flaky)).await, Ok(3));
    assert_eq!(own(7).await, Err(8));
    assert_eq!(cloned(vec![0]).await, Err(2));
    assert_eq!(Flaky::failing(2).read("four".to_owned()).await.unwrap(), 4);
}
