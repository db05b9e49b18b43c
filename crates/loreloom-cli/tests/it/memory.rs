//! `memory`, `jobs` and `model-test`, over a store in a folder of its own.

use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::run::{printed, refused, write};

/// A chat of SillyTavern: a first line, then messages.
fn home() -> TempDir {
    let home = TempDir::new().unwrap();
    let line = |name: &str, is_user: bool, text: &str| {
        json!({ "name": name, "is_user": is_user, "mes": text }).to_string()
    };
    let head = json!({ "user_name": "Mira", "character_name": "Torvald", "chat_metadata": {} });
    let mut lines = vec![head.to_string()];
    lines.push(line("Mira", true, "The silver whistle lies in the bell tower."));
    lines.push(line("Torvald", false, "I will remember that."));
    for day in 0..12 {
        lines.push(line("Mira", true, &format!("It rains on day {day}.")));
        lines.push(line("Torvald", false, "Again."));
    }
    write(home.path(), "chat.jsonl", &lines.join("\n"));
    printed(home.path(), &["import", "chat.jsonl", "--data", "data", "--chat", "tale"]);
    home
}

fn memory(home: &Path, arguments: &[&str]) -> String {
    printed(home, &[&["memory", "--data", "data"], arguments].concat())
}

fn value(home: &Path, arguments: &[&str]) -> Value {
    serde_json::from_str(&memory(home, &[arguments, &["--json"]].concat())).unwrap()
}

#[test]
fn a_memory_is_added_changed_pinned_merged_retired_and_all_of_it_undone() {
    let home = home();
    let home = home.path();
    let who = ["--character", "Torvald"];
    let added = value(home, &["add", "Torvald keeps bees.", who[0], who[1]]);
    let id = added["did"].as_str().unwrap().strip_prefix("added ").unwrap().to_owned();
    memory(home, &["edit", &id, "--text", "Torvald keeps goats.", who[0], who[1]]);
    memory(home, &["pin", &id, who[0], who[1]]);
    let listed = value(home, &["list", who[0], who[1]]);
    assert_eq!(listed[0]["fields"]["content"], "Torvald keeps goats.");
    assert_eq!(listed[0]["fields"]["pinned"], true);
    let other = value(home, &["add", "Torvald is old.", who[0], who[1]]);
    let other = other["did"].as_str().unwrap().strip_prefix("added ").unwrap().to_owned();
    let text = "Old Torvald keeps goats.";
    let merged = value(home, &["merge", &id, &other, "--text", text, who[0], who[1]]);
    assert_eq!(value(home, &["list", who[0], who[1]]).as_array().unwrap().len(), 1);
    memory(home, &["undo", merged["write"].as_str().unwrap()]);
    assert_eq!(value(home, &["list", who[0], who[1]]).as_array().unwrap().len(), 2);
    memory(home, &["retire", &id, who[0], who[1]]);
    assert_eq!(value(home, &["list", who[0], who[1]]).as_array().unwrap().len(), 1);
    memory(home, &["restore", &id, who[0], who[1]]);
    let shown = value(home, &["show", &id, who[0], who[1]]);
    assert_eq!(shown["events"].as_array().unwrap().len(), 6);
    let owners = value(home, &["list"]);
    assert_eq!(owners[0]["id"], "Torvald");
    let forgot = value(home, &["forget", "tale", "--and-character", "Torvald"]);
    assert_eq!(value(home, &["list", who[0], who[1]]), json!([]));
    memory(home, &["undo", forgot["write"].as_str().unwrap()]);
    assert_eq!(value(home, &["list", who[0], who[1]]).as_array().unwrap().len(), 2);
    memory(home, &["forget", who[0], who[1]]);
    assert_eq!(value(home, &["list", who[0], who[1]]), json!([]));
    let wrong = ["memory", "--data", "data", "retire", "nothing", who[0], who[1]];
    assert!(refused(home, &wrong).contains("character `Torvald` has no record `nothing`"));
}

