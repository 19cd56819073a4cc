//! Connects a TCP socket as `connect_retry` of "Advanced Programming in the UNIX Environment" does:
//! a fresh socket for each attempt, and 1, 2, 4, … s between them. Where no socket can be made, both
//! give up at once. Where the last attempt fails, this function does not wait any more.
//!
//! The server is not up yet: it begins to listen a while after the first attempt.

use std::fmt;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use backoff_core::{Event, Policy};
use clap::Parser;
use examples::terminal::say;
use socket2::{Domain, Socket, Type};

/// Connects to a server that is not up yet, with growing waits between the attempts.
#[derive(Parser)]
struct Options {}

/// The factor for all times.
const SHORTENED: f64 = 0.01;

/// Which of the two steps of an attempt failed.
#[derive(Debug)]
enum Failed {
    /// No socket could be made: the process has too many open files, or the family of the address is
    /// not supported. The next attempt would fail too.
    Socket(io::Error),
    /// The server did not accept the connection.
    Connect(io::Error),
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Socket(error) => write!(f, "cannot make a socket: {error}"),
            Self::Connect(error) => write!(f, "cannot connect: {error}"),
        }
    }
}

impl std::error::Error for Failed {}

/// Connects to the address, under the policy.
fn connect_retry(policy: Policy, address: SocketAddr) -> Result<TcpStream, Failed> {
    retry(policy, || {
        let domain = Domain::for_address(address);
        let socket = Socket::new(domain, Type::STREAM, None).map_err(Failed::Socket)?;
        socket.connect(&address.into()).map_err(Failed::Connect)?;
        Ok(socket.into())
    })
}

/// Only a connection that failed is tried again.
fn retry<T>(policy: Policy, attempt: impl FnMut() -> Result<T, Failed>) -> Result<T, Failed> {
    policy
        .when_any(|error: &Failed| matches!(error, Failed::Connect(_)))
        .blocking(attempt)
        .notify(|event: &Event<'_, Failed>| drop(say(&format!("{event}\n"))))
        .call()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    Options::parse();
    let policy = Policy::connect_retry().scaled(SHORTENED);
    say(&format!("{policy}\n"))?;

    // The socket has its port, which no other process can take, and does not listen yet.
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into())?;
    let address = socket.local_addr()?.as_socket();
    let address = address.ok_or("the socket has no address")?;
    // Attempts begin after 0, 1, 3, 7, 15, … s. The fifth one finds the server.
    let up_after = Duration::from_millis(14_500);
    let server = thread::spawn(move || -> io::Result<()> {
        thread::sleep(up_after.mul_f64(SHORTENED));
        socket.listen(1)?;
        let (mut client, _) = TcpListener::from(socket).accept()?;
        client.write_all(b"welcome")
    });

    let mut stream = connect_retry(policy, address)?;
    let mut greeting = String::new();
    stream.read_to_string(&mut greeting)?;
    say(&format!("connected to {address}, which says: {greeting}\n"))?;
    server.join().expect("the server does not panic")?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_connection_is_tried_seven_times_and_a_missing_socket_once() {
        let socket: fn(io::Error) -> Failed = Failed::Socket;
        for (kind, expected) in [(socket, 1), (Failed::Connect, 7)] {
            let mut attempts = 0;
            let failed = retry(Policy::connect_retry().scaled(1e-6), || {
                attempts += 1;
                Err::<(), _>(kind(io::ErrorKind::ConnectionRefused.into()))
            });
            let expected_kind = kind(io::ErrorKind::ConnectionRefused.into());
            assert_eq!(failed.unwrap_err().to_string(), expected_kind.to_string());
            assert_eq!(attempts, expected, "{expected_kind}");
        }
    }
}
