//! After a conflict the object is read again.

use backoff_cloud::testing;
use object_store::{RetryConfig, aws::AmazonS3Builder, path::Path};
use std::{collections::VecDeque, sync::Mutex};
use support::{Meeting, RESET, Seen, Server, reply};
use tokio::join;

#[path = "../../cookbook/s3.rs"]
#[allow(dead_code, unreachable_pub, reason = "a program of its own")]
mod program;

/// The list, how often it was written, and what befalls the next writes that are applied.
struct Bucket {
    list: String,
    version: u32,
    faults: VecDeque<support::Act>,
}

impl Bucket {
    fn put(&mut self, seen: &Seen) -> support::Act {
        let if_match = seen.header("if-match").expect("a condition");
        if if_match != format!("\"{}\"", self.version) {
            return reply(412, "", "<Error><Code>PreconditionFailed</Code></Error>");
        }
        (self.list, self.version) = (seen.text(), self.version + 1);
        let written = reply(200, &format!("etag: \"{}\"\r\n", self.version), "");
        self.faults.pop_front().unwrap_or(written)
    }
}

#[tokio::test]
async fn both_names_arrive() {
    // object_store asks for a provider, even on `http://`.
    rustls::crypto::ring::default_provider()
        .install_default()
        .unwrap();
    let _instant = testing::instant();
    let bucket = Mutex::new(Bucket {
        list: "ann\n".to_owned(),
        version: 1,
        faults: [RESET].into(), // of the first write that is applied, the reply is lost
    });
    let meeting = Meeting::of(2);
    let server = Server::new(move |seen: &Seen| {
        let mut bucket = bucket.lock().unwrap();
        let (is_read, act) = match seen.line.starts_with("GET") {
            true => {
                let modified = "last-modified: Sun, 06 Nov 1994 08:49:37 GMT";
                let headers = format!("etag: \"{}\"\r\n{modified}\r\n", bucket.version);
                (true, reply(200, &headers, &bucket.list))
            }
            false => (false, bucket.put(seen)),
        };
        let meeting = meeting.clone();
        async move {
            if is_read {
                meeting.has_read().await;
            }
            act
        }
    });
    let once = RetryConfig {
        max_retries: 0,
        ..RetryConfig::default()
    };
    let store = AmazonS3Builder::new()
        .with_bucket_name("bucket")
        .with_endpoint(format!("http://{}", server.address))
        .with_allow_http(true)
        .with_access_key_id("id")
        .with_secret_access_key("secret")
        .with_retry(once)
        .build()
        .unwrap();
    let list = Path::from("list");
    let both = join!(
        program::add(&store, &list, "cid"),
        program::add(&store, &list, "bob")
    );
    assert!(both.0.is_ok() && both.1.is_ok(), "{both:?}");
    // Two names, a lost reply and a conflict: each of them is followed by a read.
    let seen = server.seen();
    let is_write = |seen: &&Seen| seen.line.starts_with("PUT");
    let writes: Vec<_> = seen.iter().filter(is_write).collect();
    assert_eq!(writes.last().unwrap().text(), "ann\nbob\ncid\n");
    assert_eq!((writes.len(), seen.len()), (3, 7));
}
