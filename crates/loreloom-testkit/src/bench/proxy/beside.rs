//! Helper processes of the benchmark: this program once more, as an upstream or as a relay.
//!
//! As in real use, the upstream is in another process than the clients. In the same process a call
//! to it would wake no process, and the cost of waking would count as the proxy's.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::SocketAddr,
    process::{Child, Command, Stdio},
};

use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
};

use super::wire;

/// What a helper process does.
#[derive(Clone, Copy)]
pub enum Part {
    /// A model's server.
    Upstream,
    /// Copies bytes and does nothing else: the least that a proxy can add. Its figures show how fast
    /// the machine is at the moment.
    Relay(SocketAddr),
    /// Keeps a processor awake, at idle priority.
    Wake,
}

impl Part {
    /// The arguments that start it.
    fn arguments(self) -> Vec<String> {
        match self {
            Self::Upstream => vec!["--upstream".to_owned()],
            Self::Relay(upstream) => vec!["--relay".to_owned(), upstream.to_string()],
            Self::Wake => vec!["--wake".to_owned()],
        }
    }
}

/// A running process; it ends with this value.
pub(super) struct Beside {
    child: Child,
    pub(super) address: SocketAddr,
}

impl Beside {
    /// Starts this program once more.
    pub(super) fn start(part: Part) -> Result<Self, String> {
        let own = std::env::current_exe().map_err(|error| error.to_string())?;
        let mut child = start(Command::new(own).args(part.arguments()))?;
        let mut line = String::new();
        if let Some(out) = child.stdout.take() {
            BufReader::new(out).read_line(&mut line).map_err(|error| error.to_string())?;
        }
        let address = line.trim().parse();
        let address = address.map_err(|_| {
            format!("the helper process printed `{}` and not its address", line.trim())
        })?;
        Ok(Self { child, address })
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _gone = self.child.kill();
        let _gone = self.child.wait();
    }
}

/// A machine that is kept awake until this value ends.
pub(super) struct Awake(Vec<Child>);

impl Awake {
    /// Keeps every processor awake with a process that runs only where nothing else does. `None`
    /// where the system has no such processes.
    pub(super) fn start() -> Option<Self> {
        let own = std::env::current_exe().ok()?;
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let mut awake = Self(Vec::new());
        for _ in 0..processors {
            let mut idle = Command::new("chrt");
            idle.args(["--idle", "0"]).arg(&own).args(Part::Wake.arguments());
            awake.0.push(start(&mut idle).ok()?);
        }
        Some(awake)
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _gone = child.kill();
            let _gone = child.wait();
        }
    }
}

fn start(command: &mut Command) -> Result<Child, String> {
    let started = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    started.map_err(|error| error.to_string())
}

/// Plays a part until standard input ends: then the parent process has ended.
pub(in crate::bench) fn play(part: Part) -> Result<(), String> {
    std::thread::spawn(|| {
        // The parent writes nothing, so reading ends only when the parent does.
        let _ended = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        std::process::exit(0);
    });
    if matches!(part, Part::Wake) {
        loop {
            std::hint::spin_loop();
        }
    }
    let playing = async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        writeln!(std::io::stdout(), "{}", listener.local_addr()?)?;
        loop {
            let (client, _) = listener.accept().await?;
            // The client may be gone already.
            drop(client.set_nodelay(true));
            #[expect(clippy::disallowed_methods, reason = "the process ends with its parent")]
            tokio::spawn(async move {
                match part {
                    Part::Upstream => wire::answer_all(client).await,
                    Part::Relay(upstream) => copy(client, upstream).await,
                    // It has no clients.
                    Part::Wake => Ok(()),
                }
            });
        }
    };
    let ended: std::io::Result<()> = super::runtime()?.block_on(playing);
    ended.map_err(|error| error.to_string())
}

async fn copy(mut client: TcpStream, upstream: SocketAddr) -> std::io::Result<()> {
    let mut server = TcpStream::connect(upstream).await?;
    server.set_nodelay(true)?;
    copy_bidirectional(&mut client, &mut server).await?;
    Ok(())
}
