//! Canon: a character's history as prose, from past arcs and long-term memories.

use super::{GUARD, bullets, contents, part, prompt};
use crate::{
    pass::{ModelQuestion, Need, Purpose, Script},
    record::{ArcSummary, Canon, Memory},
    reply::prose,
    rules::Rules,
};

/// The most memories in the prompt.
const SHOWN: usize = 30;

/// Whether a memory belongs to canon: it is important, or it was confirmed often enough.
pub fn is_canonical(memory: &Memory, rules: &Rules) -> bool {
    memory.is_active()
        && (memory.importance() >= 2
            || rules.canon_confirmations.is_some_and(|least| memory.confirmations >= least))
}

/// Asks for a character's history.
pub fn prompt_for(character: &str, arcs: &[&ArcSummary], memories: &[&Memory]) -> ModelQuestion {
    ModelQuestion {
        purpose: Purpose::Canon,
        prompt: prompt(&[
            GUARD,
            &format!(
                "Write the history of {character} in three headed paragraphs of plain prose: who \
                 they are, what happened, how things stand. Use only what is given, keep names \
                 and dates, and leave out what does not last. Begin like this:\n\
                 Who Hanna is: Hanna is the miller of Carrow."
            ),
            &part("Stories that ended", &bullets(arcs.iter().map(|arc| arc.summary.as_str()))),
            &part("Known for good", &contents(memories)),
        ]),
        max_tokens: 600,
    }
}

/// Writes canon from these summaries, without a date. Without any, asks nothing.
pub fn run(
    character: &str,
    arcs: &[&ArcSummary],
    memories: &[&Memory],
    rules: &Rules,
    script: &mut Script<'_>,
) -> Result<Option<Canon>, Need> {
    if arcs.is_empty() {
        return Ok(None);
    }
    let memories: Vec<&Memory> =
        memories.iter().filter(|memory| is_canonical(memory, rules)).take(SHOWN).copied().collect();
    let question = prompt_for(character, arcs, &memories);
    let text = script.ask_for(question, rules.text, |reply| prose(reply, rules.text))?;
    Ok(text.map(|text| Canon { text: text.to_owned(), ts: None }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minor_memory_becomes_canon_by_being_confirmed_twice() {
        let memory = |importance, confirmations| Memory {
            importance: Some(importance),
            confirmations,
            ..Memory::default()
        };
        for (importance, confirmations, ours, theirs) in
            [(2, 0, true, true), (1, 2, true, false), (1, 1, false, false)]
        {
            let memory = memory(importance, confirmations);
            assert_eq!(is_canonical(&memory, &Rules::default()), ours);
            assert_eq!(is_canonical(&memory, &Rules::smart_memory_1_8()), theirs);
        }
    }
}
