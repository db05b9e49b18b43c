//! Which write can be undone.
//!
//! One rule for all stores, as in any editor: the last write is undone first, and the last undone
//! write is redone first. A new write ends redoing.

use loreloom_core::ids::{ChatId, PrefixHash};
use loreloom_ports::{StoreError, WriteId, WriteKind, WriteRecord};

/// A write, for the log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoggedWrite {
    pub(crate) kind: WriteKind,
    /// The reply of the turn before the write.
    pub(crate) reply: Option<PrefixHash>,
    /// The write that it undoes.
    pub(crate) undoes: Option<WriteId>,
}

impl LoggedWrite {
    /// A write that undoes nothing.
    pub(crate) fn new(kind: WriteKind) -> Self {
        Self { kind, reply: None, undoes: None }
    }
}

/// How a write is undone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UndoPlan<'log> {
    /// The write whose previous values are restored.
    pub(crate) write: &'log WriteRecord,
    /// Whether its effect is undone, or redone.
    pub(crate) undone: bool,
}

impl UndoPlan<'_> {
    /// The write that undoes it.
    pub(crate) fn logged(&self) -> LoggedWrite {
        LoggedWrite { undoes: Some(self.write.id), ..LoggedWrite::new(self.write.kind) }
    }
}

/// A write that is done or undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct StackedWrite {
    /// The last write that did, undid or redid it.
    by: WriteId,
    root: WriteId,
}

#[derive(Debug, Default)]
struct UndoStacks {
    done: Vec<StackedWrite>,
    undone: Vec<StackedWrite>,
}

impl UndoStacks {
    fn of(log: &[WriteRecord]) -> Self {
        let mut stacks = Self::default();
        for write in log {
            let by = write.id;
            match write.undoes {
                None => {
                    stacks.done.push(StackedWrite { by, root: by });
                    stacks.undone.clear();
                }
                Some(other) if stacks.is_last_done(other) => {
                    let root = stacks.done.pop().map_or(other, |entry| entry.root);
                    stacks.undone.push(StackedWrite { by, root });
                }
                Some(other) => {
                    let root = stacks.undone.pop().map_or(other, |entry| entry.root);
                    stacks.done.push(StackedWrite { by, root });
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
    UndoStacks::of(log).done.into_iter().map(|entry| entry.root).collect()
}

/// Plans to undo `write`, if it can be undone.
pub(crate) fn plan<'log>(
    chat: &ChatId,
    log: &'log [WriteRecord],
    write: WriteId,
) -> Result<UndoPlan<'log>, StoreError> {
    let record = |id| {
        let found = log.iter().find(|record| record.id == id);
        found.ok_or_else(|| StoreError::NoWrite { chat: chat.clone(), write: id })
    };
    record(write)?;
    let stacks = UndoStacks::of(log);
    let built_upon = |later: &StackedWrite| StoreError::BuiltUpon {
        chat: chat.clone(),
        write,
        later: later.root,
    };
    if let Some(last) = stacks.done.last().filter(|_| stacks.is_last_done(write)) {
        return Ok(UndoPlan { write: record(last.by)?, undone: true });
    }
    match stacks.undone.last() {
        Some(last) if last.by == write => {
            return Ok(UndoPlan { write: record(write)?, undone: false });
        }
        Some(last) if stacks.undone.iter().any(|entry| entry.by == write) => {
            let later = StackedWrite { by: last.by, root: last.by };
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
    fn the_last_write_is_undone_first_and_redone_first() {
        let (yes, no) = ("undone", "redone");
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
                Ok(UndoPlan { undone: true, .. }) => yes.to_owned(),
                Ok(UndoPlan { undone: false, .. }) => no.to_owned(),
                Err(StoreError::BuiltUpon { later, .. }) => format!("builds on {}", later.0),
                Err(StoreError::TakenBack { .. }) => "already".to_owned(),
                Err(_) => "none".to_owned(),
            };
            assert_eq!(found, expected, "{undoes:?}: {write}");
        }
        assert_eq!(counting(&log(&[None, None, Some(2), None])), [WriteId(1), WriteId(4)]);
    }
}
