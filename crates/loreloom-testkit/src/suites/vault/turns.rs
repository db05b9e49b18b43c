//! Cases over several generations.

use std::collections::BTreeMap;

use loreloom_core::{
    dialects::vault::{
        FittedNote, Note, Stopped, Vault, VaultCache, VaultReport, VaultRules, VaultState,
        VaultTools, VaultTurn, find,
    },
    ids::EntryId,
    turn::VaultContext,
};
use serde_json::{Map, Value, json};

use super::{
    find::matched_by,
    input::{Quarters, Rolls, fields, lines, marks, notes, read_notes, rules, texts, titles},
    stages::groups,
};

pub(super) fn trackers(input: &Value) -> Value {
    let rules = rules(input);
    let notes = notes(&input["entries"]);
    let mut state = VaultState {
        generation: input["startGeneration"].as_u64().unwrap_or_default(),
        ..VaultState::default()
    };
    let mut steps = Vec::new();
    for titles in input["generations"].as_array().into_iter().flatten() {
        let titles = texts(titles);
        let injected: Vec<(EntryId, Option<f64>)> = titles
            .iter()
            .filter_map(|title| notes.iter().find(|note| note.title == *title))
            .map(|note| (note.id(), note.cooldown))
            .collect();
        state = state.counted(&injected, &rules);
        steps.push(json!({
            "generation": state.generation,
            "cooldown": pauses(&state, &notes),
            "decay": counters(&state.staleness),
            "history": counters(&state.history),
            "streak": counters(&state.streak),
        }));
    }
    json!({ "steps": steps })
}

fn counters<V: Copy + Into<u64>>(map: &BTreeMap<EntryId, V>) -> Map<String, Value> {
    map.iter().map(|(id, count)| (id.to_string(), Value::from((*count).into()))).collect()
}

/// How long notes pause. The engine counts whole generations; the peer keeps the fraction of a
/// cooldown, which makes the pause no longer.
fn pauses(state: &VaultState, notes: &[Note]) -> Map<String, Value> {
    let shown = |(id, left): (&EntryId, &u32)| {
        let note = notes.iter().find(|note| note.id() == *id);
        let cooldown = note.and_then(|note| note.cooldown);
        let rest = cooldown.map_or(0.0, |cooldown| cooldown.ceil() - cooldown);
        // The peer's ids are titles.
        let name = note.map(|note| format!("{}:{}", note.vault, note.title));
        (name.unwrap_or_else(|| id.to_string()), Value::from(f64::from(*left) - rest))
    };
    state.cooldown.iter().map(shown).collect()
}

pub(super) fn pipeline(input: &Value) -> Value {
    let rules = rules(input);
    let (mut notes, mut skipped) = (Vec::new(), Vec::new());
    for (path, read) in read_notes(input) {
        match read.note {
            Ok(note) => notes.push(*note),
            Err(skip) => skipped.push(json!({ "filename": path, "reason": skip.code() })),
        }
    }
    let vault = Vault::compile(notes, &rules);
    let fields = fields(input);
    let (mut dice, mut cache) = (Rolls::of(input), VaultCache::default());
    let mut state = VaultState::default();
    let mut generations = Vec::new();
    for generation in input["generations"].as_array().into_iter().flatten() {
        if generation.get("rng").is_some() {
            dice = Rolls::of(generation);
        }
        let lines = lines(&generation["chat"]);
        let context = VaultContext {
            context: generation["context"].as_object().cloned().unwrap_or_default(),
            folders: texts(&generation["folders"]),
            pins: marks(&generation["pins"]),
            blocks: marks(&generation["blocks"]),
        };
        let turn = VaultTurn {
            fields: &fields,
            character: generation["character"].as_str().or(input["character"].as_str()),
            ..VaultTurn::new(&vault, &rules, &state, &lines, &context)
        };
        let matches = find(turn, &mut dice, &mut cache);
        let picks = (matches.picks.clone(), Vec::new());
        let mut tools =
            VaultTools { counter: &Quarters, dice: &mut dice, cache: &mut cache, rendering: None };
        let report = turn.decide(matches, picks, &mut tools);
        generations.push(trace(&vault, &report, &rules));
        state = report.state;
    }
    json!({ "skipped": skipped, "generations": generations })
}

/// What a generation decided, as the cases write it.
fn trace(vault: &Vault, report: &VaultReport, rules: &VaultRules) -> Value {
    let picks = |picks: &[loreloom_core::dialects::vault::Pick]| {
        titles(vault, picks.iter().map(|pick| pick.ix))
    };
    let stopped = |list: &[Stopped]| titles(vault, list.iter().map(|one| one.ix));
    let injected = |note: &FittedNote| {
        json!({
            "title": vault.note(note.ix).title,
            "tokens": note.tokens,
            "truncated": note.shortened_from.is_some(),
        })
    };
    let notes: Vec<Note> = vault.entries().map(|ix| vault.note(ix).clone()).collect();
    let mut out = json!({
        "matched": picks(&report.matches.picks),
        "matchedBy": matched_by(vault, &report.matches.picks),
        "afterContext": picks(&report.in_scene),
        "afterReinject": picks(&report.rested),
        "gatedOut": stopped(&report.gated),
        "budgetCut": stopped(&report.fitted.stopped),
        "injected": report.fitted.notes.iter().map(injected).collect::<Vec<_>>(),
        "totalTokens": report.fitted.tokens(),
        "groups": groups(&report.fitted),
        "cooldowns": pauses(&report.state, &notes),
    });
    if rules.repetition.strip {
        out["stripped"] = stopped(&report.stripped).into();
    }
    out
}
