//! Damaged write-ahead logs: stored turns are never dropped in silence, and what a crash leaves
//! behind is no damage.

use std::{
    ops::Range,
    path::{Path as FilePath, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

use loreloom_core::ids::TenantId;
use loreloom_ports::{StoreError, StoryStore as _};
use loreloom_store::SqliteStore;
use loreloom_testkit::store_suite::Failure;
use tempfile::{TempDir, tempdir};

use crate::damage::{bytes, put, write_stories};

const HEADER: usize = 32;
const FRAME: usize = 4120;

/// A database and a log with everything that `write_stories` wrote, as a killed process leaves them.
struct KilledStore {
    directory: TempDir,
    database: Vec<u8>,
    log: Vec<u8>,
}

impl KilledStore {
    async fn new() -> Result<Self, Failure> {
        let directory = tempdir()?;
        let live = directory.path().join("live.sqlite");
        drop(SqliteStore::open(&live)?);
        // An open reader keeps SQLite from restarting the log and from deleting it.
        let other = rusqlite::Connection::open(&live)?;
        other.execute_batch("BEGIN; SELECT count(*) FROM chats")?;
        write_stories(&live).await?;
        let (database, log) = (bytes(&live), bytes(&log_of(&live)));
        drop(other);
        assert_eq!((log.len() - HEADER) % FRAME, 0, "whole frames");
        Ok(Self { directory, database, log })
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// A copy with another log.
    fn copy(&self, name: &str, log: &[u8]) -> PathBuf {
        let file = self.file(name);
        put(&file, &self.database);
        put(&log_of(&file), log);
        file
    }

    /// The frames of each transaction.
    fn transactions(&self) -> Vec<Range<usize>> {
        let mut all = Vec::new();
        let mut first = 0;
        for (at, frame) in self.log[HEADER..].chunks_exact(FRAME).enumerate() {
            if frame[4..8] != [0; 4] {
                all.push(first..at + 1);
                first = at + 1;
            }
        }
        all
    }

    /// The log with these bytes inverted.
    fn flipped(&self, bytes: Range<usize>) -> Vec<u8> {
        let mut log = self.log.clone();
        for byte in &mut log[bytes] {
            *byte ^= 0xFF;
        }
        log
    }
}

fn log_of(file: &FilePath) -> PathBuf {
    let mut log = file.as_os_str().to_owned();
    log.push("-wal");
    log.into()
}

/// The place of a byte of a frame.
fn place(frame: usize, byte: usize) -> usize {
    HEADER + frame * FRAME + byte
}

#[tokio::test]
async fn a_log_that_breaks_off_in_the_middle_is_refused_and_its_turns_are_saved() {
    let killed = KilledStore::new().await.unwrap();
    let transactions = killed.transactions();
    assert!(transactions.len() > 100, "{} transactions", transactions.len());
    let middle = transactions[50].start;
    let commit = transactions[transactions.len() - 2].end - 1;
    let tenant = TenantId::local();
    for (name, damage, frame, saved) in [
        ("a page", place(middle, 1000)..place(middle, 1001), middle + 1, 30),
        ("a page number", place(middle, 0)..place(middle, 4), middle + 1, 30),
        ("salts", place(middle, 8)..place(middle, 16), middle + 1, 30),
        ("a checksum", place(middle, 16)..place(middle, 24), middle + 1, 30),
        ("a block", place(middle, 0)..place(middle, 1 << 16), middle + 1, 20),
        ("the last commit but one", place(commit, 99)..place(commit, 100), commit + 1, 34),
        ("the magic number", 0..4, 0, 36),
        ("the salts of the header", 16..24, 0, 36),
    ] {
        let log = killed.flipped(damage);
        let file = killed.copy(&format!("{name}.sqlite"), &log);
        let refused = SqliteStore::open(&file).unwrap_err();
        let part = if frame == 0 { "its header".to_owned() } else { format!("its frame {frame}") };
        let StoreError::Damaged { what, reason } = &refused else { panic!("{name}: {refused}") };
        assert_eq!(*what, format!("the write-ahead log `{}`", log_of(&file).display()));
        assert!(reason.starts_with(&format!("{part} is damaged, and ")), "{name}: {reason}");
        assert!(reason.contains("`loreloom doctor --repair NEW.sqlite`"), "{name}: {reason}");
        let backup = SqliteStore::restore(&file, killed.file("restored.sqlite")).unwrap_err();
        assert_eq!(backup.to_string(), refused.to_string(), "{name}");
        let diagnosis = SqliteStore::diagnose(&file, &tenant).await.unwrap();
        assert_eq!(diagnosis.findings.len(), 1, "{name}: {diagnosis:?}");
        assert_eq!(diagnosis.findings[0].what, "the write-ahead log", "{name}");
        assert_eq!(diagnosis.salvage.as_ref().map(|salvage| salvage.chats), Some(3), "{name}");
        let new = killed.file(&format!("{name}.new.sqlite"));
        let salvage = SqliteStore::repair(&file, &new).unwrap();
        assert_eq!(Some(&salvage), diagnosis.salvage.as_ref(), "{name}");
        assert!(salvage.turns >= saved, "{name}: {} turns", salvage.turns);
        assert_eq!((bytes(&file), bytes(&log_of(&file))), (killed.database.clone(), log), "{name}");
        let stories = SqliteStore::open(new).unwrap().chats(&tenant).await.unwrap();
        assert_eq!(stories.len(), 3, "{name}");
    }
}

#[tokio::test]
async fn what_a_crash_leaves_at_the_end_of_a_log_is_no_damage() {
    let killed = KilledStore::new().await.unwrap();
    let transactions = killed.transactions();
    let last = transactions.last().unwrap().clone();
    assert!(last.len() > 2, "{} frames", last.len());
    let mut logs = vec![
        ("nothing".to_owned(), killed.log.clone()),
        // The disk wrote the last frames of a transaction before the first ones.
        ("first frame".to_owned(), killed.flipped(place(last.start, 0)..place(last.start, FRAME))),
        ("all but the commit".to_owned(), {
            let mut log = killed.log.clone();
            log[place(last.start, 0)..place(last.end - 1, 0)].fill(0);
            log
        }),
        ("only a header".to_owned(), killed.log[..HEADER].to_vec()),
        ("an empty log".to_owned(), Vec::new()),
        ("zeros".to_owned(), [killed.log.clone(), vec![0; 10 * FRAME]].concat()),
    ];
    let end = killed.log.len();
    for cut in (0..end).step_by(end / 40).chain([end - 1, end - FRAME, end - FRAME - 1]) {
        logs.push((format!("cut at {cut}"), killed.log[..cut].to_vec()));
    }
    // A log that was begun anew has the frames of the old one behind its own: they have other salts.
    let mut older = killed.log.clone();
    for frame in transactions[20].start..older.len() / FRAME {
        older[place(frame, 8)] ^= 1;
    }
    logs.push(("old salts".to_owned(), older));
    for (name, log) in logs {
        let file = killed.copy("torn.sqlite", &log);
        let opened = SqliteStore::open(&file);
        assert!(opened.is_ok(), "{name}: {opened:?}");
        drop(opened);
        for file in [log_of(&file), killed.file("torn.sqlite-shm")] {
            // The last connection may have removed it.
            let _gone = std::fs::remove_file(file);
        }
    }
}

/// A transaction that does not fit into the cache is written to the log before its commit. If it
/// is rolled back, its frames stay behind those of later transactions, with the same salts.
#[tokio::test]
async fn frames_of_a_transaction_that_was_rolled_back_are_no_damage() {
    let directory = tempdir().unwrap();
    let file = directory.path().join("stories.sqlite");
    write_stories(&file).await.unwrap();
    let writer = rusqlite::Connection::open(&file).unwrap();
    let notes = "CREATE TABLE notes (note BLOB); PRAGMA wal_autocheckpoint = 0; \
                 PRAGMA cache_size = 4;";
    writer.execute_batch(notes).unwrap();
    let fill = "INSERT INTO notes SELECT randomblob(3000) FROM generate_series(1, 60)";
    let fill = fill.replace(
        "generate_series(1, 60)",
        "(WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60) \
         SELECT i FROM n)",
    );
    let before = bytes(&log_of(&file)).len();
    writer.execute_batch(&format!("BEGIN; {fill}; ROLLBACK;")).unwrap();
    let spilled = bytes(&log_of(&file)).len();
    assert!(spilled > before + 30 * FRAME, "{before} and then {spilled} bytes");
    for _ in 0..3 {
        writer.execute_batch("INSERT INTO notes VALUES (1)").unwrap();
    }
    assert_eq!(bytes(&log_of(&file)).len(), spilled, "later frames replace some of them");
    let copy = directory.path().join("copy.sqlite");
    put(&copy, &bytes(&file));
    put(&log_of(&copy), &bytes(&log_of(&file)));
    let store = SqliteStore::open(&copy).unwrap();
    assert_eq!(store.chats(&TenantId::local()).await.unwrap().len(), 3);
}

#[test]
fn a_log_that_another_process_writes_to_is_no_damage() {
    let directory = tempdir().unwrap();
    let file = directory.path().join("stories.sqlite");
    drop(SqliteStore::open(&file).unwrap());
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| {
            let writer = rusqlite::Connection::open(&file).unwrap();
            let begin = "CREATE TABLE notes (note BLOB); PRAGMA wal_autocheckpoint = 40; \
                         PRAGMA synchronous = OFF;";
            writer.execute_batch(begin).unwrap();
            let mut written = 0;
            while !done.load(Ordering::Relaxed) {
                writer.execute_batch("INSERT INTO notes VALUES (randomblob(9000))").unwrap();
                written += 1;
            }
            written
        });
        for _ in 0..40 {
            // Also a handle that closes: it may restart the log.
            drop(SqliteStore::open(&file).unwrap());
        }
        done.store(true, Ordering::Relaxed);
        assert!(writing.join().unwrap() > 40);
    });
}
