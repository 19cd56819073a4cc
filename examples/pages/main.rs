//! Reads a list of many pages from a service that fails now and then, in two ways: the first way begins again
//! with the first page when a page fails; the second way continues with the page that failed.

mod server;

use backoff_cloud::http::{self, ApiError};
use backoff_core::{Policy, Resuming, codes};
use examples::terminal::say;
use server::Service;
use std::{net::SocketAddr, time::Duration};

const POLICY: Policy = Policy::exponential()
    .base(Duration::from_millis(5))
    .on(codes![429, 500..=504]);

/// A page, or the rows that were read so far; and the number of the next page, if there is one.
#[derive(serde::Deserialize)]
struct List {
    rows: Vec<u64>,
    next: Option<u64>,
}

impl List {
    const BEGIN: List = List {
        rows: Vec::new(),
        next: Some(0),
    };

    async fn read_page(
        &mut self,
        client: &reqwest::Client,
        service: SocketAddr,
    ) -> Result<(), ApiError> {
        let number = self.next.unwrap_or_default();
        let url = format!("http://{service}/pages/{number}");
        let page: List = http::json(client.get(url).send().await?).await?;
        self.rows.extend(page.rows);
        self.next = page.next;
        Ok(())
    }

    /// Reads the remaining pages, and tells `resuming` after each page.
    async fn read_on(
        &mut self,
        client: &reqwest::Client,
        service: SocketAddr,
        resuming: &mut Resuming<'_, ApiError>,
    ) -> Result<(), ApiError> {
        while self.next.is_some() {
            self.read_page(client, service).await?;
            resuming.progress();
        }
        Ok(())
    }
}

/// Makes up to five attempts at the whole list.
async fn anew(client: &reqwest::Client, service: SocketAddr) -> Result<Vec<u64>, ApiError> {
    let read = async || {
        let mut list = List::BEGIN;
        while list.next.is_some() {
            list.read_page(client, service).await?;
        }
        Ok(list.rows)
    };
    POLICY.retry(read).await
}

/// Makes up to five attempts at each page.
async fn resumed(client: &reqwest::Client, service: SocketAddr) -> Result<Vec<u64>, ApiError> {
    let (mut list, mut resuming) = (List::BEGIN, POLICY.resuming());
    while let Err(error) = list.read_on(client, service, &mut resuming).await {
        resuming.failed(error).await?;
    }
    Ok(list.rows)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (address, service) = Service::start().await?;
    let client = reqwest::Client::new();
    let tell = |way: &str, outcome: Result<Vec<u64>, ApiError>| {
        let calls = service.take_calls();
        match outcome {
            Ok(rows) => say(&format!("{way}: {} rows in {calls} calls\n", rows.len())),
            Err(error) => say(&format!("{way}: gave up after {calls} calls: {error}\n")),
        }
    };
    tell("from the first page ", anew(&client, address).await)?;
    tell("from the failed page", resumed(&client, address).await)?;
    Ok(())
}
