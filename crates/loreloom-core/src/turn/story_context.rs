//! What a front end states about a story besides its messages: the scene, pinned and blocked
//! notes, the greeting, the author's note.
//!
//! A statement holds for the rest of the path until another replaces it, so it is part of the
//! story's state.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};

use super::{CardTexts, VaultContext};
use crate::{
    book::Extensions,
    chat::Role,
    dialects::vault::NoteMark,
    note::AuthorsNote,
    place::{Injection, Place, Provenance},
    tokens::TokenCounter,
    units::Depth,
};

/// What a front end states. Fields it leaves out keep their earlier value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StoryContext {
    /// Era, place and other fields that vault notes are gated by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scene: Option<Extensions>,
    /// Only vault notes in these folders are used; empty means all folders.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folders: Option<Vec<String>>,
    /// Notes that are always in, by title, or by vault and title.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "marks")]
    pub pins: Option<Vec<NoteMark>>,
    /// Notes that are never in.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "marks")]
    pub blocks: Option<Vec<NoteMark>>,
    /// The greeting the chat began with, counted from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub greeting: Option<u32>,
    /// Values of macros that only the front end knows: `mesExamples`, `model`, `group` …
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "names")]
    pub macros: Option<BTreeMap<String, String>>,
    /// The name of the group chat, whose books are active; an empty name is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The author's note; an empty text removes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<StatedNote>,
    /// The user's name; an empty name means that the request shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The name of the character who speaks; an empty name means that the request shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub char: Option<String>,
    /// The texts of card and persona.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub card: Option<CardTexts>,
}

/// An author's note that a front end states.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StatedNote {
    /// Its text.
    pub text: String,
    /// How many messages from the end.
    pub depth: u32,
    /// The role of its message.
    pub role: Role,
    /// Every so many messages of the user.
    pub interval: u32,
}

impl Default for StatedNote {
    fn default() -> Self {
        Self { text: String::new(), depth: 4, role: Role::System, interval: 1 }
    }
}

impl StoryContext {
    /// What holds after this is stated on top of `before`.
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
            user: later.user.or(earlier.user),
            char: later.char.or(earlier.char),
            card: later.card.or(earlier.card),
        }
    }

    /// The user's name.
    pub fn user(&self) -> Option<&str> {
        named(self.user.as_deref())
    }

    /// The name of the character who speaks.
    pub fn char(&self) -> Option<&str> {
        named(self.char.as_deref())
    }

    /// The name of the group chat.
    pub fn group(&self) -> Option<&str> {
        named(self.group.as_deref())
    }

    /// Whether nothing is stated.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The vault context with the stated fields, if that differs from `before`.
    pub fn vault_context(&self, before: &VaultContext) -> Option<VaultContext> {
        let stated = VaultContext {
            context: self.scene.clone().unwrap_or_else(|| before.context.clone()),
            folders: self.folders.clone().unwrap_or_else(|| before.folders.clone()),
            pins: self.pins.clone().unwrap_or_else(|| before.pins.clone()),
            blocks: self.blocks.clone().unwrap_or_else(|| before.blocks.clone()),
        };
        (stated != *before).then_some(stated)
    }

    /// The author's note, if it is due after so many messages of the user.
    pub fn note(&self, user_messages: u32, counter: &dyn TokenCounter) -> Option<Injection> {
        let StatedNote { text, depth, role, interval } = self.note.clone()?;
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

/// A name that is not empty.
fn named(name: Option<&str>) -> Option<&str> {
    name.map(str::trim).filter(|name| !name.is_empty())
}

/// Macro names are matched without case, `_` and `-`.
fn names<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<BTreeMap<String, String>>, D::Error> {
    let macros = Option::<BTreeMap<String, String>>::deserialize(deserializer)?;
    let bare = |name: String| name.to_ascii_lowercase().replace(['_', '-'], "");
    Ok(macros.map(|all| all.into_iter().map(|(name, value)| (bare(name), value)).collect()))
}

/// Notes by title, or by vault and title.
fn marks<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<NoteMark>>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Named {
        Title(String),
        NoteMark(NoteMark),
    }
    let named = Option::<Vec<Named>>::deserialize(deserializer)?;
    let mark = |named| match named {
        Named::Title(title) => NoteMark { title, vault: None },
        Named::NoteMark(mark) => mark,
    };
    Ok(named.map(|named| named.into_iter().map(mark).collect()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tokens::ByteEstimate;

    fn stated(json: serde_json::Value) -> StoryContext {
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn later_statements_win_and_missing_fields_keep_their_value() {
        let before = stated(json!({"scene": {"era": "old"}, "pins": ["Bell"], "greeting": 1}));
        let later =
            stated(json!({"pins": [{"title": "Gate", "vault": "v"}], "note": {"text": "N"}}));
        let both = later.after(&before);
        let expected = json!({
            "scene": {"era": "old"}, "pins": [{"title": "Gate", "vault": "v"}], "greeting": 1,
            "note": {"text": "N", "depth": 4, "role": "system", "interval": 1},
        });
        assert_eq!(serde_json::to_value(&both).unwrap(), expected);
        assert_eq!(stated(json!({"pins": []})).after(&both).pins, Some(Vec::new()));
        assert!(
            StoryContext::default()
                .after(&StoryContext::default())
                .vault_context(&VaultContext::default())
                .is_none()
        );
        let before = VaultContext { folders: vec!["a".to_owned()], ..VaultContext::default() };
        let merged = later.vault_context(&before);
        assert_eq!(merged.map(|one| (one.folders.len(), one.pins.len())), Some((1, 1)));
        assert!(serde_json::from_value::<StoryContext>(json!({"pin": []})).is_err());
        let group = stated(json!({"group": "Harbour folk"}));
        assert_eq!(later.after(&group).group(), Some("Harbour folk"));
        assert_eq!(stated(json!({"group": ""})).after(&group).group(), None);
        let names = stated(json!({"user": "Wren", "char": "Mira Vell"}));
        let other = stated(json!({"char": "Tobin"})).after(&names);
        assert_eq!((other.user(), other.char()), (Some("Wren"), Some("Tobin")));
        assert_eq!(stated(json!({"user": " "})).after(&names).user(), None);
        assert!(serde_json::from_value::<StoryContext>(json!({"card": {"persone": "x"}})).is_err());
    }

    #[test]
    fn a_note_is_injected_when_it_is_due() {
        let note = stated(json!({"note": {"text": "Slowly.", "interval": 2, "depth": 1}}));
        for (messages, due) in [(1, false), (2, true), (3, false), (4, true)] {
            assert_eq!(note.note(messages, &ByteEstimate).is_some(), due, "{messages}");
        }
        let gone = stated(json!({"note": {"text": ""}}));
        assert_eq!(gone.note(1, &ByteEstimate), None);
    }
}
