//! Characters of Backyard: archives (`.byaf`) with a manifest, the character and its scenarios, and
//! pictures with all of it in one object.
//!
//! The first scenario gives scenario, greeting and instructions; each other scenario gives one
//! more greeting.

use serde_json::{Map, Value, json};

use crate::{
    archive::{self, Archive},
    byaf::{IN_PICTURE, from_macros, to_macros},
    card::{self, Card},
    error::FormatError,
    export::Loss,
    limits::Limits,
    note::Notes,
    text,
};

const MANIFEST: &str = "manifest.json";
/// The scenario of an archive that has none.
const SCENARIO: &str = "scenarios/scenario1.json";

/// The parts of an archive that say who the character is.
struct Backyard {
    manifest: Value,
    character: (String, Value),
    scenarios: Vec<(String, Value)>,
}

impl Backyard {
    fn read(archive: &mut Archive<'_>, notes: &mut Notes) -> Result<Self, FormatError> {
        let manifest = object(archive, MANIFEST, notes)?;
        let names = |list: &str| -> Vec<String> {
            let names = manifest.get(list).and_then(Value::as_array);
            let texts = names.into_iter().flatten().filter_map(Value::as_str);
            texts.map(str::to_owned).collect()
        };
        let first = names("characters").into_iter().next();
        let first = first.ok_or_else(|| FormatError::Unknown {
            looked_for: "`characters` in `manifest.json`",
            found: "none".to_owned(),
        })?;
        let character = object(archive, &first, notes)?;
        let mut scenarios = Vec::new();
        for name in names("scenarios") {
            match object(archive, &name, notes) {
                Ok(scenario) => scenarios.push((name, scenario)),
                Err(fault) => notes.warn(&name, format!("{fault}: not read")),
            }
        }
        Ok(Self { manifest, character: (first, character), scenarios })
    }

    fn card(&self) -> Card {
        let (_, character) = &self.character;
        let name = ["displayName", "name"].iter().find_map(|field| said(character, field));
        let mut card = card::named(name.as_deref().unwrap_or_default());
        card.description = macros(character, "persona");
        card.creator = self.manifest.pointer("/author/name").map(plain).unwrap_or_default();
        let mut scenarios = self.scenarios.iter().map(|(_, scenario)| scenario);
        if let Some(first) = scenarios.next() {
            card.scenario = macros(first, "narrative");
            card.system_prompt = macros(first, "formattingInstructions");
            card.first_mes = greeting(first);
            card.mes_example = examples(first);
        }
        card.alternate_greetings = scenarios.map(greeting).collect();
        card
    }
}

/// Reads the character of an archive.
pub(super) fn read(bytes: &[u8], limits: &Limits, notes: &mut Notes) -> Result<Card, FormatError> {
    let mut archive = Archive::open(bytes, limits, notes)?;
    Ok(Backyard::read(&mut archive, notes)?.card())
}

/// Reads the character that is alone in a text: a `character.json`, or what pictures have.
pub(super) fn read_alone(text: &str) -> Result<Card, FormatError> {
    let root: Value = serde_json::from_str(text::without_bom(text)).map_err(|fault| {
        FormatError::Container { kind: "Backyard character", problem: fault.to_string() }
    })?;
    let character = root.get(IN_PICTURE).unwrap_or(&root);
    let name = ["displayName", "aiDisplayName", "name", "aiName"];
    let name = name.iter().find_map(|field| said(character, field));
    let either = |names: [&str; 2]| {
        let found = names.iter().find(|name| said(character, name).is_some());
        found.map(|name| macros(character, name)).unwrap_or_default()
    };
    let mut card = card::named(name.as_deref().unwrap_or_default());
    card.description = either(["persona", "aiPersona"]);
    card.scenario = either(["narrative", "scenario"]);
    card.system_prompt = either(["formattingInstructions", "basePrompt"]);
    card.first_mes = macros(character, "firstMessage");
    let dialogue = macros(character, "customDialogue");
    if !dialogue.trim().is_empty() {
        card.mes_example = format!("<START>\n{dialogue}");
    }
    Ok(card)
}

/// The path of the character's first picture.
pub(super) fn image(archive: &mut Archive<'_>) -> Option<String> {
    let mut notes = Notes::default();
    archive.has(MANIFEST).then_some(())?;
    let found = Backyard::read(archive, &mut notes).ok()?;
    let (name, character) = &found.character;
    let path = character.pointer("/images/0/path")?.as_str()?;
    let folder = name.rsplit_once('/').map_or("", |(folder, _)| folder);
    let beside = format!("{folder}/{path}");
    [beside, path.to_owned()].into_iter().find(|path| archive.has(path))
}

