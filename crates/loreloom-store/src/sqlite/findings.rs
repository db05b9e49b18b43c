//! What was found since anybody last committed, so that it need not be looked for again.
//!
//! A turn asks the database twice, mostly to hear that nothing has changed. Whether anybody has
//! committed since, this process or another, shows in the head of the write-ahead log's index, of
//! which SQLite [tells the form](https://sqlite.org/walformat.html): to read it is one call of the
//! system's, where a statement runs through much of SQLite.

use std::{
    fs::File,
    io,
    mem::ManuallyDrop,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use loreloom_core::ids::{ChatId, TenantId};
use loreloom_ports::{Owner, WriteId};
use rusqlite::Connection;

/// Findings of a kind that are kept: some more stories than are told at once.
const MOST: usize = 64;

/// The bytes of the index's head, which stands there twice.
const HEAD: usize = 48;
/// The form of the index that is known here.
const FORM: u32 = 3_007_000;

/// Where a database stands: it is another after every commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stand([u8; HEAD]);

impl Stand {
    /// Reads both heads: they differ while one is being written.
    fn read(heads: &[u8; 2 * HEAD]) -> Option<Self> {
        let (first, second) = heads.split_first_chunk::<HEAD>()?;
        let stand = Self(*first);
        let is_ready = first[12] == 1 && stand.number(0) == FORM;
        (is_ready && first == second).then_some(stand)
    }

    fn number(&self, at: usize) -> u32 {
        let bytes = self.0.get(at..).and_then(|rest| rest.first_chunk());
        bytes.map_or(0, |bytes| u32::from_ne_bytes(*bytes))
    }

    /// The number of commits, for as long as nobody has to make the index anew.
    fn commits(&self) -> u32 {
        self.number(8)
    }

    fn is_the_next_after(&self, before: &Self) -> bool {
        self.commits() == before.commits().wrapping_add(1)
    }
}

/// The index of a write-ahead log. It is never closed: with a file that a process closes it gives
/// up all locks it has on it, and those of SQLite on this one say that the database is in use.
#[derive(Debug)]
struct Index(ManuallyDrop<File>);

impl Index {
    fn of(connection: &Connection) -> Option<Self> {
        if !cfg!(unix) {
            return None;
        }
        let path = connection.path().filter(|path| !path.is_empty())?;
        File::open(format!("{path}-shm")).ok().map(|file| Self(ManuallyDrop::new(file)))
    }

    fn stand(&self) -> Option<Stand> {
        let mut heads = [0; 2 * HEAD];
        read_start(&self.0, &mut heads).ok()?;
        Stand::read(&heads)
    }
}

#[cfg(unix)]
fn read_start(file: &File, bytes: &mut [u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, 0)
}

/// Where it is not known whether the file shows what others have in memory.
#[cfg(not(unix))]
fn read_start(_file: &File, _bytes: &mut [u8]) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// What a write may change of what is found here; each kind may change what those before it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Touches {
    /// Neither stories nor what is remembered.
    Neither,
    /// Stories.
    Stories,
    /// Stories and what is remembered.
    Anything,
}

/// What holds at one stand of the database.
#[derive(Debug, Default)]
struct Found {
    at: Option<Stand>,
    last_writes: Vec<(TenantId, ChatId, WriteId)>,
    /// Owners, each with the event after which it has none.
    up_to_date: Vec<(TenantId, Vec<(Owner, u64)>)>,
}

/// What was found by those that read.
#[derive(Debug, Default)]
pub(super) struct Findings {
    index: Option<Index>,
    /// Whether the file has been seen not to show what SQLite has in memory of it.
    is_blind: AtomicBool,
    found: Mutex<Found>,
}

impl Findings {
    /// Those of a database that is open. One that has no log shows nothing.
    pub(super) fn of(connection: &Connection) -> Self {
        Self { index: Index::of(connection), ..Self::default() }
    }

    /// Where the database stands now, if that can be told. Whoever reads afterwards sees what
    /// was committed up to there, or more.
    pub(super) fn stand(&self) -> Option<Stand> {
        let sees = !self.is_blind.load(Ordering::Acquire);
        self.index.as_ref().filter(|_| sees)?.stand()
    }

    /// Whether this is known to be a chat's last write.
    pub(super) fn is_last_write(
        &self,
        at: Option<Stand>,
        (tenant, chat): (&TenantId, &ChatId),
        write: WriteId,
    ) -> bool {
        let found = self.lock();
        let is_this = |one: &(TenantId, ChatId, WriteId)| {
            one.2 == write && one.1 == *chat && one.0 == *tenant
        };
        at.is_some() && found.at == at && found.last_writes.iter().any(is_this)
    }

