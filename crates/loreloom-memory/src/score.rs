//! Scores memories: on their own (utility) and for the current turn (hybrid).

use loreloom_core::chat::PathItem;
use rustc_hash::FxHashMap;

use crate::{
    model_profile::ModelProfile,
    number::{real, real_time},
    record::{Entity, Expiration, Memory, MemoryKind, StoryArc, TimeScope},
    similarity::{Vectors, cosine},
    text::{Frequencies, TextRules, jaccard, keywords, long_words, mentions},
};
use loreloom_ports::MemoryId;

/// The score of a retired memory: almost nothing, but it still has a rank.
const RETIRED: f64 = 0.001;
/// The largest relevance of a memory for a persona or for intimacy.
const MOST_RELEVANT: f64 = 3.0;
/// A pinned memory is worth more than any other.
const PINNED: f64 = 10_000.0;

/// The score of a memory on its own, within a pool of memories.
pub fn utility(memory: &Memory, pool: &Frequencies) -> f64 {
    if !memory.is_active() {
        return RETIRED;
    }
    let durability = match memory.expiration {
        Some(Expiration::Permanent) => 3.0,
        Some(Expiration::Session) | None => 2.0,
        Some(Expiration::Scene) => 1.0,
    };
    let persona = memory.persona_relevance.unwrap_or_else(|| usual_persona(memory.kind));
    let intimacy = memory.intimacy_relevance.unwrap_or_else(|| usual_intimacy(memory.kind));
    let pinned = if memory.pinned { PINNED } else { 0.0 };
    pinned
        + 100.0 * f64::from(memory.importance())
        + 35.0 * durability
        + 25.0 * memory.confidence()
        + 25.0 * persona.clamp(0.0, MOST_RELEVANT)
        + 20.0 * intimacy.clamp(0.0, MOST_RELEVANT)
        + (2.0 * f64::from(memory.retrieval_count)).min(20.0)
        + 2.0 * pool.weight(&memory.content)
        + real_time(memory.last_confirmed_ts.or(memory.ts).unwrap_or(0)) / 1e13
}

/// The default persona relevance of a kind.
fn usual_persona(kind: MemoryKind) -> f64 {
    match kind {
        MemoryKind::Relationship => 3.0,
        MemoryKind::Development => 2.0,
        MemoryKind::Fact
        | MemoryKind::Preference
        | MemoryKind::Event
        | MemoryKind::Private
        | MemoryKind::Scene
        | MemoryKind::Revelation
        | MemoryKind::Detail
        | MemoryKind::Other => 1.0,
    }
}

/// The default intimacy relevance of a kind.
fn usual_intimacy(kind: MemoryKind) -> f64 {
    match kind {
        MemoryKind::Preference => 3.0,
        MemoryKind::Development => 2.0,
        MemoryKind::Fact
        | MemoryKind::Relationship
        | MemoryKind::Event
        | MemoryKind::Private
        | MemoryKind::Scene
        | MemoryKind::Revelation
        | MemoryKind::Detail
        | MemoryKind::Other => 1.0,
    }
}

/// The current turn, for [`hybrid`].
#[derive(Clone, Debug, Default)]
pub struct TurnContext<'turn> {
    /// Names in the newest messages, lower-cased.
    pub mentions: Vec<String>,
    /// The known entities.
    pub registry: &'turn [Entity],
    /// Open arcs.
    pub arcs: Vec<&'turn str>,
    /// How much similarity to the turn weighs.
    pub turn_weight: f64,
    /// How similar a memory is to the newest message.
    pub likeness: FxHashMap<MemoryId, f64>,
    /// The newest messages, lower-cased.
    pub recent_text: String,
    /// Which letters make words and names.
    pub words: TextRules,
}

/// What a [`TurnContext`] is made of.
#[derive(Clone, Copy, Debug)]
pub struct TurnSources<'a> {
    /// The path.
    pub path: &'a [PathItem],
    /// The known entities.
    pub entities: &'a [Entity],
    /// The arcs of the story.
    pub arcs: &'a [StoryArc],
    /// The memories that may be shown.
    pub memories: &'a [Memory],
    /// Vectors of the newest message and the memories.
    pub vectors: &'a Vectors,
}

