//! Memories that are changed by hand, and undo.

use loreloom_core::ids::ChatId;
use loreloom_memory::{
    inject::MemorySlot,
    record::MemoryKind,
    service::{NewMemory, Who},
};
use loreloom_ports::{Owner, RecordKey, RecordKind};
use loreloom_testkit::memory_suite::harness::story;
use serde_json::json;

use super::{harness, texts};

#[tokio::test]
async fn everything_done_by_hand_can_be_undone() {
    let harness = harness();
    let owner = Owner::Character("Mara".into());
    let (tenant, service) = (&harness.tenant, &harness.service);
    let new = |content: &str| NewMemory {
        kind: MemoryKind::Fact,
        content: content.to_owned(),
        importance: Some(3),
        receipts: vec![],
    };
    let path = story("c", &texts(&["Hello."]));
    harness.commit(&path).await.unwrap();
    let shown = async || {
        let who = Who::named("Mara");
        let view = service.views.view(tenant, path.chat(), path.items(), &who).await.unwrap();
        let active = view.character.memories.iter().filter(|memory| memory.is_active());
        active.map(|memory| memory.content.clone()).collect::<Vec<_>>()
    };
    let (a, _) = service.edits.add(tenant, &owner, new("The boat is red.")).await.unwrap();
    let (b, _) = service.edits.add(tenant, &owner, new("Odo owns it.")).await.unwrap();
    let edit = json!({ "content": "The boat is blue." }).as_object().cloned().unwrap();
    let edited = service.edits.edit(tenant, &owner, &a.id, edit).await.unwrap();
    assert_eq!(shown().await, ["The boat is blue.", "Odo owns it."]);
    let ids = [a.id.clone(), b.id.clone()];
    let (_, merged) =
        service.edits.merge(tenant, &owner, &ids, "Odo's boat is blue.").await.unwrap();
    assert_eq!(shown().await, ["Odo's boat is blue."]);
    let undone = service.edits.undo(tenant, &merged).await.unwrap();
    service.edits.undo(tenant, &edited).await.unwrap();
    assert_eq!(shown().await, ["The boat is red.", "Odo owns it."]);
    service.edits.undo(tenant, &undone).await.unwrap();
    assert_eq!(shown().await, ["Odo's boat is blue."]);
    service.edits.undo(tenant, &merged).await.unwrap();
    let retired = service.edits.retire(tenant, &owner, &a.id).await.unwrap();
    assert_eq!(shown().await, ["Odo owns it."]);
    service.edits.undo(tenant, &retired).await.unwrap();
    let start = service.edits.fresh_start(tenant, path.chat(), &owner).await.unwrap();
    assert!(shown().await.is_empty());
    service.edits.undo(tenant, &start).await.unwrap();
    assert_eq!(shown().await, ["The boat is red.", "Odo owns it."]);
}

#[tokio::test]
async fn an_invalid_edit_is_refused_and_changes_nothing() {
    let harness = harness();
    let owner = Owner::Character("Mara".into());
    let new = NewMemory { content: "The boat is red.".into(), ..NewMemory::default() };
    let (key, _) = harness.service.edits.add(&harness.tenant, &owner, new).await.unwrap();
    for (fields, expected) in [
        (json!({ "content": "" }), "`content` must be a text that says something"),
        (json!({ "importance": "high" }), "`importance` cannot be \"high\""),
        (json!({ "colour": 1 }), "`colour` cannot be 1"),
    ] {
        let fields = fields.as_object().cloned().unwrap();
        let refused = harness.service.edits.edit(&harness.tenant, &owner, &key.id, fields).await;
        let message = refused.unwrap_err().to_string();
        assert_eq!(message, format!("`{}` cannot be changed that way: {expected}", key.id));
    }
    let missing = harness.service.edits.retire(&harness.tenant, &owner, "zz").await.unwrap_err();
    assert_eq!(missing.to_string(), "character `Mara` has no record `zz`");
    assert_eq!(harness.store.events(&harness.tenant, &owner, 0).await.unwrap().len(), 1);
}

