//! The messages of a path, prepared for scanning.

use std::{borrow::Cow, sync::Arc};

use crate::{
    book::is_js_space,
    chat::{Message, Path, Role},
    dialects::vault::Lines,
    scan::ScanText,
};

/// The messages that keys are looked for in, oldest first. It grows with the path, so each
/// message is prepared once.
#[derive(Clone, Debug, Default)]
pub struct Transcript {
    pub(crate) messages: Vec<TranscriptMessage>,
    include_names: bool,
    /// The same messages in the form that vaults scan, with hidden ones; `None` without a vault.
    lines: Option<Lines>,
}

/// A message prepared for scanning.
#[derive(Clone, Debug)]
pub(crate) struct TranscriptMessage {
    pub(crate) scan: ScanText,
    pub(crate) role: Role,
    pub(crate) name: Option<Arc<str>>,
    /// Bytes before the message's own text in the scanned text (`Name: `), and bytes trimmed
    /// off the start.
    pub(crate) prefix: usize,
    pub(crate) trimmed: usize,
}

impl TranscriptMessage {
    /// Whether there is nothing to scan, not even a blank.
    pub(crate) fn is_empty(&self) -> bool {
        self.trimmed == 0 && self.scan.as_str().is_empty()
    }

    /// The text without the speaker's name.
    fn own_text(&self) -> &str {
        let prefix = self.prefix.saturating_sub(self.trimmed);
        self.scan.as_str().get(prefix..).unwrap_or_default()
    }
}

impl Transcript {
    /// No messages yet. With `include_names`, messages are scanned as `Name: text`.
    pub fn new(include_names: bool) -> Self {
        Self { messages: Vec::new(), include_names, lines: None }
    }

    /// The visible messages of a path.
    pub fn of(path: &Path, include_names: bool) -> Self {
        let mut transcript = Self::new(include_names).for_vaults();
        for item in path.items() {
            transcript.add(&item.message);
        }
        transcript
    }

    /// Appends a message of a story, unless it is hidden from the model.
    pub fn add(&mut self, message: &Message) {
        if message.is_seen() {
            self.push_seen(message.role, message.name.as_deref(), &message.text);
        }
        if let Some(lines) = &mut self.lines {
            lines.add(message);
        }
    }

    /// Whether both have the same settings, so that one can replace the other.
    pub fn is_like(&self, other: &Self) -> bool {
        self.include_names == other.include_names && self.lines.is_some() == other.lines.is_some()
    }

    /// Also prepares messages for vaults. Call it before the first message.
    #[must_use]
    pub fn for_vaults(self) -> Self {
        Self { lines: Some(Lines::default()), ..self }
    }

    /// Replaces the messages from `first` on with those of `path`.
    pub fn retell(&mut self, path: &Path, first: usize) {
        let (before, after) = path.items().split_at(first);
        let seen = before.iter().filter(|item| item.message.is_seen()).count();
        self.messages.truncate(seen);
        if let Some(lines) = &mut self.lines {
            lines.truncate(first);
        }
        for item in after {
            self.add(&item.message);
        }
    }

    /// Prepares the messages for vaults, when that was not done along the way.
    pub(crate) fn to_lines(&self) -> Lines {
        let mut lines = Lines::default();
        for message in &self.messages {
            let name = message.name.as_deref().unwrap_or_default();
            lines.push(name, message.own_text(), message.role == Role::User, true);
        }
        lines
    }

    /// The messages in the form that vaults scan.
    pub fn vault_lines(&self) -> Cow<'_, Lines> {
        self.lines().map_or_else(|| Cow::Owned(self.to_lines()), Cow::Borrowed)
    }

    /// The same, if they were prepared along the way.
    pub(crate) fn lines(&self) -> Option<&Lines> {
        self.lines.as_ref()
    }

    /// Appends a message.
    pub fn push(&mut self, role: Role, name: Option<&str>, text: &str) {
        self.push_seen(role, name, text);
        if let Some(lines) = &mut self.lines {
            lines.push(name.unwrap_or_default(), text, role == Role::User, true);
        }
    }

    fn push_seen(&mut self, role: Role, name: Option<&str>, text: &str) {
        let named = match name {
            Some(name) if self.include_names => Cow::Owned(format!("{name}: {text}")),
            Some(_) | None => Cow::Borrowed(text),
        };
        let prefix = named.len() - text.len();
        let trimmed = named.len() - named.trim_start_matches(is_js_space).len();
        self.messages.push(TranscriptMessage {
            scan: ScanText::new(named.trim_matches(is_js_space)),
            role,
            name: name.map(Into::into),
            prefix,
            trimmed,
        });
    }

    /// The text of the newest message whose role is `wanted`; empty if there is none.
    pub(super) fn last(&self, wanted: impl Fn(Role) -> bool) -> &str {
        let newest = self.messages.iter().rev().find(|message| wanted(message.role));
        newest.map_or("", TranscriptMessage::own_text)
    }

    /// The texts of the newest messages, newest first, without speaker names.
    pub fn newest(&self, count: usize) -> impl Iterator<Item = &str> {
        self.messages.iter().rev().take(count).map(TranscriptMessage::own_text)
    }

    /// How many messages there are.
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// The same transcript with a text appended to its newest message. Without messages the
    /// text becomes the only one.
    #[must_use]
    pub fn with_text(&self, text: &str) -> Self {
        let mut transcript = self.clone();
        match transcript.messages.pop() {
            Some(last) => {
                let scan = ScanText::new(format!("{}\n{text}", last.scan.as_str()));
                transcript.messages.push(TranscriptMessage { scan, ..last });
                if let Some(lines) = &mut transcript.lines {
                    lines.append(text);
                }
            }
            None => transcript.push(Role::User, None, text),
        }
        transcript
    }

    /// Drops all but the first `length` messages, none of which is hidden.
    pub fn truncate(&mut self, length: usize) {
        self.messages.truncate(length);
        if let Some(lines) = &mut self.lines {
            lines.truncate(length);
        }
    }
}
