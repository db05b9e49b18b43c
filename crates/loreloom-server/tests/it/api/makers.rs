//! Who made entries say what they say.

use loreloom_core::{
    book::{Book, Entry},
    ids::TenantId,
    units::Timestamp,
};
use loreloom_ports::{Change, DocumentStore as _};
use serde_json::{Value, json};

use super::Api;

async fn made_by(api: &Api, who: &str) -> Vec<String> {
    let found = api.get(&format!("/lore/entries?f=by:{who}")).await.good();
    let rows = found["items"].as_array().unwrap().iter();
    rows.map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

async fn write(api: &Api, entry: usize, text: &str) -> Value {
    let path = format!("/lore/entries/reach%2F{entry}");
    api.call("PATCH", &path, json!({"content": text})).await.good()["undo"].clone()
}

async fn undo(api: &Api, undo: &Value) -> Value {
    api.call("POST", "/undo", json!({"undo": undo})).await.good()["undo"].clone()
}

/// Revision, maker and what was undone, newest first.
async fn history(api: &Api, entry: usize) -> Vec<(u64, Value, Value)> {
    let found = api.get(&format!("/lore/entries/reach%2F{entry}/history")).await.good();
    let versions = found["items"].as_array().unwrap().iter();
    let shown =
        |one: &Value| (one["revision"].as_u64().unwrap(), one["by"].clone(), one["undoes"].clone());
    versions.map(shown).collect()
}

#[tokio::test]
async fn a_filter_finds_entries_by_who_made_them() {
    let api = Api::start().await.with_book().await;
    // Nothing is known of the book that was named at start.
    assert_eq!(made_by(&api, "unknown").await, ["world/0"]);
    assert_eq!(made_by(&api, "import").await, ["reach/0", "reach/1", "reach/2"]);
    write(&api, 0, "The causeway is gone.").await;
    let second = write(&api, 1, "Herons nest in the reeds.").await;
    assert_eq!(made_by(&api, "hand").await, ["reach/0", "reach/1"]);
    assert_eq!(made_by(&api, "import").await, ["reach/2"]);
    // What is undone is again its first maker's, and done again that of who had done it.
    let again = undo(&api, &second).await;
    assert_eq!(made_by(&api, "import").await, ["reach/1", "reach/2"]);
    undo(&api, &again).await;
    assert_eq!(made_by(&api, "hand").await, ["reach/0", "reach/1"]);
    // Whom a book follows is not what it says.
    api.call("PATCH", "/books/reach", json!({"bindings": []})).await.good();
    assert_eq!(made_by(&api, "import").await, ["reach/2"]);
    // A file in its place.
    let file = r#"{"entries":{"0":{"uid":0,"key":["dyke"],"content":"It holds.","position":0}}}"#;
    let request = api.request("PUT", "/books/reach?file_name=reach.json").body(file);
    api.send(request).await.good();
    assert_eq!(made_by(&api, "import").await, ["reach/0"]);
    write(&api, 0, "It breaks.").await;
    assert_eq!(made_by(&api, "hand").await, ["reach/0"]);
    assert_eq!(made_by(&api, "model").await, [""; 0]);
    let wrong = api.get("/lore/entries?f=by:somebody").await.refused(422).1;
    let rule =
        "`f` must be `by:hand`, `by:import`, `by:model` or `by:unknown`, found `by:somebody`";
    assert_eq!(wrong, rule);
}

#[tokio::test]
async fn a_history_says_who_made_each_version() {
    let api = Api::start().await.with_book().await;
    write(&api, 0, "The causeway is gone.").await;
    let other = write(&api, 1, "Herons nest in the reeds.").await;
    undo(&api, &other).await;
    let none = Value::Null;
    assert_eq!(
        history(&api, 1).await,
        [
            // Before the undone change stands a change by hand, of another entry.
            (4, json!("import"), json!(3)),
            (3, json!("hand"), none.clone()),
            (1, json!("import"), none.clone()),
        ]
    );
    assert_eq!(
        history(&api, 0).await,
        [(2, json!("hand"), none.clone()), (1, json!("import"), none)]
    );
}

#[tokio::test]
async fn books_from_before_makers_were_recorded_are_by_nobody_known() {
    let (api, tenant) = (Api::start().await, TenantId::local());
    let mut book = Book::new("reach", "The reach");
    book.entries.extend([Entry::new("reach/0"), Entry::new("reach/1")]);
    let store = &api.loreloom.store;
    let version = store.keep_book(&tenant, &book).await.unwrap();
    let value = json!({"version": version, "name": "The reach", "entries": 2});
    let old = Change { key: "book/reach".to_owned(), value: Some(value) };
    store.change(&tenant, &[old], None, Timestamp(1)).await.unwrap();
    write(&api, 1, "Herons nest in the reeds.").await;
    assert_eq!(made_by(&api, "unknown").await, ["world/0", "reach/0"]);
    assert_eq!(made_by(&api, "hand").await, ["reach/1"]);
    assert_eq!(
        history(&api, 1).await,
        [(2, json!("hand"), Value::Null), (1, Value::Null, Value::Null)]
    );
}