#[test]
fn everything_goes_out_and_in_again_and_smart_memorys_data_too() {
    let home = home();
    let home = home.path();
    let settings = json!({ "extension_settings": { "smart_memory": { "characters": {
        "Torvald": { "memories": [{ "type": "fact", "content": "Torvald is deaf." }] },
    } } } });
    write(home, "settings.json", &settings.to_string());
    assert_eq!(memory(home, &["import", "settings.json"]), "Torvald: taken in\n");
    assert_eq!(memory(home, &["import", "settings.json"]), "Torvald: nothing new\n");
    let chat = json!({ "chat_metadata": { "smartMemory": { "summary": "So far." } } });
    write(home, "smart.jsonl", &format!("{chat}\n{{\"mes\":\"x\"}}\n"));
    assert_eq!(memory(home, &["import", "smart.jsonl", "--chat", "tale"]), "tale: taken in\n");
    memory(home, &["export", "all.json"]);
    let head = json!({ "user_name": "Mira", "character_name": "T", "chat_metadata": {} });
    let said = json!({ "name": "Mira", "is_user": true, "mes": "x" });
    write(home, "other.jsonl", &format!("{head}\n{said}"));
    printed(home, &["import", "other.jsonl", "--data", "elsewhere", "--chat", "x"]);
    let there = |arguments: &[&str]| {
        printed(home, &[&["memory", "--data", "elsewhere"], arguments].concat())
    };
    let waits =
        "the chat `tale` is not stored yet: its memories are used once it is imported or played\n";
    let stored =
        format!("2 writes are new\ncharacter Torvald: 1 record\nchat tale: 1 record\n{waits}");
    assert_eq!(there(&["import", "all.json"]), stored);
    let listed = there(&["list", "--chat", "tale"]);
    assert!(listed.contains("So far.") && listed.ends_with(waits), "{listed}");
    assert!(there(&["list", "--character", "Torvald"]).contains("Torvald is deaf."));
    let fresh = ["memory", "--data", "fresh", "import", "all.json"];
    assert_eq!(printed(home, &fresh), stored, "into a folder that is not there");
    let named = ["memory", "--data", "newer", "import", "smart.jsonl", "--chat", "later"];
    let taken = format!("later: taken in\n{}", waits.replace("tale", "later"));
    assert_eq!(printed(home, &named), taken, "the chat comes later");
    write(home, "wrong.json", "{\"a\":1}");
    let said = refused(home, &["memory", "--data", "data", "import", "wrong.json"]);
    assert!(said.contains("this is no archive of memory"), "{said}");
}

#[test]
fn a_secret_is_revealed_and_a_memory_never_was_so() {
    let home = home();
    let home = home.path();
    let who = ["--character", "Torvald"];
    let fields = [
        "--set",
        "id=\"k1\"",
        "--set",
        "type=\"hiding\"",
        "--set",
        "subject=\"Torvald\"",
        "--set",
        "target=\"Mira\"",
        "--set",
        "content=\"Torvald sold the bell\"",
    ];
    memory(home, &[&["put", "insight", "k1", who[0], who[1]][..], &fields[..]].concat());
    let said = memory(home, &["reveal", "k1", "--to", "Mira", "--in", "tale", who[0], who[1]]);
    assert!(said.starts_with("revealed to Mira (undo with"), "{said}");
    let known = value(home, &["list", "--character", "Mira"]);
    let known = &known[0]["fields"];
    assert_eq!((&known["type"], &known["subject"]), (&json!("knows"), &json!("Mira")));
    let events = value(home, &["show", "k1", who[0], who[1]])["events"].clone();
    assert_eq!(events.as_array().unwrap().last().unwrap()["kind"], "revealed");
    let added = value(home, &["add", "Torvald has a brother.", who[0], who[1]]);
    let id = added["did"].as_str().unwrap().strip_prefix("added ").unwrap().to_owned();
    let text = ["--text", "Torvald is an only child."];
    memory(home, &["retcon", &id, text[0], text[1], who[0], who[1]]);
    let listed = value(home, &["list", who[0], who[1]]).to_string();
    assert!(listed.contains("only child") && !listed.contains("has a brother"), "{listed}");
    let events = value(home, &["show", &id, who[0], who[1]])["events"].clone();
    assert_eq!(events.as_array().unwrap().last().unwrap()["kind"], "retconned");
    let wrong =
        ["memory", "--data", "data", "reveal", &id, "--to", "Mira", "--in", "tale", who[0], who[1]];
    let said = refused(home, &wrong);
    assert!(said.contains("only knowledge can be revealed"), "{said}");
}

