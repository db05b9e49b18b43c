//! The rules of card books by where they come from: two documents and the programs.
//! `docs/design/054-source-rules.md` says where each value is from.

use super::{
    grammar::Grammar,
    rules::{CardRules, Cost, Feed, MessageBasis, MissingPriority, Overflow, RecursionScope, Ties},
};
use crate::{library::Dialect, scan::WordRule};

/// The rules that a dialect names; `None` where the settings say them.
pub fn source_rules(dialect: Dialect) -> Option<CardRules> {
    Some(match dialect {
        Dialect::WorldInfo | Dialect::Cards => return None,
        Dialect::CardV3 => card_v3(),
        Dialect::Seed002 => seed_002(),
        Dialect::Unorouter => unorouter(),
        Dialect::Risu => risu(),
        Dialect::Kobold => kobold(),
        Dialect::AiDungeon => CardRules { budget_percent: 25, ..kobold() },
        Dialect::Agnai => agnai(),
        Dialect::Janitor => CardRules { scan_depth: 3, recursive: false, ..CardRules::default() },
        Dialect::Chub => CardRules {
            scan_depth: 2,
            recursive: false,
            match_whole_words: true,
            ..CardRules::default()
        },
        Dialect::Backyard => backyard(),
    })
}

/// The same with what no program has an opinion on from the settings.
pub(crate) fn source_rules_with(dialect: Dialect, own: &CardRules) -> Option<CardRules> {
    let rules = source_rules(dialect)?;
    Some(CardRules {
        budget_floor: rules.budget_floor.max(own.budget_floor),
        message_overhead: own.message_overhead,
        slot: own.slot.clone(),
        role: own.role,
        wrapper: own.wrapper.clone(),
        semantic_entries: own.semantic_entries,
        semantic_budget: own.semantic_budget,
        ..rules
    })
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
