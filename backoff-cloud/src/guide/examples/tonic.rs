use backoff_cloud::aip194;
use tonic::{body::Body, transport::Endpoint};
use tower::ServiceBuilder;

# async fn f() -> Result<(), tonic::transport::Error> {
let channel = Endpoint::from_static("http://127.0.0.1:8000").connect_lazy();
let layer = aip194::REQUEST
    .layer()
    .idempotent(true) // every call of gRPC is a `POST`; this client only reads
    .replaying(64 * 1024, Body::new); // a message of up to 64 KiB is kept, and sent again
let channel = ServiceBuilder::new().layer(layer).service(channel);
let client = GreeterClient::new(channel); // what tonic's build wrote
# fn is_client<T: tonic::client::GrpcService<Body>>(_: tonic::client::Grpc<T>) {}
# is_client(client); Ok(()) }
