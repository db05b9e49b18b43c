//! Session memory: the small things that must stay true within one chat.

use super::{
    Candidate, Config, GUARD, Source, bullets,
    memories::{
        Numbered, assemble, confirm_and_decay, faded, has_length, revive, screened, split,
        supersede,
    },
    parse_lines, triggers,
};
use crate::{
    entities,
    ids::Ids,
    pass::{Need, Purpose, Question, Script},
    record::{Entity, Expiration, Kind, Memory, MemoryId, Retirement, TimeScope},
    score::trim_by_priority,
    similarity::{Measured, Vectors},
    text::overlap_of_larger,
    verify::{Neighbour, verify},
    window::lines,
};

/// The shortest statement that is read at all.
const SHORTEST_LINE: usize = 3;

/// Most long-term memories that the question shows.
const KNOWN_SHOWN: usize = 15;

/// What a session pass works on.
#[derive(Clone, Debug)]
pub struct Input<'pass> {
    /// Settings, rules and model.
    pub config: Config<'pass>,
    /// What it reads.
    pub source: Source<'pass>,
    /// The chat's session memories.
    pub memories: &'pass [Memory],
    /// Who and what they name.
    pub entities: &'pass [Entity],
    /// Active long-term memories, so that they are not noted again.
    pub longterm: &'pass [&'pass Memory],
    /// Ids for what it creates.
    pub ids: Ids,
}

/// What a session pass leaves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// The new memories.
    pub added: Vec<MemoryId>,
    /// All memories: active ones, then retired ones.
    pub memories: Vec<Memory>,
    /// Who and what they name.
    pub entities: Vec<Entity>,
}

/// The question for new session memories.
pub fn prompt_for(source: &Source<'_>, session: &[&Memory], longterm: &[&Memory]) -> Question {
    let texts = |memories: &[&Memory]| bullets(memories.iter().map(|m| m.content.as_str()));
    Question {
        purpose: Purpose::Session,
        prompt: format!(
            "{GUARD}\n\n\
             Note what must stay consistent for the rest of this conversation. One line each:\n\
             [kind:importance:expiry:entity=Name/type,Name/type] one short statement\n\
             kind: scene (place, time, mood), revelation (something came to light), \
             development (something changed between people or in the plot), detail (a small \
             thing that must stay true).\n\
             importance: 1 minor, 2 notable, 3 vital. expiry: scene, session or permanent.\n\
             type: character, place, object, faction or concept.\n\
             Rules: only what the text shows; name people; one statement per line, under 240 \
             characters; nothing that is already noted, unless it changed: then say what it is \
             now. If there is nothing new, answer NONE.\n\n\
             Known for good:\n{}\n\n\
             Noted in this conversation:\n{}\n\n\
             Story:\n{}",
            texts(&longterm[..longterm.len().min(KNOWN_SHOWN)]),
            texts(session),
            lines(source.messages())
        ),
        max_tokens: 500,
    }
}

/// Reads the model's reply.
pub fn parse(reply: &str) -> Vec<Candidate> {
    parse_lines(reply, &Kind::SESSION, SHORTEST_LINE, Expiration::Session)
}

