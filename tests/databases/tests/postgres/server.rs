//! A Postgres of one's own: on a free port, in a folder of its own, gone with its value.

use std::fs;
use std::io;
use std::net::TcpListener;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use backoff_cloud::Policy;

use crate::programs;

/// Servers started by this process so far.
static STARTED: AtomicU32 = AtomicU32::new(0);

/// The server of the tests that run now.
static SHARED: Mutex<Weak<Server>> = Mutex::new(Weak::new());

/// A role that needs a password to connect.
pub(crate) const GUARDED: &str = "guarded";

pub(crate) struct Server {
    process: Child,
    port: u16,
    folder: PathBuf,
}

impl Server {
    /// The one that other tests use now, or a new one.
    pub(crate) fn shared() -> io::Result<Arc<Self>> {
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(server) = shared.upgrade() {
            return Ok(server);
        }
        let server = Arc::new(Self::start(&[])?);
        *shared = Arc::downgrade(&server);
        Ok(server)
    }

    /// Starts one with these settings (`name=value`) that answers as soon as this returns.
    pub(crate) fn start(settings: &[&str]) -> io::Result<Self> {
        let number = STARTED.fetch_add(1, Relaxed);
        let folder = format!("backoff-postgres-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        fs::create_dir_all(&folder)?;
        if let Some((user, group)) = programs::account()? {
            chown(&folder, Some(user), Some(group))?;
        }
        let initdb = program("initdb", &folder)?
            .args(["--username=postgres", "--auth=trust", "--no-locale"])
            .args(["--encoding=UTF8", "--no-sync", "--pgdata=data"])
            .stdout(Stdio::null())
            .output()?;
        if !initdb.status.success() {
            let words = String::from_utf8_lossy(&initdb.stderr).into_owned();
            return Err(io::Error::other(words));
        }
        // The first line that fits is the one that holds.
        let hba = format!(
            "host all {GUARDED} 127.0.0.1/32 scram-sha-256\nhost all all 127.0.0.1/32 trust\n"
        );
        fs::write(folder.join("data/pg_hba.conf"), hba)?;
        let port = free_port()?;
        let process = run(port, &folder, settings)?;
        let server = Server {
            process,
            port,
            folder,
        };
        server.is_up()?;
        Ok(server)
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Closes all sessions and stops: `fast`, as `pg_ctl stop` does. `SIGTERM`, which this sends
    /// first, lets nobody in any more and waits for the sessions that are open.
    pub(crate) fn begin_to_stop(&self) -> io::Result<()> {
        self.signal("TERM")
    }

    fn signal(&self, name: &str) -> io::Result<()> {
        let process = self.process.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &process]).status()?;
        sent.success()
            .then_some(())
            .ok_or_else(|| io::Error::other(format!("could not send {name} to {process}")))
    }

    /// Waits until the file of its log says that it accepts connections.
    fn is_up(&self) -> io::Result<()> {
        let soon = Policy::constant(Duration::from_millis(10)).deadline(Duration::from_secs(30));
        let look = || {
            let log = fs::read_to_string(self.folder.join("log"))?;
            let is_up = log.contains("ready to accept connections");
            is_up.then_some(()).ok_or_else(|| io::Error::other(log))
        };
        soon.when_any(|_: &io::Error| true).retry_blocking(look)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // At once, with all its sessions. If it has ended already, that is what is asked for.
        let _ = self.signal("QUIT");
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// A port that nobody listens on: it was just given back.
pub(crate) fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// One of Postgres' programs, in this folder.
fn program(name: &str, folder: &Path) -> io::Result<Command> {
    let programs = programs::folder().ok_or(io::ErrorKind::NotFound)?;
    let mut command = Command::new(programs.join(name));
    command.current_dir(folder).stdin(Stdio::null());
    if let Some((user, group)) = programs::account()? {
        command.uid(user).gid(group);
    }
    Ok(command)
}

fn run(port: u16, folder: &Path, settings: &[&str]) -> io::Result<Child> {
    let log = fs::File::create(folder.join("log"))?;
    let mut command = program("postgres", folder)?;
    command.args(["-D", "data", "-p", &port.to_string()]);
    let always = [
        "listen_addresses=127.0.0.1",
        "unix_socket_directories=",
        // What a crash of the machine would lose is no matter here.
        "fsync=off",
        "deadlock_timeout=50ms",
    ];
    for setting in always.iter().chain(settings) {
        command.args(["-c", setting]);
    }
    command.stdout(Stdio::null()).stderr(log).spawn()
}