#[test]
fn passages_are_found_without_a_model() {
    let home = home();
    let found = value(home.path(), &["search", "Where is the whistle?", "--chat", "tale"]);
    assert_eq!(found["passages"][0]["message"], 1);
}

#[test]
fn a_search_says_how_alike_is_enough() {
    let home = home();
    let home = home.path();
    memory(home, &["add", "Torvald keeps bees.", "--chat", "tale"]);
    for (least, count) in [("0", 1), ("0.99", 0)] {
        let found = value(home, &["search", "goats", "--chat", "tale", "--min", least]);
        assert_eq!(found["memories"].as_array().unwrap().len(), count, "{least}");
    }
    let wrong = ["memory", "--data", "data", "search", "x", "--chat", "tale", "--min", "2"];
    assert_eq!(refused(home, &wrong), "loreloom: `--min` must be from 0 to 1, found 2\n");
}

#[test]
fn a_model_is_tried_out_and_nothing_is_stored() {
    let home = TempDir::new().unwrap();
    let tried = printed(home.path(), &["model-test", "--api", "offline", "--json"]);
    let tried: Value = serde_json::from_str(&tried).unwrap();
    let trials: Vec<&str> =
        tried.as_array().unwrap().iter().filter_map(|one| one["trial"].as_str()).collect();
    assert_eq!(trials, ["long_term", "session", "arcs", "ledger", "epistemic", "together"]);
    assert!(std::fs::read_dir(home.path()).unwrap().next().is_none());
}

#[test]
fn a_chat_is_caught_up_with_as_a_job() {
    let home = home();
    let home = home.path();
    let caught = ["catch-up", "tale", "--character", "Torvald", "--api", "offline"];
    assert_eq!(memory(home, &caught), "job 1 is done\n");
    let jobs = printed(home, &["jobs", "--data", "data", "--all", "--json"]);
    let jobs: Value = serde_json::from_str(&jobs).unwrap();
    assert_eq!((&jobs[0]["state"], &jobs[0]["kind"]), (&json!("done"), &json!("catch_up")));
    assert_eq!(printed(home, &["jobs", "--data", "data", "--json"]), "[]\n");
    assert_eq!(
        printed(home, &["jobs", "--data", "data", "--cancel", "1"]),
        "0 jobs are cancelled\n"
    );
}

