//! Repair, undo and saving space, as a person types them.

use std::{fs::File, path::Path};

use loreloom_core::{
    chat::{Path as StoryPath, Role},
    ids::{ChatId, TenantId},
    units::Timestamp,
};
use loreloom_ports::StoryStore as _;
use loreloom_store::SqliteStore;
use loreloom_testkit::store_suite::fixture;
use serde_json::{Value, json};

use crate::run::{printed, refused, run, write};

/// Three turns of one chat in `stories.sqlite`.
async fn told(home: &Path) {
    tell_to(&SqliteStore::open(home.join("stories.sqlite")).unwrap()).await;
}

async fn tell_to(store: &SqliteStore) {
    let (tenant, chat) = (TenantId::local(), ChatId::from("story"));
    store.open_chat(&tenant, &chat, "Story", Timestamp(0)).await.unwrap();
    let mut path = StoryPath::new(chat);
    for number in 0..3 {
        path.push(fixture::said(Role::User, &fixture::prose(number, 30)));
        let turn = fixture::lively_turn(&path, number, 20);
        store.commit_turn(&tenant, &path, &turn, None).await.unwrap();
    }
}

const STORE: [&str; 2] = ["--store", "stories.sqlite"];

fn over<'a>(words: &[&'a str]) -> Vec<&'a str> {
    words.iter().copied().chain(STORE).collect()
}

#[tokio::test]
async fn what_was_written_last_is_taken_back_and_done_again() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    told(home).await;
    let said = "write 3 is taken back; `undo story 4` does it again\n";
    assert_eq!(printed(home, &over(&["undo", "story"])), said);
    let error = refused(home, &over(&["undo", "story", "1"]));
    assert!(error.contains("write 2 came after it and builds on it"), "{error}");
    let list = printed(home, &over(&["undo", "story", "--list"]));
    let ends: Vec<&str> = list.lines().map(|line| &line[26..]).collect();
    assert_eq!(ends, ["turn 1", "turn 2", "turn 3, taken back", "took write 3 back (turn 3)"]);
    printed(home, &over(&["undo", "story", "4"]));
    let log: Value =
        serde_json::from_str(&printed(home, &over(&["undo", "story", "--list", "--json"])))
            .unwrap();
    assert_eq!(log[4]["undoes"], json!(4));
}

#[tokio::test]
async fn old_prompts_go_only_with_yes() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    told(home).await;
    assert_eq!(printed(home, &over(&["retain"])), "everything is kept\n");
    for (words, begins) in [
        (
            &["retain", "--keep-reports", "1"][..],
            "would give up the prompts and verdicts of 2 turns",
        ),
        (
            &["retain", "--keep-reports", "1", "--yes"],
            "gave up the prompts and verdicts of 2 turns",
        ),
        (&["retain", "--keep-reports", "1", "--yes"], "everything is kept"),
    ] {
        let said = printed(home, &over(words));
        assert!(said.starts_with(begins), "{said}");
    }
    assert_eq!(printed(home, &over(&["doctor"])), "nothing is wrong\n");
    let error = refused(home, &over(&["retain", "--keep-reports", "soon"]));
    assert!(error.contains("days are like `90d`"), "{error}");
}

#[tokio::test]
async fn the_doctor_calls_files_what_they_are_and_repairs_into_a_new_one() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    told(home).await;
    write(home, "empty.sqlite", "");
    write(home, "notes.sqlite", &"notes, no database. ".repeat(100));
    for (file, reason) in [
        ("empty.sqlite", "it is empty: there are no stories in it"),
        ("notes.sqlite", "`notes.sqlite` is no database"),
        ("nowhere.sqlite", "there is no such file"),
    ] {
        let examined = run(home, &["doctor", "--json", "--store", file]);
        assert!(!examined.status.success(), "{file}");
        let findings: Value = serde_json::from_slice(&examined.stdout).unwrap();
        let found = findings[0]["reason"].as_str().unwrap();
        assert!(found.ends_with(reason.trim_start_matches('`')) || found == reason, "{found}");
        refused(home, &["doctor", "--repair", "new.sqlite", "--store", file]);
    }
    // The first page is gone: SQLite does not know the file any more.
    let database = File::options().write(true).open(home.join("stories.sqlite")).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&database, &[0xA5; 4096], 0).unwrap();
    drop(database);
    let examined = run(home, &over(&["doctor"]));
    let said = String::from_utf8(examined.stdout).unwrap();
    assert!(said.contains("a repair would save 1 chat with 3 turns"), "{said}");
    let said = printed(home, &over(&["doctor", "--repair", "new.sqlite"]));
    assert!(said.starts_with("1 chat with 3 turns are in `new.sqlite`"), "{said}");
    assert_eq!(printed(home, &["doctor", "--store", "new.sqlite"]), "nothing is wrong\n");
    let error = refused(home, &over(&["doctor", "--repair", "new.sqlite"]));
    assert!(error.contains("exists already"), "{error}");
    let error = refused(home, &["doctor", "--store", "postgres://nobody@127.0.0.1:1/none"]);
    assert!(
        error.contains("the database `postgres://nobody@127.0.0.1:1/none` cannot be reached"),
        "{error}"
    );
}

