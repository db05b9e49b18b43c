//! Which memories one character may know.
//!
//! All characters of a chat share its memories. Before they go into the prompt of one of them,
//! the filter removes what the character did not hear and what is kept from it. A card that plays
//! several characters is a narrator and knows everything.

use std::borrow::Cow;

use loreloom_core::{chat::PathItem, ids::MessageId};
use loreloom_ports::MemoryError;
use rustc_hash::FxHashSet;

use crate::{
    people::People,
    presence::{Presence, characters, narrated},
    record::{
        ArcSummary, Canon, CharacterMemory, ChatMemory, Entity, Insight, InsightKind, Memory,
        MemoryKind, Retirement,
    },
    secrets::{EmbedText, SecretSources, Secrets},
    service::{MemoryView, PathViews, Who, views::ChatPath},
};

/// The most other characters of a chat whose secrets are read.
const OTHERS: usize = 16;

/// A character that reads memory, and the members of its group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'turn> {
    pub(super) who: &'turn Who,
    pub(super) group: &'turn [String],
}

/// What a character heard, and what is kept from it.
#[derive(Clone, Debug, Default)]
pub(super) struct KnowledgeFilter {
    presence: Presence,
    secrets: Secrets,
    /// Messages whose memories were all replaced.
    outdated: FxHashSet<MessageId>,
    /// Whether the card plays several characters.
    narrates: bool,
}

impl KnowledgeFilter {
    /// A filter that lets everything through but outdated messages.
    pub(super) fn open(view: &MemoryView) -> Self {
        Self { outdated: outdated(view, |_| true), ..Self::default() }
    }

    /// The filter for a character.
    pub(super) async fn load(
        views: &PathViews,
        at: ChatPath<'_>,
        reader: Reader<'_>,
        view: &MemoryView,
        embed: Option<&EmbedText>,
    ) -> Result<Self, MemoryError> {
        let who = reader.who;
        if !narrated(at.path, &who.name).is_empty() {
            return Ok(Self { narrates: true, ..Self::open(view) });
        }
        let mut others: Vec<MemoryView> = Vec::new();
        let people = People::of(at.path).with(reader.group.iter().map(String::as_str));
        let is_other = |name: &&&str| !people.are_one(name, &who.name);
        for name in characters(at.path).iter().filter(is_other).take(OTHERS) {
            others.push(views.view(at.tenant, at.chat, at.path, &Who::named(name)).await?);
        }
        let own = view.character.epistemic_knowledge.iter();
        let theirs = others.iter().flat_map(|other| &other.character.epistemic_knowledge);
        let private = others.iter().flat_map(|other| &other.character.memories);
        let is_private =
            |memory: &&Memory| memory.kind == MemoryKind::Private && memory.is_active();
        let presence = Presence::among(&people, at.path, &who.name);
        let presence = presence.in_scenes(at.path, &who.name, view.chat.scenes());
        let sources = SecretSources {
            insights: own.chain(theirs).collect(),
            private: private.filter(is_private).collect(),
            path: at.path,
            people: &people,
            presence: &presence,
            embed,
        };
        let secrets = Secrets::of(&sources, &who.name);
        let may_know =
            |memory: &Memory| !secrets.told_by(&memory.content, &memory.receipts, memory.ts);
        let outdated = outdated(view, may_know);
        Ok(Self { presence, secrets, outdated, narrates: false })
    }

    /// Whether nothing is kept from the character.
    pub(super) fn is_open(&self) -> bool {
        self.secrets.is_empty() && self.presence.is_complete()
    }
}

impl KnowledgeFilter {
    /// Whether the character may know the message at this place.
    pub(super) fn may_hear(&self, path: &[PathItem], at: usize) -> bool {
        let Some(item) = path.get(at) else { return false };
        self.presence.hears(at)
            && !self.secrets.carried_by(&item.id)
            && !self.secrets.revealed_by(&item.message.text)
    }

    /// Whether a message is not outdated.
    pub(super) fn is_current(&self, item: &PathItem) -> bool {
        !self.outdated.contains(&item.id)
    }

