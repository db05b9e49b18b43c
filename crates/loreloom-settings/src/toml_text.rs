//! Settings as the text of a configuration file.

use std::fmt::Write as _;

use serde_json::Value;

use crate::{
    changes::Changes,
    error::SettingError,
    setting::Setting,
    start::{StartSettings, ValueSource},
    table::{SETTINGS, section_title},
};

/// Which settings are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TomlView {
    /// Those that differ from the defaults.
    Changed,
    /// All; those that do not differ are comments.
    All,
}

/// The effective settings as a configuration file. Each value has its sentence, and a changed one
/// its default and its source.
pub fn toml_text(
    started: &StartSettings,
    stored: &Changes,
    view: TomlView,
) -> Result<String, SettingError> {
    let values = started.view(stored)?;
    let mut text = String::new();
    let mut section = "";
    for setting in SETTINGS.iter() {
        let value = setting.shown(values.value(setting));
        let default = setting.default_value();
        let source = values.source(setting);
        // What a profile sets follows from the profile.
        let is_set = value != default && source != ValueSource::Profile;
        if !is_set && view == TomlView::Changed {
            continue;
        }
        if setting.section() != section {
            section = setting.section();
            let gap = if text.is_empty() { "" } else { "\n" };
            let _written = write!(text, "{gap}# {}\n[{section}]\n", section_title(section));
        }
        let line = line(setting, &value);
        let _written = writeln!(text, "# {}", setting.help);
        let _written = if is_set {
            let default = toml_value(&default);
            writeln!(text, "{line} # changed ({}); default {default}", source.as_str())
        } else if source == ValueSource::Profile {
            writeln!(text, "# {line} (by the profile)")
        } else {
            writeln!(text, "# {line}")
        };
    }
    Ok(text)
}

impl ValueSource {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Profile => "profile",
            Self::File => "file",
            Self::Flag => "flag",
            Self::Stored => "stored",
            Self::Character => "character",
            Self::Chat => "chat",
        }
    }
}

/// `key = value` inside the section of a setting.
fn line(setting: &Setting, value: &Value) -> String {
    let key = setting.name.strip_prefix(setting.section()).unwrap_or(setting.name);
    format!("{} = {}", key.trim_start_matches('.'), toml_value(value))
}

/// A value as TOML writes it, on one line.
pub fn toml_value(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let pairs = fields.iter().filter(|(_, value)| !value.is_null());
            let pairs =
                pairs.map(|(name, value)| format!("{} = {}", quoted(name), toml_value(value)));
            format!("{{ {} }}", pairs.collect::<Vec<_>>().join(", "))
        }
        Value::Array(items) => {
            format!("[{}]", items.iter().map(toml_value).collect::<Vec<_>>().join(", "))
        }
        Value::String(text) => quoted(text),
        Value::Null => quoted(crate::value::NONE),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// JSON's escapes are TOML's, but for the character DEL.
fn quoted(text: &str) -> String {
    Value::from(text).to_string().replace('\u{7f}', "\\u007F")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_values_are_marked_and_the_text_is_toml() {
        let mut file = Changes::default();
        file.set_pair("world_info.scan_depth=4").unwrap();
        file.set_pair("story.user=Mira \"the\" 1st").unwrap();
        file.set_pair("vault.profile=deeplore-2.x").unwrap();
        let started = StartSettings::resolve(file, Changes::default()).unwrap();
        let text = toml_text(&started, &Changes::default(), TomlView::Changed).unwrap();
        let expected = "# What requests do not say\n[story]\n# The user's name, if a request does not \
            say it.\nuser = \"Mira \\\"the\\\" 1st\" # changed (file); default \"User\"\n\n# World \
            Info\n[world_info]\n# How many of the newest messages are searched for keys.\nscan_depth \
            = 4 # changed (file); default 2\n\n# Vaults\n[vault]\n# The rules of vaults: our own, or \
            DeepLore's to the letter.\nprofile = \"deeplore-2.x\" # changed (file); default \
            \"loreloom\"\n";
        assert_eq!(text, expected);
        let all = toml_text(&started, &Changes::default(), TomlView::All).unwrap();
        let table: toml::Table = all.parse().unwrap();
        assert_eq!(table["story"]["user"].as_str(), Some("Mira \"the\" 1st"));
        assert!(all.contains("# strip_duplicates = true (by the profile)"));
    }
}
