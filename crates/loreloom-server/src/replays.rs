//! Replays of chats with other lore, in the background.
//!
//! A run goes chat by chat on its own thread and reports its progress; its results can be read
//! while it runs. Runs are kept in memory only: they answer a question, and asking again costs
//! little.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use crate::past::runs::StoryRun;
use loreloom_core::{
    ids::{ChatId, EntryId, TenantId},
    library::{Library, LibrarySource},
    replay::{TurnChange, accidental, compare},
    rules::Rules,
    turn::{Speaker, TurnInput},
};
use loreloom_ports::Store;
use serde::Serialize;
use serde_json::Value;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    connection_service::ConnectionService,
    events::{Events, ServerEvent},
    lore::Lore,
    lore_service::LoreService,
    runtime_settings::RuntimeSettings,
    turn::Turns,
};

/// Runs that are kept.
const KEPT: usize = 20;

/// The state of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum RunState {
    /// It goes on.
    #[default]
    Running,
    /// It is done.
    Done,
    /// Somebody stopped it.
    Cancelled,
}

impl RunState {
    fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Done => "done",
            Self::Cancelled => "cancelled",
        }
    }
}

/// A turn that changes.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub(crate) struct ChangedTurn {
    /// Its number in the run.
    pub(crate) number: usize,
    /// The chat.
    pub(crate) chat: ChatId,
    /// What changes.
    pub(crate) change: TurnChange,
    /// Of the entries that come in those that look accidental: a key was found, and the message
    /// it was found in has nothing else in common with the entry.
    pub(crate) accidental: Vec<EntryId>,
}

/// How far a run is and what it found.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub(crate) struct Progress {
    /// Its state.
    pub(crate) state: RunState,
    /// Chats done.
    pub(crate) chats_done: usize,
    /// Chats in all.
    pub(crate) chats: usize,
    /// Turns done.
    pub(crate) turns: usize,
    /// Turns that change.
    pub(crate) changed: usize,
    /// Texts that come in, over all turns.
    pub(crate) appeared: usize,
    /// Those of them that look accidental.
    pub(crate) accidental: usize,
    /// Texts that go.
    pub(crate) vanished: usize,
    /// Texts that say something else.
    pub(crate) rewritten: usize,
    /// Turns that no longer fit the budget.
    pub(crate) over_budget: usize,
    /// Chats that could not be run, and why.
    pub(crate) skipped: Vec<Skipped>,
}

/// A chat that could not be run.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub(crate) struct Skipped {
    /// The chat.
    pub(crate) chat: ChatId,
    /// Why.
    pub(crate) reason: String,
}

/// A run.
pub(crate) struct Replaying {
    pub(crate) id: u64,
    tenant: TenantId,
    stop: CancellationToken,
    /// The current lore when the run began. It has the attachments of the books of
    /// [`Self::library_source`].
    lore: Arc<Lore>,
    with: Comparison,
    found: Mutex<(Progress, Vec<ChangedTurn>)>,
}

impl Replaying {
    pub(crate) fn progress(&self) -> Progress {
        self.found().0.clone()
    }

    pub(crate) fn turns(&self) -> Vec<ChangedTurn> {
        self.found().1.clone()
    }

    /// The lore of the replay.
    pub(crate) fn library_source(&self) -> &LibrarySource {
        match &self.with {
            Comparison::ThenAndNow => self.lore.library_source(),
            Comparison::NowAnd { source, .. } => source,
        }
    }

    /// The change that the run tries out; none if it compares then with now.
    pub(crate) fn patch(&self) -> Option<&Value> {
        match &self.with {
            Comparison::ThenAndNow => None,
            Comparison::NowAnd { patch, .. } => Some(patch),
        }
    }

    /// The current lore when the run began. It has the attachments of the books of
    /// [`Self::library_source`].
    pub(crate) fn lore(&self) -> &Arc<Lore> {
        &self.lore
    }

    /// Stops it after the chat it is at.
    pub(crate) fn cancel(&self) {
        self.stop.cancel();
    }

    fn found(&self) -> MutexGuard<'_, (Progress, Vec<ChangedTurn>)> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, chat: &ChatId, turns: usize, changes: Vec<(TurnChange, Vec<EntryId>)>) {
        let mut found = self.found();
        let (progress, all) = &mut *found;
        progress.chats_done += 1;
        progress.turns += turns;
        progress.changed += changes.len();
        for (change, accidental) in changes {
            progress.appeared += change.appeared.len();
            progress.accidental += accidental.len();
            progress.vanished += change.vanished.len();
            progress.rewritten += change.rewritten.len();
            progress.over_budget += usize::from(change.now_over_budget);
            all.push(ChangedTurn { number: all.len(), chat: chat.clone(), change, accidental });
        }
    }

    fn skip(&self, chat: &ChatId, reason: String) {
        let progress = &mut self.found().0;
        progress.chats_done += 1;
        progress.skipped.push(Skipped { chat: chat.clone(), reason });
    }
}

/// The last runs.
#[derive(Default)]
pub(crate) struct ReplayRuns {
    next: AtomicU64,
    kept: Mutex<VecDeque<Arc<Replaying>>>,
}

