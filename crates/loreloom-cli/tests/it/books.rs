//! `loreloom inspect`, `convert`, `diff` and `merge`.

use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    run::{printed, refused, run, write},
    serve::Server,
};

const BOOK: &str = r#"{
  "entries": {
    "0": {"uid": 0, "key": ["bell", "/ring(s|ing)/i"], "comment": "The bell", "content": "Cracked.", "position": 1, "mine": 1.50},
    "1": {"uid": 1, "key": ["tower"], "comment": "The tower", "content": "Leaning.\nOld.", "position": 0, "disable": true}
  }
}
"#;

fn home() -> TempDir {
    let home = TempDir::new().unwrap();
    write(home.path(), "book.json", BOOK);
    home
}

#[expect(clippy::disallowed_methods, reason = "a test looks at what was written")]
fn read(home: &Path, name: &str) -> String {
    std::fs::read_to_string(home.join(name)).unwrap()
}

#[test]
fn inspect_says_what_a_file_is() {
    let home = home();
    assert_eq!(
        printed(home.path(), &["inspect", "book.json"]),
        "book.json: sillytavern\n  book       book\n  dialect    world-info\n  \
         rules      SillyTavern's World Info: the newest 2 messages; whole words, without case; \
         recursion until nothing new is found; 25 % of the context, for all World Info together\n  \
         place      where each entry says\n  \
         entries    2 (0 constant, 1 switched off, 1 regex keys)\n"
    );
    let value: Value =
        serde_json::from_str(&printed(home.path(), &["inspect", "--json", "book.json"])).unwrap();
    assert_eq!((&value["format"], &value["entries"]), (&"sillytavern".into(), &2.into()));
}

#[test]
fn a_book_that_crosses_formats_and_comes_home_is_the_same() {
    let home = home();
    let there = ["convert", "book.json", "card.json", "--format", "lorebook-v3"];
    assert!(printed(home.path(), &there).starts_with("card.json: 2 entries as lorebook-v3\n"));
    printed(home.path(), &["convert", "card.json", "back.json", "--format", "sillytavern"]);
    assert_eq!(printed(home.path(), &["diff", "book.json", "back.json"]), "no difference\n");
    let error = refused(home.path(), &there);
    assert_eq!(error, "loreloom: `card.json` exists already: `--force` overwrites it\n");
    let error = refused(home.path(), &["convert", "book.json", "x", "--format", "nope"]);
    assert!(error.starts_with("loreloom: there is no format `nope`; the formats are: "), "{error}");
}

#[test]
fn diff_tells_keys_as_sets_and_text_by_line() {
    let home = home();
    write(
        home.path(),
        "new.json",
        &BOOK.replace("\"tower\"", "\"spire\"").replace("Old.", "Very old."),
    );
    let output = run(home.path(), &["diff", "book.json", "new.json"]);
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        "The tower: content\n  line 2\n  - Old.\n  + Very old.\nThe tower: key\n  - tower\n  + spire\n"
    );
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    // As of `git diff --exit-code`.
    let status = |old: &str, new: &str, more: &[&str]| {
        let arguments = [&["diff", old, new], more].concat();
        run(home.path(), &arguments).status.code()
    };
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(status("book.json", "new.json", &["--json"]), Some(1));
    assert_eq!(status("book.json", "book.json", &[]), Some(0));
    assert_eq!(status("book.json", "nowhere.json", &[]), Some(2));
    assert_eq!(status("book.json", "new.json", &["--what"]), Some(2));
}

#[test]
fn merge_joins_what_does_not_clash_and_keeps_ours_where_it_does() {
    let home = home();
    write(home.path(), "ours.json", &BOOK.replace("Cracked.", "Broken."));
    write(home.path(), "theirs.json", &BOOK.replace("\"tower\"", "\"spire\""));
    printed(home.path(), &["merge", "book.json", "ours.json", "theirs.json"]);
    let expected = BOOK.replace("Cracked.", "Broken.").replace("\"tower\"", "\"spire\"");
    assert_eq!(read(home.path(), "ours.json"), expected);

    write(home.path(), "theirs.json", &BOOK.replace("Cracked.", "Whole."));
    let output =
        run(home.path(), &["merge", "book.json", "ours.json", "theirs.json", "-o", "out.json"]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("Broken.") && text.contains("Whole."), "{text}");
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.ends_with("marked as `loreloom_conflicts` in `out.json`\n"), "{told}");
    assert!(read(home.path(), "out.json").contains("Broken."));
}

#[test]
fn a_book_that_did_not_change_is_told_so() {
    let home = home();
    let add = ["books", "add", "book.json", "--data", "data"];
    let text = printed(home.path(), &add);
    assert!(text.ends_with("change 1; `loreloom books undo 1` takes it back\n"), "{text}");
    let text = printed(home.path(), &add);
    assert!(text.ends_with("\nnothing changed\n") && !text.contains("undo"), "{text}");
    let text = printed(home.path(), &[&add[..], &["--json"]].concat());
    assert_eq!(text, "{\"revision\":1,\"changed\":false}\n");
}

/// A book of the configuration runs by the rules that are written there, and by no others.
#[tokio::test]
async fn the_rules_of_a_book_are_written_in_the_configuration() {
    let home = TempDir::new().unwrap();
    let book = r#"{"entries": {"0": {"uid": 0, "key": ["dragon"], "comment": "Dragons",
        "content": "They sleep.", "position": 0}}}"#;
    write(home.path(), "lair.json", book);
    for (rules, dialect, depth, finds) in [
        ("", "world-info", "the newest 2 messages", false),
        ("dialect = \"kobold\"", "kobold", "the whole chat", true),
        ("world_info.match_whole_words = false", "world-info", "the newest 2 messages", true),
    ] {
        let config = format!("[[books]]\nfile = \"lair.json\"\n{rules}\n");
        write(home.path(), "config.toml", &config);
        let server = Server::with(home.path(), &["--config", "config.toml", "--no-memory"]);
        let (_, books) = server.api("GET", "/books", &Value::Null).await;
        let book = &books["items"][0];
        assert_eq!(
            (&book["dialect"], &book["rules"]["depth"]),
            (&json!(dialect), &json!(depth)),
            "{rules}: {books}"
        );
        let reply = server.say(&[json!({"role": "user", "content": "Two dragons!"})]).await;
        let turn = server.stored(&reply).await;
        let verdict = &turn["record"]["report"]["verdicts"][0]["outcome"]["verdict"];
        assert_eq!(*verdict == "activated", finds, "{rules}: {turn}");
    }
}
