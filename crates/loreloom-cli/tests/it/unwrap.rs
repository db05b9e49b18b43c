//! `loreloom weave --wrap` and `loreloom unwrap`.

use std::{io::Write as _, process::Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::run::{loreloom, printed, refused, write};

const BOOK: &str = r#"{"entries":{
  "0":{"uid":0,"key":["bell"],"comment":"The bell","content":"It is cracked.\n\nSince the storm [/LB] </lorebook>.","position":1,"order":10},
  "1":{"uid":1,"key":["bell"],"keysecondary":["hear"],"selective":true,"comment":"A \"quoted\" [name]","content":"Second.","position":4,"depth":0,"role":0,"order":20}
}}"#;

const MESSAGES: &str = r#"[{"role":"system","content":"You are Torvald."},{"role":"user","content":"Did you hear the bell?"}]"#;

fn home() -> TempDir {
    let home = TempDir::new().unwrap();
    write(home.path(), "book.json", BOOK);
    write(home.path(), "messages.json", MESSAGES);
    home
}

fn weave<'a>(wrap: &'a str, extra: &[&'a str]) -> Vec<&'a str> {
    let mut arguments = vec!["weave", "--book", "book.json", "--chat", "messages.json"];
    arguments.extend_from_slice(&["--wrap", wrap]);
    arguments.extend_from_slice(extra);
    arguments
}

#[test]
fn the_prompt_is_printed_with_wrapped_entries() {
    let home = home();
    let text = printed(home.path(), &weave("lb", &[]));
    assert_eq!(
        text,
        "[system]\nYou are Torvald.\n\n[system]\n[LB:The bell]It is cracked.\n\nSince the storm [\\/LB] </lorebook>.[/LB]\n\n\
         [user]\nDid you hear the bell?\n\n[system]\n[LB:A \"quoted\" [name\\]]Second.[/LB]\n\n\
         World Info: 40 of 2048 tokens (o200k_base)\n"
    );
    let plain = printed(home.path(), &weave("none", &[]));
    assert!(plain.contains("\nSecond.\n") && !plain.contains("quoted"), "{plain}");
}

#[test]
fn entries_come_back_from_every_format_with_their_metadata() {
    let home = home();
    let custom = "custom:<lore n=\"{{name}}\" by=\"{{triggered_by}}\">\\n{{content}}\\n</lore>";
    for wrap in [
        "xml-minimal",
        "xml-standard",
        "xml-detailed",
        "xml-maximum",
        "markdown",
        "lb",
        "world-info",
        custom,
    ] {
        let prompt = printed(home.path(), &weave(wrap, &["--json"]));
        write(home.path(), "prompt.json", &prompt);
        let mut arguments = vec!["unwrap", "prompt.json", "--json"];
        if wrap == custom {
            arguments.extend_from_slice(&["--wrap", custom]);
        }
        let read: Value = serde_json::from_str(&printed(home.path(), &arguments)).unwrap();
        let messages = read["messages"].as_array().unwrap();
        assert_eq!(messages.len(), 4, "{wrap}");
        let first = &messages[1]["segments"][0];
        assert_eq!(first["fields"]["name"], "The bell", "{wrap}");
        let content = "It is cracked.\n\nSince the storm [/LB] </lorebook>.";
        assert_eq!(first["content"], content, "{wrap}");
        let second = &messages[3]["segments"][0];
        assert_eq!(second["fields"]["name"], "A \"quoted\" [name]", "{wrap}");
        match wrap {
            "xml-standard" => assert_eq!(
                second["fields"],
                json!({"name": "A \"quoted\" [name]", "key": "bell", "secondary": ["hear"], "scan": "initial", "scan_depth": "2"})
            ),
            "xml-maximum" => {
                assert_eq!(second["fields"]["position"], "at_depth");
                assert_eq!(second["fields"]["matched_in"], json!(["0"]));
            }
            _ if wrap == custom => assert_eq!(second["fields"]["triggered_by"], json!(["user"])),
            _ => {}
        }
    }
}

#[test]
fn text_is_read_from_the_standard_input() {
    let home = home();
    let mut child = loreloom(home.path(), &["unwrap", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let text = "Intro\n<lorebook name=\"A\nB\" key=\"k\">\none\n\ntwo\n</lorebook> [LB:]x[/LB] end";
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        "A B\n  key: k\n  | one\n  | \n  | two\n\n(unnamed)\n  | x\n\n2 entries\n"
    );
}

#[test]
fn the_place_of_an_entry_is_told_and_none_is_said() {
    let home = home();
    let prompt = r#"{"messages":[{"role":"system","content":[{"type":"text","text":"[World Info: A]\nx\n[/World Info]"}]}]}"#;
    write(home.path(), "prompt.json", prompt);
    let text = printed(home.path(), &["unwrap", "prompt.json"]);
    assert_eq!(text, "A (message 1, system)\n  | x\n\n1 entry\n");
    assert_eq!(printed(home.path(), &["unwrap", "messages.json"]), "no wrapped entries\n");
}

#[test]
fn what_cannot_be_wrapped_or_read_is_refused_with_the_reason() {
    let home = home();
    for (wrap, reason) in [
        ("html", "or `custom:TEMPLATE`, found `html`"),
        ("custom:{{name}}: {{content}}", "a wrapper template must begin with fixed text"),
        ("custom:[x {{name}}]{{content}}", "fixed text must follow `{{content}}`"),
        ("custom:[x {{nome}}]{{content}}[/x]", "found `{{nome}}`"),
    ] {
        let error = refused(home.path(), &weave(wrap, &[]));
        assert!(error.contains(reason), "{error}");
        let error = refused(home.path(), &["serve", "--wrap", wrap, "--data", "d"]);
        assert!(error.contains(reason), "{error}");
    }
    let error = refused(home.path(), &["unwrap", "messages.json", "--wrap", "none"]);
    assert!(error.contains("`none` wraps nothing"), "{error}");
    let error = refused(home.path(), &["unwrap", "nothing.txt"]);
    assert!(error.starts_with("loreloom: `nothing.txt` cannot be read: "), "{error}");
    let error = refused(home.path(), &["unwrap", "book.json"]);
    assert!(error.starts_with("loreloom: `book.json`: "), "{error}");
}
