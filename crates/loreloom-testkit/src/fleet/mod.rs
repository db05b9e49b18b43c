//! Several servers on one store, behind a load balancer that sends each request to the next one.
//!
//! The real binaries serve a front end that names no chat. Each story has an opening that reaches
//! all servers at once, swipes, an edit, a request that two servers get at once, and a server that
//! is killed while it streams. Then each story must be one chat, with every reply whose end the
//! front end saw, once.

mod story;

use std::{
    collections::BTreeMap,
    fmt,
    path::Path,
    sync::{
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    thread,
};

use loreloom_core::ids::{ChatId, TenantId};
use loreloom_ports::Store;
use serde_json::Value;

use self::story::PlayedStory;
use crate::{
    postgres::Cluster,
    real_server::{Ask, Form, GatedModel, PATIENCE, RealServer, ServerSetup, WireAnswer, ask},
    store_suite::{
        Failure, Opener as _,
        crash::{PostgresAt, SqliteAt},
    },
};

/// The result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FleetTally {
    /// Stories that were played.
    pub stories: u64,
    /// Servers that were killed.
    pub killed: u64,
    /// Replies whose end a front end saw.
    pub acknowledged: u64,
    /// Acknowledged replies that are in no chat.
    pub lost: u64,
    /// Acknowledged replies that are stored twice.
    pub doubled: u64,
    /// Stories that are in more than one chat.
    pub split: u64,
    /// Chats that have more than one story.
    pub mixed: u64,
}

impl fmt::Display for FleetTally {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { stories, killed, acknowledged, lost, doubled, split, mixed } = self;
        write!(
            formatter,
            "{stories} stories, {killed} servers killed, {acknowledged} acknowledged, {lost} lost, \
             {doubled} doubled, {split} stories split, {mixed} chats mixed"
        )
    }
}

/// Servers that share a store.
pub(crate) struct Fleet<'setup> {
    setup: ServerSetup<'setup>,
    model: GatedModel,
    servers: Vec<RealServer>,
    /// The server that gets the next request.
    next: usize,
    killed: u64,
}

/// Plays `stories` stories with `servers` servers of the program, on a store of their own: a file,
/// or the database of `cluster`.
pub async fn run(
    program: &Path,
    cluster: Option<&Cluster>,
    servers: usize,
    stories: u64,
) -> Result<FleetTally, Failure> {
    let folder = tempfile::tempdir()?;
    let replies = AtomicU64::new(1);
    let model = GatedModel::start(move |_request| {
        // A run with other servers on the same database has other replies.
        let number = replies.fetch_add(1, Ordering::Relaxed);
        format!("Reply {number} of {servers} servers is given.")
    })?;
    let file = folder.path().join("stories.sqlite");
    let store = cluster.map_or_else(|| file.display().to_string(), Cluster::url);
    let setup = ServerSetup {
        program,
        upstream: format!("http://{}/v1", model.address),
        // Stories are told apart here, not turns that come too late on a busy machine.
        place: ["--deadline", "20000", "--store", &store].map(str::to_owned).to_vec(),
        home: folder.path(),
    };
    model.set_open(true);
    let started = (0..servers).map(|_| RealServer::start(&setup)).collect::<Result<_, _>>()?;
    let mut fleet = Fleet { setup, model, servers: started, next: 0, killed: 0 };
    let mut played = Vec::new();
    for number in 0..stories {
        played.push(story::play(&mut fleet, number)?);
    }
    for server in &mut fleet.servers {
        server.stop()?;
    }
    let store = match cluster {
        Some(cluster) => PostgresAt(cluster.address()).open().await?,
        None => SqliteAt(file).open().await?,
    };
    let tally = FleetTally { stories, killed: fleet.killed, ..FleetTally::default() };
    count(tally, store.as_ref(), &played).await
}

impl Fleet<'_> {
    /// Sends a request to the next server.
    fn ask(&mut self, messages: &Value) -> Result<String, Failure> {
        let server = &self.servers[self.next % self.servers.len()];
        self.next += 1;
        let (begun, _nobody_waits) = mpsc::channel();
        whole(&ask(server.address, &unnamed(messages), &begun)?)
    }

    /// Sends a request to the next `count` servers at once.
    fn ask_at_once(&mut self, messages: &Value, count: usize) -> Result<Vec<String>, Failure> {
        let addresses: Vec<_> = (0..count)
            .map(|at| self.servers[(self.next + at) % self.servers.len()].address)
            .collect();
        self.next += count;
        let asking: Vec<_> = addresses
            .into_iter()
            .map(|address| {
                let (messages, (begun, _nobody_waits)) = (messages.clone(), mpsc::channel());
                thread::spawn(move || ask(address, &unnamed(&messages), &begun))
            })
            .collect();
        let answers =
            asking.into_iter().map(|one| whole(&one.join().map_err(|_| "a client panicked")??));
        answers.collect()
    }

    /// Sends a request to the next server and kills that server after the first word. Then starts
    /// it again.
    fn ask_and_kill(&mut self, messages: &Value) -> Result<(), Failure> {
        let at = self.next % self.servers.len();
        self.next += 1;
        self.model.set_open(false);
        let (address, asked) = (self.servers[at].address, messages.clone());
        let (begun, first_word) = mpsc::channel();
        let asking = thread::spawn(move || ask(address, &unnamed(&asked), &begun).map(drop));
        first_word.recv_timeout(PATIENCE)?;
        self.servers[at].kill()?;
        self.model.set_open(true);
        // Its connection broke.
        let _broken = asking.join();
        self.killed += 1;
        self.servers[at] = RealServer::start(&self.setup)?;
        Ok(())
    }
}

fn unnamed(messages: &Value) -> Ask<'_> {
    Ask { form: Form::Events, chat: None, messages }
}

/// The text of a reply that has an end and no warning.
fn whole(answer: &WireAnswer) -> Result<String, Failure> {
    if answer.is_whole(Form::Events) && !answer.text.contains("loreloom-warning") {
        return Ok(answer.reply());
    }
    Err(format!("this is not a whole answer: {}", answer.text).into())
}

/// Looks for every reply in the store.
async fn count(
    mut tally: FleetTally,
    store: &dyn Store,
    played: &[PlayedStory],
) -> Result<FleetTally, Failure> {
    let tenant = TenantId::local();
    let mut found: BTreeMap<String, Vec<ChatId>> = BTreeMap::new();
    for summary in store.chats(&tenant).await? {
        for node in store.tree(&tenant, &summary.chat.id).await? {
            let text = node.message.text.to_string();
            found.entry(text).or_default().push(summary.chat.id.clone());
        }
    }
    let mut stories_of: BTreeMap<ChatId, Vec<usize>> = BTreeMap::new();
    for (number, story) in played.iter().enumerate() {
        let mut chats = Vec::new();
        for reply in &story.acknowledged {
            tally.acknowledged += 1;
            match found.get(reply).map(Vec::as_slice) {
                None => tally.lost += 1,
                Some([chat]) => chats.push(chat.clone()),
                Some(several) => {
                    tally.doubled += 1;
                    chats.extend_from_slice(several);
                }
            }
        }
        chats.sort();
        chats.dedup();
        tally.split += u64::from(chats.len() > 1);
        for chat in chats {
            stories_of.entry(chat).or_default().push(number);
        }
    }
    tally.mixed = stories_of.values().filter(|stories| stories.len() > 1).count() as u64;
    Ok(tally)
}
