//! A redis-server of one's own: on a free port, in a folder of its own, gone with its value.

use std::io;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use backoff_core::Policy;

/// Servers started by this process so far.
static STARTED: AtomicU32 = AtomicU32::new(0);

/// Until something that takes a server a moment has happened. The deadline is a net: a slow machine needs
/// seconds.
const SOON: Policy = Policy::constant(Duration::from_millis(10)).deadline(Duration::from_secs(120));

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
        let (process, port) = run(&folder, arguments).await?;
        Ok(Server {
            process,
            port,
            folder,
        })
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
        say(self.port, command).await
    }

    /// Asks until the answer contains this.
    pub(crate) async fn says(&self, command: &str, part: &str) -> redis::RedisResult<()> {
        self.answers(command, |answer| answer.contains(part)).await
    }

    /// Asks until the answer is as it should be.
    async fn answers(&self, command: &str, is_so: impl Fn(&str) -> bool) -> redis::RedisResult<()> {
        let ask = || async {
            let answer = ask(self.port, command).await?;
            let not_yet = || io::Error::other(format!("`{command}` still gives `{answer}`"));
            is_so(&answer).then_some(()).ok_or_else(|| not_yet().into())
        };
        SOON.when_any(|_: &redis::RedisError| true).retry(ask).await
    }

    /// `STOP` stops it, so that it neither answers nor closes anything, until `CONT`.
    pub(crate) fn signal(&self, name: &str) -> io::Result<()> {
        let process = self.process.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &process]).status()?;
        sent.success()
            .then_some(())
            .ok_or_else(|| io::Error::other(format!("could not send {name} to {process}")))
    }

    /// Ends it as a crash does, and starts it again with what it has on disk. It has another port then,
    /// because another process may have taken the old one.
    #[allow(dead_code, reason = "not every program that has this file does it")]
    pub(crate) async fn restart(&mut self, arguments: &[&str]) -> io::Result<()> {
        self.kill();
        (self.process, self.port) = run(&self.folder, arguments).await?;
        Ok(())
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
        // Longer than a slow machine needs for what follows.
        self.say("CLIENT PAUSE 600000 WRITE").await?;
        let info = ask(self.port, "INFO replication").await?;
        let written = offset(&info, "master_repl_offset:");
        // The replica may have more: now and then the primary sends it a PING.
        let has_all =
            |info: &str| written.is_some() && offset(info, "slave_repl_offset:") >= written;
        replica.answers("INFO replication", has_all).await
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// The number in the line that begins with this name.
fn offset(info: &str, name: &str) -> Option<u64> {
    let mut lines = info.lines();
    lines.find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
}

async fn say(port: u16, command: &str) -> redis::RedisResult<redis::Value> {
    let mut connection = connect(port).await?;
    let mut words = command.split(' ');
    let mut command = redis::cmd(words.next().unwrap_or_default());
    command.arg(words.collect::<Vec<_>>());
    command.query_async(&mut connection).await
}

/// Sends a command whose answer is a text.
async fn ask(port: u16, command: &str) -> redis::RedisResult<String> {
    Ok(redis::from_redis_value(say(port, command).await?)?)
}

/// A connection that fails no command because the machine is slow: the client's own limits are half a
/// second for a reply and a second for a connection.
pub(crate) fn patient() -> redis::AsyncConnectionConfig {
    let limit = Some(Duration::from_secs(120));
    redis::AsyncConnectionConfig::new()
        .set_connection_timeout(limit)
        .set_response_timeout(limit)
}

/// A patient connection to this port.
pub(crate) async fn connect(port: u16) -> redis::RedisResult<redis::aio::MultiplexedConnection> {
    let client = redis::Client::open(("127.0.0.1", port))?;
    client
        .get_multiplexed_async_connection_with_config(&patient())
        .await
}

/// A port that nobody listened on a moment ago.
pub(crate) fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// Starts a server on a free port, and returns when it answers.
async fn run(folder: &Path, arguments: &[&str]) -> io::Result<(Child, u16)> {
    // Another process may take a port before the server does, which then ends.
    for _ in 0..10 {
        let port = free_port()?;
        let mut process = begin(port, folder, arguments)?;
        let itself = format!("process_id:{}\r\n", process.id());
        let mut asking = SOON.when_any(|_: &io::Error| true).resuming();
        while process.try_wait()?.is_none() {
            // Another server may answer.
            let info = ask(port, "INFO server").await;
            if info.is_ok_and(|info| info.contains(&itself)) {
                return Ok((process, port));
            }
            let silent = io::Error::other("redis-server does not answer within two minutes");
            if let Err(error) = asking.failed(silent).await {
                process.kill()?;
                return Err(error);
            }
        }
    }
    Err(io::Error::other("redis-server ends as soon as it starts"))
}

fn begin(port: u16, folder: &Path, arguments: &[&str]) -> io::Result<Child> {
    let begun = Command::new("redis-server")
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1"])
        // A replica's first copy begins at once, not after five seconds.
        .args(["--save", "", "--repl-diskless-sync-delay", "0"])
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let install = "`apt-get install redis-server`, or `brew install redis`";
    begun.map_err(|error| io::Error::new(error.kind(), format!("redis-server: {error}: {install}")))
}
