//! The prompts of the long-term pass.

use super::super::{GUARD, PassSource, contents};
use crate::{
    pass::{ModelQuestion, Purpose},
    record::Memory,
    window::lines,
};

/// Asks for new long-term memories.
pub fn prompt_for(source: &PassSource<'_>, character: &str, known: &[&Memory]) -> ModelQuestion {
    let known = contents(known);
    ModelQuestion {
        purpose: Purpose::LongTerm,
        prompt: format!(
            "{GUARD}\n\n\
             Note what will still matter to {character} in later conversations. One line each:\n\
             [kind:importance:expiry:entity=Name/type,Name/type] one short statement\n\
             kind: fact (what is so), relationship (how two people stand to each other), \
             preference (what somebody likes or wants), event (what happened and has effects).\n\
             importance: 1 minor, 2 notable, 3 vital. expiry: scene, session or permanent.\n\
             type: character, place, object, faction or concept.\n\
             Rules: only what the text shows, nothing guessed. Name people instead of saying \
             he, she or they. One statement per line, under 280 characters. If something known \
             has changed, say so with words such as \"no longer\" or \"is now\". If a known \
             statement is shown again, repeat it word for word. If nothing is worth noting, \
             answer NONE.\n\n\
             Already known:\n{known}\n\n\
             Story:\n{}",
            lines(source.messages())
        ),
        max_tokens: 600,
    }
}

/// Asks whether one statement replaces another.
pub fn update_prompt(new: &str, old: &str) -> ModelQuestion {
    ModelQuestion {
        purpose: Purpose::Update,
        prompt: format!(
            "Two notes about the same story.\nOlder: {old}\nNewer: {new}\n\n\
             Answer with one word. UPDATE if the newer note replaces the older one because \
             something changed or was corrected. SAME if both say the same. CONTRADICTION \
             if both cannot be true and nothing changed in between. INDEPENDENT if both can be \
             true side by side."
        ),
        max_tokens: 20,
    }
}
