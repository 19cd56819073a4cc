//! A server of gRPC.

use http_1::{HeaderMap, HeaderValue, Response};
use hyper_1::body::Bytes;
use std::{
    io,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

/// What becomes of a call.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// A reply of nothing but headers, as gRPC's errors are.
    Headers(HeaderMap),
    /// An empty message of gRPC.
    Message,
}

/// The paths and bodies of the calls that a server got, as text.
pub(crate) type Asked = Arc<Mutex<Vec<String>>>;

/// Does this with one call after the other, and the last of it from then on, until the process ends.
pub(crate) fn script(acts: Vec<Act>) -> (SocketAddr, Asked) {
    let (asked, acts) = (Asked::default(), Arc::new(acts));
    let keeps = asked.clone();
    let address = support::listen(move |stream| {
        let (asked, acts) = (keeps.clone(), acts.clone());
        async move {
            let connection = h2_04::server::handshake(stream).await;
            let mut connection = connection.map_err(io::Error::other)?;
            while let Some(Ok((request, mut respond))) = connection.accept().await {
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
                    let ok = [("grpc-status".parse().expect("a name"), 0_u16.into())];
                    reply.send_trailers(HeaderMap::from_iter(ok))
                });
            }
            Ok(())
        }
    });
    (address, asked)
}
