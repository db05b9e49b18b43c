//! The notes of vaults: the note itself, the fields a vault defines for its notes, and lints.
//! `loreloom-formats` reads note files, [`dialects::vault`](crate::dialects::vault) chooses
//! notes for a turn.

mod changes;
mod fields;
mod join;
mod lint;
mod names;
mod note;
mod reachable;
mod setup;
mod title_order;

pub use self::{
    changes::{NoteChanges, changes},
    fields::{
        FieldDefinition, FieldKind, Gating, NOT_IMPLEMENTED, Operator, ROUND_TRIP, Tolerance,
        is_empty_value,
    },
    join::{Conflict, Duplicate, duplicates, join, tell_apart},
    lint::{Issue, IssueKind, Severity, inspect, inspect_use},
    names::NoteNaming,
    note::{DEEPEST, Note, NoteKind, NotePosition, NoteSeat, Refine, Relations, depth_of, hash_of},
    setup::{NoteSource, Selecting, Setup, inspect_setup},
};
pub(crate) use self::{join::resolve_links, names::NameIndex, title_order::TitleOrder};
