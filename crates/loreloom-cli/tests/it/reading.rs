//! Files that people wrote by hand, and folders without lore.

use std::{path::Path, process::Output};

use tempfile::TempDir;

use crate::run::{run, write};

#[expect(clippy::disallowed_methods, reason = "a test looks at what was written")]
fn read(home: &Path, name: &str) -> String {
    std::fs::read_to_string(home.join(name)).unwrap()
}

fn told(output: &Output) -> String {
    let (out, err) = (&output.stdout, &output.stderr);
    String::from_utf8([out.as_slice(), err.as_slice()].concat()).unwrap()
}

#[test]
fn files_by_hand_are_read_when_asked() {
    let home = TempDir::new().unwrap();
    let file = "{ // by hand\n\"entries\": {\"0\": {\"uid\": 0, \"position\": 0, \"content\": \"x\",\n\
                \"key\": [\"harbor; quay\",],},},}";
    write(home.path(), "lore.json", file);
    let strict = run(home.path(), &["convert", "lore.json", "out.json"]);
    assert_eq!(strict.status.code(), Some(1));
    assert_eq!(
        told(&strict),
        "loreloom: `lore.json`: not valid JSON: expected a key in quotes, found `/` at line 1, \
         column 3\n"
    );
    assert!(!home.path().join("out.json").exists());
    let relaxed = ["convert", "lore.json", "out.json", "--relaxed", "--split-keys"];
    assert_eq!(run(home.path(), &relaxed).status.code(), Some(0));
    let written = read(home.path(), "out.json");
    let written: serde_json::Value = serde_json::from_str(&written).unwrap();
    assert_eq!(written["entries"]["0"]["key"], serde_json::json!(["harbor", "quay"]));
    // Where nothing else changes, it is JSON all the same, and says what is not in it.
    let relaxed = run(home.path(), &["convert", "lore.json", "same.json", "--relaxed"]);
    assert!(told(&relaxed).contains("by hand"), "{}", told(&relaxed));
    let written: serde_json::Value = serde_json::from_str(&read(home.path(), "same.json")).unwrap();
    assert_eq!(written["entries"]["0"]["key"], serde_json::json!(["harbor; quay"]));
}

#[test]
fn an_export_writes_over_a_file_only_when_told() {
    let home = TempDir::new().unwrap();
    let book = r#"{"entries":{"0":{"uid":0,"position":0,"key":["a"],"content":"b"}}}"#;
    write(home.path(), "book.json", book);
    write(home.path(), "card.json", "mine");
    let export = ["export", "book.json", "card.json", "--format", "card-v3"];
    let refused = run(home.path(), &export);
    assert_eq!(told(&refused), "loreloom: `card.json` exists already: `--force` overwrites it\n");
    assert_eq!(read(home.path(), "card.json"), "mine");
    let forced = run(home.path(), &[&export[..], &["--force"]].concat());
    let told = told(&forced);
    assert!(told.starts_with("card.json: 1 entry as card-v3\n  nothing is lost\n"), "{told}");
}

#[test]
fn a_folder_without_lore_is_told() {
    let home = TempDir::new().unwrap();
    std::fs::create_dir(home.path().join("empty")).unwrap();
    write(home.path(), "empty/package.json", r#"{"name":"x"}"#);
    for arguments in
        [&["inspect", "empty"][..], &["convert", "empty", "out", "--format", "card-v3"]]
    {
        let output = run(home.path(), arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert_eq!(told(&output), "loreloom: there is no lore in `empty`\n", "{arguments:?}");
    }
    assert!(!home.path().join("out").exists());
}

#[test]
fn differences_and_conflicts_name_entries_by_their_titles() {
    let home = TempDir::new().unwrap();
    let book = |city: Option<&str>, other: &str| {
        let city = city.map(|text| {
            format!(r#""0":{{"uid":0,"position":0,"comment":"City","key":["a"],"content":"{text}"}}{other}"#)
        });
        format!(r#"{{"entries":{{{}}}}}"#, city.unwrap_or_default())
    };
    let harbor = r#","1":{"uid":1,"position":0,"comment":"Harbor","key":["h"],"content":"Grey."}"#;
    for (name, text) in [
        ("base.json", book(Some("Old."), harbor)),
        ("ours.json", book(Some("New."), "")),
        ("theirs.json", book(None, "")),
    ] {
        write(home.path(), name, &text);
    }
    let diff = told(&run(home.path(), &["diff", "base.json", "ours.json"]));
    assert!(diff.starts_with("removed: Harbor\nCity: content\n"), "{diff}");
    let merge = run(home.path(), &["merge", "base.json", "ours.json", "theirs.json"]);
    assert_eq!(merge.status.code(), Some(1));
    assert_eq!(
        String::from_utf8(merge.stdout).unwrap(),
        "conflict in City (book/0): entry\n  base   \"Old.\"\n  ours   \"New.\"\n  theirs removed\n"
    );
}

#[test]
fn decorators_become_fields_and_fields_decorators_when_asked() {
    let home = TempDir::new().unwrap();
    let decorated = r#"{"spec":"lorebook_v3","data":{"entries":[{"keys":["a"],"enabled":true,
        "content":"@@depth 2\n@@role user\nText","insertion_order":1,"extensions":{}}],
        "extensions":{}}}"#;
    write(home.path(), "book.json", decorated);
    let convert = |to: &str, format: &str, decorators: &str| {
        let arguments =
            ["convert", "book.json", to, "--format", format, "--decorators", decorators];
        assert_eq!(run(home.path(), &arguments).status.code(), Some(0), "{arguments:?}");
        serde_json::from_str::<serde_json::Value>(&read(home.path(), to)).unwrap()
    };
    let kept = convert("kept.json", "sillytavern", "keep");
    assert_eq!(kept["entries"]["0"]["content"], "@@depth 2\n@@role user\nText");
    let lifted = convert("lifted.json", "sillytavern", "lift");
    let entry = &lifted["entries"]["0"];
    assert_eq!(
        (&entry["content"], &entry["position"], &entry["depth"], &entry["role"]),
        (&"Text".into(), &4.into(), &2.into(), &1.into())
    );
    let world = r#"{"entries":{"0":{"uid":0,"key":["a"],"content":"Text","position":4,"depth":3,
        "role":2}}}"#;
    write(home.path(), "book.json", world);
    let lowered = convert("lowered.json", "risu", "lower");
    assert_eq!(lowered["data"][0]["content"], "@@depth 3\n@@role assistant\nText");
}
