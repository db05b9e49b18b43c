//! The smallest change that would have made an entry fire.
//!
//! Each rule that stops an entry suggests one change; the turn is run again with it, and
//! if another rule stops the entry then, its change is added. Only what was seen to work
//! is told.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{
    book::{Book, Entry, Force, SelectiveLogic},
    dice::TurnDice,
    ids::EntryId,
    library::{Dialect, Library, Roster},
    report::{Gate, Outcome, Stop},
    rules::Rules,
    state::StoryState,
    tokens::TokenCounter,
    turn::{Instruments, Transcript, Turn, TurnCache},
    units::{MessageCount, Tokens},
    weave::{Woven, verdicts, weave},
};

/// Rules that can stop one entry one after the other; more than these is no small change.
const MOST_CHANGES: usize = 5;

/// One change to the turn, the entry or the rules.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum Change {
    /// Switch the entry on.
    Enable,
    /// Make it always fire.
    MakeConstant,
    /// Drop its list of generation types.
    AnyGeneration,
    /// Drop its list of characters and tags.
    AnyCharacter,
    /// Scan so many messages for it.
    ScanDepth {
        /// Messages.
        messages: u32,
    },
    /// Let these words occur in the newest message.
    Say {
        /// The words.
        words: Vec<String>,
    },
    /// Ignore its secondary keys.
    IgnoreSecondary,
    /// Wait until the chat is this long.
    Wait {
        /// Messages.
        until: MessageCount,
    },
    /// Let other entries activate it.
    AllowRecursion,
    /// Let it fire at once instead of at a recursion level.
    NoRecursionLevel,
    /// Remove `@@dont_activate`.
    DropDecorator,
    /// Take it out of its groups.
    LeaveGroups,
    /// Raise its probability.
    Probability {
        /// In per cent.
        percent: f64,
    },
    /// Allow lore so many tokens.
    Budget {
        /// Tokens.
        tokens: Tokens,
    },
}

/// Changes that together make an entry fire.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fix {
    /// The entry.
    pub entry: EntryId,
    /// The rule that stopped it.
    pub stopped_by: Stop,
    /// What to change, in order. The turn was run again with these, and the entry fired.
    pub changes: Vec<Change>,
}

/// A turn and everything it was decided from, to be run again.
#[derive(Clone, Copy)]
pub struct Case<'a> {
    /// The compiled books.
    pub library: &'a Library,
    /// Which of them are active.
    pub roster: &'a Roster,
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
    let mut trial = Trial::new(case, entry)?;
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

/// The turn with some changes made.
#[derive(Clone)]
struct Trial<'a> {
    case: &'a Case<'a>,
    entry: &'a EntryId,
    book: usize,
    place: usize,
    changed: Entry,
    rules: Rules,
    transcript: Transcript,
    state: StoryState,
    changes: Vec<Change>,
}

impl<'a> Trial<'a> {
    fn new(case: &'a Case<'a>, entry: &'a EntryId) -> Option<Self> {
        let books = case.library.books();
        let (book, place) = books.iter().enumerate().find_map(|(at, book)| {
            Some((at, book.entries.iter().position(|one| one.id == *entry)?))
        })?;
        Some(Self {
            case,
            entry,
            book,
            place,
            changed: books[book].entries[place].clone(),
            rules: case.rules.clone(),
            transcript: case.turn.transcript.clone(),
            state: case.state.clone(),
            changes: Vec::new(),
        })
    }

    /// Runs the turn as changed: the rule that stops the entry, or `None` if it fires.
    fn run(&self) -> Option<Stop> {
        let books = self.case.library.books().iter().enumerate().map(|(at, book)| {
            let dialect = self.case.library.dialect(at);
            if at != self.book {
                return (Arc::clone(book), dialect);
            }
            let mut entries = book.entries.clone();
            entries[self.place] = self.changed.clone();
            (Arc::new(Book { entries, ..Book::clone(book) }), dialect)
        });
        let library = Library::compile_dialects(books, &self.rules);
        let roster = self.case.roster.over(&library);
        let turn = Turn { transcript: &self.transcript, ..*self.case.turn };
        let (mut dice, mut cache) = (self.case.dice.clone(), TurnCache::default());
        let counter = self.case.counter;
        let mut instruments = Instruments { counter, dice: &mut dice, cache: &mut cache };
        let woven = weave(&library, &roster, &turn, &self.state, &self.rules, &mut instruments);
        self.stop(&woven, &library, &roster, &turn, &mut instruments)
    }

