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

trait Source {
    fn read(&self, name: String) -> impl Future<Output = Result<usize, Box<dyn std::error::Error>>>;
}

impl Source for Flaky {
    #[retry(base = "1ms")]
    fn read(&self, name: String) -> impl Future<Output = Result<usize, Box<dyn std::error::Error>>> {
        async move {
            self.call()?;
            Ok(name.len())
        }
    }
}

fn is_send<T: Send>(value: T) -> T {
    value
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let flaky = Flaky::failing(2);
    assert_eq!(is_send(get(&flaky)).await, Ok(3));
    assert_eq!(Flaky::failing(2).read("four".to_owned()).await.unwrap(), 4);
}
