//! What must be known of a prompt that a front end built, to put text into it.
//!
//! Recognising a prompt takes everything that was seen before it; placing takes only this.
//! It is kept with each turn (in its [seams](super::Seams)), so that the turn can be woven
//! again, also with other books, long after the recogniser has moved on.

use serde::{Deserialize, Serialize};

use crate::{chat::Role, place::Place, prompt::PromptMessage, wrap::WrapFormat};

/// The outline of a prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Layout {
    /// How text can be put into it.
    #[serde(skip_serializing_if = "is_default")]
    pub form: PromptForm,
    /// Whether its last message is to be continued, so that nothing may follow it.
    #[serde(skip_serializing_if = "is_default")]
    pub continues: bool,
    /// Whether the front end merged roles but has messages of the system inside the chat.
    #[serde(skip_serializing_if = "is_default")]
    pub system_inside: bool,
    /// How entries are wrapped that are put into it: a front end has them without.
    #[serde(skip_serializing_if = "is_default")]
    pub wrap: WrapFormat,
    /// Where the slot of card books is, if it is not behind the main prompt.
    #[serde(skip_serializing_if = "is_default")]
    pub slot: Option<Place>,
    /// What surrounds the lore before and after the character.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub lore_format: String,
    /// How many messages at its beginning nothing can be put before.
    #[serde(skip_serializing_if = "is_default")]
    pub fixed: usize,
    /// Where places are in a prompt that we built ourselves, in the order of its template: each is
    /// before this message.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<(Place, usize)>,
    /// What comes before the chat, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub head: Vec<PromptMark>,
    /// The chat and what is in it, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub chat: Vec<PromptMark>,
}

/// How text can be put into a prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptForm {
    /// As messages between messages.
    #[default]
    Messages,
    /// Into the messages that are there: their roles must stay as they alternate.
    Alternating,
    /// Into the one message that holds everything.
    Single,
    /// Into a text prompt, with its own separators.
    Text,
}

/// A piece of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Vec<usize>", try_from = "Vec<usize>")]
pub struct PromptMark {
    /// The message; 0 in a text prompt.
    pub message: usize,
    /// The bytes of its text, first and one past the last; `None` for all of it.
    pub range: Option<(usize, usize)>,
    /// Its role.
    pub role: Role,
    /// What it is.
    pub kind: MarkKind,
}

/// What a piece of a prompt is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkKind {
    /// Main prompt or card.
    Head,
    /// An example message, or the line that opens the examples.
    Example,
    /// The line that opens the chat.
    Start,
    /// A message of the story.
    Story,
    /// An author's note.
    Note,
    /// Anything else: lore, nudges, a prescribed beginning of the reply.
    Aside,
    /// A tool call or its result.
    Tool,
}

impl Layout {
    /// The outline of a list of messages that is known to be a chat: what the system says
    /// before the first message is the head, everything of user and model is story. `strict`
    /// keeps the roles as they alternate.
    ///
    /// For a prompt that a front end built, with examples, notes and merged roles, use
    /// `layout_of` of `loreloom-recognise`.
    pub fn of_messages(prompt: &[PromptMessage], strict: bool) -> Self {
        let leading = prompt.iter().take_while(|message| message.role == Role::System).count();
        let mark = |(at, message): (usize, &PromptMessage)| {
            let kind = match message.role {
                Role::System if at < leading => MarkKind::Head,
                Role::System => MarkKind::Aside,
                Role::User | Role::Assistant => MarkKind::Story,
                Role::Tool => MarkKind::Tool,
            };
            PromptMark { message: at, range: None, role: message.role, kind }
        };
        let mut marks = prompt.iter().enumerate().map(mark);
        let head = marks.by_ref().take(leading).collect();
        let form = if strict { PromptForm::Alternating } else { PromptForm::Messages };
        Self { form, head, chat: marks.collect(), ..Self::default() }
    }
}

const ROLES: [Role; 4] = [Role::System, Role::User, Role::Assistant, Role::Tool];
const MARK_KINDS: [MarkKind; 7] = [
    MarkKind::Head,
    MarkKind::Example,
    MarkKind::Start,
    MarkKind::Story,
    MarkKind::Note,
    MarkKind::Aside,
    MarkKind::Tool,
];

/// A long window is stored with each turn: a mark is two small numbers, or four.
impl From<PromptMark> for Vec<usize> {
    fn from(mark: PromptMark) -> Self {
        let role = ROLES.iter().position(|role| *role == mark.role).unwrap_or_default();
        let kind = MARK_KINDS.iter().position(|kind| *kind == mark.kind).unwrap_or_default();
        let mut numbers = vec![mark.message, kind * ROLES.len() + role];
        numbers.extend(mark.range.into_iter().flat_map(|(start, end)| [start, end]));
        numbers
    }
}

impl TryFrom<Vec<usize>> for PromptMark {
    type Error = &'static str;

    fn try_from(numbers: Vec<usize>) -> Result<Self, Self::Error> {
        let (message, code, range) = match numbers[..] {
            [message, code] => (message, code, None),
            [message, code, start, end] if start <= end => (message, code, Some((start, end))),
            _ => return Err("a mark must be two numbers or four"),
        };
        let kind = MARK_KINDS.get(code / ROLES.len()).ok_or("a mark must have a known kind")?;
        Ok(Self { message, range, role: ROLES[code % ROLES.len()], kind: *kind })
    }
}

impl PromptMark {
    /// The bytes it covers in its message's text; `None` if the text is another.
    pub(crate) fn range_in(&self, text: &str) -> Option<(usize, usize)> {
        let (start, end) = self.range.unwrap_or((0, text.len()));
        text.get(start..end).map(|_| (start, end))
    }

    /// Its own text in a prompt's.
    pub(super) fn of<'text>(&self, texts: &[&'text str]) -> &'text str {
        let text = texts.get(self.message).copied().unwrap_or_default();
        self.range_in(text).map_or("", |(start, end)| &text[start..end])
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layout_is_stored_in_few_bytes_and_read_back() {
        let mark = |message, range, role, kind| PromptMark { message, range, role, kind };
        let layout = Layout {
            form: PromptForm::Alternating,
            continues: true,
            system_inside: true,
            wrap: WrapFormat::Lb,
            slot: None,
            lore_format: "[{0}]".to_owned(),
            fixed: 1,
            places: Vec::new(),
            head: vec![mark(0, Some((3, 9)), Role::System, MarkKind::Example)],
            chat: vec![
                mark(1, None, Role::User, MarkKind::Story),
                mark(2, None, Role::Tool, MarkKind::Tool),
            ],
        };
        let stored = serde_json::to_string(&layout).unwrap();
        let expected = r#"{"form":"alternating","continues":true,"system_inside":true,"wrap":"lb","lore_format":"[{0}]","fixed":1,"head":[[0,4,3,9]],"chat":[[1,13],[2,27]]}"#;
        assert_eq!(stored, expected);
        assert_eq!(serde_json::from_str::<Layout>(&stored).unwrap(), layout);
        for odd in ["[1]", "[1,99]", "[1,0,5,2]"] {
            assert!(serde_json::from_str::<PromptMark>(odd).is_err(), "{odd}");
        }
    }
}
