//! The program of the guide whose service states its quotas, in virtual time.

use crate::server::{Act, Seen, Server, client, reply};
use serde_json::{Value, json};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::time::{Instant, sleep};

#[allow(dead_code, unreachable_pub, reason = "a program of its own")]
mod llm {
    include!("../../../../backoff-cloud/src/guide/examples/llm.rs");
}

/// What a service has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Count {
    requests: u32,
    refused: u32,
    tokens: u32,
}

/// A limit for each minute, which is refilled steadily.
struct Bucket {
    limit: f64,
    left: f64,
}

/// A service as OpenAI's.
struct OpenAi {
    /// Of requests and of tokens.
    buckets: [Bucket; 2],
    at: Instant,
    /// How many requests can be paid.
    money: u32,
    count: Count,
}

const MINUTE: f64 = 60.0;
/// How long an answer takes.
const WORK: Duration = Duration::from_secs(1);

impl OpenAi {
    fn new(money: u32) -> Arc<Mutex<Self>> {
        let buckets = [500.0, 200_000.0].map(|limit| Bucket { limit, left: limit });
        Arc::new(Mutex::new(OpenAi {
            buckets,
            at: Instant::now(),
            money,
            count: Count::default(),
        }))
    }

    fn start(this: &Arc<Mutex<Self>>) -> Server {
        let this = this.clone();
        Server::in_virtual_time(WORK / 100, move |seen: &Seen| {
            let reply = this.lock().unwrap().reply(seen);
            async move {
                sleep(WORK).await;
                reply
            }
        })
    }

    fn reply(&mut self, seen: &Seen) -> Act {
        let body: Value = serde_json::from_slice(&seen.body).expect("JSON");
        let prompt = body["messages"][0]["content"].as_str().expect("a prompt");
        let longest = body["max_completion_tokens"].as_u64().expect("a limit");
        let uses = [1.0, (prompt.len() / 4) as f64 + longest as f64];
        let passed = self.at.elapsed().as_secs_f64();
        self.at = Instant::now();
        let mut missing: f64 = 0.0;
        for (bucket, uses) in self.buckets.iter_mut().zip(uses) {
            bucket.left = (bucket.left + passed * bucket.limit / MINUTE).min(bucket.limit);
            missing = missing.max((uses - bucket.left) / bucket.limit * MINUTE);
        }
        let is_paid = self.count.requests - self.count.refused < self.money;
        self.count.requests += 1;
        let is_refused = missing > 0.0 || !is_paid;
        if is_refused {
            self.count.refused += 1;
        } else {
            self.count.tokens += uses[1] as u32;
            for (bucket, uses) in self.buckets.iter_mut().zip(uses) {
                bucket.left -= uses;
            }
        }
        let mut headers = String::new();
        for (bucket, unit) in self.buckets.iter().zip(["requests", "tokens"]) {
            let reset = (bucket.limit - bucket.left) / bucket.limit * MINUTE * 1e3;
            headers += &format!(
                "x-ratelimit-limit-{unit}: {}\r\nx-ratelimit-remaining-{unit}: {}\r\n\
                 x-ratelimit-reset-{unit}: {}ms\r\n",
                bucket.limit,
                bucket.left.floor(),
                reset.ceil()
            );
        }
        let code = match is_paid {
            true => "rate_limit_exceeded",
            false => "insufficient_quota",
        };
        if is_paid && is_refused {
            headers += &format!("retry-after-ms: {}\r\n", (missing * 1e3).ceil());
        }
        match is_refused {
            true => reply(429, &headers, json!({"error": {"code": code}}).to_string()),
            false if body["stream"] == true => reply(
                200,
                &headers,
                "data: {\"choices\": [{\"delta\": {\"content\": \"4\"}}]}\n\ndata: [DONE]\n\n",
            ),
            false => reply(
                200,
                &headers,
                r#"{"choices": [{"message": {"content": "4"}}]}"#,
            ),
        }
    }
}

fn llm(server: &Server) -> llm::Llm {
    llm::Llm {
        client: client(),
        url: server.url("v1/chat/completions"),
        key: "key".to_owned(),
    }
}

/// Short prompts, for which the requests are scarce, and then long ones, for which the tokens are.
fn prompts() -> Vec<String> {
    let prompts = (0..1_000).map(|n| {
        if n < 700 {
            60 + n % 60
        } else {
            2_000 + n % 2_000
        }
    });
    prompts.map(|length| "a".repeat(length)).collect()
}

/// A server of the test would make the clock go slowly.
async fn rate_switches_itself_off() {
    sleep(Duration::from_secs(600)).await;
}

/// 50 requests at a time, with 500 requests and 200,000 tokens a minute, which need 69 s.
#[tokio::test(start_paused = true)]
async fn a_batch_of_prompts_keeps_both_limits_without_a_refusal() {
    let service = OpenAi::new(u32::MAX);
    let server = OpenAi::start(&service);
    let start = Instant::now();
    let answers = llm(&server).batch(prompts(), 50).await.expect("money");
    assert!(answers.len() == 1_000 && answers.iter().all(|(_, answer)| answer.is_ok()));
    let (took, count) = (start.elapsed().as_secs_f64(), service.lock().unwrap().count);
    assert_eq!((count.requests, count.refused), (1_000, 0));
    assert!(took < 90.0, "{took}");
    drop(server);
    rate_switches_itself_off().await;
    // When no money is left, the batch ends, and no request is sent again.
    let service = OpenAi::new(100);
    let server = OpenAi::start(&service);
    let ended = llm(&server)
        .batch(prompts(), 50)
        .await
        .expect_err("no money");
    assert_eq!(ended.service_code(), Some("insufficient_quota"));
    sleep(10 * WORK).await;
    let count = service.lock().unwrap().count;
    assert!(count.requests <= 150, "{count:?}");
    drop(server);
    rate_switches_itself_off().await;
    // Other codes end only the call of their prompt.
    let server = Server::in_virtual_time(WORK / 100, |_: &Seen| async {
        sleep(WORK).await;
        reply(503, "", r#"{"error": {"code": "server_is_overloaded"}}"#)
    });
    let answers = llm(&server).batch(prompts()[..3].to_vec(), 2).await;
    let mut answers = answers.expect("money").into_iter();
    assert!(answers.len() == 3 && answers.all(|(_, answer)| answer.is_err()));
    assert_eq!(server.requests(), 9);
    drop(server);
    rate_switches_itself_off().await;
    // The rate hears what a stream states. 50 streams use 760,000 tokens, one after the other.
    let service = OpenAi::new(u32::MAX);
    let server = OpenAi::start(&service);
    let (start, mut streamed) = (Instant::now(), String::new());
    let llm = llm(&server);
    for _ in 0..50 {
        let show = |piece: &str| streamed += piece;
        llm.stream(&"a".repeat(60_000), show)
            .await
            .expect("an answer");
    }
    let (took, count) = (start.elapsed().as_secs_f64(), service.lock().unwrap().count);
    assert_eq!((count.requests, count.refused), (50, 0));
    assert!((160.0..190.0).contains(&took), "{took}");
    assert_eq!(streamed, "4".repeat(50));
}
