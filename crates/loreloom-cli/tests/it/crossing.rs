//! `loreloom import`, `export` and `convert` for lore, and `merge` inside git.

use std::{path::Path, process::Command};

use serde_json::Value;
use tempfile::TempDir;

use crate::run::{loreloom, printed, refused, run, write};

const BOOK: &str = r#"{"entries":{
  "0":{"uid":0,"key":["bell"],"comment":"The bell","content":"Cracked.","position":1,"sticky":2},
  "1":{"uid":1,"key":["tower"],"comment":"The tower","content":"Leaning.","position":0}}}"#;
const CARD: &str = r#"{"spec":"chara_card_v3","spec_version":"3.0","data":{"name":"Torvald",
  "description":"Guards the bell.","first_mes":"Halt.","alternate_greetings":["Who goes?"],
  "creator_notes":"Be kind.","extensions":{},"character_book":{"extensions":{},"entries":[
  {"keys":["tired"],"content":"@@role user\nHe never sleeps.","enabled":true,"insertion_order":5,
   "extensions":{}}]}}}"#;

fn home() -> TempDir {
    let home = TempDir::new().unwrap();
    write(home.path(), "book.json", BOOK);
    write(home.path(), "torvald.json", CARD);
    home
}

#[expect(clippy::disallowed_methods, reason = "a test looks at what was written")]
fn read(home: &Path, name: &str) -> String {
    std::fs::read_to_string(home.join(name)).unwrap()
}

