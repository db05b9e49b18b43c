//! Inclusion groups: of the candidates that share a group, one goes on.

use crate::{
    book::Entry,
    dice::{Dice, Roll},
    ids::EntryId,
    report::{GroupRule, Stop},
    sort::{array_index, stable_by},
};

/// A candidate, as groups see it.
pub(crate) struct Contender<'e> {
    /// What reports call it.
    pub(crate) id: &'e EntryId,
    /// The groups it competes in.
    pub(crate) groups: Vec<Box<str>>,
    /// Its weight in a draw.
    pub(crate) weight: f64,
    /// Whether it wins over those that do not ask for that.
    pub(crate) prioritize: bool,
    /// Among those that do, the highest wins.
    pub(crate) order: Option<f64>,
    /// Whether the number of matched keys decides, if it says so.
    pub(crate) use_scoring: Option<bool>,
    /// Whether it is here because it stays.
    pub(crate) sticky: bool,
    /// Whether its cooldown runs.
    pub(crate) cooling: bool,
}

/// The weight of one that does not say.
pub(crate) const USUAL_WEIGHT: f64 = 100.0;

impl<'e> Contender<'e> {
    /// An entry of a book.
    pub(crate) fn of(entry: &'e Entry, groups: Vec<Box<str>>) -> Self {
        Self {
            id: &entry.id,
            groups,
            weight: entry.group.weight.unwrap_or(USUAL_WEIGHT),
            prioritize: entry.group.prioritize,
            order: entry.placement.order,
            use_scoring: entry.group.use_scoring,
            sticky: false,
            cooling: false,
        }
    }
}

/// How groups are settled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GroupRules {
    /// Whether the number of matched keys decides, for entries that do not say.
    pub(crate) use_scoring: bool,
    /// Whether an entry that loses in two groups removes the last candidate too.
    pub(crate) double_removal: bool,
}

/// What groups ask a dialect. One that settles its groups once, without scores, has only dice.
pub(crate) trait GroupFacts {
    /// How many keys a candidate matches.
    fn score(&mut self, _at: usize) -> usize {
        0
    }
    /// Whether an entry that is already active fills this group.
    fn is_filled(&self, _group: &str) -> bool {
        false
    }
    /// The dice that draw by weight.
    fn dice(&mut self) -> &mut dyn Dice;
}

/// Settles all groups: for each candidate the stop that removes it, if one does.
pub(crate) fn settle(
    contenders: &[Contender<'_>],
    rules: GroupRules,
    facts: &mut dyn GroupFacts,
) -> Vec<Option<Stop>> {
    let mut groups = groups_of(contenders);
    let mut contest = Contest { contenders, rules, facts, stops: vec![None; contenders.len()] };
    for group in &mut groups {
        contest.settle_by_time(group);
    }
    for group in groups.iter_mut().filter(|group| !group.settled) {
        contest.settle_by_score(group);
    }
    for group in groups.iter().filter(|group| !group.settled) {
        contest.settle_by_draw(group);
    }
    contest.stops
}

/// One group: its members as places in the list of candidates.
struct Members {
    name: Box<str>,
    at: Vec<usize>,
    settled: bool,
}

/// The groups in the order JavaScript visits them: whole numbers first, ascending, then by
/// first sight.
fn groups_of(contenders: &[Contender<'_>]) -> Vec<Members> {
    let mut groups: Vec<Members> = Vec::new();
    for (at, contender) in contenders.iter().enumerate() {
        for name in &contender.groups {
            match groups.iter_mut().find(|group| group.name == *name) {
                Some(group) => group.at.push(at),
                None => groups.push(Members { name: name.clone(), at: vec![at], settled: false }),
            }
        }
    }
    groups.sort_by_key(|group| match array_index(&group.name) {
        Some(number) => (0, number),
        None => (1, 0),
    });
    groups
}

struct Contest<'a> {
    contenders: &'a [Contender<'a>],
    rules: GroupRules,
    facts: &'a mut dyn GroupFacts,
    stops: Vec<Option<Stop>>,
}

