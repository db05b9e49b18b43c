//! Relationships: how feelings changed in a scene.

use std::{borrow::Cow, sync::LazyLock};

use regex::Regex;

use super::{GUARD, PassSource, part, prompt};
use crate::{
    card::description,
    pass::{ModelQuestion, Need, Purpose, Script},
    people::People,
    record::{Descriptor, Magnitude, Pair, Relationship, Relationships},
    reply::plain_lines,
    rules::Rules,
    text::{TextRules, pattern, reply_lines},
    window::lines,
};

/// The most feelings of one person for another.
const MOST: usize = 6;

static LINE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^([^-\s].*?)\s*(?:->|→)\s*([^:]+?)\s*:\s*(.+)$"));
static LOOSE_LINE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^(.+?)\s*(?:->|→)\s*([^:]+?)\s*:\s*(.+)$"));
static STRENGTH: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?i)\s*\(\s*(low|medium|high)\)"));
static LOOSE_STRENGTH: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)\s*\(\s*(low|medium|high)\s*\)"));
static ASIDE: LazyLock<Regex> = LazyLock::new(|| pattern(r"\([^)]*\)?"));
static WEAK: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^(?:slightly|somewhat|a\s+bit|a\s+little|mildly)\s+"));
static STRONG: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^(?:very|extremely|deeply|intensely|profoundly)\s+"));
static COURSE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"^(?:then(?:\s+more)?|increasingly|still|even\s+more|becoming(?:\s+more)?)\s+")
});

/// What a scene changed between two people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delta {
    /// The person who feels.
    pub subject: String,
    /// The person the feeling is for.
    pub target: String,
    /// Feelings that are present.
    pub updates: Vec<Descriptor>,
    /// Feelings that are gone.
    pub removals: Vec<String>,
}

/// Asks how feelings changed.
pub fn prompt_for(source: &PassSource<'_>, known: &Relationships, card: &str) -> ModelQuestion {
    let (people, _, _) = source.shown();
    let task = format!(
        "Say how the people of this scene now feel about each other. {FORM} If nothing \
         shows, answer NONE."
    );
    ModelQuestion {
        purpose: Purpose::Relationships,
        prompt: prompt(&[
            GUARD,
            &task,
            &people,
            &part("Known feelings", &known_feelings(known)),
            &part(
                "About the main character (only to begin a pair that is not known)",
                &description(card, CARD),
            ),
            &part("Scene", &lines(source.messages())),
        ]),
        max_tokens: 300,
    }
}

/// The most characters of a card in the prompt.
const CARD: usize = 1200;

/// The form of feelings, for prompts.
pub(super) const FORM: &str = "One line for each pair whose feelings the scene shows:\n\
     Subject -> Target: word(strength), word(strength), !word\n\
     Example: Hanna -> Ruben: fond(high), wary(low), !angry\n\
     strength is low, medium or high. Repeat known feelings that still hold; put ! before one that \
     is gone. At most 6 words for a pair, single lower-case words.";

