//! The real binary as a child process, a model for it, and a client.

mod gated_model;
mod wire;

use std::{
    fs::OpenOptions,
    io::{BufRead as _, BufReader},
    net::SocketAddr,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

pub(crate) use self::{
    gated_model::GatedModel,
    wire::{Ask, Form, WireAnswer, ask, get},
};
use crate::store_suite::Failure;

/// How long the server may take to do what a test waits for.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Ignores the signal, so that writing beyond a limit is an error that the server sees.
const LIMITED: &str = r#"trap "" XFSZ; exec "$@""#;

/// How to start a server.
#[derive(Clone, Debug)]
pub(crate) struct ServerSetup<'program> {
    pub(crate) program: &'program Path,
    /// The model's address.
    pub(crate) upstream: String,
    /// Where stories are, as arguments.
    pub(crate) place: Vec<String>,
    pub(crate) home: &'program Path,
}

/// A running server. It is killed with this value.
pub(crate) struct RealServer {
    child: Child,
    pub(crate) address: SocketAddr,
}

impl RealServer {
    pub(crate) fn start(setup: &ServerSetup<'_>) -> Result<Self, Failure> {
        let ServerSetup { program, upstream, place, home } = setup;
        let mut command = Command::new("sh");
        command.args(["-c", LIMITED, "limited"]).arg(program).arg("serve");
        command.args(["--port", "0", "--no-memory", "--upstream", upstream]).args(place);
        command.env("HOME", home).env_remove("XDG_DATA_HOME").current_dir(home);
        // As people run it: the log is on the disk that may be full.
        let log = OpenOptions::new().create(true).append(true).open(home.join("server.log"))?;
        command.stdout(Stdio::piped()).stderr(log).stdin(Stdio::null());
        let mut child = command.spawn()?;
        let mut line = String::new();
        if let Some(out) = child.stdout.take() {
            BufReader::new(out).read_line(&mut line)?;
        }
        let address = line.trim().rsplit("http://").next().and_then(|text| text.parse().ok());
        let address = address.ok_or_else(|| format!("the server said `{}`", line.trim()))?;
        Ok(Self { child, address })
    }

    /// The number of its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until it is ready, and everything that waited is stored.
    pub(crate) fn wait_until_ready(&self) -> Result<(), Failure> {
        let began = Instant::now();
        while get(self.address, "/ready")?.status == 503 {
            if began.elapsed() > PATIENCE {
                return Err("the server is not ready, though its store is back".into());
            }
            thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// Kills it with SIGKILL.
    pub(crate) fn kill(&mut self) -> Result<(), Failure> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Stops it as a person does.
    pub(crate) fn stop(&mut self) -> Result<(), Failure> {
        Command::new("kill").args(["-TERM", &self.id().to_string()]).status()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for RealServer {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _gone = self.child.kill();
        let _gone = self.child.wait();
    }
}
