//! One turn of a recognised story: decided, then stored with its reply.

use std::sync::Arc;

use loreloom_core::{
    assemble::{Assembled, Layout, Plan, Seams},
    chat::{GenerationType, Message, Path, PathItem, Role, identity::without_speaker},
    engine::Decision,
    ids::{ChatId, PrefixHash},
    place::Provenance,
    prompt::PromptMessage,
    report::{Span, Warning},
    state::StoryState,
    turn::{Speaker, StoryContext, Transcript, TurnInput},
    units::Timestamp,
};
use loreloom_ports::{
    Node, Reply, StoreError, StoredTurn, TurnId, TurnRecord, WholeReply, WriteId,
};
use loreloom_recognise::{Answer, Kind, Recognition, Ticket};

use crate::{
    app::App,
    choosing::Waiting,
    connections::Line,
    deciding::{Decided, Wish, stored_input},
    events,
    notices::Happened,
    paths::Track,
};

/// A story up to its newest message.
struct SoFar {
    path: Path,
    /// What was transcribed of it, and how many of its first messages that is right for.
    transcribed: Option<(Transcript, usize)>,
    /// The state before the newest message.
    state: StoryState,
    /// When the message before it was written, where that is known.
    left_at: Option<Timestamp>,
}

/// Who tells the story.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    pub(crate) user: String,
    pub(crate) speaker: Option<String>,
    /// What the request says before the chat: usually the card.
    pub(crate) card: Arc<str>,
}

/// Where the reply to a request belongs.
pub(crate) struct Telling {
    pub(crate) ticket: Ticket,
    pub(crate) names: Names,
}

/// A reply.
pub(crate) struct Spoken {
    /// What of it is story.
    pub(crate) answer: Answer,
    /// What the model noted in it.
    pub(crate) notes: Option<String>,
}

/// A prompt and how texts are sewn into it. That is carried out for the record only, and so when
/// the turn is stored: the model is sent the front end's own body with the same changes.
pub(crate) struct Sewn {
    /// The prompt as it came.
    pub(crate) prompt: Vec<PromptMessage>,
    /// What its pieces are.
    pub(crate) layout: Layout,
    /// How it is changed.
    pub(crate) plan: Plan,
    /// Sources whose texts stand elsewhere in the next prompt.
    pub(crate) moving: Vec<Provenance>,
    /// What it is sent over.
    pub(crate) line: Line,
}

impl Sewn {
    /// What is sent.
    pub(crate) fn sent(self) -> Sent {
        let Self { prompt, layout, plan, moving, line } = self;
        let seams = Seams { layout: Some(layout), ..plan.seams(&prompt) };
        let Assembled { messages, spans } = plan.apply(prompt);
        Sent { prompt: messages, spans, already: plan.already, seams, moving, line }
    }
}

/// What was sent to the model.
pub(crate) struct Sent {
    /// The prompt.
    pub(crate) prompt: Vec<PromptMessage>,
    /// Where in it each injected text stands.
    pub(crate) spans: Vec<Span>,
    /// What the front end had put in itself.
    pub(crate) already: Vec<Provenance>,
    /// How the texts were sewn in.
    pub(crate) seams: Seams,
    /// Sources whose texts stand elsewhere in the next prompt.
    pub(crate) moving: Vec<Provenance>,
    /// What it was sent over.
    pub(crate) line: Line,
}

/// The last turn of a chat, for pages and tests.
#[derive(Clone, Debug, serde::Serialize)]
pub struct LastTurn {
    /// The chat.
    pub chat: ChatId,
    /// The turn's number.
    pub turn: TurnId,
    /// Everything it decided.
    pub record: TurnRecord,
    /// The reply, once it is there.
    pub reply: Option<String>,
}

