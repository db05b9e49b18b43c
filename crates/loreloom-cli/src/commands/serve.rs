//! Running the proxy.

use std::{
    io::{self, Write},
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use loreloom_core::{
    ids::TenantId,
    notebook::{NotebookMode, NotebookRules},
    turn::Speaker,
    units::Tokens,
};
use loreloom_llm::{connection::Address, embed::StaticEmbedder};
use loreloom_memory::service::ModelUse;
use loreloom_ports::{ChatModel, Embedder, Store};
use loreloom_server::{
    App, AppParts, Choosing, ConnectionKind as Kind, ConnectionSettings, Connections, Defaults,
    Feature, FeatureChoice, KeptRouting, KeySource, LorePlacement, LoreService, Notices, Routing,
    ServerLimits, ServerUrl, Started, VaultKeeper, WaitingTurns, Weaving, serve,
};
use tokio::{net::TcpListener, sync::oneshot};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{memory::options, serve_memory, serve_welcome::Welcome};
use crate::{
    clock::SystemClock,
    config::{Config, ConfigArguments, ForAll, Opened, opening, prospecting},
    lore::LoreArguments,
    model::ModelArguments,
    open_files,
    store::StoreArguments,
    tokenizer::TokenizerArguments,
    vault::SelectorArguments,
};

/// Run the proxy between a front end and a model.
///
/// Set the front end's API address to the printed one, with `/v1`. What is not said here is
/// taken from the configuration file.
#[derive(Debug, Args)]
pub(crate) struct Serve {
    #[command(flatten)]
    config: ConfigArguments,

    /// The model's server with its path, for example `http://127.0.0.1:11434/v1`, or
    /// `offline` for the built-in storyteller; every request goes there, whatever the
    /// configuration's routes say [default: offline, if no connection is configured]
    #[arg(long, value_name = "URL")]
    upstream: Option<String>,

    /// The environment variable that holds the upstream's key
    #[arg(long, value_name = "VARIABLE", requires = "upstream")]
    key_env: Option<String>,

    #[command(flatten)]
    lore: LoreArguments,

    /// The port; 0 takes any that is free [default: 8686]
    #[arg(long)]
    port: Option<u16>,

    /// The address to listen on, for example `0.0.0.0:8686`; beyond this machine everybody
    /// needs a key (`loreloom keys add`) [default: 127.0.0.1:8686]
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with = "port")]
    listen: Option<SocketAddr>,

    #[command(flatten)]
    selector: SelectorArguments,

    #[command(flatten)]
    store: StoreArguments,

    /// The user's name, where requests do not say it [default: User]
    #[arg(long, value_name = "NAME")]
    user: Option<String>,

    /// The character's name, where requests do not say it
    #[arg(long = "char", value_name = "NAME")]
    character: Option<String>,

    /// The model's context size, where neither its connection nor its server tells it
    /// [default: 8192]
    #[arg(long, value_name = "TOKENS")]
    context: Option<u32>,

    /// The seed of all rolls [default: 0]
    #[arg(long)]
    seed: Option<u64>,

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

    /// How memory works, as a JSON file
    #[arg(long, value_name = "FILE")]
    memory_settings: Option<PathBuf>,

    /// Pass every request on as it is
    #[arg(long)]
    no_weave: bool,

    /// The longest that the engine works for a request, in milliseconds; then it goes on without
    /// lore [default: 2000]
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..=600_000))]
    deadline: Option<u64>,

    /// Where lore stands: where its authors want it, or where a prompt cache keeps most
    /// [default: front-end]
    #[arg(long, value_enum)]
    placement: Option<PlacementName>,

    /// The model refuses prompts whose roles do not alternate: write lore into messages
    #[arg(long)]
    strict_roles: bool,
}

/// Where lore stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlacementName {
    /// Where its authors want it
    #[default]
    FrontEnd,
    /// Where a prompt cache keeps most of each prompt
    Stable,
}

