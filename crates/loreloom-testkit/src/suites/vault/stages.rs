//! Cases about single stages.

use loreloom_core::{
    chat::Role,
    dialects::vault::{
        Divided, Fitted, Logged, Operator, Pick, Record, Seat, Vault, VaultCache, VaultGates,
        VaultRules, VaultState, VaultTools, apply_marks, fit, hash_of,
    },
    shorten::shorten,
    units::Depth,
};
use loreloom_formats::vault::{position_of, role_of};
use serde_json::{Map, Value, json};

use super::input::{
    Estimates, Rolls, fields, marks, notes, picks, position_number, role_number, rules, text,
    texts, titles,
};

struct Stage {
    vault: Vault,
    picks: Vec<Pick>,
}

impl Stage {
    /// The vault of a case is its `vault`, else its entries.
    fn of(input: &Value) -> Self {
        let mut all = notes(input.get("vault").unwrap_or(&input["entries"]));
        if input.get("vault").is_some() {
            let more = notes(&input["entries"]);
            all.extend(
                more.into_iter().filter(|one| {
                    !notes(&input["vault"]).iter().any(|known| known.id() == one.id())
                }),
            );
        }
        let vault = Vault::compile(all, &rules(input));
        let picks = picks(&vault, &input["entries"]);
        Self { vault, picks }
    }

    fn gates<'a>(&'a self, input: &Value, rules: &'a VaultRules) -> VaultGates<'a> {
        let is_new_chat = input["bootstrapActive"] != Value::Bool(false);
        let pins = marks(&input["pins"]);
        VaultGates::new(&self.vault, rules, self.vault.entries(), &pins, is_new_chat)
    }

    fn kept(&self, (kept, stopped): Divided) -> Value {
        json!({
            "kept": titles(&self.vault, kept.iter().map(|pick| pick.ix)),
            "removed": titles(&self.vault, stopped.iter().map(|one| one.ix)),
        })
    }
}

pub(super) fn pins(input: &Value) -> Value {
    let stage = Stage::of(input);
    let vault = &stage.vault;
    let (pins, blocks) = (marks(&input["pins"]), marks(&input["blocks"]));
    let (pinned, _) = apply_marks(vault, stage.picks.clone(), &pins, &[]);
    let mut matched_by = input["matchedBy"].as_object().cloned().unwrap_or_default();
    let is_new = |pick: &&Pick| pick.reason == loreloom_core::report::Reason::Pinned;
    for pick in pinned.iter().filter(is_new) {
        matched_by.insert(vault.note(pick.ix).title.clone(), Value::from("(pinned)"));
    }
    let rules = rules(input);
    let gates = stage.gates(input, &rules);
    let exempt = vault.entries().filter(|ix| gates.exempts(*ix));
    let exempt: Vec<&str> = exempt.map(|ix| vault.id(ix).as_str()).collect();
    let (result, _) = apply_marks(vault, stage.picks.clone(), &pins, &blocks);
    let shown = |pick: &Pick| {
        json!({
            "title": vault.note(pick.ix).title,
            "vault": vault.note(pick.ix).vault,
            "constant": pick.is_constant(vault),
            "priority": pick.priority,
        })
    };
    let result: Vec<Value> = result.iter().map(shown).collect();
    json!({ "result": result, "matchedBy": matched_by, "exempt": exempt })
}

pub(super) fn context(input: &Value) -> Value {
    let stage = Stage::of(input);
    let scene = input["context"].as_object().cloned().unwrap_or_default();
    let rules = rules(input);
    let gates = stage.gates(input, &rules);
    stage.kept(gates.by_context(stage.picks.clone(), &scene, &fields(input)))
}

pub(super) fn operators(input: &Value) -> Value {
    let holds = |case: &Value| {
        let operator = serde_json::from_value::<Operator>(case["op"].clone());
        operator.map_or(true, |operator| operator.holds(case.get("entry"), case.get("active")))
    };
    let cases = input["cases"].as_array().into_iter().flatten();
    json!({ "results": cases.map(holds).collect::<Vec<bool>>() })
}

pub(super) fn folders(input: &Value) -> Value {
    let stage = Stage::of(input);
    let rules = rules(input);
    let gates = stage.gates(input, &rules);
    let (kept, _) = gates.by_folder(stage.picks.clone(), &texts(&input["folders"]));
    json!({ "kept": titles(&stage.vault, kept.iter().map(|pick| pick.ix)) })
}