/// Known feelings, one line for each pair.
pub(super) fn known_feelings(known: &Relationships) -> String {
    let line = |(pair, relationship): (&str, &Relationship)| {
        format!("{}: {}", pair.replace('→', " -> "), describe(&relationship.descriptors))
    };
    known.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Feelings as `word(strength), word(strength)`.
pub fn describe(descriptors: &[Descriptor]) -> String {
    let words: Vec<String> = descriptors
        .iter()
        .map(|feeling| format!("{}({})", feeling.word, feeling.magnitude.as_str()))
        .collect();
    words.join(", ")
}

/// Reads the model's reply. Lines without a pair are skipped.
pub fn parse(reply: &str, rules: &Rules) -> Vec<Delta> {
    let reply = plain_lines(reply, rules.text);
    reply_lines(&reply).filter_map(|line| parse_line(line, rules)).collect()
}

fn parse_line(line: &str, rules: &Rules) -> Option<Delta> {
    let parts = rules.text.choose(&LOOSE_LINE, &LINE).captures(line)?;
    let mut delta = Delta {
        subject: parts[1].trim().to_owned(),
        target: parts[2].trim().to_owned(),
        updates: Vec::new(),
        removals: Vec::new(),
    };
    for item in parts[3].split(',').map(str::trim) {
        if let Some(gone) = item.strip_prefix('!') {
            let word = match rules.text {
                TextRules::Tolerant => feeling(gone, rules).0,
                TextRules::Literal => bare_word(&strength(gone, rules).0, rules),
            };
            if !word.is_empty() && !delta.removals.contains(&word) {
                delta.removals.push(word);
            }
            continue;
        }
        let (word, magnitude) = feeling(item, rules);
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

/// The word of an item without its hedge, and its strength: the written one, else that of the
/// hedge, else medium. A hedge alone is a word.
fn feeling(item: &str, rules: &Rules) -> (String, Magnitude) {
    let (item, written) = strength(item, rules);
    let lower = item.trim().to_lowercase();
    let mut rest = without_course(&lower);
    let mut hedged = Magnitude::Medium;
    for (hedge, magnitude) in [(&*WEAK, Magnitude::Low), (&*STRONG, Magnitude::High)] {
        if let Some(found) = hedge.find(rest) {
            (rest, hedged) = (without_course(&rest[found.end()..]), magnitude);
            break;
        }
    }
    (bare_word(rest, rules), written.unwrap_or(hedged))
}

/// An item without its written strength, and that strength.
fn strength<'item>(item: &'item str, rules: &Rules) -> (Cow<'item, str>, Option<Magnitude>) {
    let form = rules.text.choose(&LOOSE_STRENGTH, &STRENGTH);
    let written = form.captures(item).and_then(|found| Magnitude::from_name(&found[1]));
    let bare = form.replace(item, "");
    match rules.text {
        TextRules::Tolerant => (Cow::Owned(ASIDE.replace_all(&bare, "").into_owned()), written),
        TextRules::Literal => (bare, written),
    }
}

/// Words without "still", "increasingly" and the like.
fn without_course(words: &str) -> &str {
    let mut rest = words;
    while let Some(course) = COURSE.find(rest) {
        rest = &rest[course.end()..];
    }
    rest
}

/// The letters of a word in lower case, without other characters.
fn bare_word(text: &str, rules: &Rules) -> String {
    let is_letter = |c: char| c.is_alphabetic() && rules.text.has(c);
    let kept = |c: &char| is_letter(*c) || c.is_whitespace() || matches!(c, '-' | '\'');
    let word: String = text.to_lowercase().chars().filter(kept).collect();
    let word = match rules.text {
        TextRules::Tolerant => word.split_whitespace().collect::<Vec<_>>().join(" "),
        TextRules::Literal => word.trim().to_owned(),
    };
    word.trim_matches(['-', '\'']).to_owned()
}

/// Applies a change: removals first, then updates. Beyond six words only the strongest stay,
/// strongest first.
pub fn apply(known: &mut Relationships, delta: &Delta, now: i64, words: TextRules) {
    let pair = Pair { subject: &delta.subject, target: &delta.target };
    let relationship = known.entry(&existing_key(known, pair, words));
    let feelings = &mut relationship.descriptors;
    feelings.retain(|known| !delta.removals.contains(&known.word));
    for news in &delta.updates {
        match feelings.iter_mut().find(|known| known.word == news.word) {
            Some(known) => known.magnitude = news.magnitude,
            None => feelings.push(news.clone()),
        }
    }
    if feelings.len() > MOST {
        feelings.sort_by_key(|feeling| std::cmp::Reverse(feeling.magnitude));
        feelings.truncate(MOST);
    }
    relationship.updated_at = Some(now);
}

/// The stored spelling of a pair, if there is one. With [`TextRules::Literal`] another case is
/// another name.
fn existing_key(known: &Relationships, pair: Pair<'_>, words: TextRules) -> String {
    let wanted = pair.key();
    let folded = wanted.to_lowercase();
    known
        .iter()
        .map(|(key, _)| key)
        .find(|key| words == TextRules::Tolerant && key.to_lowercase() == folded)
        .map_or(wanted, str::to_owned)
}

/// Asks how feelings changed and applies the answer. Without an answer nothing changes.
pub(super) fn update(
    known: &mut Relationships,
    source: &PassSource<'_>,
    card: &str,
    rules: &Rules,
    script: &mut Script<'_>,
) -> Result<(), Need> {
    let question = prompt_for(source, known, card);
    let deltas = script.ask_for(question, rules.text, |reply| {
        let deltas = parse(reply, rules);
        (!deltas.is_empty()).then_some(deltas)
    })?;
    let (cast, people) = (source.cast(), People::of(source.chat));
    for mut delta in deltas.unwrap_or_default() {
        if rules.text.is_tolerant() {
            delta.subject = cast.person(&delta.subject).to_owned();
            delta.target = cast.person(&delta.target).to_owned();
            // In a group, everybody keeps the feelings that concern them, or they grow old unseen.
            let is_own = |name: &str| people.are_one(name, source.character);
            if source.heard.is_some() && !is_own(&delta.subject) && !is_own(&delta.target) {
                continue;
            }
        }
        apply(known, &delta, source.now, rules.text);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_hedge_sets_the_strength_and_vanishes() {
        for (item, word, magnitude) in [
            ("Trusting(high)", "trusting", Magnitude::High),
            ("wary (low)", "wary", Magnitude::Low),
            ("slightly nervous", "nervous", Magnitude::Low),
            ("a  bit wary", "wary", Magnitude::Low),
            ("deeply loyal(low)", "loyal", Magnitude::Low),
            ("still very fond", "fond", Magnitude::High),
            ("very very fond", "very fond", Magnitude::High),
            ("mildly profoundly sad", "profoundly sad", Magnitude::Low),
            ("somewhat", "somewhat", Magnitude::Medium),
            ("becoming more hostile", "hostile", Magnitude::Medium),
            ("then more hostile", "hostile", Magnitude::Medium),
            ("more hostile", "more hostile", Magnitude::Medium),
            ("moreover", "moreover", Magnitude::Medium),
            ("self-assured", "self-assured", Magnitude::Medium),
            ("warm/cold", "warmcold", Magnitude::Medium),
            ("warm123", "warm", Magnitude::Medium),
            ("(high)", "", Magnitude::High),
        ] {
            for rules in [Rules::default(), Rules::smart_memory_1_8()] {
                assert_eq!(feeling(item, &rules), (word.to_owned(), magnitude), "{item}");
            }
        }
    }

    #[test]
    fn a_strict_reader_keeps_what_it_does_not_know_in_the_word() {
        let (ours, theirs) = (Rules::default(), Rules::smart_memory_1_8());
        for (item, tolerant, strict) in [
            ("fond(immense)", "fond", "fondimmense"),
            ("warm(low )", "warm", "warmlow"),
            ("naïve", "naïve", "nave"),
        ] {
            assert_eq!(feeling(item, &ours).0, tolerant);
            assert_eq!(feeling(item, &theirs).0, strict);
        }
        let gone = |rules: &Rules| parse("A -> B: !slightly warm", rules)[0].removals.join(",");
        assert_eq!((gone(&ours).as_str(), gone(&theirs).as_str()), ("warm", "slightly warm"));
    }

    #[test]
    fn a_hyphen_in_a_name_is_no_arrow() {
        let reply = "Jean-Luc -> Odo: fond(low)\n- Odo→Jean-Luc: wary\nMara - Odo: fond\n* Pell -> Odo: shy";
        let pairs = |rules: &Rules| -> Vec<String> {
            let found = parse(reply, rules).into_iter();
            found.map(|delta| format!("{}>{}", delta.subject, delta.target)).collect()
        };
        assert_eq!(pairs(&Rules::default()), ["Jean-Luc>Odo", "Odo>Jean-Luc", "Pell>Odo"]);
        assert_eq!(pairs(&Rules::smart_memory_1_8()), ["Jean-Luc>Odo", "* Pell>Odo"]);
    }

    #[test]
    fn beyond_six_words_the_weakest_and_newest_goes() {
        let rules = Rules::default();
        let apply_all = |words| {
            let mut known = Relationships::default();
            let reply = "A -> B: a(low), b(high), c(low), d, e, f(high)\na -> b: g(high), !b, h, i";
            for delta in parse(reply, &rules) {
                apply(&mut known, &delta, 5, words);
            }
            known
        };
        let known = apply_all(TextRules::Tolerant);
        assert_eq!(known.len(), 1);
        let words: Vec<&str> = known
            .get("A→B")
            .map(|pair| pair.descriptors.iter().map(|d| d.word.as_str()).collect())
            .unwrap_or_default();
        assert_eq!(words, ["f", "g", "d", "e", "h", "i"]);
        assert_eq!(apply_all(TextRules::Literal).len(), 2, "`a→b` is another pair there");
    }
}
