use backoff_cloud::retry;
use smol::{io::AsyncReadExt as _, net::TcpStream};

#[retry(base = "5ms", max_attempts = 5, deadline = "30s")]
async fn greeting(address: &str) -> std::io::Result<[u8; 5]> {
    let mut text = [0; 5];
    TcpStream::connect(address).await?.read_exact(&mut text).await?;
    Ok(text)
}

// smol::block_on(greeting("127.0.0.1:7000"))?
