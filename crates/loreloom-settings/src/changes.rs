//! Values that differ from those beneath them, by name.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    error::SettingError,
    setting::{Setting, SettingScope},
    table::{find, known},
    tree::Settings,
};

/// Settings with their values, as people write them. Each was checked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Changes(BTreeMap<String, Value>);

impl Changes {
    /// Sets a value.
    pub fn set(&mut self, name: &str, value: Value) -> Result<(), SettingError> {
        let setting = known(name)?;
        setting.tried(&value)?;
        self.0.insert(setting.name.to_owned(), value);
        Ok(())
    }

    /// Sets a value that was written as a text.
    pub fn set_text(&mut self, name: &str, text: &str) -> Result<(), SettingError> {
        let value = known(name)?.read_text(text)?;
        self.set(name, value)
    }

    /// Sets what `NAME=VALUE` says.
    pub fn set_pair(&mut self, pair: &str) -> Result<(), SettingError> {
        let (name, text) =
            pair.split_once('=').ok_or_else(|| SettingError::Form { found: pair.to_owned() })?;
        self.set_text(name.trim(), text)
    }

    /// Sets a value that must be of one scope.
    pub fn set_for(
        &mut self,
        scope: SettingScope,
        name: &str,
        value: Value,
    ) -> Result<(), SettingError> {
        let setting = known(name)?;
        if !setting.scopes.contains(&scope) {
            let holds: Vec<&str> = setting.scopes.iter().map(|scope| scope.as_str()).collect();
            return Err(SettingError::Scope {
                name: setting.name,
                place: scope.as_str(),
                holds: format!("the {}", holds.join(" or ")),
            });
        }
        self.set(name, value)
    }

    /// Forgets a value. Returns whether there was one.
    pub fn reset(&mut self, name: &str) -> Result<bool, SettingError> {
        Ok(self.0.remove(known(name)?.name).is_some())
    }

    /// The value of a setting.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// Whether nothing is set.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// These, and `later` over them.
    #[must_use]
    pub fn then(mut self, later: Self) -> Self {
        self.0.extend(later.0);
        self
    }

    /// Changes a tree. Names that are no longer known are left out: a stored change must not
    /// keep a newer version from starting.
    pub(crate) fn write(&self, tree: &mut Value, wanted: impl Fn(&Setting) -> bool) {
        for (name, value) in &self.0 {
            let Some(setting) = find(name).filter(|setting| wanted(setting)) else { continue };
            if let Ok(value) = setting.checked(value) {
                put(tree, &setting.pointer(), value);
            }
        }
    }
}

/// Puts a value into a tree, and makes the objects on the way.
pub(crate) fn put(tree: &mut Value, pointer: &str, value: Value) {
    let mut at = tree;
    let mut parts = pointer.split('/').skip(1).peekable();
    while let Some(part) = parts.next() {
        if !at.is_object() {
            *at = Value::Object(Map::new());
        }
        let Value::Object(fields) = at else { return };
        if parts.peek().is_none() {
            fields.insert(part.to_owned(), value);
            return;
        }
        at = fields.entry(part).or_insert(Value::Null);
    }
}

impl Setting {
    /// Checks a value by putting it into the default settings.
    pub(crate) fn tried(&self, value: &Value) -> Result<(), SettingError> {
        let mut tree = Settings::default().tree();
        put(&mut tree, &self.pointer(), self.checked(value)?);
        let read = serde_json::from_value::<Settings>(tree).map_err(|error| error.to_string());
        let read = read.and_then(|settings| settings.check());
        read.map_err(|reason| {
            self.refused(format!("{} ({reason})", self.rule()), value.to_string())
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn unknown_names_are_refused_with_the_nearest_and_names_of_others_with_ours() {
        let mut changes = Changes::default();
        for (name, expected) in [
            (
                "world_info.scan_dept",
                "there is no setting `world_info.scan_dept`; did you mean `world_info.scan_depth`?",
            ),
            ("scanDepth", "`scanDepth` of DeepLore is `vault.scan_depth` here"),
            (
                "world_info_depth",
                "`world_info_depth` of SillyTavern is `world_info.scan_depth` here",
            ),
            (
                "longterm_inject_budget",
                "`longterm_inject_budget` of Smart Memory is `memory.longterm_inject_budget` here",
            ),
            ("xyzzy", "there is no setting `xyzzy`"),
        ] {
            assert_eq!(changes.set(name, json!(1)).unwrap_err().to_string(), expected);
        }
        assert!(changes.is_empty());
    }

    #[test]
    fn a_value_of_the_wrong_form_is_refused() {
        let mut changes = Changes::default();
        for (name, value, expected) in [
            (
                "server.listen",
                json!("here"),
                "`server.listen` must be a text (invalid socket address",
            ),
            ("lore.wrap", json!("paper"), "`lore.wrap` must be a text (a wrapper is `none`"),
            (
                "lore.regex_scripts",
                json!([{"findRegex": "/(/"}]),
                "`lore.regex_scripts` must be a list or an object of its own form (`/(/` is not a \
                 regular expression)",
            ),
        ] {
            let error = changes.set(name, value).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn a_setting_of_another_scope_is_refused() {
        let mut changes = Changes::default();
        let error = changes.set_for(SettingScope::Book, "weaving.on", json!(true)).unwrap_err();
        let expected =
            "`weaving.on` cannot be set for one book: it holds for the server or character or chat";
        assert_eq!(error.to_string(), expected);
        changes.set_for(SettingScope::Book, "world_info.scan_depth", json!(3)).unwrap();
        assert_eq!(changes.get("world_info.scan_depth"), Some(&json!(3)));
    }
}
