//! Holds new memories for review if they contain names, numbers or quotes that no message supports.
//!
//! This is mechanical. It cannot tell whether a statement is true, but it catches what a model made
//! up, because invented names, numbers and quotes are not in the text.

use std::sync::LazyLock;

use loreloom_core::chat::PathItem;
use regex::Regex;
use rustc_hash::FxHashSet;

use crate::{
    recall::tokens,
    record::{Entity, Insight, Memory, Retirement, StoryArc},
    text::pattern,
};

static QUOTED: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#""([^"]{3,})"|“([^”]{3,})”|«([^»]{3,})»|「([^」]{2,})」"#));
static NUMBER: LazyLock<Regex> = LazyLock::new(|| pattern(r"\d+(?:[.,:]\d+)*"));
static NAME: LazyLock<Regex> = LazyLock::new(|| pattern(r"\p{Lu}[\p{L}\p{M}'’\-]*"));

/// The sources of a statement.
#[derive(Clone, Copy)]
pub(super) struct GroundingSources<'story> {
    /// The messages.
    pub(super) items: &'story [PathItem],
    /// The card, as text.
    pub(super) card: &'story str,
    /// The known entities.
    pub(super) known: &'story [Entity],
    /// The lore in the prompts.
    pub(super) lore: &'story [String],
}

/// The text of all sources, prepared for comparison.
struct Ground {
    text: String,
    words: FxHashSet<String>,
}

impl Ground {
    /// All sources of names. A statement may replace a pronoun by a name from anywhere.
    fn of(sources: GroundingSources<'_>) -> Self {
        let known = sources.known.iter().filter(|entity| !entity.memory_ids.is_empty());
        let names = known.flat_map(Entity::names);
        let lore = sources.lore.iter().map(String::as_str);
        Self::from(said(sources.items).chain([sources.card]).chain(names).chain(lore))
    }

    /// The sources of one memory. Numbers and quotes must be there.
    fn near(memory: &Memory, sources: GroundingSources<'_>) -> Self {
        let place = |at: i64| usize::try_from(at).ok().map(|at| at.min(sources.items.len()));
        let read = memory
            .source_messages
            .iter()
            .filter_map(|(from, to)| Some(place(*from)?..place(to.checked_add(1)?)?));
        let read = read.filter_map(|range| sources.items.get(range)).flatten();
        let rests = sources.items.iter().filter(|item| memory.receipts.contains(&item.id));
        let items: Vec<PathItem> = read.chain(rests).cloned().collect();
        let lore = sources.lore.iter().map(String::as_str);
        Self::from(said(&items).chain([sources.card]).chain(lore))
    }

    fn from<'text>(texts: impl Iterator<Item = &'text str>) -> Self {
        let text = texts.collect::<Vec<_>>().join("\n");
        let words = tokens(&text).into_iter().map(|token| token.stem).collect();
        Self { text: flat(&text), words }
    }

    fn has(&self, phrase: &str) -> bool {
        self.text.contains(&flat(phrase))
    }

    fn has_word(&self, word: &str) -> bool {
        self.has(word) || tokens(word).iter().any(|token| self.words.contains(&token.stem))
    }
}

/// The texts and speakers of messages.
fn said(items: &[PathItem]) -> impl Iterator<Item = &str> {
    items.iter().flat_map(|item| {
        [item.message.text.as_str(), item.message.name.as_deref().unwrap_or_default()]
    })
}

