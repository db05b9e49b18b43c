//! The neutral model of lore: what every format says, in one set of words.
//!
//! A [`Book`] keeps everything its file said, also what the engine has no use for
//! (`extensions`, [`Origin`]), so that writing it back loses nothing.

mod entry;
mod key;
mod lint;
mod origin;
mod placement;
mod raw;
mod sparse;

use serde::{Deserialize, Serialize};

pub(crate) use self::key::KeyOrigin;
pub use self::{
    entry::{
        Activation, BudgetRules, Entry, EntryRest, Filters, Force, Gates, Group, Inject, InjectOp,
        MatchOnce, MatchSources, OriginalId, Recursion, ScanRange, Secondary, SelectiveLogic,
        Timed, Trim, TrimSide, TrimUnit,
    },
    key::{Key, RegexKey, is_js_space},
    lint::{BookFinding, BookFindingKind, lint},
    origin::{Container, Indent, Newline, Origin, TextStyle},
    placement::{DepthFrom, Placement, Position},
    raw::RawEntry,
    sparse::{SharedDefault, Sparse},
};
use crate::ids::BookId;

/// Keys we do not model, in the order of the file.
pub type Extensions = serde_json::Map<String, serde_json::Value>;

/// A lorebook.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Book {
    /// Given by us, never read from a file.
    pub id: BookId,
    /// Shown to people, never sent to the model.
    pub name: String,
    /// Shown to people, never sent to the model.
    pub description: String,
    /// Messages scanned; `None` leaves it to the engine, 0 scans no chat.
    pub scan_depth: Option<u32>,
    /// Characters of the newest chat text that are scanned (Kobold); `None` counts none. Left
    /// out where there are none, so that books say what they said before there was such a rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scan_characters: Option<u32>,
    /// The book's own cap in tokens.
    pub token_budget: Option<u32>,
    /// Whether activated entries may activate others; `None` leaves it to the engine.
    pub recursive: Option<bool>,
    /// In file order, which is the last tie-break.
    pub entries: Vec<Entry>,
    /// Folders, categories and the like.
    pub folders: Vec<Folder>,
    /// Where the book came from, so that it can be written back as it was.
    pub origin: Option<Origin>,
    /// Every key of the file that is not modelled.
    pub extensions: Extensions,
}

impl Book {
    /// An empty book.
    pub fn new(id: impl Into<BookId>, name: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
            description: String::new(),
            scan_depth: None,
            scan_characters: None,
            token_budget: None,
            recursive: None,
            entries: Vec::new(),
            folders: Vec::new(),
            origin: None,
            extensions: Extensions::new(),
        }
    }

    /// Whether an entry is in a folder that is switched off.
    pub fn disables(&self, entry: &Entry) -> bool {
        let Some(folder) = &entry.rest.folder else { return false };
        self.folders.iter().any(|one| one.id == *folder && !one.enabled)
    }

    /// Whether it comes from a file of SillyTavern, so that raw entries are in its format.
    pub(crate) fn is_sillytavern(&self) -> bool {
        self.origin.as_ref().is_some_and(|origin| origin.format == "sillytavern")
    }
}

/// A folder of entries: Risu folder, `NovelAI` category, Kobold folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Folder {
    /// The folder's id in its file.
    pub id: String,
    /// Shown name.
    pub name: String,
    /// A disabled folder disables its entries.
    pub enabled: bool,
    /// Every key of the file that is not modelled.
    pub extensions: Extensions,
}
