//! Notes that a selecting model chooses, between matching and the gates.
//!
//! The engine calls no model: it lists the candidates, the caller asks, and the answer becomes
//! picks here. A model that fails or chooses nothing has a rule of its own, so a broken
//! connection never silently changes the story.

use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use super::{
    Matches, Pick, Stopped, Vault, VaultCache, VaultTurn, matching::found_keys, order::sort_picks,
    windows::Windows,
};
use crate::{
    library::EntryIx,
    note_selection::{Confidence, NoteChoice, closest_title},
    report::{Fallback, Reason, Stop},
};

/// How a selecting model takes part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SelectionRules {
    /// What it chooses from.
    pub from: SelectFrom,
    /// How sure it must be.
    pub confidence: Confidence,
    /// What happens when it fails.
    pub on_failure: OnFailure,
    /// What happens when it chooses nothing.
    pub on_nothing: OnNothing,
}

/// What a selecting model chooses from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum SelectFrom {
    /// What the chat brought in, and what those notes link to.
    #[default]
    Matches,
    /// The whole vault.
    Vault,
}

/// What happens when the selecting model fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    /// What it was to narrow down goes on, most important first: the whole vault, or what the
    /// chat brought in. Notes that are merely linked to wait for a model to want them.
    #[default]
    Unfiltered,
    /// All it was to choose from goes on, linked notes too.
    Candidates,
    /// What the chat brought in goes on.
    Matches,
    /// Only constants.
    Constants,
    /// Only constants and notes for new chats.
    Forced,
    /// Nothing.
    Nothing,
}

/// What happens when the selecting model chooses nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnNothing {
    /// Only constants.
    #[default]
    Constants,
    /// Constants and notes for new chats.
    Forced,
    /// What the chat brought in.
    Matches,
    /// Nothing.
    Nothing,
}

/// The rule that decides in the model's place, if one does; `None` is a model that failed.
pub fn fallback(answer: Option<&[NoteChoice]>, rules: &SelectionRules) -> Option<Fallback> {
    match answer {
        None => Some(match rules.on_failure {
            OnFailure::Unfiltered => match rules.from {
                SelectFrom::Vault => Fallback::Candidates,
                SelectFrom::Matches => Fallback::Matches,
            },
            OnFailure::Candidates => Fallback::Candidates,
            OnFailure::Matches => Fallback::Matches,
            OnFailure::Constants => Fallback::Constants,
            OnFailure::Forced => Fallback::Forced,
            OnFailure::Nothing => Fallback::Nothing,
        }),
        Some([]) => Some(match rules.on_nothing {
            OnNothing::Constants => Fallback::Constants,
            OnNothing::Forced => Fallback::Forced,
            OnNothing::Matches => Fallback::Matches,
            OnNothing::Nothing => Fallback::Nothing,
        }),
        Some(_) => None,
    }
}

/// The notes to choose from, with what brought each in.
pub fn candidates(vault: &Vault, matches: &Matches, rules: &SelectionRules) -> Vec<Pick> {
    let mut candidates = matches.picks.clone();
    let mut seen: FxHashSet<EntryIx> = candidates.iter().map(|pick| pick.ix).collect();
    match rules.from {
        SelectFrom::Vault => {
            let rest = vault.entries().filter(|ix| !seen.contains(ix));
            // Nothing brought it in yet: it is here to be chosen.
            candidates.extend(rest.map(|ix| Pick::new(vault, ix, Reason::Key)));
        }
        SelectFrom::Matches => {
            for pick in &matches.picks {
                for title in &vault.note(pick.ix).relations.links {
                    let from = vault.id(pick.ix).clone();
                    for &ix in vault.named(title).iter().filter(|ix| seen.insert(**ix)) {
                        let reason = Reason::Linked { from: from.clone() };
                        candidates.push(Pick::new(vault, ix, reason));
                    }
                }
            }
        }
    }
    candidates
}

/// The picks after the model answered; `None` is a model that failed. Forced notes stay,
/// whether it chose them or not.
pub fn select(
    turn: VaultTurn<'_>,
    matches: &Matches,
    candidates: &[Pick],
    answer: Option<&[NoteChoice]>,
    selection: &SelectionRules,
) -> Vec<Pick> {
    let (vault, bootstrapping) = (turn.vault, turn.is_new_chat());
    let forced = |with_bootstraps: bool| -> Vec<Pick> {
        let is_forced = |pick: &&Pick| vault.note(pick.ix).is_forced(with_bootstraps);
        matches.picks.iter().filter(is_forced).cloned().collect()
    };
    let mut picks = match fallback(answer, selection) {
        Some(to @ Fallback::Candidates) => {
            let let_in = |pick: &Pick| match (&pick.reason, pick.key) {
                (Reason::Key, None) => Pick { reason: Reason::Fallback { to }, ..pick.clone() },
                _ => pick.clone(),
            };
            candidates.iter().map(let_in).collect()
        }
        Some(Fallback::Matches) => matches.picks.clone(),
        Some(Fallback::Constants) => forced(false),
        Some(Fallback::Forced) => forced(bootstrapping),
        Some(Fallback::Nothing) => Vec::new(),
        None => {
            let choices = answer.unwrap_or_default();
            let mut picks = forced(bootstrapping);
            let open = candidates.iter().filter(|pick| !picks.iter().any(|one| one.ix == pick.ix));
            let open: Vec<&Pick> = open.collect();
            picks.extend(chosen(vault, &open, choices, selection.confidence));
            picks
        }
    };
    sort_picks(vault, &mut picks, turn.rules);
    picks
}