    /// Notes a chat's last write, which was read after the database stood there.
    pub(super) fn note_last_write(
        &self,
        at: Option<Stand>,
        (tenant, chat): (&TenantId, &ChatId),
        write: WriteId,
    ) {
        if let Some(mut found) = self.found_at(at) {
            make_room(&mut found.last_writes);
            found.last_writes.push((tenant.clone(), chat.clone(), write));
        }
    }

    /// Whether owners are known to have no events after these.
    pub(super) fn are_up_to_date(
        &self,
        at: Option<Stand>,
        tenant: &TenantId,
        known: &[(Owner, u64)],
    ) -> bool {
        let found = self.lock();
        let is_this = |one: &(TenantId, Vec<(Owner, u64)>)| one.1 == known && one.0 == *tenant;
        at.is_some() && found.at == at && found.up_to_date.iter().any(is_this)
    }

    /// Notes that owners have no events after these, which was read after the database stood
    /// there.
    pub(super) fn note_up_to_date(
        &self,
        at: Option<Stand>,
        tenant: &TenantId,
        known: &[(Owner, u64)],
    ) {
        if let Some(mut found) = self.found_at(at) {
            make_room(&mut found.up_to_date);
            found.up_to_date.push((tenant.clone(), known.to_vec()));
        }
    }

    /// Takes note of a commit that wrote something: what it did not touch is as it was. `before`
    /// is where the database stood while nobody else could write.
    pub(super) fn committed(&self, before: Option<Stand>, touches: Touches) {
        let now = self.stand();
        let mut found = self.lock();
        if now.is_some() && now == before {
            // On some file systems of other machines a file is not what others have mapped of it.
            self.is_blind.store(true, Ordering::Release);
        } else if now.is_some() && now == found.at {
            // Noted since.
            return;
        }
        let carries = touches < Touches::Anything && found.at == before && now != before;
        let (Some(before), Some(now), true) = (before, now, carries) else {
            *found = Found::default();
            return;
        };
        if now.is_the_next_after(&before) {
            found.at = Some(now);
            if touches == Touches::Stories {
                found.last_writes.clear();
            }
        }
    }

