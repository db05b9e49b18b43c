//! Pieces after the last stored message: new messages, instructions, a prescribed beginning of
//! the reply.

use super::{PartKind, WindowReader};
use crate::{
    kind::{is_continue_nudge, is_nudge},
    known_stories::NodeAt,
    text::{Likeness, TextKey, bracketed, likeness, similar},
    window::{End, Part, is_named, looks_like_instruction},
};
use loreloom_core::{
    chat::{Message, Role},
    instruct::only_a_name,
};

impl<'a> WindowReader<'a> {
    /// Reads the pieces after the last stored message.
    pub(super) fn tail(&mut self) {
        let start = self.pairs.last().map_or(0, |pair| pair.0 + 1);
        let end = self.window.parts.len();
        for at in start..end {
            let part = self.part(at);
            if part.tool {
                self.reading.part_kinds[at] = PartKind::Tool;
                continue;
            }
            // The user may say the same words: the note is not the only thing said.
            let others = self.last_role() == Some(Role::User) || self.next_talk(at).is_some();
            if self.is_note(part) && others {
                self.reading.part_kinds[at] = PartKind::Note;
                continue;
            }
            if self.asks && at + 1 == end {
                self.reading.part_kinds[at] = PartKind::Instruction;
                continue;
            }
            match part.role {
                Role::System | Role::Tool => self.tail_system(at),
                Role::User => self.tail_user(at),
                Role::Assistant => self.tail_assistant(at),
            }
        }
    }

    fn last_role(&self) -> Option<Role> {
        self.reading.path.last().map(|message| message.role)
    }

    /// The next piece after `at` that may be a message of user or model.
    fn next_talk(&self, at: usize) -> Option<&'a Part> {
        let rest = &self.window.parts[at + 1..];
        let asked = usize::from(self.asks && !rest.is_empty());
        let talk = rest[..rest.len() - asked].iter().filter(|part| !part.tool);
        talk.into_iter().find(|part| part.role != Role::System && !self.is_foreign(part))
    }

    /// A system text is a narrator's right before the user's message, or after a reply if the next
    /// reply is asked for without a message of the user. Other system texts are not story.
    fn tail_system(&mut self, at: usize) {
        let part = self.part(at);
        let before_user = self.next_talk(at).is_some_and(|next| next.role == Role::User);
        let from_background = self.story.is_some_and(|story| story.background.contains(part.key));
        let narrates = self.story.is_some_and(|story| !story.doubts_narrators)
            && !looks_like_instruction(part)
            && !self.is_foreign(part);
        if from_background || (narrates && (before_user || self.is_prompting(at))) {
            self.push_new(at);
        } else if !before_user && self.next_talk(at).is_none() {
            self.reading.part_kinds[at] = PartKind::Instruction;
        }
    }

    /// Whether the next reply answers a new system text right after a stored reply. A question of a
    /// background generation is not streamed, and lore of the front end was there before.
    fn is_prompting(&self, at: usize) -> bool {
        let Some(story) = self.story else { return false };
        let after = self.pairs.last().is_some_and(|pair| {
            let gap = pair.0 + 1..at;
            let narrates = |at: usize| {
                self.part(at).role == Role::System && self.reading.part_kinds[at] == PartKind::Story
            };
            self.part(pair.0).role == Role::Assistant && gap.into_iter().all(narrates)
        });
        let rest = &self.window.parts[at + 1..];
        let is_last =
            rest.iter().all(|part| part.role == Role::System && !is_continue_nudge(&part.text));
        let here = |known: &str| self.window.parts.iter().any(|part| similar(known, &part.text));
        let constant = story.instructions.iter().all(|known| bracketed(known) || here(known));
        self.streamed && story.streams == Some(true) && after && is_last && constant
    }

    fn tail_user(&mut self, at: usize) {
        let part = self.part(at);
        let last = self.next_talk(at).is_none_or(|next| next.role != Role::User);
        let answered = self.last_role() != Some(Role::User);
        let hidden = self.window.shape.hides_instructions() && is_nudge(&part.text);
        if hidden && self.next_talk(at).is_none() {
            self.reading.part_kinds[at] = PartKind::Instruction;
            return;
        }
        let instruction = looks_like_instruction(part) && self.other_user_talk(at);
        if instruction || (self.is_foreign(part) && !(last && answered)) {
            return;
        }
        self.pass_unsent_reply(part.key, at);
        self.push_new(at);
    }

    /// Whether the user said something else since the last stored message.
    fn other_user_talk(&self, at: usize) -> bool {
        let start = self.pairs.last().map_or(0, |pair| pair.0 + 1);
        let parts = self.window.parts.iter().enumerate().skip(start);
        let user = parts.filter(|(_, part)| part.role == Role::User && !part.tool);
        user.into_iter().any(|(other, part)| {
            other != at
                && !looks_like_instruction(part)
                && !(self.asks && other + 1 == self.window.parts.len())
        })
    }

    /// Adds a stored reply that the front end has but does not send.
    fn pass_unsent_reply(&mut self, next: TextKey, part: usize) {
        let (Some(story), Some(at)) = (self.story, self.at) else { return };
        if self.last_role() != Some(Role::User) || story.child(Some(at), next, Role::User).is_some()
        {
            return;
        }
        let unsent = |child: &&NodeAt| {
            let node = story.node(**child);
            node.message.role == Role::Assistant && self.is_unsent(node, part)
        };
        if let Some(unsent) = story.node(at).children.iter().rev().find(unsent).copied() {
            self.add_to_path(story.node(unsent).message.clone(), Some(unsent));
        }
    }

    fn tail_assistant(&mut self, at: usize) {
        let part = self.part(at);
        let last = self.next_talk(at).is_none();
        if let Some((message, node)) = self.changed_reply(part) {
            self.push(at, message, node);
            return;
        }
        if self.is_foreign(part) {
            return;
        }
        let after_model = self.last_role() == Some(Role::Assistant);
        let unfinished = self.window.end == End::Unfinished;
        let begins = if self.pairs.is_empty() { only_a_name(&part.text) } else { !is_named(part) };
        let from_background = self.story.is_some_and(|story| story.background.contains(part.key));
        // A stopped reply is stored only when the front end asks to continue it.
        let continued =
            self.window.parts[at + 1..].iter().any(|part| is_continue_nudge(&part.text));
        if last && begins && !unfinished && !from_background && !continued {
            self.reading.part_kinds[at] = PartKind::Prefill;
        } else if !after_model
            || self.pairs.is_empty()
            || is_named(part)
            || from_background
            || continued
        {
            self.push_new(at);
        }
    }

    /// The stored reply that this piece is in changed form.
    fn changed_reply(&self, part: &Part) -> Option<(Message, Option<NodeAt>)> {
        let (story, at) = (self.story?, self.at?);
        let children = story.node(at).children.iter().rev();
        children.filter(|child| story.node(**child).message.role == part.role).find_map(|child| {
            let stored = &story.node(*child).message;
            match likeness(&stored.text, &part.text)? {
                Likeness::Expanded | Likeness::Stripped(_) => Some((stored.clone(), Some(*child))),
                Likeness::Cut => {
                    let name = part.name.as_deref();
                    Some((Message::new(part.role, name, part.text.clone()), None))
                }
            }
        })
    }
}
