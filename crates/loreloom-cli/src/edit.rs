//! Changing what a stored chat carries on, by hand.

use std::sync::Arc;

use loreloom_core::{
    chat::{Message, Path, Role},
    ids::TenantId,
    state::{StateDelta, StoryState},
};
use loreloom_ports::{Clock as _, Store, TurnRecord};

use crate::{clock::SystemClock, store::StoreArguments, stored};

/// A chat whose notebooks or scene are changed.
pub(crate) struct Editing {
    store: Arc<dyn Store>,
    /// Where the change goes: before the last message of the user, so that it also counts if
    /// the last reply is asked for again.
    at: Path,
    /// The state there.
    state: StoryState,
    /// The state at the end of the story.
    pub(crate) newest: StoryState,
    end: Path,
}

impl Editing {
    pub(crate) async fn open(store: &StoreArguments, chat: &str) -> anyhow::Result<Self> {
        Self::of(store.open().await?, chat).await
    }

    async fn of(store: Arc<dyn Store>, chat: &str) -> anyhow::Result<Self> {
        let stored = stored::read(store.as_ref(), chat).await?;
        let messages: Vec<Message> = stored.nodes.into_iter().map(|node| node.message).collect();
        let last_user = messages.iter().rposition(|message| message.role == Role::User);
        let before = messages[..last_user.unwrap_or(messages.len())].iter().cloned();
        let at = Path::of(stored.record.id.clone(), before);
        let end = Path::of(stored.record.id, messages);
        let tenant = TenantId::local();
        let state = store.state(&tenant, &at).await?;
        let newest = store.state(&tenant, &end).await?;
        Ok(Self { store, at, state, newest, end })
    }

    /// Keeps what `set` makes of the state; nothing is kept if nothing changes.
    pub(crate) async fn keep(&self, set: impl Fn(&mut StoryState)) -> anyhow::Result<()> {
        let change = |before: &StoryState| {
            let mut after = before.clone();
            set(&mut after);
            StateDelta::between(before, &after)
        };
        self.keep_at(&self.at, change(&self.state)).await?;
        // A story that was taken back to here may have been changed further on before.
        let newest = self.store.state(&TenantId::local(), &self.end).await?;
        self.keep_at(&self.end, change(&newest)).await
    }

    /// Keeps a change at the end of the story, of what replies add to.
    pub(crate) async fn keep_at_end(&self, after: &StoryState) -> anyhow::Result<()> {
        self.keep_at(&self.end, StateDelta::between(&self.newest, after)).await
    }

    async fn keep_at(&self, path: &Path, delta: StateDelta) -> anyhow::Result<()> {
        if delta.is_empty() {
            return Ok(());
        }
        let edit = TurnRecord::edit(path, delta, SystemClock.now());
        self.store.commit_turn(&TenantId::local(), path, &edit, None).await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use loreloom_core::{ids::ChatId, units::Timestamp};
    use loreloom_store::InMemoryStore;

    use super::*;

    /// The story went on, was changed there, and was taken back to where that change counts
    /// from: a new change is kept before it on the path, and must hold all the same.
    #[tokio::test]
    async fn a_change_holds_where_the_story_was_changed_further_on_before() {
        let store: Arc<dyn Store> = Arc::new(InMemoryStore::default());
        let (tenant, chat) = (TenantId::local(), ChatId::from("tale"));
        store.open_chat(&tenant, &chat, "Tale", Timestamp(1)).await.unwrap();
        let said = [(Role::User, "A bell?"), (Role::Assistant, "Cracked.")];
        let said = said.map(|(role, text)| Message::new(role, None, text));
        let path = Path::of(chat, said);
        store.commit_path(&tenant, &path, None, Timestamp(2)).await.unwrap();
        let author =
            |state: &mut StoryState, text: &str| text.clone_into(&mut state.notebooks.author);
        let mut before = StoryState::default();
        author(&mut before, "Slow.");
        let delta = StateDelta::between(&StoryState::default(), &before);
        let edit = TurnRecord::edit(&path, delta, Timestamp(3));
        store.commit_turn(&tenant, &path, &edit, None).await.unwrap();
        let editing = Editing::of(Arc::clone(&store), "tale").await.unwrap();
        assert_eq!(editing.newest.notebooks.author, "Slow.");
        editing.keep(|state| author(state, "Fast.")).await.unwrap();
        for path in [&editing.at, &editing.end] {
            let state = store.state(&tenant, path).await.unwrap();
            assert_eq!(state.notebooks.author, "Fast.", "{} messages", path.items().len());
        }
        assert_eq!(store.chat(&tenant, path.chat()).await.unwrap().unwrap().tip, path.prefix());
    }
}
