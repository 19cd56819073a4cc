//! A server of HTTP/2 that refuses requests, goes away and breaks connections as a test asks; also for gRPC.

use crate::clients::server::listener;
use h2_04::server::{Connection, SendResponse};
use http_1::{HeaderMap, Response};
use std::{io, net::SocketAddr};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

/// What becomes of a call.
#[derive(Clone)]
pub(crate) enum Act {
    /// A reply of nothing but headers, as gRPC's errors are.
    Headers(HeaderMap),
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

/// Does so with every call, until the test's runtime ends.
pub(crate) async fn serve(act: Act) -> SocketAddr {
    let listener = listener().await;
    let address = listener.local_addr().expect("its address");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let act = act.clone();
            tokio::spawn(async move {
                match act {
                    Act::Headers(headers) => reply(stream, headers).await.ok(),
                    Act::Frames(frames) => {
                        let stream = send(stream, frames).await;
                        std::future::pending::<()>().await;
                        stream.map(drop).ok()
                    }
                    Act::FramesAndClose(frames) => send(stream, frames).await.map(drop).ok(),
                }
            });
        }
    });
    address
}

async fn reply(stream: TcpStream, headers: HeaderMap) -> Result<(), h2_04::Error> {
    let mut connection: Connection<_, _> = h2_04::server::handshake(stream).await?;
    while let Some(call) = connection.accept().await {
        let (_request, mut respond): (_, SendResponse<_>) = call?;
        let mut response = Response::new(());
        headers.clone_into(response.headers_mut());
        respond.send_response(response, true)?;
    }
    Ok(())
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
