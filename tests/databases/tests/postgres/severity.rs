//! The severity of a server's error, which only one of the clients reports. The server is a few lines of
//! test code, because a real server cannot be made to give these answers.

use std::io;

use backoff_cloud::FaultKind;
use databases::Tested;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::session::{Says, Session};
use crate::{sqlx, tokio_postgres};

/// Lets everybody in, and answers each query by this error.
async fn refuse(mut client: TcpStream, severity: &str, code: String) -> io::Result<()> {
    let ready = message(b'Z', b"I");
    // Of the messages, only the first one has no letter.
    read_rest(&mut client).await?;
    let welcome = [message(b'R', &[0; 4]), ready.clone()].concat();
    client.write_all(&welcome).await?;
    while client.read_u8().await? != b'X' {
        read_rest(&mut client).await?;
        let fields = format!("S{severity}\0V{severity}\0C{code}\0Msaid\0\0");
        let answer = message(b'E', fields.as_bytes());
        client.write_all(&[answer, ready.clone()].concat()).await?;
    }
    Ok(())
}

/// Its length counts itself.
async fn read_rest(client: &mut TcpStream) -> io::Result<()> {
    let length = client.read_u32().await? as usize;
    let mut rest = vec![0; length.saturating_sub(4)];
    client.read_exact(&mut rest).await.map(drop)
}

fn message(letter: u8, content: &[u8]) -> Vec<u8> {
    let length = (content.len() as u32 + 4).to_be_bytes();
    [&[letter], &length[..], content].concat()
}

#[tokio::test]
async fn a_code_says_more_with_its_severity() -> Tested {
    let conflict = |leaves| Says::not_applied("40001", FaultKind::Conflict, leaves);
    for (severity, says) in [
        // An error in the protocol, and a pooler without a server.
        ("ERROR", Says::permanent("08P01")),
        ("FATAL", Says::maybe_applied_with("08P01")),
        // A session that has ended is left whatever the code.
        ("ERROR", conflict(false)),
        ("FATAL", conflict(true)),
        ("PANIC", conflict(true)),
    ] {
        told::<tokio_postgres::Client>(severity, says).await?;
    }
    // sqlx does not tell which it is.
    for severity in ["ERROR", "FATAL"] {
        told::<sqlx::PgConnection>(severity, Says::maybe_applied_with("08P01")).await?;
    }
    Ok(())
}

/// Holds for a server that answers by this code.
async fn told<S: Session>(severity: &'static str, says: Says) -> Tested {
    let code = says.code.clone().ok_or("a code")?;
    let server = support::listen(move |client| refuse(client, severity, code.clone()));
    let refused = S::open(server.port()).await?.say("SELECT 1").await;
    says.told_by::<S, _>(refused);
    Ok(())
}