/// The name of the connection that `--upstream` makes.
const UPSTREAM: &str = "upstream";

/// What does memory's work.
struct Extractor {
    model: Arc<dyn ChatModel>,
    used: ModelUse,
}

impl Serve {
    pub(super) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let config = self.config.read()?;
        let address = self.address(&config);
        let lore = self.lore.under(&config);
        let roots = config.server.vault_roots.iter().map(|root| config.path(root)).collect();
        let keeper = Arc::new(lore.keeper(roots)?);
        let for_all = self.for_all(&config)?;
        let opened = self.connections(&config, &for_all)?;
        runtime()?.block_on(async {
            let place = self.store.under(&config);
            let store = place.open_or_make().await?;
            let own: Arc<dyn Embedder> = Arc::new(StaticEmbedder::embedded());
            let stacks = LoreService::new(lore.mounted(&config)?, lore.rules()?, Some(own))?;
            let extractor = self.extractor(&config, &opened)?;
            let set = Routing::read(store.as_ref(), &TenantId::local()).await?;
            let choosing = Some(self.choosing(&lore, &config, &opened, &set)?);
            let noting = self.noting(&lore.vault_settings()?.notebooks, &config, &opened)?;
            let access = config.server.access(address);
            access.keys.refresh(store.as_ref()).await?;
            anyhow::ensure!(
                !access.require_key || !access.keys.is_empty(),
                "{address} can be reached by others, so everybody needs a key, and there is none: \
                 make one with `loreloom keys add`"
            );
            let connections = self.routed(&config, &opened, for_all)?;
            let app = self.app(&config, connections, store, stacks)?;
            let limits = config.server.limits.limits();
            let waiting = WaitingTurns::with_spill(Arc::new(place.spill()?));
            let access = Arc::new(access);
            let app = App::new(AppParts { access, limits, choosing, noting, waiting, ..app });
            keeper.begin(&app).await?;
            app.lore.keep_vaults(Arc::clone(&keeper) as Arc<dyn VaultKeeper>);
            if let (Some(memory), Some(extractor)) = (&app.memory, extractor) {
                memory.models.assign(extractor.used, extractor.model);
            }
            open_files::raise_limit();
            let server = Server::start(app.clone(), address).await?;
            serve_memory::work(&app);
            writeln!(out, "listening on http://{}", server.address)?;
            out.flush()?;
            let connections = app.connections();
            let all = connections.all();
            // With `--upstream` every request goes to the first, unless the API says otherwise.
            let is_only = self.upstream.is_some() && all.len() == opened.len();
            let used = if is_only { &all[..1] } else { all };
            let welcome = Welcome {
                address: server.address,
                connections: used,
                stories: place.address()?.to_string(),
                books: app.lore.current().library().books().len(),
                vaults: keeper.count(),
            };
            // Nobody may be there to read it.
            let _unread = write!(io::stderr(), "{welcome}");
            let ended = server.until(stop_asked()).await;
            keeper.end().await;
            ended
        })
    }

    fn address(&self, config: &Config) -> SocketAddr {
        let configured = self.listen.or(config.server.listen);
        let mut address =
            configured.unwrap_or(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8686));
        if let Some(port) = self.port {
            address.set_port(port);
        }
        address
    }

    /// All connections, the one that arguments name first.
    fn connections(&self, config: &Config, for_all: &ForAll) -> anyhow::Result<Vec<Opened>> {
        let mut opened = Vec::new();
        if let Some(upstream) = self.upstream()? {
            opened.push(Opened::open(UPSTREAM, &upstream, &config.folder)?);
        }
        for (name, connection) in &config.connections {
            opened.push(Opened::open(name, connection, &config.folder)?);
        }
        if opened.is_empty() {
            let kind = Kind::Offline;
            let offline = ConnectionSettings { kind, ..ConnectionSettings::default() };
            opened.push(Opened::open(UPSTREAM, &offline, &config.folder)?);
        }
        Ok(opened.into_iter().map(|one| for_all.over(one)).collect())
    }

    /// What is said on the command line wins over what connections say.
    fn for_all(&self, config: &Config) -> anyhow::Result<ForAll> {
        Ok(ForAll {
            strict_roles: self.strict_roles,
            measured: self.placement(config) != LorePlacement::FrontEnd,
            context: self.context,
            counting: self.tokenizer.counting()?,
        })
    }

    /// The connection that arguments name.
    fn upstream(&self) -> anyhow::Result<Option<ConnectionSettings>> {
        let Some(upstream) = &self.upstream else { return Ok(None) };
        if upstream == "offline" {
            let kind = Kind::Offline;
            return Ok(Some(ConnectionSettings { kind, ..ConnectionSettings::default() }));
        }
        let key = self.key_env.clone().map(KeySource::Environment);
        // The whole of what is wrong with it is told before it is one.
        let _checked = Address::parse(upstream)?;
        let url = Some(ServerUrl::parse(upstream)?);
        // Ollama serves OpenAI's paths under `/v1`, its own beside them.
        let kind = if upstream.contains("/v1") { Kind::Openai } else { Kind::Ollama };
        Ok(Some(ConnectionSettings { kind, url, key, ..ConnectionSettings::default() }))
    }

    fn app(
        &self,
        config: &Config,
        connections: Connections,
        store: Arc<dyn Store>,
        stacks: LoreService,
    ) -> anyhow::Result<AppParts> {
        let story = &config.story;
        let character = self.character.as_ref().or(story.character.as_ref());
        let user = self.user.as_ref().or(story.user.as_ref());
        let defaults = Defaults {
            context: Tokens(self.context.or(story.context).unwrap_or(DEFAULT_CONTEXT)),
            context_stated: self.context.or(story.context).is_some(),
            user: user.map_or_else(|| "User".to_owned(), Clone::clone),
            speaker: character.map(|name| Speaker::named(name.as_str())),
            seed: self.seed.or(story.seed).unwrap_or_default(),
            contexts: config.chats.clone(),
        };
        let weaving = Weaving::default();
        let deadline = self.deadline.or(config.weaving.deadline_ms);
        let weaving = Weaving {
            on: !self.no_weave && config.weaving.on.unwrap_or(true),
            deadline: deadline.map_or(weaving.deadline, Duration::from_millis),
            longest_queued: config
                .weaving
                .queue_seconds
                .map_or(weaving.longest_queued, Duration::from_secs),
            placement: self.placement(config),
            ..weaving
        };
        let remembers = !self.no_memory && config.memory.on.unwrap_or(true);
        let options = options(self.memory_settings.as_deref())?;
        let memory = remembers.then(|| serve_memory::memory(&store, options));
        Ok(AppParts { memory, weaving, ..parts(stacks, store, connections, defaults) })
    }

    fn placement(&self, config: &Config) -> LorePlacement {
        match self.placement.or(config.weaving.placement).unwrap_or_default() {
            PlacementName::FrontEnd => LorePlacement::FrontEnd,
            PlacementName::Stable => {
                LorePlacement::Stable(config.weaving.stable.clone().unwrap_or_default())
            }
        }
    }

    fn routed(
        &self,
        config: &Config,
        opened: &[Opened],
        for_all: ForAll,
    ) -> anyhow::Result<Connections> {
        let all = opened.iter().map(Opened::connection).collect::<anyhow::Result<_>>()?;
        let connections = if self.upstream.is_some() {
            Connections::new(all, Vec::new(), None)?
        } else {
            let writer = config.features.writer.as_ref();
            let writer = writer.map(FeatureChoice::connection);
            Connections::new(all, config.routes.clone(), writer)?
        };
        let opening = opening(config.folder.clone(), for_all);
        let connections = connections.prospecting(prospecting()).opening(opening);
        Ok(connections.started(self.started(config)))
    }

    /// How a model chooses notes of vaults.
    fn choosing(
        &self,
        lore: &LoreArguments,
        config: &Config,
        opened: &[Opened],
        set: &KeptRouting,
    ) -> anyhow::Result<Choosing> {
        let settings = lore.vault_settings()?;
        let context = self.context.or(config.story.context).unwrap_or(DEFAULT_CONTEXT);
        // What cannot be read may name one.
        let elsewhere = set.problem.is_some()
            || set.routing.features.selector.is_some()
            || config.features.selector.is_some();
        let first = opened.first().map(Opened::shown).unwrap_or_default();
        let url = self.upstream.as_deref().unwrap_or(&first);
        let upstream = (url, self.key_env.as_deref(), context);
        let rules = settings.using.selection.as_ref();
        self.selector.open(rules, settings.asking, elsewhere, upstream)
    }

    /// The model that reads replies for the notebook, if one is to.
    fn noting(
        &self,
        rules: &NotebookRules,
        config: &Config,
        opened: &[Opened],
    ) -> anyhow::Result<Option<Arc<dyn ChatModel>>> {
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
        let context = self.context.or(config.story.context).unwrap_or(DEFAULT_CONTEXT);
        let first = opened.first().map(Opened::shown).unwrap_or_default();
        let url = self.notebook_url.as_deref().or(self.upstream.as_deref()).unwrap_or(&first);
        let key = self.key_env.as_deref().filter(|_| self.notebook_url.is_none());
        Ok(Some(Arc::from(ModelArguments::at(url, name, key, context).open()?)))
    }

    /// The model that memory's own work goes to, if one is named.
    fn extractor(&self, config: &Config, opened: &[Opened]) -> anyhow::Result<Option<Extractor>> {
        let Some(name) = &self.memory_model else { return Ok(None) };
        let context = self.context.or(config.story.context).unwrap_or(DEFAULT_CONTEXT);
        let first = opened.first().map(Opened::shown).unwrap_or_default();
        let url = self.memory_url.as_deref().or(self.upstream.as_deref()).unwrap_or(&first);
        let model = ModelArguments::at(url, name, self.key_env.as_deref(), context);
        Ok(Some(Extractor { used: model.used(), model: Arc::from(model.open()?) }))
    }

    /// What the features are to ask, unless the API says otherwise.
    fn started(&self, config: &Config) -> Started {
        let mut started = Started { configured: config.features.chosen(), ..Started::default() };
        if self.memory_model.is_some() {
            started.fixed.push((Feature::Extractor, "--memory-model"));
        }
        if self.selector.is_named() {
            started.fixed.push((Feature::Selector, "--selector-model"));
        }
        started.patience = config.features.embedder_timeout_ms.unwrap_or(started.patience);
        started
    }
}

