//! Settings: changed by name while the server runs, kept over a restart, undone.

use std::sync::Arc;

use loreloom_settings::{SETTINGS, TakesEffect};
use serde_json::{Value, json};

use super::{Api, Setup};

/// A row of `GET /settings`.
fn row<'a>(settings: &'a Value, name: &str) -> &'a Value {
    let rows = settings["rows"].as_array().unwrap();
    rows.iter().find(|row| row["name"] == name).unwrap()
}

/// The names of stored settings.
fn stored(settings: &Value) -> Vec<&str> {
    let rows = settings["rows"].as_array().unwrap().iter();
    rows.filter(|row| row["source"] == "stored").map(|row| row["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn settings_work_at_once_stay_and_are_undone() {
    let api = Api::start().await;
    let before = api.get("/settings").await.good();
    assert_eq!(stored(&before), Vec::<&str>::new());
    assert_eq!(row(&before, "weaving.on")["value"], true);
    let patch = json!({"weaving.on": false, "story.user": "Tam", "lore.wrap": "xml-minimal"});
    let request = api.request("PATCH", "/settings").header("if-match", "\"0\"");
    let changed = api.send(request.json(&patch)).await.good();
    let user = row(&changed["item"], "story.user");
    assert_eq!((&user["value"], &user["source"]), (&json!("Tam"), &json!("stored")));
    assert_eq!(changed["item"]["rules"]["wrap"], "xml-minimal");
    api.tell("inn", &[("user", "Ring the bell!")], "No.").await;
    assert_eq!(api.get("/chats").await.good()["total"], 0, "nothing is woven or stored");
    let setup = Setup { store: Arc::clone(&api.loreloom.store), ..Setup::default() };
    let again = Api::with(setup).await.get("/settings").await.good();
    assert_eq!(row(&again, "weaving.on")["value"], false);
    api.call("POST", "/undo", json!({"undo": changed["undo"]})).await.good();
    assert_eq!(api.get("/settings").await.good()["rows"], before["rows"]);
    api.tell("inn", &[("user", "Ring the bell!")], "Yes.").await;
    assert_eq!(api.get("/chats").await.good()["total"], 1);
    let back = api.call("PATCH", "/settings", json!({"story.user": "A"})).await.good();
    assert_eq!(stored(&back["item"]), ["story.user"]);
    let none = api.call("PATCH", "/settings", json!({"story.user": null})).await.good();
    assert_eq!(stored(&none["item"]), Vec::<&str>::new());
}

#[tokio::test]
async fn every_setting_is_listed_and_can_be_set_or_says_where() {
    let api = Api::start().await;
    let all = api.get("/settings").await.good();
    assert_eq!(all["rows"].as_array().unwrap().len(), SETTINGS.len());
    let mut patch = serde_json::Map::new();
    for setting in SETTINGS.iter() {
        let value = row(&all, setting.name)["value"].clone();
        if setting.takes_effect == TakesEffect::AtStart {
            let body = json!({setting.name: value});
            let found = api.call("PATCH", "/settings", body).await.refused(422).1;
            assert!(found.contains("configuration file"), "{found}");
        } else {
            patch.insert(setting.name.to_owned(), value);
        }
    }
    let set = api.call("PATCH", "/settings", Value::Object(patch.clone())).await.good();
    let names: Vec<&str> = patch.keys().map(String::as_str).collect();
    assert_eq!(stored(&set["item"]).len(), names.len());
    for name in names {
        assert_eq!(row(&set["item"], name)["value"], patch[name], "{name}");
    }
}

#[tokio::test]
async fn a_profile_that_is_stored_says_so_in_its_rows() {
    let api = Api::start().await;
    let patch = json!({"vault.profile": "deeplore-2.x"});
    let set = api.call("PATCH", "/settings", patch).await.good();
    let strip = row(&set["item"], "vault.strip_duplicates");
    assert_eq!((&strip["value"], &strip["source"]), (&json!(true), &json!("profile")));
    assert_eq!(set["item"]["rules"]["vault"]["rules"]["repetition"]["strip"], true);
}

#[tokio::test]
async fn a_setting_that_makes_no_sense_changes_nothing() {
    let api = Api::start().await;
    for (body, status, detail) in [
        (json!({"colour": 1}), 400, "there is no setting `colour`"),
        (
            json!({"vault.scandepth": 1}),
            400,
            "there is no setting `vault.scandepth`; did you mean `vault.scan_depth`?",
        ),
        (json!({"scanDepth": 1}), 400, "`scanDepth` of DeepLore is `vault.scan_depth` here"),
        (
            json!({"weaving.deadline_ms": 0}),
            422,
            "`weaving.deadline_ms` must be a whole number from 1 to 600000 (ms), found 0",
        ),
        (
            json!({"story.user": "B", "weaving.on": "x"}),
            422,
            "`weaving.on` must be `true` or `false`, found `x`",
        ),
    ] {
        let found = api.call("PATCH", "/settings", body.clone()).await.refused(status);
        assert_eq!(found.1, detail, "{body}");
    }
    let stale = api.request("PATCH", "/settings").header("if-match", "\"7\"");
    assert_eq!(api.send(stale.json(&json!({}))).await.refused(412).0, "outdated");
    assert_eq!(api.get("/revisions").await.good()["items"], Value::Array(Vec::new()));
}

#[tokio::test]
async fn a_chats_own_setting_wins_over_its_characters_and_both_over_the_servers() {
    let api = Api::start().await;
    let set = async |path: &str, patch: Value| api.call("PATCH", path, patch).await.good();
    set("/settings", json!({"story.user": "Server"})).await;
    let character = set("/settings/characters/Bram%20Stone", json!({"story.user": "Bram's"})).await;
    assert_eq!(row(&character["item"], "story.user")["source"], "character");
    let chat = set("/settings/chats/inn", json!({"weaving.on": false})).await;
    let on = row(&chat["item"], "weaving.on");
    assert_eq!((&on["value"], &on["source"]), (&json!(false), &json!("chat")));
    assert_eq!(row(&chat["item"], "story.user")["source"], "stored");
    api.tell("inn", &[("user", "Ring the bell!")], "No.").await;
    assert_eq!(api.get("/chats").await.good()["total"], 0, "nothing is woven in this chat");
    api.tell("mill", &[("user", "Ring the bell!")], "Yes.").await;
    assert_eq!(api.get("/chats").await.good()["total"], 1);
    api.call("POST", "/undo", json!({"undo": chat["undo"]})).await.good();
    api.tell("inn", &[("user", "Ring the bell!")], "Yes.").await;
    assert_eq!(api.get("/chats").await.good()["total"], 2);
    let back = set("/settings/characters/Bram%20Stone", json!({"story.user": null})).await;
    assert_eq!(row(&back["item"], "story.user")["value"], "Server");
    let wrong = api.call("PATCH", "/settings/chats/inn", json!({"server.listen": "x"})).await;
    let expected = "`server.listen` cannot be set for one chat: it holds for the server";
    assert_eq!(wrong.refused(422).1, expected);
}

#[tokio::test]
async fn scripts_do_not_run_over_texts_that_a_front_end_places() {
    let api = Api::start().await.with_book().await;
    let script = json!({
        "scriptName": "Shout", "findRegex": "/causeway/gi", "replaceString": "CAUSEWAY",
        "placement": [5], "promptOnly": true,
    });
    api.call("PATCH", "/settings", json!({"lore.regex_scripts": [script]})).await.good();
    let text = async |placed: bool| {
        let body = json!({"chat": "inn", "placed": placed,
            "messages": [{"role": "user", "content": "The causeway!"}]});
        let woven = api.call("POST", "/weave", body).await.good();
        let slots = woven["slots"].as_array().unwrap().iter();
        let texts: Vec<&str> = slots.map(|slot| slot["text"].as_str().unwrap()).collect();
        texts.join("\n")
    };
    assert!(text(false).await.contains("The CAUSEWAY floods at noon."));
    assert!(
        text(true).await.contains("The causeway floods at noon."),
        "the front end runs its own"
    );
}
