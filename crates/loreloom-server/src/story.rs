//! Which story a request belongs to, and one turn of it.

use std::borrow::Cow;

use loreloom_core::{
    assemble::Seams,
    chat::{GenerationType, Message, Path, Role},
    digest::Hasher,
    given::Given,
    ids::ChatId,
    macros::MacroValues,
    place::Injection,
    prompt::PromptMessage,
    report::{Report, Span},
    state::{StateDelta, StoryState},
    turn::{CardTexts, Host, Speaker, Transcript, Turn},
    wrap::strip_echo,
};
use loreloom_memory::ports::{Node, Reply, StoreError, TurnId, TurnRecord};

use crate::app::App;

/// A turn that was decided but not yet stored.
pub(crate) struct Decided {
    pub(crate) path: Path,
    pub(crate) injections: Vec<Injection>,
    delta: StateDelta,
    report: Report,
    given: Given,
    generation: GenerationType,
    names: Names,
}

/// Who tells the story.
#[derive(Clone, Debug)]
struct Names {
    user: String,
    speaker: Option<String>,
}

/// What was sent to the model.
pub(crate) struct Sent {
    /// The prompt.
    pub(crate) prompt: Vec<PromptMessage>,
    /// Where in it each injected text stands.
    pub(crate) spans: Vec<Span>,
    /// How the texts were sewn in.
    pub(crate) seams: Seams,
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

/// What a request says about itself, beside its messages.
#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(default)]
pub(crate) struct RequestContext {
    pub(crate) chat: Option<String>,
    pub(crate) char: Option<String>,
    pub(crate) user: Option<String>,
    #[serde(rename = "type")]
    pub(crate) generation: Option<String>,
}

/// The chat of a request that does not name one: its opening tells it.
pub(crate) fn chat_of(context: &RequestContext, messages: &[Message]) -> ChatId {
    if let Some(id) = context.chat.as_deref().filter(|id| !id.is_empty()) {
        return ChatId::from(id);
    }
    let opening = messages.iter().find(|message| message.role != Role::System);
    let text = opening.map_or("", |message| message.text.as_str());
    let digest = Hasher::new("chat").field(text.as_bytes()).finish();
    ChatId::from(format!("auto-{}", digest.short()))
}

impl App {
    /// Decides a turn for these messages, system prompts left out.
    pub(crate) async fn decide(
        &self,
        context: &RequestContext,
        messages: Vec<Message>,
    ) -> Result<Decided, StoreError> {
        let chat = chat_of(context, &messages);
        let speaker = match &context.char {
            Some(name) => Some(Speaker::named(name.as_str())),
            None => self.defaults.speaker.clone(),
        };
        let user = context.user.clone().unwrap_or_else(|| self.defaults.user.clone());
        let names = Names { user, speaker: speaker.as_ref().map(|speaker| speaker.name.clone()) };
        let mut story: Vec<Message> = self.story(messages, &names).collect();
        let newest = story.pop();
        let mut path = Path::of(chat, story);
        let mut state = StoryState::default();
        if let Some(newest) = newest {
            // Effects of earlier turns on the newest message do not count: a reply that is
            // asked for again must see what the first one saw.
            match self.store.state(&self.tenant, &path).await {
                // A story's first turn.
                Err(StoreError::NoChat { .. }) => (),
                found => state = found?,
            }
            path.push(newest);
        }
        let generation =
            context.generation.as_deref().map_or(GenerationType::Normal, GenerationType::from_name);
        let transcript = Transcript::of(&path, self.lore.rules().world_info.include_names);
        let card = CardTexts::default();
        let turn = Turn {
            chat: path.chat(),
            prefix: path.prefix(),
            answers: path.last_user(),
            transcript: &transcript,
            generation,
            speaker: speaker.as_ref(),
            user: &names.user,
            card: &card,
            prompts: &[],
            forced: &[],
            context: self.defaults.context,
            seed: self.defaults.seed,
            at: Some(self.clock.now()),
            dry_run: generation == GenerationType::Quiet,
            host: Host::default(),
        };
        let woven = self.lore.weave(&turn, &state, self.counter.as_ref());
        Ok(Decided {
            given: self.lore.given(&turn, &path),
            injections: woven.injections,
            delta: woven.delta,
            report: woven.report,
            names,
            generation,
            path,
        })
    }

