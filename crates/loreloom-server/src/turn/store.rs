//! Store: the turn and its reply become part of the story, beside the stream that the front end
//! reads.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use loreloom_core::{
    chat::{Path, PathItem},
    engine::Decision,
    ids::{ChatId, PrefixHash},
    report::Warning,
    turn::TurnInput,
};
use loreloom_memory::service::Who;
use loreloom_ports::{
    Node, Reply, StoreError, StoredTurn, TurnId, TurnRecord, WholeReply, WriteId,
};
use loreloom_recognise::{Answer, Ticket};

use super::Turns;
use super::{
    decide::DecidedTurn,
    echoed_markers::EchoedMarkers,
    notebook_writes::note,
    place::{AppliedTurn, PlacedTurn},
    prompt_cache::measure,
    recall,
    recent_paths::Track,
    remember::StoredReply,
    story::TurnStory,
    tee::{Copied, EndedReply},
};
use crate::{events, notices::Happened, timings::Timing};

/// How long a turn waits for the end of a reply that has begun. A reply that ends by then, such
/// as one that is not streamed, is stored in one write with its turn. The turn of a longer reply
/// is on disk a moment after the first word.
const TOGETHER: Duration = Duration::from_millis(20);

/// The longest title that a chat gets by itself, in characters.
const LONGEST_TITLE: usize = 60;

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

/// A stored turn that waits for its reply.
pub(crate) struct StoredTurnWaiting {
    /// The turn.
    pub(crate) turn: TurnId,
    /// The version of the chat with the turn.
    pub(crate) version: u64,
    track: Track,
    who: Who,
    /// The write of the reply, if it was stored with the turn.
    answered: Option<WriteId>,
}

/// Stores a turn once the first chunk of its reply has passed, and the reply when it has ended.
/// A request that is no story only tells the recogniser its reply.
pub(super) async fn store(
    turns: &Turns,
    placed: Box<PlacedTurn>,
    mut copied: Copied,
    times: TurnTimes,
) -> Option<StoredReply> {
    let DecidedTurn { story, input, .. } = &*placed.turn;
    let replied = Replied {
        ticket: story.ticket.clone(),
        user: input.user.clone(),
        char: input.speaker.as_ref().map(|one| one.name.clone()).unwrap_or_default(),
    };
    if input.dry_run {
        let ended = copied.end.await.ok()?;
        if let Some(reply) = ended.reply {
            replied.messages(turns, &reply);
        }
        return None;
    }
    let _passed = copied.first_chunk.await;
    let chat = story.path.chat().clone();
    let not_stored = |what: &str, error: &StoreError| {
        tracing::error!(%error, "{what} was not stored");
        turns
            .announcements
            .notice(Happened::NotStored { chat: chat.clone(), reason: error.to_string() });
    };
    let read = |ended: EndedReply| {
        let Some(reply) = ended.reply else {
            // Sent again, the request asks for the first reply and not for another version.
            replied.unanswered(turns);
            return None;
        };
        Some((replied.messages(turns, &reply), times.until(ended.at)))
    };
    // `Err` if the front end hung up.
    let soon = match tokio::time::timeout(TOGETHER, &mut copied.end).await {
        Ok(ended) => Some(ended.ok().and_then(read)),
        Err(_later) => None,
    };
    let messages = soon.as_ref().and_then(Option::as_ref).map_or(&[][..], |(all, _)| all);
    let waiting = match commit(turns, *placed, messages).await {
        Ok(waiting) => waiting,
        Err(error) => {
            not_stored("the turn", &error);
            return None;
        }
    };
    let (messages, timing) = match soon {
        Some(reply) => reply?,
        None => copied.end.await.ok().and_then(read)?,
    };
    turns.figures.timings.note(&turns.tenant, &chat, waiting.turn, timing);
    let stored = commit_replies(turns, waiting, messages).await;
    stored.inspect_err(|error| not_stored("the reply", error)).ok().flatten()
}

/// Tells the recogniser that a request has no reply: the next one like it asks for the first.
pub(super) fn unanswered(turns: &Turns, placed: Option<&PlacedTurn>) {
    if let Some(ticket) = placed.and_then(|placed| placed.turn.story.ticket.as_ref()) {
        turns.recogniser.unanswered(ticket);
    }
}

impl TurnTimes {
    fn until(self, ended: Instant) -> Timing {
        let Self { weaving, asked, answered } = self;
        Timing { weaving, answered, replied: ended.saturating_duration_since(asked) }
    }
}

/// What is needed to read a reply.
struct Replied {
    ticket: Option<Ticket>,
    user: String,
    char: String,
}

impl Replied {
    fn unanswered(&self, turns: &Turns) {
        if let Some(ticket) = &self.ticket {
            turns.recogniser.unanswered(ticket);
        }
    }

