//! Messages as columns: role and text are shared, the rest belongs to the node.

use loreloom_core::{
    chat::{Extras, GenerationType, Message, Role},
    digest::Hasher,
    ids::Digest,
};

/// The part of a message that nodes and prompts share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MessageText {
    pub(crate) role: Role,
    pub(crate) text: String,
}

impl MessageText {
    pub(crate) fn from_columns(role: i64, text: String) -> Result<Self, String> {
        Ok(Self { role: role_from(role)?, text })
    }

    /// Its name inside the chat.
    pub(crate) fn hash(&self) -> Digest {
        message_hash(self.role, &self.text)
    }
}

/// The number of a role in its column.
pub(crate) fn role_number(role: Role) -> i64 {
    match role {
        Role::System => 0,
        Role::User => 1,
        Role::Assistant => 2,
        Role::Tool => 3,
    }
}

fn role_from(number: i64) -> Result<Role, String> {
    match number {
        0 => Ok(Role::System),
        1 => Ok(Role::User),
        2 => Ok(Role::Assistant),
        3 => Ok(Role::Tool),
        other => Err(format!("role {other} is unknown")),
    }
}

/// The number of a generation type in its column.
pub(crate) fn generation_number(generation: GenerationType) -> i64 {
    match generation {
        GenerationType::Normal => 0,
        GenerationType::Continue => 1,
        GenerationType::Impersonate => 2,
        GenerationType::Swipe => 3,
        GenerationType::Regenerate => 4,
        GenerationType::Quiet => 5,
        GenerationType::Edit => 6,
    }
}

pub(crate) fn generation_from(number: i64) -> Result<GenerationType, String> {
    match number {
        0 => Ok(GenerationType::Normal),
        1 => Ok(GenerationType::Continue),
        2 => Ok(GenerationType::Impersonate),
        3 => Ok(GenerationType::Swipe),
        4 => Ok(GenerationType::Regenerate),
        5 => Ok(GenerationType::Quiet),
        6 => Ok(GenerationType::Edit),
        other => Err(format!("generation type {other} is unknown")),
    }
}

/// The name of a role and text inside the chat.
pub(crate) fn message_hash(role: Role, text: &str) -> Digest {
    Hasher::new("message text").field(role.as_str().as_bytes()).field(text.as_bytes()).finish()
}

/// The part of a message that belongs to its node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NodeColumns {
    /// The speaker's name.
    pub(crate) name: Option<String>,
    pub(crate) hidden: bool,
    /// The extensions as JSON, if there are any.
    pub(crate) extensions: Option<String>,
}

impl NodeColumns {
    pub(crate) fn of(message: &Message) -> Result<Self, serde_json::Error> {
        let some = !message.extensions.is_empty();
        let extensions = some.then(|| serde_json::to_string(&message.extensions)).transpose()?;
        Ok(Self { name: message.name.clone(), hidden: message.hidden, extensions })
    }

    /// The whole message.
    pub(crate) fn message(self, content: MessageText) -> Result<Message, String> {
        let extensions = match self.extensions {
            Some(json) => {
                serde_json::from_slice(json.as_bytes()).map_err(|error| error.to_string())?
            }
            None => Extras::default(),
        };
        let MessageText { role, text } = content;
        Ok(Message { role, name: self.name, text: text.into(), hidden: self.hidden, extensions })
    }
}
