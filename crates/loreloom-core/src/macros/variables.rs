//! Variables: what lore writes down under names of its own, `{{setvar}}` and its kin.
//!
//! An expansion reads the variables of the path and collects what it writes; the caller
//! keeps the changes only if the text is really sent. Local variables belong to the chat.
//! Global ones would belong to all chats of a person; they are kept with the chat too, so
//! that a replay depends on nothing but the path.

use std::{borrow::Cow, collections::BTreeMap};

use serde::{Deserialize, Serialize};

use super::Expansion;

/// The variables at one point of a path.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Variables {
    /// Those of `{{getvar}}`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub local: BTreeMap<String, String>,
    /// Those of `{{getglobalvar}}`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub global: BTreeMap<String, String>,
}

/// Changes to variables: `None` removes one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct VariableChanges {
    /// Changes to local ones.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub local: BTreeMap<String, Option<String>>,
    /// Changes to global ones.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub global: BTreeMap<String, Option<String>>,
}

/// Whose variable it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    Local,
    Global,
}

impl Variables {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.local.is_empty() && self.global.is_empty()
    }

    fn of(&self, owner: Owner) -> &BTreeMap<String, String> {
        match owner {
            Owner::Local => &self.local,
            Owner::Global => &self.global,
        }
    }
}

impl VariableChanges {
    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.local.is_empty() && self.global.is_empty()
    }

    fn of(&mut self, owner: Owner) -> &mut BTreeMap<String, Option<String>> {
        match owner {
            Owner::Local => &mut self.local,
            Owner::Global => &mut self.global,
        }
    }
}

/// What an operation does.
#[derive(Clone, Copy)]
enum Operation {
    Get,
    Has,
    Set,
    SetDefault,
    Add,
    Step(f64),
    Delete,
}

impl Operation {
    /// The operation with this macro name.
    fn named(name: &str) -> Option<(Self, Owner)> {
        let (name, owner) = match name.split_once("global") {
            Some((before, after)) => (Cow::Owned(format!("{before}{after}")), Owner::Global),
            None => (Cow::Borrowed(name), Owner::Local),
        };
        let operation = match &*name {
            "getvar" => Self::Get,
            "hasvar" | "varexists" => Self::Has,
            "setvar" => Self::Set,
            "setdefaultvar" => Self::SetDefault,
            "addvar" => Self::Add,
            "incvar" => Self::Step(1.0),
            "decvar" => Self::Step(-1.0),
            "deletevar" | "flushvar" => Self::Delete,
            _ => return None,
        };
        Some((operation, owner))
    }
}

impl Expansion<'_, '_> {
    /// What a variable macro gives; `None` if no macro has the name, or nothing keeps variables.
    /// Where nobody writes, in keys, macros that write stay as they are.
    pub(super) fn variable(&self, name: &str, argument: &str) -> Option<Cow<'static, str>> {
        self.variables?;
        let (operation, owner) = Operation::named(name)?;
        let argument = argument.trim_start_matches([':', ' ']);
        let (variable, value) = argument.split_once("::").unwrap_or((argument, ""));
        let variable = variable.trim();
        let old = self.read_variable(owner, variable);
        let (new, printed) = match operation {
            Operation::Get => return Some(Cow::Owned(old.unwrap_or_default())),
            Operation::Has => {
                return Some(Cow::Borrowed(if old.is_some() { "true" } else { "false" }));
            }
            Operation::Set => (Some(value.to_owned()), None),
            Operation::SetDefault => {
                (Some(old.filter(|old| !old.is_empty()).unwrap_or_else(|| value.to_owned())), None)
            }
            Operation::Add => (Some(sum(old.as_deref().unwrap_or_default(), value)), None),
            Operation::Step(step) => {
                let new = sum(old.as_deref().unwrap_or_default(), &step.to_string());
                (Some(new.clone()), Some(new))
            }
            Operation::Delete => (None, None),
        };
        let writes = self.writes.as_ref()?;
        writes.borrow_mut().of(owner).insert(variable.to_owned(), new);
        Some(Cow::Owned(printed.unwrap_or_default()))
    }

    /// The variable that a condition names: `.name` a local one, `$name` a global one.
    pub(super) fn condition_variable(&self, condition: &str) -> Option<String> {
        self.variables?;
        let (owner, name) = match condition.as_bytes().first()? {
            b'.' => (Owner::Local, &condition[1..]),
            b'$' => (Owner::Global, &condition[1..]),
            _ => return None,
        };
        Some(self.read_variable(owner, name.trim()).unwrap_or_default())
    }

    fn read_variable(&self, owner: Owner, name: &str) -> Option<String> {
        let written = self
            .writes
            .as_ref()
            .and_then(|writes| writes.borrow_mut().of(owner).get(name).cloned());
        written.unwrap_or_else(|| self.variables?.of(owner).get(name).cloned())
    }
}

