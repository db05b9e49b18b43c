//! The gates between matching and the budget: context, folders, recent injections, and other
//! notes.

use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Value;

use super::{
    Logged, NoteMark, Pick, Record, Vault, VaultRules, VaultState,
    order::{by_priority, sort_picks_by},
    picks::{Divided, divide},
};
use crate::{
    book::Extensions,
    ids::EntryId,
    js_value::text_of,
    library::EntryIx,
    report::Stop,
    vault_notes::{FieldDefinition, Operator, Tolerance, is_empty_value},
};

/// The gates of a turn. They let exempt notes pass: constants, seeds, pinned notes, and notes
/// that bootstrap while the chat is new. Only the budget and a block can stop those.
#[derive(Clone, Debug)]
pub struct VaultGates<'a> {
    vault: &'a Vault,
    rules: &'a VaultRules,
    exempt: FxHashSet<&'a EntryId>,
}

impl<'a> VaultGates<'a> {
    /// The gates for these notes.
    pub fn new(
        vault: &'a Vault,
        rules: &'a VaultRules,
        notes: impl IntoIterator<Item = EntryIx>,
        pins: &[NoteMark],
        is_new_chat: bool,
    ) -> Self {
        let bootstrapping = is_new_chat || rules.quirks.bootstrap_always_passes;
        let is_exempt = |ix: &EntryIx| {
            let note = vault.note(*ix);
            note.is_forced(bootstrapping)
                || note.kind.seed
                || pins.iter().any(|pin| vault.is_marked(*ix, pin))
        };
        let exempt = notes.into_iter().filter(is_exempt).map(|ix| vault.id(ix)).collect();
        Self { vault, rules, exempt }
    }

    /// Whether the gates never stop a note.
    pub fn exempts(&self, ix: EntryIx) -> bool {
        self.exempt.contains(self.vault.id(ix))
    }

    fn divide(&self, picks: Vec<Pick>, judge: impl Fn(EntryIx) -> Option<Stop>) -> Divided {
        divide(picks, |pick| if self.exempts(pick.ix) { None } else { judge(pick.ix) })
    }

    /// Keeps notes whose fields fit the context. Without anything to compare, all stay.
    pub fn by_context(
        &self,
        picks: Vec<Pick>,
        context: &Extensions,
        fields: &[FieldDefinition],
    ) -> Divided {
        let active: Vec<_> = fields.iter().filter(|field| field.gating.enabled).collect();
        let decides = |field: &&FieldDefinition| {
            let existence = field.gating.operator.is_about_existence();
            !is_empty_value(context.get(&field.context_key))
                || (existence && !self.rules.quirks.existence_needs_context)
        };
        if !active.iter().any(decides) {
            return (picks, Vec::new());
        }
        self.divide(picks, |ix| {
            let values = &self.vault.note(ix).fields;
            active.iter().find_map(|field| judge_field(field, values.get(&field.name), context))
        })
    }

    /// Keeps notes in the chosen folders and below them, and notes at the top of the vault.
    /// Without a chosen folder all stay.
    pub fn by_folder(&self, picks: Vec<Pick>, folders: &[String]) -> Divided {
        if folders.is_empty() {
            return (picks, Vec::new());
        }
        let as_written = self.rules.quirks.folders_as_written;
        let usable = |folder: &&String| !as_written || folder.trim_matches('/') == **folder;
        let usable: Vec<String> = folders.iter().filter(usable).cloned().collect();
        self.divide(picks, |ix| {
            let note = self.vault.note(ix);
            let folder = note.folder().filter(|_| !note.is_in_any(&usable))?.to_owned();
            Some(Stop::Folder { folder, chosen: folders.to_vec() })
        })
    }

    /// Stops notes that were injected less than the re-injection cooldown ago.
    pub fn by_history(&self, picks: Vec<Pick>, state: &VaultState) -> Divided {
        let cooldown = self.rules.repetition.cooldown;
        if cooldown == 0 {
            return (picks, Vec::new());
        }
        self.divide(picks, |ix| {
            let last = state.history.get(self.vault.id(ix))?;
            let ago = state.generation.saturating_sub(*last);
            (ago < u64::from(cooldown)).then_some(Stop::Reinjection { ago, cooldown })
        })
    }

