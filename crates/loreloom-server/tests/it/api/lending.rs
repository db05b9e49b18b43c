//! A front end that lends its model to memory.

use loreloom_core::units::Timestamp;
use loreloom_server::{KeyCabinet, KeyDraft, Scope};
use serde_json::json;

use super::{Api, Setup};
use crate::harness::empty_store;

#[tokio::test]
async fn only_the_servers_own_tenant_lends_a_model() {
    let store = empty_store();
    let cabinet = KeyCabinet { documents: store.as_ref() };
    let mut keys = Vec::new();
    for (number, tenant) in [(1, "local"), (2, "ann")] {
        let draft = KeyDraft::new(tenant, [Scope::Read, Scope::Write]);
        keys.push(cabinet.add(draft, [number; 32], Timestamp(1)).await.unwrap().0);
    }
    let api = Api::with(Setup { store, memory: true, ..Setup::default() }).await;
    let call = |key: &str, method: &str, path: &str| {
        let request = api.request(method, path).header("x-loreloom-key", key);
        api.send(request.json(&json!({"text": "It rains."})))
    };
    for (method, path) in
        [("POST", "/lent-model/next"), ("POST", "/lent-model/1"), ("DELETE", "/lent-model")]
    {
        let (code, detail) = call(&keys[1], method, path).await.refused(403);
        assert_eq!(code, "forbidden");
        assert!(detail.contains("the tenant `local`"), "{detail}");
    }
    assert!(api.loreloom.app.memory.as_ref().unwrap().models.current().is_none());
    assert_eq!(call(&keys[0], "POST", "/lent-model/1").await.refused(404).0, "not_found");
    assert_eq!(call(&keys[0], "DELETE", "/lent-model").await.status, 204);
}
