//! Starts a Postgres on a free port and in a new folder. The Postgres ends when its value is dropped.

use std::env;
use std::fs;
use std::io;
use std::mem;
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
    folder: Folder,
}

impl Server {
    /// The one that other tests use now, or a new one.
    pub(crate) fn shared() -> io::Result<Arc<Self>> {
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(server) = shared.upgrade() {
            return Ok(server);
        }
        // Of many tests at once, some with sixteen sessions and more.
        let server = Arc::new(Self::start(&["max_connections=400"])?);
        *shared = Arc::downgrade(&server);
        Ok(server)
    }

    /// Starts one with these settings (`name=value`) that answers as soon as this returns.
    pub(crate) fn start(settings: &[&str]) -> io::Result<Self> {
        let number = STARTED.fetch_add(1, Relaxed);
        let name = format!("backoff-postgres-{}-{number}", std::process::id());
        let mut folder = Folder::make(&name)?;
        let initdb = program("initdb", &folder.0)?
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
        fs::write(folder.0.join("data/pg_hba.conf"), hba)?;
        let mut log = String::new();
        // Another process may take the port before Postgres does, which then ends.
        for _ in 0..4 {
            let port = free_port()?;
            let process = run(port, &folder.0, settings)?;
            let mut server = Server {
                process,
                port,
                folder,
            };
            if server.is_up()? {
                return Ok(server);
            }
            log = server.log()?;
            folder = mem::take(&mut server.folder);
        }
        Err(io::Error::other(log))
    }

    fn log(&self) -> io::Result<String> {
        fs::read_to_string(self.folder.0.join("log"))
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

    /// Waits until the file of its log says that it accepts connections. `false`: it has ended.
    fn is_up(&mut self) -> io::Result<bool> {
        let soon = Policy::constant(Duration::from_millis(10)).deadline(Duration::from_secs(30));
        let look = || {
            if self.process.try_wait()?.is_some() {
                return Ok(false);
            }
            let log = self.log()?;
            let is_up = log.contains("ready to accept connections");
            is_up.then_some(true).ok_or_else(|| io::Error::other(log))
        };
        soon.when_any(|_: &io::Error| true).retry_blocking(look)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // At once, with all its sessions. Once it was waited for, its number may be another's.
        if let Ok(None) = self.process.try_wait() {
            let _ = self.signal("QUIT");
            let _ = self.process.wait();
        }
    }
}

/// A folder of whoever runs the programs, gone with its value. An empty path is none.
#[derive(Default)]
struct Folder(PathBuf);

impl Folder {
    fn make(name: &str) -> io::Result<Self> {
        let Some((user, group)) = programs::account()? else {
            let folder = Folder(env::temp_dir().join(name));
            fs::create_dir_all(&folder.0)?;
            return Ok(folder);
        };
        // The account may not be let into a folder of root's, which `TMPDIR` can be.
        let mut tried = None;
        for parent in [env::temp_dir(), PathBuf::from("/tmp")] {
            let folder = Folder(parent.join(name));
            fs::create_dir_all(&folder.0)?;
            chown(&folder.0, Some(user), Some(group))?;
            let enter = Command::new("true")
                .current_dir(&folder.0)
                .uid(user)
                .gid(group)
                .status();
            match enter {
                Ok(_) => return Ok(folder),
                Err(error) => tried = Some(error),
            }
        }
        Err(tried.unwrap_or_else(|| io::ErrorKind::NotFound.into()))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.0.as_os_str().is_empty() {
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}

/// A port on which nobody listens: it was free a moment ago.
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

#[test]
#[cfg_attr(
    not(has_postgres),
    ignore = "needs PostgreSQL's server programs: apt-get install postgresql"
)]
fn a_server_that_ends_at_once_says_why() {
    let started = Server::start(&["no_such_setting=1"]);
    let words = started.err().expect("it ends").to_string();
    assert!(words.contains("no_such_setting"), "{words}");
}
