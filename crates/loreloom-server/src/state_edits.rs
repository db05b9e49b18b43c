//! Changes by hand of what a stored chat carries on: its notebooks, its scene, its pins.

use loreloom_core::{
    chat::{Message, Path, Role},
    ids::{ChatId, TenantId},
    state::{StateDelta, StoryState},
    units::Timestamp,
};
use loreloom_ports::{Store, StoreError, TurnRecord};

use crate::past::stored::StoredChat;

/// A chat whose state is changed.
pub struct StateEdit<'a> {
    store: &'a dyn Store,
    tenant: &'a TenantId,
    /// Where the change goes: before the last message of the user, so that it also counts if the
    /// last reply is asked for again.
    at: Path,
    /// The state there.
    state: StoryState,
    /// The state at the end of the story.
    pub newest: StoryState,
    end: Path,
}

impl<'a> StateEdit<'a> {
    /// Opens a chat.
    pub async fn open(
        store: &'a dyn Store,
        tenant: &'a TenantId,
        chat: &ChatId,
    ) -> Result<Self, StoreError> {
        let stored = StoredChat::read(store, tenant, chat).await?;
        let messages: Vec<Message> = stored.nodes.into_iter().map(|node| node.message).collect();
        let last_user = messages.iter().rposition(|message| message.role == Role::User);
        let before = messages[..last_user.unwrap_or(messages.len())].iter().cloned();
        let at = Path::of(stored.record.id.clone(), before);
        let end = Path::of(stored.record.id, messages);
        let state = store.state(tenant, &at).await?;
        let newest = store.state(tenant, &end).await?;
        Ok(Self { store, tenant, at, state, newest, end })
    }

    /// Stores what `set` makes of the state; nothing is stored if nothing changes.
    pub async fn keep(
        &self,
        set: impl Fn(&mut StoryState) + Send + Sync,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let change = |before: &StoryState| {
            let mut after = before.clone();
            set(&mut after);
            StateDelta::between(before, &after)
        };
        self.keep_at(&self.at, change(&self.state), now).await?;
        // A story that was taken back to here may have been changed further on before.
        let newest = self.store.state(self.tenant, &self.end).await?;
        self.keep_at(&self.end, change(&newest), now).await
    }

    /// Stores a change at the end of the story, of what replies add to.
    pub async fn keep_at_end(&self, after: &StoryState, now: Timestamp) -> Result<(), StoreError> {
        self.keep_at(&self.end, StateDelta::between(&self.newest, after), now).await
    }

    async fn keep_at(
        &self,
        path: &Path,
        delta: StateDelta,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        if delta.is_empty() {
            return Ok(());
        }
        let edit = TurnRecord::edit(path, delta, now);
        self.store.commit_turn(self.tenant, path, &edit, None).await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use loreloom_store::SqliteStore;

    use super::*;

    /// The story went on, was changed there, and was taken back to where that change counts
    /// from: a new change is stored before it on the path, and must hold all the same.
    #[tokio::test]
    async fn a_change_holds_where_the_story_was_changed_further_on_before() {
        let store = SqliteStore::in_memory().unwrap();
        let store: &dyn Store = &store;
        let (tenant, chat) = (TenantId::local(), ChatId::from("tale"));
        store.open_chat(&tenant, &chat, "Tale", Timestamp(1)).await.unwrap();
        let said = [(Role::User, "A bell?"), (Role::Assistant, "Cracked.")];
        let said = said.map(|(role, text)| Message::new(role, None, text));
        let path = Path::of(chat.clone(), said);
        store.commit_path(&tenant, &path, None, Timestamp(2)).await.unwrap();
        let author =
            |state: &mut StoryState, text: &str| text.clone_into(&mut state.notebooks.author);
        let mut before = StoryState::default();
        author(&mut before, "Slow.");
        let delta = StateDelta::between(&StoryState::default(), &before);
        let edit = TurnRecord::edit(&path, delta, Timestamp(3));
        store.commit_turn(&tenant, &path, &edit, None).await.unwrap();
        let editing = StateEdit::open(store, &tenant, &chat).await.unwrap();
        assert_eq!(editing.newest.notebooks.author, "Slow.");
        editing.keep(|state| author(state, "Fast."), Timestamp(4)).await.unwrap();
        for path in [&editing.at, &editing.end] {
            let state = store.state(&tenant, path).await.unwrap();
            assert_eq!(state.notebooks.author, "Fast.", "{} messages", path.items().len());
        }
        assert_eq!(store.chat(&tenant, path.chat()).await.unwrap().unwrap().tip, path.prefix());
    }
}
