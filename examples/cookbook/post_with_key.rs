//! A POST to Stripe that is sent again after a failure, and makes one payment intent: all attempts have the same
//! `Idempotency-Key`.
//!
//! ```toml
//! [dependencies]
//! backoff-cloud = { version = "0.1", features = ["http"] }
//! reqwest = { version = "0.13", features = ["form"] }
//! serde_json = "1"
//! tokio = { version = "1", features = ["macros", "rt-multi-thread"] }
//! ```

use backoff_cloud::http::{ApiError, SendExt as _};
use backoff_cloud::plain_http;
use reqwest::Client;
use serde_json::Value;
use std::{env, error::Error, time::Duration};

/// The payment intent of an order. The key is made from the order, so a program that starts again after a crash makes no
/// second one, as long as Stripe keeps the key (a day at least). If nothing in your program has an id, write `.idempotency_key()` after `send`: a random key for each call.
pub async fn pay(
    client: &Client,
    api: &str,
    secret: &str,
    order: &str,
    cents: u32,
) -> Result<Value, ApiError> {
    let post = client
        .post(format!("{api}/v1/payment_intents"))
        .bearer_auth(secret)
        .header("Idempotency-Key", format!("order-{order}"))
        .form(&[("amount", &*cents.to_string()), ("currency", "eur")]);
    plain_http::BY_METHOD
        .send(post)
        .json()
        .attempt_timeout(Duration::from_secs(30))
        .timeout(Duration::from_secs(120))
        .await
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let secret = env::var("STRIPE_SECRET_KEY")?;
    let order = env::args().nth(1).ok_or("usage: post_with_key ORDER")?;
    let payment = pay(
        &Client::new(),
        "https://api.stripe.com",
        &secret,
        &order,
        1999,
    )
    .await?;
    println!("{} {}", payment["id"], payment["status"]);
    Ok(())
}
