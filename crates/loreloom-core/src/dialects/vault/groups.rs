//! Inclusion groups of notes: of those that share a group, one goes on.

use super::{
    Pick, VaultTurn,
    picks::{Divided, divide},
};
use crate::{
    dice::Dice,
    engine::groups::{Contender, GroupFacts, GroupRules, USUAL_WEIGHT, settle},
};

/// Settles all groups. Constants and pinned notes win over others, the more important one over
/// the less important; sticky notes keep their group; else a draw by weight decides.
pub(super) fn by_groups(turn: VaultTurn<'_>, picks: Vec<Pick>, dice: &mut dyn Dice) -> Divided {
    let vault = turn.vault;
    if picks.iter().all(|pick| vault.note(pick.ix).groups.is_empty()) {
        return (picks, Vec::new());
    }
    let contenders: Vec<Contender<'_>> = picks
        .iter()
        .map(|pick| {
            let note = vault.note(pick.ix);
            let sign = if turn.rules.order.reversed { 1.0 } else { -1.0 };
            Contender {
                id: vault.id(pick.ix),
                groups: note.groups.iter().map(|name| Box::from(name.as_str())).collect(),
                weight: note.group_weight.unwrap_or(USUAL_WEIGHT),
                prioritize: pick.is_constant(vault),
                order: Some(sign * pick.priority),
                use_scoring: None,
                sticky: turn.sticky_until(pick.ix).is_some(),
                cooling: false,
            }
        })
        .collect();
    let rules = GroupRules { use_scoring: false, double_removal: false };
    let mut stops = settle(&contenders, rules, &mut Draws(dice)).into_iter();
    divide(picks, |_| stops.next().flatten())
}

struct Draws<'a>(&'a mut dyn Dice);

impl GroupFacts for Draws<'_> {
    fn dice(&mut self) -> &mut dyn Dice {
        self.0
    }
}
