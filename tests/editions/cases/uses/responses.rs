//! A value that is a fault is judged by the codes as an error is: in the attribute by itself, in a
//! block by the key. The last response is handed back as it came.

use backoff_core::{Event, Fault, retry, retry_block};
use std::{
    cell::{Cell, RefCell},
    time::Duration,
};
use tokio::time::Instant;

#[derive(Debug, PartialEq)]
struct Response(u16, Option<Duration>);

impl Fault for Response {
    fn status(&self) -> Option<u16> {
        Some(self.0)
    }
    fn retry_after(&self) -> Option<Duration> {
        self.1
    }
}

/// 503 twice, the second time with a hint; then 200.
fn reply(calls: &Cell<u32>) -> Result<Response, &'static str> {
    calls.set(calls.get() + 1);
    Ok(match calls.get() {
        1 => Response(503, None),
        2 => Response(503, Some(Duration::from_secs(30))),
        _ => Response(200, None),
    })
}

impl From<&'static str> for Failed {
    fn from(text: &'static str) -> Self {
        Failed(text)
    }
}

#[derive(Debug, PartialEq)]
struct Failed(&'static str);

impl Fault for Failed {}

impl std::fmt::Display for Failed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

#[retry(on = [503], jitter = none)]
async fn get(calls: &Cell<u32>) -> Result<Response, Failed> {
    Ok(reply(calls)?)
}

#[retry(on = [503], jitter = none, max_attempts = 2, notify = |event: &Event<'_, Failed>| heard.borrow_mut().push(event.to_string()))]
async fn watched(calls: &Cell<u32>, heard: &RefCell<Vec<String>>) -> Result<Response, Failed> {
    Ok(reply(calls)?)
}

#[retry(on = [503], responses = false)]
async fn left_alone(calls: &Cell<u32>) -> Result<Response, Failed> {
    Ok(reply(calls)?)
}

#[retry]
async fn bare(calls: &Cell<u32>) -> Result<Response, Failed> {
    Ok(reply(calls)?)
}

#[retry(on = [503], base = "1ms", max_attempts = 2)]
fn blocking(calls: &Cell<u32>) -> Result<Response, Failed> {
    Ok(reply(calls)?)
}

#[retry(on = [503])]
async fn no_fault(calls: &Cell<u32>) -> Result<u16, Failed> {
    Ok(reply(calls)?.0)
}

#[tokio::test(start_paused = true)]
async fn works() {
    let (start, calls) = (Instant::now(), Cell::new(0));
    assert_eq!(get(&calls).await, Ok(Response(200, None)));
    assert_eq!((calls.get(), start.elapsed()), (3, Duration::from_secs(31)));

    let (calls, heard) = (Cell::new(0), RefCell::default());
    let last = Response(503, Some(Duration::from_secs(30)));
    assert_eq!(watched(&calls, &heard).await, Ok(last));
    assert_eq!(
        *heard.borrow(),
        [
            "attempt 1 failed, next in 1.0s: status 503",
            "gave up after 2 attempts (attempts): status 503"
        ]
    );

    assert_eq!(left_alone(&Cell::new(0)).await, Ok(Response(503, None)));
    assert_eq!(bare(&Cell::new(0)).await, Ok(Response(503, None)));
    let last = Response(503, Some(Duration::from_secs(30)));
    assert_eq!(blocking(&Cell::new(0)), Ok(last));
    assert_eq!(no_fault(&Cell::new(0)).await, Ok(503));

    let calls = Cell::new(0);
    let block = retry_block!(on = [503], responses, async {
        Ok::<_, Failed>(reply(&calls)?)
    });
    assert_eq!(block.await, Ok(Response(200, None)));
    let block = retry_block!(on = [503], async { Ok::<_, Failed>(reply(&Cell::new(0))?) });
    assert_eq!(block.await, Ok(Response(503, None)));
}
