//! Settings: changed while the server runs, kept over a restart, undone.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Api, Setup};

#[tokio::test]
async fn settings_work_at_once_stay_and_are_undone() {
    let api = Api::start().await;
    let before = api.get("/settings").await.good();
    assert_eq!((&before["set"], &before["effective"]["weaving"]), (&json!({}), &json!(true)));
    let patch = json!({"set": {"weaving": false, "user": "Tam"}, "rules": {"wrap": "xml-minimal"}});
    let request = api.request("PATCH", "/settings").header("if-match", "\"0\"");
    let changed = api.send(request.json(&patch)).await.good();
    assert_eq!(changed["item"]["effective"]["user"], "Tam");
    assert_eq!(changed["item"]["rules"]["wrap"], "xml-minimal");
    api.tell("inn", &[("user", "Ring the bell!")], "No.").await;
    assert_eq!(api.get("/chats").await.good()["total"], 0, "nothing is woven or stored");
    let setup = Setup { store: Arc::clone(&api.loreloom.store), ..Setup::default() };
    let again = Api::with(setup).await;
    assert_eq!(again.get("/settings").await.good()["effective"]["weaving"], false);
    api.call("POST", "/undo", json!({"undo": changed["undo"]})).await.good();
    assert_eq!(api.get("/settings").await.good()["effective"], before["effective"]);
    api.tell("inn", &[("user", "Ring the bell!")], "Yes.").await;
    assert_eq!(api.get("/chats").await.good()["total"], 1);
    let back = api.call("PATCH", "/settings", json!({"set": {"user": "A"}})).await.good();
    assert_eq!(back["item"]["set"], json!({"user": "A"}));
    let none = api.call("PATCH", "/settings", json!({"set": {"user": null}})).await.good();
    assert_eq!(none["item"]["set"], json!({}));
}

#[tokio::test]
async fn a_setting_that_makes_no_sense_changes_nothing() {
    let api = Api::start().await;
    for (body, status, detail) in [
        (json!({"set": {"colour": 1}}), 400, "in `set`: there is no field `colour`"),
        (
            json!({"set": {"deadline_ms": 0}}),
            422,
            "`set.deadline_ms` must be from 1 to 600000, found `0`",
        ),
        (json!({"rules": {"wrapping": 1}}), 400, "in `rules`: there is no field `wrapping`"),
        (json!({"weaving": true}), 400, "there is no field `weaving`"),
    ] {
        let found = api.call("PATCH", "/settings", body.clone()).await.refused(status);
        assert_eq!(found.1, detail, "{body}");
    }
    let stale = api.request("PATCH", "/settings").header("if-match", "\"7\"");
    assert_eq!(api.send(stale.json(&json!({}))).await.refused(412).0, "outdated");
    assert_eq!(api.get("/revisions").await.good()["items"], Value::Array(Vec::new()));
}
