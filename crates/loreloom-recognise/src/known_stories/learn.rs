//! What is learned from requests and replies: new messages, and texts that are not story.

use super::{KnownStories, NodeAt, OpenJoint, Slot, StoryNode, forget::cost_of};
use crate::{few::Few, text::TextKey};
use loreloom_core::chat::{Message, Role};

/// The instructions remembered of one chat.
const INSTRUCTIONS: usize = 16;

impl KnownStories {
    pub(crate) fn learn_preamble(&mut self, slot: Slot, keys: impl Iterator<Item = TextKey>) {
        let own = self.chats[slot.0].preamble.get_or_insert_default();
        for key in keys {
            self.preambles.insert(key);
            own.insert(key);
        }
    }

    pub(crate) fn learn_injected(&mut self, slot: Slot, key: TextKey) {
        self.foreign.insert(key);
        let story = &mut self.chats[slot.0];
        let is_narrator = |at: &NodeAt| story.nodes[at.0].message.role == Role::System;
        story.doubts_narrators |= story.nodes_with(key).iter().any(is_narrator);
        let gone = story.injected.insert(key);
        self.index(key, slot);
        for key in gone {
            if self.chats[slot.0].nodes_with(key).is_empty() {
                self.unindex(key, slot);
            }
        }
    }

    pub(crate) fn learn_background(&mut self, slot: Slot, key: TextKey) {
        self.chats[slot.0].background.insert(key);
    }

    pub(crate) fn learn_instruction(&mut self, slot: Slot, text: &str) {
        let known = &mut self.chats[slot.0].instructions;
        if !known.iter().any(|other| other == text) {
            if known.len() == INSTRUCTIONS {
                known.remove(0);
            }
            known.push(text.to_owned());
        }
    }

    /// Follows a path from `from`, or from the root, and adds the messages that are missing. Returns
    /// the last message.
    pub(crate) fn walk(
        &mut self,
        slot: Slot,
        from: Option<NodeAt>,
        path: &[Message],
    ) -> Option<NodeAt> {
        path.iter().fold(from, |at, message| Some(self.step(slot, at, message)))
    }

    /// Follows messages that are known to be stored, from the root to `last`. The result is that of
    /// [`KnownStories::walk`], without searching for each message.
    pub(crate) fn revisit(&mut self, slot: Slot, last: NodeAt, messages: &[Message]) -> NodeAt {
        let (story, mut at) = (&mut self.chats[slot.0], Some(last));
        self.clock += messages.len() as u64;
        story.touched = self.clock;
        for (since, message) in (0..).zip(messages.iter().rev()) {
            let Some(node) = at.map(|at| &mut story.nodes[at.0]) else { break };
            node.touched = self.clock - since;
            // Shared, so that comparing it with the next request is cheap.
            node.message.text.share(&message.text);
            at = node.parent;
        }
        last
    }

    /// The child of `parent` with this message, added if it is missing.
    pub(crate) fn step(&mut self, slot: Slot, parent: Option<NodeAt>, message: &Message) -> NodeAt {
        let now = self.tick();
        let story = &mut self.chats[slot.0];
        story.touched = now;
        let exact = |parent| story.exact_child(parent, message.role, &message.text);
        if let Some(found) = parent.and_then(exact) {
            let node = &mut story.nodes[found.0];
            node.touched = now;
            // Shared, so that comparing it with the next request is cheap.
            node.message.text.share(&message.text);
            return found;
        }
        let key = TextKey::of(&message.text);
        if let Some(found) = story.child(parent, key, message.role) {
            let node = &mut story.nodes[found.0];
            node.touched = now;
            if let Some(joint) = node.joint.take() {
                if let OpenJoint::Continued(at) = joint {
                    let rest = message.text.get(at..).unwrap_or_default();
                    rest[..rest.len() - rest.trim_start().len()].clone_into(&mut story.joint);
                }
                node.message.text.clone_from(&message.text);
            }
            return found;
        }
        let at = NodeAt(story.nodes.len());
        self.cost += cost_of(message);
        story.nodes.push(StoryNode {
            parent,
            key,
            message: message.clone(),
            joint: None,
            children: Few::None,
            touched: now,
        });
        story.by_text.entry(key).or_default().push(at);
        if let Some(parent) = parent {
            story.nodes[parent.0].children.push(at);
        }
        self.index(key, slot);
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Role::{Assistant, User};
    use loreloom_core::ids::ChatId;

    #[test]
    fn revisiting_known_messages_gives_the_same_as_walking_from_the_root() {
        let messages = |texts: &[(Role, &str)]| -> Vec<Message> {
            texts.iter().map(|(role, text)| Message::new(*role, None, *text)).collect()
        };
        let first = messages(&[(User, "Who rang?"), (Assistant, "Orla."), (User, "Why?")]);
        let other = messages(&[(User, "Who rang?"), (Assistant, "Nobody."), (User, "Why?")]);
        let mut walked = KnownStories::new();
        walked.restore(ChatId::from("a"), None, [&first[..], &other]);
        let (slot, branch) = (Slot(0), walked.story(Slot(0)).path_to(Some(NodeAt(2))));
        for known in 1..=first.len() {
            let mut path = first.clone();
            path.push(Message::new(Assistant, None, format!("Number {known}.")));
            let mut revisited = walked.clone();
            let end = walked.walk(slot, None, &path);
            let (passed, rest) = path.split_at(known);
            let last = revisited.revisit(slot, branch[known - 1], passed);
            assert_eq!(revisited.walk(slot, Some(last), rest), end, "{known}");
            assert_eq!(format!("{revisited:?}"), format!("{walked:?}"), "{known}");
        }
    }
}
