//! One long-term pass: extract, compare, ask about unclear pairs, merge, link.

use super::{
    UpdateAnswer, answers_about, is_fit,
    merge::{Newcomer, take_in},
    prompt_for,
};
use crate::{
    ids::Ids,
    pass::{Need, Script},
    record::{CharacterMemory, Entity, Memory, Relationships, TimeScope},
    tiers::{
        Config, PassSource,
        consolidation::Tier,
        healing::replace_wounds,
        lines::read_lines,
        memories::{
            Numbered, assemble, confirm_and_decay, faded, link, relevant, replace_by_number,
            revive, screened, split, supersede, with_names,
        },
        relationships, triggers,
    },
    verify::{Neighbour, Verified, verify},
};
use loreloom_ports::MemoryId;

/// What a long-term pass works on.
#[derive(Clone, Debug)]
pub struct LongTermInput<'pass> {
    /// Settings, rules and model.
    pub config: Config<'pass>,
    /// What it reads.
    pub source: PassSource<'pass>,
    /// Whose memory it is.
    pub character: &'pass str,
    /// That character's description.
    pub card: &'pass str,
    /// What is already known.
    pub memory: &'pass CharacterMemory,
    /// Ids for what it creates.
    pub ids: Ids,
}

/// The result of a long-term pass.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LongTermOutcome {
    /// How many memories are new.
    pub added: usize,
    /// All memories: active ones, then retired ones.
    pub memories: Vec<Memory>,
    /// The entities they name.
    pub entities: Vec<Entity>,
    /// Feelings.
    pub relationships: Relationships,
}

/// Runs a pass.
pub fn run(input: &LongTermInput<'_>, script: &mut Script<'_>) -> Result<LongTermOutcome, Need> {
    let (config, source, rules) = (input.config, &input.source, input.config.rules);
    if source.messages().is_empty() {
        return Ok(unchanged(input));
    }
    let (mut active, mut retired) = split(&input.memory.memories);
    let shown = relevant(active.iter().collect(), source.chat, rules);
    let question = prompt_for(source, input.character, &shown);
    let read =
        script.ask_for(question, rules.text, |reply| read_lines(reply, Tier::LongTerm, rules))?;
    let known: Vec<&Memory> = active.iter().chain(faded(&retired, rules)).collect();
    let mut ids = input.ids.clone();
    let mut read = with_names(read.unwrap_or_default(), source, rules);
    read.retain(|new| source.is_heard(&new.content));
    let candidates = screened(read, &mut ids, is_fit);
    if candidates.is_empty() {
        return Ok(unchanged(input));
    }
    let mut verified = compare(&candidates, &known, config, script)?;
    replace_by_number(&mut verified, &candidates, &shown);
    if config.rules.text.is_tolerant() {
        replace_wounds(&mut verified, &candidates, &known);
    }
    let (newcomers, confirmed) = settle(&candidates, verified, &known, input, script)?;
    let any_new = !newcomers.is_empty();
    let replaced = newcomers.iter().filter_map(|new| new.replaces.as_ref());
    let meant: Vec<&MemoryId> = confirmed.iter().chain(replaced).collect();
    revive(&mut active, &mut retired, &meant);
    let mut taken = take_in(active, newcomers, config);
    for (new, old) in &taken.accepted {
        if let Some(old) = old {
            supersede(&mut taken.current, new, old, source.position());
        }
    }
    link_contradictions(&mut taken.current);
    confirm_and_decay(&mut taken.current, &confirmed, source.now, rules);
    let mut relationships = input.memory.relationship_history.clone();
    if any_new {
        triggers::complete(&mut taken.current, |_| true, config, script)?;
        relationships::update(&mut relationships, source, input.card, rules, script)?;
    }
    let mut registry = input.memory.entities.clone();
    link(&mut registry, &candidates, &mut taken.current, source.position(), &mut ids);
    if rules.keep_evicted {
        taken.current.append(&mut taken.evicted);
    }
    let added = taken.accepted.len();
    let memories = assemble(taken.current, retired, rules);
    Ok(LongTermOutcome { added, memories, entities: registry, relationships })
}

fn unchanged(input: &LongTermInput<'_>) -> LongTermOutcome {
    LongTermOutcome {
        added: 0,
        memories: input.memory.memories.clone(),
        entities: input.memory.entities.clone(),
        relationships: input.memory.relationship_history.clone(),
    }
}

fn compare(
    candidates: &[Numbered],
    known: &[&Memory],
    config: Config<'_>,
    script: &Script<'_>,
) -> Result<Verified, Need> {
    let texts = candidates.iter().map(|new| new.candidate.content.as_str());
    let vectors = script.vectors(texts.chain(known.iter().map(|m| m.content.as_str())))?;
    let candidates =
        candidates.iter().map(|new| (new.candidate.kind, new.candidate.content.as_str()));
    Ok(verify(candidates, known, config.profile, vectors))
}

/// Turns candidates into memories. Asks the model about every unclear pair.
fn settle(
    candidates: &[Numbered],
    verified: Verified,
    known: &[&Memory],
    input: &LongTermInput<'_>,
    script: &mut Script<'_>,
) -> Result<(Vec<Newcomer>, Vec<MemoryId>), Need> {
    let rules = input.config.rules;
    let mut newcomers = Vec::new();
    let mut confirmed = verified.confirmed;
    let text_of = |id: &MemoryId| {
        let old = known.iter().find(|memory| memory.id == *id);
        old.map_or("", |memory| memory.content.as_str())
    };
    let pairs: Vec<(&str, &str)> = verified
        .passed
        .iter()
        .filter_map(|passed| match &passed.neighbour {
            Some(Neighbour::Uncertain { existing, .. }) => {
                let new = &candidates[passed.candidate].candidate;
                Some((new.content.as_str(), text_of(existing)))
            }
            Some(Neighbour::Superseded(_)) | None => None,
        })
        .collect();
    let mut answers = answers_about(&pairs, rules.text, script)?.into_iter();
    for passed in verified.passed {
        let new = &candidates[passed.candidate];
        let mut memory =
            input.source.memory(&new.candidate, TimeScope::Global, new.id.clone(), rules);
        let replaces = match passed.neighbour {
            None => None,
            Some(Neighbour::Superseded(id)) => Some(id),
            Some(Neighbour::Uncertain { existing, .. }) => match answers.next().flatten() {
                Some(UpdateAnswer::Update) => Some(existing),
                Some(UpdateAnswer::Same) if rules.drop_confirmed_duplicates => {
                    confirmed.push(existing);
                    continue;
                }
                Some(UpdateAnswer::Contradiction) if rules.keep_contradictions => {
                    memory.contradicts.push(existing);
                    None
                }
                Some(
                    UpdateAnswer::Same | UpdateAnswer::Independent | UpdateAnswer::Contradiction,
                ) => None,
                None => {
                    memory.unverified = true;
                    None
                }
            },
        };
        newcomers.push(Newcomer { memory, replaces });
    }
    Ok((newcomers, confirmed))
}

/// Links memories that contradict each other.
fn link_contradictions(memories: &mut [Memory]) {
    let found: Vec<(MemoryId, MemoryId)> = memories
        .iter()
        .flat_map(|one| one.contradicts.iter().map(|other| (other.clone(), one.id.clone())))
        .collect();
    for (of, by) in found {
        let other = memories.iter_mut().find(|memory| memory.id == of);
        if let Some(other) = other.filter(|other| !other.contradicts.contains(&by)) {
            other.contradicts.push(by);
        }
    }
}
