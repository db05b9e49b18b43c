//! The real binary as a child.

use std::{
    io::{BufRead as _, BufReader},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

/// A running `loreloom serve`; it ends with this value.
pub(in crate::bench) struct Server {
    child: Child,
    pub(in crate::bench) address: SocketAddr,
    /// Its own folder for stories and books.
    folder: Option<tempfile::TempDir>,
}

impl Server {
    /// Starts a server before an upstream, with a book of so many entries.
    pub(super) fn start(upstream: SocketAddr, entries: usize) -> Result<Self, String> {
        Self::start_with(upstream, entries, &[])
    }

    /// The same with more arguments.
    pub(super) fn start_with(
        upstream: SocketAddr,
        entries: usize,
        more: &[&str],
    ) -> Result<Self, String> {
        Self::with(&format!("http://{upstream}/v1"), &book_of(entries), more)
    }

    /// Starts a server before an upstream, with a book and arguments.
    pub(in crate::bench) fn with(
        upstream: &str,
        lore: &str,
        more: &[&str],
    ) -> Result<Self, String> {
        Self::with_book(Command::new(binary()?), upstream, lore, more)
    }

    fn with_book(
        program: Command,
        upstream: &str,
        lore: &str,
        more: &[&str],
    ) -> Result<Self, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let book = folder.path().join("book.json");
        #[expect(clippy::disallowed_methods, reason = "a benchmark writes its own input")]
        std::fs::write(&book, lore).map_err(|error| error.to_string())?;
        let mut server = Self::run(program, upstream, |command| {
            command.arg("--book").arg(&book).args(more);
            if !more.contains(&"--store") {
                command.arg("--data").arg(folder.path().join("stories"));
            }
        })?;
        server.folder = Some(folder);
        Ok(server)
    }

    /// Starts a server that keeps its stories in a folder, with more arguments.
    pub(in crate::bench) fn spawn(
        upstream: &str,
        folder: &Path,
        arguments: impl FnOnce(&mut Command),
    ) -> Result<Self, String> {
        Self::run(Command::new(binary()?), upstream, |command| {
            command.arg("--data").arg(folder.join("stories"));
            arguments(command);
        })
    }

    fn run(
        mut command: Command,
        upstream: &str,
        arguments: impl FnOnce(&mut Command),
    ) -> Result<Self, String> {
        command.arg("serve").args(["--port", "0", "--upstream", upstream]);
        arguments(&mut command);
        let started = command.stdout(Stdio::piped()).spawn();
        let program = command.get_program().to_string_lossy();
        let mut child =
            started.map_err(|error| format!("`{program}` cannot be started: {error}"))?;
        let mut line = String::new();
        if let Some(out) = child.stdout.take() {
            BufReader::new(out).read_line(&mut line).map_err(|error| error.to_string())?;
        }
        let address = line.trim().rsplit("http://").next().and_then(|text| text.parse().ok());
        let address = address.ok_or_else(|| format!("the server said `{}`", line.trim()))?;
        Ok(Self { child, address, folder: None })
    }

    /// The memory it has in use, in megabytes; `None` if the system does not say. Pages of the
    /// program's file that it has looked at are part of it.
    pub(super) fn megabytes(&self) -> Option<f64> {
        self.status("VmRSS:")
    }

    /// The same without pages of files.
    pub(super) fn own_megabytes(&self) -> Option<f64> {
        self.status("RssAnon:")
    }

    fn status(&self, name: &str) -> Option<f64> {
        let status = format!("/proc/{}/status", self.child.id());
        #[expect(clippy::disallowed_methods, reason = "Linux describes processes in files")]
        let status = std::fs::read_to_string(status).ok()?;
        let line = status.lines().find(|line| line.starts_with(name))?;
        let kilobytes: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
        Some(kilobytes / 1024.0)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _gone = self.child.kill();
        let _gone = self.child.wait();
    }
}

/// The program beside this one.
pub(in crate::bench) fn binary() -> Result<PathBuf, String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let binary = own.with_file_name(format!("loreloom{}", std::env::consts::EXE_SUFFIX));
    let there = binary.is_file();
    there.then_some(binary).ok_or_else(|| {
        "the program that is measured is not beside this one: `./dev bench` builds it".to_owned()
    })
}

/// A SillyTavern book; its entries have names that the stories mention now and then.
pub(super) fn book_of(entries: usize) -> String {
    let entry = |at: usize| {
        serde_json::json!({
            "uid": at, "key": [format!("place{at}"), format!("keeper{at}")], "keysecondary": [],
            "comment": format!("Place {at}"), "order": 100, "position": at % 2, "disable": false,
            "content": format!("Place {at} has stood empty since the keeper left. Nobody goes there."),
        })
    };
    let all: serde_json::Map<String, serde_json::Value> =
        (0..entries).map(|at| (at.to_string(), entry(at))).collect();
    serde_json::json!({ "entries": all }).to_string()
}
