//! The errors of reqwest and Google's client when TLS fails. The test is in this package, because only this
//! package builds reqwest with TLS.

use backoff_core::{Delivery, Fault, FaultKind, Policy, Verdict};
use google_cloud_gax_1::retry_policy::NeverRetry;
use google_cloud_secretmanager_v1::client::SecretManagerService;
use official::{credentials, install_tls};
use reqwest::{Client, Error};
use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};
use tokio_rustls::TlsAcceptor;

/// Serves every connection so.
async fn serve<Served>(each: impl Fn(TcpStream) -> Served + Send + 'static) -> SocketAddr
where
    Served: Future<Output = std::io::Result<()>> + Send + 'static,
{
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
    let listener = listener.expect("a port on loopback");
    let address = listener.local_addr().expect("its address");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(each(stream));
        }
    });
    address
}

async fn failure(server: SocketAddr) -> Error {
    install_tls();
    let client = Client::builder().retry(reqwest::retry::never()).build();
    let get = client.expect("a client").get(format!("https://{server}/"));
    get.send().await.expect_err("TLS fails")
}

/// No handshake, no request: it was surely not sent, and may be made again by everybody.
fn assert_not_sent(error: &Error) {
    assert!(error.is_connect(), "{error:?}");
    assert_eq!(error.delivery(), Some(Delivery::NotSent), "{error:?}");
    assert_eq!((error.status(), error.kind()), (None, None));
    assert!(error.must_reconnect());
    let careful = Policy::exponential().idempotent(false);
    assert!(
        matches!(careful.judge(error), Verdict::Retry { .. }),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_server_without_tls() {
    let plain = serve(async |mut stream: TcpStream| {
        stream
            .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            .await?;
        stream.read(&mut [0; 1_024]).await.map(drop)
    });
    assert_not_sent(&failure(plain.await).await);
}

#[tokio::test]
async fn closed_during_the_handshake() {
    let hasty = serve(async |mut stream: TcpStream| {
        stream.read_exact(&mut [0; 64]).await?;
        stream.set_zero_linger()
    });
    assert_not_sent(&failure(hasty.await).await);
}

/// A server whose certificate nobody has signed but itself.
async fn untrusted() -> SocketAddr {
    drop(credentials());
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]);
    let rcgen::CertifiedKey { cert, signing_key } = made.expect("a certificate");
    let key = signing_key.serialize_der().try_into().expect("a key");
    let config = rustls::ServerConfig::builder().with_no_client_auth();
    let config = config
        .with_single_cert(vec![cert.into()], key)
        .expect("a server");
    let acceptor = TlsAcceptor::from(Arc::new(config));
    serve(move |stream| {
        let handshake = acceptor.accept(stream);
        async move { handshake.await?.read(&mut [0; 1_024]).await.map(drop) }
    })
    .await
}

#[tokio::test]
async fn a_certificate_that_is_not_trusted() {
    let error = failure(untrusted().await).await;
    assert!(error.is_connect());
    assert_eq!(error.delivery(), Some(Delivery::NotSent));
    // No repetition makes it trusted.
    assert_eq!(error.kind(), Some(FaultKind::Permanent), "{error:?}");
    assert_eq!(Policy::exponential().judge(&error), Verdict::Permanent);
}

#[tokio::test]
async fn a_certificate_that_is_not_trusted_seen_by_googles_client() {
    let client = SecretManagerService::builder()
        .with_endpoint(format!("https://{}", untrusted().await))
        .with_credentials(credentials())
        .with_retry_policy(NeverRetry);
    let client = client.build().await.expect("nothing is sent yet");
    let get = client.get_secret().set_name("projects/p/secrets/s");
    let error = get.send().await.expect_err("TLS fails");
    assert_eq!(error.delivery(), Some(Delivery::NotSent));
    assert_eq!(error.kind(), Some(FaultKind::Permanent), "{error:?}");
    assert_eq!(Policy::exponential().judge(&error), Verdict::Permanent);
}
