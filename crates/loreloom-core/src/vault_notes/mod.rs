//! The notes of vaults: what a note is, the fields a vault defines for its notes, and what is
//! odd about either. Reading note files is the work of `loreloom-formats`, choosing notes for
//! a turn that of [`dialects::vault`](crate::dialects::vault).

mod changes;
mod fields;
mod join;
mod lint;
mod note;
mod setup;
mod title_order;

pub use self::{
    changes::{NoteChanges, changes},
    fields::{
        FieldDefinition, FieldKind, Gating, NOT_IMPLEMENTED, Operator, ROUND_TRIP, Tolerance,
        is_empty_value,
    },
    join::{Conflict, Duplicate, duplicates, join},
    lint::{Issue, IssueKind, Severity, inspect, inspect_use},
    note::{DEEPEST, Note, NoteKind, NotePosition, NoteSeat, Refine, Relations, depth_of, hash_of},
    setup::{NoteSource, Selecting, Setup, inspect_setup},
};
pub(crate) use self::{join::resolve_links, title_order::TitleOrder};
