//! Export and import of memories.

use std::sync::Arc;

use loreloom_core::ids::{ChatId, TenantId};
use loreloom_memory::service::Who;
use loreloom_ports::Owner;
use loreloom_store::SqliteStore;
use loreloom_testkit::memory_suite::harness::{MemoryHarness, story};
use serde_json::json;

use super::texts;

#[tokio::test]
async fn an_archive_reads_back_into_another_store_and_only_once() {
    let harness = MemoryHarness::new(Arc::new(SqliteStore::in_memory().unwrap()));
    let path = story("c", &texts(&["One secret1.", "Two.", "Three.", "Four."]));
    harness.play(&path, "Mara").await.unwrap();
    let archive = harness.service.exchange.export(&harness.tenant).await.unwrap();
    let text = serde_json::to_string(&archive).unwrap();
    let other = MemoryHarness::with(
        Arc::new(SqliteStore::in_memory().unwrap()),
        TenantId("other".into()),
        1,
    );
    other.commit(&path).await.unwrap();
    let read = || serde_json::from_str(&text).unwrap();
    assert_eq!(
        other.service.exchange.import(&other.tenant, read()).await.unwrap(),
        archive.writes.len()
    );
    assert_eq!(other.service.exchange.import(&other.tenant, read()).await.unwrap(), 0);
    assert_eq!(
        other.secrets(&path, "Mara").await.unwrap(),
        harness.secrets(&path, "Mara").await.unwrap()
    );
    assert_eq!(other.service.exchange.export(&other.tenant).await.unwrap(), archive);
}

#[tokio::test]
async fn data_of_smart_memory_are_imported_once() {
    let harness = MemoryHarness::new(Arc::new(SqliteStore::in_memory().unwrap()));
    let old = json!({ "memories": [{ "type": "fact", "content": "Odo keeps bees." }] });
    let owner = Owner::Character("Mara".into());
    let imported = harness
        .service
        .exchange
        .import_character(&harness.tenant, &owner, old.clone())
        .await
        .unwrap();
    assert!(imported.is_some());
    assert_eq!(
        harness.service.exchange.import_character(&harness.tenant, &owner, old).await.unwrap(),
        None
    );
    let chat = json!({ "summary": "So far.", "summaryEnd": 1, "schema_version": 9 });
    harness.service.exchange.import_chat(&harness.tenant, &ChatId::from("c"), chat).await.unwrap();
    let path = story("c", &texts(&["Hello.", "Hi."]));
    harness.commit(&path).await.unwrap();
    let who = Who::named("Mara");
    let view =
        harness.service.views.view(&harness.tenant, path.chat(), path.items(), &who).await.unwrap();
    assert_eq!(view.character.memories[0].content, "Odo keeps bees.");
    assert_eq!((view.chat.summary.as_deref(), view.chat.summary_end), (Some("So far."), 1));
}