impl App {
    /// Decides a turn, taking the story out of what was recognised. `None` if the request
    /// belongs to no story. `text` says whether its prompt is a text to be completed.
    pub(crate) async fn decide(
        &self,
        found: &mut Recognition,
        (stated, text): (&StoryContext, bool),
        line: &Line,
        waiting: &Waiting,
    ) -> Result<Option<Box<Decided>>, StoreError> {
        let Some(chat) = found.chat.clone() else { return Ok(None) };
        let story = std::mem::take(&mut found.path);
        let SoFar { path, transcribed, state, left_at } =
            self.told_so_far(chat, story, found).await?;
        let (speaker, names) = self.cast(found);
        let wish = Box::new(Wish {
            path: Arc::new(path),
            transcribed,
            state,
            speaker,
            names,
            generation: found.generation,
            context: line.context,
            seed: self.live().defaults.seed,
            group: None,
            stated: stated.clone(),
            text,
            is_story: found.kind == Kind::Story,
            asks: true,
            seen_from: found.before,
            left_at,
        });
        Ok(Some(self.decide_on(wish, line, waiting).await))
    }

    /// Who speaks next, and what everybody is called.
    fn cast(&self, found: &Recognition) -> (Option<Speaker>, Names) {
        let speaker = match &found.speakers.next {
            Some(name) => Some(Speaker::named(name.as_str())),
            None => self.live().defaults.speaker.clone(),
        };
        let user = found.speakers.user.as_ref().unwrap_or(&self.live().defaults.user).clone();
        let speaks = speaker.as_ref().map(|speaker| speaker.name.clone());
        (speaker, Names { user, speaker: speaks, card: card(found) })
    }

    /// The story up to its newest message, and the state before that: effects of earlier
    /// turns on the newest message do not count, because a reply that is asked for again must
    /// see what the first one saw.
    async fn told_so_far(
        &self,
        chat: ChatId,
        mut story: Vec<Message>,
        found: &Recognition,
    ) -> Result<SoFar, StoreError> {
        for message in story.iter_mut().filter(|message| message.role == Role::User) {
            name(message, found.speakers.user.as_deref());
        }
        let newest = story.pop();
        let (known, left_at) = match self.paths().take(&chat) {
            Some((track, at)) => (track, Some(at)),
            None => (None, None),
        };
        let (known, transcript) = match known {
            Some(Track { path, transcript }) => (Arc::unwrap_or_clone(path), Some(transcript)),
            None => (Path::new(chat), None),
        };
        let (mut path, taken_over) = known.grown(story);
        let transcribed = transcript.map(|transcript| (transcript, taken_over));
        let Some(newest) = newest else {
            return Ok(SoFar { path, transcribed, state: StoryState::default(), left_at });
        };
        let state = match self.ask_store(self.store.state(&self.tenant, &path)).await {
            // A story's first turn.
            Err(StoreError::NoChat { .. }) => StoryState::default(),
            found => found?,
        };
        path.push(newest);
        Ok(SoFar { path, transcribed, state, left_at })
    }

    /// Has the store fold the state that the next turn of a story begins with, so that it is
    /// at hand by then.
    async fn look_ahead(&self, path: &Path) {
        if let Err(error) = self.store.state(&self.tenant, path).await {
            tracing::debug!(%error, "the next turn reads its state itself");
        }
    }

    /// What the store answers, unless that takes longer than a turn may.
    pub(crate) async fn ask_store<T>(
        &self,
        asking: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let longest = self.live().weaving.deadline;
        tokio::time::timeout(longest, asking).await.unwrap_or_else(|late| {
            Err(StoreError::Database { doing: "reading the story", source: late.into() })
        })
    }

    /// Tells the recogniser the reply; what of it is story, and what the model noted.
    pub(crate) fn told(&self, telling: &Telling, reply: &WholeReply) -> Vec<Spoken> {
        let texts = &reply.texts;
        let rules = self.stacks.lore().rules().notebooks.clone();
        let notes: Vec<Option<String>> = texts.iter().map(|text| rules.read(text).0).collect();
        let echoes = self.echoes(&telling.names);
        let texts: Vec<String> =
            texts.iter().map(|text| echoes.taken_out(text).into_owned()).collect();
        let answers = self.recogniser.reply(&telling.ticket, &texts, reply.response.as_deref());
        let notes = notes.into_iter().chain(std::iter::repeat(None));
        answers.into_iter().zip(notes).map(|(answer, notes)| Spoken { answer, notes }).collect()
    }

