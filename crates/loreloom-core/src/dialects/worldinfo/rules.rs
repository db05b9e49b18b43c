//! World Info's settings, as data.

use serde::{Deserialize, Serialize};

use crate::{book::Entry, scan::WordRule};

/// The settings of World Info. The default is what SillyTavern ships with, without its
/// defects.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "SillyTavern's switches, each independent")]
pub struct WorldInfoRules {
    /// Messages scanned.
    pub depth: u32,
    /// Scan further back until so many entries are active; 0 is off.
    pub min_activations: u32,
    /// How far back that may go; 0 is without limit.
    pub min_activations_depth_max: u32,
    /// Share of the context, in per cent.
    pub budget_percent: f64,
    /// The most tokens, whatever the share; 0 is off.
    pub budget_cap: u32,
    /// Whether messages are scanned as `Name: text`.
    pub include_names: bool,
    /// Whether activated entries may activate others.
    pub recursive: bool,
    /// Whether case counts, for entries that do not say.
    pub case_sensitive: bool,
    /// Whether only whole words count, for entries that do not say.
    pub match_whole_words: bool,
    /// Whether the number of matched keys decides groups, for entries that do not say.
    pub use_group_scoring: bool,
    /// How the books of the character and the global ones are ordered.
    pub strategy: Strategy,
    /// Passes of the scan loop at the most; 0 is without limit.
    pub max_recursion_steps: u32,
    /// What a word is.
    pub words: WordRule,
    /// Entries that are found by meaning.
    pub vectors: VectorRules,
    /// Peer behaviour that we would not choose.
    pub quirks: Quirks,
}

impl Default for WorldInfoRules {
    fn default() -> Self {
        Self {
            depth: 2,
            min_activations: 0,
            min_activations_depth_max: 0,
            budget_percent: 25.0,
            budget_cap: 0,
            include_names: true,
            recursive: true,
            case_sensitive: false,
            match_whole_words: true,
            use_group_scoring: false,
            strategy: Strategy::CharacterFirst,
            max_recursion_steps: 0,
            words: WordRule::Ascii,
            vectors: VectorRules::default(),
            quirks: Quirks::default(),
        }
    }
}

/// How entries are found by meaning. The defaults are those of SillyTavern's Vector Storage.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct VectorRules {
    /// Messages, from the newest, that entries are compared with.
    pub messages: u32,
    /// How near an entry must be at least: the cosine of two vectors.
    pub threshold: f64,
    /// Entries at the most, nearest first; 0 is off.
    pub max_entries: u32,
    /// Whether all entries are compared, not only those marked `vectorized`.
    pub all: bool,
}

impl Default for VectorRules {
    fn default() -> Self {
        Self { messages: 2, threshold: 0.25, max_entries: 5, all: false }
    }
}

impl VectorRules {
    /// Whether an entry is compared: constant and disabled ones have no use for it.
    pub fn compares(&self, entry: &Entry) -> bool {
        let activation = &entry.activation;
        let wanted = activation.vectorized || self.all;
        self.max_entries > 0 && wanted && activation.enabled && !activation.constant
    }
}

/// Behaviour of SillyTavern 1.19 that our default leaves out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is there or not by itself")]
pub struct Quirks {
    /// An entry that loses in two groups also removes the last candidate.
    pub double_removal: bool,
    /// Text that is nothing but decorators is sent as it is.
    pub send_lone_decorators: bool,
    /// Entries of a book without a uid share one result, so that only the last one's text is
    /// sent.
    pub shared_without_uid: bool,
    /// Secondary keys give no points in groups where the file does not say how they combine.
    pub unset_logic_scores_nothing: bool,
}

impl Quirks {
    /// As recorded from SillyTavern 1.19.
    pub fn sillytavern_1_19() -> Self {
        Self {
            double_removal: true,
            send_lone_decorators: true,
            shared_without_uid: true,
            unset_logic_scores_nothing: true,
        }
    }
}

/// Which books come first, in evaluation and in the budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// Sorted together.
    Evenly,
    /// The character's before the global ones.
    #[default]
    CharacterFirst,
    /// The global ones before the character's.
    GlobalFirst,
}
