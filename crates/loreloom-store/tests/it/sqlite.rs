//! What only SQLite does: files, schemas, and several processes on one file.

use loreloom_core::{
    ids::{PrefixHash, TenantId},
    units::Timestamp,
};
use loreloom_memory::ports::{Desk as _, StoreError, StoryStore, TurnId};
use loreloom_store::{SqliteStore, doctor};
use rusqlite::Connection;
use tempfile::tempdir;

#[tokio::test]
async fn a_newer_database_is_refused_and_left_alone() {
    let directory = tempdir().unwrap();
    let file = directory.path().join("stories.sqlite");
    drop(SqliteStore::open(&file).unwrap());
    let database = Connection::open(&file).unwrap();
    database.execute("UPDATE schema_version SET version = 99", []).unwrap();
    let refused = SqliteStore::open(&file).unwrap_err();
    assert!(matches!(refused, StoreError::TooNew { found: 99, known: 5 }), "{refused:?}");
    let expected = "the database has schema 99, this version knows up to 5: use a newer loreloom";
    assert_eq!(refused.to_string(), expected);
    let kept = database.query_row("SELECT version FROM schema_version", [], |row| row.get(0));
    assert_eq!(kept, Ok(99));
}

#[test]
fn somebody_elses_database_is_refused_and_left_alone() {
    let directory = tempdir().unwrap();
    let file = directory.path().join("other.sqlite");
    let other = Connection::open(&file).unwrap();
    other.execute_batch("CREATE TABLE recipes (name TEXT)").unwrap();
    let refused = SqliteStore::open(&file).unwrap_err();
    let expected = "the database is damaged: it has tables but no `schema_version`: it is not \
                    one of loreloom's";
    assert_eq!(refused.to_string(), expected);
    let tables = other.query_row("SELECT group_concat(name) FROM sqlite_schema", [], |row| {
        row.get::<_, String>(0)
    });
    assert_eq!(tables.as_deref(), Ok("recipes"));
    let mode = other.query_row("PRAGMA journal_mode", [], |row| row.get::<_, String>(0));
    assert_eq!(mode.as_deref(), Ok("delete"));
}

#[test]
fn a_file_that_is_no_database_is_refused() {
    let directory = tempdir().unwrap();
    let file = directory.path().join("notes.txt");
    #[expect(clippy::disallowed_methods, reason = "the test makes the file it needs")]
    std::fs::write(&file, "These are notes, not a database. ".repeat(40)).unwrap();
    let refused = SqliteStore::open(&file).unwrap_err();
    assert_eq!(refused.to_string(), format!("`{}` is no database", file.display()));
    assert!(SqliteStore::open(directory.path().join("no/such/directory.sqlite")).is_err());
}

#[tokio::test]
async fn many_openings_at_once_make_one_schema() {
    let directory = tempdir().unwrap();
    let file = directory.path().join("stories.sqlite");
    let openings: Vec<_> = (0..8)
        .map(|number: i64| {
            let file = file.clone();
            tokio::task::spawn_blocking(move || (number, SqliteStore::open(file)))
        })
        .collect();
    let tenant = TenantId::local();
    for opening in openings {
        let (number, store) = opening.await.unwrap();
        let chat = format!("chat {number}").into();
        store.unwrap().open_chat(&tenant, &chat, "", Timestamp(number)).await.unwrap();
    }
    assert_eq!(SqliteStore::open(&file).unwrap().chats(&tenant).await.unwrap().len(), 8);
}

#[test]
fn the_file_has_a_write_ahead_log() {
    let directory = tempdir().unwrap();
    let file = directory.path().join("stories.sqlite");
    let _store = SqliteStore::open(&file).unwrap();
    let other = Connection::open(&file).unwrap();
    let mode = other.query_row("PRAGMA journal_mode", [], |row| row.get::<_, String>(0));
    assert_eq!(mode.as_deref(), Ok("wal"));
}

#[test]
fn every_primary_key_leads_with_the_tenant() {
    let directory = tempdir().unwrap();
    let file = directory.path().join("stories.sqlite");
    drop(SqliteStore::open(&file).unwrap());
    let database = Connection::open(&file).unwrap();
    let mut tables = database
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'schema_version'")
        .unwrap();
    let names: Vec<String> =
        tables.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap();
    assert!(names.len() >= 15, "{names:?}");
    for name in names {
        let first = database
            .query_row("SELECT name FROM pragma_table_info(?1) WHERE pk = 1", [&name], |row| {
                row.get::<_, String>(0)
            })
            .unwrap();
        assert_eq!(first, "tenant", "table {name}");
    }
}

/// Written by the version that had schema 1: two branches, four turns, a second chat.
const SCHEMA_1: &str = include_str!("../fixtures/schema-1.sql");

