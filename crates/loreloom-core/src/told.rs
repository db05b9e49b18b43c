//! What a host tells of a story besides its messages: the scene, what people want in or out,
//! the greeting it began with, the author's note.
//!
//! Once told it holds for what follows on the path, until it is told otherwise: it is part of
//! the story's state.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};

use crate::{
    book::Extensions,
    chat::Role,
    note::AuthorsNote,
    place::{Injection, Place, Provenance},
    tokens::TokenCounter,
    turn::Scene,
    units::Depth,
    vault::Mark,
};

/// What a host tells; what it leaves out stays as it was.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Told {
    /// Era, place and whatever else a vault's fields ask for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scene: Option<Extensions>,
    /// Folders of vaults that are looked into; none is all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folders: Option<Vec<String>>,
    /// Notes that must be in, by title, or by vault and title.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "marks")]
    pub pins: Option<Vec<Mark>>,
    /// Notes that must not.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "marks")]
    pub blocks: Option<Vec<Mark>>,
    /// The greeting the chat began with, counted from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub greeting: Option<u32>,
    /// What macros stand for that only the host knows: `mesExamples`, `model`, `group` …
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "names")]
    pub macros: Option<BTreeMap<String, String>>,
    /// The group whose chat it is, by name: its books are in; an empty name is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The author's note; an empty text takes it away.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<ToldNote>,
}

/// An author's note as a host tells it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ToldNote {
    /// Its text.
    pub text: String,
    /// How many messages from the end.
    pub depth: u32,
    /// As whose message.
    pub role: Role,
    /// Every so many messages of the user.
    pub interval: u32,
}

impl Default for ToldNote {
    fn default() -> Self {
        Self { text: String::new(), depth: 4, role: Role::System, interval: 1 }
    }
}

impl Told {
    /// What holds if this is told after `before`.
    #[must_use]
    pub fn after(&self, before: &Self) -> Self {
        let later = self.clone();
        let earlier = before.clone();
        Self {
            scene: later.scene.or(earlier.scene),
            folders: later.folders.or(earlier.folders),
            pins: later.pins.or(earlier.pins),
            blocks: later.blocks.or(earlier.blocks),
            greeting: later.greeting.or(earlier.greeting),
            macros: later.macros.or(earlier.macros),
            group: later.group.or(earlier.group),
            note: later.note.or(earlier.note),
        }
    }

    /// The group whose chat it is.
    pub fn group(&self) -> Option<&str> {
        self.group.as_deref().map(str::trim).filter(|name| !name.is_empty())
    }

    /// Whether nothing is told.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The scene, if anything is told of it; what is not is as it was `before`.
    pub fn scene(&self, before: &Scene) -> Option<Scene> {
        let scene = Scene {
            context: self.scene.clone().unwrap_or_else(|| before.context.clone()),
            folders: self.folders.clone().unwrap_or_else(|| before.folders.clone()),
            pins: self.pins.clone().unwrap_or_else(|| before.pins.clone()),
            blocks: self.blocks.clone().unwrap_or_else(|| before.blocks.clone()),
        };
        (scene != *before).then_some(scene)
    }

    /// The author's note, if it is due after so many messages of the user.
    pub fn note(&self, user_messages: u32, counter: &dyn TokenCounter) -> Option<Injection> {
        let ToldNote { text, depth, role, interval } = self.note.clone()?;
        let depth = Depth(depth);
        let note = AuthorsNote { text, interval, depth, role, scan: false };
        (note.is_due(user_messages) && !note.text.trim().is_empty()).then(|| Injection {
            place: Place::AtDepth(depth),
            role,
            tokens: counter.count(&note.text),
            text: note.text,
            source: Provenance::AuthorsNote,
        })
    }
}

/// Macros are found whatever the case of their names, with and without strokes.
fn names<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<BTreeMap<String, String>>, D::Error> {
    let told = Option::<BTreeMap<String, String>>::deserialize(deserializer)?;
    let bare = |name: String| name.to_ascii_lowercase().replace(['_', '-'], "");
    Ok(told.map(|told| told.into_iter().map(|(name, value)| (bare(name), value)).collect()))
}

/// Notes by title, or by vault and title.
fn marks<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<Mark>>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Named {
        Title(String),
        Mark(Mark),
    }
    let named = Option::<Vec<Named>>::deserialize(deserializer)?;
    let mark = |named| match named {
        Named::Title(title) => Mark { title, vault: None },
        Named::Mark(mark) => mark,
    };
    Ok(named.map(|named| named.into_iter().map(mark).collect()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tokens::ByteEstimate;

    fn told(json: serde_json::Value) -> Told {
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn what_is_told_later_wins_and_what_is_left_out_stays() {
        let before = told(json!({"scene": {"era": "old"}, "pins": ["Bell"], "greeting": 1}));
        let later = told(json!({"pins": [{"title": "Gate", "vault": "v"}], "note": {"text": "N"}}));
        let both = later.after(&before);
        let expected = json!({
            "scene": {"era": "old"}, "pins": [{"title": "Gate", "vault": "v"}], "greeting": 1,
            "note": {"text": "N", "depth": 4, "role": "system", "interval": 1},
        });
        assert_eq!(serde_json::to_value(&both).unwrap(), expected);
        assert_eq!(told(json!({"pins": []})).after(&both).pins, Some(Vec::new()));
        assert!(Told::default().after(&Told::default()).scene(&Scene::default()).is_none());
        let scene = later.scene(&Scene { folders: vec!["a".to_owned()], ..Scene::default() });
        assert_eq!(scene.map(|scene| (scene.folders.len(), scene.pins.len())), Some((1, 1)));
        assert!(serde_json::from_value::<Told>(json!({"pin": []})).is_err());
        let group = told(json!({"group": "Harbour folk"}));
        assert_eq!(later.after(&group).group(), Some("Harbour folk"));
        assert_eq!(told(json!({"group": ""})).after(&group).group(), None);
    }

    #[test]
    fn a_note_comes_when_it_is_due() {
        let note = told(json!({"note": {"text": "Slowly.", "interval": 2, "depth": 1}}));
        for (messages, due) in [(1, false), (2, true), (3, false), (4, true)] {
            assert_eq!(note.note(messages, &ByteEstimate).is_some(), due, "{messages}");
        }
        let gone = told(json!({"note": {"text": ""}}));
        assert_eq!(gone.note(1, &ByteEstimate), None);
    }
}
