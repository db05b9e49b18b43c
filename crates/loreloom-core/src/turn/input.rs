//! What a turn is decided from besides messages, books and state.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};

use super::{Selection, Transcript, Turn};
use crate::{
    assemble::Seams,
    book::{Entry, Extensions},
    cache_placement::Arrangement,
    chat::{GenerationType, Message, Path, Voices},
    dialects::vault::NoteMark,
    ids::{ChatId, ConnectionId, EntryId},
    library::{ActiveEntries, Attachment, Cast, Library},
    rules::Rules,
    state::StateDelta,
    units::{Timestamp, Tokens},
};

/// The input of a turn. It is stored with the turn, so that the turn can be replayed.
///
/// Rules that need something a front end did not state are ignored.
#[expect(clippy::struct_excessive_bools, reason = "each is one thing that can be true of a turn")]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TurnInput {
    /// What is generated.
    #[serde(skip_serializing_if = "is_default")]
    pub generation: GenerationType,
    /// The model's context size.
    pub context: Tokens,
    /// Whether a setting, the request or the model's server stated that size.
    #[serde(skip_serializing_if = "is_default")]
    pub context_stated: bool,
    /// The longest reply that the request asks for; 0 if it does not say.
    #[serde(skip_serializing_if = "is_default")]
    pub reply_tokens: Tokens,
    /// The most tokens that lore may take, where lore had to give way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lore_room: Option<Tokens>,
    /// The seed of all rolls.
    pub seed: u64,
    /// The time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// The user's name.
    pub user: String,
    /// Who speaks next.
    pub speaker: Option<Speaker>,
    /// The texts of card and persona.
    pub card: CardTexts,
    /// What the front end's prompt has before the chat, where it does not say which part is what.
    /// Entries that look into card or persona look here for texts that `card` does not have.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub card_block: String,
    /// Prompts of the front end that are scanned.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub prompts: Vec<ScannedPrompt>,
    /// Entries that the front end activates.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub forced: Vec<Forced>,
    /// Members of inclusion groups whose text the front end's prompt has already: it chose them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shown: Vec<EntryId>,
    /// The active books; `None` activates all of them globally.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attachments: Option<Vec<Attachment>>,
    /// Whether the front end runs its own regex scripts over the texts: then ours do not.
    #[serde(skip_serializing_if = "is_default")]
    pub scripts_elsewhere: bool,
    /// A dry run changes no state and ignores timed effects.
    pub dry_run: bool,
    /// The greeting the chat began with: 0 is the first message, 1 the first alternate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub greeting: Option<u32>,
    /// The name of the user's icon.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_icon: Option<String>,
    /// Whether the prompt is one text to complete instead of a list of messages.
    #[serde(skip_serializing_if = "is_default")]
    pub text_completion: bool,
    /// The template that such a text is written in, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
    /// The group, in a chat of several characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Entries whose meaning is near to the chat's.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub near: Vec<Near>,
    /// The gating context of vaults; `None` uses the one in the story's state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vault_context: Option<VaultContext>,
    /// The answer of the model that selects vault notes, if one was configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selection: Option<Selection>,
    /// Values of macros that only the front end knows, by lower-case name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub macros: BTreeMap<String, String>,
    /// The names that the front end gave the messages.
    #[serde(skip_serializing_if = "is_default")]
    pub voices: Voices,
    /// The connection it was sent over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection: Option<ConnectionId>,
    /// The requested model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How injections were moved for the prompt cache; `None` if they stayed in place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arrangement: Option<Arrangement>,
    /// Keys, as written, whose expressions were too slow in an earlier turn with the same
    /// library. They are not tried.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub suspended_keys: Vec<String>,
    /// What the state had besides the deltas on the path: effects of messages that were edited or
    /// hidden since.
    #[serde(skip_serializing_if = "StateDelta::is_empty")]
    pub carried: StateDelta,
    /// Where in the prompt the injections were put.
    #[serde(skip_serializing_if = "is_default")]
    pub seams: Seams,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl TurnInput {
    /// The turn with this input at the end of `path`.
    pub fn turn<'a>(&'a self, path: &'a Path, transcript: &'a Transcript) -> Turn<'a> {
        Turn::new(self, path, transcript)
    }

    /// Who takes part in `chat`.
    pub fn cast<'a>(&'a self, chat: &'a ChatId) -> Cast<'a> {
        Cast {
            chat,
            character: self.speaker.as_ref().map(|speaker| speaker.name.as_str()),
            persona: &self.user,
            group: self.group.as_deref(),
        }
    }

    /// The path with the names that the turn saw, from its stored messages.
    pub fn path(&self, chat: ChatId, messages: impl IntoIterator<Item = Message>) -> Path {
        Path::of(chat, self.voices.retell(messages))
    }

    /// The entries that take part, from the library of the turn.
    pub fn active_entries(&self, library: &Library, rules: &Rules) -> ActiveEntries {
        let strategy = rules.world_info.strategy;
        match &self.attachments {
            Some(attachments) => ActiveEntries::new(library, attachments, strategy),
            None => ActiveEntries::all(library, strategy),
        }
    }
}

/// Who speaks next.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Speaker {
    /// The character's name.
    pub name: String,
    /// The name that character filters compare with: SillyTavern's avatar file without its
    /// extension.
    pub filter_name: Option<String>,
    /// The character's tags; `None` if the front end does not state them.
    pub tags: Option<Vec<String>>,
}

impl Speaker {
    /// A character known only by name. Filters compare with that name.
    pub fn named(name: impl Into<String>) -> Self {
        let name = name.into();
        Self { filter_name: Some(name.clone()), tags: None, name }
    }
}

/// The texts of card and persona that may be scanned.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct CardTexts {
    /// The persona's description.
    pub persona: String,
    /// The character's description.
    pub description: String,
    /// The character's personality.
    pub personality: String,
    /// The character's note.
    pub depth_prompt: String,
    /// The scenario.
    pub scenario: String,
    /// The creator's notes.
    pub creator_notes: String,
}

/// A prompt of the front end that is scanned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScannedPrompt {
    /// Its name.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// An entry that the front end activates this turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Forced {
    /// The entry.
    pub entry: EntryId,
    /// What to use instead of the stored entry.
    pub instead: Option<Arc<Entry>>,
}

/// An entry found by its meaning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Near {
    /// The entry.
    pub entry: EntryId,
    /// How near it is; higher is nearer.
    pub score: f64,
}

/// The context that gates vault notes, and the notes people pin or block in this chat.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct VaultContext {
    /// Era, place and other fields that the vault's notes are gated by.
    #[serde(skip_serializing_if = "Extensions::is_empty")]
    pub context: Extensions,
    /// Only notes in these folders are used; empty means all folders.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub folders: Vec<String>,
    /// Notes that are always in.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pins: Vec<NoteMark>,
    /// Notes that are never in.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<NoteMark>,
}
