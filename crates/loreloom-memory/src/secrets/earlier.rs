//! Texts that were written before a secret was noted.
//!
//! A summary can retell a secret in other words: when it was written, nobody knew that it was one.
//! Such a text is older than the note and drawn from the messages that tell the secret. Its
//! sentences must rest on what the character heard, until it is written again.

use loreloom_core::{chat::PathItem, ids::MessageId};

use super::Secrets;
use crate::record::{ArcSummary, CharacterMemory, ChatMemory, Memory, Profile};

impl Secrets {
    /// Whether a text that was written at this time from these messages is older than the note of
    /// a secret that they tell.
    pub fn is_earlier<'id>(
        &self,
        written: Option<i64>,
        messages: impl IntoIterator<Item = &'id MessageId>,
    ) -> bool {
        let is_later = |secret: &usize| {
            let noted = self.kept.get(*secret).and_then(|secret| secret.noted);
            written.zip(noted).is_none_or(|(written, noted)| written <= noted)
        };
        let mut about = messages.into_iter().filter_map(|id| self.private.get(id)).flatten();
        about.any(is_later)
    }

    /// Whether a character's own memory gives a secret away. The model noted for it only what it
    /// heard, as far as was known at that time.
    pub fn told_by_memory(&self, memory: &Memory) -> bool {
        let before = memory.ts.map(|at| at.saturating_add(1));
        self.given_away_by(&memory.content, &memory.receipts)
            || self.is_earlier(before, &memory.receipts) && !self.heard.supports(&memory.content)
    }

    /// The summary of a chat without the sentences that give a secret away.
    pub fn summary_without(&self, chat: &ChatMemory, path: &[PathItem]) -> Option<String> {
        let covered = &path[..chat.summary_end.min(path.len())];
        let is_earlier = self.is_earlier(chat.summary_updated, ids(covered));
        let text = self.text_without(chat.summary.as_deref()?, is_earlier, &[]);
        (!text.is_empty()).then_some(text)
    }

    /// A profile without the sentences that give a secret away.
    pub fn profile_without(&self, profile: &Profile, path: &[PathItem]) -> Profile {
        let last = path.iter().position(|item| Some(item.id) == profile.receipt);
        let before = &path[..last.map_or(path.len(), |at| at + 1)];
        let is_earlier = self.is_earlier(profile.ts, ids(before));
        let without = |text: &str| self.text_without(text, is_earlier, &[]);
        Profile {
            character_state: without(&profile.character_state),
            world_state: without(&profile.world_state),
            relationship_matrix: without(&profile.relationship_matrix),
            ..profile.clone()
        }
    }

    /// The canon of a character without what gives a secret away: `None` if nothing is left. Canon
    /// is drawn from memories, and what the character may know of them supports it.
    pub fn canon_without(&self, memory: &CharacterMemory) -> Option<String> {
        let canon = memory.canon.as_ref()?;
        let drawn =
            memory.memories.iter().filter(|one| canon.ts.is_none_or(|at| one.ts <= Some(at)));
        let is_earlier = self.is_earlier(canon.ts, drawn.flat_map(|one| &one.receipts));
        let known = memory.memories.iter().filter(|one| !self.told_by_memory(one));
        let known: Vec<&str> = known.map(|one| one.content.as_str()).collect();
        let text = self.text_without(&canon.text, is_earlier, &known);
        (!text.is_empty()).then_some(text)
    }

    /// Whether the end of a thread gives a secret away. It is drawn from scenes and memories.
    pub fn told_by_ending(&self, ending: &ArcSummary, chat: &ChatMemory) -> bool {
        let text = format!("{}\n{}", ending.arc, ending.summary);
        let scenes = chat
            .all_scenes()
            .filter(|scene| scene.ts.is_some_and(|at| ending.source_scene_ids.contains(&at)));
        let memories =
            chat.session_memories.iter().filter(|one| ending.source_memory_ids.contains(&one.id));
        let drawn = scenes.flat_map(|scene| &scene.receipts);
        let drawn = drawn.chain(memories.flat_map(|memory| &memory.receipts));
        self.revealed_by(&text)
            || self.is_earlier(ending.ts, drawn) && !self.heard.supports(&ending.summary)
    }

    fn text_without(&self, text: &str, is_earlier: bool, known: &[&str]) -> String {
        if !is_earlier {
            return self.without(text);
        }
        let heard = self.heard.clone().with(known);
        self.prose_without(text, |part| self.revealed_by(part) || !heard.supports(part))
    }
}

fn ids(path: &[PathItem]) -> impl Iterator<Item = &MessageId> {
    path.iter().map(|item| &item.id)
}
