//! Leaves out what the prompt already says.
//!
//! A line repeats a sentence if that has nearly all of its words. Words alone cannot see a
//! negation, so a line about a change repeats only a sentence that is about one too.

use loreloom_core::{tokens::TokenCounter, units::Tokens};
use rustc_hash::FxHashSet;

use super::{MemorySlot, SlotText};
use crate::{
    change::marks_change,
    recall::stems,
    text::{contains_word, sentences},
};

/// From this share of words on, a line repeats a sentence, in per cent.
const NEARLY: usize = 80;
/// A line with fewer words repeats nothing.
const FEWEST: usize = 3;

/// Sentences that the prompt already has.
#[derive(Clone, Debug, Default)]
pub struct ShownSentences(Vec<(FxHashSet<String>, bool)>);

impl ShownSentences {
    /// The sentences of texts, each given with its speaker.
    pub fn of<'text>(texts: impl IntoIterator<Item = (Option<&'text str>, &'text str)>) -> Self {
        let mut shown = Self::default();
        for (speaker, text) in texts {
            shown.add(speaker, text);
        }
        shown
    }

    /// Adds the sentences of one more text.
    pub fn add(&mut self, speaker: Option<&str>, text: &str) {
        for sentence in text.lines().flat_map(sentences) {
            let mut words = stems(sentence);
            if let Some(speaker) = speaker.filter(|_| !words.is_empty()) {
                words.extend(stems(speaker));
            }
            if !words.is_empty() {
                self.0.push((words, marks_change(sentence) || is_negated(sentence)));
            }
        }
    }

    /// Whether one of the sentences says nearly the same.
    pub fn has(&self, line: &str) -> bool {
        let words = stems(line);
        if words.len() < FEWEST || self.0.is_empty() {
            return false;
        }
        let changes = marks_change(line) || is_negated(line);
        self.0.iter().any(|(sentence, marked)| {
            let shared = words.iter().filter(|word| sentence.contains(*word)).count();
            changes == *marked && shared * 100 >= words.len() * NEARLY
        })
    }
}

fn is_negated(text: &str) -> bool {
    const WORDS: [&str; 6] = ["not", "never", "no", "nobody", "nothing", "without"];
    text.to_lowercase().contains("n't") || WORDS.iter().any(|word| contains_word(text, word))
}

/// Removes lines that say what `shown` or an earlier slot already says. A slot that has only
/// headings left goes too.
pub(crate) fn without_repeats(
    texts: &mut Vec<SlotText>,
    mut shown: ShownSentences,
    counter: &dyn TokenCounter,
) {
    for text in texts.iter_mut().filter(|text| has_lines(text.slot)) {
        let mut lines: Vec<&str> = Vec::new();
        let mut dropped = false;
        for line in text.text.lines() {
            let body = line.trim_start_matches("- ");
            if body.len() < line.len() && shown.has(body) {
                dropped = true;
            } else {
                if body.len() < line.len() {
                    shown.add(None, body);
                }
                lines.push(line);
            }
        }
        if dropped {
            let left = without_bare_headings(&lines).join("\n");
            text.text = String::from(left.trim());
            text.tokens = counter.count(&text.text);
        }
    }
    texts.retain(|text| !text.text.is_empty() || text.tokens > Tokens::ZERO);
}

/// The slots whose lines with dashes are statements of their own.
fn has_lines(slot: MemorySlot) -> bool {
    match slot {
        MemorySlot::LongTerm
        | MemorySlot::Session
        | MemorySlot::Arcs
        | MemorySlot::Epistemic
        | MemorySlot::Triggered
        | MemorySlot::Unified => true,
        MemorySlot::Canon
        | MemorySlot::Profiles
        | MemorySlot::Summary
        | MemorySlot::Scenes
        | MemorySlot::Relationships
        | MemorySlot::Ledger
        | MemorySlot::Recall
        | MemorySlot::Repair => false,
    }
}

/// Lines without headings that have nothing below them.
fn without_bare_headings<'line>(lines: &[&'line str]) -> Vec<&'line str> {
    let is_heading = |line: &str| !line.starts_with("- ") && line.trim_end().ends_with(':');
    let mut kept: Vec<&str> = Vec::new();
    // Whether there are lines below in the same section, and in the same block.
    let (mut in_section, mut in_block) = (false, false);
    for (at, line) in lines.iter().enumerate().rev() {
        let is_title = at == 0 || lines[at - 1].trim().is_empty();
        if is_heading(line) && !in_section && !(is_title && in_block) {
            continue;
        }
        in_section = !is_heading(line);
        in_block = !line.trim().is_empty();
        kept.push(line);
    }
    kept.reverse();
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_repeats_a_sentence_with_nearly_all_its_words() {
        let shown = ShownSentences::of([
            (Some("Mara"), "Rain again. I cannot bear the smell of tar!"),
            (None, "Mara and Tobin are quarrelling over the lamp oil."),
        ]);
        for (line, expected) in [
            ("Mara cannot bear the smell of tar", true),
            ("Tobin cannot bear the smell of tar", true),
            ("Mara and Tobin quarrel over lamp oil", true),
            ("Mara and Tobin are no longer quarrelling over the lamp oil", false),
            ("Mara likes the smell of bread", false),
            ("Rain", false),
        ] {
            assert_eq!(shown.has(line), expected, "{line}");
        }
    }

    #[test]
    fn a_heading_without_a_line_goes() {
        let lines = ["What Mara knows:", "Knows:", "Hides:", "- from Tobin: a letter"];
        let expected = ["What Mara knows:", "Hides:", "- from Tobin: a letter"];
        assert_eq!(without_bare_headings(&lines), expected);
        assert_eq!(without_bare_headings(&["Open threads:"]), [""; 0]);
    }
}
