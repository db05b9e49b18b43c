//! Features about stored memories: comparing, scoring, merging, entities.

use std::collections::BTreeMap;

use loreloom_memory::{
    entities,
    record::{Entity, Memory, MemoryKind, StoryArc},
    score::{
        TurnContext, hybrid, order_for_turn, prioritize, protected, timeline, trim_by_priority,
        utility,
    },
    text::{Frequencies, TextRules, normal},
    tiers::{arcs, consolidation},
    verify::{Neighbour, verify},
};
use loreloom_ports::MemoryId;
use serde::Deserialize;
use serde_json::{Value, json};

use super::fixture::Fixture;

pub(super) fn run(feature: &str, case: &Fixture<'_>) -> Result<Option<Value>, String> {
    let words = case.rules.text;
    let memories = || Ok::<_, String>(plain(case.get::<Vec<Memory>>("memories")?));
    let memory = || Ok::<_, String>(plain(vec![case.get::<Memory>("memory")?]).remove(0));
    let nothing = Frequencies::none(words);
    Ok(Some(match feature {
        "batch_verify" => batch_verify(case)?,
        "utility_score" => json!(utility(&memory()?, &nothing)),
        "hybrid_score" => {
            let context: Context = case.get("context")?;
            let memory = memory()?;
            context.with(words, |turn| json!(hybrid(&memory, &nothing, turn)))
        }
        "hybrid_order" => {
            let context: Context = case.get("context")?;
            let memories = memories()?;
            let all: Vec<&Memory> = memories.iter().collect();
            context.with(words, |turn| texts(&order_for_turn(&all, turn, &context.floor_types)))
        }
        "prioritize" => texts(&prioritize(&memories()?.iter().collect::<Vec<_>>(), words)),
        "protected" => {
            let kinds: Vec<MemoryKind> = case.get("types")?;
            texts(&protected(&memories()?.iter().collect::<Vec<_>>(), &kinds, words))
        }
        "trim_by_priority" => {
            let (memories, max) = (memories()?, case.get("max")?);
            texts(&trim_by_priority(&memories.iter().collect::<Vec<_>>(), max, words))
        }
        "timeline" => texts(&timeline(&memories()?.iter().collect::<Vec<_>>())),
        "reconcile" => reconcile(case)?,
        "resolve_entities" => resolve_entities(case)?,
        "reconcile_entities" => reconcile_entities(case)?,
        "merge_entities" => merge_entities(case)?,
        "merge_persistent_arcs" => {
            let persistent: &[StoryArc] = &case.character.persistent_arcs;
            json!(arcs::merge_persistent(&case.meta.story_arcs, persistent))
        }
        _ => return Ok(None),
    }))
}

/// Memories as the peer's bare functions see them: what is usual for a kind is filled in when
/// its store is read, which these cases do not do.
fn plain(memories: Vec<Memory>) -> Vec<Memory> {
    let plain = |memory: Memory| Memory {
        persona_relevance: memory.persona_relevance.or(Some(1.0)),
        intimacy_relevance: memory.intimacy_relevance.or(Some(1.0)),
        ..memory
    };
    memories.into_iter().map(plain).collect()
}

fn texts(memories: &[&Memory]) -> Value {
    memories.iter().map(|memory| json!(memory.content)).collect()
}

fn batch_verify(case: &Fixture<'_>) -> Result<Value, String> {
    let candidates: Vec<Memory> = case.get("candidates")?;
    let existing: Vec<Memory> = case.get("existing")?;
    let vectors = case.vectors()?;
    let verified = verify(
        candidates.iter().map(|new| (new.kind, new.content.as_str())),
        &existing.iter().collect::<Vec<_>>(),
        case.profile,
        &vectors,
    );
    let mut superseded = BTreeMap::new();
    let mut uncertain = Vec::new();
    let mut passed = Vec::new();
    for new in verified.passed {
        let text = normal(&candidates[new.candidate].content);
        match new.neighbour {
            Some(Neighbour::Superseded(id)) => {
                superseded.insert(text.clone(), id);
            }
            Some(Neighbour::Uncertain { existing, score }) => {
                uncertain.push(json!({"candidate": text, "existing_id": existing, "score": score}));
            }
            None => {}
        }
        passed.push(text);
    }
    Ok(json!({
        "passed": passed,
        "superseded": superseded,
        "confirmed": verified.confirmed,
        "uncertain": uncertain,
        "semantic": vectors.is_on(),
    }))
}

