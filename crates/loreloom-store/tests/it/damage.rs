//! Damaged files: whatever byte is wrong or missing, nothing panics, and every loss is named.

use std::{
    collections::BTreeSet,
    fs::File,
    io::{Read, Write},
    path::Path as FilePath,
};

use loreloom_core::{
    chat::{Path, Role},
    ids::{ChatId, TenantId},
    units::Timestamp,
};
use loreloom_ports::{StoreError, StoryStore, TurnId, TurnRecord};
use loreloom_store::{Salvage, SqliteStore};
use loreloom_testkit::store_suite::{Failure, fixture};
use tempfile::tempdir;

const CHATS: [&str; 3] = ["harbour", "tower", "mill"];

/// What was committed: the turns of each chat, and the messages.
pub(crate) struct Written {
    pub(crate) turns: Vec<(ChatId, TurnId, TurnRecord)>,
    texts: BTreeSet<(ChatId, String)>,
}

pub(crate) async fn write_stories(file: &FilePath) -> Result<Written, Failure> {
    let store = SqliteStore::open(file)?;
    let tenant = TenantId::local();
    let mut written = Written { turns: Vec::new(), texts: BTreeSet::new() };
    for (seed, chat) in (0_u64..).zip(CHATS) {
        let chat = ChatId::from(chat);
        store.open_chat(&tenant, &chat, "A story", Timestamp(1)).await?;
        let mut path = Path::new(chat.clone());
        for number in seed * 100..seed * 100 + 12 {
            path.push(fixture::said(Role::User, &fixture::prose(number, 40)));
            let turn = fixture::lively_turn(&path, number, 12);
            let id = store.commit_turn(&tenant, &path, &turn, None).await?.id;
            written.turns.push((chat.clone(), id, turn));
            let swiped = fixture::then(&path, Role::Assistant, &format!("swiped {number}"));
            let reply = fixture::reply(id, &swiped, 2).ok_or("a reply")?;
            store.commit_reply(&tenant, &chat, &reply).await?;
            path.push(fixture::said(Role::Assistant, &fixture::prose(number + 50, 90)));
            let reply = fixture::reply(id, &path, 3).ok_or("a reply")?;
            store.commit_reply(&tenant, &chat, &reply).await?;
            written.texts.insert((chat.clone(), format!("swiped {number}")));
        }
        let said = path.items().iter().map(|item| (chat.clone(), item.message.text.to_string()));
        written.texts.extend(said);
    }
    Ok(written)
}

#[expect(clippy::unwrap_used, reason = "the test made the file it reads")]
pub(crate) fn bytes(file: &FilePath) -> Vec<u8> {
    let mut bytes = Vec::new();
    File::open(file).unwrap().read_to_end(&mut bytes).unwrap();
    bytes
}

#[expect(clippy::unwrap_used, reason = "a test whose file cannot be written has failed")]
pub(crate) fn put(file: &FilePath, bytes: &[u8]) {
    File::create(file).unwrap().write_all(bytes).unwrap();
}

