//! What a person who starts the server needs to know, beside the line that programs wait for.

use std::{
    fmt::{self, Display, Formatter},
    net::SocketAddr,
    sync::Arc,
};

use loreloom_server::{Connection, ConnectionKind};
use serde_json::{Value, json};

use crate::plural::counted;

/// What the server is, in words. No secret is part of it: addresses are those that may be shown.
pub(super) struct Welcome<'a> {
    /// Where it listens.
    pub(super) address: SocketAddr,
    /// The connections that requests may go to.
    pub(super) connections: &'a [Arc<Connection>],
    /// Where stories are kept.
    pub(super) stories: String,
    pub(super) books: usize,
    pub(super) vaults: usize,
    /// The notes of all vaults.
    pub(super) files: usize,
    /// Those that are lore.
    pub(super) notes: usize,
}

impl Welcome<'_> {
    /// The same for programs.
    pub(super) fn to_json(&self) -> Value {
        let Self { address, stories, books, vaults, files, notes, .. } = self;
        json!({
            "address": address.to_string(),
            "requests": target(self.connections),
            "stories": stories,
            "books": books,
            "vaults": vaults,
            "notes": notes,
            "files": files,
        })
    }
}

impl Display for Welcome<'_> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let Self { address, stories, .. } = self;
        writeln!(formatter, "front ends: set their API address to http://{address}/v1")?;
        writeln!(formatter, "requests:   go to {}", target(self.connections))?;
        writeln!(formatter, "stories:    {stories}")?;
        let books = counted(self.books as u64, "book", "books");
        let vaults = counted(self.vaults as u64, "vault", "vaults");
        let files = counted(self.files as u64, "note", "notes");
        let notes = match self.vaults {
            0 => String::new(),
            _ if self.notes == self.files => format!(" with {files}"),
            _ => format!(" with {files}, {} of them lore", self.notes),
        };
        writeln!(formatter, "lore:       {books}, {vaults}{notes}")
    }
}

/// Where requests go.
fn target(connections: &[Arc<Connection>]) -> String {
    let is_built_in = |one: &Connection| one.kind == ConnectionKind::Offline;
    let place = |one: &Connection| {
        let built_in = is_built_in(one).then(|| "the offline storyteller".to_owned());
        built_in.unwrap_or_else(|| one.shown.clone())
    };
    match connections {
        [only] if is_built_in(only) => {
            format!("{}; `--upstream URL` names a model's server", place(only))
        }
        [only] => place(only),
        several => {
            let named = several.iter().map(|one| format!("{} ({})", one.name, place(one)));
            named.collect::<Vec<_>>().join(", ")
        }
    }
}
