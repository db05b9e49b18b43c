//! What long-term and session memories have in common: provenance, confirmation and decay,
//! and the links between a memory and what replaces it.

use std::ops::Range;

use loreloom_core::{chat::PathItem, ids::MessageId};
use rustc_hash::FxHashSet;

use super::MemoryCandidate;
use crate::{
    entities,
    ids::Ids,
    number::clamp_u32,
    recall::tokens,
    record::{Entity, EntityId, Memory, Retirement, TimeScope},
    rules::Rules,
    text::{normal, units},
    window::speakers,
};
use loreloom_ports::MemoryId;

/// The part of a story that a pass reads.
#[derive(Clone, Debug)]
pub struct PassSource<'story> {
    /// The whole path.
    pub chat: &'story [PathItem],
    /// The messages to read.
    pub window: Range<usize>,
    /// The messages of the window that count, if not all do: in a group, what one member says and
    /// hears from the user.
    pub heard: Option<&'story [PathItem]>,
    /// The chat's id.
    pub chat_id: &'story str,
    /// The time.
    pub now: i64,
}

impl<'story> PassSource<'story> {
    /// The messages to read.
    pub fn messages(&self) -> &'story [PathItem] {
        self.heard.unwrap_or_else(|| self.chat.get(self.window.clone()).unwrap_or_default())
    }

    /// The position of the newest message.
    pub fn position(&self) -> i64 {
        i64::from(clamp_u32(self.chat.len())) - 1
    }

    /// First and last position read.
    pub fn range(&self, rules: &Rules) -> (i64, i64) {
        let index = |at: usize| i64::from(clamp_u32(at));
        if rules.ranges_from_chat_end {
            (self.position() - index(self.messages().len()), self.position() - 1)
        } else {
            (index(self.window.start), index(self.window.end) - 1)
        }
    }

    /// The messages a statement rests on: those that share most of its words. A statement that
    /// shares none rests on all.
    ///
    /// Only an edit of these messages removes the memory. If it rested on the whole window, a
    /// corrected typo forty messages back would remove it.
    pub fn support(&self, statement: &str) -> Vec<MessageId> {
        const MOST: usize = 4;
        let stems = |text: &str| -> FxHashSet<String> {
            tokens(text).into_iter().map(|token| token.stem).collect()
        };
        let wanted = stems(statement);
        let mut shared: Vec<(usize, MessageId)> = self
            .messages()
            .iter()
            .map(|item| (stems(&item.message.text).intersection(&wanted).count(), item.id))
            .collect();
        let best = shared.iter().map(|(count, _)| *count).max().unwrap_or(0);
        if best == 0 {
            return shared.into_iter().map(|(_, id)| id).collect();
        }
        shared.retain(|(count, _)| count * 2 >= best);
        while shared.len() > MOST {
            let weakest = (0..shared.len()).min_by_key(|at| shared[*at].0).unwrap_or(0);
            shared.remove(weakest);
        }
        shared.into_iter().map(|(_, id)| id).collect()
    }

    /// A new memory from these messages.
    pub(super) fn memory(
        &self,
        candidate: &MemoryCandidate,
        scope: TimeScope,
        id: String,
        rules: &Rules,
    ) -> Memory {
        Memory {
            id: MemoryId(id),
            kind: candidate.kind,
            content: candidate.content.clone(),
            importance: Some(candidate.importance),
            expiration: Some(candidate.expiration),
            time_scope: Some(scope),
            ts: Some(self.now),
            confidence: Some(Memory::USUAL_CONFIDENCE),
            receipts: self.support(&candidate.content),
            source_messages: vec![self.range(rules)],
            source_chat_id: Some(self.chat_id.to_owned()),
            witnessed_by: speakers(self.messages()),
            ..Memory::default()
        }
    }
}

/// A candidate with its future id. Ids are given before any filter, so that a dropped candidate
/// does not change the ids of the others.
#[derive(Clone, Debug)]
pub(super) struct Numbered {
    pub(super) id: String,
    pub(super) candidate: MemoryCandidate,
}

/// Numbers candidates, and drops those that `is_fit` refuses or that repeat an earlier one.
pub(super) fn screened(
    candidates: Vec<MemoryCandidate>,
    ids: &mut Ids,
    is_fit: impl Fn(&MemoryCandidate) -> bool,
) -> Vec<Numbered> {
    let mut kept: Vec<Numbered> = Vec::new();
    for candidate in candidates {
        let id = ids.next();
        let repeats = kept.iter().any(|other| {
            other.candidate.kind == candidate.kind
                && normal(&other.candidate.content) == normal(&candidate.content)
        });
        if is_fit(&candidate) && !repeats {
            kept.push(Numbered { id, candidate });
        }
    }
    kept
}

