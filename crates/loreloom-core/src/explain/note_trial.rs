//! A turn run again with changes to a vault note, its rules or the scene.

use std::{rc::Rc, sync::Arc};

use super::{
    Case, FixChange, Trial,
    candidates::{Edited, is_about_finding, lore_tokens, new_keys},
};
use crate::{
    chat::Role,
    dialects::vault::{Note, NoteMark},
    engine::{EngineInput, decide, verdicts},
    ids::EntryId,
    library::{EntryIx, Library},
    number::whole,
    report::{Outcome, Report, Stop, Verdict},
    rules::Rules,
    state::StoryState,
    turn::{Instruments, Transcript, Turn, TurnCache, TurnInput, VaultContext},
    units::MessageCount,
};

/// The turn with some changes made.
#[derive(Clone)]
pub(super) struct NoteTrial<'a> {
    case: &'a Case<'a>,
    entry: &'a EntryId,
    ix: EntryIx,
    note: Note,
    /// The lore with the changed note, where it or a rule that it is compiled by was changed.
    compiled: Option<Rc<Library>>,
    input: TurnInput,
    rules: Rules,
    transcript: Transcript,
    state: StoryState,
}

impl<'a> NoteTrial<'a> {
    pub(super) fn new(case: &'a Case<'a>, entry: &'a EntryId) -> Option<Self> {
        let vault = case.library.vault()?;
        let ix = vault.find(entry)?;
        let context = case.turn.input.vault_context.as_ref().unwrap_or(&case.state.vault_context);
        let vault_context = Some(context.clone());
        Some(Self {
            case,
            entry,
            ix,
            note: vault.note(ix).clone(),
            compiled: None,
            input: TurnInput { vault_context, ..case.turn.input.clone() },
            rules: case.rules.clone(),
            transcript: case.turn.transcript.clone(),
            state: case.state.clone(),
        })
    }

    fn context(&mut self) -> &mut VaultContext {
        self.input.vault_context.get_or_insert_default()
    }

    /// The lore with the changed note, compiled.
    fn compile(&mut self) {
        let library = self.case.library;
        let Some(vault) = library.vault() else { return };
        let vault = vault.with_note(self.ix, self.note.clone(), &self.rules.vault.rules);
        self.compiled = Some(Rc::new(library.with_other_notes(Arc::new(vault))));
    }

    /// The key that is said most simply, so many times.
    fn say(&self, times: usize) -> Option<FixChange> {
        let vault = self.case.library.vault()?;
        let key = vault.keys_of(self.ix).map(str::trim).find(|key| !key.is_empty())?;
        Some(FixChange::Say { words: vec![key.to_owned(); times.max(1)] })
    }

    fn secondary(&self, stop: &Stop, missing: &[String]) -> Option<FixChange> {
        let said = missing.iter().map(|key| FixChange::Say { words: vec![key.clone()] });
        let all = FixChange::Say { words: missing.to_vec() };
        self.first_that_helps(stop, said.chain([all, FixChange::IgnoreSecondary]))
    }

    fn setting(name: &str, value: &dyn ToString) -> FixChange {
        FixChange::Setting { name: name.to_owned(), value: value.to_string() }
    }

    fn pin_it(&self) -> FixChange {
        FixChange::Pin { titles: vec![self.note.title.clone()] }
    }

    fn set(&mut self, name: &str, value: &str) {
        let rules = &mut self.rules.vault.rules;
        let number = value.parse::<u32>().unwrap_or_default();
        match name {
            "vault.max_recursion_steps" => rules.recursion.steps = number,
            "vault.fuzzy_min_score" => rules.fuzzy.min_score = value.parse().unwrap_or_default(),
            "vault.fuzzy_most" => rules.fuzzy.most = number as usize,
            "vault.max_entries" => rules.budget.entries = Some(number),
            "vault.reinjection_cooldown" => rules.repetition.cooldown = number,
            "vault.strip_duplicates" => rules.repetition.strip = value == "true",
            _ => {}
        }
    }

