use backoff_cloud::plain_http;
use http_body_util::Full;
use hyper::body::Bytes;
use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use tower::{Service as _, ServiceBuilder, ServiceExt as _};

# async fn f() -> Result<(), Box<dyn std::error::Error>> {
let client = Client::builder(TokioExecutor::new()).build_http::<Full<Bytes>>();
let mut client = ServiceBuilder::new().layer(plain_http::BY_METHOD.layer()).service(client);

let request = http::Request::put("http://127.0.0.1:8000/a").body(Full::from("text"))?;
let response = client.ready().await?.call(request).await?;
# drop(response); Ok(()) }
