//! The smallest change that would have made an entry fire.
//!
//! Each rule that stops an entry suggests one change; the turn is run again with it, and
//! if another rule stops the entry then, its change is added. Only a change
//! that works is reported.

mod change;
mod sample;
mod trial;

use serde::{Deserialize, Serialize};

pub use self::change::{FixChange, words};
use self::trial::FixTrial;
use crate::{
    dice::TurnDice,
    ids::EntryId,
    library::{ActiveEntries, Library},
    report::Stop,
    rules::Rules,
    state::StoryState,
    tokens::TokenCounter,
    turn::Turn,
};

/// Rules that can stop one entry one after the other; more than these is no small change.
const MOST_CHANGES: usize = 5;

/// Changes that together make an entry fire.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Fix {
    /// The entry.
    pub entry: EntryId,
    /// The rule that stopped it.
    pub stopped_by: Stop,
    /// What to change, in order. The turn was run again with these, and the entry fired.
    pub changes: Vec<FixChange>,
}

/// A turn and everything it was decided from, to be run again.
#[derive(Clone, Copy)]
pub struct Case<'a> {
    /// The compiled books.
    pub library: &'a Library,
    /// Which of them are active.
    pub active: &'a ActiveEntries,
    /// The turn.
    pub turn: &'a Turn<'a>,
    /// The state of the path.
    pub state: &'a StoryState,
    /// The rules.
    pub rules: &'a Rules,
    /// The tokenizer.
    pub counter: &'a dyn TokenCounter,
    /// The turn's dice.
    pub dice: &'a TurnDice,
}

/// Finds the changes that make an entry fire. `None` if it fires already, or if no small
/// change was found.
pub fn explain(case: &Case<'_>, entry: &EntryId) -> Option<Fix> {
    let mut trial = FixTrial::new(case, entry)?;
    let first = trial.run()?;
    let mut stop = first.clone();
    while trial.changes.len() < MOST_CHANGES {
        let change = trial.change_for(&stop)?;
        trial.apply(&change);
        trial.changes.push(change);
        match trial.run() {
            None => {
                return Some(Fix {
                    entry: entry.clone(),
                    stopped_by: first,
                    changes: trial.changes,
                });
            }
            Some(next) => stop = next,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        book::{Book, Entry, Key, Position},
        chat::{Path, Role},
        dialects::worldinfo::WorldInfoRules,
        ids::ChatId,
        tokens::ByteEstimate,
        turn::{Transcript, TurnInput},
        units::{MessageCount, Tokens},
    };

    fn entry(change: impl FnOnce(&mut Entry)) -> Entry {
        let mut entry = Entry::new("b/0");
        entry.activation.keys = vec![Key::parse("bell")];
        entry.content = "The bell is cracked.".to_owned();
        entry.placement.position = Position::BeforeCharacter;
        change(&mut entry);
        entry
    }

    fn fixed(messages: &[&str], context: u32, entry: Entry) -> Option<Vec<FixChange>> {
        let mut book = Book::new("b", "B");
        book.entries.push(entry);
        let rules = Rules { world_info: WorldInfoRules::default(), ..Rules::default() };
        let library = Library::compile([Arc::new(book)], &rules.world_info);
        let active = ActiveEntries::all(&library, rules.world_info.strategy);
        let mut transcript = Transcript::new(true);
        for message in messages {
            transcript.push(Role::User, Some("Mira"), message);
        }
        let path = Path::new(ChatId::from("c"));
        let input = TurnInput {
            user: "Mira".to_owned(),
            context: Tokens(context),
            seed: 1,
            ..TurnInput::default()
        };
        let turn = input.turn(&path, &transcript);
        let case = Case {
            library: &library,
            active: &active,
            turn: &turn,
            state: &StoryState::default(),
            rules: &rules,
            counter: &ByteEstimate,
            dice: &turn.dice(),
        };
        explain(&case, &EntryId::from("b/0")).map(|fix| fix.changes)
    }

    #[expect(clippy::too_many_lines, reason = "a table of cases")]
    #[test]
    fn each_rule_has_its_smallest_change() {
        let bell: &[&str] = &["the bell"];
        for (messages, context, entry, changes) in [
            (bell, 4096, entry(|_| {}), None),
            (
                &["nothing"][..],
                4096,
                entry(|_| {}),
                Some(vec![FixChange::Say { words: vec!["bell".to_owned()] }]),
            ),
            (
                &["bell", "a", "b"][..],
                4096,
                entry(|_| {}),
                Some(vec![FixChange::ScanDepth { messages: 3 }]),
            ),
            (bell, 4096, entry(|e| e.activation.enabled = false), Some(vec![FixChange::Enable])),
            (
                bell,
                4096,
                entry(|e| e.activation.timed.delay = Some(3)),
                Some(vec![FixChange::Wait { until: MessageCount(3) }]),
            ),
            (bell, 20, entry(|_| {}), Some(vec![FixChange::Budget { tokens: Tokens(8) }])),
            (
                &["nothing"][..],
                4096,
                entry(|e| e.activation.keys = vec![Key::parse(r"/\bgongs?\b/i")]),
                Some(vec![FixChange::Say { words: vec!["gong".to_owned()] }]),
            ),
            // No text matches where the first one must begin the window.
            (
                &["nothing"][..],
                4096,
                entry(|e| e.activation.keys = vec![Key::parse("/^gong/"), Key::parse("bell")]),
                Some(vec![FixChange::Say { words: vec!["bell".to_owned()] }]),
            ),
            (
                &["nothing"][..],
                4096,
                entry(|e| e.activation.keys = vec![Key::parse("/(?<!x)gong/")]),
                Some(vec![FixChange::MakeConstant]),
            ),
            (
                bell,
                4096,
                entry(|e| {
                    e.activation.secondary.active = true;
                    e.activation.secondary.keys = vec![Key::parse("{{user}}s")];
                }),
                Some(vec![FixChange::Say { words: vec!["Miras".to_owned()] }]),
            ),
            (
                bell,
                4096,
                entry(|e| {
                    e.activation.secondary.active = true;
                    e.activation.secondary.keys = vec![Key::parse("/(?<!x)gong/")];
                }),
                Some(vec![FixChange::IgnoreSecondary]),
            ),
            (
                &["nothing"][..],
                4096,
                entry(|e| {
                    e.activation.enabled = false;
                    e.recursion.delay_level = 1;
                }),
                Some(vec![
                    FixChange::Enable,
                    FixChange::NoRecursionLevel,
                    FixChange::Say { words: vec!["bell".to_owned()] },
                ]),
            ),
        ] {
            assert_eq!(fixed(messages, context, entry.clone()), changes, "{messages:?} {entry:?}");
        }
    }
}
