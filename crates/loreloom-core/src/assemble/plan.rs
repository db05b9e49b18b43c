//! How a prompt is changed: texts that are written into its messages, and messages that are
//! put between them.

use super::{Assembled, Joined, Marker, Seams};
use crate::{
    chat::{Role, Text},
    place::{Place, Provenance},
    prompt::PromptMessage,
    report::{Outcome, Report, Span, Stop, Verdict, Warning},
};

/// How a prompt is changed. Positions count the messages and bytes of the prompt as it was.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// Texts to replace or, where they are empty, to write between others; in order, none
    /// overlapping another.
    pub edits: Vec<PromptEdit>,
    /// Messages to insert, in order.
    pub insertions: Vec<Insertion>,
    /// What the prompt had already, so that it is not put in again.
    pub already: Vec<Provenance>,
}

/// A piece of a message that is replaced by lore.
#[derive(Clone, Debug, PartialEq)]
pub struct PromptEdit {
    /// The message.
    pub message: usize,
    /// First byte of the piece.
    pub start: usize,
    /// One past its last byte.
    pub end: usize,
    /// The lore.
    pub joined: Joined,
}

/// A message that is inserted.
#[derive(Clone, Debug, PartialEq)]
pub struct Insertion {
    /// The message it goes before; the number of messages for the very end.
    pub before: usize,
    /// Its role.
    pub role: Role,
    /// Its text.
    pub joined: Joined,
}

impl Plan {
    /// A plan in order. An edit that would begin inside another begins after it.
    pub(super) fn new(
        mut edits: Vec<PromptEdit>,
        mut insertions: Vec<Insertion>,
        already: Vec<Provenance>,
    ) -> Self {
        edits.sort_by_key(|edit| (edit.message, edit.start));
        let mut taken = (0, 0);
        for edit in &mut edits {
            if edit.message == taken.0 {
                edit.start = edit.start.max(taken.1);
                edit.end = edit.end.max(edit.start);
            }
            taken = (edit.message, edit.end);
        }
        insertions.sort_by_key(|insertion| insertion.before);
        Self { edits, insertions, already }
    }

    /// Whether the prompt stays as it is.
    pub fn is_empty(&self) -> bool {
        self.edits.is_empty() && self.insertions.is_empty()
    }

    /// How many texts it puts in.
    pub fn texts(&self) -> usize {
        let joined = self.edits.iter().map(|edit| &edit.joined);
        let joined = joined.chain(self.insertions.iter().map(|insertion| &insertion.joined));
        joined.map(|joined| joined.pieces.len()).sum()
    }

    /// Carries the plan out.
    pub fn apply(&self, prompt: Vec<PromptMessage>) -> Assembled {
        let length = prompt.len() + self.insertions.len();
        let mut assembled = Assembled { messages: Vec::with_capacity(length), spans: Vec::new() };
        let messages = prompt.into_iter().map(Some).chain([None]);
        for (at, message) in messages.enumerate() {
            for insertion in self.insertions.iter().filter(|insertion| insertion.before == at) {
                assembled.spans.extend(insertion.joined.spans(assembled.messages.len(), 0));
                let content = insertion.joined.text.as_str().into();
                assembled.messages.push(PromptMessage {
                    role: insertion.role,
                    name: None,
                    content,
                });
            }
            if let Some(message) = message {
                let place = assembled.messages.len();
                let (content, spans) = self.edited(at, place, message.content);
                assembled.spans.extend(spans);
                assembled.messages.push(PromptMessage { content, ..message });
            }
        }
        assembled
    }

    /// The edits of one message, in order.
    pub fn edits_of(&self, message: usize) -> impl Iterator<Item = &PromptEdit> {
        self.edits.iter().filter(move |edit| edit.message == message)
    }

    /// The text of message `at` with its edits made, and where the lore is once the
    /// message is the `place`-th.
    fn edited(&self, at: usize, place: usize, text: Text) -> (Text, Vec<Span>) {
        if self.edits_of(at).next().is_none() {
            return (text, Vec::new());
        }
        let mut out = String::with_capacity(text.len());
        let mut spans = Vec::new();
        let mut from = 0;
        for edit in self.edits_of(at) {
            out.push_str(&text[from..edit.start]);
            spans.extend(edit.joined.spans(place, out.len()));
            out.push_str(&edit.joined.text);
            from = edit.end;
        }
        out.push_str(&text[from..]);
        (out.into(), spans)
    }

    /// What carrying this plan out does to `prompt`, the one it was made for.
    pub fn seams(&self, prompt: &[PromptMessage]) -> Seams {
        let mut seams = Seams::default();
        let mut place = 0;
        for at in 0..=prompt.len() {
            for _insertion in self.insertions.iter().filter(|insertion| insertion.before == at) {
                seams.inserted.push(place);
                place += 1;
            }
            let Some(message) = prompt.get(at) else { continue };
            // Bytes that the edits before this one have grown by and shrunk by.
            let (mut grown, mut shrunk) = (0, 0);
            for edit in self.edits_of(at) {
                let start = edit.start + grown - shrunk;
                let end = start + edit.joined.text.len();
                let text = message.content[edit.start..edit.end].to_owned();
                seams.markers.push(Marker { message: place, start, end, text });
                grown += edit.joined.text.len();
                shrunk += edit.end - edit.start;
            }
            place += 1;
        }
        seams
    }

    /// Writes down in a report where the texts ended up, and which were there already.
    pub fn tell(&self, report: &mut Report, spans: Vec<Span>) {
        let has_text = |verdict: &Verdict| {
            let is_its = |source: &Provenance| match source {
                Provenance::Lore { entry, .. } => *entry == verdict.entry,
                Provenance::AuthorsNote | Provenance::Memory(_) => false,
            };
            spans.iter().any(|span| is_its(&span.source)) || self.already.iter().any(is_its)
        };
        for verdict in &mut report.verdicts {
            // An outlet or slot that the prompt has no marker for takes nothing.
            if let Outcome::Activated { place: Some(place), .. } = &verdict.outcome
                && let Place::Outlet(name) | Place::Slot(name) = place
                && !has_text(verdict)
            {
                verdict.outcome = Outcome::Stopped(Stop::NoMarker { name: name.clone() });
            }
        }
        report.spans = spans;
        let already = self.already.iter();
        report
            .warnings
            .extend(already.map(|source| Warning::AlreadyThere { source: source.clone() }));
    }
}