    /// Stores a turn with the prompt it was sent with, and in the same write the reply to it if
    /// there is one by now.
    pub(crate) async fn commit(
        &self,
        decided: Box<Decided>,
        sent: Sent,
        spoken: &[Spoken],
    ) -> Result<Committed, StoreError> {
        let now = self.clock.now();
        let Sent { prompt, spans, already, seams, moving, line } = sent;
        let Decided { lore, wish, input, transcript, woven } = *decided;
        let Wish { path, state, names, generation, stated, .. } = *wish;
        let input = TurnInput { seams, ..stored_input(*input, &lore, &path, &line) };
        let Decision { injections, mut delta, mut report, .. } = woven;
        let context = stated.after(&state.context);
        delta.context = (context != state.context).then_some(context);
        report.cache = self.measure(path.chat(), &line, &prompt, &spans, &moving).await?;
        report.spans = spans;
        report.warnings.extend(already.into_iter().map(|source| Warning::AlreadyThere { source }));
        lore.keep(self.store.as_ref(), &self.tenant).await?;
        let record = TurnRecord {
            chat: path.chat().clone(),
            at: path.prefix(),
            answers: path.last_user(),
            generation,
            library: lore.library().version(),
            delta,
            injections,
            prompt,
            report,
            created: now,
            input: Some(Box::new(input)),
        };
        let reply = only_reply(&path, spoken);
        let (stored, answered) = match self.write(&path, &record, reply.as_ref()).await {
            Err(StoreError::NoChat { .. }) => {
                self.store.open_chat(&self.tenant, path.chat(), &title(&path), now).await?;
                self.write(&path, &record, reply.as_ref()).await?
            }
            written => written?,
        };
        self.notice(Happened::TurnStored { chat: path.chat().clone(), turn: stored.id });
        self.api().metrics.turn(&record.report.budgets, &record.report.verdicts);
        let (chat, version) = (path.chat().to_string(), stored.write.0);
        self.tell(events::Happened::Chat { chat, version });
        let track = Track { path, transcript };
        Ok(Committed { track, turn: stored.id, version, names, answered })
    }

    /// Writes a turn, and the reply to it if there is one.
    async fn write(
        &self,
        path: &Path,
        record: &TurnRecord,
        reply: Option<&Node>,
    ) -> Result<(StoredTurn, Option<WriteId>), StoreError> {
        let (store, tenant) = (&self.store, &self.tenant);
        let Some(reply) = reply else {
            return Ok((store.commit_turn(tenant, path, record, None).await?, None));
        };
        let now = self.clock.now();
        let (stored, write) = store.commit_answered(tenant, path, record, reply, now).await?;
        Ok((stored, Some(write)))
    }

    /// Stores the replies to a turn: one for each choice, each a version of the next
    /// message.
    pub(crate) async fn commit_replies(
        &self,
        committed: Committed,
        spoken: Vec<Spoken>,
    ) -> Result<(), StoreError> {
        let Committed { track, turn, names, mut answered, .. } = committed;
        let Track { path, transcript } = track;
        let mut told = None;
        let spoken: Vec<Spoken> = spoken.into_iter().filter(says_something).collect();
        // A long story is copied for choices only.
        let copies = std::iter::repeat_n(path, spoken.len());
        for (path, Spoken { answer: Answer { message, replaces }, notes }) in copies.zip(spoken) {
            let mut path = if replaces { without_last(&path) } else { Arc::unwrap_or_clone(path) };
            let parent = path.prefix();
            let node = node(parent, path.push(message).clone());
            let write = if let Some(write) = answered.take() {
                write
            } else {
                let reply = Reply { turn, node, created: self.clock.now() };
                self.store.commit_reply(&self.tenant, path.chat(), &reply).await?
            };
            let chat = path.chat().to_string();
            self.tell(events::Happened::Chat { chat, version: write.0 });
            self.api().metrics.reply();
            self.note(&path, notes).await?;
            // Of several choices the front end shows the first.
            told.get_or_insert(path);
        }
        if let Some(path) = &told {
            self.notice(Happened::ReplyStored { chat: path.chat().clone(), turn });
        }
        if let Some(path) = told {
            // The reply is stored: its reader need not wait for what memory makes of it.
            let mut track = Track { path: Arc::new(path), transcript };
            // All but the reply is transcribed, and a message that it goes on with.
            track.transcript.retell(&track.path, track.path.items().len().saturating_sub(1));
            let (app, track) = (self.clone(), Arc::new(track));
            self.paths().put(Arc::clone(&track), self.clock.now());
            self.tasks.spawn(async move {
                app.look_ahead(&track.path).await;
                app.remember(&track.path, &names).await;
            });
        }
        Ok(())
    }

