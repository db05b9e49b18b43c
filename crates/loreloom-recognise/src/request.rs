//! A request as every front end means it, whatever its wire format.

use loreloom_core::chat::{GenerationType, Role, Text};

/// What a front end asks a model for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// Who sends it: the user agent. Habits are kept per client.
    pub client: String,
    /// What the request says about itself.
    pub explicit: Explicit,
    /// Whether the reply is to be streamed; `None` if the request does not say.
    pub stream: Option<bool>,
    /// Whether a reply of a fixed shape (a JSON schema) is asked for.
    pub structured: bool,
    /// Texts at which the model must stop. Front ends put the user's name there.
    pub stop: Vec<String>,
    /// The prompt.
    pub body: Body,
}

/// The prompt of a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// Messages.
    Messages(Vec<WireMessage>),
    /// One text, with the turns written into it.
    Prompt(String),
}

impl Default for Body {
    fn default() -> Self {
        Self::Messages(Vec::new())
    }
}

/// What a request says about itself. It wins over anything found in the prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Explicit {
    /// The chat's id.
    pub chat: Option<String>,
    /// The response that it follows, by the id that the model's server gave it.
    pub follows: Option<String>,
    /// The kind of generation.
    pub generation: Option<GenerationType>,
    /// The user's name; an empty one takes back the name that was given before.
    pub user: Option<String>,
    /// The name of the character who is to speak; an empty one takes it back.
    pub char: Option<String>,
    /// The author's note that the front end puts into the prompt itself.
    pub placed_note: Option<String>,
}

/// One message of a prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WireMessage {
    /// Its role.
    pub role: Role,
    /// Its `name` field.
    pub name: Option<String>,
    /// Its text; parts that are not text are left out.
    pub text: Text,
    /// Its text as the story has it, where that is another: without lore that the model
    /// repeated.
    pub story_text: Option<Text>,
    /// Whether it is known that its text has none of the phrases that name speakers.
    pub nameless: bool,
    /// Whether it calls tools or answers a call: such messages stay together.
    pub tool: bool,
}

impl Request {
    /// The size of the prompt in bytes.
    pub(super) fn size(&self) -> usize {
        match &self.body {
            Body::Messages(messages) => messages.iter().map(|message| message.text.len()).sum(),
            Body::Prompt(prompt) => prompt.len(),
        }
    }
}