    fn stop(
        &self,
        woven: &Woven,
        library: &Library,
        roster: &Roster,
        turn: &Turn<'_>,
        instruments: &mut Instruments<'_>,
    ) -> Option<Stop> {
        let (state, rules) = (&self.state, &self.rules);
        let all = verdicts(&woven.report, library, roster, turn, state, rules, instruments);
        match all.into_iter().find(|verdict| verdict.entry == *self.entry)?.outcome {
            Outcome::Activated { .. } => None,
            Outcome::Stopped(stop) => Some(stop),
        }
    }

    /// The smallest change that gets an entry past a rule.
    fn change_for(&self, stop: &Stop) -> Option<Change> {
        Some(match stop {
            Stop::Disabled => Change::Enable,
            Stop::Trigger { .. } => Change::AnyGeneration,
            Stop::Character { .. } | Stop::Tag { .. } => Change::AnyCharacter,
            Stop::Delay { until } | Stop::Cooldown { until } => Change::Wait { until: *until },
            Stop::RecursionLevel { .. } => Change::NoRecursionLevel,
            Stop::ExcludedFromRecursion => Change::AllowRecursion,
            Stop::Suppressed => Change::DropDecorator,
            Stop::NoKeys => Change::MakeConstant,
            Stop::NoKeyFound => {
                let key = self.changed.activation.keys.iter().find_map(|key| match key {
                    crate::book::Key::Literal(text) if !text.trim().is_empty() => Some(text),
                    crate::book::Key::Literal(_) | crate::book::Key::Regex(_) => None,
                });
                match key {
                    Some(key) => {
                        Change::Say { words: vec![self.case.turn.macros().expand(key).into()] }
                    }
                    None => Change::MakeConstant,
                }
            }
            Stop::OutOfReach { distance, .. } => Change::ScanDepth { messages: distance + 1 },
            Stop::Required { missing }
            | Stop::Secondary { logic: SelectiveLogic::AndAny, missing, .. } => {
                Change::Say { words: missing.iter().take(1).cloned().collect() }
            }
            Stop::Secondary { logic: SelectiveLogic::AndAll, missing, .. } => {
                Change::Say { words: missing.clone() }
            }
            Stop::Secondary { .. } => Change::IgnoreSecondary,
            Stop::Group { .. } => Change::LeaveGroups,
            Stop::Chance { roll, .. } => self.higher_probability(*roll),
            Stop::Budget { .. } | Stop::BudgetClosed { .. } | Stop::OverBudget { .. } => {
                self.larger_budget()?
            }
            Stop::Gate { gate: Gate::After { wanted, .. } } => {
                Change::Wait { until: MessageCount(*wanted) }
            }
            Stop::Gate { gate: Gate::Every { wanted, count } } => {
                Change::Wait { until: MessageCount(count.next_multiple_of(*wanted)) }
            }
            Stop::Gate {
                gate: Gate::Greeting { .. } | Gate::GreetingOver | Gate::UserIcon { .. },
            }
            | Stop::Once { .. }
            | Stop::Excluded { .. }
            // The vault's rules are not these books' to change.
            | Stop::Warmup { .. }
            | Stop::Resting { .. }
            | Stop::Context { .. }
            | Stop::Folder { .. }
            | Stop::Blocked
            | Stop::Reinjection { .. }
            | Stop::Requires { .. }
            | Stop::Excludes { .. }
            | Stop::Stripped { .. }
            | Stop::MaxEntries { .. }
            | Stop::NotSelected => return None,
        })
    }

