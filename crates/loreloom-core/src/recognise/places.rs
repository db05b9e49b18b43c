//! Where text goes in a prompt that a front end built.
//!
//! Markers in the prompt win. Otherwise places are found around what was recognised: the
//! main prompt, the card, the examples, the author's note, and the story's messages, by
//! which depth is counted (a note or a nudge is no message). In a prompt that has separate
//! messages, text becomes a message. Where roles are merged, where the upstream insists on
//! alternating roles, and in text prompts, text is written into what is there. A tool's
//! answer is never parted from its call, and a reply that is to be continued stays last.

mod markers;
mod point;

use self::point::Point;
use super::{
    Body, Recognition, Request, Standing,
    window::{Part, Shape, is_start_marker},
};
use crate::{
    assemble::{Edit, Insertion, Joined, Plan},
    chat::{GenerationType, Role},
    place::{Injection, LOREBOOK_SLOT, Place},
    units::Depth,
};

/// How deep an author's note stands if the prompt shows none.
const NOTE_DEPTH: Depth = Depth(4);

/// Plans where injections go in a recognised request. `strict` keeps the roles as they
/// alternate. Those whose outlet or slot the prompt does not ask for are left out.
pub fn plan(
    request: &Request,
    found: &Recognition,
    injections: &[Injection],
    strict: bool,
) -> Plan {
    let (mut edits, rest) = markers::edits(request, injections);
    let finder = Finder { request, found, strict };
    let mut insertions = Vec::new();
    for (place, role, joined) in joined(&rest) {
        match finder.point(&place, role) {
            Some(Point::Before(before)) => insertions.push(Insertion { before, role, joined }),
            Some(Point::Inside { message, at, lead, trail }) => {
                let joined = framed(joined, &lead, &trail);
                edits.push(Edit { message, start: at, end: at, joined });
            }
            None => {}
        }
    }
    edits.sort_by_key(|edit| (edit.message, edit.start));
    insertions.sort_by_key(|insertion: &Insertion| insertion.before);
    Plan { edits, insertions }
}

/// The texts of each place and role as one; those of the lorebook's slot each on its own.
fn joined(injections: &[&Injection]) -> Vec<(Place, Role, Joined)> {
    let mut groups: Vec<(Place, Role)> =
        injections.iter().map(|one| (one.place.clone(), one.role)).collect();
    groups.sort_by_key(order);
    groups.dedup();
    // Its messages keep the order they came in, whatever their roles.
    let lorebook = |place: &Place| matches!(place, Place::Slot(name) if name == LOREBOOK_SLOT);
    let at = groups.iter().position(|(place, _)| lorebook(place));
    groups.retain(|(place, _)| !lorebook(place));
    let mut joined: Vec<(Place, Role, Joined)> = groups
        .into_iter()
        .map(|(place, role)| {
            let here = injections.iter().filter(|one| one.place == place && one.role == role);
            let text = Joined::of(here.copied());
            (place, role, text)
        })
        .collect();
    if let Some(at) = at {
        let own = injections.iter().filter(|one| lorebook(&one.place));
        let own = own.map(|one| (one.place.clone(), one.role, Joined::of([*one])));
        joined.splice(at..at, own.collect::<Vec<_>>());
    }
    joined
}

/// Deepest first; at one depth the model's text on top and the system's at the bottom, as
/// SillyTavern has them.
fn order((place, role): &(Place, Role)) -> (std::cmp::Reverse<u32>, u8, u8) {
    let (depth, rank) = match place {
        Place::BeforeMain => (u32::MAX, 0),
        Place::AfterMain => (u32::MAX, 1),
        Place::BeforeCharacter => (u32::MAX, 2),
        Place::Slot(name) if name == LOREBOOK_SLOT => (u32::MAX, 3),
        Place::AfterCharacter => (u32::MAX, 4),
        Place::BeforeExamples => (u32::MAX, 5),
        Place::AfterExamples => (u32::MAX, 6),
        Place::NoteTop => (NOTE_DEPTH.0, 7),
        Place::NoteBottom => (NOTE_DEPTH.0, 9),
        Place::AtDepth(depth) => (depth.0, 8),
        Place::Outlet(_) | Place::Slot(_) => (0, 10),
    };
    let role = match role {
        Role::Assistant => 0,
        Role::User => 1,
        Role::System | Role::Tool => 2,
    };
    (std::cmp::Reverse(depth), rank, role)
}

