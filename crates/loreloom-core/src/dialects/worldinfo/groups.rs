//! Inclusion groups: of the candidates that share a group, one goes on.

use super::{fingerprint::leaves_logic_open, js_text, pass::Scanner, seat::Seat};
use crate::{
    book::{Key, SelectiveLogic},
    dice::Roll,
    library::{CompiledKey, KeyMode},
    report::{GroupRule, Stop},
    sort::stable_by,
};

/// One group: its members as places in the list of candidates.
struct Members {
    name: Box<str>,
    at: Vec<usize>,
    settled: bool,
}

/// The candidates of a pass, some of them removed.
struct Field {
    seats: Vec<Seat>,
    gone: Vec<bool>,
    double_removal: bool,
}

impl Field {
    /// The members that compete. SillyTavern does not notice that one already lost
    /// elsewhere.
    fn competing(&self, group: &Members) -> Vec<usize> {
        let here = |&at: &usize| self.double_removal || !self.gone[at];
        group.at.iter().copied().filter(here).collect()
    }

    /// Removes a candidate and returns whom it really was: SillyTavern removes the last
    /// one when the candidate is already gone.
    fn remove(&mut self, at: usize) -> Option<usize> {
        let really = match (self.gone[at], self.double_removal) {
            (false, _) => Some(at),
            (true, true) => self.gone.iter().rposition(|gone| !gone),
            (true, false) => None,
        }?;
        self.gone[really] = true;
        Some(really)
    }
}

