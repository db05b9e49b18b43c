//! Archived chats: a document is refused, or it is exported again as it was imported.

use loreloom_core::ids::TenantId;
use loreloom_ports::history::archive::{Archive, export, import};
use loreloom_store::SqliteStore;

/// Any bytes as an archive, into a store and out of it twice.
pub fn chat_archive(bytes: &[u8]) -> bool {
    let Ok(archive) = serde_json::from_slice::<Archive>(bytes) else { return true };
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    assert!(runtime.is_ok(), "a runtime without drivers can always be built");
    let Ok(runtime) = runtime else { return false };
    let Some(first) = runtime.block_on(stored(&archive)) else { return true };
    let again = runtime.block_on(self::stored(&first));
    assert!(again.is_some(), "what a store wrote it takes again");
    let Some(mut again) = again else { return false };
    // The version counts the writes of the store, which a refused chat may have had more of.
    again.chat.version = first.chat.version;
    assert_eq!(again, first, "a chat comes out of a store as it went in");
    true
}

/// What a new store gives back; `None` if it refuses the chat, which must leave nothing.
async fn stored(archive: &Archive) -> Option<Archive> {
    let store = SqliteStore::in_memory();
    assert!(store.is_ok(), "a database in memory can always be opened");
    let (store, tenant) = (store.ok()?, TenantId::local());
    if import(&store, &tenant, archive).await.is_err() {
        return None;
    }
    let exported = export(&store, &tenant, &archive.chat.id).await;
    assert!(exported.is_ok(), "an imported chat can be exported: {exported:?}");
    exported.ok()
}
