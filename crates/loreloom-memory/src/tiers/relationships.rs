//! Feelings between people: how they changed in a scene.

use std::sync::LazyLock;

use regex::Regex;

use super::{GUARD, Source};
use crate::{
    pass::{Need, Purpose, Question, Script},
    record::{Descriptor, Magnitude, Pair, Relationships},
    text::{pattern, reply_lines},
    window::lines,
};

/// Most feelings of one person for another.
const MOST: usize = 6;

static LINE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^[\s*•-]*(.+?)\s*(?:->|→)\s*([^:]+?)\s*:\s*(.+)$"));
static STRENGTH: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?i)\(\s*(low|medium|high)\s*\)"));
static ASIDE: LazyLock<Regex> = LazyLock::new(|| pattern(r"\([^)]*\)?"));
static WEAK: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)\b(?:slightly|somewhat|a bit|a little|mildly)\b"));
static STRONG: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)\b(?:very|extremely|deeply|intensely|profoundly)\b"));
static COURSE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"(?i)^(?:even more|becoming more|becoming|more and more|more|increasingly|still)\s+")
});

/// What a scene changed between two people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delta {
    /// Who feels.
    pub subject: String,
    /// For whom.
    pub target: String,
    /// Feelings that are there.
    pub updates: Vec<Descriptor>,
    /// Feelings that are gone.
    pub removals: Vec<String>,
}

/// The question how feelings changed.
pub fn prompt_for(source: &Source<'_>, known: &Relationships, card: &str) -> Question {
    let known: Vec<String> = known
        .iter()
        .map(|(pair, relationship)| format!("{pair}: {}", describe(&relationship.descriptors)))
        .collect();
    let known = if known.is_empty() { "(none)".to_owned() } else { known.join("\n") };
    Question {
        purpose: Purpose::Relationships,
        prompt: format!(
            "{GUARD}\n\n\
             Say how the people of this scene now feel about each other. One line for each \
             pair whose feelings the scene shows:\n\
             Subject -> Target: word(strength), word(strength), !word\n\
             strength is low, medium or high. Repeat known feelings that still hold; put ! \
             before one that is gone. At most {MOST} words for a pair, single lower-case \
             words. If nothing shows, answer NONE.\n\n\
             Known feelings:\n{known}\n\n\
             About the main character (only to begin a pair that is not known):\n{card}\n\n\
             Scene:\n{}",
            lines(source.messages())
        ),
        max_tokens: 300,
    }
}

/// Feelings as `word(strength), word(strength)`.
pub fn describe(descriptors: &[Descriptor]) -> String {
    let words: Vec<String> = descriptors
        .iter()
        .map(|feeling| format!("{}({})", feeling.word, feeling.magnitude.as_str()))
        .collect();
    words.join(", ")
}

/// Reads the model's reply; lines that name no pair are passed over.
pub fn parse(reply: &str) -> Vec<Delta> {
    reply_lines(reply).filter_map(parse_line).collect()
}

fn parse_line(line: &str) -> Option<Delta> {
    let parts = LINE.captures(line)?;
    let mut delta = Delta {
        subject: parts[1].trim().to_owned(),
        target: parts[2].trim().to_owned(),
        updates: Vec::new(),
        removals: Vec::new(),
    };
    for item in parts[3].split(',').map(str::trim) {
        if let Some(gone) = item.strip_prefix('!') {
            let (word, _) = feeling(gone);
            if !word.is_empty() && !delta.removals.contains(&word) {
                delta.removals.push(word);
            }
            continue;
        }
        let (word, magnitude) = feeling(item);
        if word.is_empty() || Magnitude::from_name(&word).is_some() {
            continue;
        }
        match delta.updates.iter_mut().find(|known| known.word == word) {
            Some(known) => known.magnitude = known.magnitude.max(magnitude),
            None => delta.updates.push(Descriptor { word, magnitude }),
        }
    }
    (!delta.updates.is_empty() || !delta.removals.is_empty()).then_some(delta)
}

