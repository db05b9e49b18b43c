//! Store: the turn and its reply become part of the story, beside the stream that the front end
//! reads.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use loreloom_core::{
    chat::{Message, Path, PathItem},
    ids::{ChatId, PrefixHash},
};
use loreloom_ports::{
    EndedResponse, Node, Reply, StoreError, StoredTurn, TurnId, TurnRecord, WholeReply, WriteId,
};
use loreloom_recognise::{Answer, Ticket};
use tracing::Instrument as _;

use super::{AwaitedReply, Turns};
use super::{
    draft::{DraftedTurn, SentTurn, draft},
    echoed_markers::EchoedMarkers,
    notebook_writes::{note, notes_record},
    place::PlacedTurn,
    recent_paths::Track,
    remember::StoredReply,
    tee::{Copied, EndedReply},
};
use crate::{
    chat_title::title_of,
    events,
    metrics::StoreWork,
    notices::Happened,
    timings::Timing,
    waiting::{Fate, TurnPart, WaitingReply, WaitingTurn, is_outage},
};

/// How long a turn waits for the end of a reply that has begun. A reply that ends by then, such
/// as one that is not streamed, is stored in one write with its turn. The turn of a longer reply
/// is on disk a moment after the first word.
const TOGETHER: Duration = Duration::from_millis(20);

/// The longest id of a response that is stored, in bytes. It comes from elsewhere.
const LONGEST_RESPONSE: usize = 256;

/// How long a turn took until its reply began.
#[derive(Clone, Copy)]
pub(super) struct TurnTimes {
    pub(super) weaving: Duration,
    pub(super) asked: Instant,
    pub(super) answered: Duration,
}

/// A message of a reply: one for each choice.
pub(crate) struct ReplyMessage {
    /// The message and how it continues the story.
    answer: Answer,
    /// The model's notes in it.
    notes: Option<String>,
}

/// A reply that has ended.
struct ReadReply {
    messages: Vec<ReplyMessage>,
    /// The id that its server gave it.
    response: Option<String>,
    timing: Timing,
}

/// What the store has of a turn.
pub(crate) struct StoredDraft {
    /// The turn.
    pub(crate) turn: TurnId,
    /// The version of the chat with the turn.
    pub(crate) version: u64,
    /// The write of the reply, if it was stored with the turn.
    answered: Option<WriteId>,
}

/// Why a turn or its reply is not stored.
enum Unstored {
    /// The store fails, or earlier turns of the chat wait.
    Later(String),
    /// The store refuses it.
    Never(StoreError),
}

/// Stores a turn once the first chunk of its reply has passed, and the reply when it has ended.
/// Of a request that is not a story, only the recogniser gets the reply.
pub(super) async fn store(
    turns: &Turns,
    sent: SentTurn,
    mut copied: Copied,
    times: TurnTimes,
) -> Option<StoredReply> {
    let (replied, chat) = (sent.replied(), sent.chat().clone());
    if sent.is_dry_run() {
        if let Some(reply) = copied.end.await.ok().and_then(|ended| ended.reply) {
            replied.messages(turns, &reply);
        }
        copied.stored.say(None);
        return None;
    }
    let _passed = copied.first_chunk.await;
    let read = |ended: EndedReply| {
        let Some(reply) = ended.reply else {
            // Sent again, the request asks for the first reply and not for another version.
            replied.unanswered(turns);
            return None;
        };
        let messages = replied.messages(turns, &reply);
        Some(ReadReply { messages, response: reply.response, timing: times.until(ended.at) })
    };
    // `Err` if the front end hung up.
    let soon = match tokio::time::timeout(TOGETHER, &mut copied.end).await {
        Ok(ended) => Some(ended.ok().and_then(read)),
        Err(_later) => None,
    };
    let messages = soon.as_ref().and_then(Option::as_ref).map_or(&[][..], |all| &all.messages);
    let draft = sent.draft(turns).await;
    let stored = commit_in_order(turns, &draft, messages).await;
    let reply = match soon {
        Some(reply) => reply,
        None => copied.end.await.ok().and_then(read),
    };
    if let (Some(reply), Ok(stored)) = (&reply, &stored) {
        turns.figures.timings.note(&turns.tenant, &chat, stored.turn, reply.timing);
    }
    match finish(turns, draft, stored, reply).await {
        Ok(stored) => {
            copied.stored.say(None);
            stored
        }
        Err(warning) => {
            tracing::error!(%chat, "{warning}");
            turns.announcements.notice(Happened::NotStored { chat, reason: warning.clone() });
            copied.stored.say(Some(warning));
            None
        }
    }
}

