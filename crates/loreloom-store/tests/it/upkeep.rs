//! Backup, restore, the doctor and the archive.

use std::path::Path as FilePath;

use loreloom_core::{
    chat::{GenerationType, Path, Role},
    ids::{ChatId, PrefixHash, TenantId},
    library::LibrarySource,
    state::StateDelta,
    units::Timestamp,
};
use loreloom_ports::history::archive::{self, Archive};
use loreloom_ports::{StoreError, StoryStore};
use loreloom_store::{SqliteStore, doctor};
use loreloom_testkit::store_suite::{
    Failure,
    fixture::{self, dialogue, then},
};
use rusqlite::Connection;
use tempfile::tempdir;

fn tenant() -> TenantId {
    TenantId::local()
}

/// Swipes, a branch, an edit, a quiet turn, a reply that came late.
async fn write_story(store: &dyn StoryStore, chat: &ChatId) -> Result<Path, Failure> {
    let tenant = tenant();
    store.open_chat(&tenant, chat, "Die Häfen", Timestamp(3)).await?;
    let mut path = dialogue(chat, &["hello"]);
    for number in 0..6 {
        let turn = fixture::lively_turn(&path, number, 10);
        let first = store.commit_turn(&tenant, &path, &turn, None).await?.id;
        let swiped = store.commit_turn(&tenant, &path, &turn, None).await?.id;
        for (turn, text) in [(swiped, "swiped"), (first, "late")] {
            let answered = then(&path, Role::Assistant, &format!("{text} {number}"));
            let reply = fixture::reply(turn, &answered, 9).ok_or("a reply")?;
            store.commit_reply(&tenant, chat, &reply).await?;
        }
        path = then(&path, Role::Assistant, &format!("swiped {number}"));
        path = then(&path, Role::User, &format!("question {number}"));
    }
    let mut edited: Vec<_> = path.items().iter().map(|item| item.message.clone()).collect();
    edited[0].text = String::from("edited").into();
    let edited = Path::of(chat.clone(), edited);
    let mut quiet = fixture::lively_turn(&edited, 7, 3);
    quiet.generation = GenerationType::Quiet;
    store.commit_turn(&tenant, &edited, &quiet, None).await?;
    // An imported branch: it has no turns.
    let loose = then(&dialogue(chat, &["hello"]), Role::Assistant, "loose");
    store.commit_path(&tenant, &loose, None, Timestamp(70)).await?;
    let library = LibrarySource::default();
    store.keep_library(&tenant, library.version(), &library).await?;
    let mut known = fixture::lively_turn(&loose, 8, 3);
    (known.library, known.input) = (library.version(), Some(Box::default()));
    store.commit_turn(&tenant, &loose, &known, None).await?;
    store.commit_path(&tenant, &then(&loose, Role::User, "end"), None, Timestamp(71)).await?;
    store.move_tip(&tenant, chat, path.items()[4].prefix, None, Timestamp(77)).await?;
    Ok(path)
}

async fn sqlite_with_a_story(file: &FilePath) -> Result<(SqliteStore, Path), Failure> {
    let store = SqliteStore::open(file)?;
    let path = write_story(&store, &"harbour".into()).await?;
    Ok((store, path))
}

