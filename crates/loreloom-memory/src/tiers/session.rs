//! Session memory: details that must stay consistent within one chat.

use super::{
    Config, GUARD, MemoryCandidate, PassSource,
    consolidation::Tier,
    contents,
    healing::replace_wounds,
    lines::read_lines,
    longterm::{REPLACES, RULES, UpdateAnswer, VALUES, answers_about},
    memories::{
        Numbered, assemble, confirm_and_decay, faded, has_length, link, relevant,
        replace_by_number, revive, screened, split, supersede, with_names,
    },
    numbered, parse_lines, part, prompt, triggers,
};
use crate::{
    ids::Ids,
    pass::{ModelQuestion, Need, Purpose, Script},
    record::{Entity, Memory, Retirement, TimeScope},
    rules::Rules,
    score::trim_with_new,
    similarity::{Measured, Vectors},
    text::overlap_of_larger,
    verify::{Neighbour, PassedCandidate, verify},
};
use loreloom_ports::MemoryId;

/// The most long-term memories in the prompt.
const KNOWN_SHOWN: usize = 15;

/// What a session pass works on.
#[derive(Clone, Debug)]
pub struct SessionInput<'pass> {
    /// Settings, rules and model.
    pub config: Config<'pass>,
    /// What it reads.
    pub source: PassSource<'pass>,
    /// The chat's session memories.
    pub memories: &'pass [Memory],
    /// The entities they name.
    pub entities: &'pass [Entity],
    /// Active long-term memories, so that they are not repeated.
    pub longterm: &'pass [&'pass Memory],
    /// Ids for what it creates.
    pub ids: Ids,
}

/// The result of a session pass.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionOutcome {
    /// The new memories.
    pub added: Vec<MemoryId>,
    /// All memories: active ones, then retired ones.
    pub memories: Vec<Memory>,
    /// The entities they name.
    pub entities: Vec<Entity>,
}

/// Asks for new session memories.
pub fn prompt_for(
    source: &PassSource<'_>,
    session: &[&Memory],
    longterm: &[&Memory],
) -> ModelQuestion {
    let (people, lore, story) = source.shown();
    let task = format!(
        "Note what must stay consistent for the rest of this conversation. One line each:\n\
         [kind:importance:expiry:entity=Name/type,Name/type] one short statement\n\
         Example: [detail:1:scene:entity=Hanna/character] Hanna has hung her wet coat by the \
         stove.\n\
         {KINDS}\n{VALUES}\n\
         Rules: {RULES} {REPLACES} Keep a statement under 240 characters. If there is nothing \
         new, answer NONE."
    );
    let longterm = contents(&longterm[..longterm.len().min(KNOWN_SHOWN)]);
    let longterm = part("Known for good, no need to note", &longterm);
    let noted = part("Noted in this conversation", &numbered(session));
    ModelQuestion {
        purpose: Purpose::Session,
        prompt: prompt(&[GUARD, &task, &people, &longterm, &noted, &lore, &story]),
        max_tokens: 500,
    }
}

/// The kinds of session memory, for prompts.
pub(super) const KINDS: &str = "kind: scene (place, time, mood), revelation (something came to light), development (something \
     changed between people or in the plot), detail (a small thing that must stay true).";

/// Reads the model's reply.
pub fn parse(reply: &str, rules: &Rules) -> Vec<MemoryCandidate> {
    parse_lines(reply, Tier::Session, rules)
}

/// Runs a pass.
pub fn run(input: &SessionInput<'_>, script: &mut Script<'_>) -> Result<SessionOutcome, Need> {
    let (config, source, rules) = (input.config, &input.source, input.config.rules);
    if source.messages().is_empty() {
        return Ok(unchanged(input));
    }
    let (mut current, mut retired) = split(input.memories);
    let shown = relevant(current.iter().collect(), source.chat, rules);
    let question = prompt_for(source, &shown, input.longterm);
    let read =
        script.ask_for(question, rules.text, |reply| read_lines(reply, Tier::Session, rules))?;
    let read = with_names(read.unwrap_or_default(), source, rules);
    let known: Vec<&Memory> = current.iter().chain(faded(&retired, rules)).collect();
    let mut ids = input.ids.clone();
    let candidates = screened(read, &mut ids, |new| has_length(&new.content, 5, 240));
    if candidates.is_empty() {
        return Ok(unchanged(input));
    }
    let (newcomers, confirmed) = decide(&candidates, (&known, &shown), config, script)?;
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
    evict(&mut current, &added, config);
    confirm_and_decay(&mut current, &confirmed, source.now, rules);
    triggers::complete(&mut current, |memory| added.contains(&memory.id), config, script)?;
    let mut registry = input.entities.to_vec();
    link(&mut registry, &candidates, &mut current, source.position(), &mut ids);
    added.retain(|id| current.iter().any(|memory| memory.id == *id && memory.is_active()));
    Ok(SessionOutcome { added, memories: assemble(current, retired, rules), entities: registry })
}