    /// Card books need more than the roll, World Info no less.
    fn higher_probability(&self, roll: f64) -> Change {
        let percent = match self.dialect() {
            Dialect::WorldInfo => roll.ceil(),
            Dialect::Cards => roll.floor() + 1.0,
        };
        Change::Probability { percent: percent.min(100.0) }
    }

    /// The least budget that lets the entry in, by halving between too little and enough.
    fn larger_budget(&self) -> Option<Change> {
        let fits = |tokens: u32| {
            let mut trial = self.clone();
            trial.apply(&Change::Budget { tokens: Tokens(tokens) });
            let budget = |stop: &Stop| {
                matches!(
                    stop,
                    Stop::Budget { .. } | Stop::BudgetClosed { .. } | Stop::OverBudget { .. }
                )
            };
            !trial.run().as_ref().is_some_and(budget)
        };
        let most = self.case.turn.context.0.max(1);
        if !fits(most) {
            return None;
        }
        let (mut too_little, mut enough) = (0, most);
        while too_little + 1 < enough {
            let middle = u32::midpoint(too_little, enough);
            if fits(middle) { enough = middle } else { too_little = middle }
        }
        Some(Change::Budget { tokens: Tokens(enough) })
    }

    fn apply(&mut self, change: &Change) {
        let activation = &mut self.changed.activation;
        match change {
            Change::Enable => activation.enabled = true,
            Change::MakeConstant => activation.constant = true,
            Change::AnyGeneration => activation.filters.triggers.clear(),
            Change::AnyCharacter => {
                activation.filters.characters.clear();
                activation.filters.tags.clear();
            }
            Change::ScanDepth { messages } => {
                activation.scan.messages = Some(f64::from(*messages));
                self.drop_decorator("@@scan_depth");
            }
            Change::Say { words } => {
                self.transcript = self.transcript.with_text(&words.join(" "));
            }
            Change::IgnoreSecondary => activation.secondary.active = false,
            Change::Wait { until } => self.wait(*until),
            Change::AllowRecursion => self.changed.recursion.exclude = false,
            Change::NoRecursionLevel => self.changed.recursion.delay_level = 0,
            Change::DropDecorator => {
                activation.force = activation.force.filter(|force| *force != Force::Suppress);
                let lines = self.changed.content.lines();
                let kept: Vec<&str> =
                    lines.filter(|line| line.trim() != "@@dont_activate").collect();
                self.changed.content = kept.join("\n");
            }
            Change::LeaveGroups => self.changed.group.names.clear(),
            Change::Probability { percent } => {
                activation.probability = Some(*percent);
                self.drop_decorator("@@probability");
            }
            Change::Budget { tokens } if self.dialect() == Dialect::Cards => {
                self.rules.cards.budget_floor = tokens.0;
            }
            Change::Budget { tokens } => {
                self.rules.world_info.budget_percent = 100.0;
                self.rules.world_info.budget_cap = tokens.0;
            }
        }
    }

    fn dialect(&self) -> Dialect {
        self.case.library.dialect(self.book)
    }

    /// Removes a decorator that would overrule the changed field.
    fn drop_decorator(&mut self, name: &str) {
        if self.dialect() == Dialect::Cards {
            let said = |line: &str| line.split_whitespace().next() == Some(name);
            let lines = self.changed.content.lines().filter(|line| !said(line));
            self.changed.content = lines.collect::<Vec<_>>().join("\n");
        }
    }

    /// Lets the chat grow: the newest message is said again and again, so that what it
    /// holds stays in reach.
    fn wait(&mut self, until: MessageCount) {
        while self.transcript.len() < until.0 as usize {
            let again = self.transcript.messages.last().cloned();
            match again {
                Some(message) => self.transcript.messages.push(message),
                None => self.transcript.push(crate::chat::Role::User, None, ""),
            }
        }
    }
}

