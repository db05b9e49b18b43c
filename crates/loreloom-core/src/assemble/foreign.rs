//! Prompts that a front end built: where lore goes without disturbing them.
//!
//! Explicit markers in the prompt win. Otherwise places are found from its outline: the
//! leading system messages are the head, the rest is the chat. With one system message,
//! lore "before the character" stands before it; with several, after the first, which is
//! the main prompt. A tool's answer is never parted from its call.

use super::{Assembled, Joined, template::at_depth};
use crate::{
    chat::Role,
    place::{Injection, LOREBOOK_SLOT, Place},
    prompt::PromptMessage,
};

/// What must be known of a message to find places around it.
#[derive(Clone, Copy, Debug)]
pub struct Outline<'a> {
    /// Its role.
    pub role: Role,
    /// Its text; empty where it has none.
    pub text: &'a str,
}

/// How a prompt is changed. Positions count the messages and bytes of the prompt as it was.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// Markers to replace, in order.
    pub edits: Vec<Edit>,
    /// Messages to insert, in order.
    pub insertions: Vec<Insertion>,
}

/// A marker that is replaced by lore.
#[derive(Clone, Debug, PartialEq)]
pub struct Edit {
    /// The message.
    pub message: usize,
    /// First byte of the marker.
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

/// Plans where injections go. Those whose outlet or slot the prompt does not ask for are
/// left out, except for the lorebook's: those stand before the character, each a message
/// of its own.
pub fn plan(prompt: &[Outline<'_>], injections: &[Injection]) -> Plan {
    let head = prompt.iter().take_while(|message| message.role == Role::System).count();
    let insert = |before: usize, places: &[Place]| {
        let here = injections.iter().filter(|injection| places.contains(&injection.place));
        Insertion { before, role: Role::System, joined: Joined::of(here) }
    };
    let before_character = usize::from(head > 1);
    let edits = edits(prompt, injections);
    let lorebook =
        lorebook(prompt, injections).map(|joined| Insertion { before: before_character, ..joined });
    let mut insertions = vec![
        insert(0, &[Place::BeforeMain]),
        insert(before_character, &[Place::AfterMain, Place::BeforeCharacter]),
    ];
    insertions.extend(lorebook);
    insertions
        .push(insert(head, &[Place::AfterCharacter, Place::BeforeExamples, Place::AfterExamples]));
    let may_split =
        |at: usize| prompt.get(at + head).is_none_or(|message| message.role != Role::Tool);
    let chat = at_depth(injections, prompt.len() - head, may_split);
    insertions.extend(chat.into_iter().map(|one| Insertion { before: one.before + head, ..one }));
    insertions.retain(|insertion| !insertion.joined.is_empty());
    insertions.sort_by_key(|insertion| insertion.before);
    Plan { edits, insertions }
}

/// The messages of the lorebook's slot, unless a marker asks for them.
fn lorebook<'a>(
    prompt: &[Outline<'_>],
    injections: &'a [Injection],
) -> impl Iterator<Item = Insertion> + use<'a> {
    let slot = Place::Slot(LOREBOOK_SLOT.to_owned());
    let asked = prompt.iter().any(|one| markers(one.text).iter().any(|(_, _, at)| *at == slot));
    let here = injections.iter().filter(move |one| !asked && one.place == slot);
    here.map(|one| Insertion { before: 0, role: one.role, joined: Joined::of([one]) })
}

fn edits(prompt: &[Outline<'_>], injections: &[Injection]) -> Vec<Edit> {
    let mut edits = Vec::new();
    for (message, outline) in prompt.iter().enumerate() {
        for (start, end, place) in markers(outline.text) {
            let here = injections.iter().filter(|injection| injection.place == place);
            edits.push(Edit { message, start, end, joined: Joined::of(here) });
        }
    }
    edits
}

/// The markers in a text: `{{outlet::name}}` and `{{loreloom::slot}}`.
fn markers(text: &str) -> Vec<(usize, usize, Place)> {
    let mut found = Vec::new();
    // A marker ends at the first `}}` and begins at the last `{{` before it, so that no two
    // overlap.
    let mut from = 0;
    while let Some(close) = text[from..].find("}}").map(|at| at + from) {
        let (open, end) = (text[from..close].rfind("{{").map(|at| at + from), close + 2);
        from = end;
        let Some(start) = open else { continue };
        let inner = &text[start + 2..close];
        let place = inner
            .strip_prefix("outlet::")
            .map(|name| Place::Outlet(name.to_owned()))
            .or_else(|| inner.strip_prefix("loreloom::").map(|name| Place::Slot(name.to_owned())));
        found.extend(place.map(|place| (start, end, place)));
    }
    found
}

impl Plan {
    /// Carries the plan out.
    pub fn apply(&self, prompt: &[PromptMessage]) -> Assembled {
        let mut assembled = Assembled { messages: Vec::new(), spans: Vec::new() };
        for at in 0..=prompt.len() {
            for insertion in self.insertions.iter().filter(|insertion| insertion.before == at) {
                assembled.spans.extend(insertion.joined.spans(assembled.messages.len(), 0));
                let content = insertion.joined.text.clone();
                assembled.messages.push(PromptMessage {
                    role: insertion.role,
                    name: None,
                    content,
                });
            }
            if let Some(message) = prompt.get(at) {
                let place = assembled.messages.len();
                let (content, spans) = self.edited(at, place, &message.content);
                assembled.spans.extend(spans);
                assembled.messages.push(PromptMessage { content, ..message.clone() });
            }
        }
        assembled
    }

    /// The text of message `at` with its markers replaced, and where the lore stands once
    /// the message is the `place`-th.
    pub fn edited(
        &self,
        at: usize,
        place: usize,
        text: &str,
    ) -> (String, Vec<crate::report::Span>) {
        let mut out = String::with_capacity(text.len());
        let mut spans = Vec::new();
        let mut from = 0;
        for edit in self.edits.iter().filter(|edit| edit.message == at) {
            out.push_str(&text[from..edit.start]);
            spans.extend(edit.joined.spans(place, out.len()));
            out.push_str(&edit.joined.text);
            from = edit.end;
        }
        out.push_str(&text[from..]);
        (out, spans)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        place::Provenance,
        units::{Depth, Tokens},
    };

    fn injection(place: Place, role: Role, text: &str) -> Injection {
        let source = Provenance::Memory(text.to_owned());
        Injection { place, role, text: text.to_owned(), tokens: Tokens(1), source }
    }

    fn messages(parts: &[(Role, &str)]) -> Vec<PromptMessage> {
        let message = |&(role, text): &(Role, &str)| PromptMessage {
            role,
            name: None,
            content: text.to_owned(),
        };
        parts.iter().map(message).collect()
    }

    fn woven(prompt: &[(Role, &str)], injections: &[Injection]) -> (Vec<String>, Assembled) {
        let prompt = messages(prompt);
        let outline: Vec<Outline<'_>> = prompt
            .iter()
            .map(|message| Outline { role: message.role, text: &message.content })
            .collect();
        let assembled = plan(&outline, injections).apply(&prompt);
        let texts = assembled.messages.iter().map(|message| message.content.clone()).collect();
        for span in &assembled.spans {
            let Provenance::Memory(text) = &span.source else { continue };
            assert_eq!(&assembled.messages[span.message].content[span.start..span.end], text);
        }
        (texts, assembled)
    }

    use Role::{Assistant, System, Tool, User};

    #[test]
    fn lore_stands_around_a_lone_system_prompt() {
        let injections = [
            injection(Place::BeforeCharacter, System, "before"),
            injection(Place::BeforeCharacter, System, "and more"),
            injection(Place::AfterCharacter, System, "after"),
        ];
        let (texts, assembled) = woven(&[(System, "card"), (User, "hi")], &injections);
        assert_eq!(texts, ["before\nand more", "card", "after", "hi"]);
        assert_eq!(assembled.spans.len(), 3);
    }

    #[test]
    fn with_several_system_messages_the_first_is_the_main_prompt() {
        let injections = [injection(Place::BeforeCharacter, System, "before")];
        let prompt = [(System, "main"), (System, "card"), (User, "hi")];
        assert_eq!(woven(&prompt, &injections).0, ["main", "before", "card", "hi"]);
    }

    #[test]
    fn lorebook_entries_are_messages_of_their_own_unless_a_marker_asks_for_them() {
        let slot = || Place::Slot(LOREBOOK_SLOT.to_owned());
        let injections = [injection(slot(), System, "one"), injection(slot(), Assistant, "two")];
        let prompt = [(System, "main"), (System, "card"), (User, "hi")];
        let (texts, assembled) = woven(&prompt, &injections);
        assert_eq!(texts, ["main", "one", "two", "card", "hi"]);
        assert_eq!(assembled.messages[2].role, Assistant);
        let prompt = [(System, "main [{{loreloom::lorebook}}]"), (User, "hi")];
        assert_eq!(woven(&prompt, &injections).0, ["main [one\ntwo]", "hi"]);
    }

    #[test]
    fn depth_counts_from_the_end_and_stops_at_the_head() {
        let prompt = [(System, "card"), (User, "1"), (Assistant, "2"), (User, "3")];
        for (depth, expected) in [
            (0, ["card", "1", "2", "3", "x"]),
            (1, ["card", "1", "2", "x", "3"]),
            (3, ["card", "x", "1", "2", "3"]),
            (99, ["card", "x", "1", "2", "3"]),
        ] {
            let injections = [injection(Place::AtDepth(Depth(depth)), System, "x")];
            assert_eq!(woven(&prompt, &injections).0, expected, "depth {depth}");
        }
    }

    #[test]
    fn a_tools_answer_is_not_parted_from_its_call() {
        let prompt = [(User, "1"), (Assistant, "call"), (Tool, "a"), (Tool, "b"), (User, "2")];
        let injections = [injection(Place::AtDepth(Depth(2)), System, "x")];
        assert_eq!(woven(&prompt, &injections).0, ["1", "x", "call", "a", "b", "2"]);
    }

    #[test]
    fn markers_are_replaced_and_an_outlet_nobody_asks_for_is_left_out() {
        let injections = [
            injection(Place::Outlet("a".to_owned()), System, "one"),
            injection(Place::Outlet("a".to_owned()), System, "two"),
            injection(Place::Outlet("b".to_owned()), System, "three"),
        ];
        let prompt = [(System, "x {{outlet::a}} y {{outlet::none}}."), (User, "hi")];
        assert_eq!(woven(&prompt, &injections).0, ["x one\ntwo y .", "hi"]);
        let nested = [(User, "{{outlet::{{outlet::b}} }} {{outlet::b")];
        assert_eq!(woven(&nested, &injections).0, ["{{outlet::three }} {{outlet::b"]);
    }
}