impl<'turn> TurnContext<'turn> {
    /// The turn at the end of a path. Similarity to the newest message is measured by vectors only;
    /// triggers already compare words.
    pub fn of(sources: TurnSources<'turn>, profile: ModelProfile, words: TextRules) -> Self {
        const NEWEST: usize = 2;
        const RECENT: usize = 4;
        let TurnSources { path, entities, arcs, memories, vectors } = sources;
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
            mentions: mentions(last(NEWEST), words),
            registry: entities,
            arcs: arcs.iter().filter(|arc| !arc.resolved).map(|arc| arc.content.as_str()).collect(),
            turn_weight: profile.turn_weight(),
            likeness,
            recent_text: last(RECENT).collect::<Vec<_>>().join("\n").to_lowercase(),
            words,
        }
    }
}

/// The score of a memory for the current turn.
pub fn hybrid(memory: &Memory, pool: &Frequencies, turn: &TurnContext<'_>) -> f64 {
    hybrid_of(memory, pool, turn, &long_words(&turn.recent_text, turn.words))
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
        + trigger_bonus(memory, pool, recent, turn.words)
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
            let by_a_word = |mention: &String| {
                turn.words == TextRules::Tolerant
                    && name.split_whitespace().any(|word| word == mention)
            };
            turn.mentions.iter().any(|mention| name == *mention || by_a_word(mention))
        })
    };
    let named = memory
        .entities
        .iter()
        .filter(|id| turn.registry.iter().any(|entity| entity.id == **id && is_named(entity)))
        .count();
    real(named) / real(memory.entities.len())
}

/// How current a memory is, 0 to 1.
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
fn trigger_bonus(memory: &Memory, pool: &Frequencies, recent: &[String], words: TextRules) -> f64 {
    const MOST_HITS: usize = 3;
    let triggers =
        memory.triggers.iter().filter(|word| is_recent(word, recent, words)).map(|_| 80.0);
    let content = pool.keywords(&memory.content);
    let content = content.iter().filter(|word| recent.contains(word));
    triggers.chain(content.map(|_| 40.0)).take(MOST_HITS).sum()
}

/// Whether a trigger is among recent words. A trigger by hand may have a capital letter, which
/// Smart Memory does not expect.
fn is_recent(trigger: &str, recent: &[String], words: TextRules) -> bool {
    match words {
        TextRules::Tolerant => recent.contains(&trigger.to_lowercase()),
        TextRules::Literal => recent.iter().any(|word| word == trigger),
    }
}

/// Whether recent text triggers a memory.
pub fn is_triggered(memory: &Memory, recent: &[String], words: TextRules) -> bool {
    memory.triggers.iter().any(|word| is_recent(word, recent, words))
        || keywords(&memory.content, words).iter().any(|word| recent.contains(word))
}

/// The keyword frequencies of a pool of memories.
pub fn frequencies<'memory>(
    pool: impl IntoIterator<Item = &'memory Memory>,
    words: TextRules,
) -> Frequencies {
    Frequencies::of(pool.into_iter().map(|memory| memory.content.as_str()), words)
}

/// Memories by utility within their own pool, best first; ties newest first.
pub fn prioritize<'memory>(memories: &[&'memory Memory], words: TextRules) -> Vec<&'memory Memory> {
    let pool = frequencies(memories.iter().copied(), words);
    sorted_by(memories, |memory| utility(memory, &pool))
}

/// Memories by their score for the turn within their own pool. The best of each kind of `floor`
/// come first.
pub fn order_for_turn<'memory>(
    memories: &[&'memory Memory],
    turn: &TurnContext<'_>,
    floor: &[MemoryKind],
) -> Vec<&'memory Memory> {
    let recent = long_words(&turn.recent_text, turn.words);
    let pool = frequencies(memories.iter().copied(), turn.words);
    let mut sorted = sorted_by(memories, |memory| hybrid_of(memory, &pool, turn, &recent));
    raise_best(&mut sorted, floor);
    sorted
}

