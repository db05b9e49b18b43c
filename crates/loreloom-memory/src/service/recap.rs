//! Tells a returning reader what happened before.

use std::sync::Arc;

use loreloom_core::ids::{ChatId, TenantId};
use loreloom_ports::{ChatModel, Clock, MemoryError, StoryStore};

use super::{Options, PathViews, Ports, views::ChatPath};
use crate::{
    cast::StoryCast,
    drive::{DriveError, drive},
    pass::{Answers, Script},
    recap,
};

/// Why there is no recap.
#[derive(Debug, thiserror::Error)]
pub enum RecapError {
    /// There is no such chat.
    #[error("there is no chat `{chat}`")]
    NoChat {
        /// The requested chat.
        chat: ChatId,
    },
    /// The model failed.
    #[error("{error}")]
    Model {
        /// How it failed.
        error: DriveError,
    },
    /// The store failed.
    #[error(transparent)]
    Memory(#[from] MemoryError),
}

/// Writes recaps.
pub struct Recaps {
    story: Arc<dyn StoryStore>,
    clock: Arc<dyn Clock>,
    views: Arc<PathViews>,
    options: Arc<Options>,
}

impl Recaps {
    pub(super) fn new(ports: &Ports, views: &Arc<PathViews>, options: &Arc<Options>) -> Self {
        Self {
            story: Arc::clone(&ports.story),
            clock: Arc::clone(&ports.clock),
            views: Arc::clone(views),
            options: Arc::clone(options),
        }
    }

    /// Hours since a chat last changed, if a recap is due.
    pub async fn away(&self, tenant: &TenantId, chat: &ChatId) -> Result<Option<u64>, MemoryError> {
        let settings = &self.options.settings;
        let Some(record) = self.story.chat(tenant, chat).await? else { return Ok(None) };
        let (now, last) = (self.clock.now().0, Some(record.updated.0));
        let hours = recap::away_hours(now, last, None, settings.recap_threshold_hours);
        Ok(Some(hours).filter(|hours| settings.recap_enabled && *hours > 0))
    }

    /// What happened before, from the newest messages and the summary; `None` if the model
    /// answers nothing. Nothing is stored.
    pub async fn recap(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        messages: usize,
        model: &dyn ChatModel,
    ) -> Result<Option<String>, RecapError> {
        let current = self.views.current_path(tenant, chat).await?;
        let (_, path) = current.ok_or_else(|| RecapError::NoChat { chat: chat.clone() })?;
        let (memory, _) = self.views.chat_view(ChatPath { tenant, chat, path: &path }).await?;
        let newest = &path[path.len().saturating_sub(messages)..];
        let summary = memory.summary.as_deref();
        let rules = self.options.rules.text;
        let people = StoryCast::of(&path, "").sentence();
        let pass = |script: &mut Script<'_>| {
            recap::run(newest, summary, rules, script).map_err(|need| need.naming(&people))
        };
        let text = drive(pass, &mut Answers::default(), model, None).await;
        text.map_err(|error| RecapError::Model { error })
    }
}
