//! The first program of the README: a call that is retried, and the server that it calls.

use backoff_cloud::{http, http::ApiError, retry};
use serde_json::Value;
use std::{io::prelude::*, net::TcpListener, thread};

#[retry(max_backoff = "64s", deadline = "300s", on = [429, 500..=504], notify = |e| eprintln!("{e}"))]
async fn book(url: &str) -> Result<Value, ApiError> {
    http::json(reqwest::get(url).await?).await
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = TcpListener::bind("127.0.0.1:0")?;
    let url = format!("http://{}/books/7", server.local_addr()?);
    thread::spawn(move || serve(&server));
    println!("{}", book(&url).await?);
    Ok(())
}

fn serve(server: &TcpListener) -> std::io::Result<()> {
    for (head, body) in [("503 Busy\r\nretry-after: 1", ""), ("200 OK", "{\"id\":7}")] {
        let mut client = server.accept()?.0;
        let _ = client.read(&mut [0; 1024])?;
        write!(
            client,
            "HTTP/1.1 {head}\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )?;
    }
    Ok(())
}
