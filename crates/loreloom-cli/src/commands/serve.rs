//! Running the proxy.

use std::{
    io::{self, Write},
    net::SocketAddr,
    sync::Arc,
    time::Duration,
};

use anyhow::Context as _;
use clap::Args;
use loreloom_core::{dialects::vault::Vault, ids::TenantId, turn::Speaker, units::Tokens};
use loreloom_llm::connection::Address;
use loreloom_memory::service::ModelUse;
use loreloom_ports::{ChatModel, Store};
use loreloom_server::{
    App, AppParts, Choosing, ConnectionKind as Kind, ConnectionSettings, Connections, Defaults,
    Feature, FeatureChoice, KeptRouting, KeySource, LorePlacement, LoreService, Notices, Routing,
    ServerLimits, ServerUrl, Started, VaultKeeper, WaitingTurns, Weaving, serve, stored_settings,
    vault_select::AskRules,
};
use loreloom_settings::{
    Changes, LogFormat, NotebookMaker, PlacementMode, ServerSection, Settings, StartSettings,
};
use loreloom_store::StoreAddress;
use serde_json::json;
use tokio::{net::TcpListener, sync::oneshot};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{serve_memory, serve_welcome::Welcome};
use crate::{
    allocator,
    clock::SystemClock,
    config::{self, Config, ConfigArguments, ForAll, KeyFolder, Opened, opening, prospecting},
    embedding_table::EmbeddingTable,
    limits, logs,
    lore::LoreArguments,
    model::{ModelArguments, ModelName},
    open_files,
    settings::{Flags, ServerFlags, StoryFlags},
    store::StoreArguments,
    tokenizer::TokenizerArguments,
    vault::SelectorArguments,
};

/// Run the proxy between a front end and a model.
///
/// Set the front end's API address to the printed one, with `/v1`. The configuration file has the
/// rest; `loreloom config show` prints what works.
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

    /// The port; 0 takes any that is free [default: 8686]
    #[arg(long, conflicts_with = "server.listen")]
    port: Option<u16>,

    #[command(flatten)]
    store: StoreArguments,

    #[command(flatten)]
    lore: LoreArguments,

    #[command(flatten)]
    story: Flags<StoryFlags>,

    #[command(flatten)]
    server: Flags<ServerFlags>,

    #[command(flatten)]
    tokenizer: TokenizerArguments,

    /// Turn memory and recall off; stories are still stored [memory.on=false]
    #[arg(help_heading = "Models", long)]
    no_memory: bool,

    /// The model that reads along and keeps memories; without one, passages of the story are
    /// recalled as they are
    #[arg(help_heading = "Models", long, value_name = "NAME[@URL]")]
    memory_model: Option<ModelName>,

    /// The model that reads replies for `notebooks.model.mode = "extract"`
    #[arg(help_heading = "Models", long, value_name = "NAME[@URL]")]
    notebook_model: Option<ModelName>,

    #[command(flatten)]
    selector: SelectorArguments,
}

/// The name of the connection that `--upstream` makes.
const UPSTREAM: &str = "upstream";

/// What a start works with.
#[derive(Clone, Copy)]
struct Start<'a> {
    config: &'a Config,
    /// The settings with what is stored over them.
    settings: &'a Settings,
    table: &'a EmbeddingTable,
}

/// What does memory's work.
struct Extractor {
    model: Arc<dyn ChatModel>,
    used: ModelUse,
}

