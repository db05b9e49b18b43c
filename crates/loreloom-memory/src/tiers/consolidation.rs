//! Merges new memories of one kind into fewer, richer ones.
//!
//! No memory is lost: merged memories are retired and linked to their replacement, and an
//! unreadable reply leaves the batch for another try.

use super::{
    Config, GUARD, MemoryCandidate,
    memories::{assemble, split},
    parse_lines, part, prompt,
};
use crate::{
    entities,
    ids::Ids,
    number::clamp_u32,
    pass::{ModelQuestion, Need, Purpose, Script},
    recall::stems,
    record::{Entity, Expiration, Memory, MemoryKind, Retirement, TimeScope},
    reply::{is_none, says_nothing},
    rules::Merged,
    score::{timeline, trim_by_priority},
    similarity::{Measured, Vectors},
    text::jaccard,
};
use loreloom_ports::MemoryId;
use rustc_hash::FxHashSet;

/// From this overlap on, two lines are about the same time.
const SAME_TIME: f64 = 0.30;

/// Which memories are merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// Long-term memories.
    LongTerm,
    /// Session memories.
    Session,
}

impl Tier {
    pub(super) fn kinds(self) -> &'static [MemoryKind] {
        match self {
            Self::LongTerm => &MemoryKind::LONG_TERM,
            Self::Session => &MemoryKind::SESSION,
        }
    }

    /// Above this overlap a line replaces a merged memory.
    fn replaces(self) -> f64 {
        match self {
            Self::LongTerm => 0.70,
            Self::Session => 0.65,
        }
    }

    /// A statement must be longer than this many UTF-16 units.
    pub(super) fn shortest(self) -> usize {
        match self {
            Self::LongTerm => 5,
            Self::Session => 3,
        }
    }

    /// How long its memories last, and their scope.
    pub(super) fn usual(self) -> (Expiration, TimeScope) {
        match self {
            Self::LongTerm => (Expiration::Permanent, TimeScope::Global),
            Self::Session => (Expiration::Session, TimeScope::Session),
        }
    }
}

/// What a consolidation works on.
#[derive(Clone, Debug)]
pub struct ConsolidationInput<'pass> {
    /// Settings, rules and model.
    pub config: Config<'pass>,
    /// Which memories.
    pub tier: Tier,
    /// All of the tier's memories.
    pub memories: &'pass [Memory],
    /// The entities they name.
    pub entities: &'pass [Entity],
    /// Merge every kind that has a new memory.
    pub force: bool,
    /// The time.
    pub now: i64,
    /// Ids for what it creates.
    pub ids: Ids,
}

/// The result of a consolidation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConsolidationOutcome {
    /// By how much the number of active memories shrank.
    pub removed: usize,
    /// All memories: active ones by time, then retired ones.
    pub memories: Vec<Memory>,
    /// The entities they name.
    pub entities: Vec<Entity>,
}

/// Asks to merge `batch` into `base`. Both may have notes of several kinds.
pub fn prompt_for(kinds: &[MemoryKind], base: &[&Memory], batch: &[&Memory]) -> ModelQuestion {
    let size = clamp_u32(base.len() + batch.len());
    let kinds: Vec<&str> = kinds.iter().map(|kind| kind.as_str()).collect();
    let listed = |memories: &[&Memory]| -> String {
        let line = |memory: &&Memory| match kinds.len() {
            1 => format!("- {}", memory.content),
            _ => format!("- [{}] {}", memory.kind.as_str(), memory.content),
        };
        memories.iter().map(line).collect::<Vec<_>>().join("\n")
    };
    let task = format!(
        "Work the new notes into the settled ones. Join notes of one kind that say the same or \
         belong together into one richer note; lose no name, number or condition. Write only notes \
         that are new or changed, one per line, in this form:\n\
         [kind:importance:expiry] one statement\n\
         Example: [{}:2:permanent] Hanna inherited the Old Mill from her aunt and repaired its \
         wheel.\n\
         kind: {}. importance: 1 to 3. expiry: scene, session or permanent.\n\
         Notes that you do not mention stay as they are. If all of them should stay as they are, \
         answer NONE.",
        kinds.first().unwrap_or(&"fact"),
        kinds.join(", "),
    );
    let (base, batch) = (part("Settled notes", &listed(base)), part("New notes", &listed(batch)));
    ModelQuestion {
        purpose: Purpose::Consolidation,
        prompt: prompt(&[GUARD, &task, &base, &batch]),
        max_tokens: (60 * size).max(400),
    }
}

