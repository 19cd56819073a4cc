use backoff_cloud::{aip194, retry};
use tonic::{Request, Response, Status};

/// Reads. A function that creates something needs `aip194::NOT_IDEMPOTENT`.
#[retry(policy = aip194::REQUEST, attempt_timeout = "10s", timeout = "60s")]
async fn hello(client: &Client, name: &str) -> Result<String, Status> {
    // A generated client wants `&mut self`; a clone costs little.
    let reply = client.clone().say_hello(Request::new(name.to_owned())).await?;
    Ok(reply.into_inner())
}

/// Stands for the client that tonic's build wrote.
#[derive(Clone)]
struct Client;

impl Client {
    async fn say_hello(&mut self, name: Request<String>) -> Result<Response<String>, Status> {
        Ok(Response::new(format!("Hello {}", name.into_inner())))
    }
}