impl Serve {
    pub(super) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        allocator::begin_start();
        let config = self.config.read()?;
        let lore = self.lore.under(&config);
        let started = lore.started(self.changes(&config)?)?;
        runtime()?.block_on(async {
            let place = StoreArguments::of(&started.settings.store);
            let store = place.open_or_make().await?;
            let stored = stored_settings(store.as_ref(), &TenantId::local()).await?;
            // What is stored is read once for everything that a restart takes up.
            let settings = started.with(&stored)?;
            limits::configure(settings.limits);
            if settings.server.log_format == LogFormat::Json {
                logs::write_json();
            }
            let table = EmbeddingTable::open(&settings.features)?;
            let start = Start { config: &config, settings: &settings, table: &table };
            let address = settings.server.listen;
            let keeper = Arc::new(lore.keeper(&settings));
            let for_all = self.for_all(&settings)?;
            let opened = self.connections(&config, &for_all)?;
            let books = lore.mounted(&config, &settings)?;
            let stacks = LoreService::new(books, started.clone(), Some(table.embedder()))?;
            let extractor = self.extractor(&settings, &opened)?;
            let set = Routing::read(store.as_ref(), &TenantId::local()).await?;
            let choosing = Some(self.choosing(start, &opened, &set)?);
            let noting = self.noting(&settings, &opened)?;
            let access = config::access(&settings.server, address);
            access.keys.refresh(store.as_ref()).await?;
            anyhow::ensure!(
                !access.require_key || !access.keys.is_empty(),
                "{address} can be reached by others, so everybody needs a key, and there is none: \
                 make one with `loreloom keys add`"
            );
            let connections = self.routed(start, &opened, for_all)?;
            let limits = config::server_limits(&settings.server.limits);
            let app = Self::app(start, &started, connections, (store, stacks));
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
            self.welcome(&app, server.address, (opened.len(), place.address()?), keeper.count());
            let ended = server.until(stop_asked()).await;
            keeper.end().await;
            ended
        })
    }

    /// Says on standard error what runs.
    fn welcome(
        &self,
        app: &App,
        address: SocketAddr,
        (opened, stories): (usize, StoreAddress),
        (vaults, files): (usize, usize),
    ) {
        let connections = app.connections();
        let all = connections.all();
        // With `--upstream` every request goes to the first, unless the API says otherwise.
        let is_only = self.upstream.is_some() && all.len() == opened;
        let welcome = Welcome {
            address,
            connections: if is_only { &all[..1] } else { all },
            stories: stories.to_string(),
            books: app.lore.current().library().books().len(),
            vaults,
            files,
            notes: app.lore.current().library().vault().map_or(0, Vault::len),
        };
        if logs::wrote_json("started", &welcome.to_json()) {
            return;
        }
        // Nobody may be there to read it.
        let _unread = write!(io::stderr(), "{welcome}");
    }

    /// The flags of this command as settings.
    fn changes(&self, config: &Config) -> anyhow::Result<Changes> {
        let mut changes = self.story.changes.clone().then(self.server.changes.clone());
        changes = changes.then(self.store.changes()?);
        if self.no_memory {
            changes.set("memory.on", json!(false))?;
        }
        if let Some(port) = self.port {
            let configured = config.settings.get("server.listen").and_then(|value| value.as_str());
            let configured = configured.and_then(|address| address.parse().ok());
            let mut address = configured.unwrap_or(ServerSection::default().listen);
            address.set_port(port);
            changes.set("server.listen", json!(address))?;
        }
        Ok(changes)
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

    /// What is said for all connections.
    fn for_all(&self, settings: &Settings) -> anyhow::Result<ForAll> {
        // A context size on the command line wins over what connections say.
        let context = self.story.changes.get("story.context");
        let context = context.map(|_| settings.story.context);
        Ok(ForAll {
            defaults: settings.connection.clone(),
            measured: settings.weaving.placement != PlacementMode::FrontEnd,
            context,
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
        // `Address` names every mistake; `ServerUrl` only the first.
        let _checked = Address::parse(upstream)?;
        let url = Some(ServerUrl::parse(upstream)?);
        // Ollama serves OpenAI's paths under `/v1`, its own beside them.
        let kind = if upstream.contains("/v1") { Kind::Openai } else { Kind::Ollama };
        Ok(Some(ConnectionSettings { kind, url, key, ..ConnectionSettings::default() }))
    }

    fn app(
        start: Start<'_>,
        started: &StartSettings,
        connections: Connections,
        (store, stacks): (Arc<dyn Store>, LoreService),
    ) -> AppParts {
        // What takes effect at once is stored over these.
        let own = &started.settings;
        let character = own.story.character.as_deref();
        let defaults = Defaults {
            context: Tokens(own.story.context),
            context_stated: started.is_set("story.context"),
            user: own.story.user.clone(),
            speaker: character.map(Speaker::named),
            seed: own.story.seed,
            contexts: start.config.chats.clone(),
        };
        let weaving = Weaving {
            on: own.weaving.on,
            deadline: Duration::from_millis(own.weaving.deadline_ms),
            longest_queued: Duration::from_secs(own.weaving.queue_seconds),
            placement: LorePlacement::from(&start.settings.weaving),
            ..Weaving::default()
        };
        let memory = &start.settings.memory;
        let memory = memory.on.then(|| serve_memory::memory(&store, start.table, memory.options()));
        let settings = started.clone();
        AppParts { memory, weaving, settings, ..parts(stacks, store, connections, defaults) }
    }

    fn routed(
        &self,
        start: Start<'_>,
        opened: &[Opened],
        for_all: ForAll,
    ) -> anyhow::Result<Connections> {
        let config = start.config;
        let all = opened.iter().map(Opened::connection).collect::<anyhow::Result<_>>()?;
        let connections = if self.upstream.is_some() {
            Connections::new(all, Vec::new(), None)?
        } else {
            let writer = config.features.writer.as_ref();
            let writer = writer.map(FeatureChoice::connection);
            Connections::new(all, config.routes.clone(), writer)?
        };
        let opening = opening(config.folder.clone(), for_all);
        let keys = StoreArguments::of(&start.settings.store).key_folder()?;
        let connections = connections.prospecting(prospecting()).opening(opening);
        let connections = connections.keeping(Arc::new(KeyFolder::new(keys)));
        Ok(connections.started(self.started(start)))
    }

    /// How a model selects notes of vaults.
    fn choosing(
        &self,
        start: Start<'_>,
        opened: &[Opened],
        set: &KeptRouting,
    ) -> anyhow::Result<Choosing> {
        let vault = &start.settings.vault;
        // A routing that cannot be read may name one.
        let elsewhere = set.problem.is_some()
            || set.routing.features.selector.is_some()
            || start.config.features.selector.is_some();
        let first = opened.first().map(Opened::shown).unwrap_or_default();
        let url = self.upstream.as_deref().unwrap_or(&first);
        let upstream = (url, self.key_env.as_deref(), start.settings.story.context);
        let rules = vault.selection.rules();
        self.selector.open(rules.as_ref(), AskRules::from(&vault.selector), elsewhere, upstream)
    }

    /// The model that reads replies for the notebook, if one is to.
    fn noting(
        &self,
        settings: &Settings,
        opened: &[Opened],
    ) -> anyhow::Result<Option<Arc<dyn ChatModel>>> {
        let extracts = settings.notebooks.model.mode == NotebookMaker::Extract;
        let Some(named) = &self.notebook_model else {
            anyhow::ensure!(
                !extracts,
                "name the model that reads replies with `--notebook-model NAME`"
            );
            return Ok(None);
        };
        anyhow::ensure!(extracts, "`--notebook-model` needs `--set notebooks.model.mode=extract`");
        Ok(Some(Arc::from(self.asked(named, settings, opened).open()?)))
    }

    /// The model that memory's own work goes to, if one is named.
    fn extractor(
        &self,
        settings: &Settings,
        opened: &[Opened],
    ) -> anyhow::Result<Option<Extractor>> {
        let Some(named) = &self.memory_model else { return Ok(None) };
        let model = self.asked(named, settings, opened);
        Ok(Some(Extractor { used: model.used(), model: Arc::from(model.open()?) }))
    }

    /// A model of its own server, or of the upstream. A key is for the server it was given for.
    fn asked(&self, named: &ModelName, settings: &Settings, opened: &[Opened]) -> ModelArguments {
        let first = opened.first().map(Opened::shown).unwrap_or_default();
        let url = named.url.as_deref().or(self.upstream.as_deref()).unwrap_or(&first);
        let key = self.key_env.as_deref().filter(|_| named.url.is_none());
        ModelArguments::at(url, &named.name, key, settings.story.context)
    }

    /// What the features are to ask, unless the API says otherwise.
    fn started(&self, start: Start<'_>) -> Started {
        let configured = start.config.features.chosen();
        let mut started = Started { configured, ..Started::default() };
        if self.memory_model.is_some() {
            started.fixed.push((Feature::Extractor, "--memory-model"));
        }
        if self.selector.is_named() {
            started.fixed.push((Feature::Selector, "--selector-model"));
        }
        let patience = start.settings.features.embedder_timeout_ms;
        started.patience = Duration::from_millis(patience);
        started
    }
}

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
        settings: StartSettings::default(),
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
        app.tasks.spawn(allocator::give_back(app.stopping.clone()));
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
