//! Which texts give way to a limit over all sources.

use std::cmp::Ordering;

use super::{RankedSource, RoomRules};
use crate::{
    engine::Decision,
    ids::EntryId,
    library::{Dialect, Library, Stages},
    notebook,
    place::{Injection, Provenance},
    report::{GivenUp, Outcome, Stop},
    units::Tokens,
};

/// Takes texts out of a decision until the rest is within `limit`: the least valuable text of
/// the least important source first. The author's note and notebooks always stay, because people
/// write them for this very chat.
pub fn give_way(decision: &mut Decision, limit: Tokens, rules: &RoomRules, library: &Library) {
    let mut left: Tokens = decision.injections.iter().map(|one| one.tokens).sum();
    if left <= limit {
        return;
    }
    let mut candidates: Vec<YieldingText> = decision
        .injections
        .iter()
        .enumerate()
        .filter_map(|(at, one)| YieldingText::of(at, one, rules, library))
        .collect();
    candidates.sort_by(YieldingText::order);
    let mut gone = Vec::new();
    while left > limit {
        let Some(next) = candidates.pop() else { break };
        let tokens = decision.injections[next.at].tokens;
        left = left.checked_sub(tokens).unwrap_or_default();
        gone.push(next.at);
    }
    let given_up = gone.iter().map(|at| {
        let Injection { source, tokens, .. } = &decision.injections[*at];
        GivenUp { source: source.clone(), tokens: *tokens }
    });
    let given_up: Vec<GivenUp> = given_up.collect();
    let mut at = 0;
    decision.injections.retain(|_| {
        at += 1;
        !gone.contains(&(at - 1))
    });
    for one in &given_up {
        match &one.source {
            Provenance::Lore { entry, .. } => drop_entry(decision, entry, library),
            Provenance::Memory(_) => spend_less(decision, "memory", one.tokens),
            Provenance::AuthorsNote => (),
        }
    }
    if !given_up.is_empty() {
        decision.report.room.get_or_insert_default().given_up.extend(given_up);
    }
}

/// Whether a text can give way.
pub fn can_give_way(source: &Provenance) -> bool {
    match source {
        Provenance::Lore { .. } => true,
        Provenance::Memory(slot) => !notebook::is_slot(slot),
        Provenance::AuthorsNote => false,
    }
}

/// A text that can give way.
struct YieldingText {
    at: usize,
    rank: usize,
    constant: bool,
    /// Higher is more valuable.
    value: f64,
}

impl YieldingText {
    fn of(at: usize, one: &Injection, rules: &RoomRules, library: &Library) -> Option<Self> {
        let (source, constant, value) = match &one.source {
            Provenance::Lore { entry, .. } => worth(entry, library),
            // Memory lists its slots by importance.
            Provenance::Memory(_) | Provenance::AuthorsNote => (RankedSource::Memory, false, 0.0),
        };
        let rank = rules.rank(source);
        can_give_way(&one.source).then_some(Self { at, rank, constant, value })
    }

    /// The most important first. Equal texts go from the last of the list on.
    fn order(&self, other: &Self) -> Ordering {
        let by_rank = self.rank.cmp(&other.rank).then(other.constant.cmp(&self.constant));
        by_rank.then(other.value.total_cmp(&self.value)).then(self.at.cmp(&other.at))
    }
}

/// The source of an entry, whether it is always in, and how valuable it is within its source: by
/// order in World Info, by priority in card books and vaults.
fn worth(id: &EntryId, library: &Library) -> (RankedSource, bool, f64) {
    if let Some(ix) = library.find(id) {
        let entry = library.entry(ix);
        let order = entry.placement.order.unwrap_or_default();
        return match library.dialect_of(ix).stages() {
            Stages::WorldInfo => (RankedSource::WorldInfo, entry.activation.constant, order),
            Stages::Cards => {
                let priority = entry.budget.priority.unwrap_or(order);
                (RankedSource::Cards, entry.activation.constant, priority)
            }
        };
    }
    let note = library.vault().and_then(|vault| Some(vault.note(vault.find(id)?)));
    // The smaller number is the more important note.
    let value = note.map_or(0.0, |note| -note.priority);
    (RankedSource::Vault, note.is_some_and(|note| note.kind.constant), value)
}

/// The entry did not get in: its verdict, its pool and its effects say so.
fn drop_entry(decision: &mut Decision, entry: &EntryId, library: &Library) {
    let taken = take_out(decision, entry, library, |needed| Stop::NoRoom { needed });
    if let Some((pool, tokens)) = taken {
        spend_less(decision, pool, tokens);
    }
}

