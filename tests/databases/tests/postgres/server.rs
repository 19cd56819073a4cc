//! Starts a Postgres on a free port and in a new folder. The Postgres ends when its value is dropped, or with
//! this process.

use std::env;
use std::fs;
use std::io;
use std::net::TcpListener;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use backoff_cloud::Policy;

use crate::programs;

/// Servers started by this process so far.
static STARTED: AtomicU32 = AtomicU32::new(0);

/// The server of all tests that need none of their own.
static SHARED: Mutex<Option<Arc<Server>>> = Mutex::new(None);

/// A role that needs a password to connect.
pub(crate) const GUARDED: &str = "guarded";

pub(crate) struct Server {
    process: Child,
    port: u16,
    folder: PathBuf,
}

impl Server {
    /// The one that all tests share.
    pub(crate) fn shared() -> io::Result<Arc<Self>> {
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(server) = &*shared {
            return Ok(Arc::clone(server));
        }
        // Of many tests at once, some with sixteen sessions and more.
        let server = Arc::new(Self::start(&["max_connections=400"])?);
        *shared = Some(Arc::clone(&server));
        Ok(server)
    }

    /// Starts one with these settings (`name=value`) that answers as soon as this returns.
    pub(crate) fn start(settings: &[&str]) -> io::Result<Self> {
        let number = STARTED.fetch_add(1, Relaxed).to_string();
        let home = Home::of_this_process()?;
        let copied = by_account(Command::new("cp"), home)?
            .args(["-R", TEMPLATE, &number])
            .status()?;
        if !copied.success() {
            return Err(io::Error::other("the template cannot be copied"));
        }
        let folder = home.join(number);
        let mut log = String::new();
        // Another process may take the port before Postgres does, which then ends.
        for _ in 0..10 {
            let port = free_port()?;
            let process = run(port, &folder, settings)?;
            let mut server = Server {
                process,
                port,
                folder: folder.clone(),
            };
            if server.is_up()? {
                return Ok(server);
            }
            log = server.log()?;
            if !log.contains("could not bind") {
                break;
            }
        }
        Err(io::Error::other(log))
    }

    fn log(&self) -> io::Result<String> {
        fs::read_to_string(self.folder.join("log"))
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
        // A net: a slow machine needs seconds.
        let soon = Policy::constant(Duration::from_millis(10)).deadline(Duration::from_secs(120));
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

/// The name of the folder that each server copies. It has a new cluster.
const TEMPLATE: &str = "template";

/// Waits until its input ends, as it does with the process that began it. Then it ends the servers that are
/// left, and removes the folder. Nobody drops a value of a `static`, so the shared server needs this.
const KEEPER: &str = r#"
    trap '' INT TERM
    read _
    for file in "$1"/*/data/postmaster.pid; do
        read pid < "$file" && kill -s QUIT "$pid"
    done
    for try in 1 2 3 4 5; do
        rm -rf "$1" && break
        sleep 1
    done
"#;

/// The folder of this process, gone with it: the template, and the folders of its servers. It belongs to
/// whoever runs the programs.
struct Home {
    folder: PathBuf,
    _keeper: Child,
}

impl Home {
    fn of_this_process() -> io::Result<&'static Path> {
        static HOME: OnceLock<Result<Home, String>> = OnceLock::new();
        let home = HOME.get_or_init(|| Home::make().map_err(|error| error.to_string()));
        let home = home
            .as_ref()
            .map_err(|words| io::Error::other(words.clone()))?;
        Ok(&home.folder)
    }

    fn make() -> io::Result<Self> {
        let folder = new_folder(&format!("backoff-postgres-{}", std::process::id()))?;
        let keeper = Command::new("sh")
            .args(["-c", KEEPER, "keeper"])
            .arg(&folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let template = folder.join(TEMPLATE);
        let initdb = program("initdb", &folder)?
            .args(["--username=postgres", "--auth=trust", "--no-locale"])
            .args(["--encoding=UTF8", "--no-sync"])
            .arg(format!("--pgdata={TEMPLATE}/data"))
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
        fs::write(template.join("data/pg_hba.conf"), hba)?;
        Ok(Home {
            folder,
            _keeper: keeper,
        })
    }
}

/// A new folder of whoever runs the programs.
fn new_folder(name: &str) -> io::Result<PathBuf> {
    let account = programs::account()?;
    let mut tried = io::ErrorKind::NotFound.into();
    // The account may not be let into a folder of root's, which `TMPDIR` can be.
    for parent in [env::temp_dir(), PathBuf::from("/tmp")] {
        let folder = parent.join(name);
        fs::create_dir_all(&folder)?;
        let Some((user, group)) = account else {
            return Ok(folder);
        };
        chown(&folder, Some(user), Some(group))?;
        match by_account(Command::new("true"), &folder)?.status() {
            Ok(_) => return Ok(folder),
            Err(error) => tried = error,
        }
        let _ = fs::remove_dir_all(&folder);
    }
    Err(tried)
}

/// A port that nobody listened on a moment ago.
fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// One of Postgres' programs, in this folder.
fn program(name: &str, folder: &Path) -> io::Result<Command> {
    let programs = programs::folder().ok_or(io::ErrorKind::NotFound)?;
    by_account(Command::new(programs.join(name)), folder)
}

/// As whoever runs the programs, in this folder.
fn by_account(mut command: Command, folder: &Path) -> io::Result<Command> {
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
