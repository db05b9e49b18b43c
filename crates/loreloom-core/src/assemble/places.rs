//! Where text goes in a prompt that a front end built.
//!
//! Markers in the prompt win. Otherwise places are found around what was recognised: the
//! main prompt, the card, the examples, the author's note, and the story's messages, by
//! which depth is counted (a note or a nudge is no message). In a prompt that has separate
//! messages, text becomes a message. Where roles are merged, where the upstream insists on
//! alternating roles, and in text prompts, text is written into what is there. A tool's
//! answer is never parted from its call, and a reply that is to be continued stays last.

mod point;
mod present;

use self::{point::Point, present::Present};
use super::{
    Insertion, Joined, Layout, MarkKind, Plan, PromptEdit, PromptForm, PromptMark,
    inside::by_depth, markers::FilledMarkers,
};
use crate::{
    chat::Role,
    place::{Injection, LOREBOOK_SLOT, Place},
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

    /// Whether the front end has put a text in itself, which it does without our wrapper.
    fn is_present(&self, present: &Present, text: &str) -> bool {
        present.has(text)
            || match unwrap(text, [&self.wrap]).as_slice() {
                [Segment::Entry(entry)] => present.has(&entry.content),
                _ => false,
            }
    }
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

struct Finder<'a> {
    layout: &'a Layout,
    texts: &'a [&'a str],
}

impl Finder<'_> {
    /// Where each text goes, texts of one place and role as one.
    fn placed(&self, injections: &[&Injection]) -> Vec<(Point, Role, Joined)> {
        let mut placed = Vec::new();
        for place in head_places() {
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
    fn text(&self) -> Option<&str> {
        let text = self.texts.first().copied().unwrap_or_default();
        (self.layout.form == PromptForm::Text).then_some(text)
    }

    /// Where a text of the slot of card books goes.
    fn slot(&self, injection: &Injection) -> Point {
        let place = self.layout.slot.as_ref().unwrap_or(&injection.place);
        match place.depth() {
            Some(depth) => self.at_depth(depth, injection.role),
            None => self.head(place),
        }
    }

    /// A place before the chat: between two pieces of the head.
    fn head(&self, place: &Place) -> Point {
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
            Some(text) => point::in_story_string(text, head, at),
            None => self.between(head, at),
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
            Some(text) => point::before_turn(text, mark, role),
            None if self.is_glued() => self.glued(at),
            None => Point::Before(mark.message),
        }
    }

    fn after(&self, at: usize, role: Role) -> Point {
        let chat = &self.layout.chat;
        let mark = &chat[at];
        if let Some(text) = self.text() {
            return point::after_turn(text, mark, role);
        }
        if !self.is_glued() {
            let results = chat[at + 1..].iter().take_while(|mark| mark.kind == MarkKind::Tool);
            return Point::Before(results.last().unwrap_or(mark).message + 1);
        }
        match mark.role {
            Role::Assistant => self.glued(at),
            Role::User | Role::System | Role::Tool => self.below(mark, "\n\n"),
        }
    }

    /// Into the user's words next to a piece, so that no role changes place.
    fn glued(&self, at: usize) -> Point {
        let chat = &self.layout.chat;
        let mark = &chat[at];
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