/// Whether a text has between `least` and `most` UTF-16 units.
pub(super) fn has_length(text: &str, least: usize, most: usize) -> bool {
    (least..=most).contains(&units(text))
}

/// Links new memories to the entities of their tags, then all memories to all entities by name. An
/// entity of a tag counts as last seen here.
pub(super) fn link(
    registry: &mut Vec<Entity>,
    candidates: &[Numbered],
    current: &mut [Memory],
    position: i64,
    ids: &mut Ids,
) {
    let mut named: Vec<EntityId> = Vec::new();
    for new in candidates {
        let Some(memory) = current.iter_mut().find(|memory| memory.id.0 == new.id) else {
            continue;
        };
        let tokens = &new.candidate.entities;
        memory.entities.clear();
        for id in entities::resolve(registry, &memory.id, tokens, position, ids) {
            if !memory.entities.contains(&id) {
                memory.entities.push(id);
            }
        }
        named.extend(memory.entities.iter().cloned());
    }
    entities::reconcile(registry, current);
    for entity in registry.iter_mut().filter(|entity| named.contains(&entity.id)) {
        entity.last_seen = entity.last_seen.max(position);
    }
}

/// Active and retired memories, each in order.
pub(super) fn split(memories: &[Memory]) -> (Vec<Memory>, Vec<Memory>) {
    memories.iter().cloned().partition(Memory::is_active)
}

/// Retired memories that faded or lost their place. They come back when a reply repeats them.
pub(super) fn faded<'memory>(retired: &'memory [Memory], rules: &Rules) -> Vec<&'memory Memory> {
    let is_faded = |memory: &&Memory| {
        let why = memory.retired;
        memory.superseded_by.is_none()
            && matches!(why, Some(Retirement::Unconfirmed | Retirement::Evicted))
    };
    if rules.faded_come_back { retired.iter().filter(is_faded).collect() } else { Vec::new() }
}

/// Restores faded memories that were repeated, or that a new memory replaces.
pub(super) fn revive(active: &mut Vec<Memory>, retired: &mut Vec<Memory>, ids: &[&MemoryId]) {
    let is_meant = |memory: &Memory| {
        memory.superseded_by.is_none()
            && memory
                .retired
                .is_some_and(|why| why != Retirement::Held && why != Retirement::ByHand)
            && ids.contains(&&memory.id)
    };
    let (back, left): (Vec<Memory>, Vec<Memory>) =
        std::mem::take(retired).into_iter().partition(is_meant);
    *retired = left;
    active.extend(back.into_iter().map(|memory| Memory {
        retired: None,
        unconfirmed_since: 0,
        ..memory
    }));
}

/// Links a new memory to the one it replaces, if that is active and has another id and text. The
/// old one is retired.
pub(super) fn supersede(active: &mut [Memory], new: &MemoryId, old: &MemoryId, position: i64) {
    let text_of = |id: &MemoryId| {
        let found = active.iter().find(|memory| memory.id == *id && memory.is_active());
        found.map(|memory| normal(&memory.content))
    };
    let (Some(new_text), Some(old_text)) = (text_of(new), text_of(old)) else { return };
    if new == old || new_text == old_text {
        return;
    }
    for memory in active {
        if memory.id == *new {
            if !memory.supersedes.contains(old) {
                memory.supersedes.push(old.clone());
            }
            memory.valid_from.get_or_insert(position);
        } else if memory.id == *old {
            memory.superseded_by = Some(new.clone());
            memory.valid_to = Some(position);
        }
    }
}

/// Strengthens confirmed memories and weakens the others. Depending on the rules, memories that
/// stay unconfirmed for too long are retired.
pub(super) fn confirm_and_decay(
    memories: &mut [Memory],
    confirmed: &[MemoryId],
    now: i64,
    rules: &Rules,
) {
    const BOOST: f64 = 0.05;
    const DECAY: f64 = 0.02;
    const FADES_FROM: u32 = 10;
    const LEAST: f64 = 0.3;
    for memory in memories.iter_mut().filter(|memory| memory.is_active()) {
        if memory.pinned && !confirmed.contains(&memory.id) {
            continue;
        }
        if confirmed.contains(&memory.id) {
            memory.confidence = Some((memory.confidence() + BOOST).min(1.0));
            memory.unconfirmed_since = 0;
            memory.confirmations += 1;
            memory.last_confirmed_ts = Some(now);
            continue;
        }
        memory.unconfirmed_since = memory.unconfirmed_since.saturating_add(1);
        if memory.unconfirmed_since >= FADES_FROM {
            memory.confidence = Some((memory.confidence() - DECAY).max(LEAST));
        }
        if rules.retire_unconfirmed_after.is_some_and(|most| memory.unconfirmed_since >= most) {
            memory.retired = Some(Retirement::Unconfirmed);
        }
    }
}

