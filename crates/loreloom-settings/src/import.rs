//! Settings files of other programs.
//!
//! Their names are in the table. Values out of a program's own range are brought into it, as that
//! program does. What has no counterpart here is reported.

use loreloom_core::regex_script::RegexScript;
use loreloom_formats::vault::clamp_known;
use loreloom_memory::service::smart_memory_settings;
use serde_json::{Map, Value, json};

use crate::{
    changes::Changes,
    error::SettingError,
    setting::{Program, ProgramName, Setting, ValueKind},
    table::SETTINGS,
};

/// What a file of another program means here.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImportedSettings {
    /// The programs whose settings were found.
    pub programs: Vec<Program>,
    /// Their settings with our names.
    pub changes: Changes,
    /// Names without a counterpart here.
    pub unmapped: Vec<(Program, String)>,
    /// Values that are refused, and why.
    pub refused: Vec<String>,
}

/// Where a settings file has the part of a program.
const PLACES: [(Program, &[&str]); 3] = [
    (Program::SillyTavern, &["/world_info_settings", ""]),
    (
        Program::DeepLore,
        &["/extension_settings/deeplore_enhanced", "/extension_settings/deeplore", ""],
    ),
    (
        Program::SmartMemory,
        &[
            "/extension_settings/smart_memory",
            "/extension_settings/smartMemory",
            "/smart_memory",
            "/smartMemory",
            "",
        ],
    ),
];

/// Reads the settings of `SillyTavern`, `DeepLore` and Smart Memory that a file has.
pub fn import_settings(file: &Value) -> Result<ImportedSettings, SettingError> {
    let mut imported = ImportedSettings::default();
    for (program, places) in PLACES {
        let parts = places.iter().filter_map(|place| file.pointer(place)?.as_object());
        let Some(theirs) = parts.into_iter().find(|part| is_of(program, part)) else { continue };
        imported.programs.push(program);
        match program {
            Program::SillyTavern => imported.take_silly_tavern(theirs),
            Program::DeepLore => imported.take_deeplore(theirs.clone()),
            Program::SmartMemory => imported.take_smart_memory(theirs),
        }
    }
    if let Some(scripts) = file.pointer("/extension_settings/regex").and_then(Value::as_array) {
        imported.take_scripts(scripts);
    }
    if imported.programs.is_empty() {
        let found = match file {
            Value::Object(_) => "an object without a name that they use",
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => "something else than an object",
        };
        return Err(SettingError::Foreign { found: found.to_owned() });
    }
    Ok(imported)
}

/// Whether an object has settings that only this program has.
fn is_of(program: Program, part: &Map<String, Value>) -> bool {
    let is_theirs = |name: &String| {
        SETTINGS.iter().any(|row| row.names_elsewhere().contains(&(program, name.as_str())))
    };
    part.keys().any(is_theirs)
}

impl ImportedSettings {
    fn set(&mut self, name: &str, value: Value) {
        if let Err(error) = self.changes.set(name, value) {
            self.refused.push(error.to_string());
        }
    }

    fn take_silly_tavern(&mut self, theirs: &Map<String, Value>) {
        self.set("world_info.profile", json!("sillytavern-1.19"));
        self.take_named(Program::SillyTavern, theirs);
        let is_ours = |name: &String| name.starts_with("world_info_");
        self.report(Program::SillyTavern, theirs.keys().filter(|name| is_ours(name)));
    }

    fn take_deeplore(&mut self, mut theirs: Map<String, Value>) {
        self.set("vault.profile", json!("deeplore-2.x"));
        clamp_known(&mut theirs);
        self.take_named(Program::DeepLore, &theirs);
        // A prompt that was written for DeepLore names its tag.
        let names_tag = |name: &str| {
            theirs
                .get(name)
                .and_then(Value::as_str)
                .is_some_and(|text| text.contains("<dle-notes>"))
        };
        if names_tag("aiNotepadPrompt") && !theirs.contains_key("aiNotepadTag") {
            self.set("notebooks.model.tag", json!("dle-notes"));
        }
        self.report(Program::DeepLore, theirs.keys());
    }

    fn take_smart_memory(&mut self, theirs: &Map<String, Value>) {
        self.set("memory.profile", json!("smart-memory-1.8"));
        let known = smart_memory_settings(theirs);
        let settings = known.get("settings").and_then(Value::as_object);
        for (name, value) in settings.into_iter().flatten() {
            self.set(&format!("memory.{name}"), value.clone());
        }
        if let Some(hardware) = known.get("hardware").filter(|value| value.is_string()) {
            self.set("memory.hardware", hardware.clone());
        }
        let is_place =
            |name: &String| ["_position", "_depth", "_role"].iter().any(|end| name.ends_with(end));
        self.report(Program::SmartMemory, theirs.keys().filter(|name| !is_place(name)));
    }

