//! Cases about note files and single functions over text.

use loreloom_core::{book::SelectiveLogic, dialects::vault::Note, notebook::NoteCutter};
use loreloom_formats::vault::{
    Constraint, Headings, NoteFile, NoteWarning, YamlReader, clamp, file_name, links, read_fields,
    read_note, split, title, without_closed_blocks,
};
use serde_json::{Map, Value, json};

use super::input::{is_2_5, note_rules, position_number, role_number, text, texts};

pub(super) fn parse(input: &Value) -> Value {
    let (path, content) = (text(&input["filename"]), text(&input["content"]));
    let read = read_note(NoteFile { vault: "", path: &path, text: &content }, &note_rules(input));
    match read.note {
        Err(skip) => json!({ "entry": null, "skip": skip.code() }),
        Ok(note) => {
            let warning =
                |one: &NoteWarning| json!({ "code": one.code.code(), "field": one.field });
            let warnings: Vec<Value> = read.warnings.iter().map(warning).collect();
            json!({ "entry": entry(&note, is_2_5(input)), "warnings": warnings })
        }
    }
}

fn entry(note: &Note, with_logic: bool) -> Value {
    let mut entry = json!({
        "filename": note.path,
        "title": note.title,
        "keys": note.keys,
        "content": note.content,
        "summary": note.summary,
        "priority": note.priority,
        "constant": note.kind.constant,
        "seed": note.kind.seed,
        "bootstrap": note.kind.bootstrap,
        "guide": note.kind.guide,
        "scanDepth": note.scan_depth,
        "excludeRecursion": note.exclude_recursion,
        "links": note.relations.links,
        "resolvedLinks": note.relations.resolved_links,
        "tags": note.tags,
        "requires": note.relations.requires,
        "excludes": note.relations.excludes,
        "refineKeys": note.refine.keys,
        "cascadeLinks": note.relations.cascade,
        "outlet": note.seat.outlet,
        "injectionPosition": note.seat.position.map(position_number),
        "injectionDepth": note.seat.depth,
        "injectionRole": note.seat.role.map(role_number),
        "cooldown": note.cooldown,
        "warmup": note.warmup,
        "probability": note.probability,
        "folderPath": note.folder(),
        "vaultSource": note.vault,
        "customFields": note.fields,
        "graph": note.graph,
    });
    if with_logic {
        entry["selectiveLogic"] = Value::from(match note.refine.logic {
            SelectiveLogic::AndAny | SelectiveLogic::Unknown => "and_any",
            SelectiveLogic::AndAll => "and_all",
            SelectiveLogic::NotAll => "not_all",
            SelectiveLogic::NotAny => "not_any",
        });
    }
    entry
}

pub(super) fn frontmatter(input: &Value) -> Value {
    let content = text(&input["content"]);
    let read = split(&content, YamlReader::Mini);
    json!({ "frontmatter": read.fields, "body": read.body })
}

pub(super) fn clean(input: &Value) -> Value {
    let body = text(&input["body"]);
    let path = input["filename"].as_str().unwrap_or("Untitled");
    let headings = Headings::AcrossLines;
    json!({
        "title": title(&body, path, headings),
        "links": links(&body, headings),
        "content": loreloom_formats::vault::clean(&body, headings),
    })
}

pub(super) fn fields(input: &Value) -> Value {
    let file = read_fields(&text(&input["yaml"]), YamlReader::Mini);
    let definitions: Vec<Value> = file
        .fields
        .iter()
        .map(|field| {
            json!({
                "name": field.name,
                "label": field.label,
                "type": field.kind,
                "multi": field.multi,
                "gating": {
                    "enabled": field.gating.enabled,
                    "operator": field.gating.operator,
                    "tolerance": field.gating.tolerance,
                },
                "values": field.values,
                "contextKey": field.context_key,
            })
        })
        .collect();
    json!({ "definitions": definitions, "errors": file.bad.len() })
}

/// The peer deletes every macro; no case asks for one that is part of a story.
pub(super) fn safe(input: &Value) -> Value {
    json!({
        "filename": file_name(&text(&input["title"])),
        "content": without_closed_blocks(&text(&input["text"]), &["user", "char"]),
    })
}

/// DeepLore leaves a reply alone whose notes are all blank. A reply that streams cannot wait
/// for that, so here blank notes are cut out too.
pub(super) fn notepad(input: &Value) -> Value {
    let reply = text(&input["text"]);
    let mut cutter = NoteCutter::new("dle-notes");
    let shown = cutter.push(&reply) + &cutter.finish();
    let notes: Vec<&str> = cutter.notes().collect();
    if notes.is_empty() {
        return json!({ "notes": null, "cleanedMessage": reply });
    }
    json!({ "notes": notes.join("\n"), "cleanedMessage": shown })
}

pub(super) fn settings(input: &Value) -> Value {
    let mut settings = input["settings"].as_object().cloned().unwrap_or_default();
    let none = Map::new();
    let constraint = |(name, one): (&String, &Value)| {
        let range = || Some((one["min"].as_f64()?, one["max"].as_f64()?));
        let constraint = match range() {
            Some((min, max)) => Constraint::Range { min, max },
            None => Constraint::Words(texts(&one["enum"])),
        };
        (name.clone(), constraint)
    };
    let constraints: Vec<(String, Constraint)> =
        input["constraints"].as_object().unwrap_or(&none).iter().map(constraint).collect();
    clamp(&mut settings, &constraints, input["defaults"].as_object().unwrap_or(&none));
    Value::Object(settings)
}
