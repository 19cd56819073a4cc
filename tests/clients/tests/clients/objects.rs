//! An object that several writers change at the same time.

use backoff_core::{Fault, TimedOut};
use std::{
    error::Error,
    sync::{Arc, Mutex},
};
use support::{
    LAST_MODIFIED, MAYBE_SENT, Meeting, PATIENCE, Repeated::IfIdempotent, Server, assert_row, reply,
};

/// An object with a number, which is written only by who has read the last one. The four writers of
/// [`sixteen_writes`] meet when they have read for the first time.
pub(crate) fn object(path: &'static str) -> (Server, Arc<Mutex<u32>>) {
    let kept = Arc::new(Mutex::new(0));
    let (number, meeting) = (Arc::clone(&kept), Meeting::of(4));
    let server = Server::new(move |seen| {
        assert!(seen.line.contains(path), "{}", seen.line);
        let mut number = number.lock().expect("no panic");
        let version = format!("\"{number}\"");
        let is_read = seen.line.starts_with("GET");
        let answer = if is_read {
            let headers = LAST_MODIFIED.replace("\"1\"", &version);
            reply(200, &headers, number.to_string())
        } else if seen.header("if-match") == Some(&version) {
            *number = seen.text().parse().expect("a number");
            reply(200, &format!("etag: \"{number}\"\r\n"), "")
        } else {
            let body = "<Error><Code>PreconditionFailed</Code></Error>";
            reply(412, "x-ms-error-code: ConditionNotMet\r\n", body)
        };
        let meeting = meeting.clone();
        async move {
            if is_read {
                meeting.has_read().await;
            }
            answer
        }
    });
    (server, kept)
}

/// Four writers at once, four times. Returns how many conflicts they met together.
pub(crate) async fn sixteen_writes(write: impl AsyncFn() -> u32) -> u32 {
    let mut conflicts = 0;
    for _ in 0..4 {
        let (a, b, c, d) = tokio::join!(write(), write(), write(), write());
        conflicts += a + b + c + d;
    }
    conflicts
}

/// An attempt that is cut is an error of the client's own type.
pub(crate) fn assert_cut<E: From<TimedOut> + Fault + Error + Send + Sync + 'static>() {
    let cut = E::from(TimedOut::new(PATIENCE));
    assert_row("cut", cut, MAYBE_SENT, IfIdempotent);
}
