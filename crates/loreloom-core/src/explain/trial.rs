//! A turn run again with changes.

use std::{rc::Rc, sync::Arc};

use super::{
    Case, FixChange, Trial,
    candidates::{Edited, is_about_finding, lore_tokens, new_keys},
    sample::sample,
};
use crate::{
    book::{Book, Entry, Force, Key, ScanRange, SelectiveLogic},
    chat::Role,
    engine::{EngineInput, decide, outcome_of},
    ids::EntryId,
    library::{ActiveEntries, Dialect, Library},
    report::{Gate, Outcome, Report, Stop},
    rules::Rules,
    scan::JsRegex,
    state::StoryState,
    turn::{Instruments, Transcript, Turn, TurnCache},
    units::MessageCount,
};

/// Keys of an entry that are tried one after the other.
const MOST_TRIED: u32 = 8;

/// The turn with some changes made.
#[derive(Clone)]
pub(super) struct FixTrial<'a> {
    case: &'a Case<'a>,
    entry: &'a EntryId,
    book: usize,
    place: usize,
    changed: Entry,
    /// The books with the changed entry, where it was changed.
    compiled: Option<Rc<(Library, ActiveEntries)>>,
    rules: Rules,
    transcript: Transcript,
    state: StoryState,
}

impl Trial for FixTrial<'_> {
    fn run(&self) -> Option<Stop> {
        self.run_changed()
    }

    fn change_for(&self, stop: &Stop) -> Option<FixChange> {
        self.change_past(stop)
    }

    fn others_for(&self, stop: &Stop) -> Vec<FixChange> {
        let mut others = self.others_past(stop);
        if is_about_finding(stop) {
            let keys: Vec<&str> = self.changed.activation.keys.iter().map(Key::raw).collect();
            let (title, text) = (self.changed.title(), self.changed.content.as_str());
            others.extend(new_keys(&self.transcript, &keys, title, text));
            others.push(FixChange::MakeConstant);
        }
        others
    }

    fn lore_tokens(&self) -> i64 {
        lore_tokens(&self.decided().0)
    }

    fn edited(&self) -> Edited {
        let before = &self.case.library.books()[self.book].entries[self.place];
        Edited {
            entry: (self.changed != *before).then(|| Box::new(self.changed.clone())),
            rules: (self.rules != *self.case.rules).then(|| Box::new(self.rules.clone())),
        }
    }

    fn apply(&mut self, change: &FixChange) {
        let before = self.changed.clone();
        self.change(change);
        if self.changed != before {
            self.compile();
        }
    }
}