    /// Whether the character may know one of its own memories. The model noted for it only what it
    /// heard.
    fn may_know(&self, memory: &Memory) -> bool {
        !self.secrets.told_by_memory(memory)
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
        let hides = only_seen && !self.narrates && !memory.epistemic_knowledge.iter().all(may_stay);
        if self.secrets.is_empty() && !hides {
            return Cow::Borrowed(memory);
        }
        let canon = self.secrets.canon_without(memory);
        let mut memory = memory.clone();
        memory.memories.retain(|memory| self.may_know(memory));
        keep_named(&mut memory.entities, &memory.memories);
        memory
            .persistent_arcs
            .retain(|arc| !self.secrets.told_by(&arc.content, &arc.receipts, arc.ts));
        memory.canon = memory.canon.zip(canon).map(|(canon, text)| Canon { text, ..canon });
        if hides {
            memory.epistemic_knowledge.retain(may_stay);
        }
        Cow::Owned(memory)
    }

    /// What the chat remembers, without what the character missed or must not know.
    pub(super) fn chat<'view>(
        &self,
        whole: &'view ChatMemory,
        path: &[PathItem],
    ) -> Cow<'view, ChatMemory> {
        if self.is_open() {
            return Cow::Borrowed(whole);
        }
        let (secrets, presence) = (&self.secrets, &self.presence);
        let mut memory = whole.clone();
        memory.session_memories.retain(|one| {
            !secrets.told_by(&one.content, &one.receipts, one.ts)
                && !presence.missed_any(&one.receipts)
        });
        keep_named(&mut memory.session_entities, &memory.session_memories);
        memory.scene_history.retain(|scene| {
            !presence.missed_most(&scene.receipts)
                && !secrets.told_by_scene(&scene.summary, &scene.receipts)
        });
        memory.story_arcs.retain(|arc| {
            !secrets.told_by(&arc.content, &arc.receipts, arc.ts)
                && !presence.missed_any(&arc.receipts)
        });
        let may_know = |arc: &ArcSummary| !secrets.told_by_ending(arc, whole);
        memory.arc_summaries.retain(may_know);
        memory.summary = secrets.summary_without(whole, path);
        memory.pending_repair = memory.pending_repair.filter(|note| !secrets.revealed_by(note));
        memory.ledger = memory
            .ledger
            .iter()
            .filter_map(|(key, card)| {
                let mut card = card.clone();
                let label = card.name.clone().unwrap_or_else(|| key.to_owned());
                card.fields.retain(|field, value| {
                    let source = card.sources.get(field).map(std::slice::from_ref);
                    !secrets.given_away_by(&format!("{label} {value}"), source.unwrap_or_default())
                });
                (!card.fields.is_empty()).then(|| (key.to_owned(), card))
            })
            .collect();
        memory.profiles = memory
            .profiles
            .iter()
            .map(|(name, profile)| (name.to_owned(), secrets.profile_without(profile, path)))
            .collect();
        Cow::Owned(memory)
    }
}

/// Drops entities that only withheld memories name.
fn keep_named(entities: &mut Vec<Entity>, memories: &[Memory]) {
    entities.retain(|entity| {
        let mut linked = entity.memory_ids.iter();
        entity.memory_ids.is_empty() || linked.any(|id| memories.iter().any(|one| one.id == *id))
    });
    for entity in entities {
        entity.memory_ids.retain(|id| memories.iter().any(|one| one.id == *id));
    }
}

/// Messages that only replaced memories rest on. To recall them would bring back what is no
/// longer true.
fn outdated(view: &MemoryView, may_know: impl Fn(&Memory) -> bool) -> FxHashSet<MessageId> {
    let all = || {
        let own = view.character.memories.iter().chain(&view.world.memories);
        own.chain(&view.chat.session_memories).filter(|memory| may_know(memory))
    };
    let is_replaced = |memory: &&Memory| {
        memory.superseded_by.is_some() || memory.retired == Some(Retirement::Retconned)
    };
    let replaced = all().filter(is_replaced);
    let mut outdated: FxHashSet<MessageId> =
        replaced.flat_map(|memory| memory.receipts.iter().copied()).collect();
    if !outdated.is_empty() {
        let holding = all().filter(|memory| !is_replaced(memory));
        for id in holding.flat_map(|memory| &memory.receipts) {
            outdated.remove(id);
        }
    }
    outdated
}
