//! What long-term and session memories have in common: provenance, confirmation and decay,
//! and the links between a memory and what replaces it.

use std::ops::Range;

use loreloom_core::{
    chat::{PathItem, Role},
    ids::MessageId,
};
use rustc_hash::FxHashSet;

use super::{MemoryCandidate, part};
use crate::{
    cast::StoryCast,
    entities,
    ids::Ids,
    number::clamp_u32,
    recall::stems,
    record::{Entity, EntityId, Memory, Retirement, TimeScope},
    rules::Rules,
    text::{head, normal, units},
    verify::{Neighbour, PassedCandidate, Verified},
    window::{lines, speakers},
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
    /// The character whose card is used.
    pub character: &'story str,
    /// The lore of these turns. It needs no notes.
    pub lore: &'story [String],
    /// The time.
    pub now: i64,
}

impl<'story> PassSource<'story> {
    /// The people of the story.
    pub fn cast(&self) -> StoryCast {
        StoryCast::of(self.chat, self.character)
    }

    /// The people of the story, the lore and the messages, for a prompt.
    pub(super) fn shown(&self) -> (String, String, String) {
        const MOST_LORE: usize = 1600;
        let lore = self.lore.iter().map(|text| text.trim()).collect::<Vec<_>>().join("\n");
        let lore = part("Lore, known anyway: do not note what it says", head(&lore, MOST_LORE));
        (self.cast().sentence(), lore, part("Story", &lines(self.messages())))
    }

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
        self.sharing(&stems(statement))
    }

    /// The same without the names of the story's people, which occur everywhere. If only names are
    /// shared, they count.
    pub(super) fn support_beyond_names(&self, statement: &str) -> Vec<MessageId> {
        let cast = self.cast();
        let names = cast.characters.iter().chain([&cast.player]).flat_map(|name| stems(name));
        let names: FxHashSet<String> = names.collect();
        let words: FxHashSet<String> = stems(statement).difference(&names).cloned().collect();
        let is_shared = |item: &PathItem| !stems(&item.message.text).is_disjoint(&words);
        if self.messages().iter().any(is_shared) {
            self.sharing(&words)
        } else {
            self.support(statement)
        }
    }

    fn sharing(&self, wanted: &FxHashSet<String>) -> Vec<MessageId> {
        const MOST: usize = 4;
        let mut shared: Vec<(usize, MessageId)> = self
            .messages()
            .iter()
            .map(|item| (stems(&item.message.text).intersection(wanted).count(), item.id))
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

    /// Whether a statement comes from messages that were heard. It does not if only messages that
    /// were missed share its words.
    pub(super) fn is_heard(&self, statement: &str) -> bool {
        let Some(heard) = self.heard else { return true };
        let all = PassSource { heard: None, ..self.clone() };
        let support = all.support(statement);
        support.iter().any(|id| heard.iter().any(|item| item.id == *id))
    }

    /// Those who speak in the messages. A message without a name counts for the person it is of.
    fn witnesses(&self, rules: &Rules) -> Vec<String> {
        let mut names = speakers(self.messages());
        if rules.text.is_tolerant() {
            let cast = self.cast();
            let is_unnamed = |role| {
                let mut messages = self.messages().iter().map(|item| &item.message);
                messages.any(|message| message.role == role && message.name.is_none())
            };
            let own = [(Role::User, cast.player.as_str()), (Role::Assistant, self.character)];
            for (_, name) in own.into_iter().filter(|(role, _)| is_unnamed(*role)) {
                if !name.is_empty() && !names.iter().any(|known| known == name) {
                    names.push(name.to_owned());
                }
            }
        }
        names
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
            witnessed_by: self.witnesses(rules),
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

/// The notes that a prompt shows, in their order: those that share most words with the newest
/// messages. With literal rules, all of them.
///
/// This depends on nothing but notes and path, so that the numbers in a reply mean the same notes
/// wherever it is read.
pub(crate) fn relevant<'memory>(
    known: Vec<&'memory Memory>,
    chat: &[PathItem],
    rules: &Rules,
) -> Vec<&'memory Memory> {
    const SHOWN: usize = 12;
    const NEWEST: usize = 20;
    if !rules.text.is_tolerant() || known.len() <= SHOWN {
        return known;
    }
    let newest = chat.iter().rev().take(NEWEST);
    let words: FxHashSet<String> = newest.flat_map(|item| stems(&item.message.text)).collect();
    let shared = |memory: &Memory| stems(&memory.content).intersection(&words).count();
    let mut ranked: Vec<(usize, usize)> =
        known.iter().enumerate().map(|(at, memory)| (shared(memory), at)).collect();
    ranked.sort_by_key(|(shared, at)| (std::cmp::Reverse(*shared), *at));
    ranked.truncate(SHOWN);
    let mut kept: Vec<usize> = ranked.into_iter().map(|(_, at)| at).collect();
    kept.sort_unstable();
    kept.into_iter().map(|at| known[at]).collect()
}

