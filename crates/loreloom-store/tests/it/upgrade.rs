//! Older PostgreSQL databases: the fixtures of SQLite, carried over row by row.

#![expect(clippy::unwrap_used, reason = "a test whose surroundings cannot be set up has failed")]

use std::fmt::Write as _;

use loreloom_core::{ids::TenantId, units::Timestamp};
use loreloom_ports::{StoryStore as _, TurnId};
use loreloom_store::PostgresStore;
use loreloom_testkit::postgres::Cluster;
use rusqlite::{Connection, types::ValueRef};
use tokio_postgres::NoTls;

const MIGRATIONS: [&str; 4] = [
    include_str!("../../migrations/postgres/0001_stories.sql"),
    include_str!("../../migrations/postgres/0002_libraries.sql"),
    include_str!("../../migrations/postgres/0003_desk.sql"),
    include_str!("../../migrations/postgres/0004_writes.sql"),
];

const FIXTURES: [&str; 4] = [
    include_str!("../fixtures/schema-1.sql"),
    include_str!("../fixtures/schema-2.sql"),
    include_str!("../fixtures/schema-3.sql"),
    include_str!("../fixtures/schema-4.sql"),
];

/// Tables in an order in which rows find what they refer to.
const TABLES: [&str; 13] = [
    "chats",
    "messages",
    "branches",
    "nodes",
    "turns",
    "turn_records",
    "texts",
    "libraries",
    "desks",
    "desk_items",
    "desk_revisions",
    "desk_changes",
    "writes",
];

/// Columns that PostgreSQL keeps as bytes, because texts may hold a NUL.
const BYTES: [(&str, &str); 6] = [
    ("chats", "title"),
    ("messages", "text"),
    ("nodes", "name"),
    ("desk_items", "value"),
    ("desk_changes", "before"),
    ("desk_changes", "after"),
];

fn hex(bytes: &[u8]) -> String {
    let mut text = String::from("'\\x");
    for byte in bytes {
        write!(text, "{byte:02x}").unwrap();
    }
    text + "'"
}

/// The rows of a fixture as statements of PostgreSQL.
fn rows_of(fixture: &str) -> String {
    let database = Connection::open_in_memory().unwrap();
    database.execute_batch(fixture).unwrap();
    let mut script = String::new();
    for table in TABLES {
        let there = database.prepare(&format!("SELECT * FROM {table}"));
        // Later schemas have more tables.
        let Ok(mut all) = there else { continue };
        let names: Vec<String> = all.column_names().map(str::to_owned).collect();
        let mut rows = all.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            let values =
                names.iter().enumerate().map(|(at, name)| match row.get_ref(at).unwrap() {
                    ValueRef::Null => "NULL".to_owned(),
                    ValueRef::Integer(number) => format!("'{number}'"),
                    ValueRef::Real(number) => format!("'{number}'"),
                    ValueRef::Blob(bytes) => hex(bytes),
                    ValueRef::Text(text) if BYTES.contains(&(table, name)) => hex(text),
                    ValueRef::Text(text) => {
                        format!("'{}'", String::from_utf8_lossy(text).replace('\'', "''"))
                    }
                });
            let values: Vec<String> = values.collect();
            let (names, values) = (names.join(", "), values.join(", "));
            writeln!(script, "INSERT INTO {table} ({names}) VALUES ({values});").unwrap();
        }
    }
    script
}

async fn run(address: &str, script: &str) {
    let (client, connection) = tokio_postgres::connect(address, NoTls).await.unwrap();
    let asking = async move {
        client.batch_execute(script).await.unwrap();
    };
    let (talked, ()) = tokio::join!(connection, asking);
    talked.unwrap();
}

#[tokio::test]
async fn a_database_of_every_older_schema_opens_with_its_stories() {
    let Some(cluster) = Cluster::start().unwrap() else { return };
    for (number, fixture) in (1..).zip(FIXTURES) {
        let name = format!("schema_{number}");
        run(&cluster.address(), &format!("CREATE DATABASE {name}")).await;
        let address = cluster.address().replace("dbname=postgres", &format!("dbname={name}"));
        run(&address, &MIGRATIONS[..number].concat()).await;
        run(&address, &format!("UPDATE schema_version SET version = {number}")).await;
        run(&address, &rows_of(fixture)).await;
        let store = PostgresStore::connect(&address).await.unwrap();
        let (tenant, chat) = (TenantId::local(), "harbour".into());
        let turn = store.turn(&tenant, &chat, TurnId(2)).await.unwrap().unwrap();
        let injected: Vec<&str> = turn.injections.iter().map(|one| one.text.as_str()).collect();
        assert!(injected.contains(&"The tower leans."), "{name}: {injected:?}");
        let before = store.chat(&tenant, &chat).await.unwrap().unwrap();
        let root = loreloom_core::ids::PrefixHash::default();
        let moved = store.move_tip(&tenant, &chat, root, None, Timestamp(9)).await.unwrap();
        let back = store.take_back(&tenant, &chat, moved.last_write(), Timestamp(10)).await;
        assert_eq!(back.unwrap().tip, before.tip, "{name}");
        assert_eq!(loreloom_store::doctor::examine(&store, &tenant).await.unwrap(), [], "{name}");
    }
}