    /// The messages that are story: no system prompts, and replies as they were stored,
    /// without the wrappers that the model repeated.
    fn story(&self, messages: Vec<Message>, names: &Names) -> impl Iterator<Item = Message> {
        let story = messages.into_iter().filter(|message| message.role != Role::System);
        story.filter_map(|mut message| {
            if message.role == Role::Assistant
                && let Cow::Owned(text) = self.without_echo(&message.text, names)
            {
                message.text = text;
                return (!message.text.is_empty()).then_some(message);
            }
            Some(message)
        })
    }

    fn without_echo<'text>(&self, text: &'text str, names: &Names) -> Cow<'text, str> {
        let char = names.speaker.as_deref().unwrap_or_default();
        let macros = MacroValues { user: &names.user, char, ..MacroValues::default() };
        strip_echo(text, self.lore.rules(), self.lore.library(), &macros)
    }

    /// Stores a turn with the prompt it was sent with.
    pub(crate) async fn commit(
        &self,
        decided: Decided,
        sent: Sent,
    ) -> Result<Committed, StoreError> {
        let now = self.clock.now();
        let Decided { path, injections, delta, report, given, generation, names } = decided;
        let Sent { prompt, spans, seams } = sent;
        let title = path.items().first().map_or("", |item| item.message.text.as_str());
        let title: String = title.chars().take(60).collect();
        self.store.open_chat(&self.tenant, path.chat(), &title, now).await?;
        self.lore.keep(self.store.as_ref(), &self.tenant).await?;
        let record = TurnRecord {
            chat: path.chat().clone(),
            at: path.prefix(),
            answers: path.last_user(),
            generation,
            library: self.lore.library().version(),
            delta,
            injections,
            prompt,
            report: Report { spans, ..report },
            created: now,
            given: Some(Box::new(Given { seams, ..given })),
        };
        let stored = self.store.commit_turn(&self.tenant, &path, &record, None).await?;
        Ok(Committed { path, turn: stored.id, names, generation })
    }

    /// Stores the reply to a turn. Background generations are not part of the story.
    pub(crate) async fn commit_reply(
        &self,
        committed: Committed,
        text: String,
    ) -> Result<(), StoreError> {
        let text = self.without_echo(&text, &committed.names).into_owned();
        if committed.generation == GenerationType::Quiet || text.is_empty() {
            return Ok(());
        }
        let Committed { mut path, turn, names, .. } = committed;
        let parent = path.prefix();
        let item = path.push(Message::new(Role::Assistant, names.speaker.as_deref(), text)).clone();
        let node = Node { prefix: item.prefix, parent, message_id: item.id, message: item.message };
        let reply = Reply { turn, node, created: self.clock.now() };
        self.store.commit_reply(&self.tenant, path.chat(), &reply).await.map(drop)
    }

    /// The turn that was stored last.
    pub async fn last_turn(&self) -> Result<Option<LastTurn>, StoreError> {
        let Some(chat) = self.store.chats(&self.tenant).await?.into_iter().next() else {
            return Ok(None);
        };
        let chat = chat.chat.id;
        let Some(summary) = self.store.turns(&self.tenant, &chat).await?.pop() else {
            return Ok(None);
        };
        let Some(record) = self.store.turn(&self.tenant, &chat, summary.id).await? else {
            return Ok(None);
        };
        let reply = match summary.reply {
            Some(node) => self.store.path(&self.tenant, &chat, node).await?.pop(),
            None => None,
        };
        let reply = reply.map(|node| node.message.text);
        Ok(Some(LastTurn { chat, turn: summary.id, record, reply }))
    }
}

/// A stored turn that waits for its reply.
pub(crate) struct Committed {
    path: Path,
    turn: TurnId,
    names: Names,
    generation: GenerationType,
}
