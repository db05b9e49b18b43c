//! How much a memory is worth: on its own (utility) and to the current turn (hybrid).

use loreloom_core::chat::PathItem;
use rustc_hash::FxHashMap;

use crate::{
    hardware::Hardware,
    number::{real, real_time},
    record::{Entity, Expiration, Kind, Memory, MemoryId, StoryArc, TimeScope},
    similarity::{Vectors, cosine},
    text::{Frequencies, jaccard, keywords, long_words, mentions},
};

/// What a retired memory is worth: next to nothing, but it still has a place in order.
const RETIRED: f64 = 0.001;
/// What a person wants kept is worth more than anything that was not pinned.
const PINNED: f64 = 10_000.0;

/// What a memory is worth on its own, within a pool of memories.
pub fn utility(memory: &Memory, pool: &Frequencies) -> f64 {
    if !memory.is_active() {
        return RETIRED;
    }
    let durability = match memory.expiration {
        Some(Expiration::Permanent) => 3.0,
        Some(Expiration::Session) | None => 2.0,
        Some(Expiration::Scene) => 1.0,
    };
    let persona = f64::from(memory.persona_relevance.unwrap_or(match memory.kind {
        Kind::Relationship => 3,
        Kind::Development => 2,
        Kind::Fact
        | Kind::Preference
        | Kind::Event
        | Kind::Scene
        | Kind::Revelation
        | Kind::Detail
        | Kind::Other => 1,
    }));
    let intimacy = f64::from(memory.intimacy_relevance.unwrap_or(match memory.kind {
        Kind::Preference => 3,
        Kind::Development => 2,
        Kind::Fact
        | Kind::Relationship
        | Kind::Event
        | Kind::Scene
        | Kind::Revelation
        | Kind::Detail
        | Kind::Other => 1,
    }));
    let pinned = if memory.pinned { PINNED } else { 0.0 };
    pinned
        + 100.0 * f64::from(memory.importance())
        + 35.0 * durability
        + 25.0 * memory.confidence()
        + 25.0 * persona
        + 20.0 * intimacy
        + (2.0 * f64::from(memory.retrieval_count)).min(20.0)
        + 2.0 * pool.weight(&memory.content)
        + real_time(memory.last_confirmed_ts.unwrap_or(0)) / 1e13
}

/// What is going on, for [`hybrid`].
#[derive(Clone, Debug, Default)]
pub struct TurnContext<'turn> {
    /// Names in the newest messages, lower-cased.
    pub mentions: Vec<String>,
    /// Who the entities are.
    pub registry: &'turn [Entity],
    /// Open threads.
    pub arcs: Vec<&'turn str>,
    /// How much likeness to the turn weighs.
    pub turn_weight: f64,
    /// How alike a memory is to the newest message.
    pub likeness: FxHashMap<MemoryId, f64>,
    /// The newest messages.
    pub recent_text: String,
}

impl<'turn> TurnContext<'turn> {
    /// What is going on at the end of a path. Likeness to the newest message is measured by
    /// vectors alone: by words, triggers do that already.
    pub fn of(
        path: &[PathItem],
        registry: &'turn [Entity],
        arcs: &'turn [StoryArc],
        hardware: Hardware,
        memories: &[Memory],
        vectors: &Vectors,
    ) -> Self {
        const NEWEST: usize = 2;
        const RECENT: usize = 4;
        let last = |count: usize| {
            let from = path.len().saturating_sub(count);
            path[from..].iter().map(|item| item.message.text.as_str())
        };
        let turn = path.last().and_then(|item| vectors.get(&item.message.text));
        let likeness = memories
            .iter()
            .filter_map(|memory| {
                Some((memory.id.clone(), cosine(vectors.get(&memory.content)?, turn?)))
            })
            .collect();
        Self {
            mentions: mentions(last(NEWEST)),
            registry,
            arcs: arcs.iter().filter(|arc| !arc.resolved).map(|arc| arc.content.as_str()).collect(),
            turn_weight: hardware.turn_weight(),
            likeness,
            recent_text: last(RECENT).collect::<Vec<_>>().join("\n"),
        }
    }
}

/// What a memory is worth to the current turn.
pub fn hybrid(memory: &Memory, pool: &Frequencies, turn: &TurnContext<'_>) -> f64 {
    hybrid_of(memory, pool, turn, &long_words(&turn.recent_text))
}

