//! `chats`, `show`, `tree`, `why`, `replay` and the rest, over a story told to the server.

use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    run::{printed, refused, run, write},
    serve::Server,
};

const BOOK: &str = r#"{"entries":{
  "0":{"uid":0,"key":["bell"],"comment":"The bell","content":"The bell is cracked.","position":1,"sticky":4},
  "1":{"uid":1,"key":["tower"],"comment":"The tower","content":"The tower leans.","position":4,"depth":1},
  "2":{"uid":2,"key":["priest"],"comment":"The priest","content":"He is deaf.","position":0}
}}"#;

/// Today the bell is whole, and the priest has another key.
const NEW_BOOK: &str = r#"{"entries":{
  "0":{"uid":0,"key":["bell"],"comment":"The bell","content":"The bell is whole.","position":1,"sticky":4},
  "2":{"uid":2,"key":["tower"],"comment":"The priest","content":"He is deaf.","position":0}
}}"#;

const SYSTEM: &str = "You are Torvald. {{outlet::none}}";

fn said(role: &str, name: Option<&str>, text: &str) -> Value {
    match name {
        Some(name) => json!({ "role": role, "name": name, "content": text }),
        None => json!({ "role": role, "content": text }),
    }
}

/// Two turns, a swipe of the first reply in between, and a persona renamed for the second.
async fn told() -> TempDir {
    told_with(&["--book", "book.json"]).await
}

/// The same story, served with other arguments.
async fn told_with(arguments: &[&str]) -> TempDir {
    // Fails only if another test was faster.
    let _installed = rustls::crypto::ring::default_provider().install_default();
    let home = TempDir::new().unwrap();
    write(home.path(), "book.json", BOOK);
    write(home.path(), "new.json", NEW_BOOK);
    let server = Server::with(home.path(), arguments);
    let mut messages =
        vec![said("system", None, SYSTEM), said("user", Some("Mira"), "I hear a bell.")];
    let first = server.say(&messages).await;
    server.stored(&first).await;
    let swiped = server.say(&messages).await;
    server.stored(&swiped).await;
    messages[1] = said("user", Some("Ana"), "I hear a bell.");
    messages.push(said("assistant", None, &swiped));
    messages.push(said("user", Some("Ana"), "Let us go to the tower."));
    let reply = server.say(&messages).await;
    server.stored(&reply).await;
    home
}

fn over<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    [arguments, &["--data", "data"]].concat()
}

fn value(home: &Path, arguments: &[&str]) -> Value {
    serde_json::from_str(&printed(home, &over(arguments))).unwrap()
}

