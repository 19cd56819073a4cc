//! A call that may have been applied tells so: to the hook of the attribute, and in the error of the
//! function form. The id of the call goes to the server.

use std::cell::RefCell;
use std::time::Duration;

use backoff_core::{Event, Policy, RequestId, RetryError, StopReason, TimedOut, retry};

/// A server that takes orders, and whose replies are lost.
#[derive(Default)]
struct Server {
    orders: RefCell<Vec<u32>>,
    keys: RefCell<Vec<RequestId>>,
}

impl Server {
    async fn post(&self, order: u32) -> Result<(), TimedOut> {
        self.orders.borrow_mut().push(order);
        Err(TimedOut::new(Duration::from_secs(1)))
    }

    async fn post_once(&self, order: u32, key: RequestId) -> Result<(), TimedOut> {
        if !self.keys.borrow().contains(&key) {
            self.orders.borrow_mut().push(order);
        }
        self.keys.borrow_mut().push(key);
        let lost = self.keys.borrow().len() < 3;
        if lost {
            Err(TimedOut::new(Duration::from_secs(1)))
        } else {
            Ok(())
        }
    }
}

#[retry(base = "1ms", idempotent = false, notify = |event| {
    if let Event::GaveUp { reason: StopReason::MaybeApplied, .. } = event {
        doubts.borrow_mut().push(order);
    }
})]
async fn order(server: &Server, order: u32, doubts: &RefCell<Vec<u32>>) -> Result<(), TimedOut> {
    server.post(order).await
}

async fn order_reported(server: &Server, order: u32) -> Result<(), RetryError<TimedOut>> {
    const ORDERS: Policy = Policy::exponential().idempotent(false);
    let ((), _report) = ORDERS.retry(|| server.post(order)).reported().await?;
    Ok(())
}

#[retry(base = "1ms", attempt = n)]
async fn order_with_a_key(server: &Server, order: u32) -> Result<(), TimedOut> {
    server.post_once(order, n.id()).await
}

#[tokio::test]
async fn works() {
    let (server, doubts) = (Server::default(), RefCell::default());
    order(&server, 7, &doubts).await.unwrap_err();
    assert_eq!((server.orders.take(), doubts.take()), (vec![7], vec![7]));

    let gave_up = order_reported(&server, 8).await.unwrap_err();
    assert_eq!(gave_up.reason, StopReason::MaybeApplied);
    assert_eq!(server.orders.take(), [8]);

    order_with_a_key(&server, 9).await.unwrap();
    assert_eq!(
        (server.orders.take(), server.keys.take().len()),
        (vec![9], 3)
    );
}
