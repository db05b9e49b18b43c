//! Changes of lore that are tried out and not saved.

use std::sync::Arc;

use loreloom_core::{
    book::{Book, Entry},
    ids::EntryId,
    library::LibrarySource,
    rules::Rules,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    entry_json::{self, merge},
    extract::read_value,
    problem::Problem,
};

/// Changes of lore that are tried out and not saved.
#[derive(Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub(super) struct LorePatch {
    /// Changes of entries by their ids (RFC 7396).
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(value_type = Object))]
    pub(super) entries: Map<String, Value>,
    /// Entries to leave out.
    #[serde(default)]
    pub(super) without: Vec<EntryId>,
    /// Changes of the engine's rules (RFC 7396).
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(value_type = Object))]
    pub(super) rules: Map<String, Value>,
}

impl LorePatch {
    /// Lore with the changes. `inside` is the path of the patch in the request, for errors.
    pub(super) fn over(
        &self,
        source: &LibrarySource,
        inside: Option<&str>,
    ) -> Result<LibrarySource, Problem> {
        let named = |field: &str| inside.map_or(field.to_owned(), |at| format!("{at}.{field}"));
        let mut source = source.clone();
        for (id, change) in &self.entries {
            let change = change.as_object();
            let rule = "must hold changes as objects";
            let wrong = || Problem::value(&named("entries"), rule, id.as_str());
            let entry = find(&mut source, &EntryId::from(id.as_str()))?;
            let after = entry_json::patched(entry, change.ok_or_else(wrong)?);
            *entry = after.map_err(|problem| problem.inside(&named("entries")))?;
        }
        for id in &self.without {
            find(&mut source, id)?;
            for volume in &mut source.volumes {
                if volume.book.entries.iter().any(|entry| entry.id == *id) {
                    Arc::make_mut(&mut volume.book).entries.retain(|entry| entry.id != *id);
                }
            }
        }
        if !self.rules.is_empty() {
            let mut value = serde_json::to_value(&source.rules).unwrap_or_default();
            merge(&mut value, &Value::Object(self.rules.clone()));
            let rules: Result<Rules, Problem> = read_value(&value);
            source.rules = rules.map_err(|problem| problem.inside(&named("rules")))?;
        }
        Ok(source)
    }
}

fn find<'source>(
    source: &'source mut LibrarySource,
    id: &EntryId,
) -> Result<&'source mut Entry, Problem> {
    let has = |book: &Book| book.entries.iter().any(|entry| entry.id == *id);
    let volume = source.volumes.iter_mut().find(|volume| has(&volume.book));
    let entries = volume.map(|volume| Arc::make_mut(&mut volume.book).entries.iter_mut());
    let found = entries.into_iter().flatten().find(|entry| entry.id == *id);
    found.ok_or_else(|| Problem::missing("entry", id.as_str()))
}
