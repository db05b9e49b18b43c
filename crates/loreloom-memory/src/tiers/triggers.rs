//! Trigger words: they recall a memory that does not contain them.

use super::{Config, GUARD};
use crate::{
    number::{floor, real},
    pass::{ModelQuestion, Need, Purpose, Script},
    record::Memory,
    rules::Rules,
    text::keywords,
};

/// The most trigger words of a memory.
const MOST: usize = 6;

/// Asks for a memory's trigger words.
pub fn prompt_for(memory: &str) -> ModelQuestion {
    ModelQuestion {
        purpose: Purpose::Triggers,
        prompt: format!(
            "{GUARD}\n\n\
             Name four to six single words that, if they came up in a conversation, should \
             bring this note to mind, and that are not in the note themselves. Answer with the \
             words alone, separated by commas.\n\nNote: {memory}"
        ),
        max_tokens: 60,
    }
}

/// Reads the words of a reply: the first six with 3 to 40 letters and digits, at least one letter,
/// and not in the memory. Other characters are removed from a word.
pub fn parse(reply: &str, memory: &str, rules: &Rules) -> Vec<String> {
    let clean =
        |word: &str| word.to_lowercase().chars().filter(|c| rules.text.has(*c)).collect::<String>();
    let own: Vec<String> = memory.split_whitespace().map(clean).collect();
    reply
        .split(|c: char| c == ',' || c.is_whitespace())
        .map(clean)
        .filter(|word| (3..=40).contains(&word.chars().count()))
        .filter(|word| word.chars().any(char::is_alphabetic) && !own.contains(word))
        .take(MOST)
        .collect()
}

/// Triggers that occur in at most 35 % of the memories.
pub fn distinctive(triggers: &[String], memories: &[&str]) -> Vec<String> {
    let share = (real(memories.len()) * 0.35).ceil();
    let most = floor(share) as usize;
    let texts: Vec<String> = memories.iter().map(|text| text.to_lowercase()).collect();
    let holders = |word: &str| texts.iter().filter(|text| text.contains(word)).count();
    triggers.iter().filter(|word| holders(word) <= most).cloned().collect()
}

/// The longest words of the memory itself, used when no model is asked.
pub fn derived(memory: &str, rules: &Rules) -> Vec<String> {
    const SHORTEST: usize = 4;
    let mut words = keywords(memory, rules.text);
    words.retain(|word| word.chars().count() >= SHORTEST);
    words.sort_by_key(|word| std::cmp::Reverse(word.chars().count()));
    words.truncate(MOST);
    words
}

/// Gives trigger words to all active memories that have none and that `wants` accepts.
pub(super) fn complete(
    memories: &mut [Memory],
    wants: impl Fn(&Memory) -> bool,
    config: Config<'_>,
    script: &mut Script<'_>,
) -> Result<(), Need> {
    let asks = config.asks_for_triggers();
    if !asks && !config.rules.derived_triggers {
        return Ok(());
    }
    let texts: Vec<String> =
        memories.iter().filter(|m| m.is_active()).map(|m| m.content.clone()).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    for memory in memories.iter_mut() {
        if memory.is_active()
            && memory.triggers.is_empty()
            && !memory.triggers_asked
            && wants(memory)
        {
            let words = if asks {
                let reply = script.ask(prompt_for(&memory.content))?;
                memory.triggers_asked = reply.is_some();
                parse(reply.unwrap_or_default(), &memory.content, config.rules)
            } else {
                derived(&memory.content, config.rules)
            };
            // Only new words are filtered. Existing ones passed before, or a person wrote them.
            memory.triggers = distinctive(&words, &texts);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trigger_is_a_word_with_letters_that_the_memory_does_not_have() {
        let (ours, theirs) = (Rules::default(), Rules::smart_memory_1_8());
        for (reply, memory, all, ascii) in [
            (
                "sea fever, ALLERGY!, captain, ox, 1942",
                "The captain's Captain.",
                "sea fever allergy",
                "sea fever allergy",
            ),
            (
                "sea-fever, ship's, boat/oar",
                "x",
                "seafever ships boatoar",
                "seafever ships boatoar",
            ),
            ("boat, boat, oar", "x", "boat boat oar", "boat boat oar"),
            ("well-known", "well known fact", "wellknown", "wellknown"),
            ("жанна, naïve", "x", "жанна naïve", "nave"),
        ] {
            assert_eq!(parse(reply, memory, &ours).join(" "), all, "{reply}");
            assert_eq!(parse(reply, memory, &theirs).join(" "), ascii, "{reply}");
        }
    }

    #[test]
    fn a_word_in_more_than_a_third_of_all_memories_sets_none_apart() {
        let triggers = ["ship".to_owned(), "storm".to_owned()];
        let memories = ["Ship one", "ship two", "ship three", "calm"];
        assert_eq!(distinctive(&triggers, &memories), ["storm"]);
        assert_eq!(distinctive(&triggers, &memories[..1]), triggers);
    }
}