/// Lower case, with plain quotes and single spaces.
fn flat(text: &str) -> String {
    let plain = text.replace(['’', '‘'], "'").to_lowercase();
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The names, numbers and quotes of a statement that the texts do not support.
pub fn ungrounded(statement: &str, texts: &[&str]) -> Vec<String> {
    let ground = Ground::from(texts.iter().copied());
    missing(statement, &ground, &ground)
}

/// The parts of a statement without support: names in all sources, the rest in its own sources.
fn missing(statement: &str, ground: &Ground, near: &Ground) -> Vec<String> {
    let quoted = QUOTED.captures_iter(statement).filter_map(|found| {
        let part = (1..=4).find_map(|group| found.get(group))?.as_str().trim();
        let part = part.trim_end_matches(['.', ',', '!', '?', ';']);
        (!near.has(part)).then(|| format!("“{part}”"))
    });
    let numbers = NUMBER.find_iter(statement).map(|found| found.as_str());
    let numbers = numbers.filter(|number| !near.has_number(number)).map(str::to_owned);
    let names = NAME
        .find_iter(statement)
        // The first word of a sentence always has a capital letter.
        .filter(|found| !begins_sentence(statement, found.start()))
        .map(|found| found.as_str().trim_end_matches("'s").trim_end_matches("’s"))
        .filter(|name| name.chars().count() > 1 && !ground.has_word(name))
        .map(str::to_owned);
    let mut found: Vec<String> = Vec::new();
    for part in quoted.chain(numbers).chain(names) {
        if !found.contains(&part) {
            found.push(part);
        }
    }
    found
}

impl Ground {
    /// The digits, or the number in words up to twelve.
    fn has_number(&self, number: &str) -> bool {
        const WORDS: [&str; 13] = [
            "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
            "eleven", "twelve",
        ];
        let word = number.parse::<usize>().ok().and_then(|number| WORDS.get(number));
        let is_digit = |at: Option<char>| at.is_some_and(|c| c.is_ascii_digit());
        let stands = self.text.match_indices(number).any(|(at, found)| {
            !is_digit(self.text[..at].chars().next_back())
                && !is_digit(self.text[at + found.len()..].chars().next())
        });
        stands || word.is_some_and(|word| crate::text::contains_word(&self.text, word))
    }
}

fn begins_sentence(text: &str, at: usize) -> bool {
    let before = text[..at].trim_end_matches(|c: char| c.is_whitespace() || "\"“«'(".contains(c));
    before.is_empty() || before.ends_with(['.', '!', '?', ':'])
}

/// Holds new memories that the sources do not support. Memories that they had replaced are active
/// again.
pub(super) fn hold(before: &[Memory], after: &mut [Memory], sources: GroundingSources<'_>) {
    let is_new = |memory: &Memory| {
        memory.ungrounded.is_empty()
            && memory.is_active()
            && !before.iter().any(|old| old.id == memory.id)
    };
    if !after.iter().any(is_new) {
        return;
    }
    let ground = Ground::of(sources);
    let mut held = Vec::new();
    for memory in after.iter_mut().filter(|memory| is_new(memory)) {
        let found = missing(&memory.content, &ground, &Ground::near(memory, sources));
        if !found.is_empty() {
            memory.ungrounded = found;
            memory.retired = Some(Retirement::Held);
            held.push(memory.id.clone());
        }
    }
    for memory in after.iter_mut() {
        if memory.superseded_by.as_ref().is_some_and(|by| held.contains(by)) {
            memory.superseded_by = None;
            memory.valid_to = None;
        }
    }
}

/// The same for insights. The spelling of their people is not checked.
pub(super) fn hold_insights(
    before: &[Insight],
    after: &mut [Insight],
    sources: GroundingSources<'_>,
) {
    let is_new =
        |insight: &Insight| insight.holds() && !before.iter().any(|old| old.id == insight.id);
    if !after.iter().any(is_new) {
        return;
    }
    let ground = Ground::of(sources);
    for insight in after.iter_mut().filter(|insight| is_new(insight)) {
        insight.ungrounded = missing(&insight.content, &ground, &ground);
    }
}

/// The same for arcs.
pub(super) fn hold_arcs(
    before: &[StoryArc],
    after: &mut [StoryArc],
    sources: GroundingSources<'_>,
) {
    let is_new =
        |arc: &StoryArc| arc.is_open() && !before.iter().any(|old| old.content == arc.content);
    if !after.iter().any(is_new) {
        return;
    }
    let ground = Ground::of(sources);
    for arc in after.iter_mut().filter(|arc| is_new(arc)) {
        arc.ungrounded = missing(&arc.content, &ground, &ground);
    }
}

#[cfg(test)]
mod tests {
    use loreloom_core::{
        chat::{Message, Path, Role},
        ids::ChatId,
    };

    use super::*;

    #[test]
    fn names_numbers_and_quotes_must_be_in_the_text() {
        let text = "Odo sold the Heron for 300 marks. \"Never again,\" said Lis, and left at two.";
        for (statement, expected) in [
            ("Odo sold the Heron for 300 marks", &[][..]),
            ("Odo's boat, the Heron, was sold", &[]),
            ("Strangely, Lis left at 2", &[]),
            ("Odo sold the Heron to Venn for 30 marks", &["30", "Venn"]),
            ("Lis said “never again”", &[]),
            ("Lis said \"I will be back\"", &["“I will be back”"]),
            ("Heron was sold. Nobody knows why", &[]),
            ("オドは船を売った", &[]),
        ] {
            assert_eq!(ungrounded(statement, &[text]), expected, "{statement}");
        }
    }

    #[test]
    fn a_number_from_elsewhere_in_the_story_bears_nothing_out() {
        let texts = ["Lis owes 300 marks.", "Rain.", "Odo sold the boat.", "Fog."];
        let message = |text: &str| Message::new(Role::User, Some("Player"), text);
        let path = Path::of(ChatId::from("c"), texts.map(message));
        let memory = |id: &str, content: &str| Memory {
            id: id.into(),
            content: content.into(),
            source_messages: vec![(1, 3)],
            ..Memory::default()
        };
        let mut after = vec![
            memory("a", "Odo sold the boat for 300 marks"),
            memory("b", "Odo sold the boat and Lis was glad"),
        ];
        let sources = GroundingSources { items: path.items(), card: "", known: &[], lore: &[] };
        let mut grounded = after.clone();
        hold(&[], &mut after, sources);
        assert_eq!(
            (after[0].ungrounded.as_slice(), after[1].is_held()),
            (&["300".to_owned()][..], false)
        );
        // What the lore of those turns says is borne out by it.
        let lore = ["A boat is worth 300 marks.".to_owned()];
        hold(&[], &mut grounded, GroundingSources { lore: &lore, ..sources });
        assert!(!grounded[0].is_held());
    }

    #[test]
    fn what_is_put_aside_replaces_nothing() {
        let path = Path::of(
            ChatId::from("c"),
            [Message::new(Role::User, Some("Player"), "Odo keeps bees. Lis keeps goats.")],
        );
        let memory = |id: &str, content: &str| Memory {
            id: id.into(),
            content: content.into(),
            ..Memory::default()
        };
        let old = Memory { superseded_by: Some("b".into()), ..memory("a", "Odo keeps bees") };
        let new =
            Memory { supersedes: vec!["a".into()], ..memory("b", "Odo sold his bees to Venn") };
        let mut after = vec![old, new, memory("c", "Lis keeps goats")];
        let sources = GroundingSources { items: path.items(), card: "", known: &[], lore: &[] };
        hold(&[memory("a", "Odo keeps bees")], &mut after, sources);
        let active: Vec<&str> =
            after.iter().filter(|one| one.is_active()).map(|one| one.id.0.as_str()).collect();
        assert_eq!(active, ["a", "c"]);
        assert_eq!((after[1].is_held(), &after[1].ungrounded), (true, &vec!["Venn".to_owned()]));
    }
}
