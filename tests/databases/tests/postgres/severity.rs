//! The severity of a server's error, which only one of the clients reports. The server is a few lines of
//! test code, because a real server cannot be made to give these answers.

use std::io;

use backoff_cloud::{Fault, FaultKind};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::session::{Says, Session};
use crate::{Tested, sqlx, tokio_postgres};

/// A server that lets everybody in, and answers each query by this error.
async fn refusing(severity: &'static str, code: &'static str) -> io::Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let port = listener.local_addr()?.port();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            // The client may hang up.
            tokio::spawn(refuse(client, severity, code));
        }
    });
    Ok(port)
}

async fn refuse(mut client: TcpStream, severity: &str, code: &str) -> io::Result<()> {
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

async fn said<S: Session>(
    severity: &'static str,
    code: &'static str,
) -> Result<S::Error, S::Error> {
    let port = refusing(severity, code).await.expect("a free port");
    let refused = S::open(port).await?.say("SELECT 1").await;
    Ok(refused.expect_err("it refuses all"))
}

#[tokio::test]
async fn an_error_in_the_protocol_is_permanent_and_a_pooler_without_a_server_is_not() -> Tested {
    let wrong = said::<tokio_postgres::Client>("ERROR", "08P01").await?;
    Says::permanent("08P01").told_by::<tokio_postgres::Client, ()>(Err(wrong));
    let away = said::<tokio_postgres::Client>("FATAL", "08P01").await?;
    Says::maybe_applied_with("08P01").told_by::<tokio_postgres::Client, ()>(Err(away));
    // sqlx does not tell which it is.
    for severity in ["ERROR", "FATAL"] {
        let error = said::<sqlx::PgConnection>(severity, "08P01").await?;
        Says::maybe_applied_with("08P01").told_by::<sqlx::PgConnection, ()>(Err(error));
    }
    Ok(())
}

#[tokio::test]
async fn a_session_that_has_ended_is_left_whatever_the_code() -> Tested {
    for (severity, elsewhere) in [("ERROR", false), ("FATAL", true), ("PANIC", true)] {
        let conflict = said::<tokio_postgres::Client>(severity, "40001").await?;
        assert_eq!(conflict.must_reconnect(), elsewhere, "{severity}");
        assert_eq!(conflict.kind(), Some(FaultKind::Conflict), "{severity}");
    }
    Ok(())
}
