//! Characters, personas, groups and presets of a caller: how they are found, listed, stored and
//! removed.

use loreloom_formats::media_type;
use loreloom_ports::{Change, StoreError};
use serde::Serialize;

use super::{
    caller::Caller,
    characters::stored,
    editing::{Editing, Wrote},
    extract::Json,
    problem::{Code, Problem},
    tags::{IfMatch, Tagged},
};
use crate::{
    app::App,
    cast::{CastDocument, CastDocuments, Kept, KeptPicture},
};

/// Refuses an id that does not fit into an address.
pub(super) fn checked(id: &str) -> Result<(), Problem> {
    let is_fine = |one: char| one.is_ascii_alphanumeric() || "_.-".contains(one);
    if id.is_empty() || id.len() > 120 || !id.chars().all(is_fine) {
        let rule = "must be 1 to 120 letters, digits, `-`, `_` and `.`";
        return Err(Problem::value("id", rule, id));
    }
    Ok(())
}

/// Takes up a write of documents and says how it is taken back.
pub(super) async fn wrote<T>(
    app: &App,
    caller: &Caller,
    (before, revision): (u64, u64),
    item: T,
) -> Result<Wrote<T>, Problem> {
    let editing = Editing { app, tenant: &caller.tenant };
    Ok(editing.done(before, revision, ()).await?.with(item))
}

/// Something that was removed.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub(super) struct Removed {
    /// Its id.
    pub(super) id: String,
}

/// Keeps a picture, if it is one that browsers show.
pub(super) async fn kept_picture(
    app: &App,
    caller: &Caller,
    bytes: &[u8],
) -> Result<KeptPicture, Problem> {
    let kind = media_type(bytes).ok_or_else(|| {
        Problem::new(Code::WrongValue, "a picture must be PNG, JPEG, WebP or GIF").at("body")
    })?;
    Ok(stored(app, caller).keep_picture(bytes, kind).await?)
}

/// A document as the API shows it.
pub(super) trait ShownDocument: CastDocument {
    type View;

    fn name(&self) -> &str;

    fn view(kept: Kept<Self>) -> Self::View
    where
        Self: Sized;
}

/// The documents of a caller.
#[derive(Clone, Copy)]
pub(super) struct CallerCast<'a> {
    app: &'a App,
    caller: &'a Caller,
}

impl<'a> CallerCast<'a> {
    pub(super) fn of(app: &'a App, caller: &'a Caller) -> Self {
        Self { app, caller }
    }

    pub(super) fn documents(self) -> CastDocuments<'a> {
        CastDocuments { documents: self.app.store.as_ref(), tenant: &self.caller.tenant }
    }

    pub(super) async fn find<T: CastDocument>(self, id: &str) -> Result<Kept<T>, Problem> {
        let found = self.documents().find(id).await?;
        found.ok_or_else(|| Problem::missing(T::WHAT, id))
    }

    /// The id of a new document: the one asked for, or one made of its name.
    pub(super) async fn new_id<T: CastDocument>(
        self,
        (asked, name): (Option<String>, &str),
    ) -> Result<String, Problem> {
        let documents = self.documents();
        let Some(id) = asked else { return Ok(documents.free_id::<T>(name).await?) };
        checked(&id)?;
        if documents.find::<T>(&id).await?.is_some() {
            let detail = format!("there is a {} `{id}` already", T::WHAT);
            return Err(Problem::new(Code::Conflict, detail).at("id").with(id));
        }
        Ok(id)
    }

    /// All documents of a kind, by name.
    pub(super) async fn by_name<T: ShownDocument>(self) -> Result<Vec<T::View>, Problem> {
        let mut all: Vec<Kept<T>> = self.documents().all().await?;
        all.sort_by_key(|one| (one.value.name().to_lowercase(), one.id.clone()));
        Ok(all.into_iter().map(T::view).collect())
    }

    /// Begins a change: what is read after this and stored with it, nobody else changed meanwhile.
    pub(super) async fn edit(self) -> Result<CastEdit<'a>, Problem> {
        let before = self.app.store.revision(&self.caller.tenant).await?;
        Ok(CastEdit { cast: self, before })
    }
}

/// A change of a caller's documents. It is refused if anybody changed any since it began.
#[derive(Clone, Copy)]
pub(super) struct CastEdit<'a> {
    pub(super) cast: CallerCast<'a>,
    before: u64,
}

impl CastEdit<'_> {
    /// The document, if it is at the version that the caller has seen.
    pub(super) async fn find_seen<T: CastDocument>(
        self,
        id: &str,
        seen: &IfMatch,
    ) -> Result<Kept<T>, Problem> {
        let kept = self.cast.find(id).await?;
        seen.check(&kept.revision.to_string())?;
        Ok(kept)
    }

    /// Stores a document with what else changes with it.
    pub(super) async fn put<T: ShownDocument>(
        self,
        id: &str,
        value: &T,
        others: Vec<Change>,
    ) -> Result<Tagged<Wrote<T::View>>, Problem> {
        let CallerCast { app, caller } = self.cast;
        let mut changes = vec![Kept::put(id, value)?];
        changes.extend(others);
        let revisions = self.change(&changes).await?;
        let kept = self.cast.find::<T>(id).await?;
        let tag = kept.revision.to_string();
        Ok(Tagged { tag, body: wrote(app, caller, revisions, T::view(kept)).await? })
    }

    /// Removes a document, if it is at the version that the caller has seen.
    pub(super) async fn remove<T: CastDocument>(
        self,
        id: String,
        seen: &IfMatch,
    ) -> Result<Json<Wrote<Removed>>, Problem> {
        let CallerCast { app, caller } = self.cast;
        self.find_seen::<T>(&id, seen).await?;
        let revisions = self.change(&[Kept::<T>::removal(&id)]).await?;
        Ok(Json(wrote(app, caller, revisions, Removed { id }).await?))
    }

    /// Stores changes; the revisions before and after.
    pub(super) async fn change(self, changes: &[Change]) -> Result<(u64, u64), StoreError> {
        let CallerCast { app, caller } = self.cast;
        let (before, now) = (self.before, app.clock.now());
        let revision = app.store.change(&caller.tenant, changes, Some(before), now).await?;
        Ok((before, revision))
    }
}
