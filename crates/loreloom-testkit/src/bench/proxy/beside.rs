//! What stands beside the proxy in a process of its own, as it does where somebody uses it: this
//! program once more, as an upstream or as a relay. Were the upstream in the process of the
//! clients, a call to it would wake nobody, and all that waking costs would be told as the
//! proxy's.

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

/// What this program can be beside itself.
#[derive(Clone, Copy)]
pub enum Part {
    /// A model's server.
    Upstream,
    /// The least that anything between a client and an upstream adds: it copies bytes and does
    /// nothing else. How quick a machine is just now shows in its figures.
    Relay(SocketAddr),
    /// Something that never sleeps, and gives way to everything else.
    Wake,
}

impl Part {
    /// How this program is told to play it.
    fn words(self) -> Vec<String> {
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
        let mut child = start(Command::new(own).args(part.words()))?;
        let mut line = String::new();
        if let Some(out) = child.stdout.take() {
            BufReader::new(out).read_line(&mut line).map_err(|error| error.to_string())?;
        }
        let address = line.trim().parse();
        let address = address.map_err(|_| format!("what stands beside said `{}`", line.trim()))?;
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
            idle.args(["--idle", "0"]).arg(&own).args(Part::Wake.words());
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

/// Plays a part until nothing more can come in: whoever started this has ended then, however.
pub(in crate::bench) fn play(part: Part) -> Result<(), String> {
    std::thread::spawn(|| {
        // It says nothing, so that reading ends with it.
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
            // One that is gone already is nobody's loss.
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
