//! What was placed where in earlier turns of a path.
//!
//! The ledger is part of the story's state: each turn leaves a [`LedgerDelta`] on its
//! message, and the ledger of a path is their fold. A swipe or another branch therefore
//! finds the ledger of its own past. A text is written down once, when it is placed; later
//! turns only note when it falls idle or leaves.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::{
    digest::Hasher,
    ids::{Digest, MessageId, SlipId},
    place::{Injection, Provenance},
    state::{apply, changes},
    units::MessageCount,
};

/// Where a placed text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Anchor {
    /// At its own place before the chat.
    Head,
    /// Before this message of the story.
    Before(MessageId),
}

/// A text that was placed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slip {
    /// Where it is.
    pub anchor: Anchor,
    /// Its rank among the texts of one anchor.
    pub order: u32,
    /// The text, as it was woven.
    pub injection: Injection,
    /// What its source said ([`SourceLookup::says`](super::SourceLookup::says)).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<Digest>,
}

/// All placed texts at one point of a path.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ledger {
    /// What is in the prompt.
    pub slips: BTreeMap<SlipId, Arc<Slip>>,
    /// Texts that no turn asks for any more: the length of the story when they fell idle.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub idle: BTreeMap<SlipId, MessageCount>,
    /// How often the text of a source changed while it was in the prompt.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub rewritten: BTreeMap<Digest, u32>,
    /// The first message of the last prompt's window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<MessageId>,
    /// The message from which on the story was sent, once it was cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut: Option<MessageId>,
    /// The head of the last prompt; `None` before the first turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<Digest>,
}

/// What one turn changed: `None` removes a record, and leaves `start`, `cut` and `head` alone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LedgerDelta {
    /// Texts that were placed or removed.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub slips: BTreeMap<SlipId, Option<Arc<Slip>>>,
    /// Texts that fell idle or woke.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub idle: BTreeMap<SlipId, Option<MessageCount>>,
    /// Changes to the counts of rewritten texts.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub rewritten: BTreeMap<Digest, Option<u32>>,
    /// The window's new start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<MessageId>,
    /// The new cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut: Option<MessageId>,
    /// The new head.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<Digest>,
}

impl LedgerDelta {
    /// What turns `before` into `after`.
    pub fn between(before: &Ledger, after: &Ledger) -> Self {
        Self {
            slips: changes(&before.slips, &after.slips),
            idle: changes(&before.idle, &after.idle),
            rewritten: changes(&before.rewritten, &after.rewritten),
            start: after.start.filter(|start| before.start != Some(*start)),
            cut: after.cut.filter(|cut| before.cut != Some(*cut)),
            head: after.head.filter(|head| before.head != Some(*head)),
        }
    }

    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Ledger {
    /// The ledger after a turn that left `delta`.
    pub fn apply(&mut self, delta: &LedgerDelta) {
        apply(&mut self.slips, &delta.slips);
        apply(&mut self.idle, &delta.idle);
        apply(&mut self.rewritten, &delta.rewritten);
        self.start = delta.start.or(self.start);
        self.cut = delta.cut.or(self.cut);
        self.head = delta.head.or(self.head);
    }

    /// Whether nothing was ever placed with it.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The rank of the next text.
    pub(super) fn next_order(&self) -> u32 {
        self.slips.values().map(|slip| slip.order.saturating_add(1)).max().unwrap_or_default()
    }

    pub(super) fn remove(&mut self, id: SlipId) -> Option<Arc<Slip>> {
        self.idle.remove(&id);
        self.slips.remove(&id)
    }
}

/// The name of a source, for counting.
pub(super) fn source_key(source: &Provenance) -> Digest {
    keyed(source).finish()
}

/// The name of the `occurrence`-th text (from 0) of this source, role and wording.
pub(super) fn slip_id(injection: &Injection, occurrence: u64) -> SlipId {
    let hasher = keyed(&injection.source).field(injection.role.as_str().as_bytes());
    SlipId(hasher.field(injection.text.as_bytes()).number(occurrence).finish())
}

fn keyed(source: &Provenance) -> Hasher {
    let hasher = Hasher::new("slip");
    match source {
        Provenance::Lore { book, entry } => {
            hasher.number(0).field(book.as_str().as_bytes()).field(entry.as_str().as_bytes())
        }
        Provenance::AuthorsNote => hasher.number(1),
        Provenance::Memory(slot) => hasher.number(2).field(slot.as_bytes()),
    }
}