#[test]
fn records_of_every_kind_are_noted_and_threads_follow_a_character() {
    let home = home();
    let home = home.path();
    let chat = ["--chat", "tale"];
    let thread = r#"content="Find the bell""#;
    memory(home, &["put", "arc", "Find the bell", chat[0], chat[1], "--set", thread]);
    let listed = value(home, &["list", chat[0], chat[1]]);
    assert_eq!((&listed[0]["kind"], &listed[0]["id"]), (&json!("arc"), &json!("Find the bell")));
    let pinned = value(home, &["pin", "Find", chat[0], chat[1], "--to", "Torvald"]);
    let kinds = |listed: &Value| -> Vec<String> {
        let list = listed.as_array().unwrap().iter();
        list.map(|one| one["kind"].as_str().unwrap().to_owned()).collect()
    };
    let who = ["list", "--character", "Torvald"];
    assert_eq!(kinds(&value(home, &who)), ["pinned_arc"]);
    memory(home, &["undo", pinned["write"].as_str().unwrap()]);
    assert!(kinds(&value(home, &who)).is_empty());
    for (id, name) in [("e1", "Cap"), ("e2", "Captain Venn")] {
        let name = format!("name=\"{name}\"");
        let id_field = format!("id=\"{id}\"");
        let put =
            ["put", "entity", id, "--character", "Torvald", "--set", &id_field, "--set", &name];
        memory(home, &put);
    }
    memory(home, &["merge-entities", "Cap", "Captain Venn", "--character", "Torvald"]);
    let listed = value(home, &who);
    assert_eq!(listed[0]["fields"]["aliases"], json!(["Cap"]));
    let wrong =
        ["memory", "--data", "data", "put", "rumour", "x", chat[0], chat[1], "--set", "a=1"];
    assert!(refused(home, &wrong).contains("there is no record `rumour`"));
}

#[test]
fn settings_of_memory_are_read_and_a_mistake_is_refused_by_its_name() {
    let home = home();
    let home = home.path();
    let policies = r#"memory.policies={"Torvald":"off"}"#;
    printed(home, &["memory", "--data", "data", "--set", policies, "list"]);
    for command in [
        &["memory", "--data", "data", "--set", "memory.longterm_budget=5", "list"][..],
        &["serve", "--port", "0", "--data", "data", "--set", "memory.longterm_budget=5"],
    ] {
        let said = refused(home, command);
        assert!(said.contains("there is no setting `memory.longterm_budget`"), "{said}");
    }
}

#[test]
fn a_recap_is_for_those_who_were_away() {
    let home = home();
    let recap = ["recap", "tale", "--if-away", "--api", "offline"];
    assert_eq!(memory(home.path(), &recap), "", "the chat has just been imported");
    let told = memory(home.path(), &["recap", "tale", "--api", "offline"]);
    assert!(!told.trim().is_empty());
}

#[test]
fn a_read_only_session_is_begun_shown_and_dropped() {
    let home = home();
    let home = home.path();
    let scratch = |step: &str| memory(home, &["scratch", step, "tale"]);
    assert_eq!(scratch("show"), "tale: none\n");
    assert_eq!(scratch("begin"), "tale: nothing is remembered from here on\n");
    assert_eq!(scratch("show"), "tale: open\n");
    let twice = ["memory", "--data", "data", "scratch", "begin", "tale"];
    assert!(refused(home, &twice).contains("has a read-only session already"));
    assert_eq!(scratch("drop"), "tale: the story is where the session began\n");
    assert_eq!(scratch("show"), "tale: none\n");
}