#[test]
#[cfg(unix)]
fn only_stories_are_made_private_and_not_what_a_mistyped_name_leads_to() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let mode = |name: &str| home.join(name).metadata().unwrap().permissions().mode() & 0o777;
    let widen = |name: &str, mode: u32| {
        std::fs::set_permissions(home.join(name), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    write(home, "notes.txt", &"notes, no database. ".repeat(100));
    widen("notes.txt", 0o644);
    std::fs::create_dir(home.join("shared")).unwrap();
    widen("shared", 0o755);
    refused(home, &["chats", "--data", "shared"]);
    std::os::unix::fs::symlink("../notes.txt", home.join("shared/stories.sqlite")).unwrap();
    for arguments in [
        ["chats", "--data", "shared"],
        ["chats", "--store", "notes.txt"],
        ["vacuum", "--store", "notes.txt"],
        ["serve", "--data", "shared"],
        ["serve", "--store", "notes.txt"],
    ] {
        let error = refused(home, &arguments);
        assert!(error.contains("notes.txt` is no database"), "{error}");
        assert_eq!((mode("notes.txt"), mode("shared")), (0o644, 0o755), "{arguments:?}");
    }
    std::fs::create_dir(home.join("own")).unwrap();
    drop(SqliteStore::open(home.join("own/stories.sqlite")).unwrap());
    widen("own", 0o755);
    widen("own/stories.sqlite", 0o644);
    printed(home, &["chats", "--data", "own"]);
    assert_eq!((mode("own"), mode("own/stories.sqlite")), (0o700, 0o600));
}

/// What a killed server leaves: the stories of `told` in a log, with a frame in the middle
/// damaged.
async fn damaged_log(home: &Path) {
    drop(SqliteStore::open(home.join("live.sqlite")).unwrap());
    // An open reader keeps the log from being moved into the database.
    let reader = rusqlite::Connection::open(home.join("live.sqlite")).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM chats").unwrap();
    let store = SqliteStore::open(home.join("live.sqlite")).unwrap();
    tell_to(&store).await;
    let mut log = bytes(&home.join("live.sqlite-wal"));
    let middle = 32 + 4120 * (log.len() / 4120 / 2) + 500;
    log[middle] ^= 0xFF;
    for (end, content) in [("", bytes(&home.join("live.sqlite"))), ("-wal", log)] {
        let mut copy = File::create(home.join(format!("stories.sqlite{end}"))).unwrap();
        std::io::Write::write_all(&mut copy, &content).unwrap();
    }
}

#[expect(clippy::disallowed_methods, reason = "a test compares the files it made")]
fn bytes(file: &Path) -> Vec<u8> {
    std::fs::read(file).unwrap()
}

#[tokio::test]
async fn a_store_with_a_damaged_log_is_opened_by_no_command_and_can_be_repaired() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    damaged_log(home).await;
    let files = ["stories.sqlite", "stories.sqlite-wal"].map(|name| home.join(name));
    let before = files.each_ref().map(|file| bytes(file));
    for command in [
        &["serve", "--port", "0"][..],
        &["chats"],
        &["tree", "story"],
        &["why", "--chat", "story", "--at", "1"],
        &["export", "story"],
        &["backup", "copy.sqlite"],
        &["undo", "story"],
        &["vacuum"],
        &["jobs"],
        &["retain"],
    ] {
        let error = refused(home, &over(command));
        assert!(error.contains("the write-ahead log `"), "{command:?}: {error}");
        assert!(error.contains("`loreloom doctor --repair NEW.sqlite`"), "{command:?}: {error}");
    }
    let doctor = run(home, &over(&["doctor"]));
    let said = String::from_utf8(doctor.stdout).unwrap();
    assert!(!doctor.status.success());
    assert!(said.starts_with("the write-ahead log: its frame "), "{said}");
    assert!(said.contains("a repair would save 1 chat with "), "{said}");
    let repaired = printed(home, &over(&["doctor", "--repair", "new.sqlite"]));
    assert!(repaired.ends_with("the damaged file is as it was\n"), "{repaired}");
    assert_eq!(files.each_ref().map(|file| bytes(file)), before);
    let health = printed(home, &["chats", "--json", "--store", "new.sqlite"]);
    let chats: Value = serde_json::from_str(&health).unwrap();
    assert_eq!(chats.as_array().unwrap().len(), 1, "{chats}");
}
