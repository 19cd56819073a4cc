//! A redis-server of one's own: on a free port, in a folder of its own, gone with its value.

use std::io;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use backoff_core::Policy;
use redis_1 as redis;
use tokio::net::TcpStream;

/// Servers started by this process so far.
static STARTED: AtomicU32 = AtomicU32::new(0);

/// Until something that takes a server a moment has happened.
const SOON: Policy = Policy::constant(Duration::from_millis(10)).deadline(Duration::from_secs(20));

pub(crate) struct Server {
    process: Child,
    port: u16,
    folder: PathBuf,
}

impl Server {
    /// Starts one that keeps nothing on disk and answers as soon as this returns.
    pub(crate) async fn start(arguments: &[&str]) -> io::Result<Self> {
        let number = STARTED.fetch_add(1, Relaxed);
        let folder = format!("backoff-redis-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        std::fs::create_dir_all(&folder)?;
        let port = free_port()?;
        let process = run(port, &folder, arguments)?;
        let server = Server {
            process,
            port,
            folder,
        };
        server.is_up().await?;
        Ok(server)
    }

    /// A primary, and a replica that has all it has.
    pub(crate) async fn pair() -> redis::RedisResult<(Self, Self)> {
        let primary = Self::start(&[]).await?;
        let replica = Self::start(&[]).await?;
        replica
            .say(&format!("REPLICAOF 127.0.0.1 {}", primary.port))
            .await?;
        // Having its first copy is not yet having what came after.
        primary.say("SET ready yes").await?;
        replica.says("GET ready", "yes").await?;
        Ok((primary, replica))
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Sends one command, its words between spaces, on a connection of its own.
    pub(crate) async fn say(&self, command: &str) -> redis::RedisResult<redis::Value> {
        let client = redis::Client::open(("127.0.0.1", self.port))?;
        let mut connection = client.get_multiplexed_async_connection().await?;
        let mut words = command.split(' ');
        let mut command = redis::cmd(words.next().unwrap_or_default());
        command.arg(words.collect::<Vec<_>>());
        command.query_async(&mut connection).await
    }

    /// Asks until the answer contains this.
    pub(crate) async fn says(&self, command: &str, part: &str) -> redis::RedisResult<()> {
        let ask = || async {
            let answer = self.say(command).await?;
            let answer: String = redis::from_redis_value(answer)?;
            Ok::<_, redis::RedisError>(answer)
        };
        let until = SOON.when_any(|_: &redis::RedisError| true);
        until
            .retry(|| async {
                let answer = ask().await?;
                let not_yet = io::Error::other(format!("no `{part}` in `{answer}`"));
                answer
                    .contains(part)
                    .then_some(())
                    .ok_or_else(|| not_yet.into())
            })
            .await
    }

    /// Stops it, so that it neither answers nor closes anything.
    pub(crate) fn freeze(&self) -> io::Result<()> {
        self.signal("STOP")
    }

    /// Lets a frozen one go on.
    #[allow(dead_code, reason = "not every program that has this file does it")]
    pub(crate) fn thaw(&self) -> io::Result<()> {
        self.signal("CONT")
    }

    fn signal(&self, name: &str) -> io::Result<()> {
        let process = self.process.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &process]).status()?;
        sent.success()
            .then_some(())
            .ok_or_else(|| io::Error::other(format!("could not send {name} to {process}")))
    }

    /// Ends it as a crash does, and starts it again on the same port with what it has on disk.
    #[allow(dead_code, reason = "not every program that has this file does it")]
    pub(crate) async fn restart(&mut self, arguments: &[&str]) -> io::Result<()> {
        self.kill();
        self.process = run(self.port, &self.folder, arguments)?;
        self.is_up().await
    }

    /// Ends it as a crash does.
    pub(crate) fn kill(&mut self) {
        // It may have ended already; that is what is asked for.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    /// Accepts no more writes, and returns once the replica has all of them.
    pub(crate) async fn pause_writes_until_copied_to(
        &self,
        replica: &Self,
    ) -> redis::RedisResult<()> {
        self.say("CLIENT PAUSE 5000 WRITE").await?;
        let info = self.say("INFO replication").await?;
        let info: String = redis::from_redis_value(info)?;
        let offset = info
            .lines()
            .find_map(|line| line.strip_prefix("master_repl_offset:"))
            .unwrap_or_default();
        replica
            .says("INFO replication", &format!("slave_repl_offset:{offset}\r"))
            .await
    }

    async fn is_up(&self) -> io::Result<()> {
        let connect = || TcpStream::connect(("127.0.0.1", self.port));
        SOON.retry(connect).await.map(drop)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Whether there is a redis-server to start.
#[allow(dead_code, reason = "tests are told when they are built")]
pub(crate) fn is_installed() -> bool {
    let version = Command::new("redis-server").arg("--version").output();
    version.is_ok_and(|output| output.status.success())
}

/// A port that nobody listens on: it was just given back.
pub(crate) fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

fn run(port: u16, folder: &std::path::Path, arguments: &[&str]) -> io::Result<Child> {
    Command::new("redis-server")
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1"])
        // A replica's first copy begins at once, not after five seconds.
        .args(["--save", "", "--repl-diskless-sync-delay", "0"])
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
}