/// An archive with what a card says, and what the archive has no place for.
pub(super) fn write(
    bytes: &[u8],
    card: &Card,
    limits: &Limits,
) -> Result<(Vec<u8>, Vec<Loss>), FormatError> {
    let mut notes = Notes::default();
    let mut archive = Archive::open(bytes, limits, &mut notes)?;
    let mut found = Backyard::read(&mut archive, &mut notes)?;
    let was = found.card();
    if card::fields(&was) == card::fields(card) {
        return Ok((bytes.to_vec(), Vec::new()));
    }
    if found.scenarios.is_empty() {
        found.manifest["scenarios"] = json!([SCENARIO]);
        found.scenarios.push((SCENARIO.to_owned(), new_scenario()));
    }
    found.set(&was, card);
    let losses = lost(&found.card(), card);
    let parts = [(MANIFEST.to_owned(), &found.manifest)];
    let others = [&found.character].into_iter().chain(&found.scenarios);
    let parts = parts.into_iter().chain(others.map(|(name, value)| (name.clone(), value)));
    let files: Vec<(String, Vec<u8>)> =
        parts.map(|(name, value)| (name, format!("{value:#}\n").into_bytes())).collect();
    Ok((archive::with_files(Some(bytes), &files)?, losses))
}

impl Backyard {
    /// Writes the fields that differ.
    fn set(&mut self, was: &Card, card: &Card) {
        let character = &mut self.character.1;
        if was.name != card.name {
            character["displayName"] = json!(card.name);
        }
        if was.description != card.description {
            character["persona"] = json!(from_macros(&card.description));
        }
        let id = character.get("id").cloned().unwrap_or_default();
        let greetings = [&card.first_mes].into_iter().chain(&card.alternate_greetings);
        for ((_, scenario), greeting) in self.scenarios.iter_mut().zip(greetings) {
            if self::greeting(scenario) != *greeting {
                scenario["firstMessages"] =
                    json!([{ "characterID": id, "text": from_macros(greeting) }]);
            }
        }
        let Some((_, first)) = self.scenarios.first_mut() else { return };
        for (field, was, now) in [
            ("narrative", &was.scenario, &card.scenario),
            ("formattingInstructions", &was.system_prompt, &card.system_prompt),
        ] {
            if was != now {
                first[field] = json!(from_macros(now));
            }
        }
    }
}

/// What an archive says otherwise than the card.
fn lost(written: &Card, card: &Card) -> Vec<Loss> {
    let written: Map<String, Value> = card::fields(written);
    let fields = card::fields(card).into_iter();
    let missing = fields.filter(|(name, value)| written.get(name) != Some(value));
    missing
        .map(|(name, value)| Loss { entry: None, field: format!("card.{name}"), value })
        .collect()
}

/// The smallest scenario that the format allows.
fn new_scenario() -> Value {
    json!({
        "schemaVersion": 1, "formattingInstructions": "", "narrative": "",
        "minP": 0.1, "minPEnabled": true, "temperature": 1.0, "repeatPenalty": 1.05,
        "repeatLastN": 256, "topK": 30, "topP": 0.9, "exampleMessages": [],
        "canDeleteExampleMessages": true, "firstMessages": [], "promptTemplate": null,
        "grammar": null, "messages": [],
    })
}

fn object(archive: &mut Archive<'_>, name: &str, notes: &mut Notes) -> Result<Value, FormatError> {
    let bytes = archive.read(name)?;
    let text = text::decode(&bytes, notes);
    let value: Value = serde_json::from_str(text::without_bom(&text)).map_err(|fault| {
        FormatError::Container { kind: "Backyard archive", problem: format!("`{name}`: {fault}") }
    })?;
    if value.is_object() {
        return Ok(value);
    }
    let problem = format!("`{name}` must be an object");
    Err(FormatError::Container { kind: "Backyard archive", problem })
}

fn plain(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn said(object: &Value, field: &str) -> Option<String> {
    object.get(field).map(plain).filter(|text| !text.trim().is_empty())
}

fn macros(object: &Value, field: &str) -> String {
    object.get(field).map(|value| to_macros(&plain(value))).unwrap_or_default()
}

/// The first message of a scenario.
fn greeting(scenario: &Value) -> String {
    scenario
        .pointer("/firstMessages/0/text")
        .map(|text| to_macros(&plain(text)))
        .unwrap_or_default()
}

/// The example messages of a scenario, in the form that cards have them.
fn examples(scenario: &Value) -> String {
    let rows = scenario.get("exampleMessages").and_then(Value::as_array);
    let texts = rows.into_iter().flatten().filter_map(|row| row.get("text"));
    let texts: Vec<String> = texts
        .map(|text| {
            let text = to_macros(&plain(text));
            if text.starts_with("{{") { text } else { format!("{{{{char}}}}: {text}") }
        })
        .collect();
    if texts.is_empty() { String::new() } else { format!("<START>\n{}", texts.join("\n")) }
}
