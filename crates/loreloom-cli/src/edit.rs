//! Changing what a stored chat carries on, by hand.

use std::sync::Arc;

use loreloom_core::{
    ids::{ChatId, TenantId},
    state::StoryState,
};
use loreloom_ports::{Clock as _, Store};
use loreloom_server::StateEdit;

use crate::{clock::SystemClock, store::StoreArguments};

/// A chat whose notebooks or scene are changed.
pub(crate) struct Editing {
    store: Arc<dyn Store>,
    chat: ChatId,
    /// The state at the end of the story.
    pub(crate) newest: StoryState,
}

impl Editing {
    pub(crate) async fn open(store: &StoreArguments, chat: &str) -> anyhow::Result<Self> {
        let (store, chat) = (store.open().await?, ChatId::from(chat));
        let newest = StateEdit::open(store.as_ref(), &TenantId::local(), &chat).await?.newest;
        Ok(Self { store, chat, newest })
    }

    /// Keeps what `set` makes of the state; nothing is kept if nothing changes.
    pub(crate) async fn keep(
        &self,
        set: impl Fn(&mut StoryState) + Send + Sync,
    ) -> anyhow::Result<()> {
        let tenant = TenantId::local();
        let edit = StateEdit::open(self.store.as_ref(), &tenant, &self.chat).await?;
        Ok(edit.keep(set, SystemClock.now()).await?)
    }

    /// Keeps a change at the end of the story, of what replies add to.
    pub(crate) async fn keep_at_end(&self, after: &StoryState) -> anyhow::Result<()> {
        let tenant = TenantId::local();
        let edit = StateEdit::open(self.store.as_ref(), &tenant, &self.chat).await?;
        Ok(edit.keep_at_end(after, SystemClock.now()).await?)
    }
}
