//! Which write can be taken back.
//!
//! One rule for all stores, as in any editor: what was done last is taken back first, and what
//! was taken back last is done again first. Anything new ends the second.

use loreloom_core::ids::{ChatId, PrefixHash};
use loreloom_ports::{StoreError, TurnId, WriteId, WriteKind, WriteRecord};

/// What a write did, for the log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Did {
    /// What.
    pub(crate) kind: WriteKind,
    /// The turn's reply before.
    pub(crate) reply: Option<PrefixHash>,
    /// The write it took back.
    pub(crate) undoes: Option<WriteId>,
}

impl Did {
    /// An ordinary write.
    pub(crate) fn new(kind: WriteKind) -> Self {
        Self { kind, reply: None, undoes: None }
    }

    /// Columns `kind` and `turn`.
    pub(crate) fn columns(&self) -> (i64, Option<i64>) {
        let number = |turn: TurnId| Some(turn.0.cast_signed());
        match self.kind {
            WriteKind::Turn(turn) => (0, number(turn)),
            WriteKind::Reply(turn) => (1, number(turn)),
            WriteKind::Path => (2, None),
            WriteKind::Tip => (3, None),
        }
    }
}

/// What columns `kind` and `turn` say.
pub(crate) fn kind_from(kind: i64, turn: Option<i64>) -> Result<WriteKind, String> {
    let turn = turn.map(|turn| TurnId(turn.unsigned_abs()));
    match (kind, turn) {
        (0, Some(turn)) => Ok(WriteKind::Turn(turn)),
        (1, Some(turn)) => Ok(WriteKind::Reply(turn)),
        (2, _) => Ok(WriteKind::Path),
        (3, _) => Ok(WriteKind::Tip),
        (other, _) => Err(format!("kind {other} of writes is unknown, or names no turn")),
    }
}

/// A write to take back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Undo<'log> {
    /// The write whose circumstances come back.
    pub(crate) write: &'log WriteRecord,
    /// Whether what it did no longer counts afterwards, or counts again.
    pub(crate) undone: bool,
}

/// A write that counts, or one that was taken back, by the last write that made it so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    by: WriteId,
    root: WriteId,
}

#[derive(Debug, Default)]
struct Stacks {
    done: Vec<Entry>,
    undone: Vec<Entry>,
}

impl Stacks {
    fn of(log: &[WriteRecord]) -> Self {
        let mut stacks = Self::default();
        for write in log {
            let by = write.id;
            match write.undoes {
                None => {
                    stacks.done.push(Entry { by, root: by });
                    stacks.undone.clear();
                }
                Some(other) if stacks.is_last_done(other) => {
                    let root = stacks.done.pop().map_or(other, |entry| entry.root);
                    stacks.undone.push(Entry { by, root });
                }
                Some(other) => {
                    let root = stacks.undone.pop().map_or(other, |entry| entry.root);
                    stacks.done.push(Entry { by, root });
                }
            }
        }
        stacks
    }

    fn is_last_done(&self, write: WriteId) -> bool {
        self.done.last().is_some_and(|entry| entry.by == write || entry.root == write)
    }
}

/// The writes that still count, in order.
pub fn counting(log: &[WriteRecord]) -> Vec<WriteId> {
    Stacks::of(log).done.into_iter().map(|entry| entry.root).collect()
}

/// Finds out whether `write` can be taken back.
pub(crate) fn plan<'log>(
    chat: &ChatId,
    log: &'log [WriteRecord],
    write: WriteId,
) -> Result<Undo<'log>, StoreError> {
    let record = |id| {
        let found = log.iter().find(|record| record.id == id);
        found.ok_or_else(|| StoreError::NoWrite { chat: chat.clone(), write: id })
    };
    record(write)?;
    let stacks = Stacks::of(log);
    let built_upon =
        |later: &Entry| StoreError::BuiltUpon { chat: chat.clone(), write, later: later.root };
    if let Some(last) = stacks.done.last().filter(|_| stacks.is_last_done(write)) {
        return Ok(Undo { write: record(last.by)?, undone: true });
    }
    match stacks.undone.last() {
        Some(last) if last.by == write => return Ok(Undo { write: record(write)?, undone: false }),
        Some(last) if stacks.undone.iter().any(|entry| entry.by == write) => {
            let later = Entry { by: last.by, root: last.by };
            return Err(built_upon(&later));
        }
        Some(_) | None => (),
    }
    let counts = stacks.done.iter().any(|entry| entry.by == write || entry.root == write);
    match stacks.done.last().filter(|_| counts) {
        Some(last) => Err(built_upon(last)),
        None => Err(StoreError::TakenBack { chat: chat.clone(), write }),
    }
}

#[cfg(test)]
mod tests {
    use loreloom_core::units::Timestamp;

    use super::*;

    fn log(undoes: &[Option<u64>]) -> Vec<WriteRecord> {
        let record = |(id, undoes): (u64, &Option<u64>)| WriteRecord {
            id: WriteId(id),
            kind: WriteKind::Tip,
            undoes: undoes.map(WriteId),
            tip: PrefixHash::default(),
            reply: None,
            created: Timestamp(0),
        };
        (1..).zip(undoes).map(record).collect()
    }

    #[test]
    fn the_last_write_is_taken_back_first_and_done_again_first() {
        let (yes, no) = ("taken back", "done again");
        for (undoes, write, expected) in [
            (&[None, None][..], 2, yes),
            (&[None, None], 1, "builds on 2"),
            (&[None, None], 3, "none"),
            (&[None, None, Some(2)], 1, yes),
            (&[None, None, Some(2)], 2, "already"),
            (&[None, None, Some(2)], 3, no),
            (&[None, None, Some(2), Some(1)], 3, "builds on 4"),
            (&[None, None, Some(2), Some(1)], 4, no),
            (&[None, None, Some(2), Some(3)], 2, yes),
            (&[None, None, Some(2), Some(3)], 4, yes),
            (&[None, None, Some(2), Some(3)], 1, "builds on 2"),
            (&[None, None, Some(2), Some(3), Some(4)], 5, no),
            (&[None, None, Some(2), None], 3, "already"),
            (&[None, None, Some(2), None], 1, "builds on 4"),
        ] {
            let found = match plan(&"c".into(), &log(undoes), WriteId(write)) {
                Ok(Undo { undone: true, .. }) => yes.to_owned(),
                Ok(Undo { undone: false, .. }) => no.to_owned(),
                Err(StoreError::BuiltUpon { later, .. }) => format!("builds on {}", later.0),
                Err(StoreError::TakenBack { .. }) => "already".to_owned(),
                Err(_) => "none".to_owned(),
            };
            assert_eq!(found, expected, "{undoes:?}: {write}");
        }
        assert_eq!(counting(&log(&[None, None, Some(2), None])), [WriteId(1), WriteId(4)]);
    }
}
