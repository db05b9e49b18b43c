//! A private PostgreSQL server for tests.
//!
//! It lives in a temporary directory, listens on a socket there and nowhere else, and syncs
//! to disk as a real one does. A small shell holds the other end of a pipe: when the test
//! process ends, however it ends, the pipe closes and the shell stops the server and removes
//! the directory.

use std::{
    io::{Error, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
};

use crate::store_suite::Failure;

/// Waits for the pipe to close, then tidies up.
const KEEPER: &str =
    r#"cat >/dev/null; "$1" -D "$2/data" -m immediate stop >/dev/null; rm -rf "$2""#;

/// A running server.
#[derive(Debug)]
pub struct Cluster {
    directory: PathBuf,
    programs: PathBuf,
    account: Account,
    /// Where it listens beyond its socket, and with which certificate.
    encrypted: Option<Encrypted>,
    /// Holds the pipe.
    _keeper: Child,
}

/// Encrypted connections on loopback: PostgreSQL offers none on a socket of the file system.
#[derive(Debug)]
struct Encrypted {
    port: u16,
}

impl Cluster {
    /// Starts a server; `None`, and a line that says so, if there is none to start here.
    pub fn start() -> Result<Option<Self>, Failure> {
        Self::start_with(None)
    }

    /// Starts a server that also listens on loopback and encrypts what is said there, with a
    /// certificate for `localhost` that it makes itself.
    pub fn start_encrypted() -> Result<Option<Self>, Failure> {
        // The port is free now. The system gives out ports in turn, so it stays free for a while.
        let port = std::net::TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        Self::start_with(Some(Encrypted { port }))
    }

    fn start_with(encrypted: Option<Encrypted>) -> Result<Option<Self>, Failure> {
        let Some(programs) = programs() else {
            let line = "skipped: no PostgreSQL server programs (initdb, pg_ctl) are installed";
            writeln!(std::io::stdout(), "{line}")?;
            return Ok(None);
        };
        let directory = tempfile::Builder::new().prefix("loreloom-pg-").tempdir()?.keep();
        let account = Account::find()?;
        account.give(&directory)?;
        let data = directory.join("data");
        let mut initdb = account.command(&programs.join("initdb"));
        initdb.args(["-A", "trust", "-U", "loreloom", "-E", "UTF8", "--locale=C", "-D"]).arg(&data);
        succeed(initdb.output()?)?;
        if encrypted.is_some() {
            certify(&directory, account)?;
        }
        if !start(&directory, &programs, account, encrypted.as_ref())? {
            return Err(format!("pg_ctl could not start a server in {}", data.display()).into());
        }
        let mut keeper = account.command(Path::new("sh"));
        keeper.args(["-c", KEEPER, "keeper"]).arg(programs.join("pg_ctl")).arg(&directory);
        let keeper = keeper.stdin(Stdio::piped()).spawn()?;
        Ok(Some(Self { directory, programs, account, encrypted, _keeper: keeper }))
    }

    /// Kills the server and all its processes with SIGKILL: none has a chance to tidy up, or to
    /// finish what it does.
    #[expect(clippy::disallowed_methods, reason = "the state of a process")]
    pub fn kill(&self) -> Result<(), Failure> {
        let mut first_line = self.account.command(Path::new("head"));
        let file = self.directory.join("data/postmaster.pid");
        let number = succeed(first_line.args(["-n", "1"]).arg(file).output()?)?;
        let number = number.trim();
        // It would start others for those that are killed.
        succeed(Command::new("kill").args(["-STOP", number]).output()?)?;
        let children = std::fs::read_to_string(format!("/proc/{number}/task/{number}/children"))?;
        // A child may end by itself meanwhile.
        for process in children.split_whitespace() {
            Command::new("kill").args(["-9", process]).output()?;
        }
        succeed(Command::new("kill").args(["-9", number]).output()?).map(drop)
    }

    /// Starts it again after it was killed.
    pub fn restart(&self) -> Result<(), Failure> {
        // Its processes take a moment to notice that it is gone.
        for _ in 0..100 {
            if start(&self.directory, &self.programs, self.account, self.encrypted.as_ref())? {
                return Ok(());
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        Err("the server does not start again".into())
    }

    /// The address of its database.
    pub fn address(&self) -> String {
        format!("host={} user=loreloom dbname=postgres", self.directory.display())
    }

    /// The same as a URL.
    pub fn url(&self) -> String {
        format!("postgres:///postgres?host={}&user=loreloom", self.directory.display())
    }

    /// The address at which it encrypts, and the file of the certificate to trust.
    pub fn encrypted(&self) -> Option<(String, PathBuf)> {
        let Encrypted { port } = self.encrypted.as_ref()?;
        let address = format!("postgres://loreloom@localhost:{port}/postgres");
        Some((address, self.directory.join("server.crt")))
    }
}

/// Makes the server's certificate and key.
#[expect(clippy::disallowed_methods, reason = "the files of a server that ends with its test")]
fn certify(directory: &Path, account: Account) -> Result<(), Failure> {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    let key = directory.join("server.key");
    std::fs::write(directory.join("server.crt"), made.cert.pem())?;
    std::fs::write(&key, made.signing_key.serialize_pem())?;
    // The server refuses a key that others may read.
    succeed(Command::new("chmod").arg("600").arg(&key).output()?)?;
    account.give(&key)
}

/// Starts the server of a directory; whether that succeeded.
fn start(
    directory: &Path,
    programs: &Path,
    account: Account,
    encrypted: Option<&Encrypted>,
) -> Result<bool, Failure> {
    let place = directory.display();
    let listen = match encrypted {
        Some(Encrypted { port }) => format!(
            "-p {port} -c listen_addresses=localhost -c ssl=on \
             -c ssl_cert_file={place}/server.crt -c ssl_key_file={place}/server.key"
        ),
        None => "-c listen_addresses=''".to_owned(),
    };
    let options =
        format!("-k {place} {listen} -c fsync=on -c synchronous_commit=on -c max_connections=200");
    let mut start = account.command(&programs.join("pg_ctl"));
    start.arg("-D").arg(directory.join("data")).args(["-w", "-o", &options]);
    // The server would inherit a pipe and never close it.
    start.arg("-l").arg(directory.join("log")).arg("start");
    start.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Ok(start.status()?.success())
}

/// The directory of the server's programs: the newest installed, else where `PATH` says.
fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut installed: Vec<(u32, PathBuf)> = versions
        .filter_map(|entry| {
            let version = entry.file_name().to_str()?.parse().ok()?;
            Some((version, entry.path().join("bin")))
        })
        .collect();
    installed.sort();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let newest_first = installed.into_iter().rev().map(|(_, bin)| bin);
    let mut places = newest_first.chain(std::env::split_paths(&path));
    places.find(|bin| bin.join("initdb").exists() && bin.join("pg_ctl").exists())
}

/// Who runs the server: it refuses to run as root.
#[derive(Clone, Copy, Debug)]
enum Account {
    Ours,
    Postgres,
}

impl Account {
    fn find() -> Result<Self, Failure> {
        let id = succeed(Command::new("id").arg("-u").output()?)?;
        Ok(if id.trim() == "0" { Self::Postgres } else { Self::Ours })
    }

    fn command(self, program: &Path) -> Command {
        match self {
            Self::Ours => Command::new(program),
            Self::Postgres => {
                let mut command = Command::new("runuser");
                command.args(["-u", "postgres", "--"]).arg(program);
                command.current_dir("/");
                command
            }
        }
    }

    fn give(self, directory: &Path) -> Result<(), Failure> {
        match self {
            Self::Ours => Ok(()),
            Self::Postgres => {
                let mut chown = Command::new("chown");
                succeed(chown.arg("postgres").arg(directory).output()?).map(drop)
            }
        }
    }
}

fn succeed(output: Output) -> Result<String, Failure> {
    if output.status.success() {
        return Ok(String::from_utf8(output.stdout)?);
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(Error::other(said).into())
}
