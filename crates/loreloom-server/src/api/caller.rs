//! Who calls.

use axum::extract::FromRequestParts;
use http::request::Parts;
use loreloom_core::ids::{ChatId, TenantId};
use loreloom_ports::{ChatRecord, ChatSummary, StoreError};

use super::problem::{Code, Problem};
use crate::{
    app::App,
    chat_metadata::AllChatMetadata,
    gate::Pass,
    keys::{KeyRecord, Scope},
};

/// Who calls, and what they may do.
///
/// Every handler takes one and passes its tenant to the services: authentication fills it in
/// here and nowhere else.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// Whose data they see.
    pub(crate) tenant: TenantId,
    /// What they were let in with.
    pass: Pass,
}

impl Caller {
    /// Whether they may do what only administrators may.
    pub(super) fn must_administer(&self) -> Result<(), Problem> {
        if self.pass.allows(Scope::Admin) {
            return Ok(());
        }
        let detail = format!("this key does not have the scope `{}`", Scope::Admin);
        Err(Problem::new(Code::Forbidden, detail).with(Scope::Admin.as_str()))
    }

    /// Whether they are on this machine, where no key is needed.
    pub(super) fn is_at_home(&self) -> bool {
        matches!(self.pass, Pass::Open)
    }

    /// The key they came with.
    pub(super) fn key(&self) -> Option<&KeyRecord> {
        match &self.pass {
            Pass::Open => None,
            Pass::Key(record) => Some(record),
        }
    }

    /// Whether they have a scope themselves.
    pub(super) fn has(&self, scope: Scope) -> bool {
        self.pass.allows(scope)
    }

    /// Whether a key is theirs to see and to revoke: with a key, those of its tenant.
    pub(super) fn sees(&self, record: &KeyRecord) -> bool {
        self.key().is_none_or(|key| key.tenant == record.tenant)
    }

    /// A chat of theirs.
    pub(super) async fn chat(&self, app: &App, chat: &ChatId) -> Result<ChatRecord, StoreError> {
        let no_chat = || StoreError::NoChat { chat: chat.clone() };
        app.store.chat(&self.tenant, chat).await?.ok_or_else(no_chat)
    }

    /// Their chats by the names they gave them: those that are there, or those that they deleted.
    pub(super) async fn chats(
        &self,
        app: &App,
        deleted: bool,
    ) -> Result<Vec<ChatSummary>, StoreError> {
        let mut chats = app.store.chats(&self.tenant).await?;
        let all = AllChatMetadata::read(app.store.as_ref(), &self.tenant).await?;
        chats.retain_mut(|one| all.apply(&mut one.chat) == deleted);
        Ok(chats)
    }
}

impl FromRequestParts<App> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        // The gate lets nobody in without one.
        let pass = parts.extensions.get::<Pass>().cloned();
        let none = || Problem::new(Code::Failed, "the call did not come through the gate");
        Ok(Self { tenant: app.tenant.clone(), pass: pass.ok_or_else(none)? })
    }
}

/// A caller who may change how the server works: its settings, connections, keys and vaults.
#[derive(Clone, Debug)]
pub(crate) struct Admin(pub(crate) Caller);

impl FromRequestParts<App> for Admin {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let caller = Caller::from_request_parts(parts, app).await?;
        caller.must_administer()?;
        Ok(Self(caller))
    }
}
