//! Keys that are made and revoked through the API.

use std::{collections::BTreeSet, sync::Arc};

use loreloom_core::units::Timestamp;
use loreloom_server::{Access, KeyCabinet, Scope};
use loreloom_store::InMemoryStore;
use serde_json::{Value, json};

use super::{Answer, Api, Setup};

async fn add(store: &InMemoryStore, number: u8, tenant: &str, scopes: &[Scope]) -> String {
    let cabinet = KeyCabinet { documents: store };
    let scopes: BTreeSet<Scope> = scopes.iter().copied().collect();
    cabinet.add("test", &tenant.into(), scopes, [number; 32], Timestamp(1)).await.unwrap().0
}

impl Api {
    async fn keyed(&self, key: &str, method: &str, path: &str, body: &Value) -> Answer {
        let request = self.request(method, path).header("x-loreloom-key", key);
        let request = if method == "GET" { request } else { request.json(body) };
        self.send(request).await
    }
}

#[tokio::test]
async fn a_key_is_told_once_and_a_revoked_one_lets_nobody_in() {
    let api = Api::start().await;
    let body = json!({"name": "phone", "scopes": ["read"], "tenant": "ann"});
    let named =
        |body: &Value| api.request("POST", "/keys").header("idempotency-key", "k").json(body);
    let made = api.send(named(&body)).await;
    assert_eq!((made.status, &made.headers["cache-control"]), (201, &"no-store".parse().unwrap()));
    let key = made.json["key"].as_str().unwrap().to_owned();
    assert!(key.starts_with("ll_") && key.len() == 67, "{key}");
    let (code, detail) = api.send(named(&body)).await.refused(409);
    assert!(code == "conflict" && detail.contains("told once"), "{detail}");
    let listed = api.get("/keys").await;
    assert!(!listed.text.contains(&key[3..20]), "{}", listed.text);
    let items = listed.good()["items"].clone();
    let id = items[0]["id"].as_str().unwrap();
    assert_eq!(
        items,
        json!([{
            "id": id, "name": "phone", "tenant": "ann", "scopes": ["read"],
            "created": made.json["item"]["created"], "own": false,
        }])
    );
    assert_eq!(api.keyed(&key, "GET", "/chats", &Value::Null).await.status, 200);
    let gone = api.send(api.request("DELETE", &format!("/keys/{id}"))).await.good();
    assert_eq!(gone["item"]["id"], id);
    assert_eq!(api.keyed(&key, "GET", "/chats", &Value::Null).await.refused(401).0, "key_unknown");
    let again = api.send(api.request("DELETE", &format!("/keys/{id}"))).await;
    assert_eq!(again.refused(404).0, "not_found");
    assert_eq!(api.get("/revisions").await.good()["items"], json!([]), "nothing can be undone");
}

#[tokio::test]
async fn settings_of_the_whole_server_are_not_for_other_tenants() {
    let store = Arc::new(InMemoryStore::default());
    let ann = add(&store, 1, "ann", &[Scope::Read, Scope::Write, Scope::Admin]).await;
    let api = Api::with(Setup { store, ..Setup::default() }).await;
    for name in ["limits.entries", "connection.retries", "server.limits.body_mb"] {
        let body = json!({name: 2});
        let refused = api.keyed(&ann, "PATCH", "/settings", &body).await.refused(422).1;
        assert!(refused.contains("is for the whole server"), "{refused}");
        api.call("PATCH", "/settings", body).await.good();
    }
    api.keyed(&ann, "PATCH", "/settings", &json!({"lore.hygiene": "strip"})).await.good();
}

