//! Connects a TCP socket as `connect_retry` of "Advanced Programming in the UNIX Environment" does:
//! a fresh socket for each attempt, and 1, 2, 4, … s between them.
//!
//! The server is not up yet: it begins to listen a while after the first attempt.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use backoff_core::{Event, Policy};
use clap::Parser;
use examples::terminal::say;

/// Connects to a server that is not up yet, with growing waits between the attempts.
#[derive(Parser)]
struct Options {
    /// With the true waits, 1 s to 32 s, instead of a hundredth of them.
    #[arg(long)]
    real_time: bool,
    /// How many attempts shall find nobody: 1 to 6, since the seventh is the last.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=6))]
    refused: u32,
}

/// The whole of it: any error of the connection is retried.
fn connect_retry(policy: Policy, address: SocketAddr) -> io::Result<TcpStream> {
    policy
        .when_any(|_: &io::Error| true)
        .blocking(|| TcpStream::connect(address))
        .notify(|event: &Event<'_, io::Error>| drop(say(&format!("{event}\n"))))
        .call()
}

fn main() -> io::Result<()> {
    let options = Options::parse();
    let scale = if options.real_time { 1.0 } else { 0.01 };
    let policy = Policy::connect_retry().scaled(scale);
    say(&format!("{policy}\n"))?;

    // A port that nobody listens on: it was just given back.
    let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    // The refused attempts begin after 0, 1, 3, 7, … s; half a second later the server is up.
    let up_after = Duration::from_secs((1 << options.refused) - 1) - Duration::from_millis(500);
    let server = thread::spawn(move || -> io::Result<()> {
        thread::sleep(up_after.mul_f64(scale));
        let (mut client, _) = TcpListener::bind(address)?.accept()?;
        client.write_all(b"welcome")
    });

    let mut stream = connect_retry(policy, address)?;
    let mut greeting = String::new();
    stream.read_to_string(&mut greeting)?;
    say(&format!("connected to {address}, which says: {greeting}\n"))?;
    server.join().expect("the server does not panic")
}