    /// Takes over regex scripts. Those that cannot work here are refused by name.
    fn take_scripts(&mut self, scripts: &[Value]) {
        if scripts.is_empty() {
            return;
        }
        let mut kept = Vec::new();
        for script in scripts {
            let read: Result<RegexScript, _> = serde_json::from_value(script.clone());
            match read {
                Ok(read) if read.compiles() => kept.push(script.clone()),
                Ok(read) => self.refused.push(format!(
                    "regex script `{}`: `{}` is not a regular expression",
                    read.script_name, read.find_regex
                )),
                Err(error) => self.refused.push(format!("a regex script: {error}")),
            }
        }
        if !self.programs.contains(&Program::SillyTavern) {
            self.programs.insert(0, Program::SillyTavern);
        }
        if !kept.is_empty() {
            self.set("lore.regex_scripts", Value::Array(kept));
        }
    }

    /// Takes over what the table has a name for.
    fn take_named(&mut self, program: Program, theirs: &Map<String, Value>) {
        for setting in SETTINGS.iter() {
            for known in setting.programs.iter().filter(|known| known.program == program) {
                let Some(value) = theirs.get(known.name) else { continue };
                if let Some(value) = translated(setting, known, value, theirs) {
                    self.set(setting.name, in_range(setting, value));
                }
            }
        }
    }

    fn report<'a>(&mut self, program: Program, names: impl Iterator<Item = &'a String>) {
        let known = |name: &str| {
            SETTINGS.iter().any(|row| row.names_elsewhere().contains(&(program, name)))
        };
        let unmapped = names.filter(|name| !known(name)).map(|name| (program, name.clone()));
        self.unmapped.extend(unmapped);
    }
}

/// Their value as we write it; `None` if it says nothing here.
fn translated(
    setting: &Setting,
    known: &ProgramName,
    value: &Value,
    theirs: &Map<String, Value>,
) -> Option<Value> {
    let is_on = |name: &str| theirs.get(name) == Some(&Value::Bool(true));
    match known.name {
        "aiSearchEnabled" | "hierarchicalPreFilter" | "aiNotepadEnabled" => {
            // Without the detail, the switch alone means the usual one.
            let usual = match known.name {
                "aiSearchEnabled" => ("aiSearchMode", json!("two-stage")),
                "hierarchicalPreFilter" => ("hierarchicalAggressiveness", json!(0.8)),
                _ => ("aiNotepadMode", json!("tag")),
            };
            (is_on(known.name) && !theirs.contains_key(usual.0)).then_some(usual.1)
        }
        "aiSearchMode" => is_on("aiSearchEnabled").then(|| value.clone()),
        "hierarchicalAggressiveness" => is_on("hierarchicalPreFilter").then(|| value.clone()),
        "aiNotepadMode" => is_on("aiNotepadEnabled").then(|| value.clone()),
        "syncPollingInterval" => Some(value.clone()).filter(|value| value.as_f64() != Some(0.0)),
        "fuzzySearchMinScore" => Some(value.clone()).filter(|value| value.as_f64() != Some(0.0)),
        "aiNotepadTag" => text_of(value, &['<', '>', '/']),
        _ if !known.words.is_empty() => {
            let text = scalar(value)?;
            let (_, ours) = known.words.iter().find(|(word, _)| *word == text)?;
            setting.read_text(ours).ok()
        }
        _ if setting.name.starts_with("vault.tags.") => text_of(value, &['#']),
        // An empty prompt or path means the usual one. A template may be anything.
        _ if setting.kind == ValueKind::Text && setting.name != "vault.template" => {
            text_of(value, &[])
        }
        _ => Some(value.clone()),
    }
}

/// The nearest number that the setting takes. Their file was good enough for them.
fn in_range(setting: &Setting, value: Value) -> Value {
    match (setting.kind, value.as_f64()) {
        #[expect(clippy::cast_precision_loss, reason = "ranges are far below 2^53")]
        (ValueKind::Integer { least, most }, Some(number)) => {
            json!((number + 0.5).floor().clamp(least as f64, most as f64))
        }
        (ValueKind::Number { least, most }, Some(number)) => json!(number.clamp(least, most)),
        _ => value,
    }
}

/// A text without blanks and these at its ends; `None` if nothing is left.
fn text_of(value: &Value, around: &[char]) -> Option<Value> {
    let text = value.as_str()?.trim().trim_matches(around).trim();
    (!text.is_empty()).then(|| json!(text))
}

