//! Notebooks, scene and pins of a chat.

use serde_json::json;

use super::Api;

#[tokio::test]
async fn notebooks_and_scene_are_read_written_and_taken_back() {
    let api = Api::start().await;
    api.story().await;
    let empty = json!({"author": "", "model": ""});
    assert_eq!(api.get("/chats/inn/notebooks").await.good(), empty);
    let wrote = api.call("PATCH", "/chats/inn/notebooks", json!({"author": "Slow burn."})).await;
    let wrote = wrote.good();
    assert_eq!(wrote["item"], json!({"author": "Slow burn.", "model": ""}));
    let scene = json!({
        "fields": {"era": "old", "place": "inn"}, "pins": [{"title": "Bell"}],
        "blocks": [{"title": "Gate", "vault": "main"}],
    });
    let changed = api.call("PATCH", "/chats/inn/scene", scene).await.good();
    let patch = json!({"fields": {"place": null}, "blocks": [], "folders": ["people"]});
    let changed_again = api.call("PATCH", "/chats/inn/scene", patch).await.good();
    let expected = json!({
        "fields": {"era": "old"}, "folders": ["people"], "pins": [{"title": "Bell"}], "blocks": [],
    });
    assert_eq!(changed_again["item"], expected);
    assert_eq!(api.get("/chats/inn/scene").await.good(), expected);
    let whole = json!({"fields": {"place": "mill"}, "folders": ["places"]});
    let replaced = api.call("PUT", "/chats/inn/scene", whole).await.good();
    let expected = json!({
        "fields": {"place": "mill"}, "folders": ["places"], "pins": [], "blocks": [],
    });
    assert_eq!(replaced["item"], expected);
    let nothing = json!({"fields": {}, "folders": [], "pins": [], "blocks": []});
    let cleared = api.call("DELETE", "/chats/inn/scene", json!({})).await.good();
    assert_eq!(cleared["item"], nothing);
    for undo in [&cleared, &replaced, &changed_again, &changed, &wrote] {
        api.call("POST", "/undo", json!({"undo": undo["undo"]})).await.good();
    }
    assert_eq!(api.get("/chats/inn/scene").await.good(), nothing);
    assert_eq!(api.get("/chats/inn/notebooks").await.good(), empty);
}

#[tokio::test]
async fn a_wrong_scene_or_notebook_changes_nothing() {
    let api = Api::start().await;
    api.story().await;
    for (path, body, status, detail) in [
        ("notebooks", json!({"auhtor": "x"}), 400, "there is no field `auhtor`"),
        (
            "notebooks",
            json!({"author": "x".repeat(65_537)}),
            422,
            "`author` must have at most 65536 bytes, found `65537`",
        ),
        (
            "scene",
            json!({"pins": [{"title": " "}]}),
            422,
            "`pins` must name notes by their titles, found ``",
        ),
    ] {
        let found = api.call("PATCH", &format!("/chats/inn/{path}"), body).await.refused(status);
        assert_eq!(found.1, detail);
    }
    api.call("PATCH", "/chats/none/scene", json!({})).await.refused(404);
    let stale = api.request("PATCH", "/chats/inn/scene").header("if-match", "\"999\"");
    assert_eq!(api.send(stale.json(&json!({}))).await.refused(412).0, "outdated");
}
