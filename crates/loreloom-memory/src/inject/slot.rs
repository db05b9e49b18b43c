//! The named slots of memory and where they stand by default.

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
    /// Scenes that are over.
    Scenes,
    /// Session memories.
    Session,
    /// Open threads.
    Arcs,
    /// Feelings.
    Relationships,
    /// Who knows what.
    Epistemic,
    /// State cards.
    Ledger,
    /// Passages of the story itself that the turn calls for.
    Recall,
    /// Memories that the turn brings to mind, again and nearer.
    Triggered,
    /// A correction for the next reply.
    Repair,
    /// All of them in one block.
    Unified,
}

/// Where a slot stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum SlotPosition {
    /// With the character's card.
    InPrompt,
    /// Inside the chat, so many messages from its end.
    InChat,
    /// Before the main prompt.
    Before,
}

impl MemorySlot {
    /// All slots but the unified one, in its order.
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

    /// The name that prompts and reports know it by: that of its macro without the prefix.
    pub fn name(self) -> &'static str {
        match self.macro_name() {
            Some(name) => name.trim_start_matches("smartmemory-"),
            None => "repair",
        }
    }

    /// Where it stands if nobody moved it.
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

/// Where somebody moved a slot to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlotPlacement {
    /// Where it stands.
    pub position: SlotPosition,
    /// How deep, inside the chat.
    #[serde(default)]
    pub depth: Depth,
    /// In whose words.
    #[serde(default)]
    pub role: Role,
}

/// A slot with its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotText {
    /// The slot.
    pub slot: MemorySlot,
    /// Its text, ready to be sent.
    pub text: String,
    /// Where it stands.
    pub position: SlotPosition,
    /// How deep.
    pub depth: Depth,
    /// In whose words.
    pub role: Role,
    /// It goes nowhere but to its macro.
    pub only_macro: bool,
    /// Its tokens.
    pub tokens: Tokens,
    /// What it would have taken without a limit.
    pub wanted: Tokens,
}

impl SlotText {
    /// As an injection for the assembly of the prompt.
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
