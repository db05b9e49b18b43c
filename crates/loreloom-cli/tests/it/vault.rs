//! Vaults: folders of notes as lore.

use std::{fs, path::Path, time::Duration};

use loreloom_testkit::model_server::{ModelServer, Reply, Script};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    run::{loreloom, printed, refused, write},
    serve::Server,
};

const BELL: &str =
    "---\ntags: [lorebook]\nkeys: [bell]\n---\n# The Bell\nCracked, see [[Tower|the tower]].\n";
const TOWER: &str = "---\ntags: [lorebook]\nkeys: [tower]\nera: old\n---\nIt leans.\n";
const CHAT: &str = r#"[{"role":"user","content":"A sailor came."},{"role":"assistant","content":"Ah."},
 {"role":"user","content":"b"},{"role":"assistant","content":"c"},
 {"role":"user","content":"The bell of the tower!"}]"#;

fn note(home: &Path, path: &str, text: &str) {
    fs::create_dir_all(home.join(path).parent().unwrap()).unwrap();
    write(home, path, text);
}

fn home() -> TempDir {
    let home = TempDir::new().unwrap();
    note(home.path(), "vault/Bell.md", BELL);
    note(home.path(), "vault/places/Tower.md", TOWER);
    note(home.path(), "vault/Sailor.md", "---\ntags: lorebook\nkeys: sailor\n---\nHe limps.\n");
    note(home.path(), "vault/Diary.md", "Not lore: the bell and the tower.\n");
    write(home.path(), "chat.json", CHAT);
    home
}

fn table(text: &str) -> Vec<&str> {
    text.lines().skip_while(|line| !line.starts_with("ENTRY")).skip(1).collect()
}

#[test]
fn notes_are_woven_in_and_the_others_say_why_not() {
    let home = home();
    let text = printed(home.path(), &["weave", "--vault", "vault", "--chat", "chat.json", "--why"]);
    assert!(text.contains("<The Bell>\nCracked, see the tower.\n</The Bell>"), "{text}");
    assert_eq!(
        table(&text),
        [
            "The Bell  woven          7  “bell” in message 5 (user); in the chat at depth 4",
            "Tower     woven          4  “tower” in message 5 (user); in the chat at depth 4",
            "Sailor    out            -  “sailor” is 5 messages back, but only the last 4 messages are scanned",
        ]
    );
}

#[test]
fn the_scene_decides_too() {
    let home = home();
    let weave = |extra: &[&str]| {
        let mut arguments = vec!["weave", "--vault", "vault", "--chat", "chat.json", "--why"];
        arguments.extend_from_slice(extra);
        printed(home.path(), &arguments)
    };
    let text = weave(&["--scene", "era=new", "--pin", "sailor", "--block", "The Bell"]);
    assert_eq!(
        table(&text),
        [
            "Sailor    woven          4  pinned to this chat; in the chat at depth 4",
            "The Bell  out            -  blocked in this chat",
            "Tower     out            -  its era is “old”, the scene's is “new”",
        ]
    );
    let text = weave(&["--scene", "era=new", "--scene", "era=old", "--folder", "people"]);
    let rows = table(&text);
    assert!(
        rows.contains(
            &"Tower     out            -  lies in “places”, only “people” is looked into"
        ),
        "{text}"
    );
}

#[test]
fn a_vaults_own_fields_decide() {
    let home = home();
    let fields = "fields:\n  - name: mood\n    gating:\n      operator: match_any\n";
    note(home.path(), "vault/DeepLore/field-definitions.yaml", fields);
    note(home.path(), "vault/Bell.md", &BELL.replace("keys:", "mood: grim\nkeys:"));
    let arguments =
        ["weave", "--vault", "vault", "--chat", "chat.json", "--why", "--scene", "mood=merry"];
    let text = printed(home.path(), &arguments);
    assert!(
        table(&text).iter().any(|row| row.ends_with("its mood is “grim”, the scene's is “merry”")),
        "{text}"
    );
}