/// Everything that was written is in the repaired file, or named as lost.
async fn nothing_is_lost_in_silence(
    written: &Written,
    repaired: &FilePath,
    salvage: &Salvage,
    what: &str,
) -> Result<(), Failure> {
    let store = SqliteStore::open(repaired)?;
    let tenant = TenantId::local();
    let named = |chat: &ChatId, part: &str| {
        let mut lost = salvage.lost.iter();
        lost.any(|loss| loss.chat.as_ref().is_none_or(|of| of == chat) && loss.what == part)
    };
    for (chat, id, turn) in &written.turns {
        if store.chat(&tenant, chat).await?.is_none() {
            let any = salvage.lost.iter().any(|loss| loss.chat.is_some());
            assert!(any, "{what}: chat `{chat}` is gone and nothing is named");
            continue;
        }
        let stored = store.turn(&tenant, chat, *id).await?;
        let same = stored.as_ref().is_some_and(|stored| stored.prompt == turn.prompt);
        let part = format!("turn {}", id.0);
        assert!(same || named(chat, &part), "{what}: {part} of `{chat}`: {:#?}", salvage.lost);
    }
    let diagnosis = SqliteStore::diagnose(repaired, &tenant).await?;
    assert_eq!(diagnosis.findings, [], "{what}");
    assert_eq!(diagnosis.known, salvage.lost, "{what}");
    let mut kept = BTreeSet::new();
    for chat in CHATS.map(ChatId::from) {
        for node in store.tree(&tenant, &chat).await.unwrap_or_default() {
            kept.insert((chat.clone(), node.message.text.to_string()));
        }
    }
    let lost = written.texts.difference(&kept).count();
    let names =
        |loss: &str| loss.starts_with("node") || loss.starts_with("message") || loss == "chat";
    let named = salvage.lost.iter().filter(|loss| names(&loss.what)).count();
    // A whole page of nodes at the end of a branch is named by the turns computed on it.
    let turns = salvage.lost.iter().filter(|loss| loss.what.starts_with("turn")).count();
    assert!(lost <= named + 3 * turns, "{what}: {lost} messages lost: {:#?}", salvage.lost);
    Ok(())
}

#[tokio::test]
async fn a_sound_file_is_repaired_to_the_same_stories() {
    let directory = tempdir().unwrap();
    let file = |name: &str| directory.path().join(name);
    let written = write_stories(&file("a.sqlite")).await.unwrap();
    let salvage = SqliteStore::repair(file("a.sqlite"), file("b.sqlite")).unwrap();
    assert_eq!(salvage, Salvage { chats: 3, turns: 36, lost: Vec::new() });
    let (old, new) = (SqliteStore::open(file("a.sqlite")), SqliteStore::open(file("b.sqlite")));
    let (old, new, tenant) = (old.unwrap(), new.unwrap(), TenantId::local());
    assert_eq!(new.chats(&tenant).await.unwrap(), old.chats(&tenant).await.unwrap());
    for (chat, id, turn) in written.turns {
        assert_eq!(new.turn(&tenant, &chat, id).await.unwrap(), Some(turn));
    }
    for chat in CHATS.map(ChatId::from) {
        assert_eq!(
            new.turns(&tenant, &chat).await.unwrap(),
            old.turns(&tenant, &chat).await.unwrap()
        );
        assert_eq!(
            new.writes(&tenant, &chat).await.unwrap(),
            old.writes(&tenant, &chat).await.unwrap()
        );
        let sorted = |mut nodes: Vec<_>| {
            nodes.sort_by_key(|node: &loreloom_ports::Node| node.prefix);
            nodes
        };
        assert_eq!(
            sorted(new.tree(&tenant, &chat).await.unwrap()),
            sorted(old.tree(&tenant, &chat).await.unwrap())
        );
    }
    let again = SqliteStore::repair(file("a.sqlite"), file("b.sqlite")).unwrap_err();
    assert!(matches!(again, StoreError::Exists { .. }), "{again:?}");
}

#[tokio::test]
async fn whatever_page_is_overwritten_the_rest_is_saved_and_the_loss_named() {
    let directory = tempdir().unwrap();
    let file = |name: &str| directory.path().join(name);
    let written = write_stories(&file("whole.sqlite")).await.unwrap();
    let whole = bytes(&file("whole.sqlite"));
    let pages = whole.len() / 4096;
    // The first pages hold the schema and the roots; of the others a spread that is the same
    // in every run, because each repair reads and writes a whole database.
    let some: Vec<usize> = (0..6).chain((6..pages).step_by((pages / 12).max(1))).collect();
    let mut saved = 0;
    for &page in &some {
        let mut damaged = whole.clone();
        damaged[page * 4096..(page + 1) * 4096].fill(0xA5);
        let name = format!("{page}.sqlite");
        put(&file("damaged.sqlite"), &damaged);
        let what = format!("page {page} of {pages}");
        let salvage = SqliteStore::repair(file("damaged.sqlite"), file(&name)).unwrap();
        nothing_is_lost_in_silence(&written, &file(&name), &salvage, &what).await.unwrap();
        assert_eq!(bytes(&file("damaged.sqlite")), damaged, "{what}");
        saved += salvage.turns;
    }
    assert!(saved > 28 * some.len() as u64, "{saved} turns of {} files", some.len());
}

