//! Tells formats apart by what a file holds, not by how it is called.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "JSON has six kinds of values and will have no more"
)]

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{
    error::FormatError,
    json::{self, Json, Node},
    limits::Limits,
    note::Notes,
    text,
};

/// A file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// `SillyTavern` World Info.
    Sillytavern,
}

impl Format {
    /// The format's name in reports, on the command line and in [`loreloom_core::book::Origin`].
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sillytavern => "sillytavern",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// The format of a file.
pub fn detect(bytes: &[u8]) -> Result<Format, FormatError> {
    let limits = Limits::default();
    let text = text::decode(bytes, &mut Notes::default());
    let parsed = json::parse(text::without_bom(&text), limits.nesting)?;
    of_json(&parsed.root)
}

/// The format of a JSON document; the first test that fits decides.
pub(crate) fn of_json(root: &Node<'_>) -> Result<Format, FormatError> {
    let entries = root.get("entries");
    if entries.is_some_and(Node::is_object) {
        return Ok(Format::Sillytavern);
    }
    if let Some(entries) = entries.filter(|entries| entries.is_array()) {
        let has = |key: &str| entries.items().iter().any(|item| item.get(key).is_some());
        if has("key") && has("content") {
            return Ok(Format::Sillytavern);
        }
    }
    Err(unknown(root))
}

fn unknown(root: &Node<'_>) -> FormatError {
    FormatError::Unknown { looked_for: "`entries`", found: shown_keys(root) }
}

/// The keys of an object, for messages.
pub(crate) fn shown_keys(root: &Node<'_>) -> String {
    const SHOWN: usize = 12;
    match &root.value {
        Json::Object(members) if members.is_empty() => "an object without keys".to_owned(),
        Json::Object(members) => {
            let keys: Vec<String> =
                members.iter().take(SHOWN).map(|member| format!("`{}`", member.key)).collect();
            format!("an object with {}", keys.join(", "))
        }
        _ => root.kind().to_owned(),
    }
}