/// A merged memory and what it replaces.
#[derive(Clone, Debug, PartialEq)]
pub struct Reconciled {
    /// The memory.
    pub memory: Memory,
    /// The index of the base memory it replaces.
    pub replaces: Option<usize>,
}

/// Compares the lines of a reply with the base. A line that is similar to a memory of its kind by
/// more than `threshold` replaces it and inherits its time, entities and triggers. The first such
/// memory counts, base memories before earlier lines. Any other line is added with the time of the
/// most similar memory of `pool`; an empty pool means the base.
pub fn reconcile(
    base: &[Memory],
    promoted: Vec<Memory>,
    threshold: f64,
    pool: &[&Memory],
    vectors: &Vectors,
) -> Vec<Reconciled> {
    let all: Vec<&Memory> = base.iter().collect();
    let pool = if pool.is_empty() { &all } else { pool };
    let mut base: Vec<Memory> = base.to_vec();
    let mut result: Vec<Reconciled> = Vec::new();
    for mut memory in promoted {
        let is_same = |other: &Memory| {
            let likeness = vectors.likeness(&other.content, &memory.content).score;
            other.kind == memory.kind && likeness > threshold
        };
        if let Some(at) = base.iter().position(is_same) {
            inherit(&mut memory, &base[at]);
            base[at] = memory.clone();
            match result.iter_mut().find(|other| other.replaces == Some(at)) {
                Some(earlier) => earlier.memory = memory,
                None => result.push(Reconciled { memory, replaces: Some(at) }),
            }
        } else if let Some(earlier) =
            result.iter_mut().find(|other| other.replaces.is_none() && is_same(&other.memory))
        {
            inherit(&mut memory, &earlier.memory);
            earlier.memory = memory;
        } else {
            memory.ts = inferred_time(&memory, pool, vectors).or(memory.ts);
            result.push(Reconciled { memory, replaces: None });
        }
    }
    result
}

/// Gives a line the time, entities and triggers of the memory it replaces.
fn inherit(memory: &mut Memory, before: &Memory) {
    memory.ts = before.ts.or(memory.ts);
    if !before.entities.is_empty() {
        memory.entities.clone_from(&before.entities);
    }
    if !before.triggers.is_empty() {
        memory.triggers.clone_from(&before.triggers);
    }
}

/// The time of the most similar memory of the same kind.
fn inferred_time(memory: &Memory, pool: &[&Memory], vectors: &Vectors) -> Option<i64> {
    pool.iter()
        .filter(|other| other.kind == memory.kind)
        .map(|other| (vectors.likeness(&other.content, &memory.content).score, other.ts))
        .filter(|(overlap, _)| *overlap >= SAME_TIME)
        .fold(None, |best: Option<(f64, Option<i64>)>, next| match best {
            Some(best) if best.0 >= next.0 => Some(best),
            _ => Some(next),
        })
        .and_then(|(_, ts)| ts)
}

/// Runs a consolidation over all kinds of a tier.
pub fn run(
    input: &ConsolidationInput<'_>,
    script: &mut Script<'_>,
) -> Result<ConsolidationOutcome, Need> {
    if !input.config.settings.consolidation_enabled && !input.force {
        return Ok(ConsolidationOutcome {
            removed: 0,
            memories: input.memories.to_vec(),
            entities: input.entities.to_vec(),
        });
    }
    let (mut active, mut retired) = split(input.memories);
    let before = active.len();
    let mut ids = input.ids.clone();
    let mut answered = false;
    for kinds in due(&active, input) {
        let of = |memory: &&Memory| kinds.contains(&memory.kind);
        let batch: Vec<&Memory> = active.iter().filter(of).filter(|m| !m.consolidated).collect();
        let base: Vec<&Memory> = active.iter().filter(of).filter(|m| m.consolidated).collect();
        let question = prompt_for(&kinds, &base, &batch);
        let reply =
            script.ask_for(question, input.config.rules.text, |reply| read(reply, input))?;
        match reply {
            Some(ConsolidationReply::NothingToMerge) => {
                answered = true;
                for memory in active.iter_mut().filter(|memory| kinds.contains(&memory.kind)) {
                    memory.consolidated = true;
                }
            }
            None => {}
            Some(ConsolidationReply::Merged(lines)) => {
                answered = true;
                let known = base.iter().chain(&batch).map(|memory| memory.content.as_str());
                let vectors =
                    script.vectors(known.chain(lines.iter().map(|line| line.content.as_str())))?;
                let mut tier = Merging { active: &mut active, retired: &mut retired, vectors };
                for kind in &kinds {
                    // A line of another kind keeps that kind if it is asked about alone.
                    let is_own = |line: &&MemoryCandidate| kinds.len() == 1 || line.kind == *kind;
                    let own: Vec<MemoryCandidate> = lines.iter().filter(is_own).cloned().collect();
                    merge_kind(*kind, &own, input, &mut tier, &mut ids);
                }
            }
        }
    }
    let mut registry = input.entities.to_vec();
    if answered || active.len() > most(input) {
        trim(&mut active, &mut retired, input);
        active = timeline(&active.iter().collect::<Vec<_>>()).into_iter().cloned().collect();
        entities::reconcile(&mut registry, &mut active);
    }
    let removed = before.saturating_sub(active.len());
    Ok(ConsolidationOutcome {
        removed,
        memories: assemble(active, retired, input.config.rules),
        entities: registry,
    })
}

