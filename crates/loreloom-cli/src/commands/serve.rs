//! Running the proxy.

use std::{
    io::Write,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use anyhow::Context as _;
use clap::Args;
use loreloom_core::{
    ids::TenantId,
    notebook::{NotebookMode, NotebookRules},
    tokens::TokenCounter,
    turn::Speaker,
    units::Tokens,
};
use loreloom_llm::{
    connection::Address, embed::StaticEmbedder, offline::OfflineUpstream, secret::Secret,
    upstream::HttpUpstream,
};
use loreloom_memory::{
    cycle::Backend,
    ports::{ChatModel, Store, Upstream},
    service::{MemoryService, Options, Ports},
};
use loreloom_server::{App, AppParts, Defaults, Recogniser, Stacks, Weaving, serve};
use tokio::{
    net::TcpListener,
    runtime::Handle,
    sync::{oneshot, watch},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    clock::SystemClock,
    lore::LoreArguments,
    model::ModelArguments,
    store::StoreArguments,
    tokenizer::TokenizerArguments,
    vault::{Contents, SelectorArguments, Vaults, Watching},
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
    selector: SelectorArguments,

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

    /// Remember nothing beyond what is stored, and recall nothing
    #[arg(long)]
    no_memory: bool,

    /// The model that reads along and keeps memories; without one, passages of the story are
    /// recalled as they are
    #[arg(long, value_name = "NAME")]
    memory_model: Option<String>,

    /// That model's server, if it is another than the upstream
    #[arg(long, value_name = "URL")]
    memory_url: Option<String>,

    /// The model that reads replies for `--ai-notebook extract`
    #[arg(long, value_name = "NAME")]
    notebook_model: Option<String>,

    /// That model's server, if it is another than the upstream
    #[arg(long, value_name = "URL")]
    notebook_url: Option<String>,

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
        let model = self.memory_model().map(|model| model.open()).transpose()?;
        let vaults = self.lore.vaults()?;
        runtime()?.block_on(async {
            let app = self.app(self.store.open_or_make().await?)?;
            let _watching = match vaults {
                Some(vaults) => Some(follow(&app, vaults).await?),
                None => None,
            };
            let server = Server::start(app.clone(), address).await?;
            if let Some(model) = model {
                work(&app, model);
            }
            writeln!(out, "listening on http://{}", server.address)?;
            out.flush()?;
            server.until(stop_asked()).await
        })
    }

    fn app(&self, store: Arc<dyn Store>) -> anyhow::Result<App> {
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
        let memory = (!self.no_memory).then(|| {
            let model = self.memory_model().map(|model| model.used());
            memory(&store, Options { model, ..Options::default() })
        });
        let counter = self.tokenizer.load()?;
        let settings = self.lore.vault_settings()?;
        let upstream = (self.upstream.as_str(), self.key_env.as_deref(), self.context);
        let rules = settings.using.selection.as_ref();
        let choosing = self.selector.open(rules, settings.asking, upstream)?;
        Ok(App::new(AppParts {
            choosing,
            noting: self.noting(&settings.notebooks)?,
            memory,
            weaving,
            ..parts(self.lore.stacks()?, store, self.upstream()?, counter, defaults)
        }))
    }

    /// The model that memory's own work goes to, if one is named.
    fn memory_model(&self) -> Option<ModelArguments> {
        let name = self.memory_model.as_deref()?;
        let url = self.memory_url.as_deref().unwrap_or(&self.upstream);
        Some(ModelArguments::at(url, name, self.key_env.as_deref(), self.context))
    }

    /// The model that reads replies for the notebook, if one is to.
    fn noting(&self, rules: &NotebookRules) -> anyhow::Result<Option<Arc<dyn ChatModel>>> {
        let extracts =
            rules.model.as_ref().is_some_and(|model| model.mode == NotebookMode::Extract);
        let Some(name) = &self.notebook_model else {
            anyhow::ensure!(
                !extracts,
                "say which model reads replies with `--notebook-model NAME`"
            );
            return Ok(None);
        };
        anyhow::ensure!(extracts, "`--notebook-model` reads replies with `--ai-notebook extract`");
        let url = self.notebook_url.as_deref().unwrap_or(&self.upstream);
        let key = self.key_env.as_deref().filter(|_| self.notebook_url.is_none());
        Ok(Some(Arc::from(ModelArguments::at(url, name, key, self.context).open()?)))
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

/// Takes up the notes of vaults, and again whenever they change.
async fn follow(app: &App, vaults: Vaults) -> anyhow::Result<Watching> {
    let loaded = tokio::task::spawn_blocking(move || {
        let mut vaults = vaults;
        let contents = vaults.load()?;
        anyhow::Ok((vaults, contents))
    });
    let (vaults, Contents { notes, fields }) = loaded.await??;
    app.stacks.set_vaults(notes, fields).await?;
    let following = app.clone();
    let (app, runtime) = (app.clone(), Handle::current());
    let changed = move |Contents { notes, fields }| {
        let count = notes.len();
        match runtime.block_on(app.stacks.set_vaults(notes, fields)) {
            Ok(()) => tracing::info!(notes = count, "the vaults changed"),
            Err(error) => tracing::warn!(%error, "the notes stay as they were"),
        }
    };
    let watching = tokio::task::spawn_blocking(move || vaults.watch(changed)).await??;
    if let Some((refreshing, read_again)) = watching.remote.clone() {
        let (turns, stopping) = (following.stacks.turns(), following.stopping.clone());
        following.tasks.spawn(async move {
            tokio::select! {
                () = stopping.cancelled() => {}
                () = refreshing.keep_up(turns, read_again) => {}
            }
        });
    }
    Ok(watching)
}

/// How long running requests may take to finish once the server is asked to stop.
const LAST_MOMENT: Duration = Duration::from_secs(20);

/// The parts of a server that remembers nothing.
pub(super) fn parts(
    stacks: Stacks,
    store: Arc<dyn Store>,
    upstream: Arc<dyn Upstream>,
    counter: Arc<dyn TokenCounter>,
    defaults: Defaults,
) -> AppParts {
    AppParts {
        tenant: TenantId::local(),
        stacks,
        store,
        choosing: None,
        noting: None,
        memory: None,
        upstream,
        clock: Arc::new(SystemClock),
        counter,
        defaults,
        weaving: Weaving::default(),
        recogniser: Recogniser::default(),
        tasks: TaskTracker::new(),
        stopping: CancellationToken::new(),
    }
}

/// Memory over a store.
fn memory(store: &Arc<dyn Store>, options: Options) -> Arc<MemoryService> {
    let ports = Ports {
        story: store.clone(),
        log: store.clone(),
        jobs: store.clone(),
        clock: Arc::new(SystemClock),
        embed: Some(Arc::new(|text: &str| StaticEmbedder::embedded().embed_one(text))),
    };
    Arc::new(MemoryService::new(ports, options))
}

/// Carries out memory's work until the server stops.
fn work(app: &App, model: Box<dyn ChatModel>) {
    let Some(memory) = app.memory.clone() else { return };
    let (tell, stop) = watch::channel(false);
    let stopping = app.stopping.clone();
    app.tasks.spawn(async move {
        stopping.cancelled().await;
        // The worker has gone already if nobody hears this.
        let _gone = tell.send(true);
    });
    app.tasks.spawn(async move {
        let embedder = StaticEmbedder::embedded();
        let backend = Backend { model: model.as_ref(), embedder: Some(&embedder) };
        memory.work_until("server", backend, stop).await;
    });
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
        app.stacks.prepare().await?;
        app.stacks.refresh(app.store.as_ref(), &app.tenant).await?;
        let following = app.clone();
        app.tasks.spawn(async move { following.keep_in_step().await });
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
        self.app.stopping.cancel();
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
