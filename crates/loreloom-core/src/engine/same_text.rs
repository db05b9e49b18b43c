//! Texts that two books have: one of them is enough.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::Decision;
use crate::{
    ids::{BookId, EntryId},
    library::Library,
    place::{Injection, Provenance},
    report::Stop,
    room::take_out,
};

/// What happens to a text that entries of two books have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SameText {
    /// It goes into the prompt once; the verdict of the other entry says so.
    #[default]
    Once,
    /// It goes into the prompt twice.
    Twice,
}

impl SameText {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Takes out texts that an entry of another book has put in before.
pub(super) fn drop_repeats(decision: &mut Decision, library: &Library) {
    let mut first: FxHashMap<String, (BookId, EntryId)> = FxHashMap::default();
    let mut repeats: Vec<(EntryId, EntryId)> = Vec::new();
    decision.injections.retain(|Injection { text, source, .. }| {
        let (Provenance::Lore { book, entry }, text) = (source, text.trim()) else { return true };
        if text.is_empty() {
            return true;
        }
        match first.get(text) {
            Some((other, of)) if other != book => {
                repeats.push((entry.clone(), of.clone()));
                false
            }
            Some(_) => true,
            None => {
                first.insert(text.to_owned(), (book.clone(), entry.clone()));
                true
            }
        }
    });
    for (entry, of) in repeats {
        if let Some((pool, tokens)) = take_out(decision, &entry, library, |_| Stop::Copied { of }) {
            let mut pools = decision.report.budgets.iter_mut();
            if let Some(pool) = pools.find(|one| one.pool == pool) {
                pool.used = pool.used.checked_sub(tokens).unwrap_or_default();
            }
        }
    }
}