/// Moves the best of each kind to the front; among themselves they keep their order.
fn raise_best(sorted: &mut Vec<&Memory>, kinds: &[MemoryKind]) {
    let mut open = kinds.to_vec();
    let (raised, others): (Vec<&Memory>, Vec<&Memory>) = sorted.drain(..).partition(|memory| {
        let wanted = open.iter().position(|kind| *kind == memory.kind);
        if wanted.is_some() {
            open.retain(|kind| *kind != memory.kind);
        }
        wanted.is_some()
    });
    sorted.extend(raised.into_iter().chain(others));
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

/// The best memory of each of these kinds; a kind named twice gets its two best.
pub fn protected<'memory>(
    memories: &[&'memory Memory],
    kinds: &[MemoryKind],
    words: TextRules,
) -> Vec<&'memory Memory> {
    let mut sorted = prioritize(memories, words);
    let mut best = |kind: &MemoryKind| {
        let at = sorted.iter().position(|memory| memory.kind == *kind)?;
        Some(sorted.remove(at))
    };
    kinds.iter().filter_map(&mut best).collect()
}

/// At most `max` memories: unchanged if they fit, otherwise the best, best first.
pub fn trim_by_priority<'memory>(
    memories: &[&'memory Memory],
    max: usize,
    words: TextRules,
) -> Vec<&'memory Memory> {
    if memories.len() <= max {
        return memories.to_vec();
    }
    let mut sorted = prioritize(memories, words);
    sorted.truncate(max);
    sorted
}

