//! One message of a body, read leniently: any JSON value gives a message.

use std::borrow::Cow;

use serde::de::{IgnoredAny, MapAccess, SeqAccess};

use super::{
    BETWEEN_PARTS, WireMessage,
    lenient::{Any, Lenient},
};
use loreloom_core::chat::Role;

use crate::speakers::may_name;

/// An item of a list of messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) message: WireMessage,
    /// Whether it is an object: only those can be edited.
    pub(super) is_object: bool,
    /// Whether its role is `developer`.
    pub(super) is_developers: bool,
}

impl Default for Item {
    /// An item that is not an object has no text. In the responses API it is a call or a result.
    fn default() -> Self {
        let message = WireMessage { role: Role::Tool, tool: true, ..WireMessage::default() };
        Self { message, is_object: false, is_developers: false }
    }
}

impl Item {
    /// Reads a message; `None` if it is not JSON.
    pub(super) fn read(text: &str) -> Option<Self> {
        serde_json::from_str::<Any<Self>>(text).ok().map(|item| item.0)
    }
}

impl<'de> Lenient<'de> for Item {
    fn of_object<A: MapAccess<'de>>(mut object: A) -> Result<Self, A::Error> {
        let (mut speaks, mut name) = (Speaks::default(), None);
        let (mut text, mut calls, mut function) = (String::new(), false, false);
        while let Some(field) = object.next_key::<Any<ItemField>>()? {
            match field.0 {
                ItemField::Role => speaks = object.next_value::<Any<_>>()?.0,
                ItemField::Name => name = object.next_value::<Any<Text>>()?.0.0,
                ItemField::Content => text = object.next_value::<Any<Content>>()?.0.0,
                ItemField::ToolCalls => calls = object.next_value::<Any<Filled>>()?.0.0,
                ItemField::FunctionCall => {
                    function = true;
                    object.next_value::<IgnoredAny>()?;
                }
                ItemField::Other => {
                    object.next_value::<IgnoredAny>()?;
                }
            }
        }
        let Speaks { role, is_developers } = speaks;
        let tool = calls || role == Role::Tool || function;
        let nameless = !may_name(&text);
        let text = text.into();
        let message = WireMessage { role, name, text, tool, story_text: None, nameless };
        Ok(Self { message, is_object: true, is_developers })
    }
}

/// The fields of a message that are read.
#[derive(Default)]
enum ItemField {
    Role,
    Name,
    Content,
    ToolCalls,
    FunctionCall,
    #[default]
    Other,
}

impl Lenient<'_> for ItemField {
    fn of_text(name: &str) -> Self {
        match name {
            "role" => Self::Role,
            "name" => Self::Name,
            "content" => Self::Content,
            "tool_calls" => Self::ToolCalls,
            "function_call" => Self::FunctionCall,
            _ => Self::Other,
        }
    }
}

/// Whose message it is.
struct Speaks {
    role: Role,
    is_developers: bool,
}

impl Default for Speaks {
    /// The items of the responses API that are not messages are calls and results.
    fn default() -> Self {
        Self { role: Role::Tool, is_developers: false }
    }
}

impl Lenient<'_> for Speaks {
    fn of_text(name: &str) -> Self {
        let role = match name {
            "assistant" | "model" => Role::Assistant,
            "user" => Role::User,
            "tool" | "function" => Role::Tool,
            _ => Role::System,
        };
        Self { role, is_developers: name == "developer" }
    }
}

/// A string, if it is one.
#[derive(Default)]
pub(super) struct Text(pub(super) Option<String>);

impl Lenient<'_> for Text {
    fn of_text(text: &str) -> Self {
        Self(Some(text.to_owned()))
    }
}

/// Whether it is a list that holds something.
#[derive(Default)]
struct Filled(bool);

impl<'de> Lenient<'de> for Filled {
    fn of_list<A: SeqAccess<'de>>(mut list: A) -> Result<Self, A::Error> {
        let mut filled = false;
        while list.next_element::<IgnoredAny>()?.is_some() {
            filled = true;
        }
        Ok(Self(filled))
    }
}

/// Text as a string, or the text parts of a list.
#[derive(Default)]
struct Content(String);

impl<'de> Lenient<'de> for Content {
    fn of_text(text: &str) -> Self {
        Self(text.to_owned())
    }

    fn of_list<A: SeqAccess<'de>>(mut list: A) -> Result<Self, A::Error> {
        let mut parts = Vec::new();
        while let Some(Any(ContentPart(part))) = list.next_element()? {
            parts.extend(part);
        }
        Ok(Self(parts.join(BETWEEN_PARTS)))
    }
}

/// The text of one part of a message; `None` for images and the like.
#[derive(Default)]
struct ContentPart(Option<String>);

impl<'de> Lenient<'de> for ContentPart {
    fn of_text(text: &str) -> Self {
        Self(Some(text.to_owned()))
    }

    fn of_object<A: MapAccess<'de>>(mut object: A) -> Result<Self, A::Error> {
        let mut text = None;
        while let Some(name) = object.next_key::<Cow<'de, str>>()? {
            if name == "text" {
                text = object.next_value::<Any<Text>>()?.0.0;
            } else {
                object.next_value::<IgnoredAny>()?;
            }
        }
        Ok(Self(text))
    }
}
