//! Vaults that live elsewhere, models that choose, notebooks and scenes: over the binary.

use std::path::Path;

use loreloom_testkit::{
    model_server::{ModelServer, Reply, Script},
    obsidian_server::ObsidianServer,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    run::{loreloom, printed, run, write},
    serve::Server,
};

const BELL: &str = "---\ntags: [lorebook]\nkeys: [bell]\n---\nThe bell is cracked.\n";
const TOWER: &str = "---\ntags: [lorebook]\nkeys: [tower]\n---\nThe tower leans.\n";

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

/// The texts that went into the turn of a story so far.
async fn woven(server: &Server, messages: &[Value]) -> String {
    let reply = server.say(messages).await;
    let last = server.stored(&reply).await;
    let injections = last["record"]["injections"].as_array().unwrap();
    injections.iter().map(|one| one["text"].as_str().unwrap()).collect::<Vec<_>>().join("\n")
}

fn home() -> TempDir {
    // Fails only if another test was faster.
    let _installed = rustls::crypto::ring::default_provider().install_default();
    let home = TempDir::new().unwrap();
    std::fs::create_dir(home.path().join("vault")).unwrap();
    write(home.path(), "vault/Bell.md", BELL);
    write(home.path(), "vault/Tower.md", TOWER);
    home
}

#[test]
fn a_key_that_obsidian_refuses_is_told() {
    let home = home();
    let obsidian = ObsidianServer::start_encrypted("k").unwrap();
    obsidian.put("places/Bell.md", BELL);
    write(home.path(), "o.crt", obsidian.certificate().unwrap());
    let url = obsidian.base_url();
    let arguments = [
        "--vault",
        url.as_str(),
        "--vault-key-env",
        "HOME",
        "--vault-certificate",
        "o.crt",
        "--set",
        "vault.refresh.ttl_seconds=0",
    ];
    let refused = loreloom(home.path(), &["serve", "--port", "0", "--data", "data"])
        .args(arguments)
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && told.contains("refuses the key (status 401)"), "{told}");
}

/// The codes of what lint finds, and whether it is content.
fn lint(home: &Path, arguments: &[&str]) -> (bool, Vec<(String, String)>) {
    let mut all = vec!["lint", "--json"];
    all.extend_from_slice(arguments);
    let output = run(home, &all);
    let text = String::from_utf8(output.stdout).unwrap();
    let found = text.lines().map(|line| {
        let finding: Value = serde_json::from_str(line).unwrap();
        let part = |name: &str| finding[name].as_str().unwrap().to_owned();
        (part("code"), part("message"))
    });
    (output.status.success(), found.collect())
}

fn codes(found: &[(String, String)]) -> Vec<&str> {
    found.iter().map(|(code, _)| code.as_str()).collect()
}

