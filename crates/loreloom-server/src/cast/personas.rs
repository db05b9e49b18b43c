//! Personas: who the user plays.

use loreloom_formats::FormatError;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{characters::KeptPicture, kinds::CastDocument};

/// A stored persona.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct KeptPersona {
    /// The name: `{{user}}`. Books that are attached to a persona go by it.
    pub name: String,
    /// Who that is.
    pub description: String,
    /// A line for lists, such as where the persona is used.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// Whether new stories use it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub usual: bool,
    /// Its picture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub portrait: Option<KeptPicture>,
    /// What else its file said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original: Option<Value>,
}

impl CastDocument for KeptPersona {
    const PREFIX: &'static str = "persona/";
    const WHAT: &'static str = "persona";
}

/// Reads the personas of a SillyTavern backup (`personas`, `persona_descriptions`).
pub fn read_personas(bytes: &[u8]) -> Result<Vec<KeptPersona>, FormatError> {
    let unknown = |found: String| FormatError::Unknown {
        looked_for: "`personas` and `persona_descriptions`",
        found,
    };
    let file: Value =
        serde_json::from_slice(bytes).map_err(|error| unknown(format!("no JSON ({error})")))?;
    let names = file.get("personas").and_then(Value::as_object);
    let names = names.ok_or_else(|| unknown("a file without `personas`".to_owned()))?;
    let usual = file.get("default_persona").and_then(Value::as_str);
    let persona = |(avatar, name): (&String, &Value)| {
        let about = file.get("persona_descriptions").and_then(|all| all.get(avatar));
        let text = |field: &str| {
            let text = about.and_then(|about| about.get(field)).and_then(Value::as_str);
            text.unwrap_or_default().to_owned()
        };
        KeptPersona {
            name: name.as_str().unwrap_or(avatar).to_owned(),
            description: text("description"),
            title: text("title"),
            usual: usual == Some(avatar),
            portrait: None,
            original: about.cloned(),
        }
    };
    Ok(names.iter().map(persona).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn personas_of_a_backup_are_read_with_what_we_do_not_use() {
        let file = br#"{"personas":{"a.png":"Mira","b.png":"Sam"},"default_persona":"b.png",
            "persona_descriptions":{"a.png":{"description":"A cook.","position":4,"depth":2}}}"#;
        let personas = read_personas(file).unwrap();
        assert_eq!(personas[0].name, "Mira");
        assert_eq!(personas[0].description, "A cook.");
        assert_eq!(personas[0].original.as_ref().unwrap()["depth"], 2);
        assert_eq!((personas[1].name.as_str(), personas[1].usual), ("Sam", true));
        let error = read_personas(b"{}").unwrap_err().to_string();
        assert!(error.ends_with("found a file without `personas`"), "{error}");
    }
}
