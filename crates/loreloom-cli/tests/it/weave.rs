//! `loreloom weave`.

use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::run::{printed, refused, write};

const BOOK: &str = r#"{"entries":{
  "0":{"uid":0,"key":["bell"],"comment":"The bell","content":"The bell is cracked.","position":1,"order":10},
  "1":{"uid":1,"key":["tower"],"comment":"The tower","content":"The tower leans.","position":0,"order":20},
  "2":{"uid":2,"key":["rope"],"comment":"The rope","content":"The rope is new.","position":0,"disable":true},
  "3":{"uid":3,"key":["bell"],"keysecondary":["priest"],"selective":true,"comment":"The priest","content":"He is deaf.","position":0}
}}"#;

const JSONL: &str = r#"{"user_name":"Mira","character_name":"Torvald","chat_metadata":{}}
{"name":"Torvald","is_user":false,"mes":"The tower is far behind us."}
{"name":"Mira","is_user":true,"mes":"I am tired."}
{"name":"Torvald","is_user":false,"mes":"Then rest."}
{"name":"Mira","is_user":true,"mes":"Did you hear the bell?"}
"#;

const MESSAGES: &str = r#"[{"role":"system","content":"You are Torvald."},{"role":"user","content":"Did you hear the bell?"}]"#;

fn home() -> TempDir {
    let home = TempDir::new().unwrap();
    write(home.path(), "book.json", BOOK);
    write(home.path(), "chat.jsonl", JSONL);
    write(home.path(), "messages.json", MESSAGES);
    home
}

fn weave<'a>(extra: &[&'a str]) -> Vec<&'a str> {
    let mut arguments = vec!["weave", "--book", "book.json"];
    arguments.extend_from_slice(extra);
    arguments
}

fn json(home: &Path, extra: &[&str]) -> Value {
    serde_json::from_str(&printed(home, &weave(extra))).unwrap()
}

#[test]
fn the_prompt_is_printed_with_its_lore() {
    let home = home();
    let text = printed(home.path(), &weave(&["--chat", "messages.json"]));
    assert_eq!(
        text,
        "[system]\nYou are Torvald.\n\n[system]\nThe bell is cracked.\n\n[user]\nDid you hear the bell?\n\n\
         World Info: 5 of 2048 tokens (o200k_base)\n"
    );
}

#[test]
fn why_explains_hits_and_misses() {
    let home = home();
    let text = printed(home.path(), &weave(&["--chat", "chat.jsonl", "--why"]));
    let table: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("ENTRY")).collect();
    assert_eq!(
        table,
        [
            "ENTRY       VERDICT   TOKENS  WHY",
            "The bell    woven          5  “bell” in message 4, by Mira; after the character",
            "The priest  out            -  “bell” was found, but none of “priest” was",
            "The tower   out            -  “tower” is 4 messages back, but only the last 2 messages are scanned",
            "The rope    out            -  switched off",
        ]
    );
}

#[test]
fn scripts_get_spans_and_codes() {
    let home = home();
    let value = json(home.path(), &["--chat", "chat.jsonl", "--why", "--json"]);
    let span = &value["report"]["spans"][0];
    let message = usize::try_from(span["message"].as_u64().unwrap()).unwrap();
    let text = value["messages"][message]["content"].as_str().unwrap();
    let at = |key: &str| usize::try_from(span[key].as_u64().unwrap()).unwrap();
    assert_eq!(&text[at("start")..at("end")], "The bell is cracked.");
    let codes: Vec<&str> = value["verdicts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|verdict| verdict["outcome"]["code"].as_str().unwrap_or("activated"))
        .collect();
    assert_eq!(codes, ["activated", "secondary", "out_of_reach", "disabled"]);
    assert_eq!(value["verdicts"][0]["outcome"]["trigger"]["primary"]["at"]["start"], 17);
}

#[test]
fn a_card_brings_its_texts_and_its_book() {
    let home = home();
    let card = r#"{"spec":"chara_card_v2","spec_version":"2.0","data":{"name":"Torvald",
        "description":"{{char}} guards the bell with {{user}}.","personality":"","scenario":"","first_mes":"",
        "mes_example":"","creator_notes":"","system_prompt":"Write well.","post_history_instructions":"",
        "alternate_greetings":[],"tags":[],"creator":"","character_version":"","extensions":{},
        "character_book":{"extensions":{},"entries":[{"id":1,"keys":["tired"],"content":"He never sleeps.",
            "extensions":{},"enabled":true,"insertion_order":5,"position":"before_char"}]}}}"#;
    write(home.path(), "torvald.json", card);
    let text = printed(
        home.path(),
        &weave(&["--chat", "chat.jsonl", "--card", "torvald.json", "--depth", "4"]),
    );
    let parts: Vec<&str> = text.split("\n\n").take(4).collect();
    assert_eq!(
        parts,
        [
            "[system]\nWrite well.",
            "[system]\nHe never sleeps.\nThe tower leans.",
            "[system]\nTorvald guards the bell with Mira.",
            "[system]\nThe bell is cracked.",
        ]
    );
    let framed = ["--chat", "chat.jsonl", "--card", "torvald.json", "--wi-format", "[Lore: {0}]"];
    let text = printed(home.path(), &weave(&framed));
    assert!(text.contains("\n[Lore: The bell is cracked.]\n"), "{text}");
    let error = refused(home.path(), &weave(&["--chat", "chat.jsonl", "--card", "book.json"]));
    assert_eq!(error, "loreloom: `book.json` is no character's card\n");
}

