//! Starts a Postgres on a free port and in a new folder.

use std::{
    fs, io,
    os::unix::{fs::chown, process::CommandExt as _},
    path::Path,
    process::Command,
    thread::sleep,
    time::Duration,
};

use backoff_cloud::postgres;
use databases::{Folder, Server, Tested, free_port};

use crate::{programs, session::Session as _, tokio_postgres};

/// A role that needs a password to connect.
pub(crate) const GUARDED: &str = "guarded";

/// It ends when its value is dropped.
pub(crate) struct Postgres {
    server: Server,
    pub(crate) port: u16,
}

impl Postgres {
    /// Starts one with these settings (`name=value`) that answers as soon as this returns.
    pub(crate) async fn start(settings: &[&str]) -> Tested<Self> {
        let account = programs::account()?;
        let folder = match account {
            // The account may not be let into a folder of root's, which the one for temporary files can be.
            Some((user, group)) => {
                let folder = Folder::within(Path::new("/tmp"), "postgres")?;
                chown(folder.path(), Some(user), Some(group))?;
                folder
            }
            None => Folder::new("postgres")?,
        };
        let programs = programs::folder().ok_or("no initdb")?;
        let program = |name| {
            let mut command = Command::new(programs.join(name));
            command.current_dir(folder.path());
            if let Some((user, group)) = account {
                command.uid(user).gid(group);
            }
            command
        };
        let initdb = program("initdb")
            .args(["--username=postgres", "--auth=trust", "--no-locale"])
            .args(["--encoding=UTF8", "--no-sync", "--pgdata=data"])
            .output()?;
        assert!(initdb.status.success(), "{initdb:?}");
        // The first line that fits is the one that holds.
        let hba = format!(
            "host all {GUARDED} 127.0.0.1/32 scram-sha-256\nhost all all 127.0.0.1/32 trust\n"
        );
        fs::write(folder.file("data/pg_hba.conf"), hba)?;
        let (port, mut command) = (free_port()?, program("postgres"));
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
        let server = Postgres {
            server: Server::start(command, folder)?,
            port,
        };
        // Whatever the server says while it starts is retried. The limit is a net: a slow machine needs seconds.
        let soon = postgres::TRANSACTION.deadline(Duration::from_secs(120));
        let answers = async || tokio_postgres::Client::open(port).await;
        soon.retry(answers).await?;
        Ok(server)
    }

    /// Lets nobody in any more, and waits for the sessions that are open.
    pub(crate) fn begin_to_stop(&self) -> io::Result<()> {
        self.server.signal("TERM")
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // At once, with all its sessions.
        let _ = self.server.signal("QUIT");
        while let Ok(false) = self.server.has_ended() {
            sleep(Duration::from_millis(5));
        }
    }
}
