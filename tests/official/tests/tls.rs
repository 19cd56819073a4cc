//! The errors of reqwest and Google's client when TLS fails. The test is in this package, because only this
//! package builds reqwest with TLS.

use backoff_core::{Delivery, Fault, FaultKind, Policy, Verdict};
use google_cloud_gax_1::retry_policy::NeverRetry;
use google_cloud_secretmanager_v1::client::SecretManagerService;
use official::{client, install_tls};
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

/// A server whose certificate nobody has signed but itself.
async fn untrusted() -> SocketAddr {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]);
    let rcgen::CertifiedKey { cert, signing_key } = made.expect("a certificate");
    let key = signing_key.serialize_der().try_into().expect("a key");
    let config = rustls::ServerConfig::builder().with_no_client_auth();
    let config = config.with_single_cert(vec![cert.into()], key);
    let acceptor = TlsAcceptor::from(Arc::new(config.expect("a server")));
    serve(move |stream| {
        let handshake = acceptor.accept(stream);
        async move { handshake.await?.read(&mut [0; 1_024]).await.map(drop) }
    })
    .await
}

async fn by_reqwest(server: SocketAddr) -> reqwest::Error {
    let client = reqwest::Client::builder().retry(reqwest::retry::never());
    let client = client.build().expect("a client");
    let get = client.get(format!("https://{server}/"));
    let error = get.send().await.expect_err("TLS fails");
    assert!(error.is_connect(), "{error:?}");
    error
}

/// The error of a request through this proxy.
async fn by_proxy(proxy: SocketAddr) -> reqwest::Error {
    let proxy = reqwest::Proxy::all(format!("http://{proxy}")).expect("a proxy");
    let client = reqwest::Client::builder().proxy(proxy);
    let client = client.retry(reqwest::retry::never()).build();
    let get = client.expect("a client").get("https://a.example/");
    get.send().await.expect_err("no tunnel")
}

async fn by_google(server: SocketAddr) -> google_cloud_gax_1::error::Error {
    let url = format!("https://{server}");
    let client = client!(SecretManagerService, url, with_retry_policy(NeverRetry));
    let get = client.get_secret().set_name("projects/p/secrets/s");
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
    let plain = serve(async |mut stream: TcpStream| {
        let said = b"HTTP/1.1 400 Bad Request\r\n\r\n";
        stream.write_all(said).await?;
        stream.read(&mut [0; 1_024]).await.map(drop)
    });
    let hasty = serve(async |mut stream: TcpStream| {
        stream.read_exact(&mut [0; 64]).await?;
        stream.set_zero_linger()
    });
    for (row, server, kind) in [
        ("a server without TLS", plain.await, None),
        ("closed during the handshake", hasty.await, None),
        // No repetition makes it trusted.
        ("not trusted", untrusted().await, Some(FaultKind::Permanent)),
    ] {
        assert_not_sent(row, &by_reqwest(server).await, kind);
        assert_not_sent(row, &by_google(server).await, kind);
    }
}

/// No wait gives a program the password of its proxy.
#[tokio::test]
async fn a_proxy_makes_no_tunnel() {
    install_tls();
    for (said, kind) in [
        (&b"HTTP/1.1 407 \r\n\r\n"[..], Some(FaultKind::Permanent)),
        (&b"HTTP/1.1 502 \r\n\r\n"[..], None),
    ] {
        let proxy = serve(move |mut stream: TcpStream| async move {
            let _part = stream.read(&mut [0; 1_024]).await?;
            stream.write_all(said).await?;
            stream.read(&mut [0; 1_024]).await.map(drop)
        });
        assert_not_sent("a proxy", &by_proxy(proxy.await).await, kind);
    }
}
