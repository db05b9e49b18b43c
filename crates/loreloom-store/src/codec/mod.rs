//! How a turn becomes small rows, and how rows become a turn again.
//!
//! A prompt repeats the story and the lore on every turn. Stored in full, a chat of a thousand
//! turns would take hundreds of megabytes. So a prompt is stored as ranges of the chat's messages
//! and as references to texts that are stored once for each chat ([`prompt`]). The rest is
//! compressed ([`pack`]). Reading gives back the same bytes.
//!
//! JSON is read from bytes alone: the compiler makes a reader of every type for each source.
//!
//! All of this is pure. A database only looks up which messages and texts it already has
//! ([`draft`]), so both databases store the same form.

mod book;
mod draft;
mod library;
mod memory;
mod message;
mod pack;
mod pieces_in_use;
mod prompt;
mod prompt_draft;
mod text_list;
pub(crate) mod trim;
mod turn_body;

pub(crate) use self::{
    book::{BookManifest, BookPiece, file_content, file_piece, piece_hash, split_book},
    draft::{DraftedRows, TurnDraft},
    library::{StoredLibrary, split_library},
    memory::{
        author_from, author_name, event_body, event_from, job_body, job_from, owners_body,
        owners_from, vector_bytes, vector_from,
    },
    message::{
        MessageText, NodeColumns, generation_from, generation_number, message_hash, role_number,
    },
    pack::{pack, unpack, unpack_text},
    pieces_in_use::PiecesInUse,
    text_list::text_hash,
    turn_body::{
        ChosenDeltas, ReferencedTexts, RestoredTurn, TurnBody, delta_from, delta_text, report_from,
        state_of,
    },
};