    /// The turn that was stored last.
    pub async fn last_turn(&self) -> Result<Option<LastTurn>, StoreError> {
        let Some(chat) = self.store.chats(&self.tenant).await?.into_iter().next() else {
            return Ok(None);
        };
        let chat = chat.chat.id;
        let turns = self.store.turns(&self.tenant, &chat).await?;
        let last = turns.into_iter().rfind(|turn| turn.generation != GenerationType::Edit);
        let Some(summary) = last else {
            return Ok(None);
        };
        let Some(record) = self.store.turn(&self.tenant, &chat, summary.id).await? else {
            return Ok(None);
        };
        let reply = match summary.reply {
            Some(node) => self.store.path(&self.tenant, &chat, node).await?.pop(),
            None => None,
        };
        let reply = reply.map(|node| node.message.text.into());
        Ok(Some(LastTurn { chat, turn: summary.id, record, reply }))
    }
}

/// What a chat is called that nobody has named: how it begins.
fn title(path: &Path) -> String {
    let first = path.items().first().map_or("", |item| item.message.text.as_str());
    first.chars().take(LONGEST_TITLE).collect()
}

fn says_something(spoken: &Spoken) -> bool {
    !spoken.answer.message.text.is_empty()
}

/// The node of an item that comes after another.
fn node(parent: PrefixHash, item: PathItem) -> Node {
    Node { prefix: item.prefix, parent, message_id: item.id, message: item.message }
}

/// The reply to a turn on this path, if it is one and the next message.
fn only_reply(path: &Path, spoken: &[Spoken]) -> Option<Node> {
    let [only] = spoken else { return None };
    let next = says_something(only) && !only.answer.replaces;
    next.then(|| node(path.prefix(), path.next(only.answer.message.clone())))
}

/// A stored turn that waits for its reply.
pub(crate) struct Committed {
    track: Track,
    turn: TurnId,
    version: u64,
    names: Names,
    /// The write that its reply came with, if that is stored.
    answered: Option<WriteId>,
}

impl Committed {
    /// The turn.
    pub(crate) fn turn(&self) -> TurnId {
        self.turn
    }

    /// The chat's version that it made.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    pub(crate) fn chat(&self) -> &ChatId {
        self.track.path.chat()
    }
}

/// The longest title that a chat gets by itself, in characters.
const LONGEST_TITLE: usize = 60;

/// The longest card that memory is told: its prompts hold it whole.
const LONGEST_CARD: usize = 6000;

/// What a request says before the chat.
fn card(found: &Recognition) -> Arc<str> {
    let parts: Vec<&str> = found.window.preamble.iter().map(|part| part.text.as_str()).collect();
    let text = parts.join("\n");
    let end = text.char_indices().nth(LONGEST_CARD).map_or(text.len(), |(end, _)| end);
    Arc::from(&text[..end])
}

/// Gives a message the name of its speaker, unless it has one, or says it in its text: then
/// it would be another message.
fn name(message: &mut Message, name: Option<&str>) {
    let told = without_speaker(&message.text, name).len() < message.text.len();
    if message.name.is_none() && !told {
        message.name = name.map(str::to_owned);
    }
}

/// A path up to the message before its last.
fn without_last(path: &Path) -> Path {
    let items = path.items();
    let kept = &items[..items.len().saturating_sub(1)];
    Path::of(path.chat().clone(), kept.iter().map(|item| item.message.clone()))
}