#[test]
fn notes_of_the_same_title_are_settled_as_asked() {
    let home = home();
    note(home.path(), "more/Bell.md", &BELL.replace("Cracked", "Whole"));
    let titles = |conflicts: &str| -> Vec<String> {
        let arguments = [
            "weave",
            "--vault",
            "a=vault",
            "--vault",
            "b=more",
            "--set",
            &format!("vault.conflicts={conflicts}"),
            "--chat",
            "chat.json",
            "--json",
        ];
        let value: Value = serde_json::from_str(&printed(home.path(), &arguments)).unwrap();
        let verdicts = value["report"]["verdicts"].as_array().unwrap().iter();
        let mut ids: Vec<String> =
            verdicts.map(|one| one["entry"].as_str().unwrap().to_owned()).collect();
        ids.sort();
        ids
    };
    assert_eq!(titles("all"), ["a:Bell", "a:places/Tower", "b:Bell"]);
    assert_eq!(titles("first"), ["a:Bell", "a:places/Tower"]);
    assert_eq!(titles("last"), ["a:places/Tower", "b:Bell"]);
    assert_eq!(titles("merge"), ["a:Bell", "a:places/Tower"]);
    let twice = ["weave", "--vault", "vault", "--vault", "vault", "--chat", "chat.json"];
    assert_eq!(
        refused(home.path(), &twice),
        "loreloom: two vaults are called `vault`: name them with `--vault NAME=DIR`\n"
    );
    let error = refused(home.path(), &["weave", "--vault", "none", "--chat", "chat.json"]);
    assert!(error.starts_with("loreloom: the vault `none` cannot be opened: "), "{error}");
}

#[test]
fn two_versions_of_a_vault_are_compared_over_a_chat() {
    let home = home();
    note(home.path(), "new/Bell.md", &BELL.replace("Cracked", "Recast long ago"));
    let arguments = ["diff-run", "--old", "vault", "--new", "new", "chat.json"];
    let text = printed(home.path(), &arguments);
    let changes: Vec<&str> = text.lines().filter(|line| line.starts_with("  ")).collect();
    assert!(changes.iter().any(|line| line.starts_with("  - Tower")), "{text}");
    assert!(changes.iter().any(|line| line.starts_with("  ~ The Bell")), "{text}");
}

