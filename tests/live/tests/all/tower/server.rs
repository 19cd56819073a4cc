//! Servers on the loopback address that answer as a script says, and keep the requests.

use h2_04::server::SendResponse;
use http_1::{HeaderMap, HeaderValue, Response};
use hyper_1::body::Bytes;
use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

/// The requests that a server got, as text: the request line and the body.
pub(crate) type Asked = Arc<Mutex<Vec<String>>>;

/// How a server answers.
#[derive(Clone, Copy)]
pub(crate) enum Answer {
    /// With this status and these lines of headers.
    Status(u16, &'static str),
    /// Not at all: the connection is closed when the request was read.
    Closes,
}

async fn listener() -> TcpListener {
    let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
    bound.expect("a port on loopback")
}

/// A server of HTTP/1 that answers so, one request after the other, and the last way from then on.
pub(crate) async fn serve(answers: &'static [Answer]) -> (SocketAddr, Asked) {
    let (listener, asked) = (listener().await, Asked::default());
    let address = listener.local_addr().expect("its address");
    let keeps = asked.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let _ = answer(stream, &keeps, answers).await;
        }
    });
    (address, asked)
}

async fn answer(mut stream: TcpStream, asked: &Asked, answers: &[Answer]) -> io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    let head = String::from_utf8_lossy(&head).to_ascii_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().expect("a number"))];
    stream.read_exact(&mut body).await?;
    let line = head
        .lines()
        .next()
        .unwrap_or_default()
        .replace(" http/1.1", "");
    let number = {
        let mut asked = asked.lock().unwrap();
        asked.push(format!("{line} {}", String::from_utf8_lossy(&body)));
        asked.len()
    };
    if let Answer::Status(status, headers) = answers[number.min(answers.len()) - 1] {
        let reply = format!(
            "HTTP/1.1 {status} \r\nconnection: close\r\ncontent-length: 0\r\n{headers}\r\n"
        );
        stream.write_all(reply.as_bytes()).await?;
    }
    stream.shutdown().await
}

/// A server of gRPC that answers with these codes, and then with an empty message. It keeps the bytes of
/// the messages.
pub(crate) async fn serve_grpc(codes: &'static [u16]) -> (SocketAddr, Asked) {
    let (listener, asked) = (listener().await, Asked::default());
    let address = listener.local_addr().expect("its address");
    let keeps = asked.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let keeps = keeps.clone();
            tokio::spawn(async move { answer_grpc(stream, keeps, codes).await.ok() });
        }
    });
    (address, asked)
}

async fn answer_grpc(stream: TcpStream, asked: Asked, codes: &[u16]) -> Result<(), h2_04::Error> {
    let mut connection = h2_04::server::handshake(stream).await?;
    while let Some(call) = connection.accept().await {
        let (request, mut respond): (_, SendResponse<Bytes>) = call?;
        let (asked, codes) = (asked.clone(), codes.to_vec());
        tokio::spawn(async move {
            let (path, mut body) = (request.uri().path().to_owned(), request.into_body());
            let mut message = Vec::new();
            while let Some(chunk) = body.data().await {
                message.extend_from_slice(&chunk?);
            }
            let number = {
                let mut asked = asked.lock().unwrap();
                asked.push(format!("{path} {message:?}"));
                asked.len()
            };
            let mut response = Response::new(());
            let headers = response.headers_mut();
            headers.insert("content-type", HeaderValue::from_static("application/grpc"));
            if let Some(code) = codes.get(number - 1) {
                headers.insert("grpc-status", HeaderValue::from(*code));
                headers.insert("grpc-retry-pushback-ms", HeaderValue::from_static("5"));
                return respond.send_response(response, true).map(drop);
            }
            let mut reply = respond.send_response(response, false)?;
            reply.send_data(Bytes::from_static(&[0; 5]), false)?;
            let mut trailers = HeaderMap::new();
            trailers.insert("grpc-status", HeaderValue::from(0_u16));
            reply.send_trailers(trailers)
        });
    }
    Ok(())
}
