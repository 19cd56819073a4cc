//! The errors of reqwest and Google's client when TLS fails. The test is in this package, because only this
//! package builds reqwest with TLS.

use backoff_core::{Delivery, Fault, FaultKind, Policy, Verdict};
use google_cloud_gax_1::retry_policy::NeverRetry;
use google_cloud_secretmanager_v1::client::SecretManagerService;
use official::{client, install_tls};
use std::{io, net::SocketAddr, sync::Arc};
use support::listen;
use tokio::{io::AsyncReadExt as _, net::TcpStream};
use tokio_rustls::TlsAcceptor;

/// A server whose certificate nobody has signed but itself.
fn untrusted() -> SocketAddr {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]);
    let rcgen::CertifiedKey { cert, signing_key } = made.expect("a certificate");
    let key = signing_key.serialize_der().try_into().expect("a key");
    let config = rustls::ServerConfig::builder().with_no_client_auth();
    let config = config.with_single_cert(vec![cert.into()], key);
    let acceptor = TlsAcceptor::from(Arc::new(config.expect("a server")));
    listen(move |stream| {
        let handshake = acceptor.accept(stream);
        async move { handshake.await?.read(&mut [0; 1_024]).await.map(drop) }
    })
}

/// The error of a request of this URL.
async fn by_reqwest(url: &str) -> reqwest::Error {
    let client = reqwest::Client::builder().retry(reqwest::retry::never());
    let get = client.build().expect("a client").get(url);
    get.send().await.expect_err("TLS fails")
}

/// No handshake, no request.
fn assert_not_sent(row: &str, error: &(impl Fault + std::fmt::Debug), kind: Option<FaultKind>) {
    let says = (error.delivery(), error.status(), error.kind());
    let not_sent = (Some(Delivery::NotSent), None, kind);
    assert_eq!(says, not_sent, "{row}: {error:?}");
    let careful = Policy::exponential().idempotent(false).judge(error);
    if kind.is_none() {
        assert!(error.must_reconnect(), "{row}: {error:?}");
        assert!(matches!(careful, Verdict::Retry { .. }), "{row}: {error:?}");
    } else {
        assert_eq!(careful, Verdict::Permanent, "{row}: {error:?}");
    }
}

#[tokio::test]
async fn nothing_was_sent() {
    install_tls();
    let permanent = Some(FaultKind::Permanent);
    let plain = listen(async |mut stream: TcpStream| -> io::Result<()> {
        use tokio::io::AsyncWriteExt as _;
        stream
            .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            .await?;
        stream.read(&mut [0; 1_024]).await.map(drop)
    });
    let hasty = listen(async |mut stream: TcpStream| {
        stream.read_exact(&mut [0; 64]).await?;
        stream.set_zero_linger()
    });
    for (row, server, kind) in [
        ("a server without TLS", plain, None),
        ("closed during the handshake", hasty, None),
        // No repetition makes it trusted.
        ("not trusted", untrusted(), permanent),
    ] {
        let url = format!("https://{server}");
        let error = by_reqwest(&url).await;
        assert!(error.is_connect(), "{error:?}");
        assert_not_sent(row, &error, kind);
        let client = client!(SecretManagerService, url, with_retry_policy(NeverRetry));
        let get = client.get_secret().set_name("projects/p/secrets/s");
        assert_not_sent(row, &get.send().await.expect_err(row), kind);
    }
}
