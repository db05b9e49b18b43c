//! What a card says about its character, without the front end's instructions.
//!
//! A front end sends its instructions to the model and the card in one text. Memory's prompts
//! only need the description. Instructions are recognised sentence by sentence: they speak to the
//! model, and descriptions speak about people.

use std::sync::LazyLock;

use regex::Regex;

use crate::text::{head, pattern, sentences};

static INSTRUCTION: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?ix)^\W*(?:
            (?:write|reply|respond|answer|continue|describe|avoid|do\ not|don['’]t|never|always|keep
              |use|stay|start|format|make\ sure|ensure|remember|please|be\ |speak\ as|act\ as
              |play\ |take\ the|your\ (?:task|goal|role|job|reply|response)|you\ (?:must|should|will
              |are\ an?\ (?:ai|assistant|expert|author|writer|storyteller|large|language)))\b
            |(?:system|ooc|note|instructions?)\s*[:\]])
          | \bnext\ reply\b | \brole-?\ ?play\b | \blanguage\ model\b | \bnsfw\b | \b(?:your|each|every)\ (?:reply|response|message)\b",
    )
});

/// The description in a card, at most so many characters.
pub(crate) fn description(card: &str, most: usize) -> String {
    let is_told = |sentence: &&str| !sentence.trim().is_empty() && !INSTRUCTION.is_match(sentence);
    let lines: Vec<String> = card
        .lines()
        .map(|line| sentences(line).into_iter().filter(is_told).collect::<String>())
        .map(|line| line.trim().to_owned())
        .filter(|line| !line.is_empty())
        .collect();
    head(&lines.join("\n"), most).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_to_the_model_are_no_description() {
        let card = "Write Mara's next reply in a fictional chat between Mara and Ines.\n\
                    Avoid repetition. Keep replies short!\n\
                    Mara keeps a lighthouse. She never lies. She always wears a blue scarf.\n\
                    [System: stay in character]\n\
                    Scenario: a storm comes.";
        let expected = "Mara keeps a lighthouse. She never lies. She always wears a blue scarf.\n\
                        Scenario: a storm comes.";
        assert_eq!(description(card, 1000), expected);
        assert_eq!(description(card, 5), "Mara");
    }
}
