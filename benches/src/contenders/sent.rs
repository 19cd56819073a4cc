//! A `GET` of 200 bytes on loopback: by reqwest alone, by a loop around `try_clone`, and by this project.

use super::ours::POLICY;
use backoff_cloud::http::SendExt as _;
use reqwest::{Client, RequestBuilder};
use std::{future::Future, hint::black_box, net::SocketAddr};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

/// Answers each request on its connections with 200 bytes.
async fn served() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let reply = format!(
        "HTTP/1.1 200 OK\r\ncontent-length: 200\r\n\r\n{}",
        "x".repeat(200)
    );
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = [0; 1024];
            // A request comes in one piece here.
            while stream.read(&mut request).await.is_ok_and(|read| read > 0) {
                if stream.write_all(reply.as_bytes()).await.is_err() {
                    break;
                }
            }
        }
    });
    address
}

fn sends<F: Future<Output = Vec<u8>>>(n: u64, send: impl Fn(RequestBuilder) -> F) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.expect("a runtime").block_on(async {
        let client = Client::builder().no_proxy().build().expect("a client");
        let url = format!("http://{}/", served().await);
        for _ in 0..n {
            assert_eq!(black_box(send(client.get(&url)).await).len(), 200);
        }
    });
}

pub fn plain(n: u64) {
    sends(n, async |request: RequestBuilder| {
        let response = request.send().await.expect("a reply");
        response.bytes().await.expect("a body").to_vec()
    });
}

pub fn by_hand(n: u64) {
    sends(n, async |request: RequestBuilder| {
        loop {
            let copy = request.try_clone().expect("no stream");
            if let Ok(response) = copy.send().await
                && response.status().is_success()
                && let Ok(body) = response.bytes().await
            {
                return body.to_vec();
            }
        }
    });
}

pub fn ours(n: u64) {
    sends(n, async |request| {
        POLICY.send(request).bytes().await.expect("a body")
    });
}
