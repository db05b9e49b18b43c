//! The chat as a vault scans it: `Name: text`, line by line.

use crate::{
    chat::{Message, Path, Role},
    scan::ScanText,
    turn::TurnInput,
};

/// A message as a vault scans it.
#[derive(Clone, Debug)]
pub struct VaultLine {
    /// `Name: text`.
    pub(super) scan: ScanText,
    pub(super) name: Box<str>,
    pub(super) user: bool,
    /// Its place in the chat, counted from the oldest.
    pub(super) index: u32,
    scanned: bool,
}

/// Who speaks where messages do not say it; empty is nobody known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpeakerNames<'a> {
    /// The user.
    pub user: &'a str,
    /// The character who speaks next.
    pub character: &'a str,
}

impl<'a> SpeakerNames<'a> {
    /// The names of a turn.
    pub fn of(input: &'a TurnInput) -> Self {
        let character = input.speaker.as_ref().map_or("", |speaker| speaker.name.as_str());
        Self { user: &input.user, character }
    }
}

/// The messages of a path, oldest first. Grows with the path, so that each message is
/// prepared once.
#[derive(Clone, Debug, Default)]
pub struct Lines(Vec<VaultLine>);

impl Lines {
    /// The messages of a path. Hidden ones and instructions are not scanned.
    pub fn of(path: &Path) -> Self {
        let mut lines = Self::default();
        for item in path.items() {
            lines.add(&item.message);
        }
        lines
    }

    /// Appends a message of a story.
    pub fn add(&mut self, message: &Message) {
        let scanned = match message.role {
            Role::User | Role::Assistant => !message.hidden,
            Role::System | Role::Tool => false,
        };
        let name = message.name.as_deref().unwrap_or_default();
        self.push(name, &message.text, message.role == Role::User, scanned);
    }

    /// Drops all but the first `length` messages.
    pub fn truncate(&mut self, length: usize) {
        self.0.truncate(length);
    }

    /// Appends a message.
    pub fn push(&mut self, name: &str, text: &str, user: bool, scanned: bool) {
        let scan = ScanText::new(format!("{name}: {text}"));
        let index = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        self.0.push(VaultLine { scan, name: name.into(), user, index, scanned });
    }

    /// Appends a text to the newest message that is scanned; without one it becomes a message.
    pub(crate) fn append(&mut self, text: &str) {
        match self.0.iter_mut().rev().find(|line| line.scanned) {
            Some(line) => line.scan = ScanText::new(format!("{}\n{text}", line.scan.as_str())),
            None => self.push("", text, true, true),
        }
    }

    /// How many messages there are, scanned or not.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are without a trailing reply, which is about to be written again.
    pub fn before_reply(&self) -> usize {
        let ends_with_reply = self.0.last().is_some_and(|line| !line.user);
        self.0.len() - usize::from(ends_with_reply)
    }

    /// The scanned ones among the newest `depth` messages, oldest first. With
    /// `hidden_use_depth`, messages that are not scanned count too.
    pub(super) fn window(&self, depth: u32, hidden_use_depth: bool) -> Vec<&VaultLine> {
        let depth = depth as usize;
        let newest = self.0.iter().rev();
        let mut window: Vec<&VaultLine> = if hidden_use_depth {
            newest.take(depth).filter(|line| line.scanned).collect()
        } else {
            newest.filter(|line| line.scanned).take(depth).collect()
        };
        window.reverse();
        window
    }

    /// The text of a window.
    pub fn text(&self, depth: u32, hidden_use_depth: bool) -> String {
        let window = self.window(depth, hidden_use_depth);
        window.into_iter().map(|line| line.scan.as_str()).collect::<Vec<_>>().join("\n")
    }

    /// The messages of a window for a selecting model: `Name (user): text`. Messages without a name
    /// have that of the user or the character.
    pub fn with_roles(
        &self,
        depth: u32,
        hidden_use_depth: bool,
        names: SpeakerNames<'_>,
    ) -> Vec<String> {
        let written = |line: &VaultLine| {
            let usual = if line.user { names.user } else { names.character };
            let known = [&*line.name, usual].into_iter().find(|name| !name.is_empty());
            let name = known.unwrap_or("Unknown");
            let role = if line.user { "user" } else { "character" };
            format!("{name} ({role}): {}", &line.scan.as_str()[line.name.len() + 2..])
        };
        self.window(depth, hidden_use_depth).into_iter().map(written).collect()
    }
}
