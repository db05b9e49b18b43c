//! Our own cases: whole turns under settings as people write them, with verdicts.

use std::sync::Arc;

use loreloom_core::{
    chat::{Message, Role},
    dialects::vault::{
        ManifestStyle, ManifestWords, Note, NoteChoice, SummaryMode, inspect_use, manifest,
    },
    explain,
    library::LibrarySource,
    place::{Injection, Provenance},
    report::{VaultMode, words},
    rules::Rules,
    story::{Engine, Story, WovenTurn},
    turn::{Selection, Speaker, VaultContext},
};
use loreloom_formats::vault::{NoteFile, read_note};
use loreloom_settings::{Changes, Settings, StartSettings};
use serde_json::{Map, Value, json};

use super::input::{Quarters, marks, texts};

/// Runs a story: notes, settings and turns in; what is sent and why out. A turn shows only what
/// its expectation names: `sent`, `texts`, `codes`, `words`, `warnings`, `mode`,
/// `selection`, `fix`, `stale`.
pub(super) fn story(input: &Value, expected: &Value) -> Result<Value, String> {
    let settings = settings(&input["settings"])?;
    let rules = rules(input, &settings)?;
    let files = input["notes"].as_object().ok_or("`notes` is an object of files")?;
    let read = files.iter().filter_map(|(path, content)| {
        let file = NoteFile { vault: "", path, text: content.as_str().unwrap_or_default() };
        read_note(file, &settings.vault.reading).note.ok()
    });
    let notes: Vec<_> = read.map(|note| Arc::new(*note)).collect();
    let all: Vec<_> = notes.iter().map(|note| note.as_ref().clone()).collect();
    let lint = inspect_use(&all, &rules.vault);
    let engine =
        Engine::from_source(&LibrarySource { volumes: Vec::new(), notes, rules: rules.clone() });
    let engine = engine.with_counter(Quarters);
    let mut story = engine.story("own");
    "Mira".clone_into(&mut story.input.user);
    let mut turns = Vec::new();
    for (turn, wanted) in list(&input["turns"]).zip(list(&expected["turns"])) {
        say(&mut story, turn);
        let woven = story.weave();
        let mut shown = shown(&woven, &story, wanted);
        if wanted.get("stale").is_some() {
            shown["stale"] = stale_titles(&all, &story, &rules);
        }
        turns.push(shown);
    }
    let mut out = json!({ "turns": turns });
    if expected.get("lint").is_some() {
        let kinds = lint.iter().map(|issue| {
            let code = serde_json::to_value(&issue.kind).unwrap_or_default()["code"].clone();
            json!([issue.title, code])
        });
        out["lint"] = kinds.collect();
    }
    Ok(out)
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// Settings by the names of the table of settings.
fn settings(pairs: &Value) -> Result<Settings, String> {
    let mut changes = Changes::default();
    for (name, value) in pairs.as_object().into_iter().flatten() {
        changes.set(name, value.clone()).map_err(|error| error.to_string())?;
    }
    let started = StartSettings::resolve(changes, Changes::default());
    Ok(started.map_err(|error| error.to_string())?.settings)
}

fn rules(input: &Value, settings: &Settings) -> Result<Rules, String> {
    let mut rules = settings.rules();
    if let Some(scripts) = input.get("scripts") {
        rules.regex_scripts =
            serde_json::from_value(scripts.clone()).map_err(|error| error.to_string())?;
    }
    Ok(rules)
}

/// What a turn brings: messages, the scene, who speaks, the answer of a selecting model.
fn say(story: &mut Story<'_>, turn: &Value) {
    for (at, said) in list(&turn["chat"]).enumerate() {
        let role = if at % 2 == 0 { Role::User } else { Role::Assistant };
        story.say(Message::new(role, None, said.as_str().unwrap_or_default()));
    }
    story.input.speaker = turn["character"].as_str().map(Speaker::named);
    story.input.vault_context = Some(VaultContext {
        context: turn["scene"].as_object().cloned().unwrap_or_default(),
        folders: texts(&turn["folders"]),
        pins: marks(&turn["pins"]),
        blocks: marks(&turn["blocks"]),
    });
    story.input.selection = match &turn["model"] {
        Value::Null => None,
        Value::String(reason) => Some(Selection::Failed { reason: reason.clone() }),
        choices @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            let choices: Vec<NoteChoice> =
                serde_json::from_value(choices.clone()).unwrap_or_default();
            Some(Selection::Chosen(choices))
        }
    };
}

fn shown(woven: &WovenTurn, story: &Story<'_>, wanted: &Value) -> Value {
    let mut out = Map::new();
    let reasons = || woven.reasons();
    for key in wanted.as_object().into_iter().flat_map(Map::keys) {
        let named = &wanted[key];
        let only = |of: &dyn Fn(&str) -> Value| -> Value {
            let names = named.as_object().into_iter().flat_map(Map::keys);
            names.map(|title| (title.clone(), of(title))).collect::<Map<_, _>>().into()
        };
        let verdict = |title: &str| reasons().find(|(verdict, _)| verdict.title == title);
        let value = match key.as_str() {
            "sent" => sent_titles(woven),
            "texts" => woven.injections().iter().map(|one| Value::from(one.text.clone())).collect(),
            "codes" => only(&|title| verdict(title).map(|(verdict, _)| verdict.code()).into()),
            "words" => only(&|title| verdict(title).map(|(_, words)| words).into()),
            "warnings" => {
                let warnings = woven.decision().report.warnings.iter().map(words::warning);
                warnings.map(Value::from).collect()
            }
            "mode" => woven.decision().report.vault_mode.map(VaultMode::as_str).into(),
            "selection" => woven.decision().report.selection.as_ref().map(words::selection).into(),
            "fix" => only(&|title| {
                let fix = verdict(title).and_then(|(verdict, _)| story.explain(&verdict.entry));
                let changes = fix.iter().flat_map(|fix| &fix.changes).map(explain::words);
                changes.collect::<Vec<_>>().join("; ").into()
            }),
            _ => Value::Null,
        };
        out.insert(key.clone(), value);
    }
    out.into()
}

/// The titles of the notes that a selecting model is told are stale.
fn stale_titles(notes: &[Note], story: &Story<'_>, rules: &Rules) -> Value {
    let state = story.state().vault;
    let words = ManifestWords::default();
    let style = ManifestStyle {
        mode: SummaryMode::PreferSummary,
        longest: 100,
        fields: &[],
        words: &words,
        show_carried: false,
        count_left_out_as_forced: false,
    };
    let is_stale = |note: &&Note| {
        let shown = manifest([*note], false, &state, &rules.vault.rules, style);
        shown.text.contains(&words.stale)
    };
    notes.iter().filter(is_stale).map(|note| Value::from(note.title.clone())).collect()
}

/// The titles of the notes that are sent, in prompt order.
fn sent_titles(woven: &WovenTurn) -> Value {
    let title = |one: &Injection| match &one.source {
        Provenance::Lore { entry, .. } => {
            let mut verdicts = woven.decision().report.verdicts.iter();
            let verdict = verdicts.find(|verdict| verdict.entry == *entry);
            verdict.map_or_else(|| entry.to_string(), |verdict| verdict.title.clone())
        }
        other @ (Provenance::AuthorsNote | Provenance::Memory(_)) => format!("{other:?}"),
    };
    woven.injections().iter().map(|one| Value::from(title(one))).collect()
}
