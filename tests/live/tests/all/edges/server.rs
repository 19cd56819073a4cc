//! A server that answers every request with a head. A function writes the rest.

use std::{
    io::{self, BufWriter, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::Arc,
    thread,
};

/// A connection that sends the head together with the beginning of the body: a client that has the one has
/// the other, however slow the machine is.
pub(crate) type Stream = BufWriter<TcpStream>;

/// What a reply's body is written by. A client that hangs up ends it with an error.
pub(crate) type Body = dyn Fn(&mut Stream) -> io::Result<()> + Send + Sync;

/// Answers every request with this head (without the empty line), then the body, and closes the
/// connection. Gives its URL.
pub(crate) fn serve(
    head: impl Into<String>,
    body: impl Fn(&mut Stream) -> io::Result<()> + Send + Sync + 'static,
) -> String {
    let head = Arc::new(head.into());
    let body: Arc<Body> = Arc::new(body);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port on loopback");
    let url = format!("http://{}", listener.local_addr().expect("it is bound"));
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let (head, body) = (head.clone(), body.clone());
            thread::spawn(move || {
                // What the client sends fits into one read.
                let _ = stream.read(&mut [0; 16_384]);
                let mut stream = Stream::with_capacity(65_536, stream);
                let head = format!("HTTP/1.1 {head}\r\nconnection: close\r\n\r\n");
                let _ = stream
                    .write_all(head.as_bytes())
                    .and_then(|()| body(&mut stream));
            });
        }
    });
    url
}

/// Writes a text.
pub(crate) fn text(
    text: impl Into<String>,
) -> impl Fn(&mut Stream) -> io::Result<()> + Send + Sync + 'static {
    let text = text.into();
    move |stream| stream.write_all(text.as_bytes())
}

/// Writes `total` bytes, or as many as the client takes.
pub(crate) fn bytes(total: u64) -> impl Fn(&mut Stream) -> io::Result<()> + Send + Sync + 'static {
    move |stream| {
        let piece = [b'x'; 65_536];
        let mut left = total;
        while left > 0 {
            let now = left.min(piece.len() as u64);
            stream.write_all(&piece[..now as usize])?;
            left -= now;
        }
        Ok(())
    }
}

/// Writes a text, then nothing more, and keeps the connection open until the client closes it.
pub(crate) fn stalls_after(
    beginning: impl Into<String>,
) -> impl Fn(&mut Stream) -> io::Result<()> + Send + Sync + 'static {
    let beginning = text(beginning);
    move |stream| {
        beginning(stream)?;
        stream.flush()?;
        stream.get_mut().read(&mut [0; 1]).map(drop)
    }
}
