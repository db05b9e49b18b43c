//! Trying keys out on a text.
//!
//! Whether a key is found is asked of the engine itself, so that the answer is the one a
//! turn would give: by the same matching mode, macros and step limit.

use std::sync::Arc;

use loreloom_core::{
    book::{Book, Entry, Key},
    chat::{Path, Role},
    engine::{Decision, EngineInput, decide},
    ids::{ChatId, EntryId},
    library::{ActiveEntries, Dialect, Library},
    report::{MatchPlace, Outcome, TextSource, Warning},
    rules::Rules,
    state::StoryState,
    tokens::ByteEstimate,
    turn::{Instruments, Speaker, Transcript, TurnCache, TurnInput},
    units::Tokens,
};

/// The most places a key is looked for at.
const MOST_HITS: usize = 200;
/// Replaces what was found already: no word and no letter of any key.
const BLANK: char = '\u{1}';

/// Where a key occurs in a text, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hits {
    pub(crate) key: String,
    pub(crate) places: Vec<(usize, usize)>,
}

/// Where each of an entry's keys occurs in a text, by the entry's own matching mode.
pub(crate) fn hits(
    entry: &Entry,
    dialect: Dialect,
    rules: &Rules,
    names: (&str, &str),
    text: &str,
) -> Vec<Hits> {
    let keys = Probes::keys(entry);
    keys.map(|key| {
        let places = places(&alone(entry, key, dialect, rules), rules, names, text);
        Hits { key: key.raw().to_owned(), places }
    })
    .collect()
}

fn places(
    library: &Library,
    rules: &Rules,
    names: (&str, &str),
    text: &str,
) -> Vec<(usize, usize)> {
    let (mut text, mut found) = (text.to_owned(), Vec::new());
    while found.len() < MOST_HITS {
        let Some((start, end)) = first(library, rules, names, &text) else { break };
        if start >= end || !text.is_char_boundary(start) || !text.is_char_boundary(end) {
            break;
        }
        let blank: String = std::iter::repeat_n(BLANK, end - start).collect();
        text.replace_range(start..end, &blank);
        found.push((start, end));
    }
    found.sort_unstable();
    found
}

/// A library of an entry with one key and no other rule.
fn alone(entry: &Entry, key: &Key, dialect: Dialect, rules: &Rules) -> Library {
    compiled(vec![probe(entry, key, entry.id.clone())], dialect, rules)
}

/// An entry that has one key of another, with how that one is matched, and no other rule.
fn probe(entry: &Entry, key: &Key, id: EntryId) -> Entry {
    let mut probe = Entry::new(id);
    probe.activation.keys = vec![key.clone()];
    probe.activation.case_sensitive = entry.activation.case_sensitive;
    probe.activation.whole_words = entry.activation.whole_words;
    "x".clone_into(&mut probe.content);
    probe
}

fn compiled(probes: Vec<Entry>, dialect: Dialect, rules: &Rules) -> Library {
    let mut book = Book::new("try", "try");
    book.entries = probes;
    Library::compile_dialects([(Arc::new(book), dialect)], rules)
}

/// An entry's keys, each by itself, to be looked for in many texts.
pub(crate) struct Probes(Library);

/// What was found in a text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Looked {
    /// The keys that are in it, by their places among the entry's.
    pub(crate) found: Vec<usize>,
    /// How many expressions were given up on.
    pub(crate) too_slow: usize,
}

impl Probes {
    /// An entry's keys, first and second.
    pub(crate) fn keys(entry: &Entry) -> impl Iterator<Item = &Key> {
        entry.activation.keys.iter().chain(&entry.activation.secondary.keys)
    }

    pub(crate) fn of(entry: &Entry, dialect: Dialect, rules: &Rules) -> Self {
        let probes = Self::keys(entry).enumerate().map(|(at, key)| {
            let mut probe = probe(entry, key, EntryId(at.to_string()));
            // The text of one must not bring in another, and all have room.
            probe.recursion.exclude = true;
            probe.recursion.prevent = true;
            probe.budget.ignore = true;
            probe
        });
        Self(compiled(probes.collect(), dialect, rules))
    }

    /// Which keys are in a text.
    pub(crate) fn look(&self, rules: &Rules, names: (&str, &str), text: &str) -> Looked {
        let report = judged(&self.0, rules, names, text).report;
        let slow = |warning: &&Warning| matches!(warning, Warning::KeyTooSlow { .. });
        let too_slow = report.warnings.iter().filter(slow).count();
        let found = report.verdicts.into_iter().filter(|verdict| is_found(&verdict.outcome));
        let found = found.filter_map(|verdict| verdict.entry.as_str().parse().ok()).collect();
        Looked { found, too_slow }
    }
}

