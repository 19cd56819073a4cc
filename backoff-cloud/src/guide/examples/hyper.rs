use backoff_cloud::plain_http;
use http_body_util::Full;
use hyper::body::Bytes;
use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use std::time::Duration;
use tower::{BoxError, Service as _, ServiceBuilder, ServiceExt as _};

# async fn f() -> Result<(), BoxError> {
let client = Client::builder(TokioExecutor::new()).build_http::<Full<Bytes>>();
let mut client = ServiceBuilder::new()
    .layer(plain_http::BY_METHOD.layer().attempt_timeout(Duration::from_secs(10)))
    .map_err(BoxError::from) // the error of an attempt that is cut is a `BoxError`
    .service(client);

let request = http::Request::put("http://127.0.0.1:8000/a").body(Full::from("text"))?;
let response = client.ready().await?.call(request).await?;
# drop(response); Ok(()) }
