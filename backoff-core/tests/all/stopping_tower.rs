//! The signal of a tower layer ends the requests of the layer.
use crate::common::tokens::in_a_minute;
use backoff_core::{Event, Jitter, Policy, StopReason, Stopped};
use http_1::{Request, Response};
use std::{
    io,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};
use tokio::time::{Instant, sleep};
use tower::{Layer as _, Service, ServiceExt as _, service_fn};

const MINUTE: Duration = Duration::from_secs(60);
const POLICY: Policy = Policy::constant(Duration::from_secs(25))
    .jitter(Jitter::None)
    .max_attempts(9);

/// Gives 503 after this time, and counts the requests.
fn busy(
    takes: Duration,
    requests: &Arc<AtomicU32>,
) -> impl Service<Request<()>, Response = Response<()>, Error = io::Error, Future: Send> + Clone + use<>
{
    let requests = Arc::clone(requests);
    service_fn(move |_: Request<()>| {
        requests.fetch_add(1, Ordering::Relaxed);
        async move {
            sleep(takes).await;
            let mut response = Response::new(());
            *response.status_mut() = http_1::StatusCode::SERVICE_UNAVAILABLE;
            Ok::<_, io::Error>(response)
        }
    })
}

/// The reasons to give up.
#[derive(Clone, Default)]
struct Reasons(Arc<Mutex<Vec<StopReason>>>);

impl Reasons {
    fn hook(&self) -> impl FnMut(&Event<'_, io::Error>) + Clone + use<> {
        let reasons = self.clone();
        move |event| {
            if let Event::GaveUp { reason, .. } = event {
                reasons.0.lock().unwrap().push(*reason);
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn stop_on_of_a_layer_ends_the_waits_of_all_its_requests() {
    let (token, start) = (in_a_minute(), Instant::now());
    let (requests, reasons) = (Arc::default(), Reasons::default());
    let of_layer = token.clone();
    let layer = POLICY
        .layer()
        .stop_on(move || of_layer.clone().cancelled_owned())
        .notify(reasons.hook());
    let client = layer.layer(busy(Duration::ZERO, &requests));
    let calls = [(); 2].map(|()| tokio::spawn(client.clone().oneshot(Request::new(()))));
    for call in calls {
        assert_eq!(call.await.unwrap().unwrap().status(), 503);
    }
    assert_eq!(start.elapsed(), MINUTE);
    assert_eq!(requests.load(Ordering::Relaxed), 2 * 3);
    assert_eq!(*reasons.0.lock().unwrap(), [StopReason::Stopped; 2]);

    // A request that comes later is sent once.
    let late = client.oneshot(Request::new(())).await;
    assert_eq!(late.unwrap().status(), 503);
    assert_eq!(start.elapsed(), MINUTE);
    assert_eq!(requests.load(Ordering::Relaxed), 7);
}

#[tokio::test(start_paused = true)]
async fn cut_on_of_a_layer_cuts_attempts_and_sends_nothing_after_the_signal() {
    let (token, start) = (in_a_minute(), Instant::now());
    let (requests, reasons) = (Arc::default(), Reasons::default());
    let of_layer = token.clone();
    let layer = POLICY
        .layer()
        .notify(reasons.hook())
        .cut_on(move || of_layer.clone().cancelled_owned())
        .idempotent(true)
        .attempt_timeout(3 * MINUTE);
    let client = layer.layer(busy(2 * MINUTE, &requests));
    for _ in 0..2 {
        let cut = client.clone().oneshot(Request::new(())).await.unwrap_err();
        let inside = cut.get_ref().and_then(|inside| inside.downcast_ref());
        assert_eq!(inside, Some(&Stopped::new()));
        assert_eq!(start.elapsed(), MINUTE);
        assert_eq!(requests.load(Ordering::Relaxed), 1);
    }
    assert_eq!(*reasons.0.lock().unwrap(), [StopReason::Stopped; 2]);
}

#[tokio::test(start_paused = true)]
async fn stop_on_of_a_layer_finishes_the_attempt_that_is_running() {
    let (token, start) = (in_a_minute(), Instant::now());
    let requests = Arc::default();
    let layer = POLICY
        .layer()
        .cut_on(std::future::pending::<()>)
        .stop_on(move || token.clone().cancelled_owned());
    let client = layer.layer(busy(2 * MINUTE, &requests));
    let last = client.oneshot(Request::new(())).await;
    assert_eq!(last.unwrap().status(), 503);
    assert_eq!(start.elapsed(), 2 * MINUTE);
    assert_eq!(requests.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn a_cut_request_that_must_not_be_repeated_may_have_been_applied() {
    let (token, requests, reasons) = (in_a_minute(), Arc::default(), Reasons::default());
    let layer = POLICY
        .layer()
        .cut_on(move || token.clone().cancelled_owned())
        .notify(reasons.hook());
    let client = layer.layer(busy(2 * MINUTE, &requests));
    let post = Request::post("/").body(()).unwrap();
    assert!(client.oneshot(post).await.is_err());
    assert_eq!(*reasons.0.lock().unwrap(), [StopReason::MaybeApplied]);
}