pub(super) fn reinjection(input: &Value) -> Value {
    let stage = Stage::of(input);
    let mut rules = rules(input);
    rules.repetition.cooldown =
        u32::try_from(input["cooldown"].as_u64().unwrap_or_default()).unwrap_or(u32::MAX);
    let mut state = VaultState {
        generation: input["generation"].as_u64().unwrap_or_default(),
        ..VaultState::default()
    };
    for (id, generation) in input["history"].as_object().into_iter().flatten() {
        state.history.insert(id.as_str().into(), generation.as_u64().unwrap_or_default());
    }
    let gates = stage.gates(input, &rules);
    let (kept, _) = gates.by_history(stage.picks.clone(), &state);
    json!({ "kept": titles(&stage.vault, kept.iter().map(|pick| pick.ix)) })
}

pub(super) fn relations(input: &Value) -> Value {
    let stage = Stage::of(input);
    let rules = rules(input);
    stage.kept(stage.gates(input, &rules).by_relations(stage.picks.clone()))
}

pub(super) fn strip(input: &Value) -> Value {
    let stage = Stage::of(input);
    let mut rules = rules(input);
    let lookback = input["lookback"].as_u64().unwrap_or(2);
    rules.repetition.strip_lookback = u32::try_from(lookback).unwrap_or(u32::MAX);
    let logged = |one: &Value| {
        let number = |key: &str| one[key].as_f64().unwrap_or_default();
        let vault = text(&one["vaultSource"]);
        Logged {
            vault: if rules.quirks.log_ignores_vault { String::new() } else { vault },
            title: text(&one["title"]),
            position: position_of(number("pos")).unwrap_or_default(),
            depth: loreloom_core::dialects::vault::depth_of(number("depth")),
            role: role_of(number("role")).unwrap_or_default(),
            hash: hash_of(&text(&one["contentHash"])),
        }
    };
    let record = |one: &Value| Record {
        generation: one["gen"].as_u64().unwrap_or_default(),
        notes: one["entries"].as_array().into_iter().flatten().map(logged).collect(),
    };
    let log: Vec<Record> = input["log"].as_array().into_iter().flatten().map(record).collect();
    let (kept, _) = stage.gates(input, &rules).by_log(stage.picks.clone(), &log);
    let hashes: Map<String, Value> = input["entries"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|entry| (text(&entry["title"]), entry["contentHash"].clone()))
        .collect();
    json!({ "kept": titles(&stage.vault, kept.iter().map(|pick| pick.ix)), "hashes": hashes })
}

pub(super) fn format(input: &Value) -> Value {
    let stage = Stage::of(input);
    let counter = Estimates::of(&input["entries"]);
    let (mut dice, mut cache) = (Rolls::of(input), VaultCache::default());
    let mut tools =
        VaultTools { counter: &counter, dice: &mut dice, cache: &mut cache, rendering: None };
    let fitted = fit(&stage.vault, &stage.picks, &rules(input), &mut tools);
    let accepted: Vec<Value> = fitted
        .notes
        .iter()
        .map(|note| {
            json!({
                "title": stage.vault.note(note.ix).title,
                "tokens": note.tokens,
                "truncated": note.shortened_from.is_some(),
                "originalTokens": note.shortened_from.unwrap_or(note.tokens),
            })
        })
        .collect();
    json!({
        "groups": groups(&fitted),
        "count": fitted.notes.len(),
        "totalTokens": fitted.tokens(),
        "accepted": accepted,
    })
}

/// The texts by place, in the order in which the places first come up, with the peer's numbers.
/// An outlet takes the first role that one of its notes names.
pub(super) fn groups(fitted: &Fitted) -> Vec<Value> {
    let joins = |one: &Seat, other: &Seat| match (one, other) {
        (Seat::Outlet { name, .. }, Seat::Outlet { name: other, .. }) => name == other,
        _ => one == other,
    };
    let mut groups: Vec<(&Seat, Option<Role>, String)> = Vec::new();
    for note in &fitted.notes {
        let role = note.seat.role();
        match groups.iter_mut().find(|(seat, ..)| joins(seat, &note.seat)) {
            Some((_, known, text)) => {
                text.push_str("\n\n");
                text.push_str(&note.text);
                *known = known.or(role);
            }
            None => groups.push((&note.seat, role, note.text.clone())),
        }
    }
    let shown = |(seat, role, text): (&Seat, Option<Role>, String)| {
        let (position, depth) = match seat {
            Seat::At { position, depth, .. } => (position_number(*position), *depth),
            Seat::Slot(_) => (0, Depth(0)),
            Seat::Outlet { .. } => (-1, Depth(0)),
        };
        let role = role_number(role.unwrap_or_default());
        json!({ "text": text, "position": position, "depth": depth, "role": role })
    };
    groups.into_iter().map(shown).collect()
}

pub(super) fn truncate(input: &Value) -> Value {
    let most = usize::try_from(input["maxLen"].as_u64().unwrap_or_default()).unwrap_or(usize::MAX);
    json!({ "text": shorten(&text(&input["text"]), most) })
}
