//! A row of the table.

use serde::Serialize;
use serde_json::Value;

/// A setting: what it is called, which values it takes, and where it can be set.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Its name, with its section: `world_info.scan_depth`.
    pub name: &'static str,
    /// What it does, in one sentence.
    pub help: &'static str,
    /// Which values it takes.
    pub kind: ValueKind,
    /// Whether it may also be `"none"`.
    pub optional: bool,
    /// What its number counts: `tokens`, `messages`, `ms` …
    pub unit: &'static str,
    /// Where it can be set.
    pub scopes: &'static [SettingScope],
    /// When a change takes effect.
    pub takes_effect: TakesEffect,
    /// What other programs call it.
    pub programs: &'static [ProgramName],
    /// A flag of its own, without the dashes.
    pub flag: Option<&'static str>,
    /// Where it is in the tree, if the name does not say it.
    pub(crate) path: Option<&'static str>,
}

/// Which values a setting takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ValueKind {
    /// `true` or `false`.
    Switch,
    /// A whole number from `least` to `most`.
    Integer {
        /// The smallest.
        least: u64,
        /// The largest.
        most: u64,
    },
    /// A number from `least` to `most`.
    Number {
        /// The smallest.
        least: f64,
        /// The largest.
        most: f64,
    },
    /// A text.
    Text,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A list of texts.
    Texts,
    /// A list or an object with a form of its own.
    Data,
}

impl ValueKind {
    /// What a value of this kind is called.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Switch => "switch",
            Self::Integer { .. } => "integer",
            Self::Number { .. } => "number",
            Self::Text => "text",
            Self::Choice(_) => "choice",
            Self::Texts => "texts",
            Self::Data => "data",
        }
    }
}

/// Where a setting can be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SettingScope {
    /// For everything.
    Server,
    /// For one book of the configuration (`[[books]]`).
    Book,
    /// For one vault of the configuration (`[[vaults]]`).
    Vault,
    /// For all chats with one character.
    Character,
    /// For one chat. It wins over what is set for its character.
    Chat,
}

impl SettingScope {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Book => "book",
            Self::Vault => "vault",
            Self::Character => "character",
            Self::Chat => "chat",
        }
    }
}

/// When a change of a stored setting takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TakesEffect {
    /// With the next turn.
    AtOnce,
    /// When the server starts again.
    AfterRestart,
    /// Only the configuration file and flags can set it. It says where the server listens, who
    /// it trusts or where the stories are, so a caller of the API must not change it.
    AtStart,
}

/// A program whose settings we know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Program {
    /// `SillyTavern`.
    SillyTavern,
    /// `DeepLore`.
    DeepLore,
    /// Smart Memory.
    #[serde(rename = "Smart Memory")]
    SmartMemory,
}

impl Program {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SillyTavern => "SillyTavern",
            Self::DeepLore => "DeepLore",
            Self::SmartMemory => "Smart Memory",
        }
    }
}

/// What another program calls a setting.
#[derive(Clone, Copy, Debug)]
pub struct ProgramName {
    /// The program.
    pub program: Program,
    /// Its name there.
    pub name: &'static str,
    /// Its values there that we write in another way: theirs, ours. If there are any, others
    /// mean nothing here.
    pub words: &'static [(&'static str, &'static str)],
}

impl ProgramName {
    pub(crate) const fn words(self, words: &'static [(&'static str, &'static str)]) -> Self {
        Self { words, ..self }
    }
}

/// What `SillyTavern` calls it.
pub(crate) const fn st(name: &'static str) -> ProgramName {
    ProgramName { program: Program::SillyTavern, name, words: &[] }
}

/// What `DeepLore` calls it.
pub(crate) const fn dl(name: &'static str) -> ProgramName {
    ProgramName { program: Program::DeepLore, name, words: &[] }
}

/// What Smart Memory calls it.
pub(crate) const fn sm(name: &'static str) -> ProgramName {
    ProgramName { program: Program::SmartMemory, name, words: &[] }
}

const fn row(name: &'static str, kind: ValueKind, help: &'static str) -> Setting {
    Setting {
        name,
        help,
        kind,
        optional: false,
        unit: "",
        scopes: &[SettingScope::Server],
        takes_effect: TakesEffect::AtOnce,
        programs: &[],
        flag: None,
        path: None,
    }
}

/// `true` or `false`.
pub(crate) const fn switch(name: &'static str, help: &'static str) -> Setting {
    row(name, ValueKind::Switch, help)
}

/// A whole number.
pub(crate) const fn whole(
    name: &'static str,
    (least, most): (u64, u64),
    unit: &'static str,
    help: &'static str,
) -> Setting {
    Setting { unit, ..row(name, ValueKind::Integer { least, most }, help) }
}

/// Any number.
pub(crate) const fn number(
    name: &'static str,
    (least, most): (f64, f64),
    unit: &'static str,
    help: &'static str,
) -> Setting {
    Setting { unit, ..row(name, ValueKind::Number { least, most }, help) }
}

/// A text.
pub(crate) const fn text(name: &'static str, help: &'static str) -> Setting {
    row(name, ValueKind::Text, help)
}

/// One of some words.
pub(crate) const fn choice(
    name: &'static str,
    words: &'static [&'static str],
    help: &'static str,
) -> Setting {
    row(name, ValueKind::Choice(words), help)
}