impl Contest<'_> {
    /// The members that compete. SillyTavern does not notice that one already lost elsewhere.
    fn competing(&self, group: &Members) -> Vec<usize> {
        let here = |&at: &usize| self.rules.double_removal || self.stops[at].is_none();
        group.at.iter().copied().filter(here).collect()
    }

    /// Removes a candidate. SillyTavern removes the last one when the candidate is already
    /// gone.
    fn lose(&mut self, at: usize, group: &Members, rule: GroupRule, winner: Option<usize>) {
        let (removed, rule) = match (&self.stops[at], self.rules.double_removal) {
            (None, _) => (Some(at), rule),
            (Some(_), true) => {
                (self.stops.iter().rposition(Option::is_none), GroupRule::DoubleRemoval)
            }
            (Some(_), false) => (None, rule),
        };
        let winner = winner.map(|at| self.contenders[at].id.clone());
        if let Some(removed) = removed {
            self.stops[removed] = Some(Stop::Group { group: group.name.to_string(), winner, rule });
        }
    }

    /// Sticky members win; members on cooldown lose, sticky ones too.
    fn settle_by_time(&mut self, group: &mut Members) {
        let sticky: Vec<usize> =
            group.at.iter().copied().filter(|&at| self.contenders[at].sticky).collect();
        if let Some(&first) = sticky.first() {
            for &at in group.at.iter().filter(|at| !sticky.contains(at)) {
                self.lose(at, group, GroupRule::Sticky, Some(first));
            }
        }
        for &at in &group.at {
            if self.contenders[at].cooling {
                self.lose(at, group, GroupRule::Timed, None);
            }
        }
        group.settled = !sticky.is_empty();
    }

    /// Members that match fewer keys than the best lose, where scoring is on.
    fn settle_by_score(&mut self, group: &mut Members) {
        let members = self.competing(group);
        let by_default = self.rules.use_scoring;
        let scored = |&at: &usize| self.contenders[at].use_scoring.unwrap_or(by_default);
        let uses: Vec<bool> = members.iter().map(scored).collect();
        if !by_default && !uses.contains(&true) {
            return;
        }
        let scores: Vec<usize> = members.iter().map(|&at| self.facts.score(at)).collect();
        let best = scores.iter().copied().max().unwrap_or(0);
        let winner = members.iter().zip(&scores).find(|(_, score)| **score == best);
        let winner = winner.map(|(&at, _)| at);
        for ((at, uses), score) in members.into_iter().zip(uses).zip(scores) {
            if uses && score < best {
                self.lose(at, group, GroupRule::Score, winner);
                group.at.retain(|&member| member != at);
            }
        }
    }

    /// An earlier winner keeps its group; else priority decides, else a draw by weight.
    fn settle_by_draw(&mut self, group: &Members) {
        let members = self.competing(group);
        let (winner, rule) = if self.facts.is_filled(&group.name) {
            (None, GroupRule::AlreadyActive)
        } else if members.len() < 2 {
            return;
        } else if let Some(first) = self.prioritized(&members) {
            (Some(first), GroupRule::Priority)
        } else {
            let Some(winner) = self.draw(&members, &group.name) else { return };
            (Some(winner), GroupRule::Weight)
        };
        for at in members.into_iter().filter(|&at| Some(at) != winner) {
            self.lose(at, group, rule, winner);
        }
    }

    /// The member of the highest order among those that ask for priority.
    fn prioritized(&self, members: &[usize]) -> Option<usize> {
        let asks = |&at: &usize| self.contenders[at].prioritize;
        let mut asking: Vec<usize> = members.iter().copied().filter(asks).collect();
        stable_by(&mut asking, |&a, &b| {
            let order = |at: usize| self.contenders[at].order;
            order(b)?.partial_cmp(&order(a)?)
        });
        asking.first().copied()
    }

    fn draw(&mut self, members: &[usize], group: &str) -> Option<usize> {
        let contenders = self.contenders;
        let weight = |at: usize| contenders[at].weight;
        let total: f64 = members.iter().map(|&at| weight(at)).sum();
        let roll = self.facts.dice().roll(Roll::Group(group)) * total;
        let mut reached = 0.0;
        members.iter().copied().find(|&at| {
            reached += weight(at);
            roll <= reached
        })
    }
}
