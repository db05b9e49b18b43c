//! One message of a story.

use serde::{Deserialize, Serialize};

use super::{Extras, Text};

/// Who a message is from, as models know it.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Instructions.
    #[default]
    System,
    /// The person.
    User,
    /// The model.
    Assistant,
    /// The result of a tool call.
    Tool,
}

impl Role {
    /// The name used on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }
}

/// What the front end asks the model for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum GenerationType {
    /// The next reply.
    #[default]
    Normal,
    /// More of the last reply.
    Continue,
    /// A message in the user's name.
    Impersonate,
    /// Another version of the last reply.
    Swipe,
    /// The last reply again.
    Regenerate,
    /// A background generation that is not part of the story.
    Quiet,
    /// Nothing: the chat's notebooks or its scene were changed. Adds to what the turns on the
    /// same message left, and is no turn to look at.
    Edit,
}

impl GenerationType {
    /// The name lorebooks use in their triggers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Continue => "continue",
            Self::Impersonate => "impersonate",
            Self::Swipe => "swipe",
            Self::Regenerate => "regenerate",
            Self::Quiet => "quiet",
            Self::Edit => "edit",
        }
    }

    /// What a front end may ask for.
    pub const ASKED: [Self; 6] = [
        Self::Normal,
        Self::Continue,
        Self::Impersonate,
        Self::Swipe,
        Self::Regenerate,
        Self::Quiet,
    ];

    /// What a front end asks for by that name.
    pub fn asked(name: &str) -> Option<Self> {
        Self::ASKED.into_iter().find(|one| one.as_str() == name)
    }

    /// The type of that name; unknown ones are `normal`, as in SillyTavern.
    pub fn from_name(name: &str) -> Self {
        match name {
            "continue" => Self::Continue,
            "impersonate" => Self::Impersonate,
            "swipe" => Self::Swipe,
            "regenerate" => Self::Regenerate,
            "quiet" => Self::Quiet,
            _ => Self::Normal,
        }
    }
}

/// A message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Message {
    /// Who it is from.
    pub role: Role,
    /// The speaker's name, where known.
    pub name: Option<String>,
    /// The text without a speaker prefix.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub text: Text,
    /// Hidden messages stay in the chat but are not sent.
    #[serde(default)]
    pub hidden: bool,
    /// Fields of the front end that we do not model.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(value_type = Object))]
    pub extensions: Extras,
}

impl Message {
    /// Whether the model and the scanner see it. A narrator has a name; a text of the system
    /// without one is an instruction.
    pub fn is_seen(&self) -> bool {
        !self.hidden && (self.role != Role::System || self.name.is_some())
    }

    /// Whether nobody speaks it. SillyTavern writes a narrator's line like a reply and marks it.
    pub fn is_narration(&self) -> bool {
        let kind = self.extensions.get("extra").and_then(|extra| extra.get("type"));
        self.role == Role::System || kind.is_some_and(|kind| kind == "narrator")
    }

    /// A visible message.
    pub fn new(role: Role, name: Option<&str>, text: impl Into<Text>) -> Self {
        Self {
            role,
            name: name.map(str::to_owned),
            text: text.into(),
            hidden: false,
            extensions: Extras::default(),
        }
    }
}
