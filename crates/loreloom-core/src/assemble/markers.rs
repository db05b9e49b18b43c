//! Markers that a prompt has for text: `{{outlet::name}}`, `{{loreloom::slot}}` and
//! `{{smartmemory-slot}}`.
//!
//! The texts of a marker are written into its message. Card books are the exception: each of
//! their entries is a message of its own, so the marker of their slot parts the message it is in.

use super::{Insertion, Joined, PromptEdit};
use crate::{
    chat::Role,
    macros::MacroValues,
    place::{Injection, LOREBOOK_SLOT, Place, Provenance},
    prompt::PromptMessage,
};

/// What a marker asks for.
#[derive(Clone, Copy)]
pub(super) enum Asks<'text> {
    Outlet(&'text str),
    Slot(&'text str),
}

impl Asks<'_> {
    /// Whether it is for entries that are messages of their own.
    pub(super) fn parts(self) -> bool {
        matches!(self, Self::Slot(LOREBOOK_SLOT))
    }

    /// Whether it asks for an injection. A memory tier answers its own marker wherever it would
    /// be otherwise.
    pub(super) fn is_for(self, injection: &Injection) -> bool {
        match (self, &injection.place, &injection.source) {
            (Self::Outlet(name), Place::Outlet(outlet), _) => outlet == name,
            (Self::Slot(name), Place::Slot(slot), _) => slot == name,
            // A tier whose outlet has its own name goes nowhere but to its marker.
            (Self::Slot(name), Place::Outlet(outlet), Provenance::Memory(tier)) => {
                tier == name && outlet == tier
            }
            (Self::Slot(_), Place::Outlet(_), _) => false,
            (Self::Slot(name), _, Provenance::Memory(tier)) => tier == name,
            _ => false,
        }
    }
}

/// How markers change a prompt.
#[derive(Default)]
pub(super) struct FilledMarkers<'a> {
    pub(super) edits: Vec<PromptEdit>,
    pub(super) insertions: Vec<Insertion>,
    /// The injections that no marker asks for.
    pub(super) rest: Vec<&'a Injection>,
}