impl<'a> FixTrial<'a> {
    pub(super) fn new(case: &'a Case<'a>, entry: &'a EntryId) -> Option<Self> {
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
            compiled: None,
            rules: case.rules.clone(),
            transcript: case.turn.transcript.clone(),
            state: case.state.clone(),
        })
    }

    /// Runs the turn as changed.
    fn run_changed(&self) -> Option<Stop> {
        match self.decided().1? {
            Outcome::Activated { .. } => None,
            Outcome::Stopped(stop) => Some(stop),
        }
    }

    fn decided(&self) -> (Report, Option<Outcome>) {
        let (library, active) = match &self.compiled {
            Some(compiled) => (&compiled.0, &compiled.1),
            None => (self.case.library, self.case.active),
        };
        let turn = &Turn { transcript: &self.transcript, ..*self.case.turn };
        let input = EngineInput { library, active, turn, state: &self.state, rules: &self.rules };
        let (mut dice, mut cache) = (self.case.dice.clone(), TurnCache::default());
        let counter = self.case.counter;
        let mut instruments = Instruments { counter, dice: &mut dice, cache: &mut cache };
        let report = decide(&input, &mut instruments).report;
        let outcome = outcome_of(self.entry, &report, &input, &mut instruments);
        (report, outcome)
    }

    /// Other changes than the smallest for a rule that stopped the entry.
    #[expect(clippy::wildcard_enum_match_arm, reason = "most rules have one change")]
    fn others_past(&self, stop: &Stop) -> Vec<FixChange> {
        let activation = &self.changed.activation;
        match stop {
            Stop::Cooldown { .. } => vec![FixChange::NoCooldown],
            Stop::Delay { .. } => vec![FixChange::NoDelay],
            Stop::OutOfReach { key, .. } => {
                let said = self.sayable(key).map(|word| FixChange::Say { words: vec![word] });
                said.into_iter().collect()
            }
            Stop::Secondary { logic: SelectiveLogic::AndAll, .. } => {
                vec![FixChange::AnySecondary, FixChange::IgnoreSecondary]
            }
            Stop::Secondary { .. } => vec![FixChange::IgnoreSecondary],
            Stop::Group { .. } => vec![FixChange::WinGroups],
            Stop::Budget { .. } | Stop::BudgetClosed { .. } | Stop::OverBudget { .. } => {
                let mut others = vec![FixChange::IgnoreBudget];
                others.extend(self.highest_order().map(|order| FixChange::Order { order }));
                others
            }
            Stop::NotNear { .. } => {
                let said = activation.keys.iter().filter_map(|key| self.sayable(key.raw()));
                said.take(1).map(|word| FixChange::Say { words: vec![word] }).collect()
            }
            _ => Vec::new(),
        }
    }

    /// An order above those of all other entries, where it is higher than its own.
    fn highest_order(&self) -> Option<f64> {
        let entries = self.case.library.books().iter().flat_map(|book| &book.entries);
        let orders = entries.filter_map(|entry| entry.placement.order);
        let highest = orders.fold(0.0, f64::max) + 1.0;
        self.changed.placement.order.is_none_or(|own| own < highest).then_some(highest)
    }

    /// The books with the changed entry, compiled.
    fn compile(&mut self) {
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
        let active = self.case.active.over(&library);
        self.compiled = Some(Rc::new((library, active)));
    }

    /// The change for a rule that stopped the entry.
    #[expect(clippy::wildcard_enum_match_arm, reason = "no single change helps past other rules")]
    fn change_past(&self, stop: &Stop) -> Option<FixChange> {
        Some(match stop {
            Stop::Disabled => FixChange::Enable,
            Stop::Trigger { .. } => FixChange::AnyGeneration,
            Stop::Character { .. } | Stop::Tag { .. } => FixChange::AnyCharacter,
            Stop::Delay { until } | Stop::Cooldown { until } => FixChange::Wait { until: *until },
            Stop::RecursionLevel { .. } => FixChange::NoRecursionLevel,
            Stop::ExcludedFromRecursion => FixChange::AllowRecursion,
            Stop::Suppressed => FixChange::DropDecorator,
            Stop::NoKeys | Stop::NotNear { score: None, .. } => FixChange::MakeConstant,
            Stop::NotNear { score: Some(score), .. } => {
                // Two digits are what people set.
                FixChange::Nearness { threshold: (score * 100.0).floor() / 100.0 }
            }
            Stop::NoKeyFound | Stop::KeyTooSlow { .. } => {
                let keys = self.changed.activation.keys.iter().map(Key::raw);
                self.say_one(stop, keys, FixChange::MakeConstant)?
            }
            Stop::OutOfReach { distance, .. } => FixChange::ScanDepth { messages: distance + 1 },
            Stop::Required { missing } => {
                FixChange::Say { words: missing.iter().take(1).cloned().collect() }
            }
            Stop::Secondary { logic, missing, .. } => self.secondary(stop, *logic, missing)?,
            Stop::Group { .. } => FixChange::LeaveGroups,
            Stop::Chance { roll, .. } => self.higher_probability(*roll),
            Stop::Budget { .. } | Stop::BudgetClosed { .. } | Stop::OverBudget { .. } => self
                .larger_budget(self.case.turn.input.context, |tokens| FixChange::Budget {
                    tokens,
                })?,
            Stop::NoRoom { .. } => self.larger_total()?,
            Stop::MaxEntries { most } if !self.dialect().is_cards() => {
                let more = (1..=MOST_TRIED).map(|more| most.saturating_add(more));
                let more = more.map(|most| FixChange::NearEntries { most });
                self.first_that_helps(stop, more)?
            }
            Stop::Gate { gate: Gate::After { wanted, .. } } => {
                FixChange::Wait { until: MessageCount(*wanted) }
            }
            Stop::Gate { gate: Gate::Every { wanted, count } } => {
                FixChange::Wait { until: MessageCount(count.next_multiple_of(*wanted)) }
            }
            _ => return None,
        })
    }

    /// The change that satisfies secondary keys, else one that ignores them.
    fn secondary(
        &self,
        stop: &Stop,
        logic: SelectiveLogic,
        missing: &[String],
    ) -> Option<FixChange> {
        match logic {
            SelectiveLogic::AndAny => {
                let missing = missing.iter().map(String::as_str);
                self.say_one(stop, missing, FixChange::IgnoreSecondary)
            }
            SelectiveLogic::AndAll => {
                let words: Option<Vec<String>> =
                    missing.iter().map(|key| self.sayable(key)).collect();
                let all = words.map(|words| FixChange::Say { words });
                self.first_that_helps(stop, all.into_iter().chain([FixChange::IgnoreSecondary]))
            }
            SelectiveLogic::NotAll | SelectiveLogic::NotAny | SelectiveLogic::Unknown => {
                Some(FixChange::IgnoreSecondary)
            }
        }
    }

    /// Lets the newest message say one of these keys, else makes the other change.
    fn say_one<'key>(
        &self,
        stop: &Stop,
        keys: impl Iterator<Item = &'key str>,
        otherwise: FixChange,
    ) -> Option<FixChange> {
        let said = keys.filter_map(|key| self.sayable(key)).take(MOST_TRIED as usize);
        let said = said.map(|word| FixChange::Say { words: vec![word] });
        self.first_that_helps(stop, said.chain([otherwise]))
    }

    /// Words that a key is found in.
    fn sayable(&self, key: &str) -> Option<String> {
        let macros = self.case.turn.macros();
        let key = macros.expand_reading(key, &self.state.variables);
        let plain = |text: &str| (!text.trim().is_empty()).then(|| text.trim().to_owned());
        let Key::Regex(regex) = Key::parse(&key) else { return plain(&key) };
        // What is no regular expression is looked for as it is.
        let Some(compiled) = JsRegex::new(&regex.pattern, &regex.flags) else { return plain(&key) };
        sample(&regex.pattern)
            .and_then(|text| plain(&text))
            .filter(|text| compiled.find(text).span().is_some())
    }

    /// Card books need more than the roll, World Info no less.
    fn higher_probability(&self, roll: f64) -> FixChange {
        let percent = if self.dialect().is_cards() { roll.floor() + 1.0 } else { roll.ceil() };
        FixChange::Probability { percent: percent.min(100.0) }
    }

    /// The least total that lets the entry in. No setting makes the model's context larger.
    fn larger_total(&self) -> Option<FixChange> {
        if self.case.turn.input.lore_room.is_some() {
            return None;
        }
        self.larger_budget(self.case.turn.input.context, |tokens| FixChange::TotalBudget { tokens })
    }

    fn change(&mut self, change: &FixChange) {
        let activation = &mut self.changed.activation;
        match change {
            FixChange::Enable => activation.enabled = true,
            FixChange::MakeConstant => activation.constant = true,
            FixChange::AddKey { key } => activation.keys.push(Key::parse(key)),
            FixChange::NoCooldown => {
                activation.timed.cooldown = None;
                self.state.cooldown.remove(self.entry);
            }
            FixChange::NoDelay => activation.timed.delay = None,
            FixChange::AnySecondary => activation.secondary.logic = SelectiveLogic::AndAny,
            FixChange::WinGroups => {
                self.changed.group.prioritize = true;
                if let Some(order) = self.highest_order() {
                    self.changed.placement.order = Some(order);
                }
            }
            FixChange::IgnoreBudget => self.changed.budget.ignore = true,
            FixChange::Order { order } => self.changed.placement.order = Some(*order),
            FixChange::AnyGeneration => activation.filters.triggers.clear(),
            FixChange::AnyCharacter => {
                activation.filters.characters.clear();
                activation.filters.tags.clear();
            }
            FixChange::ScanDepth { messages } => {
                // Its own depth beats what its book says.
                activation.scan =
                    ScanRange { messages: Some(f64::from(*messages)), ..ScanRange::default() };
                self.drop_decorator("@@instruct_scan_depth");
                self.drop_decorator("@@scan_depth");
            }
            FixChange::Say { words } => {
                self.transcript = self.transcript.with_text(&words.join(" "));
            }
            FixChange::IgnoreSecondary => activation.secondary.active = false,
            FixChange::Wait { until } => self.wait(*until),
            FixChange::AllowRecursion => self.changed.recursion.exclude = false,
            FixChange::NoRecursionLevel => self.changed.recursion.delay_level = 0,
            FixChange::DropDecorator => {
                activation.force = activation.force.filter(|force| *force != Force::Suppress);
                let lines = self.changed.content.lines();
                let kept: Vec<&str> =
                    lines.filter(|line| line.trim() != "@@dont_activate").collect();
                self.changed.content = kept.join("\n");
            }
            FixChange::LeaveGroups => self.changed.group.names.clear(),
            FixChange::Probability { percent } => {
                activation.probability = Some(*percent);
                self.drop_decorator("@@probability");
            }
            FixChange::NearEntries { .. }
            | FixChange::Nearness { .. }
            | FixChange::Budget { .. }
            | FixChange::TotalBudget { .. } => self.change_rules(change),
            // Changes of notes and scenes.
            FixChange::Setting { .. }
            | FixChange::Pin { .. }
            | FixChange::Unblock
            | FixChange::Scene { .. }
            | FixChange::LookInto { .. }
            | FixChange::DropField { .. } => {}
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "the others change the entry or the story")]
    fn change_rules(&mut self, change: &FixChange) {
        let is_cards = self.dialect().is_cards();
        let rules = &mut self.rules;
        match change {
            FixChange::NearEntries { most } => rules.world_info.vectors.max_entries = *most,
            FixChange::Nearness { threshold } => rules.world_info.vectors.threshold = *threshold,
            FixChange::Budget { tokens } if is_cards => rules.cards.budget_floor = tokens.0,
            FixChange::Budget { tokens } => {
                rules.world_info.budget_percent = 100.0;
                rules.world_info.budget_cap = tokens.0;
            }
            FixChange::TotalBudget { tokens } => {
                rules.budget.total_tokens = Some(tokens.0);
                rules.budget.total_percent = None;
            }
            _ => {}
        }
    }

    fn dialect(&self) -> Dialect {
        self.case.library.dialect(self.book)
    }

    /// Removes a decorator that would overrule the changed field.
    fn drop_decorator(&mut self, name: &str) {
        if self.dialect().is_cards() {
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
                None => self.transcript.push(Role::User, None, ""),
            }
        }
    }
}
