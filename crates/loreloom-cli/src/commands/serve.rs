//! Running the proxy.

use std::{
    io::Write,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use anyhow::Context as _;
use clap::Args;
use loreloom_core::{ids::TenantId, turn::Speaker, units::Tokens};
use loreloom_llm::{
    connection::Address, offline::OfflineUpstream, secret::Secret, upstream::HttpUpstream,
};
use loreloom_memory::ports::{StoryStore, Upstream};
use loreloom_server::{App, AppParts, Defaults, Lore, Recogniser, Weaving, serve};
use tokio::{net::TcpListener, sync::oneshot};
use tokio_util::task::TaskTracker;

use crate::{
    clock::SystemClock, lore::LoreArguments, store::StoreArguments, tokenizer::TokenizerArguments,
};

/// Run the proxy between a front end and a model.
///
/// Set the front end's API address to the printed one, with `/v1`.
#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// The model's server with its path, for example `http://127.0.0.1:11434/v1`, or
    /// `offline` for the built-in storyteller
    #[arg(long, default_value = "offline", value_name = "URL")]
    upstream: String,

    /// The environment variable that holds the upstream's key
    #[arg(long, value_name = "VARIABLE")]
    key_env: Option<String>,

    #[command(flatten)]
    lore: LoreArguments,

    /// The port; 0 takes any that is free
    #[arg(long, default_value_t = 8686)]
    port: u16,

    #[command(flatten)]
    store: StoreArguments,

    /// The user's name, where requests do not say it
    #[arg(long, default_value = "User", value_name = "NAME")]
    user: String,

    /// The character's name, where requests do not say it
    #[arg(long = "char", value_name = "NAME")]
    character: Option<String>,

    /// The model's context size
    #[arg(long, default_value_t = 8192, value_name = "TOKENS")]
    context: u32,

    /// The seed of all rolls
    #[arg(long, default_value_t = 0)]
    seed: u64,

    #[command(flatten)]
    tokenizer: TokenizerArguments,

    /// Pass every request on as it is
    #[arg(long)]
    no_weave: bool,

    /// The longest a request waits for its lore, in milliseconds; then it goes on without
    #[arg(long, default_value_t = 150, value_name = "MS")]
    deadline: u64,

    /// The model refuses prompts whose roles do not alternate: write lore into messages
    #[arg(long)]
    strict_roles: bool,
}

impl Serve {
    pub(super) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let address = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), self.port);
        runtime()?.block_on(async {
            let app = self.app(self.store.open_or_make().await?)?;
            let server = Server::start(app, address).await?;
            writeln!(out, "listening on http://{}", server.address)?;
            out.flush()?;
            server.until(stop_asked()).await
        })
    }

    fn app(&self, store: Arc<dyn StoryStore>) -> anyhow::Result<App> {
        let speaker = self.character.as_deref().map(Speaker::named);
        let defaults = Defaults {
            context: Tokens(self.context),
            user: self.user.clone(),
            speaker,
            seed: self.seed,
        };
        let weaving = Weaving {
            on: !self.no_weave,
            deadline: Duration::from_millis(self.deadline),
            strict_roles: self.strict_roles,
            ..Weaving::default()
        };
        app(self.lore.load()?, store, self.upstream()?, &self.tokenizer, defaults, weaving)
    }

    fn upstream(&self) -> anyhow::Result<Arc<dyn Upstream>> {
        if self.upstream == "offline" {
            return Ok(Arc::new(OfflineUpstream::default()));
        }
        let address = Address::parse(&self.upstream)?;
        #[expect(clippy::disallowed_methods, reason = "the user named this variable")]
        let key = match &self.key_env {
            Some(name) => {
                Some(std::env::var(name).with_context(|| format!("`{name}` is not set"))?)
            }
            None => None,
        };
        let key = key.map(|key| Secret::new(&key));
        Ok(Arc::new(HttpUpstream::new(address, key.as_ref())?))
    }
}

/// How long running requests may take to finish once the server is asked to stop.
const LAST_MOMENT: Duration = Duration::from_secs(20);

/// A server made of these parts.
pub(super) fn app(
    lore: Lore,
    store: Arc<dyn StoryStore>,
    upstream: Arc<dyn Upstream>,
    tokenizer: &TokenizerArguments,
    defaults: Defaults,
    weaving: Weaving,
) -> anyhow::Result<App> {
    Ok(App::new(AppParts {
        tenant: TenantId::local(),
        lore,
        store,
        upstream,
        clock: Arc::new(SystemClock),
        counter: tokenizer.load()?,
        defaults,
        weaving,
        recogniser: Recogniser::default(),
        tasks: TaskTracker::new(),
    }))
}

/// A runtime for one command.
pub(crate) fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("the asynchronous runtime cannot be started")
}

/// A server that is listening.
pub(super) struct Server {
    /// Where.
    pub(super) address: SocketAddr,
    app: App,
    stop: oneshot::Sender<()>,
    stopped: tokio::task::JoinHandle<std::io::Result<()>>,
}

impl Server {
    /// Opens the port.
    pub(super) async fn start(app: App, address: SocketAddr) -> anyhow::Result<Self> {
        app.restore().await.context("the stored stories cannot be read")?;
        let listener = TcpListener::bind(address)
            .await
            .with_context(|| format!("{address} cannot be listened on"))?;
        let address = listener.local_addr()?;
        let (stop, asked) = oneshot::channel::<()>();
        let serving = serve(app.clone(), listener, async move {
            // A dropped sender means the same as a sent word.
            let _either = asked.await;
        });
        let stopped = app.tasks.spawn(serving);
        Ok(Self { address, app, stop, stopped })
    }

    /// Serves until `asked`, then lets running requests and their stores finish, but not
    /// for ever: a stream may have no end.
    pub(super) async fn until(self, asked: impl Future<Output = ()>) -> anyhow::Result<()> {
        asked.await;
        // The server has gone already if nobody hears this.
        let _gone = self.stop.send(());
        let finishing = async {
            self.stopped.await??;
            self.app.tasks.close();
            self.app.tasks.wait().await;
            anyhow::Ok(())
        };
        match tokio::time::timeout(LAST_MOMENT, finishing).await {
            Ok(finished) => finished,
            Err(_elapsed) => {
                tracing::warn!("stopped in the middle of requests that did not end");
                Ok(())
            }
        }
    }
}

/// Ctrl-C or a termination signal.
pub(super) async fn stop_asked() {
    let interrupt = async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    #[cfg(unix)]
    let terminate = async {
        match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
            Ok(mut signal) => {
                signal.recv().await;
            }
            Err(_) => std::future::pending().await,
        }
    };
    #[cfg(not(unix))]
    let terminate = std::future::pending::<()>();
    tokio::select! {
        () = interrupt => {}
        () = terminate => {}
    }
}
