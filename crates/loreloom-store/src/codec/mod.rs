//! How a turn becomes small rows, and a turn again.
//!
//! A prompt repeats the story and the lore on every turn. Stored as it is, a chat of a
//! thousand turns would take hundreds of megabytes. So a prompt is kept as runs of the
//! chat's messages ([`prompt`]) and as pieces of text that are stored once for each chat
//! ([`record`]); what is left is packed ([`pack`]). Reading gives back the same bytes.
//!
//! All of it is pure: a database only looks up which messages and texts it has already
//! ([`draft`]), so that both databases keep the same form.

mod book;
mod draft;
mod in_use;
mod kept;
mod library;
mod message;
mod pack;
mod prompt;
mod record;
mod remembered;
pub(crate) mod trim;

pub(crate) use self::{
    book::{Binding, BookPiece, piece_hash, take_apart},
    draft::{Draft, Finished, not_json},
    in_use::PiecesInUse,
    kept::{Committed, Kept, KeptPath, RecentPaths},
    library::{library_from, library_parts},
    message::{NodeColumns, Told, generation_from, generation_number, text_hash, told_hash},
    pack::{pack, unpack},
    record::{Body, ChosenDeltas, Restored, Wanted, delta_from, delta_text, report_from, state_of},
    remembered::{
        author_from, author_name, event_body, event_from, job_body, job_from, owners_body,
        owners_from, vector_bytes, vector_from,
    },
};
