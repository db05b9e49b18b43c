//! The prompts of the long-term pass.

use super::super::{GUARD, PassSource, numbered, part, prompt};
use crate::{
    pass::{ModelQuestion, Purpose},
    record::Memory,
};

/// Asks for new long-term memories.
pub fn prompt_for(source: &PassSource<'_>, character: &str, known: &[&Memory]) -> ModelQuestion {
    let (people, lore, story) = source.shown();
    let task = format!(
        "Note what will still matter to {character} in later conversations. One line each:\n\
         [kind:importance:expiry:entity=Name/type,Name/type] one short statement\n\
         Example: [fact:2:permanent:entity=Hanna/character,Old Mill/place] Hanna inherited the \
         Old Mill from her aunt.\n\
         {KINDS}\n{VALUES}\n\
         Rules: {RULES} {REPLACES} Keep a statement under 280 characters. If nothing is worth noting, answer NONE."
    );
    let known = part("Already known", &numbered(known));
    ModelQuestion {
        purpose: Purpose::LongTerm,
        prompt: prompt(&[GUARD, &task, &people, &known, &lore, &story]),
        max_tokens: 600,
    }
}

/// The kinds of long-term memory, for prompts.
pub(in crate::tiers) const KINDS: &str = "kind: fact (what is so), relationship (how two people stand to each other), preference (what \
     somebody likes or wants), event (what happened and has effects), private (a motive, plan or \
     lie that only this character knows of).";

/// The other values of a tag, for prompts.
pub(in crate::tiers) const VALUES: &str = "importance: 1 minor, 2 notable, 3 vital. expiry: scene, session or permanent. type: \
     character, place, object, faction or concept.";

/// What every statement must be, for prompts.
pub(in crate::tiers) const RULES: &str = "only what the text shows, nothing guessed. Name people instead of saying he, she, they or the \
     user. One statement per line. If the text says a numbered note again, repeat that note word for word.";

/// How a statement names the note that it replaces, for prompts.
pub(in crate::tiers) const REPLACES: &str = "If a statement makes a numbered note untrue or brings it up to date, add its number to the \
     end of the tag, as in [kind:importance:expiry:entity=Name/type:replaces=3].";

/// Asks whether one statement replaces another.
pub fn update_prompt(new: &str, old: &str) -> ModelQuestion {
    ModelQuestion {
        purpose: Purpose::Update,
        prompt: format!(
            "Two notes about the same story.\nOlder: {old}\nNewer: {new}\n\n\
             Answer with one word. {ANSWERS}"
        ),
        max_tokens: 20,
    }
}

const ANSWERS: &str = "UPDATE if the newer note replaces the older one because something changed or was corrected. \
     SAME if both say the same. CONTRADICTION if both cannot be true and nothing changed in \
     between. INDEPENDENT if both can be true side by side.";

/// Asks the same about several pairs, each the newer note and the older one.
pub fn updates_prompt(pairs: &[(&str, &str)]) -> ModelQuestion {
    let pairs = pairs.iter().zip(1..);
    let pairs: Vec<String> =
        pairs.map(|((new, old), at)| format!("{at}. Older: {old}\n   Newer: {new}")).collect();
    ModelQuestion {
        purpose: Purpose::Update,
        prompt: format!(
            "Pairs of notes about the same story.\n\n{}\n\n\
             Answer with one line for each pair, its number and one word, such as `1. UPDATE`. \
             {ANSWERS}",
            pairs.join("\n")
        ),
        max_tokens: 200,
    }
}