fn names(home: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(home)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn lore_of_several_files_is_gathered_in_one_book_and_nothing_comes_twice() {
    let home = home();
    let into = ["import", "book.json", "torvald.json", "--into", "book", "all.json"];
    let text = printed(home.path(), &into);
    assert!(
        text.starts_with("book.json: sillytavern, 2 entries\ntorvald.json: card-v3, 1 entry\n")
    );
    for told in [
        "the character: alternate_greetings = [\"Who goes?\"]",
        "the character: creator_notes = \"Be kind.\"",
    ] {
        assert!(text.contains(told), "{text}");
    }
    let first = read(home.path(), "all.json");
    let text = printed(home.path(), &["inspect", "all.json"]);
    assert!(
        text.contains("\n  dialect    world-info\n") && text.contains("\n  entries    3 "),
        "{text}"
    );
    let text = printed(home.path(), &into);
    assert!(text.contains("book.json: sillytavern, 2 entries, 2 existed already\n"), "{text}");
    assert_eq!(read(home.path(), "all.json"), first);
}

#[test]
fn a_folder_is_imported_and_a_bad_file_stops_no_other() {
    let home = home();
    std::fs::create_dir_all(home.path().join("lore/deep/.hidden")).unwrap();
    write(home.path(), "lore/a.json", BOOK);
    write(home.path(), "lore/deep/b.json", CARD);
    write(home.path(), "lore/deep/.hidden/c.json", CARD);
    write(home.path(), "lore/broken.json", "{\"entries\": {");
    write(home.path(), "lore/other.json", "{\"version\": 1}");
    write(home.path(), "lore/notes.doc", "x");
    let import = ["import", "lore", "--into", "book", "all.json", "--json"];
    let output = run(home.path(), &import);
    assert_eq!(output.status.code(), Some(1));
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(errors, "loreloom: 1 of 4 files were not imported\n");
    let lines: Vec<Value> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let files: Vec<&str> = lines.iter().map(|line| line["file"].as_str().unwrap()).collect();
    assert_eq!(files, ["lore/a.json", "lore/broken.json", "lore/deep/b.json", "lore/other.json"]);
    assert_eq!(lines[0]["entries"], 2);
    assert!(lines[1]["error"].as_str().unwrap().starts_with("not valid JSON"), "{}", lines[1]);
    assert_eq!(lines[2]["format"], "card-v3");
    assert!(lines[3]["left_out"].as_str().unwrap().contains("`version`"), "{}", lines[3]);
    assert!(printed(home.path(), &["inspect", "all.json"]).contains("entries    3 "));
}

#[test]
fn bad_input_changes_nothing() {
    let home = home();
    write(home.path(), "broken.json", "{");
    let before = names(home.path());
    for arguments in [
        &["import", "broken.json", "--into", "book", "new.json"][..],
        &["import", "broken.json", "--into", "vault", "Vault"],
        &["import", "book.json"],
        &["import", "book.json", "--into", "shelf", "x"],
        &["import", "book.json", "--into", "book", "broken.json"],
        &["convert", "broken.json", "new.json"],
        &["convert", "book.json", "new.nothing"],
        &["export", "broken.json", "new.json", "--format", "card-v3"],
        &["export", "book.json"],
    ] {
        let output = run(home.path(), arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert_eq!(names(home.path()), before, "{arguments:?}");
        assert_eq!(read(home.path(), "broken.json"), "{");
    }
    let error = refused(home.path(), &["import", "book.json"]);
    assert_eq!(
        error,
        "loreloom: `book.json`: lore: `--into book FILE` or `--into vault FOLDER` says where it goes\n"
    );
}

#[test]
fn a_book_becomes_notes_of_a_vault_and_a_book_again() {
    let home = home();
    let import = ["import", "book.json", "--into", "vault", "Vault"];
    let text = printed(home.path(), &import);
    assert!(!text.contains("sticky"), "a note keeps it: {text}");
    assert_eq!(names(&home.path().join("Vault/book")), ["The bell.md", "The tower.md"]);
    let note = read(home.path(), "Vault/book/The bell.md");
    assert!(note.contains("\nsticky: 2\n"), "{note}");
    assert!(note.ends_with("---\n# The bell\n\nCracked.\n"), "{note}");
    // What is there with the same text is no obstacle; with another it stays.
    printed(home.path(), &import);
    write(home.path(), "Vault/book/The bell.md", "mine");
    std::fs::remove_file(home.path().join("Vault/book/The tower.md")).unwrap();
    let text = printed(home.path(), &import);
    let left = "  left alone: `Vault/book/The bell.md` exists already with another text: \
                `--force` overwrites it\n";
    assert!(text.contains(left), "{text}");
    assert_eq!(names(&home.path().join("Vault/book")), ["The bell.md", "The tower.md"]);
    assert_eq!(read(home.path(), "Vault/book/The bell.md"), "mine");
    // Converting writes a whole book or none of it.
    let refused = refused(home.path(), &["convert", "book.json", "Vault", "--format", "vault"]);
    assert!(refused.contains("with another text: `--force` overwrites it"), "{refused}");
    printed(home.path(), &[&import[..], &["--force"]].concat());
    assert_eq!(read(home.path(), "Vault/book/The bell.md"), note);

    printed(home.path(), &["import", "Vault", "--into", "book", "back.json"]);
    assert_eq!(printed(home.path(), &["diff", "book.json", "back.json"]), "no difference\n");
}

#[test]
fn names_of_entries_lead_out_of_no_vault() {
    let home = home();
    let evil = BOOK.replace("The bell", "../../evil").replace("The tower", "/etc/passwd\\u0000");
    write(home.path(), "..evil.json", &evil);
    printed(home.path(), &["convert", "..evil.json", "Vault", "--format", "vault"]);
    assert_eq!(names(&home.path().join("Vault")), ["evil"]);
    assert_eq!(names(&home.path().join("Vault/evil")), ["_.._evil.md", "_etc_passwd\u{fffd}.md"]);
}

#[test]
fn export_writes_any_format_and_tells_what_it_cannot_say() {
    let home = home();
    let text = printed(home.path(), &["export", "torvald.json", "t.json", "--format", "card-v1"]);
    assert!(text.starts_with("t.json: 1 entry as card-v1\n  no place for:\n"), "{text}");
    assert!(text.contains("    the character: creator_notes = \"Be kind.\"\n"), "{text}");
    let output = run(home.path(), &["export", "torvald.json", "--format", "card-v2"]);
    let card: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(card["spec"], "chara_card_v2");
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.starts_with("torvald: 1 entry as card-v2\n  nothing is lost\n"), "{told}");
    printed(home.path(), &["convert", "torvald.json", "torvald.png"]);
    assert!(
        printed(home.path(), &["inspect", "torvald.png"]).starts_with("torvald.png: card-v3-png")
    );
}

#[test]
fn a_folder_becomes_a_folder_of_another_format() {
    let home = home();
    std::fs::create_dir_all(home.path().join("lore/deep")).unwrap();
    write(home.path(), "lore/a.json", BOOK);
    write(home.path(), "lore/deep/b.json", CARD);
    write(home.path(), "lore/other.json", "{\"version\": 1}");
    let convert = ["convert", "lore", "out", "--format", "agnai"];
    let text = printed(home.path(), &convert);
    assert!(text.starts_with("out/a.json: 2 entries as agnai\n  no place for:\n"), "{text}");
    assert!(text.contains("out/deep/b.json: 1 entry as agnai\n"), "{text}");
    assert_eq!(names(&home.path().join("out")), ["a.json", "deep"]);
    assert_eq!(names(&home.path().join("out/deep")), ["b.json"]);
    // What is there is left alone.
    let output = run(home.path(), &convert);
    assert_eq!(output.status.code(), Some(1));
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(told, "loreloom: 2 of 2 files were not converted\n");
    printed(home.path(), &["export", "lore", "cards", "--format", "card-v3-png", "--json"]);
    assert_eq!(names(&home.path().join("cards")), ["a.png", "deep"]);
}

#[test]
fn inspect_tells_what_a_format_would_lose_and_writes_nothing() {
    let home = home();
    let before = names(home.path());
    let text = printed(home.path(), &["inspect", "book.json", "--format", "agnai"]);
    assert!(text.contains("  no place for:\n    The bell: sticky = 2\n"), "{text}");
    let text = printed(home.path(), &["inspect", "book.json", "--format", "card-v3", "--json"]);
    let found: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(found["losses"], serde_json::json!([]));
    assert_eq!(names(home.path()), before);
}

fn git(home: &Path, arguments: &[&str]) -> std::process::Output {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=t", "-c", "user.email=t@example.org"]).args(arguments);
    command.current_dir(home).env("HOME", home).env("GIT_CONFIG_NOSYSTEM", "1");
    command.output().unwrap()
}

/// A repository with a book that two branches change, and the merge driver set up.
fn repository(ours: &str, theirs: &str) -> TempDir {
    let home = TempDir::new().unwrap();
    let driver = format!("'{}' merge %O %A %B %P", env!("CARGO_BIN_EXE_loreloom"));
    write(home.path(), "book.json", BOOK);
    write(home.path(), ".gitattributes", "*.json merge=lorebook\n");
    let commit = |text: &str| {
        write(home.path(), "book.json", text);
        assert!(git(home.path(), &["commit", "-qam", "x"]).status.success());
    };
    for arguments in [
        &["init", "-q", "-b", "ours"][..],
        &["config", "merge.lorebook.driver", &driver],
        &["add", "."],
        &["commit", "-qm", "base"],
        &["checkout", "-qb", "theirs"],
    ] {
        let output = git(home.path(), arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
    }
    commit(theirs);
    git(home.path(), &["checkout", "-q", "ours"]);
    commit(ours);
    home
}

#[test]
fn git_merges_lorebooks_by_meaning() {
    if Command::new("git").arg("--version").output().is_err() {
        println!("skipped: there is no git");
        return;
    }
    // Neighbouring lines, which git alone would call a conflict.
    let home =
        repository(&BOOK.replace("Cracked.", "Broken."), &BOOK.replace("\"bell\"", "\"gong\""));
    let merged = git(home.path(), &["merge", "-q", "theirs", "-m", "both"]);
    assert!(merged.status.success(), "{merged:?}");
    let expected = BOOK.replace("Cracked.", "Broken.").replace("\"bell\"", "\"gong\"");
    assert_eq!(read(home.path(), "book.json"), expected);

    let home =
        repository(&BOOK.replace("Cracked.", "Broken."), &BOOK.replace("Cracked.", "Whole."));
    let merged = git(home.path(), &["merge", "theirs", "-m", "both"]);
    assert!(!merged.status.success());
    let status = git(home.path(), &["status", "--porcelain"]);
    assert_eq!(String::from_utf8(status.stdout).unwrap(), "UU book.json\n");
    let book: Value = serde_json::from_str(&read(home.path(), "book.json")).unwrap();
    assert_eq!(book["entries"]["0"]["content"], "Broken.");
    assert_eq!(
        book["entries"]["0"]["loreloom_conflicts"],
        serde_json::json!([{"field": "content", "base": "Cracked.", "ours": "Broken.", "theirs": "Whole."}])
    );
    let text = printed(home.path(), &["inspect", "book.json"]);
    assert!(text.contains("  conflicts  1 of a merge is marked\n"), "{text}");
}

#[test]
fn plain_text_is_lore_only_with_paragraphs_or_when_it_is_called_so() {
    let home = TempDir::new().unwrap();
    let home = home.path();
    std::fs::create_dir(home.join("texts")).unwrap();
    write(home, "one.txt", "milk, eggs, bread\n");
    write(home, "two.txt", "The tower is old.\n\nThe bell is cracked.\n");
    write(home, "texts/two.txt", "The tower is old.\n\nThe bell is cracked.\n");
    let import = |file: &str, more: &[&str]| {
        let arguments = ["import", file, "--into", "book", "all.json"];
        let output = run(home, &[&arguments, more].concat());
        (output.status.success(), String::from_utf8(output.stdout).unwrap())
    };
    let (done, told) = import("one.txt", &[]);
    let why = "one.txt: not imported: plain text of one paragraph: `--format perchance` takes it \
               for lore\n";
    assert_eq!((done, told.as_str()), (false, why));
    let (done, told) = import("texts", &[]);
    let why = "texts/two.txt: left out: plain text: `--format perchance` takes it for lore\n";
    assert_eq!((done, told.as_str()), (false, why));
    assert!(!home.join("all.json").exists());
    for (file, format, entries) in
        [("two.txt", None, "2 entries"), ("one.txt", Some("perchance"), "1 entry")]
    {
        let named: Vec<&str> = format.into_iter().flat_map(|name| ["--format", name]).collect();
        let (done, told) = import(file, &named);
        assert!(done && told.starts_with(&format!("{file}: perchance, {entries}\n")), "{told}");
    }
    let (done, told) = import("two.txt", &["--format", "agnai"]);
    assert_eq!(
        (done, told.as_str()),
        (false, "two.txt: not imported: it is perchance, not agnai\n")
    );
    let (done, told) = import("texts", &["--format", "perchance"]);
    assert!(done && told.contains("2 entries, 2 existed already"), "{told}");
}

#[test]
fn what_is_lost_is_told_in_the_words_of_the_file_it_came_from() {
    let home = TempDir::new().unwrap();
    let book = r#"{"entries":{"0":{"uid":0,"comment":"Bell","key":["bell"],"content":"Cracked.",
        "position":0,"scanDepth":3,"preventRecursion":true}}}"#;
    write(home.path(), "book.json", book);
    let told = printed(home.path(), &["convert", "book.json", "out.json", "--format", "aidungeon"]);
    assert!(told.starts_with("out.json: 1 entry as aidungeon\n  no place for:\n"), "{told}");
    for line in ["    Bell: scanDepth = 3.0\n", "    Bell: preventRecursion = true\n"] {
        assert!(told.contains(line), "{told}");
    }
}

