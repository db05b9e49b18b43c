//! Who calls.

use axum::extract::FromRequestParts;
use http::request::Parts;
use loreloom_core::ids::{ChatId, TenantId};
use loreloom_memory::ports::{ChatRecord, StoreError};

use super::problem::Problem;
use crate::app::App;

/// Who calls, and what they may do.
///
/// Every handler takes one and passes its tenant to the services: authentication fills it in
/// here and nowhere else.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// Whose data they see.
    pub(crate) tenant: TenantId,
}

impl Caller {
    /// A chat of theirs.
    pub(super) async fn chat(&self, app: &App, chat: &ChatId) -> Result<ChatRecord, StoreError> {
        let no_chat = || StoreError::NoChat { chat: chat.clone() };
        app.store.chat(&self.tenant, chat).await?.ok_or_else(no_chat)
    }
}

impl FromRequestParts<App> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(_parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        Ok(Self { tenant: app.tenant.clone() })
    }
}