#[test]
fn a_summary_is_written_on_demand_and_can_be_undone() {
    let home = home();
    let home = home.path();
    let now = ["now", "summary", "tale", "--character", "Torvald", "--api", "offline"];
    let done = value(home, &now);
    let kinds = || -> Vec<String> {
        let listed = value(home, &["list", "--chat", "tale"]);
        let list = listed.as_array().unwrap().iter();
        list.map(|one| one["kind"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(kinds(), ["summary"]);
    memory(home, &["undo", done["write"].as_str().unwrap()]);
    assert!(kinds().is_empty());
}

#[test]
fn threads_of_a_group_wait_until_their_chat_is_named() {
    let home = home();
    let home = home.path();
    let settings = json!({ "extension_settings": { "smart_memory": {
        "characters": { "Torvald": { "memories": [{ "type": "fact", "content": "Torvald is deaf." }] } },
        "group_arcs": { "1700": [{ "content": "Find the bell", "ts": 5 }, { "content": "Pay the ferry" }] },
    } } });
    write(home, "settings.json", &settings.to_string());
    assert_eq!(
        memory(home, &["import", "settings.json"]),
        "Torvald: taken in\ngroup 1700: 2 threads wait for `--group 1700 --chat CHAT`\n"
    );
    let group = ["import", "settings.json", "--group", "1700", "--chat", "tale"];
    assert_eq!(memory(home, &group), "tale: taken in\n");
    assert_eq!(memory(home, &group), "tale: nothing new\n");
    let listed = value(home, &["list", "--chat", "tale"]);
    let threads: Vec<(&Value, &Value)> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (&one["fields"]["content"], &one["fields"]["persistent"]))
        .collect();
    let pinned = json!(true);
    assert_eq!(threads, [(&json!("Find the bell"), &pinned), (&json!("Pay the ferry"), &pinned)]);
    let wrong =
        ["memory", "--data", "data", "import", "settings.json", "--group", "9", "--chat", "tale"];
    assert!(refused(home, &wrong).contains("no threads of a group `9`"));
}

#[test]
fn a_timeline_is_told_by_any_name() {
    let home = home();
    let home = home.path();
    let who = ["--character", "Torvald"];
    memory(home, &["add", "Odo Venn owns the boat.", who[0], who[1]]);
    memory(home, &["add", "It rains.", who[0], who[1]]);
    let name = r#"name="Odo Venn""#;
    let aliases = r#"aliases=["Captain"]"#;
    let put = ["put", "entity", "e1", who[0], who[1], "--set", name, "--set", aliases];
    memory(home, &[&put[..], &["--set", r#"id="e1""#, "--set", r#"type="character""#]].concat());
    let told = value(home, &["timeline", "captain", "--chat", "tale", who[0], who[1]]);
    assert_eq!(
        (&told["name"], &told["moments"][0]["text"]),
        (&json!("Odo Venn"), &json!("Odo Venn owns the boat."))
    );
    let shown = memory(home, &["timeline", "Odo Venn", "--chat", "tale", who[0], who[1]]);
    assert!(shown.starts_with("Odo Venn, character (Captain)\n"), "{shown}");
    let nobody = ["memory", "--data", "data", "timeline", "Lis", "--chat", "tale"];
    assert!(refused(home, &nobody).contains("nothing is remembered of `Lis`"));
}

#[test]
fn chats_that_are_not_there_have_no_memory_and_a_write_is_undone_once() {
    let home = home();
    let home = home.path();
    let over =
        |arguments: &[&str]| refused(home, &[&["memory", "--data", "data"], arguments].concat());
    for name in ["smart.jsonl", "settings.json"] {
        write(home, name, "{}");
    }
    let no_chat = "loreloom: only a stored chat has a memory: there is no chat `nope`\n";
    for arguments in [
        &["add", "It rains.", "--chat", "nope"][..],
        &["list", "--chat", "nope"],
        &["list", "--all", "--chat", "nope"],
        &["import", "smart.jsonl", "--chat", "nope"],
        &["import", "settings.json", "--group", "1700", "--chat", "nope"],
        &["forget", "nope"],
        &["forget", "nope", "--and-character", "Torvald"],
    ] {
        assert_eq!(over(arguments), no_chat, "{arguments:?}");
    }
    assert_eq!(value(home, &["list"]), json!([]));
    let added = value(home, &["add", "It rains.", "--chat", "tale"]);
    let write = added["write"].as_str().unwrap();
    let undone = value(home, &["undo", write]);
    let twice = over(&["undo", write]);
    assert_eq!(twice, format!("loreloom: write `{write}` was undone already\n"));
    // An undo is a write like others: it is undone once, and then the first counts again.
    let undo = undone["write"].as_str().unwrap();
    memory(home, &["undo", undo]);
    assert_eq!(value(home, &["list", "--chat", "tale"]).as_array().unwrap().len(), 1);
    assert_eq!(over(&["undo", undo]), format!("loreloom: write `{undo}` was undone already\n"));
    memory(home, &["undo", write]);
    assert_eq!(value(home, &["list", "--chat", "tale"]), json!([]));
}