/// What is going on in a scoring case.
#[derive(Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Context {
    turn_mentions: Vec<String>,
    entity_registry: Vec<Entity>,
    arcs: Vec<StoryArc>,
    w5: f64,
    turn_similarities: BTreeMap<String, f64>,
    recent_text: String,
    floor_types: Vec<MemoryKind>,
}

impl Default for Context {
    fn default() -> Self {
        Self {
            turn_mentions: Vec::new(),
            entity_registry: Vec::new(),
            arcs: Vec::new(),
            w5: 0.2,
            turn_similarities: BTreeMap::new(),
            recent_text: String::new(),
            floor_types: Vec::new(),
        }
    }
}

impl Context {
    fn with<T>(&self, words: TextRules, use_turn: impl FnOnce(&TurnContext<'_>) -> T) -> T {
        let arcs: Vec<&str> = self.arcs.iter().map(|arc| arc.content.as_str()).collect();
        let likeness = self
            .turn_similarities
            .iter()
            .map(|(id, cosine)| (MemoryId::from(id.as_str()), *cosine))
            .collect();
        use_turn(&TurnContext {
            mentions: self.turn_mentions.clone(),
            registry: &self.entity_registry,
            arcs,
            turn_weight: self.w5,
            likeness,
            recent_text: self.recent_text.clone(),
            words,
        })
    }
}

fn reconcile(case: &Fixture<'_>) -> Result<Value, String> {
    let base: Vec<Memory> = case.get("base")?;
    let pool: Option<Vec<Memory>> = case.maybe("pool")?;
    let pool: Vec<&Memory> = pool.iter().flatten().collect();
    let (promoted, threshold) = (case.get("promoted")?, case.get("threshold")?);
    let merged = consolidation::reconcile(&base, promoted, threshold, &pool, &case.vectors()?);
    let mut list: Vec<Memory> = base.clone();
    for new in merged {
        match new.replaces {
            Some(at) => list[at] = new.memory,
            None => list.push(new.memory),
        }
    }
    Ok(json!(list))
}

fn resolve_entities(case: &Fixture<'_>) -> Result<Value, String> {
    let mut registry: Vec<Entity> = case.get("registry")?;
    let memory: Memory = case.get("memory")?;
    let tokens: Vec<String> = case.get("tokens")?;
    let linked = entities::resolve(
        &mut registry,
        &memory.id,
        &tokens,
        case.get("message_index")?,
        &mut Fixture::ids(),
    );
    Ok(json!({"registry": registry, "memory_entities": linked}))
}

fn reconcile_entities(case: &Fixture<'_>) -> Result<Value, String> {
    let mut registry: Vec<Entity> = case.get("registry")?;
    let mut memories: Vec<Memory> = case.get("memories")?;
    entities::reconcile(&mut registry, &mut memories);
    Ok(json!({"registry": registry, "memories": memories}))
}

fn merge_entities(case: &Fixture<'_>) -> Result<Value, String> {
    let (source, target) = (case.get::<String>("source")?, case.get::<String>("target")?);
    let mut merged = json!({});
    for tier in ["lt", "session"] {
        let (registry_name, memories_name) =
            (format!("{tier}_registry"), format!("{tier}_memories"));
        let mut registry: Vec<Entity> = case.maybe(&registry_name)?.unwrap_or_default();
        let mut memories: Vec<Memory> = case.maybe(&memories_name)?.unwrap_or_default();
        entities::merge(&mut registry, &mut memories, &source, &target);
        merged[registry_name] = json!(registry);
        merged[memories_name] = json!(memories);
    }
    Ok(merged)
}
