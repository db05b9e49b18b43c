//! What a retention trims, decided turn by turn, for both databases.

use loreloom_ports::{Retained, Retention};
use rustc_hash::FxHashSet;

use crate::{
    codec::{
        TurnBody,
        trim::{self, TrimmedColumns},
    },
    errors::Decoded,
    rows::turn::OldTurn,
};

/// Goes through all turns of a tenant.
#[derive(Debug)]
pub(crate) struct RetentionRun<'a> {
    retention: &'a Retention,
    pub(crate) retained: Retained,
    /// Versions of the libraries in use.
    pub(crate) libraries: FxHashSet<[u8; 16]>,
    /// Numbers of the texts in use by the current chat.
    pub(crate) texts: FxHashSet<i64>,
}

impl<'a> RetentionRun<'a> {
    pub(crate) fn new(retention: &'a Retention) -> Self {
        let retained = Retained::default();
        Self { retention, retained, libraries: FxHashSet::default(), texts: FxHashSet::default() }
    }

    /// Takes the next turn of a chat whose last turn is `last`. Returns its new columns if it is
    /// to be trimmed.
    pub(crate) fn turn(&mut self, old: &OldTurn, last: i64) -> Decoded<Option<TrimmedColumns>> {
        let later = (last - old.turn).unsigned_abs();
        let trimmed = if old.trimmed || self.retention.keeps(later, old.created) {
            None
        } else {
            let trimmed = trim::columns(&old.body, &old.report)?;
            let before = old.body.len() + old.report.len();
            let after = trimmed.body.len() + trimmed.report.len();
            self.retained.turns += 1;
            self.retained.bytes += before.saturating_sub(after) as u64;
            Some(trimmed)
        };
        let body = trimmed.as_ref().map_or(&old.body, |trimmed| &trimmed.body);
        let body = TurnBody::from_bytes(body)?;
        self.texts.extend(body.texts);
        self.libraries.insert(body.library.0.0);
        Ok(trimmed)
    }
}