/// The sum of two numbers, else the one text after the other, as SillyTavern adds. Nothing
/// counts as 0, and a sum is written as JavaScript writes it.
fn sum(old: &str, added: &str) -> String {
    let number = |text: &str| match text.trim() {
        "" => Some(0.0),
        text => text.parse::<f64>().ok().filter(|number| number.is_finite()),
    };
    match (number(old), number(added)) {
        (Some(old), Some(added)) => (old + added).to_string(),
        _ if old == "0" => added.to_owned(),
        _ => format!("{old}{added}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{super::MacroValues, *};

    #[test]
    fn variables_are_read_and_written_in_order() {
        let variables = Variables {
            local: [("hp".to_owned(), "7".to_owned()), ("name".to_owned(), "Odo".to_owned())]
                .into(),
            global: [("world".to_owned(), "Ember".to_owned())].into(),
        };
        for (text, expanded) in [
            ("{{getvar::hp}} {{getvar::none}}|", "7 |"),
            ("{{setvar::hp::3}}{{getvar::hp}}", "3"),
            ("{{addvar::hp::2.5}}{{getvar::hp}}", "9.5"),
            ("{{addvar::name:: the Bold}}{{getvar::name}}", "Odo the Bold"),
            ("{{addvar::fresh::4}}{{getvar::fresh}}", "4"),
            ("{{incvar::hp}}{{incvar::hp}} {{decvar::new}}", "89 -1"),
            ("{{getglobalvar::world}} {{getvar::world}}|", "Ember |"),
            ("{{setglobalvar::world::Ash}}{{getglobalvar::world}}", "Ash"),
            ("{{deletevar::hp}}{{hasvar::hp}} {{hasvar::name}}", "false true"),
            ("{{setdefaultvar::hp::1}}{{setdefaultvar::mp::1}}{{getvar::hp}}{{getvar::mp}}", "71"),
            ("{{setvar::a::{{user}}}}{{getvar::a}}", "Mira"),
            ("{{if .hp}}alive{{else}}dead{{/if}} {{if !$none}}no{{/if}}", "alive no"),
            ("{{setvar::a::{{noop}}{{char}}}}{{getvar::a}}", "{{char}}"),
        ] {
            // A name that looks like a macro is not expanded again when it is read.
            let values = MacroValues { user: "Mira", char: "{{char}}", ..MacroValues::default() };
            let mut writes = VariableChanges::default();
            let found = values.expand_rolling(text, &variables, &mut writes, &mut |_| 0.0);
            assert_eq!(found, expanded, "{text}");
        }
    }

    #[test]
    fn what_is_written_is_collected_and_keys_only_read() {
        let values = MacroValues::default();
        let variables = Variables {
            local: [("x".to_owned(), "bell".to_owned())].into(),
            ..Variables::default()
        };
        let mut writes = VariableChanges::default();
        values.expand_rolling(
            "{{setvar::x::1}}{{deletevar::y}}{{setglobalvar::z::2}}",
            &variables,
            &mut writes,
            &mut |_| 0.0,
        );
        assert_eq!(
            writes,
            VariableChanges {
                local: [("x".to_owned(), Some("1".to_owned())), ("y".to_owned(), None)].into(),
                global: [("z".to_owned(), Some("2".to_owned()))].into(),
            }
        );
        let key = values.expand_reading("{{getvar::x}} {{setvar::x::1}}", &variables);
        assert_eq!(key, "bell {{setvar::x::1}}");
        assert_eq!(values.expand("{{getvar::x}}"), "{{getvar::x}}");
    }
}