    /// Lets the chat grow: the newest message is said again and again, so that what it holds
    /// stays in reach.
    fn wait(&mut self, until: MessageCount) {
        let newest = self.transcript.newest(1).next().unwrap_or_default().to_owned();
        while self.transcript.vault_lines().len() < until.0 as usize {
            self.transcript.push(Role::User, None, &newest);
        }
    }
}

impl NoteTrial<'_> {
    fn decided(&self) -> (Report, Vec<Verdict>) {
        let library = self.compiled.as_deref().unwrap_or(self.case.library);
        let active = self.case.active;
        let own = &Turn { transcript: &self.transcript, input: &self.input, ..*self.case.turn };
        let (state, rules) = (&self.state, &self.rules);
        let input = EngineInput { library, active, turn: own, state, rules };
        let (mut dice, mut cache) = (self.case.dice.clone(), TurnCache::default());
        let counter = self.case.counter;
        let mut instruments = Instruments { counter, dice: &mut dice, cache: &mut cache };
        let report = decide(&input, &mut instruments).report;
        let all = verdicts(&report, &input, &mut instruments);
        (report, all)
    }
}

impl Trial for NoteTrial<'_> {
    fn run(&self) -> Option<Stop> {
        let (_, all) = self.decided();
        match all.into_iter().find(|verdict| verdict.entry == *self.entry)?.outcome {
            Outcome::Activated { .. } => None,
            Outcome::Stopped(stop) => Some(stop),
        }
    }

    fn others_for(&self, stop: &Stop) -> Vec<FixChange> {
        let mut others = Vec::new();
        if is_about_finding(stop) {
            let keys: Vec<&str> = self.note.keys.iter().map(String::as_str).collect();
            let (title, text) = (self.note.title.as_str(), self.note.content.as_str());
            others.extend(new_keys(&self.transcript, &keys, title, text));
            others.push(FixChange::MakeConstant);
        }
        others.push(self.pin_it());
        others
    }

    fn lore_tokens(&self) -> i64 {
        lore_tokens(&self.decided().0)
    }

    fn edited(&self) -> Edited {
        let rules = (self.rules != *self.case.rules).then(|| Box::new(self.rules.clone()));
        Edited { entry: None, rules }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "the rules of books never stop a note")]
    fn change_for(&self, stop: &Stop) -> Option<FixChange> {
        Some(match stop {
            Stop::NoKeys => FixChange::MakeConstant,
            Stop::NoKeyFound => self.say(1)?,
            Stop::Warmup { needed, found } => self.say(missing_times(*needed, *found))?,
            Stop::OutOfReach { distance, .. } => FixChange::ScanDepth { messages: distance + 1 },
            Stop::Secondary { missing, .. } => self.secondary(stop, missing)?,
            Stop::Delay { until } => FixChange::Wait { until: *until },
            Stop::ExcludedFromRecursion => FixChange::AllowRecursion,
            Stop::RecursionLimit { steps } => {
                Self::setting("vault.max_recursion_steps", &steps.saturating_add(1))
            }
            Stop::LowScore { score, .. } => {
                Self::setting("vault.fuzzy_min_score", &((score * 100.0).floor() / 100.0))
            }
            Stop::SearchLimit { most, .. } => {
                let more = (1..=64).map(|more| Self::setting("vault.fuzzy_most", &(most + more)));
                self.first_that_helps(stop, more)?
            }
            // Nobody rolls for a chance of 0, so no other number is known to be enough.
            Stop::Chance { probability, .. } if *probability <= 0.0 => {
                FixChange::Probability { percent: 100.0 }
            }
            Stop::Chance { roll, .. } => {
                FixChange::Probability { percent: roll.ceil().clamp(1.0, 100.0) }
            }
            Stop::Resting { .. } => FixChange::DropField { field: "cooldown".to_owned() },
            Stop::Context { field, note, .. } if !note.is_empty() => {
                FixChange::Scene { field: field.clone(), values: note.clone() }
            }
            Stop::Context { field, .. } => FixChange::DropField { field: field.clone() },
            Stop::Folder { folder, .. } => FixChange::LookInto { folder: folder.clone() },
            Stop::Blocked => FixChange::Unblock,
            Stop::Reinjection { .. } => Self::setting("vault.reinjection_cooldown", &0),
            Stop::Group { .. } => FixChange::LeaveGroups,
            Stop::Requires { missing } => {
                let pins = FixChange::Pin { titles: missing.clone() };
                let drops = FixChange::DropField { field: "requires".to_owned() };
                self.first_that_helps(stop, [pins, drops].into_iter())?
            }
            Stop::Excludes { .. } => FixChange::DropField { field: "excludes".to_owned() },
            Stop::Stripped { .. } => Self::setting("vault.strip_duplicates", &false),
            Stop::MaxEntries { most } => {
                let more = (1..=64).map(|more| Self::setting("vault.max_entries", &(most + more)));
                self.first_that_helps(stop, more)?
            }
            Stop::Budget { .. } | Stop::BudgetClosed { .. } | Stop::OverBudget { .. } => self
                .larger_budget(self.case.turn.input.context, |tokens| FixChange::Budget {
                    tokens,
                })?,
            Stop::NoRoom { .. } if self.case.turn.input.lore_room.is_none() => self
                .larger_budget(self.case.turn.input.context, |tokens| FixChange::TotalBudget {
                    tokens,
                })?,
            Stop::NotSelected { .. } | Stop::Unsure { .. } | Stop::FellBack { .. } => self.pin_it(),
            _ => return None,
        })
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "the changes of books change no note")]
    fn apply(&mut self, change: &FixChange) {
        let before = self.note.clone();
        match change {
            FixChange::MakeConstant => self.note.kind.constant = true,
            FixChange::AddKey { key } => self.note.keys.push(key.clone()),
            FixChange::Say { words } => {
                self.transcript = self.transcript.with_text(&words.join(" "));
            }
            FixChange::ScanDepth { messages } => {
                self.note.scan_depth = Some(f64::from(*messages));
                // A depth of 0 for all notes also turns off that of a single one.
                let depth = &mut self.rules.vault.rules.keys.depth;
                *depth = (*depth).max(1);
            }
            FixChange::IgnoreSecondary => self.note.refine.keys.clear(),
            FixChange::Wait { until } => self.wait(*until),
            FixChange::AllowRecursion => self.note.exclude_recursion = false,
            FixChange::Probability { percent } => self.note.probability = Some(percent / 100.0),
            FixChange::LeaveGroups => self.note.groups.clear(),
            FixChange::Budget { tokens } => self.rules.vault.rules.budget.tokens = Some(*tokens),
            FixChange::TotalBudget { tokens } => {
                self.rules.budget.total_tokens = Some(tokens.0);
                self.rules.budget.total_percent = None;
            }
            FixChange::Setting { name, value } => self.set(name, value),
            FixChange::Pin { titles } => {
                let pins =
                    titles.iter().map(|title| NoteMark { title: title.clone(), vault: None });
                self.context().pins.extend(pins);
            }
            FixChange::Unblock => self.context().blocks.clear(),
            FixChange::Scene { field, values } => {
                let defined = &self.rules.vault.fields;
                let key = defined.iter().find(|one| one.name == *field);
                let key = key.map_or_else(|| field.clone(), |one| one.context_key.clone());
                self.context().context.insert(key, values.clone().into());
            }
            FixChange::LookInto { folder } => self.context().folders.push(folder.clone()),
            FixChange::DropField { field } => match field.as_str() {
                "cooldown" => {
                    self.note.cooldown = None;
                    self.state.vault.cooldown.remove(self.entry);
                }
                "requires" => self.note.relations.requires.clear(),
                "excludes" => self.note.relations.excludes.clear(),
                other => {
                    self.note.fields.remove(other);
                }
            },
            _ => {}
        }
        // The settings that are tried decide after the keys are matched: nothing is compiled anew.
        if matches!(change, FixChange::ScanDepth { .. }) || self.note != before {
            self.compile();
        }
    }
}

/// How many times more a key must occur.
fn missing_times(needed: f64, found: u32) -> usize {
    whole((needed - f64::from(found)).ceil()).clamp(1, 100) as usize
}
