//! Which notes can come in at all: the engine is asked, with a chat that says everything.

use rustc_hash::FxHashSet;

use crate::{
    dialects::vault::{
        Lines, SelectionRules, Vault, VaultCache, VaultRules, VaultState, VaultTurn, candidates,
        find,
    },
    dice::{Dice, Roll},
    library::EntryIx,
    turn::VaultContext,
};

/// Dice that let everything in that has any chance.
struct Lucky;

impl Dice for Lucky {
    fn roll(&mut self, _: Roll<'_>) -> f64 {
        0.0
    }
}

/// The notes that some chat brings in once it is no longer new: by keys, by other notes, by topic
/// or by a selecting model. Notes that only their own further conditions stop here count too:
/// another chat may meet them.
pub(super) fn reachable(
    vault: &Vault,
    rules: &VaultRules,
    selection: Option<&SelectionRules>,
) -> FxHashSet<EntryIx> {
    let keys: Vec<&str> = vault.entries().flat_map(|ix| vault.keys_of(ix)).collect();
    let mut lines = Lines::default();
    for _ in 0..=rules.new_chat_threshold.min(1000) {
        lines.push("", "", true, true);
    }
    lines.push("", &keys.join("\n"), true, true);
    let mut rules = rules.clone();
    // A depth of 0 for all notes is a finding of its own.
    rules.keys.depth = rules.keys.depth.max(1);
    let (state, context) = (VaultState::default(), VaultContext::default());
    let turn = VaultTurn::new(vault, &rules, &state, &lines, &context);
    let matches = find(turn, &mut Lucky, &mut VaultCache::default());
    let stopped = matches.stopped.iter().chain(&matches.elsewhere).map(|one| one.ix);
    let mut reached: FxHashSet<EntryIx> = stopped.collect();
    let brought = match selection {
        Some(selection) => candidates(vault, &matches, selection),
        None => matches.picks,
    };
    reached.extend(brought.into_iter().map(|pick| pick.ix));
    reached
}
