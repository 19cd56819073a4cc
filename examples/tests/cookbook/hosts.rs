//! Of twenty hosts, two are down: only their calls are refused, and each refusal names its host.

use backoff_cloud::testing;
use reqwest::{Client, Url};
use support::{Server, nobody, reply};

#[path = "../../cookbook/hosts.rs"]
#[allow(dead_code, unreachable_pub, reason = "a program of its own")]
mod program;

#[tokio::test]
async fn each_host_has_its_breaker() {
    let _instant = testing::instant();
    let client = Client::new();
    let up: Vec<_> = (0..18)
        .map(|_| Server::always(reply(200, "", "page")))
        .collect();
    let down = [nobody(), nobody()];
    for host in down {
        for call in 1..=4 {
            let url = Url::parse(&format!("http://{host}/")).unwrap();
            let error = program::page(&client, url).await.unwrap_err().to_string();
            let refused = format!("the breaker {host} is open");
            // Three calls of five attempts open it.
            assert_eq!(error.contains(&refused), call > 3, "{call}: {error}");
        }
        for server in &up {
            let url = server.url("").parse().unwrap();
            assert_eq!(program::page(&client, url).await.unwrap(), "page");
        }
    }
}