/// Whether a key was found in what was said.
fn is_found(outcome: &Outcome) -> bool {
    place(outcome).is_some()
}

/// Where a key was found in what was said.
fn place(outcome: &Outcome) -> Option<(usize, usize)> {
    let Outcome::Activated { trigger, .. } = outcome else { return None };
    let MatchPlace { source, start, end } = trigger.primary.as_ref()?.at.as_ref()?;
    matches!(source, TextSource::Message { .. }).then_some((*start, *end))
}

/// The entries of which something is found in a text.
pub(crate) fn touched(
    library: &Library,
    rules: &Rules,
    names: (&str, &str),
    text: &str,
) -> Vec<EntryId> {
    let verdicts = judged(library, rules, names, text).report.verdicts;
    verdicts.into_iter().map(|verdict| verdict.entry).collect()
}

/// Where the library's only key is found first.
fn first(
    library: &Library,
    rules: &Rules,
    names: (&str, &str),
    text: &str,
) -> Option<(usize, usize)> {
    let verdict = judged(library, rules, names, text).report.verdicts.into_iter().next()?;
    place(&verdict.outcome)
}

/// What the engine says to a text that is all that was said.
fn judged(library: &Library, rules: &Rules, (user, char): (&str, &str), text: &str) -> Decision {
    let mut transcript = Transcript::new(false);
    transcript.push(Role::User, None, text);
    let path = Path::new(ChatId::from("try"));
    let input = TurnInput {
        speaker: Some(Speaker::named(char)),
        user: user.to_owned(),
        context: Tokens(1 << 20),
        dry_run: true,
        ..TurnInput::default()
    };
    let turn = input.turn(&path, &transcript);
    let active = ActiveEntries::all(library, rules.world_info.strategy);
    let mut dice = turn.dice();
    let mut cache = TurnCache::default();
    let counter = &ByteEstimate;
    let mut instruments = Instruments { counter, dice: &mut dice, cache: &mut cache };
    decide(
        &EngineInput {
            library,
            active: &active,
            turn: &turn,
            state: &StoryState::default(),
            rules,
        },
        &mut instruments,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(key: &str, whole: Option<bool>, text: &str) -> Vec<(usize, usize)> {
        let mut entry = Entry::new("b/0");
        entry.activation.keys = vec![Key::parse(key)];
        entry.activation.whole_words = whole;
        let rules = Rules::default();
        hits(&entry, Dialect::WorldInfo, &rules, ("Wren", "Mira"), text).remove(0).places
    }

    #[test]
    fn every_place_of_a_key_is_found_by_its_own_mode() {
        assert_eq!(found("bell", Some(true), "Bell, bells and bell"), [(0, 4), (16, 20)]);
        assert_eq!(found("bell", Some(false), "Bell, bells and bell"), [(0, 4), (6, 10), (16, 20)]);
        assert_eq!(found("café", None, "Das Café am Eck"), [(4, 9)]);
        assert_eq!(found("北京", None, "我在北京。"), [(6, 12)]);
        assert_eq!(found("/dykes?/i", None, "a Dyke, two dykes"), [(2, 6), (12, 17)]);
        assert_eq!(found("{{user}}", None, "Said Wren."), [(5, 9)]);
        assert_eq!(found("gong", None, "Bell"), []);
    }

    #[test]
    fn keys_that_are_probed_together_do_not_bring_each_other_in() {
        let mut entry = Entry::new("b/0");
        entry.activation.keys = ["bell", "x", "/r(o|0)pes?/i"].map(Key::parse).to_vec();
        entry.activation.secondary.keys = vec![Key::parse("gong")];
        let rules = Rules::default();
        for dialect in [Dialect::WorldInfo, Dialect::Cards] {
            let probes = Probes::of(&entry, dialect, &rules);
            let look = |text: &str| probes.look(&rules, ("Wren", "Mira"), text).found;
            assert_eq!(look("The bell and the ropes."), [0, 2], "{dialect:?}");
            assert_eq!(look("A gong. x?"), [1, 3], "{dialect:?}");
            assert_eq!(look("Nothing."), [0; 0], "{dialect:?}");
        }
    }
}
