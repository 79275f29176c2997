//! The process of a private server: a folder and a socket of its own, no network, gone with whoever started it.

#![allow(clippy::disallowed_methods)]

use super::options::{ServerOptions, check_file};
use crate::error::{Error, Result};
use crate::task::wall::{WallClock, sleep};
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// How long a server may take to start: it creates its log files first, which may be large.
const PATIENCE_NS: u64 = 180_000_000_000;
/// How long the end of a killed group is waited for: a write that it is in ends first.
const GROUP_PATIENCE_NS: u64 = 2_000_000_000;
const NAP: Duration = Duration::from_millis(20);
/// Lines of its own that say why a server did not start.
const LAST_LINES: usize = 4;
/// The oldest servers whose status variables are known, by family.
const OLDEST: [(Family, (u32, u32)); 2] = [(Family::MariaDb, (10, 5)), (Family::MySql, (5, 7))];
const FOLDER: &str = "server";
const FILE: &str = "my.cnf";
const LOG: &str = "server.log";
/// The socket's name in the data folder. Paths of sockets are short, those of folders are not.
const SOCKET: &str = "s";

/// Whose server it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// `mariadbd`.
    MariaDb,
    /// `mysqld`, of Oracle or Percona.
    MySql,
}

/// A program and what it says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    path: PathBuf,
    /// Whose it is.
    pub family: Family,
    /// Such as `10.11.19-MariaDB`.
    pub version: String,
}

impl Program {
    /// Asks a program for its version.
    pub fn ask(path: &str) -> Result<Self> {
        let refused = |found: String| Error::invalid("options.server", found, "the path of a mariadbd or mysqld");
        if path.is_empty() {
            return Err(refused("nothing".to_owned()));
        }
        let answer = Command::new(path).args(["--no-defaults", "--version"]).stdin(Stdio::null()).output();
        let answer = answer.map_err(|e| refused(format!("{path}: {e}")))?;
        let program = Self::parse(path, &String::from_utf8_lossy(&answer.stdout));
        program.ok_or_else(|| refused(format!("{path}, which does not say a server's version")))?.checked()
    }

    /// From such as `mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)`.
    fn parse(path: &str, answer: &str) -> Option<Self> {
        let mut words = answer.split_whitespace().skip_while(|word| *word != "Ver");
        let version = words.nth(1)?.to_owned();
        let family = if version.contains("MariaDB") { Family::MariaDb } else { Family::MySql };
        let is_server = answer.contains("mysqld") || answer.contains("mariadbd");
        (is_server && version.starts_with(|c: char| c.is_ascii_digit())).then(|| Self {
            path: PathBuf::from(path),
            family,
            version,
        })
    }

    fn checked(self) -> Result<Self> {
        let mut numbers = self.version.split(['.', '-']).map_while(|number| number.parse::<u32>().ok());
        let found = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        let oldest = OLDEST.iter().find(|(family, _)| *family == self.family).map_or((0, 0), |(_, oldest)| *oldest);
        if found >= oldest {
            return Ok(self);
        }
        let accepted = format!("{}.{} or later", oldest.0, oldest.1);
        Err(Error::invalid("options.server", format!("version {}", self.version), accepted))
    }

    /// The script that makes a data folder for MariaDB, beside the server or on the search path.
    fn installer(&self) -> PathBuf {
        let beside =
            self.path.parent().into_iter().flat_map(|folder| {
                ["", "../bin", "../scripts"].map(|other| folder.join(other).join("mariadb-install-db"))
            });
        beside.into_iter().find(|path| path.is_file()).unwrap_or_else(|| PathBuf::from("mariadb-install-db"))
    }
}

/// A running server.
pub struct Process {
    child: Child,
    folder: PathBuf,
    /// Holds the data folder, so that its socket has a short path.
    data: File,
    /// What runs.
    pub program: Program,
}

