//! Second requests for slow ones, over sockets.

use crate::server::{FAST, Server, client, kept};
use backoff_cloud::{
    Hedge,
    http::{SendExt as _, Sending},
    plain_http,
};
use std::{
    future::pending,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::time::sleep;

static SOON: Hedge = Hedge::after(Duration::from_millis(1));

/// The first request has no answer. Also counts the requests, because the server knows only of those that it answers.
fn hangs_once() -> (Server, Arc<AtomicU32>) {
    let requests = Arc::<AtomicU32>::default();
    let counted = requests.clone();
    let server = Server::new(move |_| {
        let hangs = counted.fetch_add(1, Relaxed) == 0;
        async move {
            if hangs {
                pending::<()>().await;
            }
            kept(200, "", "a page")
        }
    });
    (server, requests)
}

#[tokio::test]
async fn a_read_that_hangs_is_answered_by_its_second_request() {
    let forms: [fn(String) -> Sending; 3] = [
        |url| FAST.send(client().get(url)),
        |url| FAST.max_attempts(1).send(client().get(url)),
        |url| FAST.send_with(move || client().get(&url)),
    ];
    for send in forms {
        let (server, requests) = hangs_once();
        let read = send(server.url("")).text().hedge(&SOON).reported();
        let (page, report) = tokio::spawn(read).await.unwrap().unwrap();
        assert_eq!((page.as_str(), report.attempts), ("a page", 1));
        assert_eq!(requests.load(Relaxed), 2);
    }
}

#[tokio::test]
async fn a_write_gets_no_second_request() {
    for method in ["POST", "PUT", "DELETE"] {
        let server = Server::new(|_| async {
            sleep(Duration::from_millis(50)).await;
            kept(200, "", "")
        });
        let write = client().request(method.parse().unwrap(), server.url(""));
        let write = plain_http::BY_METHOD.send(write).idempotency_key();
        write.reply().hedge(&SOON).await.unwrap();
        assert_eq!(server.requests(), 1, "{method}");
    }
}