fn titles(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|one| one["title"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_past_turn_is_decided_again_to_the_byte() {
    let home = told().await;
    let home = home.path();
    for at in ["1", "3", "4"] {
        let why = value(home, &["why", "--chat", "story", "--at", at, "--json"]);
        assert_eq!((&why["reproduced"], &why["notes"]), (&json!(true), &Value::Null), "{at}");
        assert_eq!(why["messages"][0]["content"], "You are Torvald. ");
    }
    // The bell stays: the swipe did not make the engine forget the first turn's effect.
    let why = printed(home, &over(&["why", "--chat", "story", "--at", "3"]));
    let lines: Vec<&str> = why.lines().collect();
    assert!(lines[0].starts_with("message 3 (Ana: Let us go to the tower.), turn 3, 20"), "{why}");
    assert_eq!(lines[1], "decided again with that day's books: the same bytes");
    assert!(why.contains("\n[system]\nThe tower leans.\n"), "{why}");
    assert!(why.contains("The bell    woven          5  fired before and stays until message 5"));
    assert!(why.contains("The tower   woven          5  “tower” in message 3, by Ana"), "{why}");
    let one =
        printed(home, &over(&["why", "--chat", "story", "--at", "3", "--entry", "The priest"]));
    assert!(one.ends_with("The priest  out            -  none of its keys was found\n"), "{one}");
    let error = refused(home, &over(&["why", "--chat", "story", "--at", "9"]));
    assert_eq!(error, "loreloom: messages are numbered from 1 to 4, found 9\n");
    let error = refused(home, &over(&["why", "--chat", "none", "--at", "1"]));
    assert_eq!(error, "loreloom: there is no chat `none`\n");
    let error =
        refused(home, &over(&["why", "--chat", "story", "--at", "3", "--book", "new.json"]));
    assert!(error.contains("it needs `--with-today`"), "{error}");
    let newest = value(home, &["why", "--chat", "story", "--json"]);
    assert_eq!((&newest["turn"], &newest["message"]), (&json!(3), &json!(3)));
    // The first turn's reply was swiped away; the turn itself is still there.
    let why = printed(home, &over(&["why", "--chat", "story", "--turn", "1"]));
    assert!(why.starts_with("message 1 (Mira: "), "{why}");
    assert!(why.contains(", turn 1, 20"), "{why}");
    let error = refused(home, &over(&["why", "--chat", "story", "--turn", "4"]));
    assert_eq!(error, "loreloom: turns are numbered from 1 to 3, found 4\n");
}

#[tokio::test]
async fn a_turn_placed_for_the_cache_is_decided_again_to_the_byte_and_says_what_it_kept() {
    let home = told_with(&["--book", "book.json", "--placement", "stable"]).await;
    for at in ["1", "3", "4"] {
        let why = value(home.path(), &["why", "--chat", "story", "--at", at, "--json"]);
        assert_eq!((&why["reproduced"], &why["notes"]), (&json!(true), &Value::Null), "{at}");
        let cache = &why["report"]["cache"];
        assert_eq!(cache["provider"], "llama.cpp", "{cache}");
        assert!(cache["kept"]["total"].as_u64().unwrap() > 0, "{cache}");
    }
    // Lore of the second turn stands at its message, after what the first prompt said.
    let why = value(home.path(), &["why", "--chat", "story", "--at", "3", "--json"]);
    let told: Vec<&str> = why["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["content"].as_str().unwrap())
        .collect();
    let place = |text: &str| told.iter().position(|one| *one == text).unwrap();
    assert!(place("I hear a bell.") < place("The tower leans."), "{told:?}");
}

#[tokio::test]
async fn todays_books_show_what_changes() {
    let home = told().await;
    let home = home.path();
    let nothing = over(&["why", "--chat", "story", "--at", "3", "--with-today"]);
    let error = refused(home, &nothing);
    assert!(error.starts_with("loreloom: there are no books today: say them with"), "{error}");
    // The same book under another name is the same book.
    write(home, "renamed.json", NEW_BOOK);
    let today = ["why", "--chat", "story", "--at", "3", "--with-today", "--book", "renamed.json"];
    let answer = value(home, &[&today[..], &["--json"]].concat());
    assert_eq!(answer["reproduced"], true);
    let change = &answer["today"]["change"];
    assert_eq!(titles(&change["appeared"]), ["The priest"]);
    assert_eq!(titles(&change["vanished"]), ["The tower"]);
    assert_eq!(titles(&change["rewritten"]), ["The bell"]);
    let text = printed(home, &over(&today));
    assert!(text.contains("\nwith today's books:\n+ The priest: “tower” in message 3"), "{text}");
    assert!(text.contains("- The tower: not in the books\n"), "{text}");
    assert!(
        text.contains("\n- The tower leans.\n") && text.contains("\n+ He is deaf.\n"),
        "{text}"
    );
    // What stands in the bookcase is today's without being named.
    printed(home, &over(&["books", "add", "renamed.json", "--to", "character:Nobody"]));
    let nothing = ["why", "--chat", "story", "--at", "3", "--with-today", "--json"];
    let bound = value(home, &nothing);
    assert_eq!(titles(&bound["today"]["change"]["vanished"]), ["The bell", "The tower"]);
    printed(home, &over(&["books", "attach", "renamed", "everywhere"]));
    let free = value(home, &nothing);
    assert_eq!(free["today"]["change"], answer["today"]["change"]);
}

#[tokio::test]
async fn chats_show_and_tree_tell_the_story() {
    let home = told().await;
    let home = home.path();
    let chats = printed(home, &over(&["chats"]));
    let row = chats.lines().nth(1).unwrap();
    assert!(
        row.starts_with("story         4      3  20") && row.ends_with("I hear a bell."),
        "{row}"
    );
    assert_eq!(value(home, &["chats", "--json"])[0]["messages"], 4);
    let show = printed(home, &over(&["show", "story"]));
    assert!(show.starts_with(
        "1 Mira\nI hear a bell.\n  turn 1, normal: The bell (5 of 2048 tokens)\n  turn 2"
    ));
    let one = printed(home, &over(&["show", "story", "--at", "3"]));
    assert!(one.starts_with("3 Ana\n") && one.contains("\n    The tower leans.\n"), "{one}");
    assert_eq!(value(home, &["show", "story", "--json"])["messages"][2]["turns"][0]["id"], 3);
    let tree = printed(home, &over(&["tree", "story"]));
    let lines: Vec<&str> = tree.lines().collect();
    assert!(lines[0].starts_with("* 1 Mira: I hear a bell.  [2 turns]"), "{tree}");
    assert!(lines.last().unwrap().starts_with("* 4 Torvald: "), "{tree}");
}

#[tokio::test]
async fn a_cache_report_compares_modes_over_the_current_path() {
    let home = told().await;
    let home = home.path();
    let report = value(home, &["cache-report", "story", "--json"]);
    assert_eq!((&report["provider"], &report["left_out"]), (&json!("anthropic"), &json!(0)));
    // The swiped turn does not count; the bell lies before the chat in both turns.
    let messages: Vec<&Value> =
        report["turns"].as_array().unwrap().iter().map(|turn| &turn["message"]).collect();
    assert_eq!(messages, [1, 3]);
    let kept = |mode: &str| report["turns"][1]["modes"][mode]["kept"].as_u64().unwrap();
    let previous = |mode: &str| report["turns"][1]["modes"][mode]["previous"].as_u64().unwrap();
    assert_eq!(report["sent"]["kept"], report["modes"]["as-placed"]["kept"]);
    // The persona was renamed, but the prompt's texts were not.
    assert!(kept("bare") > 0 && kept("bare") < previous("bare"), "{report}");
    assert_eq!(kept("stable"), kept("as-placed"));
    let text = printed(home, &over(&["cache-report", "story", "--provider", "llama.cpp"]));
    assert!(text.starts_with("story: 1 turns after the first, tokens by "), "{text}");
    assert_eq!(text.lines().filter(|line| line.contains(" %")).count(), 4, "{text}");
    let error = refused(home, &over(&["cache-report", "story", "--provider", "acme"]));
    assert!(error.contains("a provider is one of `anthropic`, `openai`"), "{error}");
    let error = refused(home, &over(&["cache-report", "none"]));
    assert_eq!(error, "loreloom: there is no chat `none`\n");
}

#[tokio::test]
async fn an_export_moves_a_chat_with_its_books() {
    let home = told().await;
    let home = home.path();
    printed(home, &over(&["export", "story", "story.json"]));
    let error = refused(home, &over(&["export", "story", "story.json"]));
    assert_eq!(error, "loreloom: `story.json` exists already: `--force` overwrites it\n");
    let moved = printed(home, &["import", "story.json", "--data", "other"]);
    assert!(moved.starts_with("chat `story`: "), "{moved}");
    let why = ["why", "--chat", "story", "--at", "3", "--data", "other"];
    assert!(printed(home, &why).contains("the same bytes"));
    let error = refused(home, &["import", "story.json", "--data", "other"]);
    assert!(error.contains("a chat is imported where there is none of its id"), "{error}");
    write(home, "damaged.json", r#"{"format":"loreloom-chat","version":1}"#);
    let error = refused(home, &["import", "damaged.json", "--data", "other"]);
    assert!(error.contains("`damaged.json`: the chat is damaged"), "{error}");
}

#[tokio::test]
async fn a_backup_restores_and_the_doctor_fails_on_damage() {
    let home = told().await;
    let home = home.path();
    printed(home, &over(&["backup", "copy.sqlite"]));
    assert!(refused(home, &over(&["backup", "copy.sqlite"])).contains("exists already"));
    printed(home, &["restore", "copy.sqlite", "--data", "restored"]);
    assert!(
        refused(home, &["restore", "copy.sqlite", "--data", "restored"]).contains("exists already")
    );
    let (here, there) = (printed(home, &over(&["export", "story"])), ["export", "story"]);
    assert_eq!(printed(home, &[&there[..], &["--data", "restored"]].concat()), here);
    printed(home, &over(&["vacuum"]));
    assert_eq!(printed(home, &over(&["doctor"])), "nothing is wrong\n");
    assert_eq!(value(home, &["doctor", "--json"]), json!([]));
    let database = rusqlite::Connection::open(home.join("data/stories.sqlite")).unwrap();
    database.execute("DELETE FROM libraries", []).unwrap();
    let examined = run(home, &over(&["doctor"]));
    assert!(!examined.status.success());
    let findings = String::from_utf8(examined.stdout).unwrap();
    assert!(findings.starts_with("chat `story`: turn 1: library "), "{findings}");
    assert_eq!(findings.lines().count(), 1, "{findings}");
    let error = refused(home, &["chats", "--data", "nowhere"]);
    assert!(
        error.contains("there are no stories in `nowhere/stories.sqlite`: it is missing or empty"),
        "{error}"
    );
}

const JSONL: &str = r#"{"user_name":"Mira","character_name":"Torvald","chat_metadata":{}}
{"name":"Torvald","is_user":false,"mes":"Hello.","swipes":["Hello.","Well met.","Ho!"],"swipe_id":0}
{"name":"Mira","is_user":true,"mes":"I hear a bell."}
{"name":"Torvald","is_user":false,"mes":"It is far.","swipes":["It is near.","It is far."],"swipe_id":1}
{"name":"Note","is_user":false,"mes":"Night falls.","extra":{"type":"narrator"}}
{"name":"Mira","is_user":true,"mes":"To the tower!"}
"#;

const BRANCH: &str = r#"{"user_name":"Mira","character_name":"Torvald","chat_metadata":{"main_chat":"chat"}}
{"name":"Torvald","is_user":false,"mes":"Hello."}
{"name":"Mira","is_user":true,"mes":"I hear nothing."}
"#;

#[test]
fn a_sillytavern_chat_is_imported_with_swipes_and_branches() {
    let home = TempDir::new().unwrap();
    let home = home.path();
    write(home, "chat.jsonl", JSONL);
    write(home, "branch.jsonl", BRANCH);
    let imported = printed(home, &over(&["import", "chat.jsonl", "branch.jsonl"]));
    assert_eq!(imported, "chat `chat`: 9 messages, 3 other versions as branches\n");
    assert_eq!(
        printed(home, &over(&["tree", "chat"])),
        "  ├─ 1 Torvald: Well met.\n\
         \x20 ├─ 1 Torvald: Ho!\n\
         * 1 Torvald: Hello.\n\
         \x20 ├─ 2 Mira: I hear nothing.\n\
         * 2 Mira: I hear a bell.\n\
         \x20 ├─ 3 Torvald: It is near.\n\
         * 3 Torvald: It is far.\n\
         * 4 Note: Night falls.\n\
         * 5 Mira: To the tower!\n"
    );
    assert_eq!(printed(home, &over(&["doctor"])), "nothing is wrong\n");
    let error = refused(home, &over(&["import", "chat.jsonl"]));
    assert!(error.starts_with("loreloom: chat `chat` exists already"), "{error}");
    // What was imported moves like any other chat.
    printed(home, &over(&["export", "chat", "out.json"]));
    printed(home, &["import", "out.json", "--data", "other"]);
    let tree = printed(home, &["tree", "chat", "--data", "other"]);
    assert_eq!(tree.lines().count(), 9, "{tree}");
}

#[tokio::test]
async fn replay_prints_the_timeline_and_diff_run_what_changes() {
    let home = told().await;
    let home = home.path();
    assert_eq!(
        printed(home, &over(&["replay", "story"])),
        "story: 2 turns\n     1       5/2048  The bell\n     3      10/2048  The bell, The tower\n"
    );
    write(home, "chat.jsonl", JSONL);
    let timeline = value(home, &["replay", "chat.jsonl", "--book", "book.json", "--json"]);
    let fired: Vec<(u64, Vec<&str>)> = timeline["turns"]
        .as_array()
        .unwrap()
        .iter()
        .map(|turn| (turn["at"].as_u64().unwrap(), titles(&turn["fired"])))
        .collect();
    assert_eq!(fired, [(2, vec!["The bell"]), (5, vec!["The bell", "The tower"])]);
    let error = refused(home, &over(&["replay", "chat.jsonl"]));
    assert!(error.contains("were not kept: say them with `--book FILE`"), "{error}");
    let books = ["--old", "book.json", "--new", "new.json"];
    let diff =
        printed(home, &over(&[&["diff-run"][..], &books, &["chat.jsonl", "story"]].concat()));
    assert_eq!(
        diff,
        "chat.jsonl: 2 of 2 turns change, 0 no longer fit the budget\n\
         message 2: 5 → 5 tokens\n  ~ The bell (5 tokens)\n\
         message 5: 10 → 9 tokens\n  + The priest (4 tokens)\n  - The tower (5 tokens)\n  ~ The bell (5 tokens)\n\
         story: 2 of 2 turns change, 0 no longer fit the budget, 1 new firing looks accidental\n\
         message 1: 5 → 5 tokens\n  ~ The bell (5 tokens)\n\
         message 3: 10 → 9 tokens\n  + The priest (4 tokens, looks accidental)\n  - The tower (5 tokens)\n  ~ The bell (5 tokens)\n"
    );
    let tight = [&["diff-run", "--context", "20", "--json"][..], &books, &["chat.jsonl"]].concat();
    assert_eq!(value(home, &tight)["turns"], 2);
}