impl Process {
    /// Starts a server in `directory`. `flags` come after the file's settings and win over them.
    pub fn start(
        directory: &Path,
        options: &ServerOptions,
        flags: &[String],
        give_up: &dyn Fn() -> bool,
    ) -> Result<Self> {
        check_file(&options.options_file)?;
        let program = Program::ask(&options.server)?;
        let folder = directory.join(FOLDER);
        let folder = std::path::absolute(&folder).map_err(|e| Error::io(folder.display().to_string(), "find", e))?;
        let failed = |action| {
            let shown = folder.display().to_string();
            move |e| Error::io(shown, action, e)
        };
        match fs::remove_dir_all(&folder) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(failed("empty")(e)),
            _ => {}
        }
        fs::create_dir_all(folder.join("tmp")).map_err(failed("create"))?;
        fs::write(folder.join(FILE), &options.options_file).map_err(failed("write to"))?;
        let started = install(&program, &folder, flags, give_up).and_then(|()| launch(&program, &folder, flags));
        let mut process =
            match started.and_then(|child| Ok((child, File::open(folder.join("data")).map_err(failed("open"))?))) {
                Ok((child, data)) => Self { child, folder, data, program },
                Err(error) => {
                    let _ = fs::remove_dir_all(&folder);
                    return Err(error);
                }
            };
        process.wait_for_socket(give_up)?;
        Ok(process)
    }

    fn wait_for_socket(&mut self, give_up: &dyn Fn() -> bool) -> Result<()> {
        let clock = WallClock::default();
        loop {
            if give_up() {
                return Err(Error::Cancelled);
            }
            if std::os::unix::net::UnixStream::connect(self.socket()).is_ok() {
                return Ok(());
            }
            self.check()?;
            if clock.now_ns() > PATIENCE_NS {
                return Err(did_not_start("it takes no connection", &self.folder.join(LOG)));
            }
            sleep(NAP);
        }
    }

    /// Fails if the server has ended.
    pub fn check(&mut self) -> Result<()> {
        match self.child.try_wait() {
            Ok(Some(status)) => Err(did_not_start(&status.to_string(), &self.folder.join(LOG))),
            _ => Ok(()),
        }
    }

    /// Ends it at once: its data goes with it.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// The process's number.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The path of its socket.
    pub fn socket(&self) -> String {
        format!("/proc/self/fd/{}/{SOCKET}", self.data.as_raw_fd())
    }

    /// Its data folder.
    pub fn data(&self) -> PathBuf {
        self.folder.join("data")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// A command that dies with the thread that started it.
fn command(program: &Path, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.arg(format!("--defaults-file={}", folder.join(FILE).display()));
    command.arg(format!("--datadir={}", folder.join("data").display()));
    command.arg(format!("--tmpdir={}", folder.join("tmp").display()));
    if rustix::process::getuid().is_root() {
        command.arg("--user=root");
    }
    command.stdin(Stdio::null()).stdout(Stdio::null());
    // SAFETY: the call between fork and exec is a plain system call.
    unsafe {
        command.pre_exec(|| Ok(rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?));
    }
    command
}

fn launch(program: &Program, folder: &Path, flags: &[String]) -> Result<Child> {
    let log = File::create(folder.join(LOG)).map_err(|e| Error::io(LOG, "create", e))?;
    let mut command = command(&program.path, folder);
    command.args([&format!("--socket={SOCKET}"), "--pid-file=pid", "--skip-networking", "--loose-mysqlx=0"]);
    command.arg(format!("--log-error={}", folder.join(LOG).display()));
    command.args(flags).stderr(log);
    command.spawn().map_err(|e| Error::io(program.path.display().to_string(), "start", e))
}

/// Makes the data folder with the system tables. What makes it may be a script with a server below: they are a group,
/// and all of it has ended when this gives up, so that nothing writes into the folder any more.
fn install(program: &Program, folder: &Path, flags: &[String], give_up: &dyn Fn() -> bool) -> Result<()> {
    let log = folder.join("install.log");
    let (maker, own) = match program.family {
        Family::MariaDb => {
            let own = ["--auth-root-authentication-method=normal", "--skip-test-db", "--force"].map(str::to_owned);
            (program.installer(), own.into_iter().chain(flags.iter().cloned()).collect())
        }
        Family::MySql => (program.path.clone(), vec!["--initialize-insecure".to_owned()]),
    };
    let output = File::create(&log).map_err(|e| Error::io("install.log", "create", e))?;
    let child = command(&maker, folder)
        .args(own)
        .stderr(output.try_clone().map_err(|e| Error::io("install.log", "create", e))?)
        .stdout(output)
        .process_group(0)
        .spawn();
    let mut child = child.map_err(|e| Error::io(maker.display().to_string(), "start", e))?;
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(did_not_start(&format!("no data folder: {status}"), &log)),
            Ok(None) if give_up() => {
                end_group(&mut child);
                return Err(Error::Cancelled);
            }
            Ok(None) => sleep(NAP),
            Err(e) => return Err(Error::io(maker.display().to_string(), "wait for", e)),
        }
    }
}

/// Kills the group that `leader` leads, and waits until nobody is left of it, or for `GROUP_PATIENCE_NS`: whose parent
/// never asks for the dead keeps them there.
fn end_group(leader: &mut Child) {
    let group = Pid::from_child(leader);
    let _ = kill_process_group(group, Signal::KILL);
    let _ = leader.wait();
    let clock = WallClock::default();
    while test_kill_process_group(group).is_ok() && clock.now_ns() < GROUP_PATIENCE_NS {
        sleep(NAP);
    }
}

/// The server's own last words, errors first.
fn did_not_start(how: &str, log: &Path) -> Error {
    let text = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let errors: Vec<&str> = lines.iter().copied().filter(|line| line.contains("ERROR")).collect();
    let told = if errors.is_empty() { lines } else { errors };
    let last = told[told.len().saturating_sub(LAST_LINES)..].join(" | ");
    Error::poisoned(format!("the server ended ({how}): {last}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_known_by_what_it_says_of_itself() {
        let said = [
            (
                "mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)",
                Some(Family::MariaDb),
            ),
            ("/usr/sbin/mysqld  Ver 8.0.36-28 for Linux on x86_64 (Percona Server (GPL))", Some(Family::MySql)),
            ("ls (GNU coreutils) 9.1", None),
        ];
        for (answer, family) in said {
            assert_eq!(Program::parse("x", answer).map(|program| program.family), family, "{answer}");
        }
    }

    #[test]
    fn a_server_that_is_too_old_is_refused() {
        let program = Program::parse("x", "mysqld  Ver 5.6.51 for Linux on x86_64").unwrap();
        let message = program.checked().unwrap_err().to_string();
        assert_eq!(message, "options.server: found version 5.6.51, accepted: 5.7 or later");
    }

    #[test]
    fn whoever_makes_the_data_folder_writes_nothing_after_it_was_given_up() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let written = folder.path().join("written");
        let script = folder.path().join("mariadb-install-db");
        // As the real one does, it leaves the writing to a process below it.
        let text = format!("#!/bin/sh\n(while :; do echo row >> '{}'; sleep 0.001; done) &\nwait\n", written.display());
        fs::write(&script, text).unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        let program =
            Program { path: folder.path().join("mariadbd"), family: Family::MariaDb, version: "10.11".to_owned() };

        let given_up = install(&program, folder.path(), &[], &|| written.exists());

        assert!(matches!(given_up, Err(Error::Cancelled)), "{given_up:?}");
        fs::remove_file(&written).unwrap();
        sleep(NAP);
        assert!(!written.exists(), "a process writes on");
    }
}
