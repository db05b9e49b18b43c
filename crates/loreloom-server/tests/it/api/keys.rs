//! Keys that are made and revoked through the API.

use loreloom_core::units::Timestamp;
use loreloom_server::{Access, KeyCabinet, KeyDraft, Scope};
use loreloom_store::SqliteStore;
use serde_json::{Value, json};

use super::{Answer, Api, Setup};
use crate::harness::empty_store;

async fn add(store: &SqliteStore, number: u8, tenant: &str, scopes: &[Scope]) -> String {
    let cabinet = KeyCabinet { documents: store };
    let draft = KeyDraft::new(tenant, scopes.iter().copied());
    cabinet.add(draft, [number; 32], Timestamp(1)).await.unwrap().0
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
    assert!(code == "conflict" && detail.contains("is shown once"), "{detail}");
    let listed = api.get("/keys").await;
    assert!(!listed.text.contains(&key[3..20]), "{}", listed.text);
    let items = listed.good()["items"].clone();
    let id = items[0]["id"].as_str().unwrap();
    assert_eq!(
        items,
        json!([{
            "id": id, "name": "phone", "tenant": "ann", "scopes": ["read"],
            "created": made.json["item"]["created"], "own": false, "pages": [],
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
    let store = empty_store();
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
    let store = empty_store();
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
    let store = empty_store();
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
    let store = empty_store();
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

#[tokio::test]
async fn who_may_change_a_story_may_change_its_settings_and_not_the_servers() {
    use Scope::{Admin, Read, Write};
    let store = empty_store();
    let own = add(&store, 1, "local", &[Read, Write]).await;
    let admin = add(&store, 2, "local", &[Read, Write, Admin]).await;
    let api = Api::with(Setup { store, ..Setup::default() }).await;
    let budget = json!({"budget.total_tokens": 40});
    let path = "/settings/chats/inn";
    let changed = api.keyed(&own, "PATCH", path, &budget).await.good();
    let value = |settings: &Value| {
        let rows = settings["rows"].as_array().unwrap();
        rows.iter().find(|row| row["name"] == "budget.total_tokens").unwrap()["value"].clone()
    };
    assert_eq!(value(&changed["item"]), 40);
    api.keyed(&own, "POST", "/undo", &json!({"undo": changed["undo"]})).await.good();
    assert_eq!(value(&api.keyed(&own, "GET", path, &Value::Null).await.good()), "none");
    for path in ["/settings", "/settings/characters/Mira"] {
        assert_eq!(api.keyed(&own, "PATCH", path, &budget).await.refused(403).0, "forbidden");
    }
    let server = api.keyed(&admin, "PATCH", "/settings", &budget).await.good();
    let undo = json!({"undo": server["undo"]});
    assert_eq!(api.keyed(&own, "POST", "/undo", &undo).await.refused(403).0, "forbidden");

    let script = json!({"scriptName": "Dots", "findRegex": "/a/", "placement": [5]});
    let file = json!({"extension_settings": {
        "regex": [script],
        "smart_memory": {"arcs_inject_budget": 70, "longterm_extract_every": 4, "colour": "red"},
    }});
    let import = "/settings/import";
    assert_eq!(api.keyed(&own, "POST", import, &file).await.refused(403).0, "forbidden");
    let taken = api.keyed(&own, "POST", "/settings/import?chat=inn", &file).await.good();
    assert_eq!(taken["taken"], json!({"memory.arcs_inject_budget": 70}));
    assert!(taken["elsewhere"].as_array().unwrap().contains(&json!("lore.regex_scripts")));
    assert_eq!(taken["unmapped"], json!([{"program": "Smart Memory", "name": "colour"}]));
    let taken = api.keyed(&admin, "POST", import, &file).await.good();
    assert_eq!(taken["programs"], json!(["SillyTavern", "Smart Memory"]));
    assert_eq!(taken["taken"]["lore.regex_scripts"], json!([script]));
    assert_eq!(taken["elsewhere"], json!([]));
    let wrong = api.keyed(&admin, "POST", import, &json!({"colour": 1})).await;
    assert!(wrong.refused(422).1.contains("an object without a name that they use"));
}
