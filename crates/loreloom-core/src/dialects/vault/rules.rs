//! A vault's settings, as data.
//!
//! The default is ours. `deeplore-2.x` is DeepLore's recorded behaviour, for the recorded
//! cases and for people who come with a DeepLore vault.

use serde::{Deserialize, Serialize};

use crate::{
    chat::Role,
    scan::WordRule,
    units::{Depth, Tokens},
    vault_notes::{NoteNaming, NotePosition},
};

/// The settings of a vault.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct VaultRules {
    /// How keys are looked for.
    pub keys: KeyRules,
    /// What links, `requires`, `excludes`, `cascade_links`, pins and choices may call a note.
    pub names: NoteNaming,
    /// Whether the text of notes brings in more notes.
    pub recursion: RecursionRules,
    /// Notes found by what they are about.
    pub fuzzy: FuzzyRules,
    /// Whether the note about the speaking character is always in.
    pub active_character: bool,
    /// Up to this many messages a chat is new.
    pub new_chat_threshold: u32,
    /// How much fits.
    pub budget: BudgetRules,
    /// Where notes without a place go.
    pub placement: PlacementRules,
    /// How often a note may come back.
    pub repetition: RepetitionRules,
    /// Which of two notes is more important.
    pub order: OrderRules,
    /// Behaviour of DeepLore that we would not choose.
    pub quirks: VaultQuirks,
}

/// How keys are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct KeyRules {
    /// Messages scanned; 0 looks for no key at all.
    pub depth: u32,
    /// Whether case counts.
    pub case_sensitive: bool,
    /// Whether only whole words count.
    pub whole_words: bool,
    /// Whether a note's title, file name and aliases are keys too. They always match whole words:
    /// a note called `Art` is not meant by every `party`.
    pub names: bool,
    /// What a word is.
    pub words: WordRule,
}

/// Whether the text of notes brings in more notes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RecursionRules {
    /// Whether it does.
    pub enabled: bool,
    /// Steps at the most.
    pub steps: u32,
    /// UTF-16 units of text looked at in each step.
    pub most_units: usize,
    /// What a note's `excludeRecursion` means.
    pub excluded: ExcludedNotes,
}

/// What a note's `excludeRecursion` means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExcludedNotes {
    /// It takes no part in recursion: neither brings notes in nor is brought in.
    #[default]
    TakeNoPart,
    /// Only its text brings no notes in.
    BringNothing,
}

/// Notes found by what they are about (BM25).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FuzzyRules {
    /// Whether they are looked for.
    pub enabled: bool,
    /// The score they need.
    pub min_score: f64,
    /// How many are looked at.
    pub most: usize,
    /// Whether refine keys hold for them too.
    pub refine: bool,
}

/// How much fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BudgetRules {
    /// Notes at the most.
    pub entries: Option<u32>,
    /// Tokens at the most.
    pub tokens: Option<Tokens>,
    /// What happens to a first note that is too large.
    pub oversized_first: OversizedFirst,
    /// Whether a note that does not fit is shortened, and then ends the list. Else it is left out
    /// whole, and smaller ones after it may still fit.
    pub shorten: bool,
    /// A note is shortened only if at least this much of it fits.
    pub shortest: Tokens,
}

/// What happens to a first note that does not fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OversizedFirst {
    /// It goes in whole, so that the result is never empty, and leaves the others their budget.
    #[default]
    Whole,
    /// It is treated like any other.
    Truncate,
}

/// Where notes without a place go, and how notes are written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PlacementRules {
    /// The place.
    pub position: NotePosition,
    /// Depth inside the chat.
    pub depth: Depth,
    /// The role.
    pub role: Role,
    /// Whether notes without a place go to named slots of the prompt instead.
    pub slots: bool,
    /// How a note is written: `{{title}}` and `{{content}}`.
    pub template: String,
}

/// How a note is written by default.
pub const TEMPLATE: &str = "<{{title}}>\n{{content}}\n</{{title}}>";

/// How often a note may come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RepetitionRules {
    /// Generations in which a note that was injected stays out.
    pub cooldown: u32,
    /// Whether notes are left out that were injected not long ago. Off in our own default:
    /// what was injected is not part of the chat, so leaving it out takes it from the model.
    pub strip: bool,
    /// How many generations back that looks.
    pub strip_lookback: u32,
    /// Whether the manifest marks stale and frequent notes.
    pub decay: bool,
    /// A note is stale after so many generations.
    pub stale_after: u32,
    /// A note is frequent after so many generations in a row.
    pub frequent_after: u32,
}

/// Which of two notes is more important.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OrderRules {
    /// Whether higher numbers are more important.
    pub reversed: bool,
    /// Whether notes of equal priority are ordered by how often their keys occur.
    pub by_occurrences: bool,
    /// Whether what the selecting model is surer of comes first, before priority counts.
    pub by_confidence: bool,
}

