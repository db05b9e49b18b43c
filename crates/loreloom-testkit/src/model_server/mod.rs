//! A scripted model server on loopback: OpenAI, Ollama and llama.cpp in one.
//!
//! It runs on its own thread with its own runtime, so that it serves blocking and
//! asynchronous tests alike and paused test clocks do not stop it. With nothing scripted it
//! answers every endpoint sensibly and always the same.
//!
//! ```
//! use loreloom_testkit::model_server::{ModelServer, Reply, Script};
//!
//! let server = ModelServer::start(
//!     Script::new()
//!         .on("/v1/chat/completions", Reply::text("The gate creaks."))
//!         .on("/v1/chat/completions", Reply::status(429, "slow down").header("retry-after", "7")),
//! )
//! .unwrap();
//! assert!(server.base_url().starts_with("http://127.0.0.1:"));
//! assert!(server.received().is_empty());
//! ```

mod defaults;
mod received;
mod reply;
mod serve;
mod wire;

use std::{io, net::SocketAddr, sync::Arc, thread, time::Duration};

use axum::serve::ListenerExt as _;
use tokio::{net::TcpListener, sync::oneshot};

use self::serve::Shared;
pub use self::{
    defaults::embedding,
    received::Received,
    reply::{Reply, Script},
};

/// How long the `wait_for` functions wait before they give up.
const PATIENCE: Duration = Duration::from_secs(20);

/// A running server. It ends, and its open connections break, when this is dropped.
pub struct ModelServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

/// The server has not seen what a test waits for.
#[derive(Debug, thiserror::Error)]
#[error("waited for {wanted} {what}, but there were {found}")]
pub struct WaitedInVain {
    /// What was waited for.
    pub what: &'static str,
    /// How many.
    pub wanted: usize,
    /// How many came.
    pub found: usize,
}

impl ModelServer {
    /// Starts a server on a free port.
    pub fn start(script: Script) -> io::Result<Self> {
        let shared = Arc::new(Shared::new(script));
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel();
        let router = serve::router(Arc::clone(&shared));
        let thread = thread::Builder::new().name("model-server".to_owned()).spawn(move || {
            runtime.block_on(async {
                let Ok(listener) = TcpListener::from_std(listener) else { return };
                // Scripts time every write; the kernel must not gather them. A socket that
                // refuses is only slower.
                let listener = listener.tap_io(|socket| drop(socket.set_nodelay(true)));
                tokio::select! {
                    _ended = axum::serve(listener, router).into_future() => {}
                    _stopped = stopped => {}
                }
            });
            runtime.shutdown_background();
        })?;
        Ok(Self { address, shared, stop: Some(stop), thread: Some(thread) })
    }

    /// `http://127.0.0.1:PORT`, without a path: OpenAI clients add `/v1`.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Adds a reply for a path behind those already waiting.
    pub fn push(&self, path: &str, reply: Reply) {
        self.shared.push(path, reply);
    }

    /// Every request so far, in order of arrival.
    pub fn received(&self) -> Vec<Received> {
        self.shared.received()
    }

    /// The newest request.
    pub fn last(&self) -> Option<Received> {
        self.shared.last()
    }

    /// How many clients hung up before they had the whole answer.
    pub fn disconnects(&self) -> usize {
        *self.shared.disconnects.borrow()
    }

    /// Waits until `count` requests have arrived, and returns all of them.
    pub async fn wait_for(&self, count: usize) -> Result<Vec<Received>, WaitedInVain> {
        let mut arrived = self.shared.arrived.subscribe();
        let waiting = arrived.wait_for(|found| *found >= count);
        if tokio::time::timeout(PATIENCE, waiting).await.is_ok() {
            return Ok(self.received());
        }
        let found = self.received().len();
        Err(WaitedInVain { what: "requests", wanted: count, found })
    }

    /// Waits until `count` clients have hung up early.
    pub async fn wait_for_disconnects(&self, count: usize) -> Result<(), WaitedInVain> {
        let mut gone = self.shared.disconnects.subscribe();
        let waiting = gone.wait_for(|found| *found >= count);
        if tokio::time::timeout(PATIENCE, waiting).await.is_ok() {
            return Ok(());
        }
        let found = self.disconnects();
        Err(WaitedInVain { what: "disconnects", wanted: count, found })
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // The thread may have ended by itself.
            let _nobody = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _panicked = thread.join();
        }
    }
}