/// Candidates with the names of the story's people. With literal rules, as they are.
pub(super) fn with_names(
    candidates: Vec<MemoryCandidate>,
    source: &PassSource<'_>,
    rules: &Rules,
) -> Vec<MemoryCandidate> {
    if !rules.text.is_tolerant() {
        return candidates;
    }
    let cast = source.cast();
    let entity = |token: &String| match token.split_once('/') {
        Some((name, kind)) => format!("{}/{kind}", cast.person(name)),
        None => cast.person(token).to_owned(),
    };
    let named = |new: MemoryCandidate| MemoryCandidate {
        content: cast.named(&new.content),
        entities: new.entities.iter().map(entity).collect(),
        ..new
    };
    candidates.into_iter().map(named).collect()
}

/// The known note that a candidate replaces by its number. Models copy numbers from examples and
/// other lists, so both must share a word, and notes of another kind two.
fn replaced_by_number(candidate: &MemoryCandidate, shown: &[&Memory]) -> Option<MemoryId> {
    let old = shown.get(candidate.replaces?.checked_sub(1)?)?;
    let is_other = normal(&old.content) != normal(&candidate.content);
    let (words, known) = (stems(&candidate.content), stems(&old.content));
    let least = if old.kind == candidate.kind { 1 } else { 2 };
    let concerns = words.intersection(&known).count() >= least;
    (is_other && concerns && !old.id.0.is_empty()).then(|| old.id.clone())
}

/// Lets candidates replace the notes whose numbers they name, whatever their words.
pub(super) fn replace_by_number(
    verified: &mut Verified,
    candidates: &[Numbered],
    shown: &[&Memory],
) {
    for (at, new) in candidates.iter().enumerate() {
        let Some(old) = replaced_by_number(&new.candidate, shown) else { continue };
        let neighbour = Some(Neighbour::Superseded(old.clone()));
        if let Some(passed) = verified.passed.iter_mut().find(|passed| passed.candidate == at) {
            passed.neighbour = neighbour;
        } else {
            verified.confirmed.retain(|id| *id != old);
            verified.passed.push(PassedCandidate { candidate: at, neighbour });
        }
    }
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
            && matches!(memory.retired, Some(Retirement::Unconfirmed | Retirement::Evicted))
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
    use crate::record::{Expiration, MemoryKind};

    #[test]
    fn a_statement_rests_on_the_messages_that_share_its_words() {
        let texts =
            ["Hello there.", "Odo sold his boat to Lis.", "Why?", "The boat leaked, Odo said."];
        let messages = texts.map(|text| Message::new(Role::User, Some("N"), text));
        let path = Path::of(ChatId::from("c"), messages);
        let source = PassSource {
            chat: path.items(),
            window: 0..4,
            heard: None,
            chat_id: "c",
            character: "",
            lore: &[],
            now: 0,
        };
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

    #[test]
    fn a_number_replaces_only_a_note_about_the_same() {
        let known = Memory {
            id: "1".into(),
            kind: MemoryKind::Fact,
            content: "Mara lives at the pier".to_owned(),
            ..Memory::default()
        };
        for (kind, content, number, expected) in [
            (MemoryKind::Fact, "Mara lives in Carrow now", 1, true),
            (MemoryKind::Fact, "Odo owns a horse", 1, false),
            (MemoryKind::Fact, "Mara lives in Carrow now", 2, false),
            (MemoryKind::Event, "Mara left the pier", 1, true),
            (MemoryKind::Event, "Mara sang", 1, false),
        ] {
            let candidate = MemoryCandidate {
                kind,
                content: content.to_owned(),
                importance: 2,
                expiration: Expiration::Permanent,
                entities: Vec::new(),
                replaces: Some(number),
            };
            let found = replaced_by_number(&candidate, &[&known]).is_some();
            assert_eq!(found, expected, "{content} {number}");
        }
    }
}
