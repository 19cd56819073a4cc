//! A value that is a fault is judged by the codes as an error is: in the attribute by itself, in a block by the key.
//! The last response is handed back as it came.

use super::*;
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

const HINTED: Response = Response(503, Some(Duration::from_secs(30)));
const BUSY: Response = Response(503, None);

/// 503 twice, the second time with a hint; then 200.
fn reply(calls: &Cell<u32>) -> Result<Response, Error> {
    calls.set(calls.get() + 1);
    Ok(match calls.get() {
        1 => BUSY,
        2 => HINTED,
        _ => Response(200, None),
    })
}

macro_rules! replies {
    ($($name:ident [$($keys:tt)*] => $calls:literal, $last:expr;)*) => {$({
        #[retry($($keys)*)]
        async fn $name(calls: &Cell<u32>) -> Result<Response, Error> {
            reply(calls)
        }
        let calls = Cell::new(0);
        assert_eq!($name(&calls).await, Ok($last));
        assert_eq!(calls.get(), $calls);
    })*};
}

#[tokio::test(start_paused = true)]
async fn they_are_judged() {
    let start = Instant::now();
    replies! { all [on = [503], jitter = none] => 3, Response(200, None); }
    assert_eq!(start.elapsed(), Duration::from_secs(31));
    replies! {
        few [on = [503], max_attempts = 2] => 2, HINTED;
        left_alone [on = [503], responses = false] => 1, BUSY;
        bare [] => 1, BUSY;
    }
    #[retry(on = [503], base = "1ms", max_attempts = 2)]
    fn blocking(calls: &Cell<u32>) -> Result<Response, Error> {
        reply(calls)
    }
    #[retry(on = [503])]
    async fn no_fault(calls: &Cell<u32>) -> Result<u16, Error> {
        Ok(reply(calls)?.0)
    }
    assert_eq!(blocking(&Cell::new(0)), Ok(HINTED));
    assert_eq!(no_fault(&Cell::new(0)).await, Ok(503));
    let calls = Cell::new(0);
    let block = retry_block!(on = [503], responses, async { reply(&calls) });
    assert_eq!(block.await, Ok(Response(200, None)));
    let block = retry_block!(on = [503], async { reply(&Cell::new(0)) });
    assert_eq!(block.await, Ok(BUSY));
}
