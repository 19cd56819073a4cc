//! A server of HTTP/2 that refuses requests, goes away and breaks connections as a test asks; also for gRPC.

use crate::server::{THREADS, listener};
use h2_04::server::SendResponse;
use http_1::{HeaderMap, HeaderValue, Response};
use hyper_1::body::Bytes;
use std::{
    io,
    net::SocketAddr,
    sync::{Arc, Mutex},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, copy, sink},
    net::TcpStream,
};

/// What becomes of a call.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// A reply of nothing but headers, as gRPC's errors are.
    Headers(HeaderMap),
    /// An empty message of gRPC.
    Message,
    /// These frames before anything is read, and then nothing.
    FramesAtOnce(&'static [u8]),
    /// These frames, and then nothing.
    Frames(&'static [u8]),
    /// These frames, and the connection is closed.
    FramesAndClose(&'static [u8]),
}

// RFC 9113, section 6: length, type, flags, stream, and what the type asks for.

/// Reset, because it was refused: no part of the first stream was handled.
pub(crate) const REFUSED_STREAM: &[u8] = b"\0\0\x04\x03\0\0\0\0\x01\0\0\0\x07";
/// Reset, because it is no longer wanted.
pub(crate) const CANCEL: &[u8] = b"\0\0\x04\x03\0\0\0\0\x01\0\0\0\x08";
/// The server goes away; it has handled no stream at all.
pub(crate) const GOAWAY_BEFORE: &[u8] = b"\0\0\x08\x07\0\0\0\0\0\0\0\0\0\0\0\0\0";
/// The server goes away; it may have handled the first stream.
pub(crate) const GOAWAY_AFTER: &[u8] = b"\0\0\x08\x07\0\0\0\0\0\0\0\0\x01\0\0\0\0";
/// Status 200 and a part of the body; then the stream is reset, as it is where a server panics.
pub(crate) const HALF_A_REPLY: &[u8] =
    b"\0\0\x01\x01\x04\0\0\0\x01\x88\0\0\x01\0\0\0\0\0\x01{\0\0\x04\x03\0\0\0\0\x01\0\0\0\x02";
/// Status 200, and the stream ends where gRPC's last word should come: HTTP/2 has no complaint.
pub(crate) const NO_TRAILERS: &[u8] = b"\0\0\x01\x01\x04\0\0\0\x01\x88\0\0\0\0\x01\0\0\0\x01";
/// Status 200 and the first 6 of the 14 bytes of a message, at which the stream ends.
pub(crate) const HALF_A_MESSAGE: &[u8] =
    b"\0\0\x01\x01\x04\0\0\0\x01\x88\0\0\x06\0\x01\0\0\0\x01\0\0\0\0\x09{";

const SETTINGS: &[u8] = b"\0\0\0\x04\0\0\0\0\0";
const SETTINGS_ACK: &[u8] = b"\0\0\0\x04\x01\0\0\0\0";
const PREFACE: usize = 24;
const HEADERS: u8 = 1;

/// The paths and bodies of the calls of gRPC that a server got, as text.
pub(crate) type Asked = Arc<Mutex<Vec<String>>>;

/// Does so with every call, until the process ends.
pub(crate) fn serve(act: Act) -> SocketAddr {
    script([act]).0
}

/// Does this with one call after the other, and the last of it from then on.
pub(crate) fn script(acts: impl Into<Vec<Act>>) -> (SocketAddr, Asked) {
    let ((listener, address), asked) = (listener(), Asked::default());
    let (keeps, acts) = (asked.clone(), Arc::new(acts.into()));
    THREADS.spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (keeps, acts) = (keeps.clone(), acts.clone());
            tokio::spawn(async move {
                match acts[0] {
                    Act::FramesAtOnce(frames) => {
                        let _open = send_at_once(stream, frames).await;
                        std::future::pending().await
                    }
                    Act::Frames(frames) => {
                        let _open = send(stream, frames).await;
                        std::future::pending().await
                    }
                    Act::FramesAndClose(frames) => send(stream, frames).await.map(drop).ok(),
                    _ => answer(stream, &keeps, &acts).await.ok(),
                }
            });
        }
    });
    (address, asked)
}

async fn answer(
    stream: TcpStream,
    asked: &Asked,
    acts: &Arc<Vec<Act>>,
) -> Result<(), h2_04::Error> {
    let mut connection = h2_04::server::handshake(stream).await?;
    while let Some(call) = connection.accept().await {
        let (request, mut respond): (_, SendResponse<Bytes>) = call?;
        let (asked, acts) = (asked.clone(), acts.clone());
        tokio::spawn(async move {
            let (path, mut body) = (request.uri().path().to_owned(), request.into_body());
            let mut message = Vec::new();
            while let Some(chunk) = body.data().await {
                message.extend_from_slice(&chunk?);
            }
            let number = {
                let mut asked = asked.lock().expect("no panic in it");
                asked.push(format!("{path} {message:?}"));
                asked.len()
            };
            let mut response = Response::new(());
            if let Act::Headers(headers) = &acts[number.min(acts.len()) - 1] {
                headers.clone_into(response.headers_mut());
                return respond.send_response(response, true).map(drop);
            }
            let grpc = HeaderValue::from_static("application/grpc");
            response.headers_mut().insert("content-type", grpc);
            let mut reply = respond.send_response(response, false)?;
            reply.send_data(Bytes::from_static(&[0; 5]), false)?;
            let ok = HeaderMap::from_iter([("grpc-status".parse().expect("a name"), 0_u16.into())]);
            reply.send_trailers(ok)
        });
    }
    Ok(())
}

/// Sends these frames, and reads what comes: a connection that is closed before would be reset.
async fn send_at_once(mut stream: TcpStream, frames: &[u8]) -> io::Result<TcpStream> {
    stream.write_all(&[SETTINGS, frames].concat()).await?;
    copy(&mut stream, &mut sink()).await?;
    Ok(stream)
}

/// Sends these frames when the first call has come.
async fn send(mut stream: TcpStream, frames: &[u8]) -> io::Result<TcpStream> {
    stream.read_exact(&mut [0; PREFACE]).await?;
    stream.write_all(SETTINGS).await?;
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).await?;
        let [high, middle, low, kind, ..] = head;
        let length = u32::from_be_bytes([0, high, middle, low]);
        let mut payload = vec![0; length as usize];
        stream.read_exact(&mut payload).await?;
        if kind == HEADERS {
            break;
        }
    }
    stream.write_all(SETTINGS_ACK).await?;
    stream.write_all(frames).await?;
    Ok(stream)
}