fn unchanged(input: &SessionInput<'_>) -> SessionOutcome {
    SessionOutcome {
        added: Vec::new(),
        memories: input.memories.to_vec(),
        entities: input.entities.to_vec(),
    }
}

type Decided<'new> = (Vec<(&'new Numbered, Option<MemoryId>)>, Vec<MemoryId>);

/// Which candidates are new, and what each replaces. A candidate that replaces a memory is never
/// dropped for being similar to it.
fn decide<'new>(
    candidates: &'new [Numbered],
    (known, shown): (&[&Memory], &[&Memory]),
    config: Config<'_>,
    script: &mut Script<'_>,
) -> Result<Decided<'new>, Need> {
    let text = |new: &'new Numbered| new.candidate.content.as_str();
    let vectors = script
        .vectors(candidates.iter().map(text).chain(known.iter().map(|m| m.content.as_str())))?;
    let mut verified = verify(
        candidates.iter().map(|new| (new.candidate.kind, text(new))),
        known,
        config.profile,
        vectors,
    );
    replace_by_number(&mut verified, candidates, shown);
    if config.rules.text.is_tolerant() {
        replace_wounds(&mut verified, candidates, known);
    }
    let text_of = |id: &MemoryId| {
        let old = known.iter().find(|memory| memory.id == *id);
        old.map_or("", |memory| memory.content.as_str())
    };
    let uncertain = |passed: &PassedCandidate| match &passed.neighbour {
        Some(Neighbour::Uncertain { existing, .. }) if config.rules.session_updates => {
            Some((text(&candidates[passed.candidate]), text_of(existing)))
        }
        Some(_) | None => None,
    };
    let pairs: Vec<(&str, &str)> = verified.passed.iter().filter_map(uncertain).collect();
    let mut answers = answers_about(&pairs, config.rules.text, script)?.into_iter();
    let mut kept: Vec<(&Numbered, Option<MemoryId>)> = Vec::new();
    let mut confirmed = verified.confirmed;
    for passed in verified.passed {
        let new = &candidates[passed.candidate];
        let replaces = match passed.neighbour {
            Some(Neighbour::Superseded(id)) => Some(id),
            Some(Neighbour::Uncertain { existing, .. }) if config.rules.session_updates => {
                let is_update = answers.next().flatten() == Some(UpdateAnswer::Update);
                is_update.then_some(existing)
            }
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

/// Whether two session statements mean the same: by vectors, or by the shared words of the longer
/// one.
fn says_the_same(a: &str, b: &str, vectors: &Vectors) -> bool {
    let likeness = vectors.likeness(a, b);
    match likeness.measure {
        Measured::Vectors => likeness.score > 0.82,
        Measured::Words => overlap_of_larger(a, b) > 0.65,
    }
}

/// Reduces the session to its limit by retiring the least useful memories. The rest is ordered by
/// usefulness.
fn evict(current: &mut Vec<Memory>, added: &[MemoryId], config: Config<'_>) {
    let (mut active, mut rest): (Vec<Memory>, Vec<Memory>) =
        std::mem::take(current).into_iter().partition(Memory::is_active);
    let max = config.settings.session_max_memories;
    if active.len() > max {
        let is_new = |memory: &Memory| added.contains(&memory.id);
        let kept = trim_with_new(&active, is_new, max, config.rules.text);
        let place = |memory: &Memory| kept.iter().position(|id| *id == memory.id);
        active.sort_by_key(|memory| place(memory).unwrap_or(kept.len()));
        for memory in &mut active[kept.len()..] {
            memory.retired = Some(Retirement::Evicted);
        }
        if !config.rules.keep_evicted {
            active.truncate(kept.len());
        }
    }
    current.append(&mut active);
    current.append(&mut rest);
}