/// Stores a turn, unless earlier turns of its chat wait: they come first.
async fn commit_in_order(
    turns: &Turns,
    draft: &DraftedTurn,
    messages: &[ReplyMessage],
) -> Result<StoredDraft, Unstored> {
    if turns.waiting.has(&turns.tenant, draft.track.path.chat()) {
        return Err(Unstored::Later("earlier turns of the chat wait".to_owned()));
    }
    commit_draft(turns, draft, messages).await.map_err(Unstored::of)
}

impl Unstored {
    fn of(error: StoreError) -> Self {
        if is_outage(&error) { Self::Later(in_full(&error)) } else { Self::Never(error) }
    }
}

/// An error with its causes.
fn in_full(error: &StoreError) -> String {
    let causes = std::iter::successors(std::error::Error::source(error), |one| one.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

/// Stores the replies of a stored turn, or lets what is missing wait. `Err` has the warning for
/// the front end, if something is not stored by now.
async fn finish(
    turns: &Turns,
    draft: DraftedTurn,
    stored: Result<StoredDraft, Unstored>,
    reply: Option<ReadReply>,
) -> Result<Option<StoredReply>, String> {
    let (messages, response) = match reply {
        Some(ReadReply { messages, response, .. }) => (messages, response),
        None => (Vec::new(), None),
    };
    let response = response.filter(|id| (1..=LONGEST_RESPONSE).contains(&id.len()));
    let messages: Vec<ReplyMessage> = messages.into_iter().filter(says_something).collect();
    let replies = (&messages[..], response.as_deref());
    let (part, reason) = match stored {
        Ok(stored) => match commit_replies(turns, &draft, &stored, replies).await {
            Ok(()) => return Ok(remembered(turns, draft, &messages, Some(stored.turn))),
            Err(error) => (TurnPart::Stored(stored.turn), Unstored::of(error)),
        },
        Err(reason) => (TurnPart::Unstored(Box::new(draft.record.clone())), reason),
    };
    let reason = match reason {
        Unstored::Later(reason) => reason,
        Unstored::Never(error) => return Err(format!("this turn is not stored: {error}")),
    };
    let waiting = WaitingTurn { response, ..waiting_turn(turns, &draft, part, &messages) };
    let fate = turns.waiting.put(waiting, &turns.announcements, &turns.waiting_writer()).await;
    // The next turn of the chat goes on from here, stored or not.
    let _memory_has_it = remembered(turns, draft, &messages, None);
    let until = match fate {
        Fate::Stored => return Ok(None),
        Fate::OnDisk => "it waits in a file of this machine",
        Fate::InMemory => "it waits in the memory of this server",
    };
    Err(format!("this turn is not stored yet ({reason}); {until} until the store works again"))
}

/// What the store must still get.
fn waiting_turn(
    turns: &Turns,
    draft: &DraftedTurn,
    turn: TurnPart,
    messages: &[ReplyMessage],
) -> WaitingTurn {
    let path = &draft.track.path;
    let reply = |message: &ReplyMessage| {
        let (path, node) = answered(path, message);
        let notes = message.notes.as_ref();
        let notes = notes.and_then(|notes| notes_record(turns, &path, notes.clone()));
        WaitingReply { node, notes: notes.map(Box::new) }
    };
    WaitingTurn {
        tenant: turns.tenant.clone(),
        title: title_of(messages_of(path)),
        path: Arc::clone(path),
        turn,
        replies: messages.iter().map(reply).collect(),
        response: None,
        who: draft.who.clone(),
        ended: turns.clock.now(),
        library: draft.lore.unkept().map(Arc::new),
    }
}

/// Tells the recogniser that a request has no reply: the next one like it asks for the first.
pub(super) fn unanswered(turns: &Turns, sent: Option<&SentTurn>) {
    if let Some(sent) = sent {
        sent.replied().unanswered(turns);
    }
}

impl TurnTimes {
    fn until(self, ended: Instant) -> Timing {
        let Self { weaving, asked, answered } = self;
        Timing { weaving, answered, replied: ended.saturating_duration_since(asked) }
    }
}

/// What is needed to read a reply.
pub(super) struct Replied {
    pub(super) ticket: Option<Ticket>,
    pub(super) awaited: Option<AwaitedReply>,
    pub(super) user: String,
    pub(super) char: String,
}

impl Replied {
    fn unanswered(&self, turns: &Turns) {
        if let Some(ticket) = &self.ticket {
            turns.recogniser.unanswered(ticket);
        }
    }

    /// Tells the recogniser a reply. Returns the parts that are story, and the model's notes.
    fn messages(&self, turns: &Turns, reply: &WholeReply) -> Vec<ReplyMessage> {
        let lore = turns.lore.current();
        let notebooks = &lore.rules().notebooks;
        let notes: Vec<_> = reply.texts.iter().map(|text| notebooks.read(text).0).collect();
        let echoes = EchoedMarkers::new(Arc::clone(&lore), &self.user, &self.char);
        let texts: Vec<String> =
            reply.texts.iter().map(|text| echoes.removed(text).into_owned()).collect();
        let answers = match (&self.awaited, &self.ticket) {
            (Some(awaited), _) => texts.iter().map(|text| awaited.answer(text)).collect(),
            (None, Some(ticket)) => {
                turns.recogniser.reply(ticket, &texts, reply.response.as_deref())
            }
            (None, None) => Vec::new(),
        };
        let notes = notes.into_iter().chain(std::iter::repeat(None));
        let message = |(answer, notes)| ReplyMessage { answer, notes };
        answers.into_iter().zip(notes).map(message).collect()
    }
}

/// Stores a turn with the prompt it was sent with.
pub(crate) async fn commit(turns: &Turns, placed: PlacedTurn) -> Result<StoredDraft, StoreError> {
    let draft = draft(turns, placed).await;
    commit_draft(turns, &draft, &[]).await
}

/// Stores a turn while its answer is on the way. [`Turns::late`] has it under its generation.
pub(crate) fn commit_later(turns: &Turns, generation: u64, placed: PlacedTurn) {
    let chat = placed.turn.story.path.chat().clone();
    let (own, outcome) = (turns.clone(), turns.late.begin(generation, chat.clone()));
    let storing = async move {
        let stored = commit(&own, placed).await.map(|stored| stored.turn);
        let stored = stored.map_err(|error| in_full(&error));
        if let Err(reason) = &stored {
            tracing::error!(%chat, %reason, "a turn is not stored");
            own.announcements.notice(Happened::NotStored { chat, reason: reason.clone() });
        }
        outcome.send_replace(Some(stored));
    };
    turns.tasks.spawn(storing.in_current_span());
}

/// Stores a turn, and in the same write its reply if there is one.
async fn commit_draft(
    turns: &Turns,
    draft: &DraftedTurn,
    messages: &[ReplyMessage],
) -> Result<StoredDraft, StoreError> {
    let (path, record) = (&draft.track.path, &draft.record);
    draft.lore.keep(turns.store.as_ref(), &turns.tenant).await?;
    let reply = only_reply(path, messages);
    let figures = &turns.figures.metrics.store;
    let writing = write(turns, path, record, reply.as_ref());
    let (stored, answered) = match figures.measure(StoreWork::Turn, writing).await {
        Err(StoreError::NoChat { .. }) => {
            let (chat, now) = (path.chat(), record.created);
            turns.store.open_chat(&turns.tenant, chat, &title_of(messages_of(path)), now).await?;
            write(turns, path, record, reply.as_ref()).await?
        }
        written => written?,
    };
    turns.announcements.notice(Happened::TurnStored { chat: path.chat().clone(), turn: stored.id });
    turns.figures.metrics.turn(&record.report.budgets, &record.report.verdicts);
    let version = stored.write.0;
    chat_changed(turns, path.chat(), version);
    Ok(StoredDraft { turn: stored.id, version, answered })
}

fn chat_changed(turns: &Turns, chat: &ChatId, version: u64) {
    turns.recogniser.wrote(chat, version);
    turns.announcements.tell(events::ServerEvent::Chat { chat: chat.to_string(), version });
}

/// Writes a turn, and its reply if there is one.
async fn write(
    turns: &Turns,
    path: &Path,
    record: &TurnRecord,
    reply: Option<&Node>,
) -> Result<(StoredTurn, Option<WriteId>), StoreError> {
    let (store, tenant) = (&turns.store, &turns.tenant);
    let Some(reply) = reply else {
        return Ok((store.commit_turn(tenant, path, record, None).await?, None));
    };
    let now = turns.clock.now();
    let (stored, write) = store.commit_answered(tenant, path, record, reply, now).await?;
    Ok((stored, Some(write)))
}

/// Stores the messages of a reply, each as a version of the next message, and where a response
/// ended.
async fn commit_replies(
    turns: &Turns,
    draft: &DraftedTurn,
    stored: &StoredDraft,
    (messages, response): (&[ReplyMessage], Option<&str>),
) -> Result<(), StoreError> {
    let (turn, mut written) = (stored.turn, stored.answered);
    let mut at = None;
    for message in messages {
        let (path, node) = answered(&draft.track.path, message);
        let write = if let Some(write) = written.take() {
            write
        } else {
            let reply = Reply { turn, node, created: turns.clock.now() };
            let writing = turns.store.commit_reply(&turns.tenant, path.chat(), &reply);
            turns.figures.metrics.store.measure(StoreWork::Reply, writing).await?
        };
        // Of several replies front ends show the first, and a next request goes on from there.
        at.get_or_insert(path.prefix());
        chat_changed(turns, path.chat(), write.0);
        turns.figures.metrics.reply();
        note(turns, &path, message.notes.clone()).await?;
    }
    if let Some(id) = response {
        let at = at.unwrap_or_else(|| draft.track.path.prefix());
        let ended = EndedResponse { chat: draft.track.path.chat().clone(), at };
        turns.store.keep_response(&turns.tenant, id, &ended).await?;
    }
    Ok(())
}

/// The story with the first of the messages, which is the one that front ends show. The next turn
/// of the chat goes on from there.
fn remembered(
    turns: &Turns,
    draft: DraftedTurn,
    messages: &[ReplyMessage],
    stored: Option<TurnId>,
) -> Option<StoredReply> {
    let DraftedTurn { track, who, .. } = draft;
    let (path, _) = answered(&track.path, messages.first()?);
    if let Some(turn) = stored {
        turns.announcements.notice(Happened::ReplyStored { chat: path.chat().clone(), turn });
    }
    let mut track = Track { path: Arc::new(path), ..track };
    // The reply is not transcribed yet, nor is a message that it continues.
    track.transcript.retell(&track.path, track.path.items().len().saturating_sub(1));
    let track = Arc::new(track);
    turns.recent_paths.put(Arc::clone(&track), turns.clock.now());
    Some(StoredReply { track, who })
}

/// The story with a message of a reply, and the node of that message.
fn answered(path: &Arc<Path>, message: &ReplyMessage) -> (Path, Node) {
    let Answer { message, replaces } = &message.answer;
    let mut path = if *replaces { without_last(path) } else { Path::clone(path) };
    let parent = path.prefix();
    let node = node(parent, path.push(message.clone()).clone());
    (path, node)
}

fn messages_of(path: &Path) -> impl Iterator<Item = &Message> + Clone {
    path.items().iter().map(|item| &item.message)
}

fn says_something(message: &ReplyMessage) -> bool {
    !message.answer.message.text.is_empty()
}

/// The node of an item after `parent`.
fn node(parent: PrefixHash, item: PathItem) -> Node {
    Node { prefix: item.prefix, parent, message_id: item.id, message: item.message }
}

/// The reply to a turn on this path, if it is one message and the next one.
fn only_reply(path: &Path, messages: &[ReplyMessage]) -> Option<Node> {
    let [only] = messages else { return None };
    let next = says_something(only) && !only.answer.replaces;
    next.then(|| node(path.prefix(), path.next(only.answer.message.clone())))
}

/// A path up to the message before its last.
fn without_last(path: &Path) -> Path {
    let items = path.items();
    let rest = &items[..items.len().saturating_sub(1)];
    Path::of(path.chat().clone(), rest.iter().map(|item| item.message.clone()))
}