    /// Tells the recogniser a reply. Returns the parts that are story, and the model's notes.
    fn messages(&self, turns: &Turns, reply: &WholeReply) -> Vec<ReplyMessage> {
        let Some(ticket) = &self.ticket else { return Vec::new() };
        let lore = turns.lore.current();
        let notebooks = &lore.rules().notebooks;
        let notes: Vec<_> = reply.texts.iter().map(|text| notebooks.read(text).0).collect();
        let echoes = EchoedMarkers::new(Arc::clone(&lore), &self.user, &self.char);
        let texts: Vec<String> =
            reply.texts.iter().map(|text| echoes.removed(text).into_owned()).collect();
        let answers = turns.recogniser.reply(ticket, &texts, reply.response.as_deref());
        let notes = notes.into_iter().chain(std::iter::repeat(None));
        let message = |(answer, notes)| ReplyMessage { answer, notes };
        answers.into_iter().zip(notes).map(message).collect()
    }
}

/// Stores a turn with the prompt it was sent with, and in the same write its reply if there is
/// one.
pub(crate) async fn commit(
    turns: &Turns,
    placed: PlacedTurn,
    messages: &[ReplyMessage],
) -> Result<StoredTurnWaiting, StoreError> {
    let now = turns.clock.now();
    let AppliedTurn { turn, sent, seams, already, moving } = placed.apply();
    let DecidedTurn { story, input, lore, transcript, decision, line } = *turn;
    let TurnStory { path, state, stated, card, .. } = *story;
    let (who, generation) = (recall::speaker(&input, &card), input.generation);
    let input = DecidedTurn::stored_input(*input, &lore, &path, &line);
    let Decision { injections, mut delta, mut report, .. } = decision;
    let context = stated.after(&state.context);
    delta.context = (context != state.context).then_some(context);
    report.cache = measure(turns, path.chat(), &line, &sent, &moving).await?;
    report.spans = sent.spans;
    report.warnings.extend(already.into_iter().map(|source| Warning::AlreadyThere { source }));
    lore.keep(turns.store.as_ref(), &turns.tenant).await?;
    let record = TurnRecord {
        chat: path.chat().clone(),
        at: path.prefix(),
        answers: path.last_user(),
        generation,
        library: lore.library().version(),
        delta,
        injections,
        prompt: sent.messages,
        report,
        created: now,
        input: Some(Box::new(TurnInput { seams, ..input })),
    };
    let reply = only_reply(&path, messages);
    let (stored, answered) = match write(turns, &path, &record, reply.as_ref()).await {
        Err(StoreError::NoChat { .. }) => {
            turns.store.open_chat(&turns.tenant, path.chat(), &title(&path), now).await?;
            write(turns, &path, &record, reply.as_ref()).await?
        }
        written => written?,
    };
    turns.announcements.notice(Happened::TurnStored { chat: path.chat().clone(), turn: stored.id });
    turns.figures.metrics.turn(&record.report.budgets, &record.report.verdicts);
    let version = stored.write.0;
    chat_changed(turns, path.chat(), version);
    let track = Track { path, transcript };
    Ok(StoredTurnWaiting { turn: stored.id, version, track, who, answered })
}

fn chat_changed(turns: &Turns, chat: &ChatId, version: u64) {
    turns.announcements.tell(events::Happened::Chat { chat: chat.to_string(), version });
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

/// Stores the messages of a reply, each as a version of the next message. Returns the story with
/// the first of them, which is the one that front ends show.
async fn commit_replies(
    turns: &Turns,
    waiting: StoredTurnWaiting,
    messages: Vec<ReplyMessage>,
) -> Result<Option<StoredReply>, StoreError> {
    let StoredTurnWaiting { turn, track, who, mut answered, .. } = waiting;
    let Track { path, transcript } = track;
    let mut first = None;
    let messages: Vec<ReplyMessage> = messages.into_iter().filter(says_something).collect();
    // A long story is copied only if there are several messages.
    let copies = std::iter::repeat_n(path, messages.len());
    for (path, ReplyMessage { answer, notes }) in copies.zip(messages) {
        let Answer { message, replaces } = answer;
        let mut path = if replaces { without_last(&path) } else { Arc::unwrap_or_clone(path) };
        let parent = path.prefix();
        let node = node(parent, path.push(message).clone());
        let write = if let Some(write) = answered.take() {
            write
        } else {
            let reply = Reply { turn, node, created: turns.clock.now() };
            turns.store.commit_reply(&turns.tenant, path.chat(), &reply).await?
        };
        chat_changed(turns, path.chat(), write.0);
        turns.figures.metrics.reply();
        note(turns, &path, notes).await?;
        first.get_or_insert(path);
    }
    let Some(path) = first else { return Ok(None) };
    turns.announcements.notice(Happened::ReplyStored { chat: path.chat().clone(), turn });
    let mut track = Track { path: Arc::new(path), transcript };
    // The reply is not transcribed yet, nor is a message that it continues.
    track.transcript.retell(&track.path, track.path.items().len().saturating_sub(1));
    let track = Arc::new(track);
    turns.recent_paths.put(Arc::clone(&track), turns.clock.now());
    Ok(Some(StoredReply { track, who }))
}

/// The title of a chat that nobody has named: how it begins.
fn title(path: &Path) -> String {
    let first = path.items().first().map_or("", |item| item.message.text.as_str());
    first.chars().take(LONGEST_TITLE).collect()
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