#[tokio::test]
async fn an_archive_moves_a_chat_to_another_store_whole() {
    let directory = tempdir().unwrap();
    let (sqlite, path) =
        sqlite_with_a_story(&directory.path().join("stories.sqlite")).await.unwrap();
    let chat = ChatId::from("harbour");
    let archived = archive::export(&sqlite, &tenant(), &chat).await.unwrap();
    let json = serde_json::to_string(&archived).unwrap();
    assert!(json.starts_with(r#"{"format":"loreloom-chat","version":1,"chat":{"id":"harbour""#));
    let read: Archive = serde_json::from_str(&json).unwrap();
    let memory = SqliteStore::in_memory().unwrap();
    let record = archive::import(&memory, &tenant(), &read).await.unwrap();
    assert_eq!((record.tip, record.updated), (path.items()[4].prefix, Timestamp(77)));
    let mut again = archive::export(&memory, &tenant(), &chat).await.unwrap();
    again.chat.version = archived.chat.version;
    let by_hash = |mut archive: Archive| {
        archive.nodes.sort_by_key(|node| node.prefix);
        archive
    };
    assert_eq!(by_hash(again), by_hash(archived));
    let state = sqlite.state(&tenant(), &path).await.unwrap();
    assert_eq!(memory.state(&tenant(), &path).await.unwrap(), state);
    assert!(!state.sticky.is_empty());
}

/// Changes a reply that no turn continues.
fn forge_a_reply(archive: &mut Archive) {
    let late = archive.nodes.iter_mut().filter(|node| node.message.text.starts_with("late"));
    late.for_each(|node| node.message.text = format!("{}!", node.message.text).into());
}

#[tokio::test]
async fn an_archive_that_contradicts_itself_is_refused_and_nothing_stored() {
    let memory = SqliteStore::in_memory().unwrap();
    let chat = ChatId::from("harbour");
    write_story(&memory, &chat).await.unwrap();
    let good = archive::export(&memory, &tenant(), &chat).await.unwrap();
    let taken = archive::import(&memory, &tenant(), &good).await.unwrap_err();
    let expected = "a chat is imported where there is none of its id, found chat `harbour`";
    assert_eq!(taken.to_string(), expected);
    let change = |change: fn(&mut Archive)| {
        let mut archive = good.clone();
        change(&mut archive);
        archive
    };
    let wrong = [
        ("newer", change(|archive| archive.version = 2)),
        ("forged text", change(|archive| archive.nodes[0].message.text = "forged".into())),
        ("forged reply", change(forge_a_reply)),
        ("missing node", change(|archive| drop(archive.nodes.remove(0)))),
        ("a circle", change(|archive| archive.nodes[0].parent = archive.nodes[1].prefix)),
        ("another chat", change(|archive| archive.turns[0].turn.chat = "other".into())),
        ("no such tip", change(|archive| archive.chat.tip.0.0 = [9; 16])),
        ("no such reply", change(|archive| archive.turns[0].reply = Some(PrefixHash::default()))),
    ];
    for (what, archive) in wrong {
        let empty = SqliteStore::in_memory().unwrap();
        let result = archive::import(&empty, &tenant(), &archive).await;
        assert!(result.is_err(), "{what}");
        assert_eq!(empty.chats(&tenant()).await.unwrap(), [], "{what}");
    }
    assert!(serde_json::from_str::<Archive>(r#"{"format":"other","version":1}"#).is_err());
}

#[tokio::test]
async fn a_backup_of_a_store_in_use_restores_to_the_same_stories() {
    let directory = tempdir().unwrap();
    let file = |name: &str| directory.path().join(name);
    let (store, path) = sqlite_with_a_story(&file("stories.sqlite")).await.unwrap();
    let chat = ChatId::from("harbour");
    let before = archive::export(&store, &tenant(), &chat).await.unwrap();
    store.back_up(file("backup.sqlite")).await.unwrap();
    let further = then(&path, Role::Assistant, "after the backup");
    let turn = fixture::turn(&further, StateDelta::default(), 99);
    store.commit_turn(&tenant(), &further, &turn, None).await.unwrap();
    SqliteStore::restore(file("backup.sqlite"), file("restored.sqlite")).unwrap();
    let restored = SqliteStore::open(file("restored.sqlite")).unwrap();
    assert_eq!(archive::export(&restored, &tenant(), &chat).await.unwrap(), before);
    assert_eq!(restored.examine().await.unwrap(), []);
    for refused in [
        store.back_up(file("backup.sqlite")).await,
        SqliteStore::restore(file("backup.sqlite"), file("stories.sqlite")),
    ] {
        assert!(matches!(refused, Err(StoreError::Exists { .. })), "{refused:?}");
    }
    let names = directory.path().read_dir().unwrap().flatten();
    let partial = names.filter(|entry| entry.file_name().to_string_lossy().contains("partial"));
    assert_eq!(partial.count(), 0);
}

#[tokio::test]
async fn a_damaged_backup_is_not_restored() {
    let directory = tempdir().unwrap();
    let file = |name: &str| directory.path().join(name);
    let (store, _) = sqlite_with_a_story(&file("stories.sqlite")).await.unwrap();
    store.back_up(file("backup.sqlite")).await.unwrap();
    let backup = Connection::open(file("backup.sqlite")).unwrap();
    backup.execute("UPDATE messages SET text = 'forged' WHERE message = 2", []).unwrap();
    drop(backup);
    let refused = SqliteStore::restore(file("backup.sqlite"), file("restored.sqlite")).unwrap_err();
    let expected = "the backup is damaged: message 2: its hash is another one (1 findings)";
    assert_eq!(refused.to_string(), expected);
    assert!(!file("restored.sqlite").exists());
}

#[tokio::test]
async fn the_doctor_finds_nothing_wrong_with_a_healthy_story() {
    let directory = tempdir().unwrap();
    let (sqlite, _) = sqlite_with_a_story(&directory.path().join("stories.sqlite")).await.unwrap();
    assert_eq!(sqlite.examine().await.unwrap(), []);
    assert_eq!(doctor::examine(&sqlite, &tenant()).await.unwrap(), []);
    sqlite.vacuum().await.unwrap();
    assert_eq!(sqlite.examine().await.unwrap(), []);
    let memory = SqliteStore::in_memory().unwrap();
    write_story(&memory, &"harbour".into()).await.unwrap();
    assert_eq!(doctor::examine(&memory, &tenant()).await.unwrap(), []);
}

#[tokio::test]
async fn the_doctor_names_every_kind_of_damage_and_changes_nothing() {
    for (damage, expected) in [
        ("UPDATE messages SET text = 'x' WHERE message = 1", "its hash is another one"),
        ("UPDATE messages SET text = 'x' WHERE message = 1", "does not follow from its text"),
        ("UPDATE texts SET body = x'00' WHERE text = 1", "text 1: its hash is another one"),
        ("UPDATE nodes SET message_id = zeroblob(16) WHERE depth = 3", "parent and message id"),
        ("UPDATE chats SET tip = x'0102030405060708090a0b0c0d0e0f10'", "tip: node 0102"),
        ("DELETE FROM turns WHERE turn = 2", "turn 2: it is missing"),
        ("DELETE FROM turns WHERE turn = 2", "a row refers to no row of `turns`"),
        ("DELETE FROM turn_records WHERE turn = 4", "turn 4: its record is missing"),
        ("UPDATE turn_records SET body = x'0109' WHERE turn = 4", "turn 4: turn 4 of chat"),
        ("UPDATE turn_records SET report = x'00' WHERE turn = 4", "turn 4 of chat `harbour`"),
        ("UPDATE turns SET generation = 77 WHERE turn = 4", "generation type 77 is unknown"),
        ("UPDATE turns SET reply = zeroblob(15) WHERE turn = 4", "listing turns"),
        ("DELETE FROM messages WHERE message = 3", "message 3 is missing"),
        ("DELETE FROM branches WHERE branch = 1", "a row refers to no row of `branches`"),
    ] {
        let directory = tempdir().unwrap();
        let file = directory.path().join("stories.sqlite");
        let (store, _) = sqlite_with_a_story(&file).await.unwrap();
        let database = Connection::open(&file).unwrap();
        database.pragma_update(None, "foreign_keys", false).unwrap();
        assert!(database.execute(damage, []).unwrap() > 0, "{damage}");
        let changes = |database: &Connection| {
            database.query_row("PRAGMA data_version", [], |row| row.get::<_, i64>(0)).unwrap()
        };
        let before = changes(&database);
        let mut findings = store.examine().await.unwrap();
        findings.extend(doctor::examine(&store, &tenant()).await.unwrap());
        let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
        let found = lines.iter().any(|line| line.contains(expected));
        assert!(found, "{damage}: no `{expected}` in {lines:#?}");
        assert_eq!(changes(&database), before, "{damage}");
    }
}