/// Runs a pass.
pub fn run(input: &Input<'_>, script: &mut Script<'_>) -> Result<Outcome, Need> {
    let (config, source, rules) = (input.config, &input.source, input.config.rules);
    let (mut current, mut retired) = split(input.memories);
    let shown: Vec<&Memory> = current.iter().collect();
    let reply = script.ask(prompt_for(source, &shown, input.longterm))?.unwrap_or_default();
    let known: Vec<&Memory> = shown.into_iter().chain(faded(&retired, rules)).collect();
    let mut ids = input.ids.clone();
    let candidates = screened(parse(reply), &mut ids, |new| has_length(&new.content, 5, 240));
    if candidates.is_empty() {
        return Ok(Outcome {
            added: Vec::new(),
            memories: input.memories.to_vec(),
            entities: input.entities.to_vec(),
        });
    }
    let (newcomers, confirmed) = decide(&candidates, &known, config, script)?;
    let replaced = newcomers.iter().filter_map(|(_, replaces)| replaces.as_ref());
    let meant: Vec<&MemoryId> = confirmed.iter().chain(replaced).collect();
    revive(&mut current, &mut retired, &meant);
    let mut added: Vec<MemoryId> = Vec::new();
    for (new, replaces) in newcomers {
        let memory = source.memory(&new.candidate, TimeScope::Session, new.id.clone(), rules);
        let id = memory.id.clone();
        current.push(memory);
        if let Some(old) = replaces {
            supersede(&mut current, &id, &old, source.position());
        }
        added.push(id);
    }
    evict(&mut current, config);
    confirm_and_decay(&mut current, &confirmed, source.now, rules);
    triggers::complete(&mut current, |memory| added.contains(&memory.id), config, script)?;
    let mut registry = input.entities.to_vec();
    for new in &candidates {
        if let Some(memory) = current.iter_mut().find(|memory| memory.id.0 == new.id) {
            let tokens = &new.candidate.entities;
            memory.entities =
                entities::resolve(&mut registry, &memory.id, tokens, source.position(), &mut ids);
        }
    }
    entities::reconcile(&mut registry, &mut current);
    added.retain(|id| current.iter().any(|memory| memory.id == *id && memory.is_active()));
    Ok(Outcome { added, memories: assemble(current, retired, rules), entities: registry })
}

type Decided<'new> = (Vec<(&'new Numbered, Option<MemoryId>)>, Vec<MemoryId>);

/// Which candidates are new, and what each replaces. A candidate that replaces a memory is
/// never dropped for resembling it.
fn decide<'new>(
    candidates: &'new [Numbered],
    known: &[&Memory],
    config: Config<'_>,
    script: &Script<'_>,
) -> Result<Decided<'new>, Need> {
    let text = |new: &'new Numbered| new.candidate.content.as_str();
    let vectors = script
        .vectors(candidates.iter().map(text).chain(known.iter().map(|m| m.content.as_str())))?;
    let verified = verify(
        candidates.iter().map(|new| (new.candidate.kind, text(new))),
        known,
        config.hardware,
        vectors,
    );
    let mut kept: Vec<(&Numbered, Option<MemoryId>)> = Vec::new();
    let mut confirmed = verified.confirmed;
    for passed in verified.passed {
        let new = &candidates[passed.candidate];
        let replaces = match passed.neighbour {
            Some(Neighbour::Superseded(id)) => Some(id),
            Some(Neighbour::Uncertain { .. }) | None => None,
        };
        let says = |kind, other: &str| {
            kind == new.candidate.kind && says_the_same(text(new), other, vectors)
        };
        let repeated = known.iter().find(|memory| says(memory.kind, &memory.content));
        let repeats = kept.iter().any(|(other, _)| says(other.candidate.kind, text(other)));
        if replaces.is_some() || repeated.is_none() && !repeats {
            kept.push((new, replaces));
        } else if let Some(repeated) = repeated.filter(|_| config.rules.faded_come_back) {
            confirmed.push(repeated.id.clone());
        }
    }
    Ok((kept, confirmed))
}

/// The closer look that session candidates get: by vectors, or by the share of the larger
/// set of words.
fn says_the_same(a: &str, b: &str, vectors: &Vectors) -> bool {
    let likeness = vectors.likeness(a, b);
    match likeness.measure {
        Measured::Vectors => likeness.score > 0.82,
        Measured::Words => overlap_of_larger(a, b) > 0.65,
    }
}

/// Makes the session fit its cap by retiring what is worth least.
fn evict(current: &mut Vec<Memory>, config: Config<'_>) {
    let active: Vec<&Memory> = current.iter().filter(|memory| memory.is_active()).collect();
    let kept: Vec<MemoryId> = trim_by_priority(&active, config.settings.session_max_memories)
        .into_iter()
        .map(|memory| memory.id.clone())
        .collect();
    for memory in current.iter_mut().filter(|memory| memory.is_active()) {
        if !kept.contains(&memory.id) {
            memory.retired = Some(Retirement::Evicted);
        }
    }
    if !config.rules.keep_evicted {
        current.retain(|memory| memory.retired != Some(Retirement::Evicted));
    }
}
