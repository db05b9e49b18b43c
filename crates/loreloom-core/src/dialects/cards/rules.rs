//! The settings of card books, as data.

use serde::{Deserialize, Serialize};

use super::grammar::Grammar;
use crate::{chat::Role, place::LOREBOOK_SLOT, scan::WordRule};

/// The settings of card books.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is one documented decision")]
pub struct CardRules {
    /// How decorators are read.
    pub grammar: Grammar,
    /// Messages scanned, for books that do not say.
    pub scan_depth: u32,
    /// No entry scans more messages than this, whatever its book says.
    pub scan_depth_most: u32,
    /// The budget if no attached book sets one.
    pub budget: u32,
    /// The same as a share of the model's context, in percent; 0 leaves it to `budget`.
    pub budget_percent: u32,
    /// The budget is never below this.
    pub budget_floor: u32,
    /// The budget is never above this.
    pub budget_most: u32,
    /// Whether books that do not say are recursive.
    pub recursive: bool,
    /// Whose setting counts for recursion.
    pub recursion: RecursionScope,
    /// Passes at the most, the first one over the chat included; 0 is without limit.
    pub max_passes: u32,
    /// What recursion scans.
    pub feed: Feed,
    /// Whether a text is scanned at once, by the entries behind it in the same pass.
    pub lore_at_once: bool,
    /// Whether case counts, for entries that do not say.
    pub case_sensitive: bool,
    /// Whether only whole words count, for entries that do not say.
    pub match_whole_words: bool,
    /// What a word is.
    pub words: WordRule,
    /// Whether spaces are left out of text and keys where parts of words count.
    pub squash_spaces: bool,
    /// Whether a key with commas is a list of keys.
    pub comma_keys: bool,
    /// Which messages gates count.
    pub count: MessageBasis,
    /// Whether `@@activate` also passes gates and chance.
    pub activate_beats_gates: bool,
    /// Whether `@@additional_keys` also hold for constant entries.
    pub constants_need_required: bool,
    /// Whether keys that exclude an entry also stop constant entries.
    pub exclusions_stop_constants: bool,
    /// Whether entries with `use_regex` have no secondary keys, exclusions and constancy.
    pub regex_keys_only: bool,
    /// The priority of entries without one.
    pub missing_priority: MissingPriority,
    /// What happens to entries after one that did not fit.
    pub overflow: Overflow,
    /// What decides between equals.
    pub ties: Ties,
    /// Whether constant entries are fitted first.
    pub constants_first: bool,
    /// What an entry costs.
    pub cost: Cost,
    /// Tokens each message costs beyond its text.
    pub message_overhead: u32,
    /// Whether `@@order` counts downwards: higher is earlier.
    pub order_descends: bool,
    /// Whether the order in an entry's field counts downwards.
    pub field_order_descends: bool,
    /// Whether entries go to the place their file names; else all go to the slot.
    pub positions: bool,
    /// The slot of entries that name no place.
    pub slot: String,
    /// Where in the chat entries go that name no place, counted in messages from its end;
    /// `None` puts them into the slot.
    pub unplaced_depth: Option<u32>,
    /// The role of entries that name none.
    pub role: Role,
    /// Put round each text; `{0}` is the text. Blank is no wrapper.
    pub wrapper: String,
    /// Entries found by meaning, at the most.
    pub semantic_entries: u32,
    /// Tokens of entries found by meaning, at the most.
    pub semantic_budget: u32,
}

impl Default for CardRules {
    fn default() -> Self {
        Self {
            grammar: Grammar::default(),
            scan_depth: 4,
            scan_depth_most: u32::MAX,
            budget: 1500,
            budget_percent: 0,
            budget_floor: 0,
            budget_most: u32::MAX,
            recursive: true,
            recursion: RecursionScope::OwnBook,
            max_passes: 3,
            feed: Feed::Expanded,
            lore_at_once: false,
            case_sensitive: false,
            match_whole_words: false,
            words: WordRule::Unicode,
            squash_spaces: false,
            comma_keys: false,
            count: MessageBasis::All,
            activate_beats_gates: true,
            constants_need_required: false,
            exclusions_stop_constants: true,
            regex_keys_only: false,
            missing_priority: MissingPriority::Order,
            overflow: Overflow::Skip,
            ties: Ties::File,
            constants_first: false,
            cost: Cost::Rendered,
            message_overhead: 0,
            order_descends: false,
            field_order_descends: false,
            positions: true,
            slot: LOREBOOK_SLOT.to_owned(),
            unplaced_depth: None,
            role: Role::System,
            wrapper: String::new(),
            semantic_entries: 3,
            semantic_budget: 500,
        }
    }
}

/// Whose setting counts for recursion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecursionScope {
    /// An entry's text is scanned if its own book is recursive.
    #[default]
    OwnBook,
    /// All texts are scanned if any attached book is recursive.
    AnyBook,
}

/// What recursion scans.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Feed {
    /// Texts after their macros.
    #[default]
    Expanded,
    /// Texts before their macros.
    AsWritten,
}

/// Which messages gates count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageBasis {
    /// Those of user and model.
    #[default]
    All,
    /// Those of the model, its greeting too.
    Assistant,
    /// All, and a greeting even if the chat has none.
    WithGreeting,
}

/// The priority of entries without one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MissingPriority {
    /// Their order.
    #[default]
    Order,
    /// A number.
    Fixed {
        /// Of books made here.
        own: f64,
        /// Of books read from a file.
        imported: f64,
    },
}

/// What happens to entries after one that did not fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Overflow {
    /// They are tried: a small one may fit where a big one did not.
    #[default]
    Skip,
    /// They are left out.
    Strict,
}

/// What decides between entries of equal priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ties {
    /// Their order, then their place in the files.
    #[default]
    File,
    /// Their id.
    Id,
    /// The one that fired last goes first in the prompt, the one that fired first survives.
    Latest,
}

/// What an entry costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cost {
    /// The tokens of its text as sent.
    #[default]
    Rendered,
    /// The tokens of its text before macros.
    AsWritten,
}

/// Which of two decorators of one name counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Repeats {
    /// The first.
    #[default]
    First,
    /// The last.
    Last,
}

/// Which decorators are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Vocabulary {
    /// All.
    #[default]
    Full,
    /// Those of Character Card V3.
    CardV3,
    /// Those the second lore engine acts on.
    Unorouter,
    /// Those `RisuAI` acts on.
    Risu,
}
