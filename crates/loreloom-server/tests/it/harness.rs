//! A Loreloom server on loopback with an upstream of the test's choosing.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use loreloom_core::{
    book::{Book, Entry, Key, Position},
    ids::{ChatId, TenantId},
    library::{Binding, Volume},
    rules::Rules,
    tokens::{ByteEstimate, TokenCounter},
    units::{Timestamp, Tokens},
};
use loreloom_llm::{
    connection::{Address, OpenAiModel},
    diagnose::BuiltIn,
    embed::StaticEmbedder,
    upstream::HttpUpstream,
};
use loreloom_memory::{
    model_profile::ModelProfile,
    service::{MemoryServices, ModelUse, Options, Ports, TableVectors},
};
use loreloom_ports::{
    ChatModel, Clock, Embedder, JobQueue as _, Node, Store, StoryStore, Upstream,
};
use loreloom_server::{
    Access, App, AppParts, Choosing, Connection, ConnectionKind, Connections, Defaults,
    LoreService, Notices, Prices, ServerLimits, WaitingTurns, Weaving, serve,
};
use loreloom_settings::{Settings, StartSettings};
use loreloom_store::SqliteStore;
use loreloom_testkit::model_server::ModelServer;
use tokio::net::TcpListener;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// A clock that stands still.
pub(crate) struct Still(pub(crate) Timestamp);

impl Clock for Still {
    fn now(&self) -> Timestamp {
        self.0
    }
}

/// A clock that is set by hand.
#[derive(Default)]
pub(crate) struct SetByHand(pub(crate) AtomicI64);

impl Clock for SetByHand {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::Relaxed))
    }
}

/// A clock that moves by a second with every look.
#[derive(Default)]
struct Ticking(AtomicI64);

impl Clock for Ticking {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.fetch_add(1000, Ordering::Relaxed))
    }
}

pub(crate) struct Loreloom {
    pub(crate) address: SocketAddr,
    pub(crate) store: Arc<SqliteStore>,
    pub(crate) app: App,
}

/// How a server is set up.
pub(crate) struct Setup {
    pub(crate) rules: Rules,
    pub(crate) counter: Arc<dyn TokenCounter>,
    pub(crate) weaving: Weaving,
    pub(crate) store: Arc<SqliteStore>,
    pub(crate) memory: bool,
    /// Where requests go, instead of to the one model.
    pub(crate) connections: Option<Connections>,
    /// What the tokens of the one model cost.
    pub(crate) prices: Option<Prices>,
    pub(crate) access: Access,
    pub(crate) limits: ServerLimits,
    /// Another book than the one with the bell.
    pub(crate) lore: Option<Book>,
    /// What is told of chats.
    pub(crate) contexts: std::collections::BTreeMap<String, loreloom_core::turn::StoryContext>,
    pub(crate) choosing: Option<Choosing>,
    pub(crate) noting: Option<Arc<dyn ChatModel>>,
    /// What finds entries by meaning, and how long a turn waits for it.
    pub(crate) embedder: Option<(Arc<dyn Embedder>, Duration)>,
    /// How memory works.
    pub(crate) options: Options,
    /// The model that keeps memories, by name, and how able it is.
    pub(crate) notes_model: Option<(&'static str, ModelProfile)>,
    /// When it is.
    pub(crate) clock: Arc<dyn Clock>,
    /// Turns that the store did not take.
    pub(crate) waiting: WaitingTurns,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            rules: Rules::default(),
            counter: Arc::new(ByteEstimate),
            // Tests run on busy machines: only one of them is about time.
            weaving: Weaving { deadline: Duration::from_mins(1), ..Weaving::default() },
            store: empty_store(),
            memory: false,
            connections: None,
            prices: None,
            access: Access::default(),
            limits: ServerLimits::default(),
            lore: None,
            contexts: std::collections::BTreeMap::new(),
            choosing: None,
            noting: None,
            embedder: None,
            options: Options::default(),
            notes_model: None,
            clock: Arc::new(Still(Timestamp(1_000))),
            waiting: WaitingTurns::default(),
        }
    }
}

/// A model for memory's questions on a scripted server.
pub(crate) fn memory_model(server: &ModelServer, name: &str) -> OpenAiModel {
    let address = Address::parse(&format!("{}/v1", server.base_url())).unwrap();
    OpenAiModel::new(loreloom_llm::connection::Connection::new(address, name)).unwrap()
}

