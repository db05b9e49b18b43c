//! Vaults: lore kept as a folder of Markdown notes, in DeepLore's manner.
//!
//! A [`Vault`] is compiled once and shared; [`weave`] decides one turn: match, gate, fit.
//! Each stage is a function of its own, so that a caller with a selecting model can put it
//! between matching and gating. Reading note files is the work of `loreloom-formats`.
//!
//! `deeplore-2.x` ([`VaultRules::deeplore_2`]) is the recorded behaviour; our own default
//! differs only where a peer's defect would lose lore, leak it or make it flicker.

mod ai_reply;
mod ask;
mod clusters;
mod collation;
mod context;
mod evidence;
mod exempt;
mod fields;
mod fit;
mod gate;
mod health;
mod index;
mod lines;
mod manifest;
mod matching;
mod note;
mod notepad;
mod numbers;
mod picks;
mod pins;
mod pipeline;
mod reach;
mod repetition;
mod rules;
mod search;
mod select;
mod settings;
mod setup;
mod state;
mod sync;
#[cfg(test)]
mod tests;
pub mod truncate;
mod vaults;
mod windows;

pub use self::{
    ai_reply::{
        Choice, Confidence, closest_title, normalise, normalise_strictly, parse_reply,
        parse_truncated, similar_title,
    },
    ask::{Occasion, Question, answer_schema, question},
    clusters::{Cluster, cluster, cluster_manifest},
    collation::{TitleOrder, compare_titles},
    context::gate_by_context,
    exempt::Exempt,
    fields::{
        BadField, FieldDefinition, FieldKind, Gating, NOT_IMPLEMENTED, Operator, ROUND_TRIP,
        RawField, Tolerance, is_empty_value, text_of,
    },
    fit::{Fitted, FittedNote, Group, Seat, fit},
    gate::{Gated, gate_by_relations},
    health::{Issue, IssueKind, Severity, inspect, inspect_use},
    index::Vault,
    lines::{Line, Lines},
    manifest::{Manifest, ManifestStyle, ManifestWords, SummaryMode, manifest},
    matching::{FoundKeys, FuzzyUse, Matches, count_keys, find, is_new},
    note::{DEEPEST, Note, NoteKind, NotePosition, NoteSeat, Refine, Relations, depth_of, hash_of},
    notepad::{Extracted, extract_notes},
    numbers::{read_number, write_number},
    picks::{Pick, Stopped},
    pins::{Mark, apply_marks},
    pipeline::{Scene, VaultReport, decide, weave},
    reach::judge_untouched,
    repetition::{filter_by_folder, hold_back, strip_repeated},
    rules::{
        BudgetRules, ExcludedNotes, FuzzyRules, KeyRules, OrderRules, OversizedFirst,
        PlacementRules, RecursionRules, RepetitionRules, TEMPLATE, VaultQuirks, VaultRules,
    },
    search::{Found, Search},
    select::{
        OnFailure, OnNothing, SelectFrom, SelectionRules, Threshold, candidates, fallback, select,
    },
    settings::{Constraint, clamp, clamp_known, position_of, role_of, rules_of},
    setup::{NoteSource, Selecting, Setup, inspect_setup},
    state::{Logged, Record, VaultDelta, VaultState},
    sync::{Changes, changes},
    vaults::{Conflict, Duplicate, duplicates, join, resolve_links},
    windows::{Stage, VaultCache},
};