/// Makes the verdict of an entry that fired say why it is not in the prompt after all, and forgets
/// its effects. Returns its pool and its tokens.
pub(crate) fn take_out(
    decision: &mut Decision,
    entry: &EntryId,
    library: &Library,
    stop: impl FnOnce(Tokens) -> Stop,
) -> Option<(&'static str, Tokens)> {
    let title = library.title(entry).unwrap_or_default();
    decision.delta.forget(entry, title);
    let mut verdicts = decision.report.verdicts.iter_mut();
    let verdict = verdicts.find(|verdict| verdict.entry == *entry)?;
    let Outcome::Activated { tokens, .. } = verdict.outcome else { return None };
    verdict.outcome = Outcome::Stopped(stop(tokens));
    Some((entry_pool(entry, library), tokens))
}

/// The pool whose budget a text uses.
pub(crate) fn pool_of(source: &Provenance, library: &Library) -> Option<&'static str> {
    match source {
        Provenance::Lore { entry, .. } => Some(entry_pool(entry, library)),
        Provenance::Memory(slot) => (!notebook::is_slot(slot)).then_some("memory"),
        Provenance::AuthorsNote => None,
    }
}

/// The pool whose budget the text of an entry or a note uses.
fn entry_pool(entry: &EntryId, library: &Library) -> &'static str {
    let dialect = library.find(entry).map(|ix| library.dialect_of(ix));
    match worth(entry, library).0 {
        RankedSource::WorldInfo => "world_info",
        RankedSource::Cards => dialect.unwrap_or(Dialect::Cards).as_str(),
        RankedSource::Vault => "vault",
        RankedSource::Memory => "memory",
    }
}

/// A pool spends less, and says that something did not fit.
fn spend_less(decision: &mut Decision, pool: &str, tokens: Tokens) {
    let mut pools = decision.report.budgets.iter_mut();
    if let Some(pool) = pools.find(|one| one.pool == pool) {
        pool.used = pool.used.checked_sub(tokens).unwrap_or_default();
        pool.overflowed = true;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        book::{Book, Entry},
        chat::{GenerationType, Path, Role},
        dialects::worldinfo::WorldInfoRules,
        ids::ChatId,
        place::Place,
        report::{Report, TurnFacts},
        state::StateDelta,
    };

    fn library() -> Library {
        let mut book = Book::new("b", "B");
        for (at, order, constant) in [(0, 10.0, false), (1, 20.0, false), (2, 5.0, true)] {
            let mut entry = Entry::new(format!("b/{at}").as_str());
            entry.placement.order = Some(order);
            entry.activation.constant = constant;
            book.entries.push(entry);
        }
        Library::compile([Arc::new(book)], &WorldInfoRules::default())
    }

    fn lore(at: u32) -> Provenance {
        Provenance::Lore { book: "b".into(), entry: format!("b/{at}").as_str().into() }
    }

    fn memory(slot: &str) -> Provenance {
        Provenance::Memory(slot.to_owned())
    }

    /// What is left of texts of ten tokens each.
    fn left(sources: &[Provenance], limit: u32, ranks: &[RankedSource]) -> Vec<Provenance> {
        let injection = |source: &Provenance| Injection {
            place: Place::AfterCharacter,
            role: Role::System,
            text: String::new(),
            tokens: Tokens(10),
            source: source.clone(),
        };
        let path = Path::new(ChatId::from("c"));
        let facts = TurnFacts::undecided(&path, GenerationType::Normal);
        let mut decision = Decision {
            injections: sources.iter().map(injection).collect(),
            hide_prompts: Vec::new(),
            delta: StateDelta::default(),
            report: Report::undecided(facts),
        };
        let rules = RoomRules { ranks: ranks.to_vec(), ..RoomRules::default() };
        give_way(&mut decision, Tokens(limit), &rules, &library());
        let gone = decision.report.room.map_or(0, |room| room.given_up.len());
        assert_eq!(gone + decision.injections.len(), sources.len());
        decision.injections.into_iter().map(|one| one.source).collect()
    }

    #[test]
    fn the_least_important_source_gives_up_its_least_valuable_texts() {
        let all = [lore(0), lore(1), lore(2), memory("canon"), memory("recall")];
        let default = RankedSource::ALL;
        assert_eq!(left(&all, 50, &default), all);
        assert_eq!(left(&all, 49, &default), all[..4]);
        assert_eq!(left(&all, 30, &default), all[..3]);
        // The lowest order goes first, constant entries last.
        assert_eq!(left(&all, 25, &default), [lore(1), lore(2)]);
        assert_eq!(left(&all, 10, &default), [lore(2)]);
        assert_eq!(left(&all, 0, &default), []);
    }

    #[test]
    fn ranks_decide_which_source_gives_way() {
        let all = [lore(0), lore(1), memory("canon"), memory("recall")];
        let ranks = [RankedSource::Memory, RankedSource::WorldInfo];
        assert_eq!(left(&all, 30, &ranks), [lore(1), memory("canon"), memory("recall")]);
        assert_eq!(left(&all, 15, &ranks), [memory("canon")]);
    }

    #[test]
    fn what_people_write_for_the_chat_always_stays() {
        let all = [Provenance::AuthorsNote, memory(notebook::AUTHORS_SLOT), lore(0)];
        assert_eq!(left(&all, 0, &RankedSource::ALL), all[..2]);
    }
}
