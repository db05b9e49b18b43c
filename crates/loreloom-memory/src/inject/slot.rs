//! The slots of memory and their default places.

use loreloom_core::{
    chat::Role,
    place::{Injection, Place, Provenance},
    units::{Depth, Tokens},
};
use serde::{Deserialize, Serialize};

/// A slot. The order is that of the unified block, from lasting to immediate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemorySlot {
    /// History as prose.
    Canon,
    /// Profiles.
    Profiles,
    /// Long-term memories.
    LongTerm,
    /// The story so far.
    Summary,
    /// Past scenes.
    Scenes,
    /// Session memories.
    Session,
    /// Open arcs.
    Arcs,
    /// Feelings.
    Relationships,
    /// Who knows what.
    Epistemic,
    /// State cards.
    Ledger,
    /// Recalled passages of the story itself.
    Recall,
    /// Memories that the turn triggers, once more and closer to the end.
    Triggered,
    /// A repair note for the next reply.
    Repair,
    /// All of them in one block.
    Unified,
}

/// The place of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum SlotPosition {
    /// With the character's card.
    InPrompt,
    /// Inside the chat, at a depth.
    InChat,
    /// Before the main prompt.
    Before,
}

impl MemorySlot {
    /// All slots except the unified one, in its order.
    pub const SINGLE: [Self; 13] = [
        Self::Canon,
        Self::Profiles,
        Self::LongTerm,
        Self::Summary,
        Self::Scenes,
        Self::Session,
        Self::Arcs,
        Self::Relationships,
        Self::Epistemic,
        Self::Ledger,
        Self::Recall,
        Self::Triggered,
        Self::Repair,
    ];

    /// The name used in Smart Memory's settings and statistics.
    pub fn key(self) -> &'static str {
        match self {
            Self::Canon => "smart_memory_canon",
            Self::Profiles => "smart_memory_profiles",
            Self::LongTerm => "smart_memory_long",
            Self::Summary => "smart_memory_short",
            Self::Scenes => "smart_memory_scenes",
            Self::Session => "smart_memory_session",
            Self::Arcs => "smart_memory_arcs",
            Self::Relationships => "smart_memory_relationships",
            Self::Epistemic => "smart_memory_epistemic",
            Self::Ledger => "smart_memory_state_ledger",
            Self::Recall => "loreloom_recall",
            Self::Triggered => "smart_memory_triggered",
            Self::Repair => "smart_memory_repair",
            Self::Unified => "smart_memory_unified",
        }
    }

    /// The name of its macro, without braces; a repair note has none.
    pub fn macro_name(self) -> Option<&'static str> {
        match self {
            Self::Canon => Some("smartmemory-canon"),
            Self::Profiles => Some("smartmemory-profiles"),
            Self::LongTerm => Some("smartmemory-longterm"),
            Self::Summary => Some("smartmemory-shortterm"),
            Self::Scenes => Some("smartmemory-scenes"),
            Self::Session => Some("smartmemory-session"),
            Self::Arcs => Some("smartmemory-arcs"),
            Self::Relationships => Some("smartmemory-relationships"),
            Self::Epistemic => Some("smartmemory-epistemic"),
            Self::Ledger => Some("smartmemory-stateledger"),
            Self::Recall => Some("smartmemory-recall"),
            Self::Triggered => Some("smartmemory-triggered"),
            Self::Unified => Some("smartmemory-unified"),
            Self::Repair => None,
        }
    }

    /// Its name in prompts and reports: that of its macro without the prefix.
    pub fn name(self) -> &'static str {
        match self.macro_name() {
            Some(name) => name.trim_start_matches("smartmemory-"),
            None => "repair",
        }
    }

    /// Its default place.
    pub fn usual_place(self) -> (SlotPosition, Depth) {
        let (position, depth) = match self {
            Self::Canon | Self::Summary | Self::Unified => (SlotPosition::InPrompt, 0),
            Self::Profiles => (SlotPosition::InPrompt, 1),
            Self::LongTerm => (SlotPosition::InPrompt, 2),
            Self::Scenes => (SlotPosition::InChat, 6),
            Self::Relationships => (SlotPosition::InChat, 5),
            Self::Recall | Self::Triggered => (SlotPosition::InChat, 4),
            Self::Session => (SlotPosition::InChat, 3),
            Self::Arcs => (SlotPosition::InChat, 2),
            Self::Epistemic | Self::Ledger => (SlotPosition::InChat, 1),
            Self::Repair => (SlotPosition::InChat, 0),
        };
        (position, Depth(depth))
    }
}

/// A place that replaces the default of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlotPlacement {
    /// Its place.
    pub position: SlotPosition,
    /// The depth inside the chat.
    #[serde(default)]
    pub depth: Depth,
    /// The role.
    #[serde(default)]
    pub role: Role,
}

/// A slot with its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotText {
    /// The slot.
    pub slot: MemorySlot,
    /// Its text, ready for the prompt.
    pub text: String,
    /// Its place.
    pub position: SlotPosition,
    /// The depth.
    pub depth: Depth,
    /// The role.
    pub role: Role,
    /// Whether it goes only to its macro.
    pub only_macro: bool,
    /// Its tokens.
    pub tokens: Tokens,
    /// The tokens it would use without a limit.
    pub wanted: Tokens,
}

impl SlotText {
    /// As an injection for the prompt.
    pub fn injection(&self) -> Injection {
        Injection {
            place: match self.position {
                _ if self.only_macro => Place::Outlet(self.slot.name().to_owned()),
                SlotPosition::InPrompt => Place::AfterCharacter,
                SlotPosition::InChat => Place::AtDepth(self.depth),
                SlotPosition::Before => Place::BeforeMain,
            },
            role: self.role,
            text: self.text.clone(),
            tokens: self.tokens,
            source: Provenance::Memory(self.slot.name().to_owned()),
        }
    }
}