#[tokio::test]
async fn a_file_that_ends_early_gives_what_it_has_and_names_the_rest() {
    let directory = tempdir().unwrap();
    let file = |name: &str| directory.path().join(name);
    let written = write_stories(&file("whole.sqlite")).await.unwrap();
    let whole = bytes(&file("whole.sqlite"));
    for (number, length) in (4096..whole.len()).step_by(whole.len() / 9 + 1).enumerate() {
        put(&file("cut.sqlite"), &whole[..length]);
        let name = format!("{number}.sqlite");
        let what = format!("{length} bytes of {}", whole.len());
        let salvage = match SqliteStore::repair(file("cut.sqlite"), file(&name)) {
            Ok(salvage) => salvage,
            // The rest of the file has no rows of ours.
            Err(StoreError::NotADatabase { .. }) => continue,
            Err(error) => panic!("{what}: {error}"),
        };
        nothing_is_lost_in_silence(&written, &file(&name), &salvage, &what).await.unwrap();
        let diagnosis =
            SqliteStore::diagnose(file("cut.sqlite"), &TenantId::local()).await.unwrap();
        assert!(!diagnosis.findings.is_empty(), "{what}");
    }
}

#[tokio::test]
async fn whatever_byte_is_wrong_opening_and_reading_never_panic() {
    let directory = tempdir().unwrap();
    let file = |name: &str| directory.path().join(name);
    write_stories(&file("whole.sqlite")).await.unwrap();
    let whole = bytes(&file("whole.sqlite"));
    let tenant = TenantId::local();
    let spread = (0..100).chain((100..whole.len()).step_by(whole.len() / 30 + 1));
    for at in spread.step_by(5) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0xFF;
        let name = format!("{at}.sqlite");
        put(&file(&name), &damaged);
        drop(SqliteStore::diagnose(file(&name), &tenant).await.unwrap());
        if let Ok(store) = SqliteStore::open(file(&name)) {
            for chat in CHATS.map(ChatId::from) {
                drop(store.tree(&tenant, &chat).await);
                drop(store.turn(&tenant, &chat, TurnId(3)).await);
            }
        }
    }
}

#[tokio::test]
async fn files_that_are_no_databases_are_called_what_they_are() {
    let directory = tempdir().unwrap();
    let file = |name: &str| directory.path().join(name);
    put(&file("empty.sqlite"), b"");
    put(&file("notes.txt"), "These are notes, not a database. ".repeat(400).as_bytes());
    drop(SqliteStore::open(file("newer.sqlite")).unwrap());
    let newer = rusqlite::Connection::open(file("newer.sqlite")).unwrap();
    newer.execute("UPDATE schema_version SET version = 99", []).unwrap();
    drop(newer);
    let notes = file("notes.txt").display().to_string();
    for (name, expected) in [
        ("nowhere.sqlite", "file: there is no such file".to_owned()),
        ("empty.sqlite", "file: it is empty: there are no stories in it".to_owned()),
        ("notes.txt", format!("file: `{notes}` is no database")),
        (
            "newer.sqlite",
            "file: it has version 99 of the stored format, this loreloom needs version 8"
                .to_owned(),
        ),
    ] {
        let diagnosis = SqliteStore::diagnose(file(name), &TenantId::local()).await.unwrap();
        let found: Vec<String> = diagnosis.findings.iter().map(ToString::to_string).collect();
        assert_eq!(found, [expected], "{name}");
        assert_eq!(diagnosis.salvage, None, "{name}");
        assert!(SqliteStore::restore(file(name), file("new.sqlite")).is_err(), "{name}");
        assert!(SqliteStore::repair(file(name), file("new.sqlite")).is_err(), "{name}");
        assert!(!file("new.sqlite").exists(), "{name}");
    }
    assert_eq!(file("empty.sqlite").metadata().unwrap().len(), 0);
}