#[tokio::test]
async fn nobody_gives_away_what_they_do_not_have() {
    use Scope::{Admin, Proxy, Read, Write};
    let store = Arc::new(InMemoryStore::default());
    let ann = add(&store, 1, "ann", &[Read, Write, Admin]).await;
    let bob = add(&store, 2, "bob", &[Read, Write, Proxy]).await;
    let api = Api::with(Setup { store, ..Setup::default() }).await;
    for (key, body, status) in [
        (&ann, json!({"scopes": ["read", "admin"]}), 201),
        (&ann, json!({"scopes": ["read"], "tenant": "ann"}), 201),
        (&ann, json!({"scopes": ["proxy"]}), 403),
        (&ann, json!({"scopes": ["read"], "tenant": "bob"}), 403),
        (&ann, json!({"scopes": ["read"], "tenant": "local"}), 403),
        (&ann, json!({"scopes": []}), 422),
        (&ann, json!({"scopes": ["all"]}), 422),
        (&bob, json!({"scopes": ["read"]}), 403),
    ] {
        let answer = api.keyed(key, "POST", "/keys", &body).await;
        assert_eq!(answer.status, status, "{body}: {}", answer.text);
        if status == 201 {
            assert_eq!(answer.json["item"]["tenant"], "ann");
        }
    }
    assert_eq!(api.keyed(&bob, "GET", "/keys", &Value::Null).await.status, 403);
    let seen = api.keyed(&ann, "GET", "/keys", &Value::Null).await.good();
    assert_eq!(seen["items"].as_array().unwrap().len(), 3);
    assert_eq!(seen["scopes"], json!(["read", "write", "admin"]));
    let all = api.get("/keys").await.good();
    let bobs = all["items"].as_array().unwrap().iter().find(|one| one["tenant"] == "bob").unwrap();
    let path = format!("/keys/{}", bobs["id"].as_str().unwrap());
    assert_eq!(api.keyed(&ann, "DELETE", &path, &json!({})).await.refused(404).0, "not_found");
    let wrong = json!({"scopes": ["read"], "tenant": "loreloom:keys"});
    let (_, told) = api.call("POST", "/keys", wrong).await.refused(422);
    assert!(told.starts_with("a tenant's name has"), "{told}");
}

#[tokio::test]
async fn who_repeats_anothers_call_does_not_get_its_answer() {
    use Scope::{Admin, Read, Write};
    let store = Arc::new(InMemoryStore::default());
    let admin = add(&store, 1, "local", &[Read, Write, Admin]).await;
    let writer = add(&store, 2, "local", &[Read, Write]).await;
    let api = Api::with(Setup { store, ..Setup::default() }).await;
    let body = json!({"connection": "model"});
    let call = |key: &str| {
        let request = api.request("POST", "/connections/test").header("idempotency-key", "same");
        request.header("x-loreloom-key", key).json(&body)
    };
    api.send(call(&admin)).await.good();
    api.send(call(&admin)).await.good();
    assert_eq!(api.send(call(&writer)).await.refused(422).0, "wrong_value");
}

#[tokio::test]
async fn the_last_administrators_key_stays_where_a_key_is_needed() {
    use Scope::{Admin, Read, Write};
    let store = Arc::new(InMemoryStore::default());
    let first = add(&store, 1, "local", &[Read, Write, Admin]).await;
    // It could make no other.
    add(&store, 2, "local", &[Read, Admin]).await;
    let access = Access { require_key: true, ..Access::default() };
    let api = Api::with(Setup { store, access, ..Setup::default() }).await;
    let listed = api.keyed(&first, "GET", "/keys", &Value::Null).await.good();
    assert_eq!(listed["required"], true);
    let items = listed["items"].as_array().unwrap();
    let own = items.iter().find(|one| one["own"] == true).unwrap()["id"].as_str().unwrap();
    let path = format!("/keys/{own}");
    let (code, told) = api.keyed(&first, "DELETE", &path, &json!({})).await.refused(409);
    assert!(code == "conflict" && told.contains("the last key"), "{told}");
    assert_eq!(api.keyed(&first, "GET", "/keys", &Value::Null).await.status, 200);
    let body = json!({"scopes": ["read", "write", "admin"]});
    let second = api.keyed(&first, "POST", "/keys", &body).await.good();
    let second = second["key"].as_str().unwrap();
    api.keyed(&first, "DELETE", &path, &json!({})).await.good();
    assert_eq!(api.keyed(&first, "GET", "/keys", &Value::Null).await.status, 401);
    assert_eq!(api.keyed(second, "GET", "/keys", &Value::Null).await.status, 200);
    assert_eq!(api.get("/keys").await.status, 401);
}