    /// What holds at a stand, with which everything ends that held at another. `None` if the
    /// database stands elsewhere by now.
    fn found_at(&self, at: Option<Stand>) -> Option<MutexGuard<'_, Found>> {
        at.filter(|_| self.stand() == at)?;
        let mut found = self.lock();
        if found.at != at {
            *found = Found { at, ..Found::default() };
        }
        Some(found)
    }

    fn lock(&self) -> MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn make_room<T>(all: &mut Vec<T>) {
    if all.len() >= MOST {
        all.clear();
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;

    struct World {
        ours: Connection,
        theirs: Connection,
        findings: Findings,
        tenant: TenantId,
        chat: ChatId,
        known: Vec<(Owner, u64)>,
        _folder: tempfile::TempDir,
    }

    impl World {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join("stories.sqlite");
            let open = || Connection::open(&file).unwrap();
            let (ours, theirs) = (open(), open());
            ours.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t (x)").unwrap();
            let findings = Findings::of(&ours);
            let (tenant, chat) = (TenantId::local(), ChatId::from("c"));
            let known = vec![(Owner::Chat(chat.clone()), 3)];
            Self { ours, theirs, findings, tenant, chat, known, _folder: folder }
        }

        fn note_all(&self) {
            let at = self.findings.stand();
            self.findings.note_last_write(at, (&self.tenant, &self.chat), WriteId(7));
            self.findings.note_up_to_date(at, &self.tenant, &self.known);
        }

        /// Whether the last write and what is remembered are known still.
        fn knows(&self) -> (bool, bool) {
            let (findings, at) = (&self.findings, self.findings.stand());
            let last = findings.is_last_write(at, (&self.tenant, &self.chat), WriteId(7));
            (last, findings.are_up_to_date(at, &self.tenant, &self.known))
        }

        /// A commit of ours, in which others have the middle.
        fn commit(&self, touches: Touches, then: impl FnOnce()) {
            self.ours.execute_batch("BEGIN IMMEDIATE").unwrap();
            let before = self.findings.stand();
            self.ours.execute_batch("INSERT INTO t VALUES (1); COMMIT").unwrap();
            then();
            self.findings.committed(before, touches);
        }

        fn others_commit(&self) {
            self.theirs.execute_batch("INSERT INTO t VALUES (2)").unwrap();
        }
    }

    #[test]
    fn only_a_commit_changes_where_a_database_stands() {
        let world = World::new();
        let first = world.findings.stand().unwrap();
        world.theirs.query_row("SELECT count(*) FROM t", [], |_| Ok(())).unwrap();
        world.theirs.execute_batch("BEGIN; INSERT INTO t VALUES (0); ROLLBACK").unwrap();
        assert_eq!(world.findings.stand(), Some(first));
        world.others_commit();
        let second = world.findings.stand().unwrap();
        assert!(second != first && second.is_the_next_after(&first));
        world.ours.execute_batch("PRAGMA wal_checkpoint(RESTART)").unwrap();
        world.others_commit();
        let third = world.findings.stand().unwrap();
        assert!(third != second && third.is_the_next_after(&second), "the log began anew");
    }

    #[test]
    fn what_was_found_holds_until_somebody_commits() {
        let world = World::new();
        assert_eq!(world.knows(), (false, false));
        world.note_all();
        assert_eq!(world.knows(), (true, true));
        let (other, older) = (TenantId::from("other"), WriteId(6));
        let at = world.findings.stand();
        assert!(!world.findings.is_last_write(at, (&other, &world.chat), WriteId(7)));
        assert!(!world.findings.is_last_write(at, (&world.tenant, &world.chat), older));
        assert!(!world.findings.are_up_to_date(at, &other, &world.known));
        world.others_commit();
        assert_eq!(world.knows(), (false, false));
    }

    #[test]
    fn a_commit_of_ours_leaves_what_it_does_not_touch() {
        let kinds = [Touches::Neither, Touches::Stories, Touches::Anything];
        for (touches, left) in kinds.into_iter().zip([(true, true), (false, true), (false, false)])
        {
            let world = World::new();
            world.note_all();
            world.commit(touches, || ());
            assert_eq!(world.knows(), left, "{touches:?}");
        }
    }

    #[test]
    fn a_commit_of_others_before_or_after_ours_leaves_nothing() {
        let world = World::new();
        world.note_all();
        world.commit(Touches::Neither, || world.others_commit());
        assert_eq!(world.knows(), (false, false));
        world.note_all();
        world.others_commit();
        world.commit(Touches::Neither, || ());
        assert_eq!(world.knows(), (false, false));
    }

    #[test]
    fn what_was_read_before_another_commit_is_not_noted() {
        let world = World::new();
        let before = world.findings.stand();
        world.others_commit();
        world.note_all();
        world.findings.note_up_to_date(before, &world.tenant, &[]);
        assert_eq!(world.knows(), (true, true), "what holds now is not forgotten for it");
    }

    #[test]
    fn a_file_that_does_not_show_a_commit_is_not_looked_into_again() {
        let world = World::new();
        world.note_all();
        world.findings.committed(world.findings.stand(), Touches::Neither);
        assert_eq!(world.findings.stand(), None);
        world.others_commit();
        world.note_all();
        assert_eq!(world.knows(), (false, false));
    }

    #[test]
    fn a_head_that_is_being_written_or_unknown_tells_nothing() {
        let mut heads = [0; 2 * HEAD];
        for at in [0, HEAD] {
            heads[at..at + 4].copy_from_slice(&FORM.to_ne_bytes());
            heads[at + 12] = 1;
        }
        assert!(Stand::read(&heads).is_some());
        for at in [0, 8, 12, HEAD + 16] {
            let mut torn = heads;
            torn[at] ^= 2;
            assert_eq!(Stand::read(&torn), None, "byte {at}");
        }
    }

    #[test]
    fn a_database_without_a_log_shows_nothing() {
        let memory = Findings::of(&Connection::open_in_memory().unwrap());
        memory.note_up_to_date(memory.stand(), &TenantId::local(), &[]);
        assert!(!memory.are_up_to_date(memory.stand(), &TenantId::local(), &[]));
    }

    #[test]
    fn room_is_made_for_new_findings() {
        let world = World::new();
        let at = world.findings.stand();
        for write in 0..1000 {
            world.findings.note_last_write(at, (&world.tenant, &world.chat), WriteId(write));
        }
        assert!(world.findings.lock().last_writes.len() <= MOST);
        assert!(world.findings.is_last_write(at, (&world.tenant, &world.chat), WriteId(999)));
    }
}