#[test]
fn a_copy_of_an_entry_is_sent_after_its_book_crossed_to_another_format() {
    let home = home();
    let risu = r#"{"type":"risu","ver":1,"data":[
      {"key":"bell","secondkey":"","insertorder":100,"comment":"Bell","content":"Cracked.",
       "mode":"normal","alwaysActive":false,"selective":false,"id":"p"},
      {"key":"k","secondkey":"","insertorder":100,"comment":"","content":"","mode":"child",
       "alwaysActive":false,"selective":false,"id":"p"}]}"#;
    write(home.path(), "risu.json", risu);
    write(home.path(), "chat.json", r#"[{"role":"user","content":"Hello."}]"#);
    printed(home.path(), &["convert", "risu.json", "world.json", "--format", "sillytavern"]);
    let woven = |book: &str| {
        printed(home.path(), &["weave", "--book", book, "--chat", "chat.json", "--why"])
    };
    assert!(woven("risu.json").starts_with("[system]\nCracked.\n"), "{}", woven("risu.json"));
    // A book of World Info does not have Risu's budget.
    let world = woven("world.json").replace("card books: 3 of 1500", "RisuAI: 3 of 800");
    assert_eq!(world, woven("risu.json"));
}

#[test]
fn books_that_differ_are_told_by_the_status_also_to_who_reads_no_further() {
    let home = home();
    write(home.path(), "other.json", &BOOK.replace("Cracked", "Whole"));
    let mut child = loreloom(home.path(), &["diff", "book.json", "other.json"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(1));
}
