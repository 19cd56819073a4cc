//! The errors of reqwest and Google's client when TLS fails. The test is in this package, because only this
//! package builds reqwest with TLS.

use google_cloud_gax_1::retry_policy::NeverRetry;
use google_cloud_secretmanager_v1::client::SecretManagerService;
use official::{client, install_tls};
use std::{net::SocketAddr, sync::Arc};
use support::{
    NOT_SENT,
    Repeated::{Always, Never},
    assert_row, listen,
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};
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

/// No handshake, no request. The table of failures has handshakes that are cut.
#[tokio::test]
async fn nothing_was_sent() {
    install_tls();
    let plain = listen(async |mut stream: TcpStream| {
        stream
            .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            .await?;
        stream.read(&mut [0; 1_024]).await.map(drop)
    });
    // No repetition makes it trusted.
    for (row, server, repeated) in [
        ("without TLS", plain, Always),
        ("untrusted", untrusted(), Never),
    ] {
        let url = format!("https://{server}");
        let reqwest = reqwest::Client::builder().retry(reqwest::retry::never());
        let get = reqwest.build().expect("a client").get(&url);
        let error = get.send().await.expect_err(row);
        assert!(error.is_connect(), "{error:?}");
        assert_row(row, error, NOT_SENT, repeated);
        let client = client!(SecretManagerService, url, with_retry_policy(NeverRetry));
        let get = client.get_secret().set_name("projects/p/secrets/s");
        assert_row(row, get.send().await.expect_err(row), NOT_SENT, repeated);
    }
}