/// A list of texts.
pub(crate) const fn texts(name: &'static str, help: &'static str) -> Setting {
    row(name, ValueKind::Texts, help)
}

/// A list or an object.
pub(crate) const fn data(name: &'static str, help: &'static str) -> Setting {
    row(name, ValueKind::Data, help)
}

impl Setting {
    /// The part of its name before the first dot.
    pub fn section(&self) -> &'static str {
        self.name.split_once('.').map_or(self.name, |(section, _)| section)
    }

    /// Whether it is for the whole server, and not for one tenant.
    pub fn is_server_wide(&self) -> bool {
        ["server", "store", "connection", "features", "limits"].contains(&self.section())
    }

    /// A value as everybody may see it: without the password of an address.
    pub fn shown(&self, value: Value) -> Value {
        match (self.name, &value) {
            ("store.address", Value::String(address)) => Value::String(without_password(address)),
            _ => value,
        }
    }

    /// Where it is in the tree, as a JSON pointer.
    pub(crate) fn pointer(&self) -> String {
        match self.path {
            Some(path) => path.to_owned(),
            None => format!("/{}", self.name.replace('.', "/")),
        }
    }

    /// What other programs call it. The settings of memory have the names of Smart Memory.
    pub fn names_elsewhere(&self) -> Vec<(Program, &'static str)> {
        let mut names: Vec<_> = self.programs.iter().map(|one| (one.program, one.name)).collect();
        let is_theirs = names.iter().any(|(program, _)| *program == Program::SmartMemory);
        if let Some(name) = self.name.strip_prefix("memory.")
            && !is_theirs
            && !name.contains('.')
            && !["on", "profile", "hardware", "places"].contains(&name)
            && !OWN_MEMORY.contains(&name)
        {
            names.push((Program::SmartMemory, name));
        }
        names
    }

    pub(crate) const fn at(self, path: &'static str) -> Self {
        Self { path: Some(path), ..self }
    }

    pub(crate) const fn or_none(self) -> Self {
        Self { optional: true, ..self }
    }

    pub(crate) const fn known_as(self, programs: &'static [ProgramName]) -> Self {
        Self { programs, ..self }
    }

    pub(crate) const fn for_books(self) -> Self {
        Self { scopes: &[SettingScope::Server, SettingScope::Book], ..self }
    }

    pub(crate) const fn for_vaults(self) -> Self {
        Self { scopes: &[SettingScope::Server, SettingScope::Vault], ..self }
    }

    pub(crate) const fn for_stories(self) -> Self {
        let scopes = &[SettingScope::Server, SettingScope::Character, SettingScope::Chat];
        Self { scopes, ..self }
    }

    pub(crate) const fn after_restart(self) -> Self {
        Self { takes_effect: TakesEffect::AfterRestart, ..self }
    }

    pub(crate) const fn at_start(self) -> Self {
        Self { takes_effect: TakesEffect::AtStart, ..self }
    }

    pub(crate) const fn flag(self, flag: &'static str) -> Self {
        Self { flag: Some(flag), ..self }
    }
}

/// What is written for a password.
const HIDDEN: &str = "***";

/// An address without its passwords: the one before the host, and those among its parameters.
fn without_password(address: &str) -> String {
    let Some((scheme, rest)) = address.split_once("://") else { return address.to_owned() };
    let (place, parameters) = match rest.split_once('?') {
        Some((place, parameters)) => (place, Some(parameters)),
        None => (rest, None),
    };
    let host_end = place.find('/').unwrap_or(place.len());
    // A password may hold an `@`.
    let place = match place[..host_end].rsplit_once('@') {
        Some((user, host)) => {
            let user = user
                .split_once(':')
                .map_or_else(|| user.to_owned(), |(name, _password)| format!("{name}:{HIDDEN}"));
            format!("{user}@{host}{}", &place[host_end..])
        }
        None => place.to_owned(),
    };
    let hidden = |parameter: &str| match parameter.split_once('=') {
        Some((name, _)) if name.contains("password") => format!("{name}={HIDDEN}"),
        _ => parameter.to_owned(),
    };
    let parameters = parameters.map(|all| all.split('&').map(hidden).collect::<Vec<_>>());
    let parameters = parameters.map_or_else(String::new, |all| format!("?{}", all.join("&")));
    format!("{scheme}://{place}{parameters}")
}

/// Settings of memory that Smart Memory does not have.
const OWN_MEMORY: [&str; 6] = [
    "recall_inject_budget",
    "structured_calls",
    "inject_cap",
    "state_ledger_expiry",
    "extract_every",
    "total_inject_budget",
];

#[cfg(test)]
mod tests {
    use super::without_password;

    #[test]
    fn passwords_of_addresses_are_hidden() {
        for (address, shown) in [
            (
                "postgres://ann:se:cr@t@db.example:5432/tales",
                "postgres://ann:***@db.example:5432/tales",
            ),
            ("postgres://ann@db.example/tales", "postgres://ann@db.example/tales"),
            ("postgres://db/tales?user=a&password=b", "postgres://db/tales?user=a&password=***"),
            ("sqlite:///data/tales@home.db", "sqlite:///data/tales@home.db"),
            ("tales.db", "tales.db"),
        ] {
            assert_eq!(without_password(address), shown);
        }
    }
}
