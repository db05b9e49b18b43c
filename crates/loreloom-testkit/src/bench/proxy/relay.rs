//! The least that anything between a client and an upstream adds: a relay that copies bytes and
//! does nothing else, in a process of its own as the proxy is. How quick a machine is just now
//! shows in its figures.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::SocketAddr,
    process::{Child, Command, Stdio},
};

use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
};

/// A running relay; it ends with this value.
pub(super) struct Relay {
    child: Child,
    pub(super) address: SocketAddr,
}

impl Relay {
    /// Starts this program once more as a relay to an upstream.
    pub(super) fn start(upstream: SocketAddr) -> Result<Self, String> {
        let own = std::env::current_exe().map_err(|error| error.to_string())?;
        let mut command = Command::new(own);
        command.args(["--relay", &upstream.to_string()]).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|error| error.to_string())?;
        let mut line = String::new();
        if let Some(out) = child.stdout.take() {
            BufReader::new(out).read_line(&mut line).map_err(|error| error.to_string())?;
        }
        let address = line.trim().parse().map_err(|_| format!("the relay said `{line}`"))?;
        Ok(Self { child, address })
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _gone = self.child.kill();
        let _gone = self.child.wait();
    }
}

/// Relays to an upstream for as long as the process runs.
pub(in crate::bench) fn run(upstream: SocketAddr) -> Result<(), String> {
    let relaying = async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        writeln!(std::io::stdout(), "{}", listener.local_addr()?)?;
        loop {
            let (mut client, _) = listener.accept().await?;
            #[expect(clippy::disallowed_methods, reason = "the process ends with its parent")]
            tokio::spawn(async move {
                let mut server = TcpStream::connect(upstream).await?;
                client.set_nodelay(true)?;
                server.set_nodelay(true)?;
                copy_bidirectional(&mut client, &mut server).await
            });
        }
    };
    let ended: std::io::Result<()> = super::runtime()?.block_on(relaying);
    ended.map_err(|error| error.to_string())
}
