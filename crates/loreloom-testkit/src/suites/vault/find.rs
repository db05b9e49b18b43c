//! Cases about what the chat brings in.

use loreloom_core::{
    bm25::words,
    dialects::vault::{
        Lines, Matches, Note, NoteKind, Pick, Refine, Search, SpeakerNames, Vault, VaultCache,
        VaultRules, VaultState, VaultTurn, find,
    },
    report::{Reason, Stop},
    turn::VaultContext,
};
use serde_json::{Map, Value, json};

use super::input::{Rolls, all_notes, lines, note, notes, rules, text, titles};

pub(super) fn scan_text(input: &Value) -> Value {
    let lines = lines(&input["chat"]);
    let depth = u32::try_from(input["depth"].as_i64().unwrap_or_default()).unwrap_or_default();
    json!({ "scan": lines.text(depth, true), "ai": lines.with_roles(depth, true, SpeakerNames::default()).join("\n") })
}

pub(super) fn count(input: &Value) -> Value {
    let mut rules = rules(input);
    (rules.keys.depth, rules.order.by_occurrences) = (1, true);
    let note = note(&input["entry"]);
    let text = text(&input["text"]);
    let (primary, count) =
        by_keys(&Note { refine: Refine::default(), ..note.clone() }, &text, &rules);
    let (key, _) = by_keys(&note, &text, &rules);
    json!({ "key": key, "primary": primary, "count": count })
}

/// The key that lets a note in if nothing but its keys decides, and how often they occur.
fn by_keys(note: &Note, text: &str, rules: &VaultRules) -> (Option<String>, u32) {
    let kind = NoteKind { guide: note.kind.guide, ..NoteKind::default() };
    let bare = Note::new(&note.vault, &note.path, &note.title);
    let (keys, refine) = (note.keys.clone(), note.refine.clone());
    let vault = Vault::compile([Note { keys, refine, kind, ..bare }], rules);
    let mut lines = Lines::default();
    lines.push("", text, true, true);
    let (state, context) = (VaultState::default(), VaultContext::default());
    let turn = VaultTurn::new(&vault, rules, &state, &lines, &context);
    let matches = find(turn, &mut Rolls::of(&Value::Null), &mut VaultCache::default());
    let Some(pick) = matches.picks.first() else { return (None, 0) };
    (pick.key_text(&vault).map(str::to_owned), pick.occurrences)
}

pub(super) fn matching(input: &Value) -> Value {
    let rules = rules(input);
    let vault = Vault::compile(all_notes(input), &rules);
    let mut state = VaultState::default();
    for (id, left) in input["cooldowns"].as_object().into_iter().flatten() {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "part of a generation is one; the cast saturates"
        )]
        let left = left.as_f64().unwrap_or_default().ceil() as u32;
        state.cooldown.insert(id.as_str().into(), left);
    }
    let lines = lines(&input["chat"]);
    let (mut dice, mut cache) = (Rolls::of(input), VaultCache::default());
    let context = VaultContext::default();
    let turn = VaultTurn::new(&vault, &rules, &state, &lines, &context);
    let turn = VaultTurn { character: input["character"].as_str(), ..turn };
    let matches = find(turn, &mut dice, &mut cache);
    let mut out = stopped(&vault, &matches);
    out["matched"] = titles(&vault, matches.picks.iter().map(|pick| pick.ix)).into();
    out["matchedBy"] = Value::Object(matched_by(&vault, &matches.picks));
    let search = vault.search().filter(|_| rules.keys.depth > 0);
    let said = lines.text(rules.keys.depth, rules.quirks.hidden_use_depth);
    let candidates =
        |search: &Search| search.query(&said, rules.fuzzy.most, rules.fuzzy.min_score).len();
    let by_topic = |pick: &&Pick| matches!(pick.reason, Reason::Fuzzy { .. });
    out["fuzzyStats"] = json!({
        "active": search.is_some(),
        "candidates": search.map_or(0, candidates),
        "matched": matches.picks.iter().filter(by_topic).count(),
        "threshold": rules.fuzzy.min_score,
    });
    out
}