/// The candidates that were chosen, each once. A title that no candidate has is taken for
/// the most similar one, if that is similar enough.
fn chosen(vault: &Vault, open: &[&Pick], choices: &[NoteChoice], least: Confidence) -> Vec<Pick> {
    let mut picks: Vec<Pick> = Vec::new();
    for choice in choices.iter().filter(|choice| choice.confidence >= least) {
        for pick in meant(vault, open, &choice.title) {
            if picks.iter().any(|known| known.ix == pick.ix) {
                continue;
            }
            let (confidence, why) = (choice.confidence.as_str().to_owned(), choice.reason.clone());
            let reason = Reason::Selected { confidence, why };
            let confidence = Some(choice.confidence);
            picks.push(Pick { reason, confidence, ..pick.clone() });
        }
    }
    picks
}

/// The candidates that a title means: by its title, else by another name of it, else by the most
/// similar title.
fn meant<'a>(vault: &Vault, open: &[&'a Pick], title: &str) -> Vec<&'a Pick> {
    let named = vault.named(title);
    let by_name: Vec<&Pick> =
        open.iter().copied().filter(|pick| named.contains(&pick.ix)).collect();
    if !by_name.is_empty() {
        return by_name;
    }
    let title_of = |pick: &&Pick| vault.note(pick.ix).title.as_str();
    let Some((meant, _)) = closest_title(title, open.iter().map(title_of)) else {
        return Vec::new();
    };
    open.iter().copied().filter(|pick| title_of(pick) == meant).collect()
}

/// The candidates that were not selected, and why. The keys behind them are added by
/// [`add_keys`].
pub fn turned_down(
    vault: &Vault,
    candidates: &[Pick],
    selected: &[Pick],
    answer: Option<&[NoteChoice]>,
    rules: &SelectionRules,
) -> Vec<Stopped> {
    let is_selected: FxHashSet<EntryIx> = selected.iter().map(|pick| pick.ix).collect();
    let open: Vec<&Pick> =
        candidates.iter().filter(|pick| !is_selected.contains(&pick.ix)).collect();
    let fallback = fallback(answer, rules);
    let mut stops: FxHashMap<EntryIx, Stop> = FxHashMap::default();
    for choice in answer.into_iter().flatten().filter(|_| fallback.is_none()) {
        let (confidence, needed) = (choice.confidence, rules.confidence);
        if confidence < needed {
            let stop = Stop::Unsure {
                confidence: confidence.as_str().to_owned(),
                needed: needed.as_str().to_owned(),
                keys: Vec::new(),
            };
            for pick in meant(vault, &open, &choice.title) {
                stops.insert(pick.ix, stop.clone());
            }
        }
    }
    // In a choice from the whole vault, notes that nothing brought in get verdicts on request.
    let is_open = |pick: &Pick| pick.reason == Reason::Key && pick.key.is_none();
    let stopped = open.into_iter().filter_map(|pick| {
        let stop = stops.remove(&pick.ix).or_else(|| match fallback {
            _ if is_open(pick) => None,
            Some(to) => Some(Stop::FellBack { to }),
            None => Some(Stop::NotSelected { keys: Vec::new() }),
        })?;
        Some(Stopped { ix: pick.ix, stop })
    });
    stopped.collect()
}

/// Names the keys that brought each candidate before the model that turned it down.
pub fn add_keys(
    turn: VaultTurn<'_>,
    candidates: &[Pick],
    turned_down: &mut [Stopped],
    cache: &mut VaultCache,
) {
    let vault = turn.vault;
    let mut windows = Windows::new(turn, cache);
    for one in turned_down {
        let (Stop::NotSelected { keys } | Stop::Unsure { keys, .. }) = &mut one.stop else {
            continue;
        };
        keys.extend(found_keys(vault, one.ix, windows.at(turn.depth_of(one.ix))));
        // One that another note's text holds is not in the chat.
        let pick = candidates.iter().find(|pick| pick.ix == one.ix);
        let key = pick.and_then(|pick| pick.key_text(vault)).map(str::to_owned);
        keys.extend(key.filter(|key| !keys.contains(key)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        dialects::vault::{Lines, VaultRules, VaultState},
        turn::VaultContext,
        vault_notes::Note,
    };

    #[test]
    fn what_the_model_is_surer_of_may_come_before_what_is_more_important() {
        let note = |title: &str, priority: f64, constant: bool| {
            let mut note = Note::new("", title, title);
            (note.priority, note.kind.constant) = (priority, constant);
            note
        };
        let mut rules = VaultRules::default();
        let notes =
            [note("Sure", 90.0, false), note("Doubtful", 10.0, false), note("Law", 99.0, true)];
        let vault = Vault::compile(notes, &rules);
        let picks: Vec<Pick> =
            vault.entries().map(|ix| Pick::new(&vault, ix, Reason::Key)).collect();
        let matches = Matches { picks: picks.clone(), ..Matches::default() };
        let choice = |title: &str, confidence| NoteChoice {
            title: title.to_owned(),
            confidence,
            reason: String::new(),
        };
        let choices = [choice("sure", Confidence::High), choice("Doubtful", Confidence::Low)];
        let selection = SelectionRules::default();
        let (state, context) = (VaultState::default(), VaultContext::default());
        let mut lines = Lines::default();
        for _ in 0..=rules.new_chat_threshold {
            lines.push("Ann", "on", true, true);
        }
        for (by_confidence, expected) in
            [(false, ["Doubtful", "Sure", "Law"]), (true, ["Law", "Sure", "Doubtful"])]
        {
            rules.order.by_confidence = by_confidence;
            let turn = VaultTurn::new(&vault, &rules, &state, &lines, &context);
            let chosen = select(turn, &matches, &picks, Some(&choices), &selection);
            let titles: Vec<&str> =
                chosen.iter().map(|pick| vault.note(pick.ix).title.as_str()).collect();
            assert_eq!(titles, expected);
        }
    }
}