impl Scanner<'_> {
    /// Settles all groups and returns the candidates that are left, in order.
    pub(super) fn settle_groups(&mut self, candidates: Vec<Seat>) -> Vec<Seat> {
        let mut groups = self.groups_of(&candidates);
        if groups.is_empty() {
            return candidates;
        }
        let mut field = Field {
            gone: vec![false; candidates.len()],
            seats: candidates,
            double_removal: self.rules.quirks.double_removal,
        };
        for group in &mut groups {
            self.settle_by_time(&mut field, group);
        }
        for group in groups.iter_mut().filter(|group| !group.settled) {
            self.settle_by_score(&mut field, group);
        }
        for group in groups.iter().filter(|group| !group.settled) {
            self.settle_by_draw(&mut field, group);
        }
        let left = field.seats.into_iter().zip(field.gone).filter(|(_, gone)| !gone);
        left.map(|(seat, _)| seat).collect()
    }

    /// The groups in the order JavaScript visits them: whole numbers first, ascending,
    /// then by first sight.
    fn groups_of(&self, candidates: &[Seat]) -> Vec<Members> {
        let mut groups: Vec<Members> = Vec::new();
        for (at, seat) in candidates.iter().enumerate() {
            for name in seat.groups(self.library) {
                match groups.iter_mut().find(|group| group.name == name) {
                    Some(group) => group.at.push(at),
                    None => groups.push(Members { name, at: vec![at], settled: false }),
                }
            }
        }
        groups.sort_by_key(|group| match js_text::index(&group.name) {
            Some(number) => (0, number),
            None => (1, 0),
        });
        groups
    }

    fn lose(
        &mut self,
        field: &mut Field,
        at: usize,
        group: &Members,
        rule: GroupRule,
        winner: Option<usize>,
    ) {
        let Some(really) = field.remove(at) else { return };
        let rule = if really == at { rule } else { GroupRule::DoubleRemoval };
        let winner = winner.map(|at| field.seats[at].entry(self.library).id.clone());
        let stop = Stop::Group { group: group.name.to_string(), winner, rule };
        self.stop(field.seats[really].key, stop);
    }

    /// Sticky members win; members on cooldown lose, sticky ones too.
    fn settle_by_time(&mut self, field: &mut Field, group: &mut Members) {
        let sticky: Vec<usize> =
            group.at.iter().copied().filter(|&at| self.is_sticky(&field.seats[at])).collect();
        if let Some(&first) = sticky.first() {
            for &at in group.at.iter().filter(|at| !sticky.contains(at)) {
                self.lose(field, at, group, GroupRule::Sticky, Some(first));
            }
        }
        for &at in &group.at {
            let seat = &field.seats[at];
            if seat.recognised && self.effects.cooldown(seat.ix).is_some() {
                self.lose(field, at, group, GroupRule::Timed, None);
            }
        }
        group.settled = !sticky.is_empty();
    }

    /// Whether a candidate is there because it stays.
    pub(super) fn is_sticky(&self, seat: &Seat) -> bool {
        !seat.plain && seat.recognised && self.effects.sticky(seat.ix).is_some()
    }

    /// Members that match fewer keys than the best lose, where scoring is on.
    fn settle_by_score(&mut self, field: &mut Field, group: &mut Members) {
        let members = field.competing(group);
        let scored = |at: &usize| {
            let own = field.seats[*at].entry(self.library).group.use_scoring;
            own.unwrap_or(self.rules.use_group_scoring)
        };
        let uses: Vec<bool> = members.iter().map(scored).collect();
        if !self.rules.use_group_scoring && !uses.contains(&true) {
            return;
        }
        let scores: Vec<usize> = members.iter().map(|&at| self.score(&field.seats[at])).collect();
        let best = scores.iter().copied().max().unwrap_or(0);
        let winner = members.iter().zip(&scores).find(|(_, score)| **score == best);
        let winner = winner.map(|(&at, _)| at);
        for ((at, uses), score) in members.into_iter().zip(uses).zip(scores) {
            if uses && score < best {
                self.lose(field, at, group, GroupRule::Score, winner);
                group.at.retain(|&member| member != at);
            }
        }
    }

    /// How many keys a candidate matches; keys count as written, without macros.
    fn score(&mut self, seat: &Seat) -> usize {
        let library = self.library;
        let entry = seat.entry(library);
        if entry.activation.keys.is_empty() {
            return 0;
        }
        let reach = self.reach(seat.ix, entry);
        let second = &entry.activation.secondary;
        let (keys, secondary, unset) = if seat.is_sent() {
            let unset = self.rules.quirks.unset_logic_scores_nothing && leaves_logic_open(entry);
            let mode = KeyMode::of(entry, self.rules);
            let unfiled = |keys: &[Key]| -> Vec<CompiledKey> {
                keys.iter().map(|key| CompiledKey::unfiled(key, mode)).collect()
            };
            (unfiled(&entry.activation.keys), unfiled(&second.keys), unset)
        } else {
            let compiled = library.compiled(seat.ix);
            (compiled.keys.clone(), compiled.secondary.clone(), !library.scores_secondary(seat.ix))
        };
        let mut found = |keys: &[CompiledKey]| {
            let holds =
                |key: &&CompiledKey| self.texts.holds(seat.ix, key, &key.unprepared(), reach);
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

    /// An earlier winner keeps its group; else priority decides, else a draw by weight.
    fn settle_by_draw(&mut self, field: &mut Field, group: &Members) {
        let members = field.competing(group);
        if self.activated.iter().any(|one| one.entry(self.library).group.names == *group.name) {
            for at in members {
                self.lose(field, at, group, GroupRule::AlreadyActive, None);
            }
            return;
        }
        if members.len() < 2 {
            return;
        }
        let Some((winner, rule)) = self.draw(field, &members, group) else { return };
        for at in members.into_iter().filter(|&at| at != winner) {
            self.lose(field, at, group, rule, Some(winner));
        }
    }

    fn draw(
        &mut self,
        field: &Field,
        members: &[usize],
        group: &Members,
    ) -> Option<(usize, GroupRule)> {
        let library = self.library;
        let entry = |at: usize| field.seats[at].entry(library);
        let mut prioritized: Vec<usize> =
            members.iter().copied().filter(|&at| entry(at).group.prioritize).collect();
        stable_by(&mut prioritized, |&a, &b| {
            let order = |at| entry(at).placement.order;
            order(b)?.partial_cmp(&order(a)?)
        });
        if let Some(&first) = prioritized.first() {
            return Some((first, GroupRule::Priority));
        }
        let weight = |at: usize| entry(at).group.weight.unwrap_or(100.0);
        let total: f64 = members.iter().map(|&at| weight(at)).sum();
        let roll = self.dice.roll(Roll::Group(&group.name)) * total;
        let mut reached = 0.0;
        let winner = members.iter().copied().find(|&at| {
            reached += weight(at);
            roll <= reached
        });
        winner.map(|at| (at, GroupRule::Weight))
    }
}
