//! Who plays: characters, personas and groups, as documents of a tenant.
//!
//! A character is a card with its book, its picture and the file it came from. The book is one of
//! the stored books; picture and file are kept by content. All of it changes in one revision, so
//! one undo takes it back.

mod characters;
mod groups;
mod kinds;
mod personas;

pub(crate) use self::kinds::id_beside;
pub use self::{
    characters::{
        CastError, CharacterFile, KeptCharacter, KeptPicture, NewCharacter, StoredCharacters,
    },
    groups::{GroupMember, KeptGroup, TurnOrder},
    kinds::{CastDocument, CastDocuments, Kept},
    personas::{KeptPersona, read_personas},
};