#[test]
fn the_smallest_change_is_told_and_was_tried() {
    let home = home();
    for (entry, expected) in [
        ("The bell", "The bell fires as it is"),
        ("The priest", "The priest would have fired with: let the newest message say “priest”"),
        ("book/1", "The tower would have fired with: scan 4 messages for it"),
        ("2", "The rope would have fired with: switch it on; let the newest message say “rope”"),
    ] {
        let text = printed(home.path(), &weave(&["--chat", "chat.jsonl", "--explain", entry]));
        assert!(text.lines().any(|line| line.starts_with(expected)), "{text}");
    }
    let value = json(home.path(), &["--chat", "chat.jsonl", "--json", "--explain", "The tower"]);
    let change = serde_json::json!([{ "change": "scan_depth", "messages": 4 }]);
    assert_eq!(value["explained"]["fix"]["changes"], change);
    let fixes = value["explained"]["fixes"].as_array().unwrap();
    let words: Vec<&Value> = fixes.iter().map(|fix| &fix["words"][0]).collect();
    assert_eq!(words[0], "scan 4 messages for it");
    assert_eq!(*words.last().unwrap(), "make it constant");
    assert!(fixes.iter().all(|fix| fix["tokens"].as_i64() > Some(0)), "{value}");
    let error = refused(home.path(), &weave(&["--chat", "chat.jsonl", "--explain", "x"]));
    assert_eq!(error, "loreloom: no entry is called `x`\n");
}

#[test]
fn a_budget_that_is_too_small_lets_nothing_in() {
    let home = home();
    let extra = ["--chat", "chat.jsonl", "--json", "--context", "20", "--depth", "4"];
    let value = json(home.path(), &extra);
    assert_eq!(value["report"]["budgets"][0]["limit"], 5);
    assert_eq!(value["report"]["budgets"][0]["overflowed"], true);
    assert_eq!(value["report"]["spans"], Value::Array(Vec::new()));
}

#[test]
fn bad_files_are_refused_with_file_and_place() {
    let home = home();
    for (file, text, expected) in [
        ("cut.json", "{\"entries\":{\"0\":", "`cut.json`: not valid JSON: "),
        ("empty.json", "", "`empty.json`: the file is empty"),
        ("list.json", "[1,2]", "`list.json`: "),
        ("number.json", "{\"entries\":{\"0\":5}}", "`number.json`: "),
    ] {
        write(home.path(), file, text);
        let arguments = ["weave", "--book", file, "--chat", "chat.jsonl"];
        let error = if file == "number.json" {
            let output = crate::run::run(home.path(), &arguments);
            String::from_utf8(output.stderr).unwrap()
        } else {
            refused(home.path(), &arguments)
        };
        assert!(error.starts_with(&format!("loreloom: {expected}")), "{error}");
        assert_eq!(error.trim_end().lines().count(), 1, "{error}");
    }
    let error = refused(home.path(), &weave(&["--chat", "nothing.jsonl"]));
    assert!(error.starts_with("loreloom: `nothing.jsonl` cannot be read: "), "{error}");
    let error = refused(home.path(), &weave(&["--chat", "book.json"]));
    assert!(error.starts_with("loreloom: `book.json`: not a lorebook, card or chat"), "{error}");
    let error = refused(home.path(), &weave(&["--chat", "chat.jsonl", "--generation", "loud"]));
    assert!(error.contains("found `loud`"), "{error}");
}

const CHAIN: &str = r#"{"entries":{
  "0":{"uid":0,"key":["bell"],"comment":"The bell","content":"The bell hangs on a rope.","position":0},
  "1":{"uid":1,"key":["rope"],"comment":"The rope","content":"The rope was made by Odo.","position":0},
  "2":{"uid":2,"key":["Odo"],"comment":"Odo","content":"He is dead.","position":0},
  "3":{"uid":3,"key":["/od(o/i"],"comment":"Broken","content":"x","position":0}
}}"#;

