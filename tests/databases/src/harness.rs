//! Servers that are started for a test.

use std::{
    env,
    error::Error,
    fs, io,
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};
use tokio::{net::TcpSocket, task::JoinSet};

/// The error of a test when something else than the tested code fails.
pub type Tested<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

/// A test that needs a server's program: it is reported as ignored where the program is not installed.
#[macro_export]
macro_rules! needs {
    ($installed:ident, $reason:literal: $($name:ident),+ $(,)?) => {
        mod needs {
            $(
                #[tokio::test(flavor = "multi_thread")]
                #[cfg_attr(not($installed), ignore = $reason)]
                async fn $name() -> $crate::Tested {
                    super::$name().await
                }
            )+
        }
    };
}

/// A new folder, which is removed with this value.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// A folder of this process with a number of its own.
    pub fn new(name: &str) -> io::Result<Self> {
        Self::within(&env::temp_dir(), name)
    }

    /// The same in another folder than that for temporary files.
    pub fn within(parent: &Path, name: &str) -> io::Result<Self> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Relaxed);
        let name = format!("backoff-{name}-{}-{number}", std::process::id());
        let folder = parent.join(name);
        fs::create_dir_all(&folder)?;
        Ok(Folder(folder))
    }

    /// The folder's own path.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// A file in the folder, as an argument of a program.
    pub fn file(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A server's program, which ends with this value.
#[derive(Debug)]
pub struct Server {
    process: Child,
    /// Where it keeps its files.
    pub folder: Folder,
}

impl Server {
    /// Starts this program.
    pub fn start(mut program: Command, folder: Folder) -> io::Result<Self> {
        program
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        Ok(Server {
            process: program.spawn()?,
            folder,
        })
    }

    /// Sends a signal.
    pub fn signal(&self, name: &str) -> io::Result<()> {
        let process = self.process.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &process]).status()?;
        let failed = || io::Error::other(format!("could not send {name} to {process}"));
        sent.success().then_some(()).ok_or_else(failed)
    }

    /// Whether the program has ended by itself.
    pub fn has_ended(&mut self) -> io::Result<bool> {
        Ok(self.process.try_wait()?.is_some())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Nobody can handle a failure here.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A port that nobody listened on a moment ago.
pub fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// A port on which nobody listens, and nobody else can as long as the socket lives.
pub fn deaf() -> io::Result<(TcpSocket, u16)> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(([127, 0, 0, 1], 0).into())?;
    let port = socket.local_addr()?.port();
    Ok((socket, port))
}

/// Runs all of these at once, until all have succeeded.
pub async fn all<E, F>(tasks: impl IntoIterator<Item = F>) -> Tested
where
    E: Error + Send + Sync + 'static,
    F: Future<Output = Result<(), E>> + Send + 'static,
{
    let mut running: JoinSet<_> = tasks.into_iter().collect();
    while let Some(done) = running.join_next().await {
        done??;
    }
    Ok(())
}
