//! The story as all of its characters may know it.
//!
//! Summary and scenes are written once for all characters. A sentence that is drawn from private
//! talk cannot be found later by its words, so their prompts do not show that talk at all. Those who
//! were there have their own memories of it.

use std::borrow::Cow;

use loreloom_core::{chat::PathItem, ids::MessageId};
use loreloom_ports::MemoryId;
use rustc_hash::FxHashSet;

use super::{Occasion, WorkingMemory};
use crate::{
    presence::characters,
    record::{ChatMemory, Memory, MemoryKind, Scene},
    secrets::Secrets,
    window::stable_cutoff,
};

/// The placeholder for a message that not all characters heard.
const IN_PRIVATE: &str = "(speaks in private)";

/// What is kept from some character of a group.
pub(super) struct SharedStory {
    kept: Vec<Secrets>,
    private: FxHashSet<MessageId>,
    notes_secrets: bool,
}

impl SharedStory {
    /// Reads the secrets of a group. A single character knows its whole story.
    pub(super) fn of(occasion: Occasion<'_>, remembered: &WorkingMemory) -> Self {
        let cast = characters(occasion.path);
        let cast = if cast.len() > 1 { cast.as_slice() } else { &[] };
        let kept: Vec<Secrets> =
            cast.iter().map(|name| occasion.secrets_of(remembered, name)).collect();
        let private = kept.iter().flat_map(Secrets::private_messages);
        Self {
            private: private.collect(),
            notes_secrets: !cast.is_empty()
                && occasion.config.rules.keeps_secrets
                && occasion.config.settings.epistemic_enabled,
            kept,
        }
    }

    /// The messages with what was said in private left out.
    pub(super) fn shown<'path>(&self, path: &'path [PathItem]) -> Cow<'path, [PathItem]> {
        if !path.iter().any(|item| self.private.contains(&item.id)) {
            return Cow::Borrowed(path);
        }
        let mut path = path.to_vec();
        for item in path.iter_mut().filter(|item| self.private.contains(&item.id)) {
            item.message.text = IN_PRIVATE.into();
        }
        Cow::Owned(path)
    }

    /// How far a summary may read: in a group, up to where secrets were looked for.
    pub(super) fn read_until(&self, path: &[PathItem], chat: &ChatMemory) -> usize {
        let end = stable_cutoff(path);
        let read = chat.extract_receipt.filter(|_| self.notes_secrets);
        let read = read.and_then(|id| path.iter().position(|item| item.id == id));
        read.map_or(end, |at| end.min(at + 1))
    }

    /// The summary so far, as every character may know it.
    pub(super) fn summary(&self, chat: &ChatMemory, path: &[PathItem]) -> Option<String> {
        let mut chat = ChatMemory {
            summary: chat.summary.clone(),
            summary_end: chat.summary_end,
            summary_updated: chat.summary_updated,
            ..ChatMemory::default()
        };
        for secrets in &self.kept {
            chat.summary = secrets.summary_without(&chat, path);
        }
        chat.summary
    }

    /// The scenes that every character may know, with the notes that they may know of each.
    pub(super) fn scenes(&self, chat: &ChatMemory) -> Vec<Scene> {
        let is_told = |scene: &Scene| {
            self.kept.iter().any(|one| one.told_by_scene(&scene.summary, &scene.receipts))
        };
        let may_tell = |id: &MemoryId| {
            let mut notes = chat.session_memories.iter().filter(|one| one.id == *id);
            notes.all(|memory| self.may_tell(memory))
        };
        let mut scenes = chat.scene_history.clone();
        scenes.retain(|scene| !is_told(scene));
        for scene in &mut scenes {
            scene.source_memory_ids.retain(may_tell);
        }
        scenes
    }

    /// Whether every character may know a memory.
    pub(super) fn may_tell(&self, memory: &Memory) -> bool {
        let is_told = |one: &Secrets| one.told_by(&memory.content, &memory.receipts, memory.ts);
        self.kept.is_empty() || memory.kind != MemoryKind::Private && !self.kept.iter().any(is_told)
    }
}

#[cfg(test)]
mod tests {
    use loreloom_core::{
        chat::{Message, Path, Role},
        ids::ChatId,
    };
    use serde_json::json;

    use super::*;
    use crate::{people::People, presence::Presence, secrets::SecretSources};

    #[test]
    fn the_end_of_a_thread_is_written_without_private_talk() -> Result<(), serde_json::Error> {
        let says = |name: &str, text: &str| Message::new(Role::Assistant, Some(name), text);
        let path = Path::of(
            ChatId::from("c"),
            [
                says("Tobin", "I will row you out to the wreck."),
                says("Mara", "I steered the Petrel that night. Tobin must never know."),
                says("Mara", "I was drunk."),
                says("Tobin", "What are you whispering about?"),
            ],
        );
        let ids: Vec<MessageId> = path.items().iter().map(|item| item.id).collect();
        let hiding = serde_json::from_value(json!({
            "type": "hiding", "subject": "Mara", "target": "Tobin", "ts": 7, "receipts": [ids[1]],
            "content": "Mara steered the Petrel",
        }))?;
        let sources = SecretSources {
            insights: vec![&hiding],
            private: Vec::new(),
            path: path.items(),
            people: &People::of(path.items()),
            presence: &Presence::default(),
            embed: None,
        };
        let kept = vec![Secrets::of(&sources, "Tobin")];
        let private = kept.iter().flat_map(Secrets::private_messages).collect();
        let shared = SharedStory { kept, private, notes_secrets: true };
        let chat: ChatMemory = serde_json::from_value(json!({
            "sessionMemories": [
                { "id": "row", "type": "detail", "content": "Tobin will row out to the wreck.",
                  "ts": 3, "receipts": [ids[0]] },
                { "id": "helm", "type": "detail", "content": "Her own hand was on the tiller.",
                  "ts": 3, "receipts": [ids[1], ids[0]] },
            ],
            "sceneHistory": [
                { "summary": "Tobin promised to row out to the wreck.", "ts": 4,
                  "source_memory_ids": ["row", "helm"], "receipts": [ids[0]] },
                { "summary": "She owned up that her hand was on the tiller.", "ts": 5,
                  "receipts": [ids[1], ids[2], ids[3]] },
            ],
        }))?;
        let scenes = shared.scenes(&chat);
        let texts: Vec<&str> = scenes.iter().map(|scene| scene.summary.as_str()).collect();
        assert_eq!(texts, ["Tobin promised to row out to the wreck."]);
        assert_eq!(scenes[0].source_memory_ids, ["row".into()]);
        Ok(())
    }
}