/// The kinds with enough new memories, as they are asked about: all at once, or with literal rules
/// one after the other.
fn due(active: &[Memory], input: &ConsolidationInput<'_>) -> Vec<Vec<MemoryKind>> {
    let is_due = |kind: &MemoryKind| {
        let new = active.iter().filter(|m| m.kind == *kind && !m.consolidated).count();
        let least = if input.force { 1 } else { input.config.settings.consolidation.of(*kind) };
        new >= least
    };
    let due: Vec<MemoryKind> = input.tier.kinds().iter().copied().filter(is_due).collect();
    if input.config.rules.text.is_tolerant() {
        if due.is_empty() { Vec::new() } else { vec![due] }
    } else {
        due.into_iter().map(|kind| vec![kind]).collect()
    }
}

/// What a reply means.
enum ConsolidationReply {
    NothingToMerge,
    Merged(Vec<MemoryCandidate>),
}

/// Reads a reply; `None` if it has nothing of what was asked for. A line of another kind keeps that
/// kind.
fn read(reply: &str, input: &ConsolidationInput<'_>) -> Option<ConsolidationReply> {
    let rules = input.config.rules;
    let lines = parse_lines(reply, input.tier, rules);
    let is_empty =
        is_none(reply, rules.text) || lines.is_empty() && says_nothing(reply, rules.text);
    if is_empty {
        return Some(ConsolidationReply::NothingToMerge);
    }
    (!lines.is_empty()).then_some(ConsolidationReply::Merged(lines))
}

/// A tier while its kinds are merged.
struct Merging<'merging> {
    active: &'merging mut Vec<Memory>,
    retired: &'merging mut Vec<Memory>,
    vectors: &'merging Vectors,
}

/// Replaces the unmerged memories of a kind by the lines of a reply.
fn merge_kind(
    kind: MemoryKind,
    lines: &[MemoryCandidate],
    input: &ConsolidationInput<'_>,
    tier: &mut Merging<'_>,
    ids: &mut Ids,
) {
    let (active, vectors) = (&mut *tier.active, tier.vectors);
    let (of_kind, others): (Vec<Memory>, Vec<Memory>) =
        std::mem::take(active).into_iter().partition(|memory| memory.kind == kind);
    let (base, batch): (Vec<Memory>, Vec<Memory>) =
        of_kind.into_iter().partition(|memory| memory.consolidated);
    let promoted = lines.iter().map(|line| promote(line, &batch, input, ids.next())).collect();
    let pool: Vec<&Memory> = base.iter().chain(&batch).collect();
    let mut merged = reconcile(&base, promoted, input.tier.replaces(), &pool, vectors);

    let mut parents: Vec<Memory> = Vec::new();
    *active = others;
    for (at, memory) in base.into_iter().enumerate() {
        match merged.iter_mut().find(|new| new.replaces == Some(at)) {
            Some(new) => parents.push(adopt(&mut new.memory, memory)),
            None => active.push(memory),
        }
    }
    let keeps = input.config.rules.merged == Merged::Retired;
    let names = input.entities.iter().flat_map(Entity::names).flat_map(stems).collect();
    for memory in batch {
        let nearest = merged.iter_mut().max_by(|a, b| {
            let overlap = |new: &Reconciled| jaccard(&new.memory.content, &memory.content);
            overlap(a).total_cmp(&overlap(b))
        });
        match nearest {
            Some(new) if !keeps || replaces(&new.memory, &memory, &names, vectors) => {
                parents.push(adopt(&mut new.memory, memory));
            }
            _ if keeps => active.push(Memory { consolidated: true, ..memory }),
            Some(_) | None => {}
        }
    }
    if keeps {
        tier.retired.append(&mut parents);
    }
    active.extend(merged.into_iter().map(|new| new.memory));
}

