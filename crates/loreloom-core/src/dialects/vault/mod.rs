//! Vaults: lore as a folder of Markdown notes, in DeepLore's manner.
//!
//! A [`Vault`] is compiled once and shared. A turn has two steps: [`find`] matches the notes, and
//! [`VaultTurn::decide`] gates and fits what was selected of them. A caller with a selecting
//! model asks it in between.
//!
//! `deeplore-2.x` ([`VaultRules::deeplore_2`]) is the recorded behaviour. Our own default differs
//! only where a peer's defect would lose lore, leak it or make it flicker.

mod compile;
mod evidence;
mod fit;
mod folding;
mod gates;
mod groups;
mod lines;
mod marks;
mod matching;
#[cfg(test)]
mod oracle;
mod order;
mod picks;
mod pipeline;
mod reach;
mod rules;
mod search;
mod select;
mod state;
#[cfg(test)]
mod tests;
mod tools;
mod windows;

pub(crate) use self::fit::escape;
pub use self::{
    compile::Vault,
    fit::{Fitted, FittedNote, Seat, fit},
    gates::VaultGates,
    lines::{Lines, SpeakerNames, VaultLine},
    marks::{NoteMark, apply_marks},
    matching::{Matches, find},
    picks::{Divided, Pick, Stopped},
    pipeline::{VaultReport, VaultTurn},
    reach::judge_untouched,
    rules::{
        BudgetRules, ExcludedNotes, FuzzyRules, KeyRules, OrderRules, OversizedFirst,
        PlacementRules, RecursionRules, RepetitionRules, TEMPLATE, VaultQuirks, VaultRules,
    },
    search::{NoteHit, Search},
    select::{
        OnFailure, OnNothing, SelectFrom, SelectionRules, add_keys, candidates, fallback, select,
        turned_down,
    },
    state::{Logged, Record, VaultDelta, VaultState},
    tools::{NoteRendering, VaultTools},
    windows::{VaultCache, VaultStage},
};
// A vault's notes and their selection are modules of their own; callers use both with it.
pub use crate::{
    note_selection::{
        Cluster, Confidence, Manifest, ManifestStyle, ManifestWords, NoteChoice, Occasion,
        SummaryMode, answer_schema, closest_title, cluster, cluster_manifest, manifest, normalise,
        normalise_strictly, parse_reply, parse_truncated, question, similar_title,
    },
    vault_notes::{
        Conflict, DEEPEST, FieldDefinition, FieldKind, Gating, Issue, IssueKind, NOT_IMPLEMENTED,
        Note, NoteKind, NoteNaming, NotePosition, NoteSeat, NoteSource, Operator, ROUND_TRIP,
        Refine, Relations, Selecting, Setup, Severity, changes, depth_of, duplicates, hash_of,
        inspect, inspect_setup, inspect_use, join, tell_apart,
    },
};