fn framed(joined: Joined, lead: &str, trail: &str) -> Joined {
    let text = format!("{lead}{}{trail}", joined.text);
    let mut pieces = joined.pieces;
    for piece in &mut pieces {
        piece.start += lead.len();
        piece.end += lead.len();
    }
    Joined { text, pieces }
}

struct Finder<'a> {
    request: &'a Request,
    found: &'a Recognition,
    strict: bool,
}

impl Finder<'_> {
    fn point(&self, place: &Place, role: Role) -> Option<Point> {
        match place {
            Place::BeforeMain
            | Place::AfterMain
            | Place::BeforeCharacter
            | Place::AfterCharacter
            | Place::BeforeExamples
            | Place::AfterExamples => Some(self.head(place)),
            Place::NoteTop | Place::NoteBottom => Some(self.note(place, role)),
            Place::AtDepth(depth) => Some(self.at_depth(*depth, role)),
            // Card books stand before the character unless a marker asks for them.
            Place::Slot(name) if name == LOREBOOK_SLOT => Some(self.head(&Place::BeforeCharacter)),
            Place::Outlet(_) | Place::Slot(_) => None,
        }
    }

    fn is_glued(&self) -> bool {
        let merged = matches!(self.found.window.shape, Shape::Merged | Shape::Single);
        merged || self.strict
    }

    /// A place before the chat: between two pieces of the preamble.
    fn head(&self, place: &Place) -> Point {
        let preamble: &[Part] = &self.found.window.preamble;
        let examples = preamble.iter().position(is_example).unwrap_or_else(|| chat_mark(preamble));
        let (alone, end) = (preamble.len() == 1, chat_mark(preamble));
        let at = match place {
            Place::BeforeMain => 0,
            // With one piece the card is in it: lore before the card stands before all.
            Place::BeforeCharacter if alone => 0,
            Place::AfterMain | Place::BeforeCharacter => 1.min(end),
            Place::AfterCharacter | Place::BeforeExamples => examples,
            Place::AfterExamples
            | Place::NoteTop
            | Place::NoteBottom
            | Place::AtDepth(_)
            | Place::Outlet(_)
            | Place::Slot(_) => end,
        };
        match &self.request.body {
            Body::Prompt(prompt) => point::in_story_string(prompt, preamble, at),
            Body::Messages(_) => self.between_pieces(preamble, at),
        }
    }

    fn between_pieces(&self, preamble: &[Part], at: usize) -> Point {
        let Some(last) = preamble.last() else { return Point::Before(0) };
        let (before, after) = (at.checked_sub(1).map(|at| &preamble[at]), preamble.get(at));
        let whole = before.is_none_or(|before| {
            after.is_none_or(|after| after.spot.message != before.spot.message)
        });
        if whole && !self.is_glued() {
            return Point::Before(after.map_or(last.spot.message + 1, |part| part.spot.message));
        }
        match (before, after) {
            (Some(before), _) => Point::after(before, "\n\n"),
            (None, Some(after)) => Point::before(after, "\n\n"),
            (None, None) => Point::Before(0),
        }
    }

    /// Around the author's note: a bracketed instruction inside the chat.
    fn note(&self, place: &Place, role: Role) -> Point {
        let parts = self.found.window.parts.iter().zip(&self.found.standings);
        let is_note = |(part, standing): &(&Part, &Standing)| {
            **standing == Standing::Injected && super::text::bracketed(&part.text)
        };
        let mut notes = parts.filter(is_note).map(|(part, _)| part);
        let Some(note) = notes.next_back() else { return self.at_depth(NOTE_DEPTH, role) };
        let top = *place == Place::NoteTop;
        let plain = matches!(self.request.body, Body::Messages(_)) && !self.is_glued();
        match (plain, top) {
            (true, true) => Point::Before(note.spot.message),
            (true, false) => Point::Before(note.spot.message + 1),
            (false, true) => Point::before(note, "\n"),
            (false, false) => Point::after(note, "\n"),
        }
    }

    /// So many story messages from the end. Deeper than the chat is its beginning.
    fn at_depth(&self, depth: Depth, role: Role) -> Point {
        let parts = &self.found.window.parts;
        let told: Vec<usize> =
            (0..parts.len()).filter(|at| self.found.standings[*at] == Standing::Story).collect();
        let goes_on = self.found.generation == GenerationType::Continue;
        let depth = (depth.0 as usize).max(usize::from(goes_on));
        let Some(last) = told.last() else { return self.head(&Place::AfterExamples) };
        if depth == 0 {
            return self.after_part(*last, role);
        }
        let at = told[told.len().saturating_sub(depth)];
        self.before_part(self.before_calls(at), role)
    }

    /// The first piece of the run of tool calls and results that `at` stands behind.
    fn before_calls(&self, at: usize) -> usize {
        let parts = &self.found.window.parts;
        let splits = |at: usize| at > 0 && parts[at].tool && parts[at].role == Role::Tool;
        let mut at = at;
        while splits(at) {
            at -= 1;
        }
        at
    }

    fn before_part(&self, at: usize, role: Role) -> Point {
        let part = &self.found.window.parts[at];
        match &self.request.body {
            Body::Prompt(prompt) => point::before_turn(prompt, part, role),
            Body::Messages(_) if self.is_glued() => self.glued(at),
            Body::Messages(_) => Point::Before(part.spot.message),
        }
    }

    fn after_part(&self, at: usize, role: Role) -> Point {
        let parts = &self.found.window.parts;
        let part = &parts[at];
        match &self.request.body {
            Body::Prompt(prompt) => point::after_turn(prompt, part, role),
            Body::Messages(_) if self.is_glued() => match part.role {
                Role::Assistant => self.glued(at),
                Role::User | Role::System | Role::Tool => Point::after(part, "\n\n"),
            },
            Body::Messages(_) => {
                let results = parts[at + 1..].iter().take_while(|part| part.tool).last();
                Point::Before(results.unwrap_or(part).spot.message + 1)
            }
        }
    }

    /// Into the user's words next to a piece, so that no role changes place.
    fn glued(&self, at: usize) -> Point {
        let parts = &self.found.window.parts;
        let part = &parts[at];
        let single = self.found.window.shape == Shape::Single;
        if single || part.role != Role::Assistant {
            return Point::before(part, "\n\n");
        }
        let earlier = parts[..at].iter().rev().find(|part| !part.tool && part.role == Role::User);
        let later = parts[at + 1..].iter().find(|part| !part.tool && part.role == Role::User);
        match (earlier, later, self.found.window.preamble.last()) {
            (Some(user), _, _) => Point::after(user, "\n\n"),
            (None, _, Some(head)) => Point::after(head, "\n\n"),
            (None, Some(user), None) => Point::before(user, "\n\n"),
            (None, None, None) => Point::Before(0),
        }
    }
}

fn is_example(part: &Part) -> bool {
    part.role != Role::System || part.text.trim().eq_ignore_ascii_case("[example chat]")
}

/// The start marker's place in the preamble, or its end.
fn chat_mark(preamble: &[Part]) -> usize {
    let marker = preamble.iter().rposition(|part| is_start_marker(&part.text));
    marker.unwrap_or(preamble.len())
}

#[cfg(test)]
mod tests;