impl ReplayRuns {
    fn begin(
        &self,
        tenant: &TenantId,
        chats: usize,
        lore: Arc<Lore>,
        with: Comparison,
    ) -> Arc<Replaying> {
        let run = Arc::new(Replaying {
            id: self.next.fetch_add(1, Ordering::Relaxed) + 1,
            tenant: tenant.clone(),
            stop: CancellationToken::new(),
            lore,
            with,
            found: Mutex::new((Progress { chats, ..Progress::default() }, Vec::new())),
        });
        let mut kept = self.kept();
        if kept.len() == KEPT {
            kept.pop_front();
        }
        kept.push_back(Arc::clone(&run));
        run
    }

    /// One run.
    pub(crate) fn find(&self, tenant: &TenantId, id: u64) -> Option<Arc<Replaying>> {
        let kept = self.kept();
        kept.iter().find(|run| run.id == id && run.tenant == *tenant).cloned()
    }

    /// All runs, newest first.
    pub(crate) fn all(&self, tenant: &TenantId) -> Vec<Arc<Replaying>> {
        self.kept().iter().rev().filter(|run| run.tenant == *tenant).cloned().collect()
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<Arc<Replaying>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a replay compares.
pub(crate) enum Comparison {
    /// The books of each turn, with today's.
    ThenAndNow,
    /// Today's books, against these.
    NowAnd {
        /// The books with the change.
        source: Arc<LibrarySource>,
        /// The change, as it was asked for.
        patch: Value,
    },
}

/// Replays chats of a tenant in the background.
pub(crate) struct Replays {
    store: Arc<dyn Store>,
    lore: Arc<LoreService>,
    settings: Arc<RuntimeSettings>,
    connections: Arc<ConnectionService>,
    events: Arc<Events>,
    tasks: TaskTracker,
    stopping: CancellationToken,
    pub(crate) runs: ReplayRuns,
}

impl Replays {
    /// Replays chats of a tenant.
    pub(crate) fn new(turns: &Turns, stopping: CancellationToken) -> Self {
        Self {
            store: Arc::clone(&turns.store),
            lore: Arc::clone(&turns.lore),
            settings: Arc::clone(&turns.settings),
            connections: Arc::clone(&turns.connections),
            events: Arc::clone(&turns.announcements.events),
            tasks: turns.tasks.clone(),
            stopping,
            runs: ReplayRuns::default(),
        }
    }

    /// Starts to replay chats.
    pub(crate) fn start(
        self: &Arc<Self>,
        tenant: &TenantId,
        chats: Vec<ChatId>,
        with: Comparison,
    ) -> Arc<Replaying> {
        let run = self.runs.begin(tenant, chats.len(), self.lore.current(), with);
        let (this, going) = (Arc::clone(self), Arc::clone(&run));
        self.tasks.spawn(async move { this.go_on(&going, chats).await });
        run
    }

    async fn go_on(&self, run: &Arc<Replaying>, chats: Vec<ChatId>) {
        let other = match &run.with {
            Comparison::ThenAndNow => None,
            Comparison::NowAnd { source, .. } => {
                let source = Arc::clone(source);
                let working =
                    tokio::task::spawn_blocking(move || (source.compile(), source.rules.clone()));
                working.await.ok()
            }
        };
        let other = Arc::new(other);
        for chat in chats {
            if run.stop.is_cancelled() || self.stopping.is_cancelled() {
                return self.tell_run(run, RunState::Cancelled);
            }
            match self.run_one(run, &chat, &other).await {
                Ok((turns, changes)) => run.add(&chat, turns, changes),
                Err(reason) => run.skip(&chat, reason),
            }
            self.tell_run(run, RunState::Running);
        }
        self.tell_run(run, RunState::Done);
    }

    async fn run_one(
        &self,
        run: &Arc<Replaying>,
        chat: &ChatId,
        other: &Arc<Option<(Library, Rules)>>,
    ) -> Result<(usize, Vec<(TurnChange, Vec<EntryId>)>), String> {
        let live = self.settings.now();
        let unknown = |speaker: Option<&str>| TurnInput {
            context: live.defaults.context,
            seed: live.defaults.seed,
            user: live.defaults.user.clone(),
            speaker: speaker.map(Speaker::named),
            ..TurnInput::default()
        };
        let story = StoryRun::of_stored(self.store.as_ref(), &run.tenant, chat, unknown).await;
        let story = story.map_err(|error| error.to_string())?;
        let (lore, other) = (Arc::clone(&run.lore), Arc::clone(other));
        let counter = self.connections.counter_of(None);
        let working = tokio::task::spawn_blocking(move || {
            let active = |input: &TurnInput| Some(lore.attachments(&input.cast(&story.chat)));
            let counter = counter.as_ref();
            let now = story.lines_with(lore.library(), lore.rules(), counter, active);
            let (old, new, library) = match (other.as_ref(), &story.library) {
                (Some((library, rules)), _) => {
                    let new = story.lines_with(library, rules, counter, active);
                    (now, new, library)
                }
                (None, Some(kept)) => (story.lines_as_stored(kept, counter), now, lore.library()),
                (None, None) => return Err("its books were not kept".to_owned()),
            };
            let changes = compare(&old, &new);
            let odd = accidental(&changes, &story.messages(), library);
            Ok((old.len(), changes.into_iter().zip(odd).collect()))
        });
        working.await.map_err(|error| error.to_string())?
    }

    fn tell_run(&self, run: &Replaying, state: RunState) {
        let (done, total) = {
            let mut found = run.found();
            found.0.state = state;
            (found.0.chats_done, found.0.chats)
        };
        let state = state.as_str().to_owned();
        let happened = ServerEvent::Run { run: run.id, done, total, state };
        self.events.tell(&run.tenant, happened);
    }
}