    /// Stops notes that one of the last generations injected at the same place and with the
    /// same text.
    pub fn by_log(&self, picks: Vec<Pick>, log: &[Record]) -> Divided {
        let lookback = self.rules.repetition.strip_lookback as usize;
        let all = lookback == 0 && self.rules.quirks.zero_lookback_is_all;
        let first = if all { 0 } else { log.len().saturating_sub(lookback) };
        let recent: FxHashMap<&Logged, u64> = log[first..]
            .iter()
            .flat_map(|record| record.notes.iter().map(|logged| (logged, record.generation)))
            .collect();
        self.divide(picks, |ix| {
            let generation = *recent.get(&Logged::of(self.vault, ix, self.rules))?;
            Some(Stop::Stripped { generation })
        })
    }

    /// Applies requires and excludes, and sorts the notes that stay.
    ///
    /// Stopping one note may stop others, so the rules are applied until nothing changes. That
    /// always ends: each pass stops at least one note. A requirement that goes round in a circle
    /// is met as long as all of the circle is in. Of two notes that exclude each other the more
    /// important stays, because less important ones are judged first.
    pub fn by_relations(&self, picks: Vec<Pick>) -> Divided {
        let Self { vault, rules, .. } = *self;
        let mut order: Vec<usize> = (0..picks.len()).collect();
        let rank = |at: usize| vault.compiled(picks[at].ix).rank;
        let priority = |pick: &Pick| match pick.priority {
            zero if zero == 0.0 && rules.quirks.zero_priority_is_fifty => 50.0,
            priority => priority,
        };
        order.sort_by(|&a, &b| {
            by_priority(priority(&picks[b]), priority(&picks[a]), rules.order.reversed)
                .then(rank(a).cmp(&rank(b)))
        });
        let mut titles = NotesIn::of(&picks, rules);
        let mut stops: Vec<Option<Stop>> = vec![None; picks.len()];
        let mut passes = 0;
        let mut changed = true;
        while changed && rules.quirks.gate_passes.is_none_or(|most| passes < most) {
            changed = false;
            passes += 1;
            for &at in &order {
                if stops[at].is_some() || self.exempts(picks[at].ix) {
                    continue;
                }
                if let Some(stop) = titles.judge(vault, picks[at].ix) {
                    titles.drop(vault, picks[at].ix);
                    stops[at] = Some(stop);
                    changed = true;
                }
            }
        }
        let mut stops = stops.into_iter();
        let (mut kept, stopped) = divide(picks, |_| stops.next().flatten());
        sort_picks_by(vault, &mut kept, rules, priority);
        (kept, stopped)
    }
}

fn judge_field(
    field: &FieldDefinition,
    note: Option<&Value>,
    context: &Extensions,
) -> Option<Stop> {
    let there = context.get(&field.context_key);
    let gating = field.gating;
    let stop = || {
        let values = |value: Option<&Value>| match value {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(list)) => list.iter().map(text_of).collect(),
            Some(one) => vec![text_of(one)],
        };
        Stop::Context { field: field.name.clone(), note: values(note), scene: values(there) }
    };
    if !gating.operator.is_about_existence() {
        if is_empty_value(note) {
            return None;
        }
        if is_empty_value(there) {
            return (gating.tolerance == Tolerance::Strict).then(stop);
        }
    }
    let forgiven = gating.tolerance == Tolerance::Lenient
        && matches!(gating.operator, Operator::MatchAny | Operator::MatchAll);
    (!forgiven && !gating.operator.holds(note, there)).then(stop)
}

/// The notes that are in, to be asked for by name.
struct NotesIn {
    notes: FxHashSet<EntryIx>,
    is_set: bool,
}

impl NotesIn {
    fn of(picks: &[Pick], rules: &VaultRules) -> Self {
        let notes = picks.iter().map(|pick| pick.ix).collect();
        Self { notes, is_set: rules.quirks.titles_are_a_set }
    }

    fn has(&self, vault: &Vault, name: &str) -> bool {
        vault.named(name).iter().any(|ix| self.notes.contains(ix))
    }

    fn drop(&mut self, vault: &Vault, ix: EntryIx) {
        self.notes.remove(&ix);
        if self.is_set {
            for other in vault.named(&vault.note(ix).title) {
                self.notes.remove(other);
            }
        }
    }

    /// A name that no note has is never in, so a note that requires it goes.
    fn judge(&self, vault: &Vault, ix: EntryIx) -> Option<Stop> {
        let relations = &vault.note(ix).relations;
        let these = |titles: &[String], present: bool| -> Vec<String> {
            titles.iter().filter(|title| self.has(vault, title) == present).cloned().collect()
        };
        let missing = these(&relations.requires, false);
        if !missing.is_empty() {
            return Some(Stop::Requires { missing });
        }
        let present = these(&relations.excludes, true);
        (!present.is_empty()).then_some(Stop::Excludes { present })
    }
}