/// Why notes are out, as the peer lists it.
fn stopped(vault: &Vault, matches: &Matches) -> Value {
    let (mut chance, mut warmup, mut refine) = (Vec::new(), Vec::new(), Vec::new());
    // The engine uses per cent, the cases use shares.
    let share = |percent: f64| (percent * 1e10).round() / 1e12;
    for one in &matches.stopped {
        let note = vault.note(one.ix);
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "the peer lists only these three of our reasons"
        )]
        match &one.stop {
            Stop::Chance { roll, probability } => chance.push(json!({
                "title": note.title, "probability": share(*probability), "roll": share(*roll),
            })),
            Stop::Warmup { needed, found } => warmup.push(json!({
                "title": note.title, "needed": needed, "found": found,
            })),
            Stop::Secondary { key, .. } => refine.push(json!({
                "title": note.title, "primaryKey": key, "refineKeys": note.refine.keys,
            })),
            _ => {}
        }
    }
    json!({ "probabilitySkipped": chance, "warmupFailed": warmup, "refineKeyBlocked": refine })
}

/// Why each note matched, in the peer's words. Of notes with the same title, the last one counts.
pub(super) fn matched_by(vault: &Vault, picks: &[Pick]) -> Map<String, Value> {
    let title = |pick: &Pick| vault.note(pick.ix).title.clone();
    let mut found: Vec<&Pick> = picks.iter().collect();
    found.sort_by(|a, b| {
        let (one, other) = (score(a), score(b));
        stage(a).cmp(&stage(b)).then(other.total_cmp(&one)).then(a.ix.cmp(&b.ix))
    });
    found.into_iter().map(|pick| (title(pick), Value::from(label(vault, pick)))).collect()
}

/// The order in which the steps of matching add notes.
fn stage(pick: &Pick) -> u32 {
    #[expect(clippy::wildcard_enum_match_arm, reason = "keys, and what only later stages bring in")]
    match &pick.reason {
        Reason::Constant => 0,
        Reason::Bootstrap => 1,
        Reason::ActiveCharacter => 3,
        Reason::Cascade { .. } => 4,
        Reason::Fuzzy { .. } => u32::MAX,
        _ if pick.step > 0 => 4 + pick.step,
        _ => 2,
    }
}

/// The best score comes in first.
fn score(pick: &Pick) -> f64 {
    if let Reason::Fuzzy { score } = pick.reason { score } else { 0.0 }
}

fn label(vault: &Vault, pick: &Pick) -> String {
    let key = pick.key_text(vault).unwrap_or_default();
    match &pick.reason {
        Reason::Constant => "(constant)".to_owned(),
        Reason::Bootstrap => "(bootstrap)".to_owned(),
        Reason::ActiveCharacter => "(active character)".to_owned(),
        Reason::Pinned => "(pinned)".to_owned(),
        Reason::Cascade { from } => {
            let title = vault.find(from).map_or("", |ix| &vault.note(ix).title);
            format!("(cascade from: {title})")
        }
        Reason::Linked { from } => format!("(wiki-linked from: {from})"),
        Reason::Fuzzy { score } => format!("(fuzzy, score: {score:.1})"),
        Reason::Key if pick.step > 0 => format!("{key} (recursion step {})", pick.step),
        Reason::Key
        | Reason::Sticky { .. }
        | Reason::Decorator
        | Reason::Forced
        | Reason::Kept { .. }
        | Reason::Semantic { .. }
        | Reason::Selected { .. }
        | Reason::Fallback { .. } => key.to_owned(),
    }
}

pub(super) fn bm25(input: &Value) -> Value {
    let mut rules = rules(input);
    rules.fuzzy.enabled = true;
    let vault = Vault::compile(notes(&input["entries"]), &rules);
    let query = text(&input["query"]);
    let most = usize::try_from(input["topK"].as_u64().unwrap_or(20)).unwrap_or(20);
    let min_score = input["minScore"].as_f64().unwrap_or(0.5);
    let found = vault.search().map(|search| search.query(&query, most, min_score));
    let round = |score: f64| (score * 1e6).round() / 1e6;
    let results: Vec<Value> = found
        .into_iter()
        .flatten()
        .map(|one| json!({ "title": vault.note(one.ix).title, "score": round(one.score) }))
        .collect();
    let mean = vault.search().map(Search::mean_length);
    json!({ "tokens": words(&query), "avgDl": mean, "results": results })
}