#[tokio::test]
async fn threads_feelings_knowledge_and_entities_are_changed_by_hand_and_undone() {
    let harness = harness();
    let (tenant, service) = (&harness.tenant, &harness.service);
    let (mara, chat) = (Owner::Character("Mara".into()), Owner::Chat(ChatId::from("c")));
    let object = |value: serde_json::Value| value.as_object().cloned().unwrap();
    let put = async |owner: &Owner, kind, id: &str, fields| {
        service.edits.put(tenant, owner, RecordKey::new(kind, id), object(fields)).await
    };
    let shown = async |owner: &Owner, id: &str| {
        let records = service.views.records(tenant, owner).await.unwrap();
        let found = records.iter().find(|(key, _)| key.id == id);
        found.map(|(_, fields)| serde_json::Value::Object(fields.clone()).to_string())
    };
    let bell = json!({ "content": "Find the bell", "persistent": false, "resolved": false });
    put(&chat, RecordKind::Arc, "Find the bell", bell).await.unwrap();
    let feelings = json!({ "descriptors": [{ "word": "fond", "magnitude": "high" }] });
    put(&mara, RecordKind::Relationship, "Mara→Odo", feelings).await.unwrap();
    let knows = json!({ "id": "i", "type": "knows", "subject": "Mara", "content": "x" });
    put(&mara, RecordKind::Insight, "i", knows).await.unwrap();
    for (id, name) in [("e1", "Cap"), ("e2", "Captain Venn")] {
        let entity = json!({ "id": id, "name": name, "type": "character" });
        put(&mara, RecordKind::Entity, id, entity).await.unwrap();
    }
    let odd = put(&mara, RecordKind::Arc, "x", json!({ "content": "x" })).await.unwrap_err();
    let expected = "`x` cannot be changed that way: character `Mara` keeps no such records";
    assert_eq!(odd.to_string(), expected);
    let path = story("other", &texts(&["Hello.", "Good day."]));
    let threads = async || {
        let turn = harness.turn(path.items(), path.chat(), "Mara", 0).await.unwrap();
        turn.slots.iter().any(|slot| slot.slot == MemorySlot::Arcs)
    };
    assert!(!threads().await);
    let pinned = service.edits.pin_thread(tenant, &"c".into(), &mara, "Find", true).await.unwrap();
    assert!(threads().await, "it follows her into another chat");
    service.edits.undo(tenant, &pinned).await.unwrap();
    assert!(!threads().await);
    assert!(shown(&chat, "Find the bell").await.unwrap().contains("\"persistent\":false"));
    let ended = service.edits.retire(tenant, &chat, "Find").await.unwrap();
    assert!(shown(&chat, "Find the bell").await.unwrap().contains("\"resolved\":true"));
    service.edits.undo(tenant, &ended).await.unwrap();
    assert!(shown(&chat, "Find the bell").await.unwrap().contains("\"resolved\":false"));
    let gone = service.edits.retire(tenant, &mara, "Mara→Odo").await.unwrap();
    assert_eq!(shown(&mara, "Mara→Odo").await, None);
    service.edits.undo(tenant, &gone).await.unwrap();
    assert!(shown(&mara, "Mara→Odo").await.unwrap().contains("fond"));
    service.edits.retire(tenant, &mara, "i").await.unwrap();
    assert!(shown(&mara, "i").await.unwrap().contains("retired"));
    service.edits.restore(tenant, &mara, "i").await.unwrap();
    assert!(!shown(&mara, "i").await.unwrap().contains("retired"));
    let merged = service.edits.merge_entities(tenant, &mara, "cap", "Captain Venn").await.unwrap();
    assert!(shown(&mara, "e2").await.unwrap().contains("\"aliases\":[\"Cap\"]"));
    assert_eq!(shown(&mara, "e1").await, None);
    service.edits.undo(tenant, &merged).await.unwrap();
    assert!(shown(&mara, "e1").await.is_some());
    assert!(service.edits.merge_entities(tenant, &mara, "nobody", "x").await.is_err());
}
