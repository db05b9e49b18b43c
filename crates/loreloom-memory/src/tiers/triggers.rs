//! Trigger words: they recall a memory that does not contain them.

use super::{Config, GUARD, part, prompt};
use crate::{
    number::{clamp_u32, real, whole},
    pass::{ModelQuestion, Need, Purpose, Script},
    record::Memory,
    rules::Rules,
    text::{keywords, reply_lines},
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

/// Asks for the trigger words of several memories.
fn prompt_for_all(memories: &[&str]) -> ModelQuestion {
    let notes = memories.iter().zip(1..).map(|(memory, at)| format!("{at}. {memory}"));
    let notes: Vec<String> = notes.collect();
    let task = "Name for each note four to six single words that, if they came up in a \
                conversation, should bring it to mind, and that are not in the note themselves. \
                Answer with one line for each note: its number, then the words, separated by \
                commas. Example: 1. flour, miller, harvest, bread";
    ModelQuestion {
        purpose: Purpose::Triggers,
        prompt: prompt(&[GUARD, task, &part("Notes", &notes.join("\n"))]),
        max_tokens: 60 * clamp_u32(memories.len()),
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
    let most = whole(share) as usize;
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
    let is_meant = |memory: &Memory| {
        let has_none = memory.triggers.is_empty() && !memory.triggers_asked;
        memory.is_active() && has_none && wants(memory)
    };
    let meant: Vec<usize> = (0..memories.len()).filter(|at| is_meant(&memories[*at])).collect();
    if asks && config.rules.text.is_tolerant() && meant.len() > 1 {
        let notes: Vec<&str> = meant.iter().map(|at| memories[*at].content.as_str()).collect();
        let Some(reply) = script.ask(prompt_for_all(&notes))? else { return Ok(()) };
        for (at, words) in meant.iter().zip(numbered_lines(reply, meant.len())) {
            let memory = &mut memories[*at];
            memory.triggers_asked = true;
            let words = parse(words, &memory.content, config.rules);
            memory.triggers = distinctive(&words, &texts);
        }
        return Ok(());
    }
    for at in meant {
        let memory = &mut memories[at];
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
    Ok(())
}

/// The words for each of `count` notes, from lines that begin with the number of a note.
fn numbered_lines(reply: &str, count: usize) -> Vec<&str> {
    let mut words = vec![""; count];
    for line in reply_lines(reply) {
        let line = line.trim_start_matches(|c: char| !c.is_alphanumeric());
        let end = line.find(|c: char| !c.is_ascii_digit()).unwrap_or(line.len());
        let at = line[..end].parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        if let Some(place) = at.and_then(|at| words.get_mut(at)) {
            *place = &line[end..];
        }
    }
    words
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