/// Behaviour of DeepLore that our default leaves out. Each switch is on for DeepLore.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "independent departures of a peer")]
pub struct VaultQuirks {
    /// Passes of requires and excludes at the most; `None` goes on until nothing changes.
    pub gate_passes: Option<u32>,
    /// A priority of 0 counts as 50 where requires and excludes are applied, and in the order
    /// of what they leave.
    pub zero_priority_is_fifty: bool,
    /// A chosen folder is taken as it is written: one with a slash at an end holds nothing.
    pub folders_as_written: bool,
    /// Looking a vault over, titles that differ in case are different titles.
    pub inspection_minds_case: bool,
    /// Keys of several words match anywhere, also where only whole words count.
    pub phrases_match_anywhere: bool,
    /// After matching, notes of equal priority are ordered by title: how often their keys occur
    /// and how well they fit counts no more.
    pub title_breaks_ties: bool,
    /// Notes without text are sent, as an empty tag.
    pub empty_notes_are_sent: bool,
    /// A stale note is fresh again at twice the threshold, and one that was never in is fresh.
    pub staleness_is_forgotten: bool,
    /// Messages that are not scanned still use up the depth.
    pub hidden_use_depth: bool,
    /// Case-sensitive keys compare bytes: composed and decomposed letters differ.
    pub exact_is_bytes: bool,
    /// Notes that bootstrap pass all gates in long chats too (2.0).
    pub bootstrap_always_passes: bool,
    /// Without any context, fields that must exist are not asked for (2.0).
    pub existence_needs_context: bool,
    /// Notes of one title and priority are not sorted by vault (2.0).
    pub vaults_tie: bool,
    /// A title means the last note that has it, not all of them (2.0).
    pub last_title_wins: bool,
    /// A title is gone as soon as one of the notes that share it is (2.0).
    pub titles_are_a_set: bool,
    /// Equal titles of two vaults are one note to the injection log (2.0).
    pub log_ignores_vault: bool,
    /// Looking no generation back looks at all of them (2.0).
    pub zero_lookback_is_all: bool,
    /// A template without `{{content}}` is used as it is (2.0).
    pub template_may_lack_content: bool,
    /// A shortened note is another note to the injection log (2.0).
    pub shortened_is_another: bool,
    /// The size of a shortened note is estimated from its length, so it may exceed the
    /// budget a little.
    pub estimate_shortened: bool,
}

impl Default for VaultRules {
    fn default() -> Self {
        Self {
            keys: KeyRules::default(),
            names: NoteNaming::default(),
            recursion: RecursionRules::default(),
            fuzzy: FuzzyRules::default(),
            active_character: false,
            new_chat_threshold: 3,
            budget: BudgetRules::default(),
            placement: PlacementRules::default(),
            repetition: RepetitionRules::default(),
            order: OrderRules::default(),
            quirks: VaultQuirks::default(),
        }
    }
}

impl Default for KeyRules {
    fn default() -> Self {
        Self {
            depth: 4,
            case_sensitive: false,
            whole_words: false,
            names: true,
            words: WordRule::Unicode,
        }
    }
}

impl Default for RecursionRules {
    fn default() -> Self {
        Self { enabled: false, steps: 3, most_units: 50_000, excluded: ExcludedNotes::default() }
    }
}

impl Default for FuzzyRules {
    fn default() -> Self {
        Self { enabled: false, min_score: 0.5, most: 20, refine: true }
    }
}

impl Default for BudgetRules {
    fn default() -> Self {
        Self {
            entries: Some(10),
            tokens: Some(Tokens(3072)),
            oversized_first: OversizedFirst::Whole,
            shorten: false,
            shortest: Tokens(50),
        }
    }
}

impl Default for PlacementRules {
    fn default() -> Self {
        Self {
            position: NotePosition::InChat,
            depth: Depth(4),
            role: Role::System,
            slots: false,
            template: TEMPLATE.to_owned(),
        }
    }
}

impl Default for RepetitionRules {
    fn default() -> Self {
        Self {
            cooldown: 0,
            strip: false,
            strip_lookback: 2,
            decay: false,
            stale_after: 5,
            frequent_after: 2,
        }
    }
}

impl VaultRules {
    /// Whether a chat of so many messages is new.
    pub fn is_new_chat(&self, length: usize) -> bool {
        length <= self.new_chat_threshold as usize
    }

    /// As recorded from DeepLore 2.5.
    pub fn deeplore_2() -> Self {
        let mut rules = Self::default();
        rules.keys.words = WordRule::Ascii;
        rules.keys.names = false;
        rules.names = NoteNaming::Title;
        rules.recursion.excluded = ExcludedNotes::BringNothing;
        rules.fuzzy.refine = false;
        rules.budget.oversized_first = OversizedFirst::Truncate;
        rules.budget.shorten = true;
        rules.repetition.strip = true;
        rules.quirks = VaultQuirks {
            gate_passes: Some(10),
            zero_priority_is_fifty: true,
            folders_as_written: true,
            inspection_minds_case: true,
            phrases_match_anywhere: true,
            title_breaks_ties: true,
            empty_notes_are_sent: true,
            staleness_is_forgotten: true,
            hidden_use_depth: true,
            exact_is_bytes: true,
            estimate_shortened: true,
            ..VaultQuirks::default()
        };
        rules
    }

    /// As recorded from DeepLore 2.0, which 2.5 repaired in parts.
    pub fn deeplore_2_0() -> Self {
        let mut rules = Self::deeplore_2();
        rules.quirks = VaultQuirks {
            bootstrap_always_passes: true,
            existence_needs_context: true,
            vaults_tie: true,
            last_title_wins: true,
            titles_are_a_set: true,
            log_ignores_vault: true,
            zero_lookback_is_all: true,
            template_may_lack_content: true,
            shortened_is_another: true,
            ..rules.quirks
        };
        rules
    }
}