/// Says something until what was woven in is `expected`: a change takes a moment to be seen.
async fn until_woven(server: &Server, expected: &[&str]) {
    for turn in 0..200 {
        let said = json!({ "role": "user", "content": format!("{turn}: the bell, the tower") });
        let reply = server.say(&[said]).await;
        let last = server.stored(&reply).await;
        let verdicts = last["record"]["report"]["verdicts"].as_array().unwrap().clone();
        let woven = verdicts.iter().filter(|one| one["outcome"]["verdict"] == "activated");
        let titles: Vec<&str> = woven.filter_map(|one| one["title"].as_str()).collect();
        if titles == expected {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("never woven: {expected:?}");
}

#[tokio::test]
async fn a_served_vault_follows_its_folder() {
    // Fails only if another test was faster.
    let _installed = rustls::crypto::ring::default_provider().install_default();
    let home = home();
    let vault = home.path().join("vault");
    let server = Server::with(home.path(), &["--vault", "vault"]);
    until_woven(&server, &["The Bell", "Tower"]).await;
    // An editor's save: a new file takes the old one's place.
    write(home.path(), "vault/Bell.md.tmp", &BELL.replace("# The Bell", "# The Great Bell"));
    fs::rename(vault.join("Bell.md.tmp"), vault.join("Bell.md")).unwrap();
    until_woven(&server, &["The Great Bell", "Tower"]).await;
    // A note without a heading is called after its file, and a folder may be renamed.
    fs::rename(vault.join("places"), vault.join("sights")).unwrap();
    fs::rename(vault.join("sights/Tower.md"), vault.join("sights/Old Tower.md")).unwrap();
    until_woven(&server, &["Old Tower", "The Great Bell"]).await;
    for path in ["Bell.md", "sights/Old Tower.md", "Sailor.md", "Diary.md"] {
        fs::remove_file(vault.join(path)).unwrap();
    }
    until_woven(&server, &[]).await;
    note(home.path(), "vault/new/Tower.md", TOWER);
    until_woven(&server, &["Tower"]).await;
}

#[expect(clippy::disallowed_methods, reason = "the test looks at the files it made")]
#[tokio::test]
async fn a_note_is_changed_in_place_and_its_old_text_comes_back() {
    let home = home();
    let file = home.path().join("vault/Bell.md");
    let server = Server::with(home.path(), &["--vault", "vault"]);
    until_woven(&server, &["The Bell", "Tower"]).await;
    let note = "/lore/notes/%3ABell";
    let (status, seen) = server.api("GET", note, &Value::Null).await;
    let view = json!({"id": ":Bell", "path": "Bell.md", "text": BELL, "writable": true});
    assert_eq!((status, seen), (200, view));
    let great = BELL.replace("# The Bell", "# The Great Bell");
    let (status, wrote) = server.api("PUT", note, &json!({ "text": great })).await;
    assert_eq!((status, &wrote["item"]["text"]), (200, &json!(great)));
    assert_eq!(fs::read_to_string(&file).unwrap(), great);
    until_woven(&server, &["The Great Bell", "Tower"]).await;
    // The history shows both texts.
    let changes = format!("/revisions/{}/changes", wrote["revision"]);
    let (_, changes) = server.api("GET", &changes, &Value::Null).await;
    let field = &changes["items"][0]["fields"][0];
    assert_eq!((&field["before"], &field["after"]), (&json!(BELL), &json!(great)), "{changes}");
    // Undone and done again.
    let (status, undone) = server.api("POST", "/undo", &json!({"undo": wrote["undo"]})).await;
    assert_eq!((status, fs::read_to_string(&file).unwrap().as_str()), (200, BELL));
    let (status, _) = server.api("POST", "/undo", &json!({"undo": undone["undo"]})).await;
    assert_eq!((status, fs::read_to_string(&file).unwrap()), (200, great.clone()));
    // What somebody else wrote is not written over.
    fs::write(&file, TOWER).unwrap();
    let stale = reqwest::Client::new().put(format!("{}/api/v1{note}", server.url()));
    let stale = stale.header("if-match", "\"0123\"").json(&json!({"text": "mine"}));
    assert_eq!(stale.send().await.unwrap().status().as_u16(), 412);
    let (status, refused) = server.api("POST", "/undo", &json!({"undo": wrote["undo"]})).await;
    let reason = "the note's file was changed meanwhile: read it again";
    assert_eq!((status, &refused["detail"]), (412, &json!(reason)));
    assert_eq!(fs::read_to_string(&file).unwrap(), TOWER);
    let (status, _) = server.api("GET", "/lore/notes/%3ANone", &Value::Null).await;
    assert_eq!(status, 404);
}

/// A store that takes no changes of notes.
const REFUSING: &str = "CREATE TRIGGER refusing BEFORE INSERT ON documents \
                        WHEN NEW.key LIKE 'note/%' BEGIN SELECT RAISE(ABORT, 'no'); END";

#[expect(clippy::disallowed_methods, reason = "the test looks at the files it made")]
#[tokio::test]
async fn a_note_whose_old_text_cannot_be_kept_stays_as_it_was() {
    let home = home();
    let file = home.path().join("vault/Bell.md");
    let server = Server::with(home.path(), &["--vault", "vault"]);
    let note = "/lore/notes/%3ABell";
    let said = |word: &str| BELL.replace("Cracked", word);
    let (status, _) = server.api("PUT", note, &json!({ "text": said("first") })).await;
    assert_eq!(status, 200);
    // From now on the store takes no changes of notes.
    let store = rusqlite::Connection::open(home.path().join("data/stories.sqlite")).unwrap();
    store.execute_batch(REFUSING).unwrap();
    let (status, refused) = server.api("PUT", note, &json!({ "text": said("second") })).await;
    assert!(status >= 500, "{status} {refused}");
    assert_eq!(fs::read_to_string(&file).unwrap(), said("first"));
    store.execute_batch("DROP TRIGGER refusing").unwrap();
    let (status, _) = server.api("PUT", note, &json!({ "text": said("third") })).await;
    assert_eq!((status, fs::read_to_string(&file).unwrap()), (200, said("third")));
}

#[expect(clippy::disallowed_methods, reason = "the test looks at the files it made")]
#[test]
fn lint_names_mistakes_and_repairs_the_safe_ones() {
    let home = TempDir::new().unwrap();
    let text =
        "---\ntags: [lorebook]\nKeys: bell, rope\nrequires: [Twer]\npriority: \"5\"\n---\nX\n";
    note(home.path(), "vault/Bell.md", text);
    note(home.path(), "vault/Diary.md", "Not lore.\n");
    let lint = |extra: &[&str]| {
        let mut arguments = vec!["lint", "vault"];
        arguments.extend_from_slice(extra);
        let output = crate::run::run(home.path(), &arguments);
        (output.status.success(), String::from_utf8(output.stdout).unwrap())
    };
    let hints = "Bell.md: hint: `Keys` is spelt in another case [W_ALIAS_USED] (--fix)\n\
                 Bell.md: hint: `keys` is text with commas, read as a list [W_COMMA_SPLIT] (--fix)\n\
                 Bell.md: hint: `priority` is a number written as text [W_COERCED_NUM] (--fix)\n";
    let rest = "Diary.md: hint: is no lore: it has no fields [SKIP_NO_FRONTMATTER]\n\
                Bell.md: error: requires `Twer`, which no note is called, so it never comes in [unknown_required]\n";
    assert_eq!(lint(&[]), (false, format!("{hints}{rest}1 errors, 0 warnings, 4 hints\n")));
    let (ok, fixed) = lint(&["--fix"]);
    assert_eq!(
        (ok, fixed),
        (false, format!("{rest}1 notes repaired\n1 errors, 0 warnings, 1 hints\n"))
    );
    let now = fs::read_to_string(home.path().join("vault/Bell.md")).unwrap();
    assert_eq!(
        now,
        "---\ntags: [lorebook]\nkeys: [bell, rope]\nrequires: [Twer]\npriority: 5\n---\nX\n"
    );
    let kept = fs::read_to_string(home.path().join("vault/.loreloom/backup/Bell.md")).unwrap();
    assert_eq!(kept, text);
    note(home.path(), "vault/Bell.md", &now.replace("requires: [Twer]\n", ""));
    let (ok, text) = lint(&["--json"]);
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(ok && lines.len() == 1, "{text}");
    assert_eq!(lines[0]["code"], "SKIP_NO_FRONTMATTER");
}

#[test]
fn lint_warns_of_notes_that_are_lost_and_of_values_that_are_not_used() {
    let home = TempDir::new().unwrap();
    note(home.path(), "vault/A.md", "---\nkeys: [a1]\ntags: [lorebook\n---\nX\n");
    note(home.path(), "vault/B.md", "---\ntags: [lorebook]\nkeys: [bell]\n\n# B\n");
    let text = "---\ntags: [lorebook]\nkeys: [rope]\nsummary: a: b\n---\nX\n";
    note(home.path(), "vault/C.md", text);
    let odd = "priority: high\nposition: sideways\nprobability: 50\nenabled: maybe\ncooldown: soon\n\
               role: wizard\ndepth: deep\nscanDepth: -3\nselective_logic: xor\n";
    let text = format!("---\ntags: [lorebook]\nkeys: [tower]\nsummary: s\n{odd}---\nX\n");
    note(home.path(), "vault/D.md", &text);
    // Never meant as lore.
    note(home.path(), "vault/E.md", "---\ntitle: a: b\n---\nX\n");
    let text = printed(home.path(), &["lint", "vault"]);
    let warned: Vec<&str> = text.lines().filter(|line| line.contains(" [W_")).collect();
    assert_eq!(
        warned,
        [
            "A.md:3: warning: its fields are not YAML, so it is no lore [W_NOT_YAML]",
            "B.md:1: warning: its fields have no `---` behind them, so it is no lore [W_UNCLOSED]",
            "C.md:4: warning: its fields are not YAML and were read line by line [W_NOT_YAML]",
            "D.md: warning: `priority` must be a number, found `high` [W_INVALID]",
            "D.md: warning: `position` must be `before`, `after` or `in_chat`, found `sideways` [W_INVALID]",
            "D.md: warning: `probability` must be a number from 0 to 1, found `50` [W_INVALID]",
            "D.md: warning: `enabled` must be `true` or `false`, found `maybe` [W_INVALID]",
            "D.md: warning: `cooldown` must be a number, 0 or more, found `soon` [W_INVALID]",
            "D.md: warning: `role` must be `system`, `user` or `assistant`, found `wizard` [W_INVALID]",
            "D.md: warning: `depth` must be a whole number from 0 to 10000, found `deep` [W_INVALID]",
            "D.md: warning: `scanDepth` must be a number, 0 or more, found `-3` [W_INVALID]",
            "D.md: warning: `selective_logic` must be `and_any`, `and_all`, `not_all` or `not_any`, found `xor` [W_INVALID]",
        ]
    );
    let hint = "E.md: hint: is no lore: it has no tag that marks it [SKIP_NO_LOREBOOK_TAG]";
    assert!(text.lines().any(|line| line == hint), "{text}");
    let first = printed(home.path(), &["lint", "vault", "--json"]);
    let first: Value = serde_json::from_str(first.lines().next().unwrap()).unwrap();
    assert_eq!((&first["path"], &first["line"]), (&Value::from("A.md"), &Value::from(3)));
}

#[test]
fn lint_looks_into_lorebooks_too() {
    let home = TempDir::new().unwrap();
    let book = r#"{"entries":{"0":{"uid":0,"key":[],"comment":"Lost","content":"x"}}}"#;
    write(home.path(), "book.json", book);
    let text = printed(home.path(), &["lint", "book.json"]);
    assert!(text.contains("book.json (Lost): warning: has no keys"), "{text}");
    refused_with_output(home.path(), &["lint", "book.json", "--strict"]);
}

fn refused_with_output(home: &Path, arguments: &[&str]) {
    assert!(!crate::run::run(home, arguments).status.success(), "{arguments:?} succeeded");
}

#[tokio::test]
async fn a_vault_is_registered_watched_kept_over_a_restart_and_taken_out() {
    let home = home();
    note(home.path(), "other/Ferry.md", "---\ntags: lorebook\nkeys: ferry\n---\nIt is late.\n");
    let named = ["--vault", "vault"];
    let folder = home.path().join("other").canonicalize().unwrap();
    let new = json!({"name": "other", "folder": folder});
    let undo = {
        let server = Server::with(home.path(), &named);
        let (_, before) = server.api("GET", "/vaults", &Value::Null).await;
        assert_eq!(before["items"].as_array().unwrap().len(), 1, "{before}");
        assert_eq!(
            (&before["items"][0]["name"], &before["items"][0]["notes"]),
            (&json!(""), &json!(3))
        );
        let (status, wrote) = server.api("POST", "/vaults", &new).await;
        assert_eq!(status, 201, "{wrote}");
        let vaults = &wrote["item"]["items"];
        let named = |vault: &Value| {
            let mut vault = vault.clone();
            // It may have been read a second ago by now.
            vault.as_object_mut().unwrap().remove("age_seconds");
            vault
        };
        let (first, was) = (named(&vaults[0]), named(&before["items"][0]));
        assert_eq!(first, was, "the others stay as they are called");
        assert_eq!((&vaults[1]["name"], &vaults[1]["notes"]), (&json!("other"), &json!(1)));
        assert_eq!(server.api("POST", "/vaults", &new).await.0, 409);
        let missing = json!({"name": "x", "folder": folder.join("none")});
        assert_eq!(server.api("POST", "/vaults", &missing).await.0, 422);
        assert_eq!(server.api("DELETE", "/vaults/none", &Value::Null).await.0, 404);
        wrote["undo"].clone()
    };
    let server = Server::with(home.path(), &named);
    let messages = [json!({"role": "user", "content": "Is the ferry there?"})];
    let reply = server.say(&messages).await;
    let last = server.stored(&reply).await;
    assert!(last["record"]["prompt"].to_string().contains("It is late."), "{last}");
    let text = "---\ntags: lorebook\nkeys: quay\n---\nIt is wet.\n";
    note(home.path(), "other/Quay.md", text);
    for _ in 0..500 {
        let (_, vaults) = server.api("GET", "/vaults", &Value::Null).await;
        if vaults["items"][1]["notes"] == 2 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let (status, vaults) = server.api("POST", "/vaults/refresh", &json!({})).await;
    assert_eq!((status, &vaults["items"][1]["notes"]), (200, &json!(2)));
    let (status, again) = server.api("POST", "/undo", &json!({"undo": undo})).await;
    assert_eq!(status, 200, "{again}");
    let (_, vaults) = server.api("GET", "/vaults", &Value::Null).await;
    assert_eq!(vaults["items"].as_array().unwrap().len(), 1, "{vaults}");
    server.api("POST", "/undo", &again).await;
    let (status, wrote) = server.api("DELETE", "/vaults/other", &Value::Null).await;
    assert_eq!((status, wrote["item"]["items"].as_array().unwrap().len()), (200, 1));
    assert_eq!(server.api("DELETE", "/vaults/vault", &Value::Null).await.0, 404);
}

/// A vault of 300 notes without any tag of ours, in folders, every third with an alias.
fn untagged(home: &Path) {
    for at in 0..300 {
        let folder = ["People", "Places", "Things"][at % 3];
        let alias =
            if at % 3 == 0 { format!("---\naliases: [Alias{at}]\n---\n") } else { String::new() };
        let text = format!("{alias}Fact {at} stands here. See [[Note{}]].\n", (at + 1) % 300);
        note(home, &format!("vault/{folder}/Note{at}.md"), &text);
    }
}

#[test]
fn a_vault_without_a_tag_of_ours_needs_one_setting_and_no_edit() {
    let home = TempDir::new().unwrap();
    untagged(home.path());
    let chat = r#"[{"role":"user","content":"Who is alias33, and where is note101?"}]"#;
    write(home.path(), "chat.json", chat);
    let weave = ["weave", "--vault", "vault", "--chat", "chat.json"];
    let output = loreloom(home.path(), &weave).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(
        told.contains("`vault.notes` is `tagged`; `--vault-notes all` uses all 300 notes"),
        "{told}"
    );
    assert!(!String::from_utf8(output.stdout).unwrap().contains("Fact"));
    for (notes, facts) in
        [("all", [true, true]), ("People", [true, false]), ("all, -People", [false, true])]
    {
        let text = printed(home.path(), &[&weave[..], &["--vault-notes", notes]].concat());
        let found = ["Fact 33 ", "Fact 101 "].map(|fact| text.contains(fact));
        assert_eq!(found, facts, "{notes}: {text}");
        assert_eq!(text.matches("Fact ").count(), facts.iter().filter(|one| **one).count());
    }
}

#[test]
fn a_model_that_is_to_select_is_asked_or_its_name_is_asked_for() {
    let home = home();
    let weave = ["weave", "--vault", "vault", "--chat", "chat.json", "--vault-mode", "two-stage"];
    let told = refused(home.path(), &weave);
    assert!(told.contains("`two-stage`") && told.contains("--selector-model NAME@URL"), "{told}");
    let chosen = r#"{"selected":[{"title":"tower","confidence":"high","reason":"seen"}]}"#;
    let script = Script::new().on("/v1/chat/completions", Reply::text(chosen));
    let chooser = ModelServer::start(script).unwrap();
    let model = format!("m@{}/v1", chooser.base_url());
    let text = printed(home.path(), &[&weave[..], &["--selector-model", &model, "--why"]].concat());
    assert!(text.contains("the selecting model chose 1 of 2 notes"), "{text}");
    assert_eq!(
        table(&text)[..2],
        [
            "Tower     woven          4  chosen by the selecting model (high): seen; in the chat at depth 4",
            "The Bell  out            -  “bell”, “The Bell” were found, but the selecting model did not choose it",
        ]
    );
}

#[tokio::test]
async fn a_registered_vault_says_which_of_its_notes_are_lore() {
    let home = TempDir::new().unwrap();
    note(home.path(), "plain/Gate.md", "The gate is bone. #place\n");
    note(home.path(), "plain/Diary.md", "Today I slept.\n");
    let folder = home.path().join("plain").canonicalize().unwrap();
    let server = Server::with(home.path(), &["--no-memory"]);
    for (name, notes, lore) in
        [("tagged", Value::Null, 0), ("all", json!("all"), 2), ("place", json!("#place"), 1)]
    {
        let new = json!({"name": name, "folder": folder, "notes": notes});
        let (status, wrote) = server.api("POST", "/vaults", &new).await;
        assert_eq!(status, 201, "{wrote}");
        let (_, vaults) = server.api("GET", "/vaults", &Value::Null).await;
        let vault = &vaults["items"][0];
        assert_eq!((&vault["notes"], &vault["files"]), (&json!(lore), &json!(2)), "{vaults}");
        let advice = vault["advice"].as_str().unwrap_or_default();
        assert_eq!(advice.contains("--vault-notes all"), lore == 0, "{vaults}");
        let path = format!("/vaults/{name}");
        assert_eq!(server.api("DELETE", &path, &Value::Null).await.0, 200);
    }
}
