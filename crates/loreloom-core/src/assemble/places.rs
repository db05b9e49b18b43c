//! Where text goes in a prompt that a front end built.
//!
//! Markers in the prompt win. Otherwise places are found around what was recognised: the
//! main prompt, the card, the examples, the author's note, and the story's messages, by
//! which depth is counted (a note or a nudge is no message). In a prompt that has separate
//! messages, text becomes a message. Where roles are merged, where the upstream insists on
//! alternating roles, and in text prompts, text is written into existing messages. A tool's
//! answer is never parted from its call, and a reply that is to be continued stays last.

mod point;
mod present;

use std::borrow::Cow;

use self::{
    point::{Point, TextPrompt},
    present::Present,
};
use super::{
    Insertion, Joined, Layout, MarkKind, Plan, PromptEdit, PromptForm, PromptMark,
    inside::by_depth, markers::FilledMarkers,
};
use crate::{
    chat::Role,
    place::{Injection, LOREBOOK_SLOT, Place, Provenance},
    prompt::PromptMessage,
    units::Depth,
    wrap::{Segment, unwrap},
};

impl Layout {
    /// Plans where injections go in the prompt that this is the layout of. Those that the
    /// prompt has already are left out, and those whose outlet or slot it does not ask for.
    pub fn plan(&self, prompt: &[PromptMessage], injections: &[Injection]) -> Plan {
        let texts: Vec<&str> = prompt.iter().map(|message| message.content.as_str()).collect();
        let present = Present::of(self, &texts);
        let (here, wanted): (Vec<&Injection>, Vec<&Injection>) =
            injections.iter().partition(|one| self.is_present(&present, &one.text));
        let already = here.into_iter().map(|one| one.source.clone()).collect();
        let may_part = self.form == PromptForm::Messages;
        let FilledMarkers { mut edits, mut insertions, rest } =
            FilledMarkers::of(prompt, &wanted, may_part);
        let finder = Finder { layout: self, texts: &texts };
        let has_block = |place: &Place| finder.own_place(place).is_some();
        let rest: Vec<Cow<'_, Injection>> =
            rest.into_iter().map(|one| in_block(one, has_block)).collect();
        let rest: Vec<&Injection> = rest.iter().map(AsRef::as_ref).collect();
        for (point, role, joined) in finder.placed(&rest) {
            match point {
                Point::Before(before) => {
                    let before = before.max(self.fixed);
                    insertions.push(Insertion { before, role, joined });
                }
                Point::Inside { message, at, lead, trail } => {
                    let joined = joined.framed(&lead, &trail);
                    edits.push(PromptEdit { message, start: at, end: at, joined });
                }
            }
        }
        Plan::new(edits, insertions, already)
    }

    /// Which of these texts the front end has put in itself.
    pub fn shown<'id, Id>(
        &self,
        texts: &[&str],
        wanted: impl IntoIterator<Item = (&'id Id, String)>,
    ) -> Vec<&'id Id> {
        let present = Present::of(self, texts);
        let shown = wanted.into_iter().filter(|(_, text)| present.has(text));
        shown.map(|(id, _)| id).collect()
    }

    /// Whether the front end has put a text in itself, which it does without our wrapper.
    fn is_present(&self, present: &Present, text: &str) -> bool {
        present.has(text)
            || match unwrap(text, [&self.wrap]).as_slice() {
                [Segment::Entry(entry)] => present.has(&entry.content),
                _ => false,
            }
    }
}

/// A memory tier goes to the block of its name, if the prompt has one, wherever it would be
/// otherwise.
pub(super) fn in_block(
    injection: &Injection,
    has_block: impl Fn(&Place) -> bool,
) -> Cow<'_, Injection> {
    if let Provenance::Memory(tier) = &injection.source {
        let place = Place::Slot(tier.clone());
        if has_block(&place) {
            return Cow::Owned(Injection { place, ..injection.clone() });
        }
    }
    Cow::Borrowed(injection)
}

