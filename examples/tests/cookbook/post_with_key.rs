//! Every attempt has the key of its order.

use crate::scripted;
use reqwest::Client;
use support::{RESET, reply};

#[path = "../../cookbook/post_with_key.rs"]
#[allow(dead_code, unreachable_pub, reason = "a program of its own")]
mod program;

#[tokio::test(start_paused = true)]
async fn a_payment_has_one_key() {
    let in_use = r#"{"error": {"code": "idempotency_key_in_use"}}"#;
    let server = scripted([
        RESET,
        reply(503, "", ""),
        reply(409, "", in_use),
        reply(200, "", r#"{"id": "pi_1"}"#),
        reply(200, "", r#"{"id": "pi_2"}"#),
    ]);
    let (client, api) = (Client::new(), format!("http://{}", server.address));
    for (order, id) in [("7", "pi_1"), ("8", "pi_2")] {
        let payment = program::pay(&client, &api, "secret", order, 1_999).await;
        assert_eq!(payment.unwrap()["id"], id);
    }
    let keys = ["order-7", "order-7", "order-7", "order-7", "order-8"];
    assert_eq!(server.values("idempotency-key"), keys);
    for seen in server.seen() {
        assert_eq!(seen.line, "POST /v1/payment_intents");
        assert_eq!(seen.text(), "amount=1999&currency=eur");
    }
}