#[tokio::test]
async fn a_database_of_schema_1_opens_and_is_upgraded_whole() {
    let directory = tempdir().unwrap();
    let file = directory.path().join("stories.sqlite");
    let old = Connection::open(&file).unwrap();
    old.execute_batch(SCHEMA_1).unwrap();
    drop(old);
    let store = SqliteStore::open(&file).unwrap();
    let (tenant, chat) = (TenantId::local(), "harbour".into());
    let chats: Vec<(String, u64, u64)> = store
        .chats(&tenant)
        .await
        .unwrap()
        .into_iter()
        .map(|one| (one.chat.id.0, one.messages, one.turns))
        .collect();
    assert_eq!(chats, [("second".to_owned(), 2, 1), ("harbour".to_owned(), 5, 3)]);
    let last = store.turn(&tenant, &chat, TurnId(3)).await.unwrap().unwrap();
    assert_eq!((last.injections.len(), last.prompt.len(), last.input), (2, 7, None));
    let texts: Vec<&str> = last.injections.iter().map(|one| one.text.as_str()).collect();
    assert_eq!(texts, ["The tower leans.", "The bell is cracked."]);
    assert_eq!(store.library(&tenant, last.library).await.unwrap(), None);
    assert_eq!(doctor::examine(&store, &tenant).await.unwrap(), []);
    assert_eq!(store.examine().await.unwrap(), []);
    let version = Connection::open(&file).unwrap().query_row(
        "SELECT version FROM schema_version",
        [],
        |row| row.get(0),
    );
    assert_eq!(version, Ok(5));
}

/// Written by the version that had schema 2: two turns with their books, packed whole.
const SCHEMA_2: &str = include_str!("../fixtures/schema-2.sql");

#[tokio::test]
async fn a_database_of_schema_2_opens_with_the_books_of_its_turns() {
    let directory = tempdir().unwrap();
    let file = directory.path().join("stories.sqlite");
    Connection::open(&file).unwrap().execute_batch(SCHEMA_2).unwrap();
    let store = SqliteStore::open(&file).unwrap();
    let (tenant, chat) = (TenantId::local(), "harbour".into());
    let turn = store.turn(&tenant, &chat, TurnId(2)).await.unwrap().unwrap();
    let shelf = store.library(&tenant, turn.library).await.unwrap().unwrap();
    let entries: Vec<&str> =
        shelf.volumes[0].book.entries.iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(entries, ["Bell", "Tower"]);
    assert_eq!(shelf.version(), turn.library);
    let injected: Vec<&str> = turn.injections.iter().map(|one| one.text.as_str()).collect();
    assert_eq!(injected, ["The tower leans.", "The bell is cracked."]);
    assert_eq!(doctor::examine(&store, &tenant).await.unwrap(), []);
    assert_eq!(store.examine().await.unwrap(), []);
}

/// As of schema 3: the same stories, and a desk with one value.
const SCHEMA_3: &str = include_str!("../fixtures/schema-3.sql");

#[tokio::test]
async fn a_database_of_schema_3_opens_and_its_new_writes_can_be_taken_back() {
    let directory = tempdir().unwrap();
    let file = directory.path().join("stories.sqlite");
    let old = Connection::open(&file).unwrap();
    old.execute_batch(SCHEMA_3).unwrap();
    drop(old);
    let (tenant, chat) = (TenantId::local(), "harbour".into());
    // Looking does not upgrade.
    let diagnosis = SqliteStore::diagnose(&file, &tenant).await.unwrap();
    assert_eq!(diagnosis, loreloom_store::Diagnosis::default());
    let version = |file: &std::path::Path| {
        let database = Connection::open(file).unwrap();
        database.query_row("SELECT version FROM schema_version", [], |row| row.get::<_, i64>(0))
    };
    assert_eq!(version(&file), Ok(3));
    let store = SqliteStore::open(&file).unwrap();
    assert_eq!(store.items(&tenant, "").await.unwrap()[0].value, serde_json::json!(7));
    let before = store.chat(&tenant, &chat).await.unwrap().unwrap();
    assert_eq!(store.turns(&tenant, &chat).await.unwrap().len(), 2);
    assert_eq!(store.writes(&tenant, &chat).await.unwrap(), []);
    let last = before.last_write();
    let refused = store.take_back(&tenant, &chat, last, Timestamp(9)).await.unwrap_err();
    assert!(matches!(refused, StoreError::NoWrite { .. }), "{refused:?}");
    let root = PrefixHash::default();
    let moved = store.move_tip(&tenant, &chat, root, None, Timestamp(9)).await.unwrap();
    let undone = store.take_back(&tenant, &chat, moved.last_write(), Timestamp(10)).await.unwrap();
    assert_eq!((undone.tip, undone.version), (before.tip, before.version + 2));
    assert_eq!(store.examine().await.unwrap(), []);
    assert_eq!(version(&file), Ok(5));
}

/// As of schema 4: the same stories with the log of their writes, and a loss.
const SCHEMA_4: &str = include_str!("../fixtures/schema-4.sql");

#[tokio::test]
async fn a_database_of_schema_4_opens_and_its_old_writes_can_be_taken_back() {
    let directory = tempdir().unwrap();
    let file = directory.path().join("stories.sqlite");
    Connection::open(&file).unwrap().execute_batch(SCHEMA_4).unwrap();
    let store = SqliteStore::open(&file).unwrap();
    let (tenant, chat) = (TenantId::local(), "harbour".into());
    let log = store.writes(&tenant, &chat).await.unwrap();
    assert_eq!(log.iter().map(|write| write.id.0).collect::<Vec<_>>(), [1, 2, 3, 4]);
    let turn = store.turn(&tenant, &chat, TurnId(2)).await.unwrap().unwrap();
    let undone = store.take_back(&tenant, &chat, log[3].id, Timestamp(9)).await.unwrap();
    assert_eq!((undone.tip, undone.version), (turn.at, 5));
    assert_eq!(store.turns(&tenant, &chat).await.unwrap()[1].reply, None);
    assert_eq!(store.items(&tenant, "").await.unwrap()[0].value, serde_json::json!(7));
    assert_eq!(store.examine().await.unwrap(), []);
}