/// A number, a switch or a word as a text.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(is_on) => Some(is_on.to_string()),
        Value::Number(number) => Some(number.as_f64()?.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use loreloom_core::dialects::vault::VaultRules;
    use loreloom_formats::vault::rules_of;

    use super::*;
    use crate::{StartSettings, VaultProfile};

    fn imported(file: &Value) -> (ImportedSettings, StartSettings) {
        let imported = import_settings(file).unwrap();
        let started = StartSettings::resolve(imported.changes.clone(), Changes::default()).unwrap();
        (imported, started)
    }

    #[test]
    fn deeplores_rules_are_those_that_its_file_is_read_with_elsewhere() {
        let file = json!({
            "scanDepth": 500, "caseSensitive": true, "matchWholeWords": true, "recursiveScan": true,
            "maxRecursionSteps": 9, "characterContextScan": true, "fuzzySearchEnabled": true,
            "fuzzySearchMinScore": 0.05, "keywordOccurrenceWeighting": true,
            "priorityReversed": true, "newChatThreshold": 7, "reinjectionCooldown": 4,
            "stripDuplicateInjections": false, "stripLookbackDepth": 3, "decayEnabled": true,
            "decayBoostThreshold": 9, "decayPenaltyThreshold": 4, "maxEntries": 2.5,
            "unlimitedEntries": false, "maxTokensBudget": 900, "unlimitedBudget": true,
            "injectionPosition": 2, "injectionDepth": 1, "injectionRole": 1,
            "injectionMode": "prompt_list", "injectionTemplate": "{{content}}",
        });
        let (imported, started) = imported(&file);
        let Value::Object(mut file) = file else { panic!("an object") };
        clamp_known(&mut file);
        let expected = rules_of(&file, VaultRules::deeplore_2());
        assert_eq!(started.settings.vault.rules, expected);
        assert_eq!(started.settings.profiles.vault, VaultProfile::DeepLore2);
        assert_eq!((imported.unmapped, imported.refused), (Vec::new(), Vec::new()));
    }

    #[test]
    fn deeplores_switches_and_their_details_are_one_setting_here() {
        let (found, started) = imported(&json!({"extension_settings": {"deeplore_enhanced": {
            "aiSearchEnabled": true, "aiSearchMode": "ai-only", "aiErrorFallback": "constants_only",
            "aiEmptyFallback": "keyword", "hierarchicalPreFilter": true, "aiSearchTimeout": 10,
            "aiNotepadEnabled": true, "aiNotepadPrompt": "Use <dle-notes>.", "lorebookTag": "#lore",
            "aiSearchSystemPrompt": "  ", "scribeEnabled": true, "indexRebuildTrigger": "generation",
        }}}));
        let changes: Map<String, Value> =
            found.changes.iter().map(|(name, value)| (name.to_owned(), value.clone())).collect();
        let expected = json!({
            "notebooks.model.instruction": "Use <dle-notes>.", "notebooks.model.mode": "tag",
            "notebooks.model.tag": "dle-notes", "vault.profile": "deeplore-2.x",
            "vault.refresh.when": "turns", "vault.selection.mode": "ai-only",
            "vault.selection.on_failure": "constants", "vault.selection.on_nothing": "keyword",
            "vault.selector.narrow": 0.8, "vault.selector.timeout_ms": 1000.0,
            "vault.tags.lore": "lore",
        });
        assert_eq!(Value::Object(changes), expected);
        assert_eq!(found.unmapped, [(Program::DeepLore, "scribeEnabled".to_owned())]);
        assert!(started.settings.vault.selection.rules().is_some());
    }

    #[test]
    fn a_file_of_sillytavern_has_all_three() {
        let (found, started) = imported(&json!({
            "world_info_settings": {
                "world_info_depth": 5, "world_info_budget": 40, "world_info_character_strategy": 2,
                "world_info_overflow_alert": true,
            },
            "extension_settings": {
                "deeplore": {"scanDepth": 6},
                "smart_memory": {
                    "longterm_enabled": true, "arcs_inject_budget": 70, "arcs_position": 2,
                    "longterm_extract_every": 4, "ollama_url": "http://localhost",
                },
            },
        }));
        let all = [Program::SillyTavern, Program::DeepLore, Program::SmartMemory];
        assert_eq!(found.programs, all);
        let settings = started.settings;
        assert_eq!((settings.world_info.depth, settings.vault.rules.keys.depth), (5, 6));
        assert_eq!(settings.memory.settings.budgets.arcs.0, 70);
        assert_eq!(settings.memory.settings.places.len(), 1);
        assert_eq!(settings.memory.settings.extract_every, 4);
        let unmapped: Vec<&str> = found.unmapped.iter().map(|(_, name)| name.as_str()).collect();
        assert_eq!(unmapped, ["world_info_overflow_alert", "ollama_url"]);
        assert_eq!(found.refused, Vec::<String>::new());
    }

    #[test]
    fn regex_scripts_come_along_and_broken_ones_are_named() {
        let good = json!({"id": "1", "scriptName": "Dots", "findRegex": "/\\.+/g",
            "replaceString": "…", "placement": [5], "promptOnly": true, "runOnEdit": true});
        let broken = json!({"scriptName": "Broken", "findRegex": "/(/"});
        let (found, started) =
            imported(&json!({"extension_settings": {"regex": [good.clone(), broken, 7]}}));
        assert_eq!(found.programs, [Program::SillyTavern]);
        assert_eq!(found.changes.get("lore.regex_scripts"), Some(&json!([good])));
        assert_eq!(started.settings.lore.regex_scripts[0].script_name, "Dots");
        assert_eq!(found.refused[0], "regex script `Broken`: `/(/` is not a regular expression");
        assert_eq!(found.refused.len(), 2);
    }

    #[test]
    fn a_file_of_nobody_is_refused() {
        for (file, found) in [
            (json!([1]), "something else than an object"),
            (json!({"colour": 1}), "an object without a name that they use"),
        ] {
            let error = import_settings(&file).unwrap_err();
            assert_eq!(error, SettingError::Foreign { found: found.to_owned() });
        }
    }
}