#[test]
fn why_follows_an_entry_down_to_what_was_said_and_names_broken_keys() {
    let home = home();
    write(home.path(), "chain.json", CHAIN);
    let arguments = ["weave", "--book", "chain.json", "--chat", "messages.json", "--why"];
    let text = printed(home.path(), &arguments);
    let said = "“Odo” in the text of The rope; before the character \
                <- The rope: “rope” in the text of The bell <- The bell: “bell” in message 1 (user)";
    assert!(text.contains(said), "{text}");
    let note = "the key “/od(o/i” is no valid regular expression and is looked for as plain text";
    assert!(text.contains(&format!("note: Broken: {note}\n")), "{text}");
    let inspected = printed(home.path(), &["inspect", "chain.json"]);
    assert!(inspected.contains(&format!("  Broken: {note}\n")), "{inspected}");
}

#[test]
fn vectorized_entries_are_found_by_meaning() {
    let home = home();
    write(
        home.path(),
        "meaning.json",
        r#"{"entries":{
          "0":{"uid":0,"key":[],"vectorized":true,"comment":"Food","content":"The man eats bread and cheese for dinner.","position":0},
          "1":{"uid":1,"key":[],"vectorized":true,"comment":"Law","content":"Parliament taxes the import of copper wire.","position":0},
          "2":{"uid":2,"key":["zyx"],"comment":"Keyed","content":"The man eats bread and cheese for dinner.","position":0}
        }}"#,
    );
    write(
        home.path(),
        "dinner.json",
        r#"[{"role":"user","content":"A man is eating a piece of bread for dinner."}]"#,
    );
    let arguments = ["weave", "--book", "meaning.json", "--chat", "dinner.json", "--why", "--json"];
    let woven: Value = serde_json::from_str(&printed(home.path(), &arguments)).unwrap();
    let outcome = |at: usize| woven["verdicts"][at]["outcome"].clone();
    let trigger = &outcome(0)["trigger"];
    assert_eq!(
        (&woven["verdicts"][0]["title"], &trigger["reason"]["code"]),
        (&"Food".into(), &"semantic".into())
    );
    assert_eq!(trigger["reason"]["threshold"], 0.25);
    assert!(trigger["reason"]["score"].as_f64().unwrap() > 0.6, "{woven}");
    assert_eq!(outcome(1)["code"], "not_near");
    assert_eq!(outcome(2)["code"], "no_key_found");
    let strict = [
        "weave",
        "--book",
        "meaning.json",
        "--chat",
        "dinner.json",
        "--set",
        "world_info.vectors.threshold=0.99",
        "--explain",
        "Food",
    ];
    let text = printed(home.path(), &strict);
    assert!(
        text.contains("Food would have fired with: lower the threshold of meaning to 0."),
        "{text}"
    );
}

#[test]
fn regex_scripts_change_entries_on_their_way() {
    let home = home();
    write(
        home.path(),
        "scripts.json",
        r#"[{"scriptName":"a","findRegex":"/cracked/","replaceString":"whole","placement":[5],"promptOnly":true},
            {"scriptName":"b","findRegex":"/bell/","replaceString":"gong","placement":[1],"promptOnly":true}]"#,
    );
    let text = printed(
        home.path(),
        &weave(&["--chat", "messages.json", "--set", "lore.regex_scripts=@scripts.json"]),
    );
    assert!(text.contains("[system]\nThe bell is whole.\n"), "{text}");
    write(home.path(), "bad.json", r#"{"findRegex":"/(/"}"#);
    let bad = weave(&["--chat", "messages.json", "--set", "lore.regex_scripts=@bad.json"]);
    let error = refused(home.path(), &bad);
    assert!(error.contains("`/(/` is not a regular expression"), "{error}");
}

#[test]
fn variables_go_from_entry_to_entry() {
    let home = home();
    write(
        home.path(),
        "variables.json",
        r#"{"entries":{
          "0":{"uid":0,"constant":true,"order":20,"content":"{{setvar::who::Odo}}{{incvar::seen}} seen","position":0},
          "1":{"uid":1,"key":["rope"],"order":30,"content":"{{setvar::who::Mira}}","position":0},
          "2":{"uid":2,"constant":true,"order":10,"content":"It was {{getvar::who}}.","position":0}
        }}"#,
    );
    let arguments = ["weave", "--book", "variables.json", "--chat", "messages.json"];
    let text = printed(home.path(), &arguments);
    assert!(text.contains("It was Odo.\n"), "{text}");
    assert!(text.contains("1 seen\n"), "{text}");
}