#[test]
fn lint_tells_how_notes_are_reached_and_who_chooses_them() {
    let home = home();
    let obsidian = ObsidianServer::start(home.path().to_str().unwrap()).unwrap();
    obsidian.put("Bell.md", &BELL.replace("keys: [bell]", "requires: Tower\nkeys: [bell]"));
    let url = obsidian.base_url();
    let (good, found) = lint(home.path(), &[&url]);
    assert!(!good && codes(&found) == ["not_read", "no_key"], "{found:?}");
    assert!(found[0].1.contains("refuses the key (status 401)"), "{found:?}");
    let ttl = ["--vault-key-env", "HOME", "--set", "vault.refresh.ttl_seconds=0"];
    let (good, found) = lint(home.path(), &[&[url.as_str()], &ttl[..]].concat());
    assert!(!good && codes(&found) == ["unknown_required", "read_every_turn"], "{found:?}");
    write(home.path(), "settings.json", r#"{"cacheTTL": 0, "aiSearchEnabled": true}"#);
    let file = ["--vault-settings", "settings.json"];
    let all = [&[url.as_str(), "--vault-key-env", "HOME"], &file[..]].concat();
    let expected = ["unknown_required", "no_summary", "no_selector", "read_every_turn"];
    assert_eq!(codes(&lint(home.path(), &all).1), expected);
    // A folder is watched, so when it is read again is nobody's choice.
    let (good, found) = lint(home.path(), &[&["vault"], &file[..]].concat());
    assert!(!good && codes(&found) == ["no_summary", "no_summary", "no_selector"], "{found:?}");
    let named = [&["vault", "--selector-model", "m"], &file[..]].concat();
    let (good, found) = lint(home.path(), &named);
    assert!(good && codes(&found) == ["no_summary", "no_summary"], "{found:?}");
    let gaps = json!([{"type": "search", "query": "the king", "frequency": 3}]);
    let head = json!({"chat_metadata": {"deeplore_lore_gaps": gaps}}).to_string();
    write(home.path(), "chat.jsonl", &head);
    let (good, found) = lint(home.path(), &["vault", "--chat", "chat.jsonl"]);
    let told = "`the king` was looked for 3 times, and no note tells it";
    assert_eq!((good, found), (true, vec![("unmet".to_owned(), told.to_owned())]));
}

#[tokio::test]
async fn obsidian_is_read_over_https_and_read_again_when_it_is_due() {
    let home = home();
    let key = home.path().to_str().unwrap();
    let obsidian = ObsidianServer::start_encrypted(key).unwrap();
    obsidian.put("places/Bell.md", BELL);
    write(home.path(), "o.crt", obsidian.certificate().unwrap());
    let url = obsidian.base_url();
    let arguments = [
        "--vault",
        url.as_str(),
        "--vault-key-env",
        "HOME",
        "--vault-certificate",
        "o.crt",
        "--set",
        "vault.refresh.ttl_seconds=0",
        "--no-memory",
    ];
    let server = Server::with(home.path(), &arguments);
    let chat = [user("I hear a bell.")];
    assert!(woven(&server, &chat).await.contains("The bell is cracked."));
    obsidian.put("places/Bell.md", &BELL.replace("cracked", "whole"));
    let mut found = String::new();
    for _ in 0..200 {
        found = woven(&server, &chat).await;
        if found.contains("The bell is whole.") {
            break;
        }
    }
    assert!(found.contains("The bell is whole."), "{found}");
    obsidian.remove("places/Bell.md");
    for _ in 0..200 {
        found = woven(&server, &chat).await;
        if found.is_empty() {
            break;
        }
    }
    assert_eq!(found, "", "an emptied vault has no notes");
    drop(server);
    world_info_becomes_notes(home.path(), &obsidian);
}

fn world_info_becomes_notes(home: &Path, obsidian: &ObsidianServer) {
    let url = obsidian.base_url();
    let book = r#"{"entries":{"0":{"uid":0,"key":["gate"],"comment":"Gate","content":"Bone.","order":70}}}"#;
    write(home, "book.json", book);
    let import = [
        "import",
        "book.json",
        "--into",
        "vault",
        url.as_str(),
        "--vault-key-env",
        "HOME",
        "--vault-certificate",
        "o.crt",
    ];
    printed(home, &import);
    let note = obsidian.text("book/Gate.md").unwrap_or_else(|| panic!("{:?}", obsidian.asked()));
    assert!(note.contains("gate") && note.contains("Bone."), "{note}");
}

#[tokio::test]
async fn a_folder_is_followed_and_registered_beside_an_obsidian_that_went_away() {
    let home = home();
    let key = home.path().to_str().unwrap();
    let obsidian = ObsidianServer::start(key).unwrap();
    obsidian.put("Gate.md", "---\ntags: lorebook\nkeys: gate\n---\nThe gate is bone.\n");
    let far = format!("far={}", obsidian.base_url());
    let arguments = ["--vault", "near=vault", "--vault", &far, "--vault-key-env", "HOME"];
    let server = Server::with(home.path(), &[&arguments[..], &["--no-memory"]].concat());
    let chat = [user("The bell, the gate.")];
    let found = woven(&server, &chat).await;
    assert!(found.contains("cracked") && found.contains("bone"), "{found}");
    obsidian.fail_with(Some(500));
    // Fields of its own are no reason to lose the notes that cannot be read now.
    std::fs::create_dir(home.path().join("vault/DeepLore")).unwrap();
    write(home.path(), "vault/DeepLore/field-definitions.yaml", "fields:\n  - name: mood\n");
    write(home.path(), "vault/Bell.md", &BELL.replace("cracked", "whole"));
    let mut found = String::new();
    for _ in 0..200 {
        found = woven(&server, &chat).await;
        if found.contains("whole") {
            break;
        }
    }
    assert!(found.contains("whole") && found.contains("bone"), "{found}");
    std::fs::create_dir(home.path().join("more")).unwrap();
    write(home.path(), "more/Rope.md", &TOWER.replace("tower", "rope"));
    let folder = home.path().join("more").canonicalize().unwrap();
    let new = json!({"name": "more", "folder": folder});
    let (status, wrote) = server.api("POST", "/vaults", &new).await;
    assert_eq!(status, 201, "{wrote}");
    let (_, vaults) = server.api("GET", "/vaults", &Value::Null).await;
    let more = vaults["items"].as_array().unwrap().iter().find(|one| one["name"] == "more");
    let (_, notes) = server.api("GET", "/lore/entries?f=book:more", &Value::Null).await;
    for twice in [home.path().join("more/../more"), folder.parent().unwrap().to_owned()] {
        let again = json!({"name": "again", "folder": twice});
        let (status, refused) = server.api("POST", "/vaults", &again).await;
        assert_eq!((status, &refused["field"]), (409, &json!("folder")), "{refused}");
    }
    let counted = &notes["items"][0]["tokens"];
    assert!(counted.as_u64() > Some(0), "{notes}");
    assert_eq!(more.map(|one| (&one["notes"], &one["tokens"])), Some((&json!(1), counted)));
    let chat = [user("The bell, the gate, the rope.")];
    let found = woven(&server, &chat).await;
    assert!(["whole", "bone", "rope leans"].iter().all(|one| found.contains(one)), "{found}");
    let (_, lint) = server.api("GET", "/lint", &Value::Null).await;
    let gone = lint["items"].as_array().unwrap().iter().find(|one| one["code"] == "not_read");
    assert_eq!(gone.map(|one| &one["book"]), Some(&json!("far")), "{lint}");
    let (status, _) = server.api("DELETE", "/vaults/more", &Value::Null).await;
    assert_eq!(status, 200);
    let found = woven(&server, &chat).await;
    assert!(found.contains("bone") && !found.contains("rope leans"), "{found}");
}

#[tokio::test]
async fn an_obsidian_is_registered_and_waited_for_after_a_restart() {
    let home = home();
    let folder = home.path().canonicalize().unwrap();
    write(home.path(), "obsidian.key", "k-canary\n");
    let key = format!("file:{}", folder.join("obsidian.key").display());
    let obsidian = ObsidianServer::start("k-canary").unwrap();
    obsidian.put("Gate.md", "---\ntags: lorebook\nkeys: gate\n---\nThe gate is bone.\n");
    let url = obsidian.base_url();
    let chat = [user("The bell, the gate.")];
    {
        let server = Server::with(home.path(), &["--no-memory"]);
        let near = json!({"name": "near", "folder": folder.join("vault")});
        assert_eq!(server.api("POST", "/vaults", &near).await.0, 201);
        for (wrong, told) in [
            (json!({"name": "far", "url": url}), "refuses the key"),
            (json!({"name": "far", "url": "http://8.8.8.8:27123"}), "is a public address"),
        ] {
            let (status, refused) = server.api("POST", "/vaults", &wrong).await;
            assert_eq!((status, &refused["field"]), (422, &json!("url")), "{refused}");
            assert!(refused["detail"].as_str().unwrap().contains(told), "{refused}");
        }
        let new = json!({"name": "far", "url": url, "key": key});
        let (status, wrote) = server.api("POST", "/vaults", &new).await;
        assert_eq!(status, 201, "{wrote}");
        assert!(!wrote.to_string().contains("obsidian.key"), "{wrote}");
        let found = woven(&server, &chat).await;
        assert!(found.contains("cracked") && found.contains("bone"), "{found}");
        // What one key has read is not for who comes without.
        assert_eq!(server.api("DELETE", "/vaults/far", &Value::Null).await.0, 200);
        let (status, refused) =
            server.api("POST", "/vaults", &json!({"name": "far", "url": url})).await;
        assert_eq!(status, 422, "{refused}");
        assert_eq!(server.api("POST", "/vaults", &new).await.0, 201);
    }
    {
        // A key that is gone takes no other vault with it.
        std::fs::rename(folder.join("obsidian.key"), folder.join("elsewhere")).unwrap();
        let server = Server::with(home.path(), &["--no-memory"]);
        let found = woven(&server, &chat).await;
        assert!(found.contains("cracked") && !found.contains("bone"), "{found}");
        std::fs::rename(folder.join("elsewhere"), folder.join("obsidian.key")).unwrap();
    }
    // One that does not answer keeps neither the server nor the other vaults out.
    obsidian.fail_with(Some(500));
    let server = Server::with(home.path(), &["--no-memory"]);
    let found = woven(&server, &chat).await;
    assert!(found.contains("cracked") && !found.contains("bone"), "{found}");
    let (_, vaults) = server.api("GET", "/vaults", &Value::Null).await;
    assert_eq!(vaults["items"][0]["problems"].as_array().unwrap().len(), 1, "{vaults}");
    obsidian.fail_with(None);
    assert_eq!(server.api("POST", "/vaults/refresh", &json!({})).await.0, 200);
    assert!(woven(&server, &chat).await.contains("bone"));
}

#[tokio::test]
async fn a_model_chooses_notes_and_a_failure_is_told() {
    let home = home();
    let chosen = r#"{"selected":[{"title":"Tower","confidence":"high","reason":"seen"}]}"#;
    let script = Script::new().on("/v1/chat/completions", Reply::text(chosen));
    let script = script.on("/v1/chat/completions", Reply::status(429, "later"));
    let chooser = ModelServer::start(script).unwrap();
    let url = format!("{}/v1", chooser.base_url());
    let model = format!("m@{url}");
    let arguments = [
        "--vault",
        "vault",
        "--vault-mode",
        "two-stage",
        "--selector-model",
        model.as_str(),
        "--no-memory",
        "--set",
        "vault.selection.on_failure=constants",
    ];
    let server = Server::with(home.path(), &arguments);
    let text = woven(&server, &[user("The bell of the tower!")]).await;
    assert!(text.contains("leans") && !text.contains("cracked"), "{text}");
    let failed = woven(&server, &[user("A bell, and another story.")]).await;
    assert_eq!(failed, "");
    drop(server);
    let why =
        printed(home.path(), &["why", "--chat", "story", "--at", "1", "--data", "data", "--trace"]);
    assert!(why.contains("mode: two-stage\nSTAGE"), "{why}");
    assert!(why.contains("requires and excludes"), "{why}");
    let refused = run(home.path(), &["serve", "--vault", "vault", "--vault-mode", "ai-only"]);
    let told = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(told.contains("--selector-model NAME"), "{told}");
}

#[tokio::test]
async fn notebooks_and_scenes_are_written_by_hand_and_count_from_then_on() {
    let home = home();
    let arguments = ["--vault", "vault", "--set", "notebooks.author.on=true", "--no-memory"];
    let first = {
        let server = Server::with(home.path(), &arguments);
        let reply = server.say(&[user("I hear a bell.")]).await;
        server.stored(&reply).await;
        reply
    };
    let over =
        |arguments: &[&str]| printed(home.path(), &[arguments, &["--data", "data"]].concat());
    over(&["notebook", "write", "story", "--text", "Slow burn."]);
    over(&["notebook", "add", "story", "--text", "No dragons."]);
    assert_eq!(over(&["notebook", "show", "story"]), "Slow burn.\nNo dragons.\n");
    let scene =
        over(&["scene", "story", "--pin", "Tower", "--block", "Bell", "--scene", "era=old"]);
    let scene: Value = serde_json::from_str(&scene).unwrap();
    assert_eq!(scene["context"], json!({"era": "old"}));
    let server = Server::with(home.path(), &arguments);
    // The last reply asked for again, and the next turn: both see it.
    let again = woven(&server, &[user("I hear a bell.")]).await;
    let next = [
        user("I hear a bell."),
        json!({"role": "assistant", "content": first}),
        user("And the bell?"),
    ];
    let next = woven(&server, &next).await;
    for text in [again, next] {
        assert!(text.contains("Slow burn.\nNo dragons."), "{text}");
        assert!(text.contains("leans") && !text.contains("cracked"), "{text}");
    }
    drop(server);
    let why: Value =
        serde_json::from_str(&over(&["why", "--chat", "story", "--at", "3", "--json"])).unwrap();
    assert_eq!(why["reproduced"], true, "{why}");
    over(&["scene", "story", "--unpin", "tower", "--unblock", "bell"]);
    over(&["notebook", "clear", "story"]);
    assert_eq!(over(&["notebook", "show", "story"]), "\n");
    assert!(is_timeline(home.path()));
}

/// `simulate` tells of a chat file what comes in and what leaves.
fn is_timeline(home: &Path) -> bool {
    let said = |role: &str, text: &str| format!(r#"{{"role":"{role}","content":"{text}"}}"#);
    let chat = [
        said("user", "A bell."),
        said("assistant", "Yes."),
        said("user", "And now?"),
        said("assistant", "Nothing."),
        said("user", "Well."),
    ];
    write(home, "chat.json", &format!("[{}]", chat.join(",")));
    let simulate = ["simulate", "--vault", "vault", "--set", "vault.scan_depth=3", "chat.json"];
    let told = printed(home, &simulate);
    let lines: Vec<&str> = told.lines().skip(1).map(str::trim).collect();
    let json: Value =
        serde_json::from_str(&printed(home, &[&simulate[..], &["--json"]].concat())).unwrap();
    assert_eq!(json["turns"][0]["on"][0]["title"], "Bell", "{json}");
    assert_eq!(json["turns"][2]["off"][0]["title"], "Bell", "{json}");
    lines == ["1    1 in  +Bell", "3    1 in  =", "5    0 in  -Bell"]
}

/// The warnings of the newest turn, by code.
async fn warned(server: &Server, text: &str) -> Vec<String> {
    let reply = server.say(&[user(text)]).await;
    let last = server.stored(&reply).await;
    let warnings = last["record"]["report"]["warnings"].as_array().unwrap().iter();
    warnings.map(|one| one["code"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_server_starts_while_obsidian_is_away_and_takes_it_up_later() {
    let home = home();
    let key = home.path().to_str().unwrap();
    let obsidian = ObsidianServer::start(key).unwrap();
    obsidian.put("Gate.md", "---\ntags: lorebook\nkeys: gate\n---\nThe gate is bone.\n");
    obsidian.fail_with(Some(503));
    let url = obsidian.base_url();
    let arguments = ["--vault", url.as_str(), "--vault-key-env", "HOME", "--no-memory"];
    let server = Server::with(home.path(), &arguments);
    assert_eq!(warned(&server, "The gate?").await, ["old_notes"]);
    obsidian.fail_with(None);
    let mut found = String::new();
    for at in 0..400 {
        found = woven(&server, &[user(&format!("The gate, {at}."))]).await;
        if found.contains("bone") {
            break;
        }
    }
    assert!(found.contains("bone"), "{found}");
    assert_eq!(warned(&server, "A gate!").await, [""; 0]);
}

#[tokio::test]
async fn the_turn_that_finds_notes_old_reads_them_first() {
    let home = home();
    let key = home.path().to_str().unwrap();
    let obsidian = ObsidianServer::start(key).unwrap();
    let gate = |what: &str| format!("---\ntags: lorebook\nkeys: gate\n---\nThe gate is {what}.\n");
    obsidian.put("Gate.md", &gate("bone"));
    let url = obsidian.base_url();
    let arguments = ["--vault", url.as_str(), "--vault-key-env", "HOME", "--no-memory"];
    let fresh = ["--set", "vault.refresh.ttl_seconds=0", "--set", "vault.refresh.wait_ms=60000"];
    let server = Server::with(home.path(), &[&arguments[..], &fresh].concat());
    for what in ["iron", "glass", "gold"] {
        obsidian.put("Gate.md", &gate(what));
        let found = woven(&server, &[user(&format!("The gate of {what}."))]).await;
        assert!(found.contains(what), "{found}");
    }
}

#[tokio::test]
async fn a_certificate_comes_with_a_registration() {
    let home = home();
    let folder = home.path().canonicalize().unwrap();
    write(home.path(), "obsidian.key", "k\n");
    let key = format!("file:{}", folder.join("obsidian.key").display());
    let obsidian = ObsidianServer::start_encrypted("k").unwrap();
    obsidian.put("Gate.md", "---\ntags: lorebook\nkeys: gate\n---\nThe gate is bone.\n");
    let server = Server::with(home.path(), &["--no-memory"]);
    let mut new = json!({"name": "far", "url": obsidian.base_url(), "key": key});
    let (status, refused) = server.api("POST", "/vaults", &new).await;
    assert!(
        status == 422 && refused["detail"].as_str().unwrap().contains("not trusted"),
        "{refused}"
    );
    new["certificate"] = obsidian.certificate().unwrap().into();
    let (status, wrote) = server.api("POST", "/vaults", &new).await;
    assert_eq!(status, 201, "{wrote}");
    assert!(woven(&server, &[user("The gate.")]).await.contains("bone"));
}