/// Whether a merged memory says what another one says: by their meaning, or because it has half
/// of its words. Names do not count: notes about the same people say different things.
fn replaces(
    merged: &Memory,
    memory: &Memory,
    names: &FxHashSet<String>,
    vectors: &Vectors,
) -> bool {
    const SAME_COSINE: f64 = 0.75;
    let likeness = vectors.likeness(&merged.content, &memory.content);
    if likeness.measure == Measured::Vectors && likeness.score >= SAME_COSINE {
        return true;
    }
    let (mut own, merged) = (stems(&memory.content), stems(&merged.content));
    if !own.is_subset(names) {
        own.retain(|stem| !names.contains(stem));
    }
    2 * own.intersection(&merged).count() >= own.len()
}

/// A line of a reply as a merged memory, with the newest provenance of its batch.
fn promote(
    line: &MemoryCandidate,
    batch: &[Memory],
    input: &ConsolidationInput<'_>,
    id: String,
) -> Memory {
    let newest = batch.iter().max_by_key(|memory| memory.source_messages.last().map(|r| r.1));
    Memory {
        id: MemoryId(id),
        kind: line.kind,
        content: line.content.clone(),
        importance: Some(line.importance),
        expiration: Some(line.expiration),
        time_scope: Some(input.tier.usual().1),
        ts: Some(input.now),
        consolidated: true,
        confidence: Some(Memory::USUAL_CONFIDENCE),
        source_messages: newest.map(|memory| memory.source_messages.clone()).unwrap_or_default(),
        source_chat_id: newest.and_then(|memory| memory.source_chat_id.clone()),
        ..Memory::default()
    }
}

/// Links a parent to its replacement, which inherits its confidence, receipts and witnesses.
fn adopt(child: &mut Memory, mut parent: Memory) -> Memory {
    child.supersedes.push(parent.id.clone());
    child.confidence = Some(child.confidence().max(parent.confidence()));
    child.confirmations = child.confirmations.max(parent.confirmations);
    for receipt in &parent.receipts {
        if !child.receipts.contains(receipt) {
            child.receipts.push(*receipt);
        }
    }
    // A character that missed one parent did not witness the whole.
    if child.supersedes.len() == 1 {
        child.witnessed_by.clone_from(&parent.witnessed_by);
    } else if !parent.witnessed_by.is_empty() {
        if child.witnessed_by.is_empty() {
            child.witnessed_by.clone_from(&parent.witnessed_by);
        } else {
            child.witnessed_by.retain(|name| parent.witnessed_by.contains(name));
        }
    }
    parent.superseded_by = Some(child.id.clone());
    parent
}

/// The tier's limit.
fn most(input: &ConsolidationInput<'_>) -> usize {
    match input.tier {
        Tier::LongTerm => input.config.settings.longterm_max_memories,
        Tier::Session => input.config.settings.session_max_memories,
    }
}

/// Reduces the tier to its limit.
fn trim(active: &mut Vec<Memory>, retired: &mut Vec<Memory>, input: &ConsolidationInput<'_>) {
    let all: Vec<&Memory> = active.iter().collect();
    let kept: Vec<MemoryId> = trim_by_priority(&all, most(input), input.config.rules.text)
        .into_iter()
        .map(|memory| memory.id.clone())
        .collect();
    let (stay, go): (Vec<Memory>, Vec<Memory>) =
        std::mem::take(active).into_iter().partition(|memory| kept.contains(&memory.id));
    *active = stay;
    if input.config.rules.keep_evicted {
        retired.extend(
            go.into_iter().map(|memory| Memory { retired: Some(Retirement::Evicted), ..memory }),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_notes_share_besides_names_says_whether_one_replaces_the_other() {
        let note = |content: &str| Memory { content: content.to_owned(), ..Memory::default() };
        let names = ["Odo", "Mara"].into_iter().flat_map(stems).collect();
        let key = note("Odo gave Mara the brass key");
        for (merged, expected) in [
            ("Odo gave Mara the brass key that opens the crypt", true),
            ("Odo gave Mara a horse and its saddle", false),
        ] {
            assert_eq!(
                replaces(&note(merged), &key, &names, &Vectors::off()),
                expected,
                "{merged}"
            );
        }
        // A note of names alone is compared by them.
        assert!(replaces(&note("Odo and Mara"), &note("Mara, Odo"), &names, &Vectors::off()));
    }
}