/// The same with the long words of the newest messages.
fn hybrid_of(
    memory: &Memory,
    pool: &Frequencies,
    turn: &TurnContext<'_>,
    recent: &[String],
) -> f64 {
    let arcs = turn.arcs.iter().map(|arc| jaccard(&memory.content, arc)).fold(0.0, f64::max);
    let likeness = turn.likeness.get(&memory.id).copied().unwrap_or(0.0);
    utility(memory, pool)
        + 100.0 * named_share(memory, turn)
        + 60.0 * arcs
        + 30.0 * immediacy(memory)
        + 100.0 * turn.turn_weight * likeness
        + trigger_bonus(memory, pool, recent)
        - if memory.contradicts.is_empty() { 0.0 } else { 50.0 }
}

/// The share of a memory's entities that the turn names.
fn named_share(memory: &Memory, turn: &TurnContext<'_>) -> f64 {
    if memory.entities.is_empty() {
        return 0.0;
    }
    let is_named = |entity: &Entity| {
        entity.names().any(|name| {
            let name = name.to_lowercase();
            turn.mentions
                .iter()
                .any(|mention| name == *mention || name.split_whitespace().any(|w| w == mention))
        })
    };
    let named = memory
        .entities
        .iter()
        .filter(|id| turn.registry.iter().any(|entity| entity.id == **id && is_named(entity)))
        .count();
    real(named) / real(memory.entities.len())
}

/// How much a memory belongs to the present moment, 0 to 1.
fn immediacy(memory: &Memory) -> f64 {
    let scope = match memory.time_scope {
        Some(TimeScope::Scene) => 2.0,
        Some(TimeScope::Session) => 1.0,
        Some(TimeScope::Arc) => 0.5,
        Some(TimeScope::Global) | None => 0.0,
    };
    let expiry = match memory.expiration {
        Some(Expiration::Scene) => 2.0,
        Some(Expiration::Session) => 1.0,
        Some(Expiration::Permanent) | None => 0.0,
    };
    (scope + expiry) / 4.0
}

/// At most three hits count: trigger words first, then words of the memory itself.
fn trigger_bonus(memory: &Memory, pool: &Frequencies, recent: &[String]) -> f64 {
    const MOST_HITS: usize = 3;
    let triggers =
        memory.triggers.iter().filter(|word| recent.contains(&word.to_lowercase())).map(|_| 80.0);
    let content = pool.keywords(&memory.content);
    let content = content.iter().filter(|word| recent.contains(word));
    triggers.chain(content.map(|_| 40.0)).take(MOST_HITS).sum()
}

/// Whether recent text brings a memory to mind.
pub fn is_triggered(memory: &Memory, recent: &[String]) -> bool {
    memory.triggers.iter().any(|word| recent.contains(&word.to_lowercase()))
        || keywords(&memory.content).iter().any(|word| recent.contains(word))
}

/// The keyword frequencies of a pool of memories.
pub fn frequencies<'memory>(pool: impl IntoIterator<Item = &'memory Memory>) -> Frequencies {
    Frequencies::of(pool.into_iter().map(|memory| memory.content.as_str()))
}

/// Memories by utility within their own pool, best first; ties newest first.
pub fn prioritize<'memory>(memories: &[&'memory Memory]) -> Vec<&'memory Memory> {
    let pool = frequencies(memories.iter().copied());
    sorted_by(memories, |memory| utility(memory, &pool))
}

/// Memories by what they are worth to the turn; then, for each of `floor` in order, the
/// best of that kind is moved to the front.
pub fn order_for_turn<'memory>(
    memories: &[&'memory Memory],
    pool: &Frequencies,
    turn: &TurnContext<'_>,
    floor: &[Kind],
) -> Vec<&'memory Memory> {
    let recent = long_words(&turn.recent_text);
    let mut sorted = sorted_by(memories, |memory| hybrid_of(memory, pool, turn, &recent));
    raise_best(&mut sorted, floor);
    sorted
}

/// Moves the best of each kind to the front, so that the last kind named is first.
pub fn raise_best(sorted: &mut [&Memory], kinds: &[Kind]) {
    for kind in kinds {
        if let Some(at) = sorted.iter().position(|memory| memory.kind == *kind) {
            sorted[..=at].rotate_right(1);
        }
    }
}

fn sorted_by<'memory>(
    memories: &[&'memory Memory],
    score: impl Fn(&Memory) -> f64,
) -> Vec<&'memory Memory> {
    let mut scored: Vec<(f64, &Memory)> =
        memories.iter().map(|memory| (score(memory), *memory)).collect();
    scored.sort_by(|(a, left), (b, right)| {
        b.total_cmp(a).then_with(|| right.ts.unwrap_or(0).cmp(&left.ts.unwrap_or(0)))
    });
    scored.into_iter().map(|(_, memory)| memory).collect()
}

