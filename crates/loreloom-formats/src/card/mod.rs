//! Character cards: V1, V2, V3 and the older Pygmalion names.
//!
//! The book inside a card is read by [`book`] into a [`loreloom_core::book::Book`]; the
//! rest of the card is a [`Card`].

pub(crate) mod book;
mod book_write;
mod conversion;
mod json;

use loreloom_core::{book::Extensions, library::Binding};
use serde::{Deserialize, Serialize};

pub(crate) use self::{
    conversion::{fields, write_whole},
    json::{mirrors, named, read, root_members, to_v2, write},
};

/// Which standard a card follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum CardVersion {
    /// Six fields at the root.
    V1,
    /// `chara_card_v2`.
    V2,
    /// `chara_card_v3`.
    V3,
    /// `char_name` and the like at the root.
    Pygmalion,
    /// `context` and `greeting` at the root, as text-generation-webui has them.
    Webui,
}

impl Card {
    /// What the character is called in a chat.
    pub fn spoken_name(&self) -> &str {
        self.nickname.as_deref().filter(|name| !name.trim().is_empty()).unwrap_or(&self.name)
    }

    /// What its book is attached to. A front end calls the character by its nickname, as Character
    /// Card V3 says, or by its name, as SillyTavern does.
    pub fn own_bindings(&self) -> Vec<Binding> {
        let spoken = self.spoken_name();
        let names = [Some(spoken), Some(self.name.as_str()).filter(|name| *name != spoken)];
        names.into_iter().flatten().map(|name| Binding::Card(name.to_owned())).collect()
    }
}

/// A character without its book.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Card {
    /// The standard it follows.
    pub version: CardVersion,
    /// The character's name.
    pub name: String,
    /// The value of `{{char}}`, if not the name (V3).
    pub nickname: Option<String>,
    /// Who the character is.
    pub description: String,
    /// The character's traits.
    pub personality: String,
    /// Where the story takes place.
    pub scenario: String,
    /// The first greeting.
    pub first_mes: String,
    /// How the character talks.
    pub mes_example: String,
    /// For people, never sent to the model.
    pub creator_notes: String,
    /// Replaces the main prompt; may hold `{{original}}`.
    pub system_prompt: String,
    /// Replaces the prompt after the chat; may hold `{{original}}`.
    pub post_history_instructions: String,
    /// Other first greetings.
    pub alternate_greetings: Vec<String>,
    /// Greetings for group chats (V3).
    pub group_only_greetings: Vec<String>,
    /// For searching.
    pub tags: Vec<String>,
    /// Who made the card.
    pub creator: String,
    /// The card's own version.
    pub character_version: String,
    /// A note put into the chat at some depth (`extensions.depth_prompt`).
    pub depth_prompt: Option<DepthPrompt>,
    /// The name of a linked SillyTavern book (`extensions.world`).
    pub world: Option<String>,
    /// Pictures and the like (V3).
    pub assets: Vec<Asset>,
    /// Everything else in the card's data, in file order.
    #[cfg_attr(feature = "schema", schema(value_type = Object))]
    pub extensions: Extensions,
    /// What the file has at its root beside `spec` and `data`: copies of fields for older
    /// programs, and what `SillyTavern` keeps there (`fav`, `chat`, `create_date`).
    #[serde(default, skip_serializing_if = "Extensions::is_empty")]
    #[cfg_attr(feature = "schema", schema(value_type = Object))]
    pub root: Extensions,
}

impl Card {
    /// The texts that go into prompts, by the names of their fields.
    pub fn texts(&self) -> Vec<(&'static str, &str)> {
        let depth_prompt = self.depth_prompt.as_ref().map_or("", |note| note.prompt.as_str());
        let mut texts = vec![
            ("description", self.description.as_str()),
            ("personality", &self.personality),
            ("scenario", &self.scenario),
            ("first_mes", &self.first_mes),
            ("mes_example", &self.mes_example),
            ("system_prompt", &self.system_prompt),
            ("post_history_instructions", &self.post_history_instructions),
            ("depth_prompt", depth_prompt),
        ];
        let greetings = self.alternate_greetings.iter();
        texts.extend(greetings.map(|text| ("alternate_greetings", text.as_str())));
        let greetings = self.group_only_greetings.iter();
        texts.extend(greetings.map(|text| ("group_only_greetings", text.as_str())));
        texts
    }
}

/// A note put into the chat at some depth.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct DepthPrompt {
    /// The text.
    pub prompt: String,
    /// Messages from the newest.
    pub depth: u32,
    /// `system`, `user` or `assistant`.
    pub role: String,
    /// Everything else that is said about it.
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schema(value_type = Object))]
    pub others: Extensions,
}

/// A file that belongs to a card.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Asset {
    /// `icon`, `background`, `emotion`, ...
    #[serde(rename = "type")]
    pub kind: String,
    /// Where it is: `ccdefault:`, `embeded://path`, a web address.
    pub uri: String,
    /// Its name among its kind.
    pub name: String,
    /// The file's extension.
    pub ext: String,
    /// Everything else that is said about it.
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schema(value_type = Object))]
    pub others: Extensions,
}