#[test]
fn a_card_with_decorators_is_woven_by_their_rules_and_tells_why() {
    let home = home();
    let card = r#"{"spec":"chara_card_v3","spec_version":"3.0","data":{"name":"Torvald",
        "description":"","first_mes":"","extensions":{},"character_book":{"extensions":{},"entries":[
        {"keys":["tired"],"name":"Sleep","content":"@@role user\nHe never sleeps.","enabled":true,
         "insertion_order":5,"extensions":{}},
        {"keys":["tired"],"name":"Late","content":"@@activate_only_after 99\nHe yawns.","enabled":true,
         "insertion_order":6,"extensions":{}},
        {"keys":["storm"],"name":"Storm","content":"It blows.","enabled":true,
         "insertion_order":7,"extensions":{}}]}}}"#;
    write(home.path(), "torvald.json", card);
    let woven = |more: &[&str]| {
        let arguments = ["--chat", "chat.jsonl", "--card", "torvald.json", "--depth", "4", "--why"];
        printed(home.path(), &weave(&[&arguments[..], more].concat()))
    };
    for more in [&[][..], &["--dialect", "cards"], &["--dialect", "cards", "--profile", "card-v3"]]
    {
        let text = woven(more);
        assert!(text.contains("[user]\nHe never sleeps."), "{more:?}: {text}");
        assert!(!text.contains("He yawns."), "{more:?}: {text}");
        for (entry, verdict) in [("Sleep", "woven"), ("Late", "out"), ("Storm", "out")] {
            let row = text.lines().find(|line| line.starts_with(entry)).unwrap();
            assert!(row.contains(verdict), "{row}");
        }
    }
    // SillyTavern leaves these decorators out of the text and does nothing else.
    let text = woven(&["--dialect", "world-info"]);
    assert!(text.contains("He yawns.") && !text.contains("[user]\nHe never sleeps."), "{text}");
}

#[test]
fn effects_that_a_chat_brings_along_go_on() {
    let home = home();
    let timed = r#"{"entries":{"0":{"uid":0,"key":["gong"],"comment":"Cooling","content":"x","position":0,"cooldown":9},
      "1":{"uid":1,"key":["gong"],"comment":"Reading","content":"{{getvar::who}} rings.","position":0}}}"#;
    write(home.path(), "timed.json", timed);
    let chat = |hash: u64| {
        let record = format!(r#"{{"hash":{hash},"start":1,"end":7,"protected":false}}"#);
        let header = format!(
            r#"{{"user_name":"Mira","character_name":"Torvald","chat_metadata":{{"variables":{{"who":"Odo"}},"timedWorldInfo":{{"cooldown":{{"timed.0":{record}}}}}}}}}"#
        );
        format!(
            "{header}\n{{\"name\":\"Mira\",\"is_user\":true,\"mes\":\"A\"}}\n{{\"name\":\"Mira\",\"is_user\":true,\"mes\":\"A gong\"}}\n"
        )
    };
    let entry = r#"{"uid":0,"world":"timed","key":["gong"],"comment":"Cooling","content":"x","position":0,"cooldown":9,"decorators":[]}"#;
    write(home.path(), "chat.jsonl", &chat(loreloom_core::dialects::worldinfo::cyrb53(entry)));
    let arguments = ["weave", "--book", "timed.json", "--chat", "chat.jsonl", "--why"];
    let text = printed(home.path(), &[&arguments[..], &["--explain", "Cooling"]].concat());
    assert!(text.contains("cooling down until message 7"), "{text}");
    assert!(text.contains("\nOdo rings.\n"), "{text}");
    let fixes = "Cooling would have fired with: wait until the chat has 7 messages (+1 tokens)\n  \
                 or with: take its cooldown away (+1 tokens)\n";
    assert!(text.ends_with(fixes), "{text}");
    // Another version of the entry is another entry.
    write(home.path(), "chat.jsonl", &chat(1));
    let text = printed(home.path(), &arguments);
    assert!(text.contains("Cooling  woven"), "{text}");
}

#[test]
fn an_outlet_is_woven_only_if_a_marker_takes_it() {
    let home = home();
    let book = r#"{"entries":{"0":{"uid":0,"key":["bell"],"comment":"Crack","content":"It is cracked.",
        "position":7,"outletName":"spot"}}}"#;
    write(home.path(), "book.json", book);
    let woven = |main: &str| {
        let text =
            printed(home.path(), &weave(&["--chat", "messages.json", "--main", main, "--why"]));
        let verdict = text.lines().last().unwrap_or_default().to_owned();
        (text.lines().nth(1).unwrap_or_default().to_owned(), verdict)
    };
    assert_eq!(
        woven("{{user}} hears: {{outlet::spot}}"),
        (
            "User hears: It is cracked.".to_owned(),
            "Crack  woven          4  “bell” in message 1 (user); at the outlet “spot”".to_owned()
        )
    );
    assert_eq!(
        woven("Be brief."),
        (
            "Be brief.".to_owned(),
            "Crack  out            -  the prompt has no marker for “spot”, so it was not put in"
                .to_owned()
        )
    );
}