/// The best memory of each of these kinds.
pub fn protected<'memory>(memories: &[&'memory Memory], kinds: &[Kind]) -> Vec<&'memory Memory> {
    let sorted = prioritize(memories);
    kinds
        .iter()
        .filter_map(|kind| sorted.iter().find(|memory| memory.kind == *kind).copied())
        .collect()
}

/// At most `max` memories: as they are if they fit, else the best ones, best first.
pub fn trim_by_priority<'memory>(memories: &[&'memory Memory], max: usize) -> Vec<&'memory Memory> {
    if memories.len() <= max {
        return memories.to_vec();
    }
    let mut sorted = prioritize(memories);
    sorted.truncate(max);
    sorted
}

/// Memories by time, oldest first; those without a time last.
pub fn timeline<'memory>(memories: &[&'memory Memory]) -> Vec<&'memory Memory> {
    let mut sorted = memories.to_vec();
    sorted.sort_by_key(|memory| memory.ts.unwrap_or(i64::MAX));
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::EntityId;

    fn memory(content: &str) -> Memory {
        Memory { id: content.into(), content: content.into(), ..Memory::default() }
    }

    #[test]
    fn each_part_of_the_hybrid_score_adds_its_own_weight() {
        let nothing = Frequencies::default();
        let base = 332.5;
        let score = |memory: &Memory, turn: &TurnContext<'_>| hybrid(memory, &nothing, turn) - base;
        let close = |a: f64, b: f64| (a - b).abs() < 1e-9;

        let entities = vec![EntityId("e1".into()), EntityId("e2".into())];
        let odo =
            Entity { id: EntityId("e1".into()), name: "Odo Venn".into(), ..Entity::default() };
        let turn = TurnContext {
            mentions: vec!["venn".to_owned()],
            registry: std::slice::from_ref(&odo),
            ..TurnContext::default()
        };
        assert!(close(score(&Memory { entities, ..memory("plain") }, &turn), 50.0));

        let contradicted = Memory { contradicts: vec!["n".into()], ..memory("x") };
        assert!(close(score(&contradicted, &TurnContext::default()), -50.0));

        let turn = TurnContext {
            turn_weight: 0.6,
            likeness: [(MemoryId::from("x"), 0.5)].into_iter().collect(),
            ..TurnContext::default()
        };
        assert!(close(score(&memory("x"), &turn), 30.0));

        let triggered =
            Memory { triggers: vec!["beacon".into()], ..memory("harbour lantern rope") };
        let turn = TurnContext {
            recent_text: "A beacon: harbour, lantern, rope.".into(),
            ..TurnContext::default()
        };
        assert!(close(score(&triggered, &turn), 160.0));
    }

    #[test]
    fn a_turn_is_read_off_the_end_of_the_path() {
        use loreloom_core::{
            chat::{Message, Path, Role},
            ids::ChatId,
        };
        let texts = ["Pell slept.", "The bell rang.", "Where is Lis?", "Odo points at the mill."];
        let messages = texts.map(|text| Message::new(Role::User, None, text));
        let path = Path::of(ChatId::from("c"), messages);
        let arcs = [
            StoryArc { content: "Find Lis".into(), ..StoryArc::default() },
            StoryArc { content: "Done".into(), resolved: true, ..StoryArc::default() },
        ];
        let mut vectors = Vectors::on();
        vectors.insert("Odo points at the mill.", Some(vec![1.0, 0.0]));
        vectors.insert("the mill", Some(vec![0.6, 0.8]));
        let memories = [memory("the mill"), memory("no vector")];
        let items = path.items();
        let turn = TurnContext::of(items, &[], &arcs, Hardware::B, &memories, &vectors);
        assert_eq!(turn.mentions, ["lis", "odo"]);
        assert_eq!(turn.arcs, ["Find Lis"]);
        assert_eq!(turn.likeness.len(), 1);
        assert!((turn.likeness[&MemoryId::from("the mill")] - 0.6).abs() < 1e-6);
        assert!(turn.recent_text.starts_with("Pell slept."));
    }

    #[test]
    fn the_last_kind_raised_comes_first() {
        let kinds = [Kind::Event, Kind::Fact, Kind::Relationship, Kind::Fact];
        let memories: Vec<Memory> = kinds
            .iter()
            .enumerate()
            .map(|(at, kind)| Memory { kind: *kind, ..memory(&at.to_string()) })
            .collect();
        let mut sorted: Vec<&Memory> = memories.iter().collect();
        raise_best(&mut sorted, &[Kind::Relationship, Kind::Fact, Kind::Detail]);
        let order: Vec<&str> = sorted.iter().map(|memory| memory.content.as_str()).collect();
        assert_eq!(order, ["1", "2", "0", "3"]);
    }
}
