//! The settings that a program starts with, and where each value comes from.

use std::sync::LazyLock;

use serde::Serialize;
use serde_json::Value;

use crate::{
    changes::Changes,
    error::SettingError,
    profiles::{Profiles, is_profile},
    setting::Setting,
    tree::Settings,
    value::shown,
};

/// The settings of a program at its start. Settings that are stored later override them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StartSettings {
    /// What profile, file and flags add up to.
    pub settings: Settings,
    file: Changes,
    flags: Changes,
}

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ValueSource {
    /// It is Loreloom's default.
    Default,
    /// A profile sets it.
    Profile,
    /// The configuration file, or another file, sets it.
    File,
    /// A flag, or the program that starts the server, sets it.
    Flag,
    /// It was changed while the server ran.
    Stored,
    /// It was changed for one character.
    Character,
    /// It was changed for one chat.
    Chat,
}

impl StartSettings {
    /// What a file and flags add up to. Flags win.
    pub fn resolve(file: Changes, flags: Changes) -> Result<Self, SettingError> {
        let both = file.clone().then(flags.clone());
        let profiles = Profiles::of(&both, Profiles::default());
        let mut tree = Settings::of(profiles).tree();
        both.write(&mut tree, |setting| !is_profile(setting.name));
        Ok(Self { settings: Settings::read(tree)?, file, flags })
    }

    /// Settings that were made elsewhere.
    pub fn of(settings: Settings) -> Self {
        Self { settings, ..Self::default() }
    }

    /// The settings with what is stored over them.
    ///
    /// A stored profile replaces the values of its section. What file and flags say about that
    /// section still holds.
    pub fn with(&self, stored: &Changes) -> Result<Settings, SettingError> {
        let mut tree = self.settings.tree();
        let profiles = Profiles::of(stored, self.settings.profiles);
        let base = Settings::of(profiles).tree();
        for section in profiles.differing(self.settings.profiles) {
            let of_section =
                |setting: &Setting| setting.section() == section && !is_profile(setting.name);
            tree[section].clone_from(&base[section]);
            self.file.write(&mut tree, of_section);
            self.flags.write(&mut tree, of_section);
        }
        tree["profiles"].clone_from(&base["profiles"]);
        stored.write(&mut tree, |setting| !is_profile(setting.name));
        Settings::read(tree)
    }

    /// Whether file or flags set a setting.
    pub fn is_set(&self, name: &str) -> bool {
        self.file.get(name).is_some() || self.flags.get(name).is_some()
    }

    /// The values with what is stored over them, and where each comes from.
    pub fn view<'a>(&'a self, stored: &'a Changes) -> Result<SettingsView<'a>, SettingError> {
        let profiles = Profiles::of(stored, self.settings.profiles);
        let settings = self.with(stored)?;
        let (tree, profile) = (settings.tree(), Settings::of(profiles).tree());
        Ok(SettingsView { started: self, stored, settings, tree, profile })
    }
}

/// The values of all settings. The trees are made once.
#[derive(Clone, Debug)]
pub struct SettingsView<'a> {
    started: &'a StartSettings,
    stored: &'a Changes,
    /// The settings.
    pub settings: Settings,
    tree: Value,
    profile: Value,
}

impl SettingsView<'_> {
    /// The value of a setting, as people write it.
    pub fn value(&self, setting: &Setting) -> Value {
        setting.value_in(&self.tree)
    }

    /// Whether a value differs from the default of Loreloom.
    pub fn is_changed(&self, setting: &Setting) -> bool {
        self.value(setting) != setting.default_value()
    }

    /// Where the value of a setting comes from.
    pub fn source(&self, setting: &Setting) -> ValueSource {
        let name = setting.name;
        if self.stored.get(name).is_some() {
            ValueSource::Stored
        } else if self.started.flags.get(name).is_some() {
            ValueSource::Flag
        } else if self.started.file.get(name).is_some() {
            ValueSource::File
        } else if is_profile(name) {
            ValueSource::Default
        } else if self.value(setting) != setting.value_in(&self.profile) {
            // The program that embeds the server set it.
            ValueSource::Flag
        } else if setting.value_in(&self.profile) != setting.default_value() {
            ValueSource::Profile
        } else {
            ValueSource::Default
        }
    }
}

/// The JSON form of the defaults, made once.
static DEFAULTS: LazyLock<Value> = LazyLock::new(|| Settings::default().tree());

impl Setting {
    /// Its value, as people write it.
    pub fn value(&self, settings: &Settings) -> Value {
        self.value_in(&settings.tree())
    }

    /// Its value in the JSON form of a tree. Readers of many values make that form once.
    pub fn value_in(&self, tree: &Value) -> Value {
        shown(tree.pointer(&self.pointer()))
    }

    /// Its default.
    pub fn default_value(&self) -> Value {
        self.value_in(&DEFAULTS)
    }
}

impl From<loreloom_core::rules::Rules> for StartSettings {
    fn from(rules: loreloom_core::rules::Rules) -> Self {
        let mut settings = Settings::default();
        settings.set_rules(&rules);
        Self::of(settings)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::find;

    fn changes(pairs: &[&str]) -> Changes {
        let mut changes = Changes::default();
        for pair in pairs {
            changes.set_pair(pair).unwrap();
        }
        changes
    }

    #[test]
    fn flags_win_over_the_file_and_the_file_over_the_profile() {
        let file =
            changes(&["vault.profile=deeplore-2.x", "vault.scan_depth=6", "story.user=Mira"]);
        let flags = changes(&["vault.scan_depth=9"]);
        let started = StartSettings::resolve(file, flags).unwrap();
        assert_eq!(started.settings.vault.rules.keys.depth, 9);
        assert_eq!(started.settings.story.user, "Mira");
        let stored = changes(&["story.seed=3"]);
        let view = started.view(&stored).unwrap();
        for (name, expected) in [
            ("vault.scan_depth", ValueSource::Flag),
            ("story.user", ValueSource::File),
            ("vault.strip_duplicates", ValueSource::Profile),
            ("vault.max_tokens", ValueSource::Default),
            ("story.seed", ValueSource::Stored),
        ] {
            assert_eq!(view.source(find(name).unwrap()), expected, "{name}");
        }
        assert_eq!(started.with(&stored).unwrap().story.seed, 3);
    }

    #[test]
    fn a_stored_profile_keeps_what_file_and_flags_say() {
        let file = changes(&["vault.scan_depth=6"]);
        let started = StartSettings::resolve(file, Changes::default()).unwrap();
        let now = started.with(&changes(&["vault.profile=deeplore-2.x", "vault.max_tokens=9"]));
        let now = now.unwrap().vault.rules;
        assert!(now.quirks.exact_is_bytes && now.repetition.strip);
        assert_eq!((now.keys.depth, now.budget.tokens.map(|tokens| tokens.0)), (6, Some(9)));
        assert_eq!(started.with(&Changes::default()).unwrap(), started.settings);
    }

    #[test]
    fn a_stored_name_that_is_no_longer_known_changes_nothing() {
        let stored: Changes = serde_json::from_value(json!({"vault.gone": 1})).unwrap();
        let started = StartSettings::default();
        assert_eq!(started.with(&stored).unwrap(), Settings::default());
    }
}
