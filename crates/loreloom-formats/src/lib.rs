//! Lorebook, card and chat files to and from Loreloom's model.
//!
//! Bytes come in and bytes go out; the crate touches no file system. Each format is one
//! module that maps the file's words to [`loreloom_core::book::Book`] and back. What the
//! model has no word for is kept, so that writing a file back loses nothing.
//!
//! ```
//! use loreloom_formats::{ImportOptions, import};
//!
//! let file = br#"{"entries":{"0":{"uid":0,"key":["quay"],"content":"Grey.","position":0}}}"#;
//! let imported = import(file, &ImportOptions::new("harbor"))?;
//! assert_eq!(imported.book.entries[0].id.as_str(), "harbor/0");
//! assert_eq!(imported.book.entries[0].content, "Grey.");
//! # Ok::<(), loreloom_formats::FormatError>(())
//! ```

mod agnai;
mod ahead;
mod aidungeon;
mod archive;
mod byaf;
mod card;
mod character;
pub mod chat;
mod conversion;
pub mod decorators;
mod detect;
mod dialect;
pub mod diff;
mod document;
mod error;
mod examine;
mod exif;
mod export;
#[cfg(test)]
mod growth;
mod import;
mod janitor;
mod json;
mod keys;
mod kobold;
mod limits;
pub mod lore_tests;
mod miku;
mod note;
mod novelai;
mod perchance;
mod png;
mod program;
mod proof;
mod repeated;
mod risu;
mod risum;
mod rows;
mod schema;
mod seed002;
pub mod sillytavern;
mod text;
mod tolerant;
mod tree;
pub mod vault;
mod yaml;

pub use self::{
    card::{Asset, Card, CardVersion, DepthPrompt},
    character::{
        CharacterSource, ImportedCharacter, Portrait, export_character, import_character,
        media_type, named_card, portrait,
    },
    conversion::crossed,
    detect::{Format, detect},
    dialect::dialect_of,
    error::FormatError,
    examine::{Examination, Outcome, RoundTrip, examine},
    export::{Decorators, ExportOptions, Exported, Loss, card_losses, export, own_word, own_words},
    import::{ImportOptions, Imported, OddValues, import},
    json::JsonEdits,
    limits::{Limit, Limits, is_container},
    note::{ImportNote, Severity},
    proof::{RoundTripProof, prove},
    repeated::repeated_texts,
};
