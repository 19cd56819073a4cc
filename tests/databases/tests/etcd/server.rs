//! Starts an etcd on free ports and in a new folder. The etcd ends when its value is dropped.

use std::{
    io,
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering::Relaxed},
    time::Duration,
};

use backoff_cloud::Policy;

use crate::store::Store;

/// How long etcd may take until it answers. It needs about a second, and on a slow machine more.
const UP: Policy = Policy::constant(Duration::from_millis(20)).deadline(Duration::from_secs(120));

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
    /// Starts an etcd, and returns when it answers.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be made, or if etcd is not installed or does not start.
    pub(crate) async fn start() -> io::Result<Self> {
        let number = STARTED.fetch_add(1, Relaxed);
        let name = format!("backoff-etcd-{}-{number}", std::process::id());
        // Another process may take a port before etcd does, which then ends.
        for _ in 0..10 {
            let folder = std::env::temp_dir().join(&name);
            std::fs::create_dir_all(&folder)?;
            let [url, peers] = free_urls()?;
            let mut server = Server {
                process: begin(&name, &folder, &url, &peers)?,
                folder,
                url,
            };
            if server.is_up(&name).await? {
                return Ok(server);
            }
        }
        Err(io::Error::other("etcd ends as soon as it starts"))
    }

    /// Waits until the etcd at the address is the one with this name. `false`: the process has ended.
    async fn is_up(&mut self, name: &str) -> io::Result<bool> {
        let store = Store::new(&self.url, "is it up?").map_err(io::Error::other)?;
        let mut resuming = UP.when_any(|_: &io::Error| true).resuming();
        while self.process.try_wait()?.is_none() {
            let answer = match store.is_named(name).await {
                Ok(true) => return Ok(true),
                Ok(false) => "another etcd answers".to_owned(),
                Err(error) => error.to_string(),
            };
            let error = format!("etcd does not answer at {}: {answer}", self.url);
            resuming.failed(io::Error::other(error)).await?;
        }
        Ok(false)
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

fn begin(name: &str, folder: &Path, url: &str, peers: &str) -> io::Result<Child> {
    Command::new("etcd")
        .args(["--name", name])
        .arg("--data-dir")
        .arg(folder)
        .args(["--listen-client-urls", url, "--advertise-client-urls", url])
        .args(["--listen-peer-urls", peers])
        .args(["--initial-advertise-peer-urls", peers])
        .arg("--initial-cluster")
        .arg(format!("{name}={peers}"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
}

/// The URLs of two ports that were free a moment ago.
fn free_urls() -> io::Result<[String; 2]> {
    let listeners = [
        TcpListener::bind("127.0.0.1:0")?,
        TcpListener::bind("127.0.0.1:0")?,
    ];
    let [first, second] = listeners.map(|it| it.local_addr());
    Ok([format!("http://{}", first?), format!("http://{}", second?)])
}