impl Loreloom {
    /// Waits until a chat has so many messages and no job is left.
    pub(crate) async fn settled(&self, chat: &ChatId, length: usize) {
        let tenant = TenantId::local();
        for _ in 0..2000 {
            let stored = match self.store.chat(&tenant, chat).await.unwrap() {
                Some(record) => self.store.path(&tenant, chat, record.tip).await.unwrap().len(),
                None => 0,
            };
            let jobs = self.store.jobs(&tenant, None, false).await.unwrap();
            if stored == length && jobs.is_empty() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("memory still works after ten seconds");
    }

    /// Starts a server in front of a scripted model.
    pub(crate) async fn before(model: &ModelServer) -> Self {
        Box::pin(Self::start(model, Setup::default())).await
    }

    /// The same with other rules.
    pub(crate) async fn with_rules(model: &ModelServer, rules: Rules) -> Self {
        Box::pin(Self::start(model, Setup { rules, ..Setup::default() })).await
    }

    /// The same with another tokenizer.
    pub(crate) async fn counting(model: &ModelServer, counter: Arc<dyn TokenCounter>) -> Self {
        Box::pin(Self::start(model, Setup { counter, ..Setup::default() })).await
    }

    /// Starts a server set up like this.
    pub(crate) async fn start(model: &ModelServer, setup: Setup) -> Self {
        // The tests' own clients need it.
        let _installed = rustls::crypto::ring::default_provider().install_default();
        let address = Address::parse(&format!("{}/v1", model.base_url())).unwrap();
        let Setup { rules, counter, weaving, store, memory, options, notes_model, .. } = setup;
        let Setup { connections, access, limits, choosing, noting, lore, contexts, .. } = setup;
        let Setup { embedder, clock, prices, waiting, .. } = setup;
        let mut own = Settings::default();
        own.memory.settings.clone_from(&options.settings);
        let stacks = Box::pin(stacks(lore.unwrap_or_else(book), rules, embedder)).await;
        let memory = (memory || notes_model.is_some())
            .then(|| remembering(&store, options, notes_model.map(|(_, profile)| profile)));
        let app = App::new(AppParts {
            tenant: TenantId::local(),
            lore: stacks,
            store: Arc::clone(&store) as Arc<dyn Store>,
            choosing,
            noting,
            memory: memory.clone(),
            configured: Arc::new(connections.unwrap_or_else(|| {
                let upstream = Arc::new(HttpUpstream::new(address, None).unwrap());
                let model = Some("writer-1".to_owned());
                let named = connection("model", upstream, counter);
                Connections::only(Connection { prices, model, ..named })
            })),
            clock,
            defaults: Defaults {
                context: Tokens(4096),
                context_stated: false,
                user: "Mira".to_owned(),
                speaker: None,
                seed: 0,
                contexts,
            },
            weaving,
            settings: StartSettings::of(own),
            access: Arc::new(access),
            limits,
            notices: Notices::default(),
            waiting,
            tasks: TaskTracker::new(),
            stopping: CancellationToken::new(),
        });
        app.restore().await.unwrap();
        app.refresh_keys().await.unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let serving = serve(app.clone(), listener, std::future::pending());
        app.tasks.spawn(async move { serving.await.unwrap() });
        if let (Some(memory), Some((name, _))) = (memory, notes_model) {
            let model = memory_model(model, name);
            let used = memory.options.model.clone().unwrap();
            memory.models.assign(used, Arc::new(model));
            app.tasks.spawn(async move {
                let (_tell, stop) = tokio::sync::watch::channel(false);
                memory.worker.work_until("test", 0, stop).await;
            });
        }
        Self { address, store, app }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The story's current path, once it has `length` messages.
    pub(crate) async fn story(&self, length: usize) -> Vec<Node> {
        let tenant = TenantId::local();
        for _ in 0..500 {
            if let Some(chat) = self.store.chats(&tenant).await.unwrap().first() {
                let path = self.store.path(&tenant, &chat.chat.id, chat.chat.tip).await.unwrap();
                if path.len() == length {
                    return path;
                }
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("the story never had {length} messages");
    }
}

/// One book, and what finds its entries by meaning.
async fn stacks(
    book: Book,
    rules: Rules,
    embedder: Option<(Arc<dyn Embedder>, Duration)>,
) -> LoreService {
    let books = [everywhere(book)];
    let Some((one, patience)) = embedder else {
        return LoreService::new(books, rules, None).unwrap();
    };
    let stacks = LoreService::new(books, rules, Some(one)).unwrap().waiting(patience);
    stacks.prepare().await.unwrap();
    stacks
}

/// A connection without settings of its own.
pub(crate) fn connection(
    name: &str,
    upstream: Arc<dyn Upstream>,
    counter: Arc<dyn TokenCounter>,
) -> Connection {
    Connection {
        name: name.into(),
        shown: name.to_owned(),
        kind: ConnectionKind::Openai,
        model: None,
        key: "the front end's".to_owned(),
        upstream,
        counting: Arc::new(move |_| Arc::clone(&counter)),
        context: None,
        strict_roles: false,
        cache: None,
        prices: None,
        diagnosis: Arc::new(BuiltIn),
        holding: None,
        questions: None,
        problem: None,
    }
}

/// One entry, found by the word “bell”.
fn book() -> Book {
    let mut book = Book::new("world", "World");
    let mut entry = Entry::new("world/0");
    entry.name = String::from("The bell");
    entry.activation.keys = vec![Key::parse("bell")];
    entry.content = String::from("The bell of Harrow is cracked.");
    entry.placement.position = Position::AfterCharacter;
    book.entries.push(entry);
    book
}

/// A new store.
pub(crate) fn empty_store() -> Arc<SqliteStore> {
    Arc::new(SqliteStore::in_memory().unwrap())
}

/// Memory, with a model of that ability or none.
fn remembering(
    store: &Arc<SqliteStore>,
    options: Options,
    profile: Option<ModelProfile>,
) -> Arc<MemoryServices> {
    let model = profile.map(|profile| ModelUse {
        connection: "notes".into(),
        profile,
        at_once: 1,
        context: Tokens(3000),
    });
    let ports = Ports {
        story: store.clone(),
        log: store.clone(),
        jobs: store.clone(),
        clock: Arc::new(Ticking::default()),
        table: Some(TableVectors::english(|text| StaticEmbedder::embedded().embed_one(text))),
        embedder: Some(Arc::new(StaticEmbedder::embedded())),
    };
    Arc::new(MemoryServices::new(&ports, Options { model, ..options }))
}

/// A book that is active in every chat.
fn everywhere(book: Book) -> (Volume, Vec<Binding>) {
    let dialect = loreloom_formats::dialect_of(&book);
    (Volume { book: Arc::new(book), dialect }, vec![Binding::Everywhere])
}