impl<'a> FilledMarkers<'a> {
    /// Fills all markers. `parts` says whether messages may be parted.
    pub(super) fn of(
        prompt: &[PromptMessage],
        injections: &[&'a Injection],
        may_part: bool,
    ) -> Self {
        let mut filled = Self { rest: injections.to_vec(), ..Self::default() };
        for (at, message) in prompt.iter().enumerate() {
            for (start, end, asks) in markers(&message.content) {
                if may_part && asks.parts() {
                    let here: Vec<&Injection> =
                        filled.rest.iter().copied().filter(|one| asks.is_for(one)).collect();
                    filled.part((at, message), (start, end), &here);
                } else {
                    let here = injections.iter().copied().filter(|one| asks.is_for(one));
                    let joined = Joined::of(here);
                    filled.edits.push(PromptEdit { message: at, start, end, joined });
                }
                filled.rest.retain(|one| !asks.is_for(one));
            }
        }
        filled
    }

    /// Puts texts as messages where the marker in a message is.
    fn part(
        &mut self,
        (at, message): (usize, &PromptMessage),
        (start, end): (usize, usize),
        here: &[&Injection],
    ) {
        let (above, below) = (&message.content[..start], &message.content[end..]);
        let has_markers = !markers(below).is_empty();
        let (kept, first) = (above.trim_end().len(), end + below.len() - below.trim_start().len());
        let mut edit = |start, end, joined| {
            self.edits.push(PromptEdit { message: at, start, end, joined });
        };
        let insert = |before: usize, one: &&Injection| {
            let joined = Joined::of([*one]);
            Insertion { before, role: one.role, joined }
        };
        if kept == 0 && below.trim().is_empty() {
            // The message is only the marker: an entry of its role takes its place.
            let own = here.iter().position(|one| one.role == message.role);
            let split = own.unwrap_or(here.len());
            edit(start, end, Joined::of(own.map(|own| here[own])));
            let before = here[..split].iter().map(|one| insert(at, one));
            let after = here.iter().skip(split + 1).map(|one| insert(at + 1, one));
            self.insertions.extend(before.chain(after));
        } else if kept == 0 {
            edit(start, first, Joined::default());
            self.insertions.extend(here.iter().map(|one| insert(at, one)));
        } else if below.trim().is_empty() || here.is_empty() || has_markers {
            let from = if here.is_empty() { start } else { kept };
            edit(from, end, Joined::default());
            self.insertions.extend(here.iter().map(|one| insert(at + 1, one)));
        } else {
            edit(kept, message.content.len(), Joined::default());
            self.insertions.extend(here.iter().map(|one| insert(at + 1, one)));
            let text = message.content[first..].to_owned();
            let joined = Joined { text, pieces: Vec::new() };
            self.insertions.push(Insertion { before: at + 1, role: message.role, joined });
        }
    }
}

/// A text of a prompt that we build, filled: the messages that it becomes.
pub(super) fn filled_text(text: &str, injections: &[Injection]) -> Vec<(Role, Joined)> {
    let mut messages = Vec::new();
    let mut open = Joined::default();
    let mut from = 0;
    for (start, end, asks) in markers(text) {
        open.text.push_str(&text[from..start]);
        from = end;
        let here = injections.iter().filter(|one| asks.is_for(one));
        if asks.parts() {
            messages.push((Role::System, std::mem::take(&mut open)));
            messages.extend(here.map(|one| (one.role, Joined::of([one]))));
        } else {
            open.append(Joined::of(here));
        }
    }
    open.text.push_str(&text[from..]);
    let is_parted = !messages.is_empty();
    messages.push((Role::System, open));
    let mut messages: Vec<(Role, Joined)> =
        messages.into_iter().filter(|(_, one)| !one.text.trim().is_empty()).collect();
    for (_, message) in messages.iter_mut().filter(|(_, one)| is_parted && one.is_empty()) {
        message.text = message.text.trim().to_owned();
    }
    messages
}

/// A text with its macros replaced, except the markers that lore is put into.
pub(super) fn expanded(text: &str, macros: &MacroValues<'_>) -> String {
    let mut result = String::with_capacity(text.len());
    let mut from = 0;
    for (start, end, _) in markers(text) {
        result.push_str(&macros.expand(&text[from..start]));
        result.push_str(&text[start..end]);
        from = end;
    }
    result.push_str(&macros.expand(&text[from..]));
    result
}

/// Whether a marker of these texts asks for an injection.
pub(super) fn is_asked_for(injection: &Injection, texts: &[&str]) -> bool {
    texts.iter().any(|text| markers(text).iter().any(|(_, _, asks)| asks.is_for(injection)))
}

pub(super) fn markers(text: &str) -> Vec<(usize, usize, Asks<'_>)> {
    let mut found = Vec::new();
    // Nearly every text has none.
    if memchr::memchr(b'}', text.as_bytes()).is_none() {
        return found;
    }
    // A marker ends at the first `}}` and begins at the last `{{` before it, so that no two
    // overlap.
    let mut from = 0;
    while let Some(close) = text[from..].find("}}").map(|at| at + from) {
        let (open, end) = (text[from..close].rfind("{{").map(|at| at + from), close + 2);
        from = end;
        let Some(start) = open else { continue };
        let inner = text[start + 2..close].trim();
        let outlet = inner.strip_prefix("outlet::").map(Asks::Outlet);
        let slot = inner.strip_prefix("loreloom::").or_else(|| inner.strip_prefix("smartmemory-"));
        found.extend(outlet.or(slot.map(Asks::Slot)).map(|asks| (start, end, asks)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Tokens;

    fn entry(text: &str, role: Role) -> Injection {
        Injection {
            place: Place::Slot(LOREBOOK_SLOT.to_owned()),
            role,
            text: text.to_owned(),
            tokens: Tokens(1),
            source: Provenance::Memory(text.to_owned()),
        }
    }

    #[test]
    fn the_moved_slot_of_card_books_keeps_one_message_for_each_entry() {
        let entries = [entry("one", Role::User), entry("two", Role::System)];
        let wanted: Vec<&Injection> = entries.iter().collect();
        for (text, expected) in [
            ("{{loreloom::lorebook}}", vec!["user: one", "system: two"]),
            ("a {{loreloom::lorebook}}", vec!["system: a", "user: one", "system: two"]),
            ("{{loreloom::lorebook}}\nb", vec!["user: one", "system: two", "system: b"]),
            (
                "a\n{{loreloom::lorebook}}\nb",
                vec!["system: a", "user: one", "system: two", "system: b"],
            ),
        ] {
            let message = PromptMessage { role: Role::System, name: None, content: text.into() };
            let prompt = vec![message];
            let filled = FilledMarkers::of(&prompt, &wanted, true);
            assert!(filled.rest.is_empty(), "{text}");
            let plan = super::super::Plan::new(filled.edits, filled.insertions, Vec::new());
            let assembled = plan.apply(prompt);
            let shown = |message: &PromptMessage| {
                format!("{}: {}", message.role.as_str(), message.content.as_str())
            };
            let found: Vec<String> = assembled.messages.iter().map(shown).collect();
            assert_eq!(found, expected, "{text}");
            assert_eq!(assembled.spans.len(), 2, "{text}");
            for span in &assembled.spans {
                let Provenance::Memory(own) = &span.source else { continue };
                let text = assembled.messages[span.message].content.as_str();
                assert_eq!(&text[span.start..span.end], own);
            }
            let built = filled_text(text, &entries);
            let built: Vec<String> = built
                .iter()
                .map(|(role, joined)| format!("{}: {}", role.as_str(), joined.text))
                .collect();
            assert_eq!(built, expected, "{text}");
        }
    }
}
