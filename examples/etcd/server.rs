//! Starts an etcd on free ports and in a new folder. The etcd ends when its value is dropped.

use std::{
    io::{self, ErrorKind},
    net::TcpListener,
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering::Relaxed},
    time::Duration,
};

use backoff_cloud::{Policy, http::ApiError};

use crate::store::Store;

/// How long etcd may take until it answers. It needs about a second.
const UP: Policy = Policy::constant(Duration::from_millis(20)).deadline(Duration::from_secs(20));

/// How many servers this process has started so far.
static STARTED: AtomicU32 = AtomicU32::new(0);

/// An etcd that ends when this value is dropped.
pub(crate) struct Server {
    process: Child,
    folder: PathBuf,
    /// Its address, as `http://127.0.0.1:PORT`.
    pub(crate) url: String,
}

impl Server {
    /// Starts an etcd, and returns when it answers. Returns `None` if etcd is not installed.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be made or if etcd does not start.
    pub(crate) async fn start() -> io::Result<Option<Self>> {
        let number = STARTED.fetch_add(1, Relaxed);
        let folder = format!("backoff-etcd-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        std::fs::create_dir_all(&folder)?;
        let [url, peers] = free_urls()?;
        let process = Command::new("etcd")
            .arg("--data-dir")
            .arg(&folder)
            .args([
                "--listen-client-urls",
                &url,
                "--advertise-client-urls",
                &url,
            ])
            .args([
                "--listen-peer-urls",
                &peers,
                "--initial-advertise-peer-urls",
                &peers,
            ])
            .arg("--initial-cluster")
            .arg(format!("default={peers}"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let process = match process {
            Ok(process) => process,
            Err(error) => {
                std::fs::remove_dir_all(&folder)?;
                let is_missing = error.kind() == ErrorKind::NotFound;
                return if is_missing { Ok(None) } else { Err(error) };
            }
        };
        let server = Server {
            process,
            folder,
            url,
        };
        server.is_up().await.map_err(|error| {
            io::Error::other(format!("etcd does not answer at {}: {error}", server.url))
        })?;
        Ok(Some(server))
    }

    async fn is_up(&self) -> Result<(), ApiError> {
        let store = Store::new(&self.url, "is it up?")?;
        UP.retry(|| store.read()).await.map(drop)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Nobody can handle a failure here.
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// The URLs of two ports that are free.
fn free_urls() -> io::Result<[String; 2]> {
    let listeners = [
        TcpListener::bind("127.0.0.1:0")?,
        TcpListener::bind("127.0.0.1:0")?,
    ];
    let [first, second] = listeners.map(|it| it.local_addr());
    Ok([format!("http://{}", first?), format!("http://{}", second?)])
}