/// The context size of a model that nothing is known of.
const DEFAULT_CONTEXT: u32 = 8192;

/// How long running requests may take to finish once the server is asked to stop.
const LAST_MOMENT: Duration = Duration::from_secs(20);

/// The parts of a server that remembers nothing.
pub(super) fn parts(
    stacks: LoreService,
    store: Arc<dyn Store>,
    connections: Connections,
    defaults: Defaults,
) -> AppParts {
    AppParts {
        tenant: TenantId::local(),
        lore: stacks,
        store,
        choosing: None,
        noting: None,
        memory: None,
        configured: Arc::new(connections),
        clock: Arc::new(SystemClock),
        defaults,
        weaving: Weaving::default(),
        access: Arc::default(),
        limits: ServerLimits::default(),
        notices: Notices::default(),
        waiting: WaitingTurns::default(),
        tasks: TaskTracker::new(),
        stopping: CancellationToken::new(),
    }
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
        app.open().await.context("the stored stories cannot be read")?;
        let problems = app.configured_problems();
        anyhow::ensure!(problems.is_empty(), "{}", problems.join("; "));
        let listener = match TcpListener::bind(address).await {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                anyhow::bail!("{address} is in use already: `--port` names another port")
            }
            bound => bound.with_context(|| format!("{address} cannot be listened on"))?,
        };
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