/// A change in plain English.
pub fn words(change: &Change) -> String {
    match change {
        Change::Enable => "switch it on".to_owned(),
        Change::MakeConstant => "make it constant".to_owned(),
        Change::AnyGeneration => "allow it for every kind of generation".to_owned(),
        Change::AnyCharacter => "allow it for every character".to_owned(),
        Change::ScanDepth { messages } => format!("scan {messages} messages for it"),
        Change::Say { words } => format!("let the newest message say “{}”", words.join("” and “")),
        Change::IgnoreSecondary => "ignore its secondary keys".to_owned(),
        Change::Wait { until } => format!("wait until the chat has {} messages", until.0),
        Change::AllowRecursion => "let other entries bring it in".to_owned(),
        Change::NoRecursionLevel => "let it fire without waiting for recursion".to_owned(),
        Change::DropDecorator => "remove its @@dont_activate".to_owned(),
        Change::LeaveGroups => "take it out of its groups".to_owned(),
        Change::Probability { percent } => format!("raise its probability to {percent} %"),
        Change::Budget { tokens } => format!("allow lore {tokens} tokens"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        book::{Key, Position},
        chat::{GenerationType, Role},
        ids::{ChatId, PrefixHash},
        tokens::ByteEstimate,
        turn::{CardTexts, Host},
        worldinfo::WorldInfoRules,
    };

    fn entry(change: impl FnOnce(&mut Entry)) -> Entry {
        let mut entry = Entry::new("b/0");
        entry.activation.keys = vec![Key::parse("bell")];
        entry.content = "The bell is cracked.".to_owned();
        entry.placement.position = Position::BeforeCharacter;
        change(&mut entry);
        entry
    }

    fn fixed(messages: &[&str], context: u32, entry: Entry) -> Option<Vec<Change>> {
        let mut book = Book::new("b", "B");
        book.entries.push(entry);
        let rules = Rules { world_info: WorldInfoRules::default(), ..Rules::default() };
        let library = Library::compile([Arc::new(book)], &rules.world_info);
        let roster = Roster::all(&library, rules.world_info.strategy);
        let mut transcript = Transcript::new(true);
        for message in messages {
            transcript.push(Role::User, Some("Mira"), message);
        }
        let chat = ChatId::from("c");
        let turn = Turn {
            chat: &chat,
            prefix: PrefixHash::default(),
            answers: None,
            transcript: &transcript,
            generation: GenerationType::Normal,
            speaker: None,
            user: "Mira",
            card: &CardTexts::default(),
            prompts: &[],
            forced: &[],
            context: Tokens(context),
            seed: 1,
            at: None,
            dry_run: false,
            host: Host::default(),
        };
        let case = Case {
            library: &library,
            roster: &roster,
            turn: &turn,
            state: &StoryState::default(),
            rules: &rules,
            counter: &ByteEstimate,
            dice: &TurnDice::at(1, &chat, None),
        };
        explain(&case, &EntryId::from("b/0")).map(|fix| fix.changes)
    }

    #[test]
    fn each_rule_has_its_smallest_change() {
        let bell: &[&str] = &["the bell"];
        for (messages, context, entry, changes) in [
            (bell, 4096, entry(|_| {}), None),
            (
                &["nothing"][..],
                4096,
                entry(|_| {}),
                Some(vec![Change::Say { words: vec!["bell".to_owned()] }]),
            ),
            (
                &["bell", "a", "b"][..],
                4096,
                entry(|_| {}),
                Some(vec![Change::ScanDepth { messages: 3 }]),
            ),
            (bell, 4096, entry(|e| e.activation.enabled = false), Some(vec![Change::Enable])),
            (
                bell,
                4096,
                entry(|e| e.activation.timed.delay = Some(3)),
                Some(vec![Change::Wait { until: MessageCount(3) }]),
            ),
            (bell, 20, entry(|_| {}), Some(vec![Change::Budget { tokens: Tokens(8) }])),
            (
                &["nothing"][..],
                4096,
                entry(|e| {
                    e.activation.enabled = false;
                    e.recursion.delay_level = 1;
                }),
                Some(vec![
                    Change::Enable,
                    Change::NoRecursionLevel,
                    Change::Say { words: vec!["bell".to_owned()] },
                ]),
            ),
        ] {
            assert_eq!(fixed(messages, context, entry.clone()), changes, "{messages:?} {entry:?}");
        }
    }
}
