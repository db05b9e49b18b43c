//! Named sets of rules for card books: our own, two documents and the programs that books come
//! from. `docs/design/054-source-rules.md` says where each value is from.

use serde::{Deserialize, Serialize};

use super::{
    grammar::Grammar,
    rules::{CardRules, Cost, Feed, MessageBasis, MissingPriority, Overflow, RecursionScope, Ties},
};
use crate::scan::WordRule;

/// A named set of rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CardMode {
    /// Our own: what the documents say.
    #[default]
    Loreloom,
    /// Character Card V3 as written.
    CardV3,
    /// The written rules of the second lore engine.
    #[serde(rename = "seed-002")]
    Seed002,
    /// The second lore engine as its source behaves.
    Unorouter,
    /// `RisuAI`.
    Risu,
    /// `KoboldAI` Lite.
    Kobold,
    /// `AI Dungeon`.
    AiDungeon,
    /// `AgnAI`.
    Agnai,
    /// `JanitorAI`.
    Janitor,
    /// Chub.
    Chub,
    /// Backyard AI.
    Backyard,
}

impl CardMode {
    /// The mode's rules, with what it has no opinion on from other rules.
    pub fn rules_with(self, own: &CardRules) -> CardRules {
        let rules = self.rules();
        CardRules {
            budget_floor: rules.budget_floor.max(own.budget_floor),
            message_overhead: own.message_overhead,
            slot: own.slot.clone(),
            role: own.role,
            wrapper: own.wrapper.clone(),
            semantic_entries: own.semantic_entries,
            semantic_budget: own.semantic_budget,
            ..rules
        }
    }

    /// The mode's rules.
    pub fn rules(self) -> CardRules {
        match self {
            Self::Loreloom => CardRules::default(),
            Self::CardV3 => card_v3(),
            Self::Seed002 => seed_002(),
            Self::Unorouter => unorouter(),
            Self::Risu => risu(),
            Self::Kobold => kobold(),
            Self::AiDungeon => CardRules { budget_percent: 25, ..kobold() },
            Self::Agnai => agnai(),
            Self::Janitor => CardRules { scan_depth: 3, recursive: false, ..CardRules::default() },
            Self::Chub => CardRules {
                scan_depth: 2,
                recursive: false,
                match_whole_words: true,
                ..CardRules::default()
            },
            Self::Backyard => backyard(),
        }
    }
}

fn card_v3() -> CardRules {
    CardRules {
        grammar: Grammar::card_v3(),
        count: MessageBasis::Assistant,
        constants_need_required: true,
        regex_keys_only: true,
        ..CardRules::default()
    }
}

fn seed_002() -> CardRules {
    CardRules {
        scan_depth_most: 100,
        budget_floor: 100,
        budget_most: 32_000,
        recursive: false,
        comma_keys: true,
        missing_priority: MissingPriority::Fixed { own: 0.0, imported: 0.0 },
        ties: Ties::Id,
        order_descends: true,
        field_order_descends: true,
        positions: false,
        ..CardRules::default()
    }
}

fn unorouter() -> CardRules {
    CardRules {
        grammar: Grammar::unorouter(),
        budget_floor: 1500,
        recursive: false,
        recursion: RecursionScope::AnyBook,
        feed: Feed::AsWritten,
        words: WordRule::Ascii,
        squash_spaces: true,
        activate_beats_gates: false,
        missing_priority: MissingPriority::Fixed { own: 0.0, imported: 100.0 },
        ties: Ties::Id,
        cost: Cost::AsWritten,
        order_descends: true,
        positions: false,
        ..CardRules::default()
    }
}

fn risu() -> CardRules {
    CardRules {
        grammar: Grammar::risu(),
        scan_depth: 5,
        budget: 800,
        max_passes: 0,
        feed: Feed::AsWritten,
        lore_at_once: true,
        words: WordRule::Spaced,
        squash_spaces: true,
        count: MessageBasis::WithGreeting,
        exclusions_stop_constants: false,
        ties: Ties::Latest,
        cost: Cost::AsWritten,
        positions: false,
        ..CardRules::default()
    }
}

fn kobold() -> CardRules {
    CardRules {
        scan_depth: u32::MAX,
        budget_percent: 50,
        recursive: false,
        exclusions_stop_constants: false,
        ..CardRules::default()
    }
}

fn agnai() -> CardRules {
    CardRules {
        scan_depth: 50,
        budget: 500,
        recursive: false,
        match_whole_words: true,
        words: WordRule::Ascii,
        overflow: Overflow::Strict,
        ..CardRules::default()
    }
}

fn backyard() -> CardRules {
    CardRules {
        scan_depth: 4,
        budget: 384,
        recursive: false,
        overflow: Overflow::Strict,
        unplaced_depth: Some(2),
        ..CardRules::default()
    }
}
