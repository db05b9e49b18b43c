//! The smallest change that would have made an entry fire.
//!
//! Each rule that stops an entry suggests one change; the turn is run again with it, and
//! if another rule stops the entry then, its change is added. Only a change
//! that works is reported.

mod change;
mod note_trial;
mod sample;
mod trial;

use serde::{Deserialize, Serialize};

pub use self::change::{FixChange, words};
use self::{note_trial::NoteTrial, trial::FixTrial};
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

/// A turn that is run again and again with changes.
trait Trial {
    /// Runs the turn as changed: the rule that stops the entry, or `None` if it fires.
    fn run(&self) -> Option<Stop>;
    /// The smallest change that gets the entry past a rule.
    fn change_for(&self, stop: &Stop) -> Option<FixChange>;
    /// Makes a change.
    fn apply(&mut self, change: &FixChange);
}

/// Finds the changes that make an entry or a note fire. `None` if it fires already, or if no
/// small change was found.
pub fn explain(case: &Case<'_>, entry: &EntryId) -> Option<Fix> {
    match FixTrial::new(case, entry) {
        Some(trial) => explain_by(trial, entry),
        None => explain_by(NoteTrial::new(case, entry)?, entry),
    }
}

fn explain_by(mut trial: impl Trial, entry: &EntryId) -> Option<Fix> {
    let first = trial.run()?;
    let mut stop = first.clone();
    let mut changes = Vec::new();
    while changes.len() < MOST_CHANGES {
        let change = trial.change_for(&stop)?;
        trial.apply(&change);
        changes.push(change);
        match trial.run() {
            None => return Some(Fix { entry: entry.clone(), stopped_by: first, changes }),
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
        book::{Book, Entry, Extensions, Key, Position},
        chat::{Path, Role},
        dialects::{
            vault::{Note, NoteMark, Vault},
            worldinfo::WorldInfoRules,
        },
        ids::ChatId,
        library::EntryIx,
        rules::VaultUse,
        tokens::ByteEstimate,
        turn::{Transcript, TurnInput, VaultContext},
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

    fn fixed_note(messages: &[&str], notes: Vec<Note>, using: VaultUse) -> Vec<FixChange> {
        let rules = Rules { vault: using, ..Rules::default() };
        let vault = Arc::new(Vault::compile(notes, &rules.vault.rules));
        let id = vault.id(EntryIx(0)).clone();
        let library = Library::compile_dialects([], &rules);
        let version = library.version();
        let library = library.with_vault(vault, version);
        let active = ActiveEntries::all(&library, rules.world_info.strategy);
        let mut transcript = Transcript::new(true).for_vaults();
        for message in messages {
            transcript.push(Role::User, Some("Mira"), message);
        }
        let path = Path::new(ChatId::from("c"));
        let blocks = vec![NoteMark { title: "Blocked".to_owned(), vault: None }];
        let scene = VaultContext {
            context: Extensions::from_iter([("era".to_owned(), "old".into())]),
            folders: vec!["Places".to_owned()],
            blocks,
            ..VaultContext::default()
        };
        let input = TurnInput {
            context: Tokens(4096),
            seed: 1,
            vault_context: Some(scene),
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
        explain(&case, &id).map(|fix| fix.changes).unwrap_or_default()
    }

    #[expect(clippy::too_many_lines, reason = "a table of cases")]
    #[test]
    fn each_rule_of_a_note_has_its_smallest_change() {
        let note = |title: &str, change: fn(&mut Note)| {
            let mut note = Note::new("", &format!("{title}.md"), title);
            note.keys = vec!["bell".to_owned()];
            note.content = "It is cracked.".to_owned();
            change(&mut note);
            note
        };
        let say = |words: &[&str]| FixChange::Say {
            words: words.iter().map(|word| (*word).to_owned()).collect(),
        };
        let field = |field: &str| FixChange::DropField { field: field.to_owned() };
        let setting = |name: &str, value: &str| FixChange::Setting {
            name: name.to_owned(),
            value: value.to_owned(),
        };
        let values = vec!["new".to_owned()];
        let pin = FixChange::Pin { titles: vec!["Tower".to_owned()] };
        let one: fn(&mut VaultUse) = |using| using.rules.budget.entries = Some(1);
        let same: fn(&mut VaultUse) = |_| {};
        for (name, change, using, expected) in [
            ("in", (|_| {}) as fn(&mut Note), same, vec![]),
            ("key", |note| note.keys = vec!["gong".to_owned()], same, vec![say(&["gong"])]),
            (
                "refine",
                |note| note.refine.keys = vec!["rope".to_owned()],
                same,
                vec![say(&["rope"])],
            ),
            ("warmup", |note| note.warmup = Some(3.0), same, vec![say(&["bell", "bell"])]),
            (
                "delay",
                |note| note.delay = Some(3),
                same,
                vec![FixChange::Wait { until: MessageCount(3) }],
            ),
            (
                "chance",
                |note| note.probability = Some(0.0),
                same,
                vec![FixChange::Probability { percent: 100.0 }],
            ),
            (
                "requires",
                |note| note.relations.requires = vec!["Tower".to_owned()],
                same,
                vec![pin],
            ),
            (
                "unknown",
                |note| note.relations.requires = vec!["No".to_owned()],
                same,
                vec![field("requires")],
            ),
            (
                "scene",
                |note| {
                    note.fields.insert("era".to_owned(), vec!["new"].into());
                },
                same,
                vec![FixChange::Scene { field: "era".to_owned(), values: values.clone() }],
            ),
            (
                "folder",
                |note| note.path = "People/A.md".to_owned(),
                same,
                vec![FixChange::LookInto { folder: "People".to_owned() }],
            ),
            ("blocked", |note| note.title = "Blocked".to_owned(), same, vec![FixChange::Unblock]),
            ("entries", |note| note.priority = 200.0, one, vec![setting("vault.max_entries", "2")]),
        ] {
            let mut own = VaultUse::default();
            using(&mut own);
            let mut others = vec![note("Other", |_| {}), note("Tower", |note| note.keys.clear())];
            others.insert(0, note("Bronze", change));
            let chat = ["a", "the bell"];
            assert_eq!(fixed_note(&chat, others, own), expected, "{name}");
        }
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
