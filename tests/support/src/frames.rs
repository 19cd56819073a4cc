//! A server of HTTP/2 that answers by frames, as they are.

use crate::{End, listen};
use std::{future::pending, io, net::SocketAddr};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, copy, sink},
    net::TcpStream,
};

// RFC 9113, section 6: length, type, flags, stream, and what the type asks for.

/// Reset, because it was refused: no part of the first stream was handled.
pub const REFUSED_STREAM: &[u8] = b"\0\0\x04\x03\0\0\0\0\x01\0\0\0\x07";
/// Reset, because it is no longer wanted.
pub const CANCEL: &[u8] = b"\0\0\x04\x03\0\0\0\0\x01\0\0\0\x08";
/// The server goes away; it has handled no stream at all.
pub const GOAWAY_BEFORE: &[u8] = b"\0\0\x08\x07\0\0\0\0\0\0\0\0\0\0\0\0\0";
/// The server goes away; it may have handled the first stream.
pub const GOAWAY_AFTER: &[u8] = b"\0\0\x08\x07\0\0\0\0\0\0\0\0\x01\0\0\0\0";
/// Status 200 and a part of the body; then the stream is reset, as it is where a server panics.
pub const HALF_A_REPLY: &[u8] =
    b"\0\0\x01\x01\x04\0\0\0\x01\x88\0\0\x01\0\0\0\0\0\x01{\0\0\x04\x03\0\0\0\0\x01\0\0\0\x02";

const SETTINGS: &[u8] = b"\0\0\0\x04\0\0\0\0\0";
const SETTINGS_ACK: &[u8] = b"\0\0\0\x04\x01\0\0\0\0";
const PREFACE: usize = 24;
const HEADERS: u8 = 1;

/// When the frames come, and how the connection goes on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Frames {
    /// Before anything is read; then nothing.
    AtOnce(&'static [u8]),
    /// When the first call has come, and how the connection ends.
    Then(&'static [u8], End),
}

/// A server that treats each connection so, until the process ends.
pub fn serve_frames(frames: Frames) -> SocketAddr {
    listen(move |stream| answer(stream, frames))
}

async fn answer(mut stream: TcpStream, frames: Frames) -> io::Result<()> {
    let (frames, end) = match frames {
        Frames::AtOnce(frames) => {
            stream.write_all(&[SETTINGS, frames].concat()).await?;
            // A connection that is closed while the client still sends would be reset.
            return copy(&mut stream, &mut sink()).await.map(drop);
        }
        Frames::Then(frames, end) => (frames, end),
    };
    stream.read_exact(&mut [0; PREFACE]).await?;
    stream.write_all(SETTINGS).await?;
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).await?;
        let [high, middle, low, kind, ..] = head;
        let length = u32::from_be_bytes([0, high, middle, low]);
        stream.read_exact(&mut vec![0; length as usize]).await?;
        if kind == HEADERS {
            break;
        }
    }
    stream.write_all(&[SETTINGS_ACK, frames].concat()).await?;
    match end {
        End::Close => Ok(()),
        _ => pending().await,
    }
}
