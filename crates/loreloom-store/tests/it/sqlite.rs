//! What only SQLite has: files, and several processes on one file.

use std::time::{Duration, Instant};

use loreloom_core::{ids::TenantId, units::Timestamp};
use loreloom_ports::StoryStore;
use loreloom_store::SqliteStore;
use rusqlite::Connection;
use tempfile::tempdir;

#[tokio::test]
async fn a_database_of_another_version_is_refused_and_left_alone() {
    let directory = tempdir().unwrap();
    let file = directory.path().join("stories.sqlite");
    drop(SqliteStore::open(&file).unwrap());
    let database = Connection::open(&file).unwrap();
    for version in [1, 99] {
        database.execute("UPDATE schema_version SET version = ?1", [version]).unwrap();
        let refused = SqliteStore::open(&file).unwrap_err();
        let expected =
            format!("it has version {version} of the stored format, this loreloom needs version 8");
        assert_eq!(refused.to_string(), expected);
        let stored = database.query_row("SELECT version FROM schema_version", [], |row| row.get(0));
        assert_eq!(stored, Ok(version));
    }
}

#[test]
fn somebody_elses_database_is_refused_and_left_alone() {
    let directory = tempdir().unwrap();
    let file = directory.path().join("other.sqlite");
    let other = Connection::open(&file).unwrap();
    other.execute_batch("CREATE TABLE recipes (name TEXT)").unwrap();
    let refused = SqliteStore::open(&file).unwrap_err();
    let expected = "the database is damaged: it has tables but no `schema_version`: it is not \
                    a loreloom database";
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
#[cfg(unix)]
async fn what_is_written_to_a_file_that_was_moved_or_replaced_is_not_acknowledged() {
    let directory = tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let file = at("stories.sqlite");
    let tenant = TenantId::local();
    let store = SqliteStore::open(&file).unwrap();
    let open = async |chat: &str| {
        let opened = store.open_chat(&tenant, &chat.into(), "", Timestamp(0)).await;
        opened.map(drop).map_err(|error| error.to_string())
    };
    let renamed = |from: &str, to: &str| {
        for end in ["", "-wal", "-shm"] {
            let (from, to) = (at(&format!("{from}{end}")), at(&format!("{to}{end}")));
            std::fs::rename(from, to).unwrap();
        }
    };
    assert_eq!(open("first").await, Ok(()));
    renamed("stories.sqlite", "away.sqlite");
    let refused = "the database file was moved, deleted or replaced while it was open: put it \
                   back, or start this server again"
        .to_owned();
    assert_eq!(open("lost").await, Err(refused.clone()));
    assert!(!file.exists(), "an empty file would hide that the stories are gone");
    // A backup takes its place.
    drop(SqliteStore::open(&file).unwrap());
    assert_eq!(open("lost").await, Err(refused));
    renamed("away.sqlite", "stories.sqlite");
    assert_eq!(open("second").await, Ok(()));
    drop(store);
    let store = SqliteStore::open(&file).unwrap();
    let chats = store.chats(&tenant).await.unwrap();
    let mut ids: Vec<String> = chats.into_iter().map(|one| one.chat.id.to_string()).collect();
    ids.sort();
    assert_eq!(ids, ["first", "second"]);
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

#[tokio::test]
async fn the_log_is_moved_into_the_database_once_writing_pauses() {
    let directory = tempdir().unwrap();
    let file = directory.path().join("stories.sqlite");
    let store = SqliteStore::open(&file).unwrap();
    let size = || file.metadata().unwrap().len();
    let before = size();
    store.open_chat(&TenantId::local(), &"harbour".into(), "Harbour", Timestamp(1)).await.unwrap();
    let began = Instant::now();
    while size() == before {
        assert!(began.elapsed() < Duration::from_secs(20), "it still has {before} bytes");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    drop(store);
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