/// Active memories in order, then retired ones, the newly retired last. Beyond the limit, the
/// oldest retired ones are dropped.
pub(super) fn assemble(
    current: Vec<Memory>,
    mut retired: Vec<Memory>,
    rules: &Rules,
) -> Vec<Memory> {
    let (mut active, newly_retired): (Vec<_>, Vec<_>) =
        current.into_iter().partition(Memory::is_active);
    retired.extend(newly_retired);
    if let Some(most) = rules.retired_max {
        let excess = retired.len().saturating_sub(most);
        retired.drain(..excess);
    }
    active.append(&mut retired);
    active
}

#[cfg(test)]
mod tests {
    use loreloom_core::{
        chat::{Message, Path, Role},
        ids::ChatId,
    };

    use super::*;

    #[test]
    fn a_statement_rests_on_the_messages_that_share_its_words() {
        let texts =
            ["Hello there.", "Odo sold his boat to Lis.", "Why?", "The boat leaked, Odo said."];
        let messages = texts.map(|text| Message::new(Role::User, Some("N"), text));
        let path = Path::of(ChatId::from("c"), messages);
        let source =
            PassSource { chat: path.items(), window: 0..4, heard: None, chat_id: "c", now: 0 };
        let places = |statement: &str| -> Vec<usize> {
            let ids = source.support(statement);
            (0..4).filter(|at| ids.contains(&path.items()[*at].id)).collect()
        };
        assert_eq!(places("Odo sold the leaking boat"), [1, 3]);
        assert_eq!(places("Lis bought something"), [1]);
        assert_eq!(places("Unrelated words entirely"), [0, 1, 2, 3]);
    }

    fn memory(id: &str, unconfirmed: u32, confidence: f64) -> Memory {
        Memory {
            id: id.into(),
            content: id.into(),
            unconfirmed_since: unconfirmed,
            confidence: Some(confidence),
            ..Memory::default()
        }
    }

    #[test]
    fn ten_passes_without_confirmation_retire_a_memory_unless_the_rules_say_otherwise() {
        let before = [memory("a", 9, 0.31), memory("b", 8, 0.7), memory("c", 20, 0.98)];
        let run = |rules: &Rules| {
            let mut memories = before.to_vec();
            confirm_and_decay(&mut memories, &["c".into()], 7, rules);
            memories
        };
        let ours = run(&Rules::default());
        let retired: Vec<_> = ours.iter().map(|memory| memory.retired).collect();
        assert_eq!(retired, [Some(Retirement::Unconfirmed), None, None]);
        assert_eq!(ours[2].confidence, Some(1.0));
        assert_eq!((ours[2].unconfirmed_since, ours[2].last_confirmed_ts), (0, Some(7)));
        let theirs = run(&Rules::smart_memory_1_8());
        assert!(theirs.iter().all(Memory::is_active));
        assert_eq!(theirs[0].confidence, Some(0.3));
    }

    #[test]
    fn a_memory_is_not_replaced_by_itself_or_by_its_own_words() {
        let mut same =
            [memory("a", 0, 0.7), Memory { content: " A ".into(), ..memory("b", 0, 0.7) }];
        supersede(&mut same, &"b".into(), &"a".into(), 3);
        supersede(&mut same, &"a".into(), &"a".into(), 3);
        assert!(same.iter().all(Memory::is_active));
        same[1].content = "no longer a".into();
        supersede(&mut same, &"b".into(), &"a".into(), 3);
        assert_eq!(same[0].superseded_by, Some("b".into()));
        assert_eq!((same[1].valid_from, same[0].valid_to), (Some(3), Some(3)));
        let mut three = [same[0].clone(), same[1].clone(), memory("c", 0, 0.7)];
        supersede(&mut three, &"c".into(), &"a".into(), 4);
        assert!(three[2].supersedes.is_empty(), "what is retired cannot be replaced again");
    }
}
