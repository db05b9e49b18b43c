//! Documents of one kind: the name of each begins with its kind, the rest is its id.

use loreloom_core::ids::TenantId;
use loreloom_ports::{Change, DocumentStore, Item, StoreError};
use serde::{Serialize, de::DeserializeOwned};

/// A kind of document.
pub trait CastDocument: Serialize + DeserializeOwned + Send {
    /// Names of these documents begin with this.
    const PREFIX: &'static str;
    /// What one is called in messages.
    const WHAT: &'static str;
}

/// A document with its id and revision.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept<T> {
    /// Its id.
    pub id: String,
    /// The revision that last changed it.
    pub revision: u64,
    /// The document.
    pub value: T,
}

/// The documents of a tenant.
#[derive(Clone, Copy)]
pub struct CastDocuments<'a> {
    /// Where they are kept.
    pub documents: &'a dyn DocumentStore,
    /// The tenant.
    pub tenant: &'a TenantId,
}

impl CastDocuments<'_> {
    /// All documents of a kind, by id.
    pub async fn all<T: CastDocument>(&self) -> Result<Vec<Kept<T>>, StoreError> {
        let items = self.documents.items(self.tenant, T::PREFIX).await?;
        items.into_iter().map(read).collect()
    }

    /// One document.
    pub async fn find<T: CastDocument>(&self, id: &str) -> Result<Option<Kept<T>>, StoreError> {
        let key = format!("{}{id}", T::PREFIX);
        let items = self.documents.items(self.tenant, &key).await?;
        items.into_iter().find(|item| item.key == key).map(read).transpose()
    }

    /// An id that no document of this kind has, made of a name.
    pub async fn free_id<T: CastDocument>(&self, name: &str) -> Result<String, StoreError> {
        let items = self.documents.items(self.tenant, T::PREFIX).await?;
        let ids = items.iter().map(|item| &item.key[T::PREFIX.len()..]);
        Ok(id_beside::<T>(name, &ids.collect::<Vec<_>>()))
    }
}

/// A new id for a document of this kind, made of a name and different from these.
pub(crate) fn id_beside<T: CastDocument>(name: &str, ids: &[&str]) -> String {
    free(&slug(name, T::WHAT), |id| ids.contains(&id))
}

/// A change that puts a document in, or takes it out.
pub(super) fn change<T: CastDocument>(id: &str, value: Option<&T>) -> Result<Change, StoreError> {
    let value = value.map(serde_json::to_value).transpose();
    let value = value.map_err(|error| StoreError::Contradiction {
        rule: "a document has a JSON form",
        found: error.to_string(),
    })?;
    Ok(Change { key: format!("{}{id}", T::PREFIX), value })
}

impl<T: CastDocument> Kept<T> {
    /// The change that stores a document.
    pub fn put(id: &str, value: &T) -> Result<Change, StoreError> {
        change(id, Some(value))
    }

    /// The change that removes it.
    pub fn removal(id: &str) -> Change {
        Change { key: format!("{}{id}", T::PREFIX), value: None }
    }
}

fn read<T: CastDocument>(item: Item) -> Result<Kept<T>, StoreError> {
    let Item { key, value, revision } = item;
    let value = serde_json::from_value(value).map_err(|error| StoreError::Damaged {
        what: format!("`{key}`"),
        reason: error.to_string(),
    });
    Ok(Kept { id: key[T::PREFIX.len()..].to_owned(), revision, value: value? })
}

/// The first of `stem`, `stem-2`, `stem-3` … that is not taken.
pub(super) fn free(stem: &str, taken: impl Fn(&str) -> bool) -> String {
    let numbered = (2_u32..).map(|number| format!("{stem}-{number}"));
    let mut ids = std::iter::once(stem.to_owned()).chain(numbered);
    ids.find(|id| !taken(id)).unwrap_or_else(|| stem.to_owned())
}

/// A name as an id: lower-case letters, digits and `-`.
fn slug(name: &str, fallback: &str) -> String {
    let spelled = name.chars().map(|one| if one.is_ascii_alphanumeric() { one } else { ' ' });
    let spelled: String = spelled.collect();
    let words: Vec<&str> = spelled.split_whitespace().collect();
    let id = words.join("-").to_ascii_lowercase();
    if id.is_empty() { fallback.to_owned() } else { id.chars().take(80).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_made_of_a_name_and_is_free() {
        for (name, id) in
            [("Orla  of the Ferry", "orla-of-the-ferry"), ("北京", "character"), ("a/b..", "a-b")]
        {
            assert_eq!(slug(name, "character"), id);
        }
        assert_eq!(free("orla", |id| ["orla", "orla-2"].contains(&id)), "orla-3");
    }
}
