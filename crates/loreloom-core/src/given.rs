//! What a turn was given besides messages, books and state: enough to decide it again.
//!
//! The report's facts name the rest (context, seed, generation, tokenizer, time).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    assemble::Seams,
    chat::{GenerationType, Message, Path, Voices},
    ids::{ChatId, ConnectionId},
    library::{Attachment, Library, Roster},
    report::TurnFacts,
    rules::Rules,
    stable::Arrangement,
    turn::{
        CardTexts, Forced, Host, Near, ScannedPrompt, Scene, Selection, Speaker, Transcript, Turn,
    },
    units::{Timestamp, Tokens},
};

/// What a turn was given.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Given {
    /// The user's name.
    pub user: String,
    /// Who was to speak.
    pub speaker: Option<Speaker>,
    /// The texts of card and persona.
    pub card: CardTexts,
    /// Prompts that asked to be scanned.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub prompts: Vec<ScannedPrompt>,
    /// Entries the host wanted in.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub forced: Vec<Forced>,
    /// Which books were active; `None` for all of them, globally.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attachments: Option<Vec<Attachment>>,
    /// Whether it was a dry run.
    pub dry_run: bool,
    /// The greeting the chat began with, where the host told it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub greeting: Option<u32>,
    /// The user's icon, where the host told it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_icon: Option<String>,
    /// Whether the prompt was a text to be completed.
    #[serde(skip_serializing_if = "is_default")]
    pub text: bool,
    /// The group, in a chat of several characters, where the host told it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Entries found by meaning.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub near: Vec<Near>,
    /// What the scene was like.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scene: Option<Scene>,
    /// What the selecting model answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selection: Option<Selection>,
    /// What macros stood for that only the host knew, by names in small letters.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub macros: BTreeMap<String, String>,
    /// The names its messages were told under.
    #[serde(skip_serializing_if = "is_default")]
    pub voices: Voices,
    /// The connection it was sent over, where the host has several or names its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection: Option<ConnectionId>,
    /// The model that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How its texts were kept in place for the prompt cache; `None` if they stand where
    /// their authors want them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arrangement: Option<Arrangement>,
    /// How the lore was sewn into the prompt.
    #[serde(skip_serializing_if = "is_default")]
    pub seams: Seams,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Given {
    /// What `turn` is given on `path`, all books being active everywhere. Seams are known
    /// once the prompt is assembled.
    pub fn of(turn: &Turn<'_>, path: &Path) -> Self {
        Self {
            user: turn.user.to_owned(),
            speaker: turn.speaker.cloned(),
            card: turn.card.clone(),
            prompts: turn.prompts.to_vec(),
            forced: turn.forced.to_vec(),
            attachments: None,
            dry_run: turn.dry_run,
            greeting: turn.host.greeting,
            user_icon: turn.host.user_icon.map(str::to_owned),
            text: turn.host.text,
            group: turn.host.group.map(str::to_owned),
            near: turn.host.near.to_vec(),
            scene: turn.host.scene.cloned(),
            selection: turn.host.selection.cloned(),
            macros: turn.host.macros.cloned().unwrap_or_default(),
            voices: Voices::of(path),
            connection: None,
            model: None,
            arrangement: None,
            seams: Seams::default(),
        }
    }

    /// The path as the turn saw it, of the messages stored for it.
    pub fn path(&self, chat: ChatId, messages: impl IntoIterator<Item = Message>) -> Path {
        Path::of(chat, self.voices.retell(messages))
    }

    /// The entries that took part, of the library as it was.
    pub fn roster(&self, library: &Library, rules: &Rules) -> Roster {
        let strategy = rules.world_info.strategy;
        match &self.attachments {
            Some(attachments) => Roster::new(library, attachments, strategy),
            None => Roster::all(library, strategy),
        }
    }
}

/// How the model is asked for a reply: what a turn is given, and what its report names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Asked {
    /// What for.
    pub generation: GenerationType,
    /// The model's context size.
    pub context: Tokens,
    /// The seed of all rolls.
    pub seed: u64,
    /// When.
    pub at: Option<Timestamp>,
    /// The rest.
    pub given: Given,
}

impl Asked {
    /// How the model was asked at a turn.
    pub fn of(given: Given, facts: &TurnFacts) -> Self {
        let TurnFacts { generation, context, seed, at, .. } = *facts;
        Self { generation, context, seed, at, given }
    }

    /// The turn, on [its path](Given::path).
    pub fn turn<'a>(&'a self, path: &'a Path, transcript: &'a Transcript) -> Turn<'a> {
        let given = &self.given;
        Turn {
            chat: path.chat(),
            prefix: path.prefix(),
            answers: path.last_user(),
            transcript,
            generation: self.generation,
            speaker: given.speaker.as_ref(),
            user: &given.user,
            card: &given.card,
            prompts: &given.prompts,
            forced: &given.forced,
            context: self.context,
            seed: self.seed,
            at: self.at,
            dry_run: given.dry_run,
            host: Host {
                greeting: given.greeting,
                user_icon: given.user_icon.as_deref(),
                text: given.text,
                group: given.group.as_deref(),
                near: &given.near,
                scene: given.scene.as_ref(),
                selection: given.selection.as_ref(),
                macros: Some(&given.macros),
            },
        }
    }
}
