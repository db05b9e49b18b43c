//! Chats that are run through the engine again, turn by turn.

use loreloom_core::{
    chat::{GenerationType, Message},
    ids::{ChatId, TenantId},
    library::{ActiveEntries, Attachment, Library, LibrarySource},
    replay::{Replay, ReplayEvent, ReplayLore, TurnLine, events},
    rules::Rules,
    tokens::TokenCounter,
    turn::TurnInput,
};

use super::stored::StoredChat;
use loreloom_ports::{StoreError, StoryStore, TurnSummary};

/// A chat to be run.
#[derive(Clone, Debug)]
pub struct StoryRun {
    /// The chat.
    pub chat: ChatId,
    /// What happens in it.
    pub events: Vec<ReplayEvent>,
    /// The books of its last turn, where they were kept.
    pub library: Option<LibrarySource>,
}

impl StoryRun {
    /// Reads a stored chat. `unknown` makes the input of a turn that was not stored,
    /// from its speaker.
    pub async fn of_stored(
        store: &dyn StoryStore,
        tenant: &TenantId,
        chat: &ChatId,
        unknown: impl Fn(Option<&str>) -> TurnInput + Send + Sync,
    ) -> Result<Self, StoreError> {
        let chat = StoredChat::read(store, tenant, chat).await?;
        let mut records = Vec::with_capacity(chat.nodes.len());
        for node in &chat.nodes {
            let loud = chat.turns_at(node.prefix);
            let last = loud.filter(|turn| is_loud(turn)).last();
            records.push(match last {
                Some(turn) => Some(chat.turn(store, tenant, turn.id).await?),
                None => None,
            });
        }
        let mut library = None;
        if let Some(last) = records.iter().flatten().last() {
            library = store.library(tenant, last.library).await?;
        }
        let messages = chat.nodes.into_iter().map(|node| node.message);
        let events = events(messages, |said, speaker| {
            let record = said.checked_sub(1).and_then(|at| records[at].as_ref());
            let stored = record.and_then(|record| record.input.as_deref().cloned());
            stored.unwrap_or_else(|| unknown(speaker))
        });
        Ok(Self { chat: chat.record.id, events, library })
    }

    /// How many turns it has.
    pub fn turns(&self) -> usize {
        self.events.iter().filter(|event| matches!(event, ReplayEvent::Turn(_))).count()
    }

    /// What is said in it, in order.
    pub fn messages(&self) -> Vec<&Message> {
        let events = self.events.iter();
        events
            .filter_map(
                |event| if let ReplayEvent::Message(said) = event { Some(said) } else { None },
            )
            .collect()
    }

    /// Runs the chat with the books that each turn had.
    pub fn lines_as_stored(
        &self,
        source: &LibrarySource,
        counter: &dyn TokenCounter,
    ) -> Vec<TurnLine> {
        self.run(&source.compile(), &source.rules, counter, self.events.iter().cloned())
    }

    /// Runs the chat with other books, all of them active at every turn.
    pub fn lines(
        &self,
        library: &Library,
        rules: &Rules,
        counter: &dyn TokenCounter,
    ) -> Vec<TurnLine> {
        self.lines_with(library, rules, counter, |_| None)
    }

    /// Runs the chat with other books; `active` says which of them are at a turn, all of
    /// them for `None`.
    pub fn lines_with(
        &self,
        library: &Library,
        rules: &Rules,
        counter: &dyn TokenCounter,
        attached: impl Fn(&TurnInput) -> Option<Vec<Attachment>>,
    ) -> Vec<TurnLine> {
        let events = self.events.iter().cloned().map(|mut event| {
            if let ReplayEvent::Turn(input) = &mut event {
                input.attachments = attached(input);
            }
            event
        });
        self.run(library, rules, counter, events)
    }

    fn run(
        &self,
        library: &Library,
        rules: &Rules,
        counter: &dyn TokenCounter,
        events: impl Iterator<Item = ReplayEvent>,
    ) -> Vec<TurnLine> {
        let active = ActiveEntries::all(library, rules.world_info.strategy);
        let lore = ReplayLore { library, active: &active, rules, counter };
        Replay::new(self.chat.clone(), lore).run(events)
    }
}

/// Whether a turn is part of the story.
fn is_loud(turn: &TurnSummary) -> bool {
    !matches!(turn.generation, GenerationType::Quiet | GenerationType::Edit)
}
