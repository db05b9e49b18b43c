//! What inclusion groups ask about the candidates of a pass.

use super::{candidate::EntryCandidate, fingerprint::leaves_logic_open, pass::WorldInfoScan};
use crate::{
    book::{Key, SelectiveLogic},
    dice::Dice,
    engine::groups::{Contender, GroupFacts, GroupRules, settle},
    library::{CompiledKey, KeyMode},
    report::{GroupRule, Stop},
};

impl WorldInfoScan<'_> {
    /// Settles all groups and returns the candidates that are left, in order.
    pub(super) fn settle_groups(&mut self, candidates: Vec<EntryCandidate>) -> Vec<EntryCandidate> {
        let library = self.scanner.input.library;
        if candidates.iter().all(|one| one.groups(library).is_empty()) {
            return candidates;
        }
        let candidates = self.yielded(candidates);
        let contenders = candidates.iter().map(|one| {
            let cooling = one.recognised && self.scanner.timing.cooldown(one.ix).is_some();
            let (entry, groups) = (one.entry(library), one.groups(library));
            Contender { sticky: self.is_sticky(one), cooling, ..Contender::of(entry, groups) }
        });
        let contenders: Vec<Contender<'_>> = contenders.collect();
        let rules = GroupRules {
            use_scoring: self.rules.use_group_scoring,
            double_removal: self.rules.quirks.double_removal,
        };
        let mut referee = Referee { scan: self, candidates: &candidates };
        let mut stops = settle(&contenders, rules, &mut referee).into_iter();
        self.stops.divide(candidates, |one| one.key, |_| stops.next().flatten())
    }

    /// The candidates without those of groups in which the front end chose another member.
    fn yielded(&mut self, candidates: Vec<EntryCandidate>) -> Vec<EntryCandidate> {
        let input = self.scanner.input;
        let (library, shown) = (input.library, &input.turn.input.shown);
        if shown.is_empty() {
            return candidates;
        }
        let yields = |one: &EntryCandidate| {
            let (own, groups) = (&one.entry(library).id, one.groups(library));
            shown.iter().filter(|id| !shown.contains(own) && *id != own).find_map(|id| {
                let theirs = &library.compiled(library.find(id)?).groups;
                let group = groups.iter().find(|group| theirs.contains(group))?.to_string();
                let (winner, rule) = (Some(id.clone()), GroupRule::AlreadyActive);
                Some(Stop::Group { group, winner, rule })
            })
        };
        self.stops.divide(candidates, |one| one.key, yields)
    }

    /// How many keys a candidate matches; keys count as written, without macros.
    fn score(&mut self, one: &EntryCandidate) -> usize {
        let library = self.scanner.input.library;
        let entry = one.entry(library);
        if entry.activation.keys.is_empty() {
            return 0;
        }
        let reach = self.reach(one.ix, entry);
        let second = &entry.activation.secondary;
        let (keys, secondary, unset) = if one.sent().is_some() {
            let unset = self.rules.quirks.unset_logic_scores_nothing && leaves_logic_open(entry);
            let mode = KeyMode::of(entry, self.rules);
            let unfiled = |keys: &[Key]| -> Vec<CompiledKey> {
                keys.iter().map(|key| CompiledKey::unfiled(key, mode)).collect()
            };
            (unfiled(&entry.activation.keys), unfiled(&second.keys), unset)
        } else {
            let compiled = library.compiled(one.ix);
            (compiled.keys.clone(), compiled.secondary.clone(), !library.scores_secondary(one.ix))
        };
        let texts = &mut self.scanner.texts;
        let mut found = |keys: &[CompiledKey]| {
            let holds = |key: &&CompiledKey| texts.holds(one.ix, key, &key.unprepared(), reach);
            keys.iter().filter(holds).count()
        };
        let (primary, found) = (found(&keys), found(&secondary));
        match second.logic {
            SelectiveLogic::AndAny if unset => primary,
            SelectiveLogic::AndAny => primary + found,
            SelectiveLogic::AndAll if found == secondary.len() => primary + found,
            SelectiveLogic::AndAll
            | SelectiveLogic::NotAll
            | SelectiveLogic::NotAny
            | SelectiveLogic::Unknown => primary,
        }
    }
}

struct Referee<'s, 'a> {
    scan: &'s mut WorldInfoScan<'a>,
    candidates: &'s [EntryCandidate],
}

impl GroupFacts for Referee<'_, '_> {
    fn score(&mut self, at: usize) -> usize {
        self.scan.score(&self.candidates[at])
    }

    fn is_filled(&self, group: &str) -> bool {
        let library = self.scan.scanner.input.library;
        self.scan.activated.iter().any(|one| one.entry(library).group.names == group)
    }

    fn dice(&mut self) -> &mut dyn Dice {
        self.scan.scanner.dice
    }
}
