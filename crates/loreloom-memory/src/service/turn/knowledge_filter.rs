//! Which memories one character may know.
//!
//! All characters of a chat share its memories. Before they go into the prompt of one of them,
//! the filter removes what the character did not hear and what is kept from it.

use std::borrow::Cow;

use loreloom_core::{chat::PathItem, ids::MessageId};
use loreloom_ports::MemoryError;
use rustc_hash::FxHashSet;

use crate::{
    presence::{Presence, characters, is_same_person},
    record::{CharacterMemory, ChatMemory, Insight, InsightKind, Memory},
    secrets::Secrets,
    service::{MemoryView, PathViews, Who, views::ChatPath},
};

/// The most other characters of a chat whose secrets are read.
const OTHERS: usize = 16;

/// What a character heard, and what is kept from it.
#[derive(Clone, Debug, Default)]
pub(super) struct KnowledgeFilter {
    presence: Presence,
    secrets: Secrets,
    /// Messages whose memories were all replaced.
    outdated: FxHashSet<MessageId>,
}

impl KnowledgeFilter {
    /// A filter that lets everything through but outdated messages.
    pub(super) fn open(view: &MemoryView) -> Self {
        Self { outdated: outdated(view), ..Self::default() }
    }

    /// The filter for a character.
    pub(super) async fn load(
        views: &PathViews,
        at: ChatPath<'_>,
        who: &Who,
        view: &MemoryView,
    ) -> Result<Self, MemoryError> {
        let mut others: Vec<MemoryView> = Vec::new();
        let is_other = |name: &&&str| !is_same_person(name, &who.name);
        for name in characters(at.path).iter().filter(is_other).take(OTHERS) {
            others.push(views.view(at.tenant, at.chat, at.path, &Who::named(name)).await?);
        }
        let own = view.character.epistemic_knowledge.iter();
        let theirs = others.iter().flat_map(|other| &other.character.epistemic_knowledge);
        Ok(Self {
            presence: Presence::of(at.path, &who.name),
            secrets: Secrets::from(own.chain(theirs), &who.name),
            outdated: outdated(view),
        })
    }
}

impl KnowledgeFilter {
    /// Whether the message at this place may be recalled for the character.
    pub(super) fn may_recall(&self, path: &[PathItem], at: usize) -> bool {
        let Some(item) = path.get(at) else { return false };
        self.presence.hears(at)
            && !self.outdated.contains(&item.id)
            && !self.secrets.carried_by(&item.id)
            && !self.secrets.revealed_by(&item.message.text)
    }

    fn may_know(&self, memory: &Memory) -> bool {
        !self.secrets.given_away_by(&memory.content, &memory.receipts)
    }

    /// What the character remembers, without what is kept from it. A note that it does not know
    /// something would give that away, so with `only_seen` the note stays only if the model sees
    /// its messages anyway: `seen` are the messages in the prompt.
    pub(super) fn character<'view>(
        &self,
        memory: &'view CharacterMemory,
        seen: &FxHashSet<MessageId>,
        only_seen: bool,
    ) -> Cow<'view, CharacterMemory> {
        let may_stay = |insight: &Insight| {
            let shows = insight.receipts.iter().all(|id| seen.contains(id));
            insight.kind != InsightKind::Unaware || shows && !insight.receipts.is_empty()
        };
        let hides = only_seen && !memory.epistemic_knowledge.iter().all(may_stay);
        if self.secrets.is_empty() && !hides {
            return Cow::Borrowed(memory);
        }
        let mut memory = memory.clone();
        memory.memories.retain(|memory| self.may_know(memory));
        memory.persistent_arcs.retain(|arc| !self.secrets.revealed_by(&arc.content));
        if let Some(canon) = &mut memory.canon {
            canon.text = self.secrets.without(&canon.text);
        }
        if hides {
            memory.epistemic_knowledge.retain(may_stay);
        }
        Cow::Owned(memory)
    }

    /// What the chat remembers, without what the character missed or must not know.
    pub(super) fn chat<'view>(&self, memory: &'view ChatMemory) -> Cow<'view, ChatMemory> {
        if self.secrets.is_empty() && self.presence.is_complete() {
            return Cow::Borrowed(memory);
        }
        let (secrets, presence) = (&self.secrets, &self.presence);
        let mut memory = memory.clone();
        memory
            .session_memories
            .retain(|one| self.may_know(one) && !presence.missed_any(&one.receipts));
        memory.scene_history.retain(|scene| {
            !presence.missed_most(&scene.receipts) && !secrets.revealed_by(&scene.summary)
        });
        memory.story_arcs.retain(|arc| {
            !secrets.revealed_by(&arc.content) && !presence.missed_any(&arc.receipts)
        });
        memory.summary = memory.summary.map(|text| secrets.without(&text));
        memory.pending_repair = memory.pending_repair.filter(|note| !secrets.revealed_by(note));
        memory.ledger = memory
            .ledger
            .iter()
            .map(|(key, card)| {
                let mut card = card.clone();
                let label = card.name.clone().unwrap_or_else(|| key.to_owned());
                card.fields.retain(|_, value| !secrets.revealed_by(&format!("{label} {value}")));
                (key.to_owned(), card)
            })
            .collect();
        memory.profiles = memory
            .profiles
            .iter()
            .map(|(name, profile)| {
                let mut profile = profile.clone();
                profile.character_state = secrets.without(&profile.character_state);
                profile.world_state = secrets.without(&profile.world_state);
                profile.relationship_matrix = secrets.without(&profile.relationship_matrix);
                (name.to_owned(), profile)
            })
            .collect();
        Cow::Owned(memory)
    }
}

/// Messages that only replaced memories rest on. To recall them would bring back what is no
/// longer true.
fn outdated(view: &MemoryView) -> FxHashSet<MessageId> {
    let all = || {
        let own = view.character.memories.iter().chain(&view.world.memories);
        own.chain(&view.chat.session_memories)
    };
    let replaced = all().filter(|memory| memory.superseded_by.is_some());
    let mut outdated: FxHashSet<MessageId> =
        replaced.flat_map(|memory| memory.receipts.iter().copied()).collect();
    if !outdated.is_empty() {
        let holding = all().filter(|memory| memory.superseded_by.is_none());
        for id in holding.flat_map(|memory| &memory.receipts) {
            outdated.remove(id);
        }
    }
    outdated
}