/// The same with new memories. As in Smart Memory, the defaults of a kind count only for stored
/// memories.
pub fn trim_with_new(
    memories: &[Memory],
    is_new: impl Fn(&Memory) -> bool,
    max: usize,
    words: TextRules,
) -> Vec<MemoryId> {
    let plain = |memory: &Memory| Memory {
        persona_relevance: memory.persona_relevance.or(Some(1.0)),
        intimacy_relevance: memory.intimacy_relevance.or(Some(1.0)),
        ..memory.clone()
    };
    let judged: Vec<Memory> = memories
        .iter()
        .map(|memory| if is_new(memory) { plain(memory) } else { memory.clone() })
        .collect();
    let kept = trim_by_priority(&judged.iter().collect::<Vec<_>>(), max, words);
    kept.into_iter().map(|memory| memory.id.clone()).collect()
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
            recent_text: "a beacon: harbour, lantern, rope.".into(),
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
        let sources = TurnSources {
            path: path.items(),
            entities: &[],
            arcs: &arcs,
            memories: &memories,
            vectors: &vectors,
        };
        let turn = TurnContext::of(sources, ModelProfile::B, TextRules::Tolerant);
        assert_eq!(turn.mentions, ["lis", "odo"]);
        assert_eq!(turn.arcs, ["Find Lis"]);
        assert_eq!(turn.likeness.len(), 1);
        assert!((turn.likeness[&MemoryId::from("the mill")] - 0.6).abs() < 1e-6);
        assert!(turn.recent_text.starts_with("pell slept."));
    }

    #[test]
    fn the_best_of_raised_kinds_come_first_in_their_own_order() {
        let kinds =
            [MemoryKind::Event, MemoryKind::Fact, MemoryKind::Relationship, MemoryKind::Fact];
        let memories: Vec<Memory> = kinds
            .iter()
            .enumerate()
            .map(|(at, kind)| Memory { kind: *kind, ..memory(&at.to_string()) })
            .collect();
        for floor in [
            [MemoryKind::Relationship, MemoryKind::Fact, MemoryKind::Detail],
            [MemoryKind::Fact, MemoryKind::Detail, MemoryKind::Relationship],
        ] {
            let mut sorted: Vec<&Memory> = memories.iter().collect();
            raise_best(&mut sorted, &floor);
            let order: Vec<&str> = sorted.iter().map(|memory| memory.content.as_str()).collect();
            assert_eq!(order, ["1", "2", "0", "3"]);
        }
    }

    #[test]
    fn utility_reads_what_other_programs_wrote() -> Result<(), serde_json::Error> {
        let nothing = Frequencies::default();
        for (fields, expected) in [
            (r#""type":"fact""#, 332.5),
            (r#""type":"relationship""#, 382.5),
            (r#""type":"preference""#, 372.5),
            (r#""ts":1750000000000"#, 332.675),
            (r#""ts":1750000000000,"last_confirmed_ts":0"#, 332.5),
            (r#""expiration":"PERMANENT""#, 367.5),
            (r#""persona_relevance":9"#, 382.5),
            (r#""persona_relevance":-2"#, 307.5),
            (r#""persona_relevance":1.5"#, 345.0),
            (r#""intimacy_relevance":0"#, 312.5),
            (r#""retrieval_count":-3"#, 332.5),
            (r#""superseded_by":"""#, 332.5),
            (r#""superseded_by":"m2""#, 0.001),
        ] {
            let memory: Memory = serde_json::from_str(&format!(r#"{{"content":"x",{fields}}}"#))?;
            assert!((utility(&memory, &nothing) - expected).abs() < 1e-9, "{fields}");
        }
        Ok(())
    }

    #[test]
    fn words_of_the_peer_are_ascii_and_names_are_whole() {
        let nothing = |words| Frequencies::none(words);
        let base = 332.5;
        let odo =
            Entity { id: EntityId("e1".into()), name: "Odo Venn".into(), ..Entity::default() };
        let known = Memory { entities: vec![EntityId("e1".into())], ..memory("plain") };
        let beacon = Memory { triggers: vec!["Beacon".into()], ..memory("x") };
        let there = Memory { triggers: vec!["there".into()], ..memory("x") };
        for (memory, recent, all, ascii) in [
            (&known, "", 100.0, 0.0),
            (&beacon, "a beacon", 80.0, 0.0),
            (&there, "over there", 80.0, 80.0),
            (&memory("Harbour bell"), "HARBOUR BELL tolls", 0.0, 0.0),
            (&memory("Жанна ушла домой"), "жанна ушла домой", 120.0, 0.0),
            (&memory("Odo would sail when he could"), "when would he", 80.0, 80.0),
        ] {
            for (words, expected) in [(TextRules::Tolerant, all), (TextRules::Literal, ascii)] {
                let turn = TurnContext {
                    mentions: vec!["venn".to_owned()],
                    registry: std::slice::from_ref(&odo),
                    recent_text: recent.to_owned(),
                    words,
                    ..TurnContext::default()
                };
                let found = hybrid(memory, &nothing(words), &turn) - base;
                assert!((found - expected).abs() < 1e-9, "{recent}: {words:?} {found}");
            }
        }
    }

    #[test]
    fn one_memory_is_not_protected_twice() {
        let fact = |content: &str, importance| Memory {
            kind: MemoryKind::Fact,
            importance: Some(importance),
            ..memory(content)
        };
        let memories = [fact("one", 1), fact("two", 3)];
        let all: Vec<&Memory> = memories.iter().collect();
        let safe = protected(
            &all,
            &[MemoryKind::Fact, MemoryKind::Fact, MemoryKind::Event],
            TextRules::Tolerant,
        );
        let safe: Vec<&str> = safe.iter().map(|memory| memory.content.as_str()).collect();
        assert_eq!(safe, ["two", "one"]);
    }

    #[test]
    fn a_new_memory_does_not_yet_have_what_is_usual_for_its_kind() {
        let kind = |id: &str, kind| Memory { kind, ..memory(id) };
        let memories = [
            kind("old", MemoryKind::Fact),
            kind("new", MemoryKind::Preference),
            kind("bond", MemoryKind::Preference),
        ];
        let kept =
            |is_new: fn(&Memory) -> bool| trim_with_new(&memories, is_new, 2, TextRules::Tolerant);
        assert_eq!(kept(|_| false), ["new".into(), "bond".into()]);
        assert_eq!(kept(|memory| memory.id.0 == "new"), ["bond".into(), "old".into()]);
    }
}