/// The word of an item without hedges, and its strength: as written, else as hedged, else
/// medium.
fn feeling(item: &str) -> (String, Magnitude) {
    let written = STRENGTH.captures(item).and_then(|found| Magnitude::from_name(&found[1]));
    let bare = ASIDE.replace_all(item, "");
    let hedged = if WEAK.is_match(&bare) {
        Magnitude::Low
    } else if STRONG.is_match(&bare) {
        Magnitude::High
    } else {
        Magnitude::Medium
    };
    let bare = STRONG.replace_all(&WEAK.replace_all(&bare, ""), "").into_owned();
    let letters: String = bare
        .chars()
        .map(|c| if c.is_alphabetic() || matches!(c, '-' | '\'') { c } else { ' ' })
        .collect();
    let mut word = letters.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    while let Some(course) = COURSE.find(&word) {
        word.drain(..course.end());
    }
    (word.trim_matches(['-', '\'']).to_owned(), written.unwrap_or(hedged))
}

/// Applies a change: removals first, then news; beyond six words the weakest go.
pub fn apply(known: &mut Relationships, delta: &Delta, now: i64) {
    let pair = Pair { subject: &delta.subject, target: &delta.target };
    let relationship = known.entry(&existing_key(known, pair));
    let feelings = &mut relationship.descriptors;
    feelings.retain(|known| !delta.removals.contains(&known.word));
    for news in &delta.updates {
        match feelings.iter_mut().find(|known| known.word == news.word) {
            Some(known) => known.magnitude = news.magnitude,
            None => feelings.push(news.clone()),
        }
    }
    while feelings.len() > MOST {
        let weakest = (0..feelings.len()).min_by_key(|at| feelings[*at].magnitude).unwrap_or(0);
        feelings.remove(weakest);
    }
    relationship.updated_at = Some(now);
}

/// The stored spelling of a pair, if there is one.
fn existing_key(known: &Relationships, pair: Pair<'_>) -> String {
    let wanted = pair.key();
    let folded = wanted.to_lowercase();
    known
        .iter()
        .map(|(key, _)| key)
        .find(|key| key.to_lowercase() == folded)
        .map_or(wanted, str::to_owned)
}

/// Asks how feelings changed and applies the answer; without one nothing changes.
pub(super) fn update(
    known: &mut Relationships,
    source: &Source<'_>,
    card: &str,
    script: &mut Script<'_>,
) -> Result<(), Need> {
    let reply = script.ask(prompt_for(source, known, card))?.unwrap_or_default();
    for delta in parse(reply) {
        apply(known, &delta, source.now);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hedges_set_the_strength_and_vanish() {
        for (item, word, magnitude) in [
            ("Trusting(high)", "trusting", Magnitude::High),
            ("wary (low)", "wary", Magnitude::Low),
            ("slightly nervous", "nervous", Magnitude::Low),
            ("deeply loyal(low)", "loyal", Magnitude::Low),
            ("still very fond", "fond", Magnitude::High),
            ("becoming more hostile", "hostile", Magnitude::Medium),
            ("moreover", "moreover", Magnitude::Medium),
            ("self-assured", "self-assured", Magnitude::Medium),
            ("(high)", "", Magnitude::High),
            ("fond(immense)", "fond", Magnitude::Medium),
        ] {
            assert_eq!(feeling(item), (word.to_owned(), magnitude), "{item}");
        }
    }

    #[test]
    fn a_hyphen_in_a_name_is_no_arrow() {
        let found = parse("Jean-Luc -> Odo: fond(low)\n- Odo→Jean-Luc: wary\nMara - Odo: fond");
        let pairs: Vec<(&str, &str)> =
            found.iter().map(|delta| (delta.subject.as_str(), delta.target.as_str())).collect();
        assert_eq!(pairs, [("Jean-Luc", "Odo"), ("Odo", "Jean-Luc")]);
    }

    #[test]
    fn beyond_six_words_the_weakest_and_oldest_goes() {
        let mut known = Relationships::default();
        for delta in parse("A -> B: a(low), b(high), c(low), d, e, f(high)\na -> b: g(high), !b, h")
        {
            apply(&mut known, &delta, 5);
        }
        assert_eq!(known.len(), 1);
        let words: Vec<&str> = known
            .get("A→B")
            .map(|pair| pair.descriptors.iter().map(|d| d.word.as_str()).collect())
            .unwrap_or_default();
        assert_eq!(words, ["c", "d", "e", "f", "g", "h"]);
    }
}