/// The places outside the chat, in the order of a prompt.
fn head_places() -> [Place; 7] {
    [
        Place::BeforeMain,
        Place::AfterMain,
        Place::Slot(LOREBOOK_SLOT.to_owned()),
        Place::BeforeCharacter,
        Place::AfterCharacter,
        Place::BeforeExamples,
        Place::AfterExamples,
    ]
}

/// An edge of a piece.
#[derive(Clone, Copy)]
enum Edge {
    Start,
    End,
}

struct Finder<'a> {
    layout: &'a Layout,
    texts: &'a [&'a str],
}

impl Finder<'_> {
    /// Where each text goes, texts of one place and role as one.
    fn placed(&self, injections: &[&Injection]) -> Vec<(Point, Role, Joined)> {
        let mut placed = Vec::new();
        for place in self.ordered_places() {
            let here: Vec<&Injection> =
                injections.iter().copied().filter(|one| one.place == place).collect();
            if place == Place::Slot(LOREBOOK_SLOT.to_owned()) {
                // Its texts stay messages of their own, in the order they came in.
                let each = |one: &&Injection| (self.slot(one), one.role, Joined::of([*one]));
                placed.extend(here.iter().map(each));
                continue;
            }
            let point = self.head(&place);
            for role in [Role::Assistant, Role::User, Role::System] {
                let joined = Joined::of(here.iter().copied().filter(|one| one.role == role));
                if joined.is_empty() {
                    continue;
                }
                let is_framed = matches!(place, Place::BeforeCharacter | Place::AfterCharacter);
                let format = if is_framed { self.layout.lore_format.as_str() } else { "" };
                placed.push((point.clone(), role, joined.formatted(format)));
            }
        }
        let chat = injections.iter().copied();
        let Some(note) = self.note() else {
            return self.with_depths(placed, chat);
        };
        let around = |one: &&Injection| matches!(one.place, Place::NoteTop | Place::NoteBottom);
        let placed = self.with_depths(placed, chat.clone().filter(|one| !around(one)));
        let noted = [Place::NoteTop, Place::NoteBottom].into_iter().flat_map(|place| {
            let point = self.beside(note, place == Place::NoteTop);
            let here: Vec<&Injection> = chat.clone().filter(|one| one.place == place).collect();
            by_depth(here).into_iter().map(move |(_, role, joined)| (point.clone(), role, joined))
        });
        placed.into_iter().chain(noted).collect()
    }

    fn with_depths<'i>(
        &self,
        mut placed: Vec<(Point, Role, Joined)>,
        injections: impl Iterator<Item = &'i Injection>,
    ) -> Vec<(Point, Role, Joined)> {
        for (depth, role, joined) in by_depth(injections) {
            placed.push((self.at_depth(depth, role), role, joined));
        }
        placed
    }

    fn is_glued(&self) -> bool {
        matches!(self.layout.form, PromptForm::Alternating | PromptForm::Single)
    }

    /// The text prompt, if it is one.
    fn text(&self) -> Option<TextPrompt<'_>> {
        let text = self.texts.first().copied().unwrap_or_default();
        let prompt = TextPrompt { text, chat: &self.layout.chat };
        (self.layout.form == PromptForm::Text).then_some(prompt)
    }

    /// The places outside the chat, in the order of the prompt.
    fn ordered_places(&self) -> Vec<Place> {
        let mut places: Vec<Place> =
            self.layout.places.iter().map(|(place, _)| place.clone()).collect();
        let others = head_places().into_iter().filter(|place| !places.contains(place));
        let others: Vec<Place> = others.collect();
        places.extend(others);
        places
    }

    /// Where a prompt that we built has a place.
    fn own_place(&self, place: &Place) -> Option<Point> {
        let mut places = self.layout.places.iter();
        places.find(|(own, _)| own == place).map(|(_, before)| Point::Before(*before))
    }

    /// Where a text of the slot of card books goes.
    fn slot(&self, injection: &Injection) -> Point {
        if let Some(own) = self.own_place(&injection.place) {
            return own;
        }
        let place = self.layout.slot.as_ref().unwrap_or(&injection.place);
        match place.depth() {
            Some(depth) => self.at_depth(depth, injection.role),
            None => self.head(place),
        }
    }

    /// A place before the chat: between two pieces of the head.
    fn head(&self, place: &Place) -> Point {
        if let Some(own) = self.own_place(place) {
            return own;
        }
        let head = &self.layout.head;
        let end = head.iter().rposition(|mark| mark.kind == MarkKind::Start);
        let end = end.unwrap_or(head.len());
        let examples = head.iter().position(|mark| mark.kind == MarkKind::Example).unwrap_or(end);
        // With one piece the card is in it: lore before the card comes first.
        let alone = head.len() == 1;
        let at = match place {
            Place::BeforeMain => 0,
            Place::BeforeCharacter | Place::Slot(_) if alone => 0,
            Place::AfterMain | Place::BeforeCharacter | Place::Slot(_) => 1.min(end),
            Place::AfterCharacter | Place::BeforeExamples => examples,
            Place::AfterExamples
            | Place::NoteTop
            | Place::NoteBottom
            | Place::AtDepth(_)
            | Place::Outlet(_) => end,
        };
        match self.text() {
            Some(text) => self.in_text(text, at),
            None => self.between(head, at),
        }
    }

    /// A place before the chat of a text prompt: in the story string, whose pieces are lines, or
    /// after the examples, which are turns.
    fn in_text(&self, text: TextPrompt<'_>, at: usize) -> Point {
        let Layout { head, chat, .. } = self.layout;
        let story = head.iter().take_while(|mark| mark.kind == MarkKind::Head).count();
        let has_examples = head.iter().any(|mark| mark.kind == MarkKind::Example);
        let before = at.min(story).checked_sub(1).map(|at| &head[at]);
        let first = head.first().filter(|_| story > 0);
        match (before, first, chat.first()) {
            (_, _, Some(chat)) if at > story && has_examples => text.before(chat, Role::System),
            (Some(before), _, _) => self.below(before, "\n"),
            (None, Some(first), _) => self.above(first, "\n"),
            (None, None, Some(chat)) => text.before(chat, Role::System),
            (None, None, None) => {
                Point::Inside { message: 0, at: 0, lead: String::new(), trail: "\n".to_owned() }
            }
        }
    }

    /// Before piece `at` of the head, or after its last.
    fn between(&self, head: &[PromptMark], at: usize) -> Point {
        let Some(last) = head.last() else { return Point::Before(0) };
        let (before, after) = (at.checked_sub(1).map(|at| &head[at]), head.get(at));
        let whole =
            before.is_none_or(|before| after.is_none_or(|after| after.message != before.message));
        if whole && !self.is_glued() {
            return Point::Before(after.map_or(last.message + 1, |mark| mark.message));
        }
        match (before, after) {
            (Some(before), _) => self.below(before, "\n\n"),
            (None, Some(after)) => self.above(after, "\n\n"),
            (None, None) => Point::Before(0),
        }
    }

    fn above(&self, mark: &PromptMark, separator: &str) -> Point {
        Point::above(mark, self.texts, separator)
    }

    fn below(&self, mark: &PromptMark, separator: &str) -> Point {
        Point::below(mark, self.texts, separator)
    }

    /// The author's note, the one nearest to the end.
    fn note(&self) -> Option<&PromptMark> {
        self.layout.chat.iter().rfind(|mark| mark.kind == MarkKind::Note)
    }

    fn beside(&self, note: &PromptMark, top: bool) -> Point {
        match (self.layout.form, top) {
            (PromptForm::Messages, true) => Point::Before(note.message),
            (PromptForm::Messages, false) => Point::Before(note.message + 1),
            (_, true) => self.above(note, "\n"),
            (_, false) => self.below(note, "\n"),
        }
    }

    /// So many story messages from the end. Deeper than the chat is its beginning.
    fn at_depth(&self, depth: Depth, role: Role) -> Point {
        let chat = &self.layout.chat;
        let story: Vec<usize> =
            (0..chat.len()).filter(|at| chat[*at].kind == MarkKind::Story).collect();
        let depth = (depth.0 as usize).max(usize::from(self.layout.continues));
        let Some(last) = story.last() else { return self.head(&Place::AfterExamples) };
        if depth == 0 {
            return self.after(*last, role);
        }
        self.before(story[story.len().saturating_sub(depth)], role)
    }

    fn before(&self, at: usize, role: Role) -> Point {
        let mark = &self.layout.chat[at];
        match self.text() {
            Some(text) => text.before(mark, role),
            None if self.may_part(role, mark, Edge::Start) => Point::Before(mark.message),
            None if self.is_glued() => self.glued(at, role),
            None => Point::Before(mark.message),
        }
    }

    fn after(&self, at: usize, role: Role) -> Point {
        let chat = &self.layout.chat;
        let mark = &chat[at];
        if let Some(text) = self.text() {
            return text.after(mark, role);
        }
        if self.may_part(role, mark, Edge::End) {
            return Point::Before(mark.message + 1);
        }
        if !self.is_glued() {
            let results = chat[at + 1..].iter().take_while(|mark| mark.kind == MarkKind::Tool);
            return Point::Before(results.last().unwrap_or(mark).message + 1);
        }
        match (mark.role, role) {
            (Role::Assistant, _) | (_, Role::Assistant) => self.glued(at, role),
            (Role::User | Role::System | Role::Tool, _) => self.below(mark, "\n\n"),
        }
    }

    /// Whether a text can be a message at an edge of a piece, though roles were merged: the front
    /// end has such messages itself.
    fn may_part(&self, role: Role, mark: &PromptMark, edge: Edge) -> bool {
        let text = self.texts.get(mark.message).copied().unwrap_or_default();
        let (start, end) = mark.range_in(text).unwrap_or_default();
        let outer = match edge {
            Edge::Start => text[..start].trim().is_empty(),
            Edge::End => text[end..].trim().is_empty(),
        };
        self.layout.system_inside && self.is_glued() && role == Role::System && outer
    }

    /// Into the words of the user, or for texts of the model into its own, next to a piece, so
    /// that no role changes place.
    fn glued(&self, at: usize, role: Role) -> Point {
        let chat = &self.layout.chat;
        let mark = &chat[at];
        if role == Role::Assistant && self.layout.form == PromptForm::Alternating {
            let is_reply =
                |mark: &&PromptMark| mark.role == Role::Assistant && mark.kind == MarkKind::Story;
            // A reply that is to be continued stays as it is.
            let open = usize::from(self.layout.continues);
            let earlier = chat[..at].iter().rfind(is_reply);
            let later = chat[at..chat.len() - open].iter().find(is_reply);
            match (earlier, later) {
                (_, Some(reply)) if reply.message == mark.message => {
                    return self.above(reply, "\n\n");
                }
                (Some(reply), _) => return self.below(reply, "\n\n"),
                (None, Some(reply)) => return self.above(reply, "\n\n"),
                (None, None) => {}
            }
        }
        if self.layout.form == PromptForm::Single || mark.role != Role::Assistant {
            return self.above(mark, "\n\n");
        }
        let by_user = |mark: &&PromptMark| mark.role == Role::User && mark.kind != MarkKind::Tool;
        let earlier = chat[..at].iter().rfind(by_user);
        let later = chat[at + 1..].iter().find(by_user);
        match (earlier, later, self.layout.head.last()) {
            (Some(user), _, _) => self.below(user, "\n\n"),
            (None, _, Some(head)) => self.below(head, "\n\n"),
            (None, Some(user), None) => self.above(user, "\n\n"),
            (None, None, None) => Point::Before(0),
        }
    }
}
