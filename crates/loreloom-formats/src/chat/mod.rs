//! Chat files: the messages of one story.
//!
//! A chat is read into the messages on its current path; other versions of a reply
//! (swipes) stay beside the one that was chosen, and fields we do not model stay in the
//! message's extensions.

mod carried;
mod openai;
mod sillytavern;
mod write;

pub use self::{
    carried::{carried_state, carried_state_by_name},
    write::{export_markdown, export_sillytavern},
};
use loreloom_core::{book::Extensions, chat::Message};

use crate::{
    error::FormatError,
    json::{self, Node},
    limits::{Limit, Limits},
    note::{ImportNote, Notes},
    text,
};

/// A chat file's format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChatFormat {
    /// One JSON object per line, a header first.
    Sillytavern,
    /// A list of messages, alone or in a request.
    OpenAi,
}

impl ChatFormat {
    /// The format's name in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sillytavern => "sillytavern-chat",
            Self::OpenAi => "openai-messages",
        }
    }
}

/// A story read from a file.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct ImportedChat {
    /// What the file was.
    pub format: ChatFormat,
    /// The user's name, where the file says it.
    pub user_name: Option<String>,
    /// The character's name, where the file says it.
    pub character_name: Option<String>,
    /// The messages, oldest first.
    pub messages: Vec<ImportedMessage>,
    /// What the file says about the whole chat.
    pub metadata: Extensions,
    /// What was odd.
    pub notes: Vec<ImportNote>,
}

/// A message and its other versions.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedMessage {
    /// The message.
    pub message: Message,
    /// All versions of the text, the chosen one among them; empty where there is only one.
    pub swipes: Vec<String>,
    /// Which of `swipes` was chosen.
    pub chosen: usize,
    /// When it was sent, as the file has it.
    pub sent: Option<String>,
}

impl ImportedMessage {
    /// A message with one version.
    pub fn new(message: Message) -> Self {
        Self { message, swipes: Vec::new(), chosen: 0, sent: None }
    }
}

/// Reads a chat of any known format.
pub fn import_chat(bytes: &[u8], limits: &Limits) -> Result<ImportedChat, FormatError> {
    if bytes.is_empty() {
        return Err(FormatError::Empty);
    }
    if bytes.len() > limits.chat_bytes {
        return Err(FormatError::TooLarge {
            which: Limit::Chat,
            limit: limits.chat_bytes,
            found: bytes.len(),
        });
    }
    let mut notes = Notes::default();
    let text = text::decode(bytes, &mut notes);
    let body = text::without_bom(&text);
    let mut chat = match json::parse(body, limits) {
        Ok(parsed) if sillytavern::is_line(&parsed.root) => sillytavern::read(body, limits)?,
        Ok(parsed) => openai::read(&parsed.root)?,
        Err(fault) => match first_line(body, limits) {
            Some(true) => sillytavern::read(body, limits)?,
            _ => return Err(fault),
        },
    };
    let mut all = notes.finish();
    all.append(&mut chat.notes);
    chat.notes = all;
    Ok(chat)
}

/// Whether the first line alone is a line of a `SillyTavern` chat.
fn first_line(body: &str, limits: &Limits) -> Option<bool> {
    let line = body.lines().find(|line| !line.trim().is_empty())?;
    let parsed = json::parse(line, limits).ok()?;
    Some(sillytavern::is_line(&parsed.root))
}

/// The members that are not in `known`, in file order.
fn unknown_keys(node: &Node<'_>, known: &[&str]) -> Extensions {
    node.members()
        .iter()
        .filter(|member| !known.contains(&member.key.as_ref()))
        .map(|member| (member.key.as_ref().to_owned(), member.value.to_value()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_no_chat_says_what_was_looked_for() {
        let error =
            |text: &str| import_chat(text.as_bytes(), &Limits::default()).unwrap_err().to_string();
        assert_eq!(error(""), "the file is empty");
        assert_eq!(
            error("{\"entries\": {}}"),
            "not a lorebook, card or chat of a known kind: looked for lines with `mes`, or \
             `messages` with `role` and `content`, found an object with `entries`"
        );
        assert_eq!(
            error("[1, 2"),
            "not valid JSON: expected `,` or `]`, found the end of the file at line 1, column 6"
        );
    }
}
