//! The block of decorator lines at the top of an entry's text.
//!
//! A superset of what four programs read; what they read differently is data
//! ([`Grammar`]). The block is split into chains: a decorator and its fallbacks.

use serde::{Deserialize, Serialize};

use super::rules::{Repeats, Vocabulary};

/// How decorators are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is one difference between programs")]
pub struct Grammar {
    /// Whether blank lines may be before the block.
    pub leading_blanks: bool,
    /// Whether blank lines may be inside the block.
    pub inner_blanks: bool,
    /// Whether lines with a third `@` are fallbacks; else they end the block.
    pub fallbacks: bool,
    /// Whether names are compared without case.
    pub any_case: bool,
    /// Whether a tab ends a name too.
    pub tabs: bool,
    /// Which of two decorators of one name counts.
    pub repeats: Repeats,
    /// Which decorators are known.
    pub vocabulary: Vocabulary,
}

impl Default for Grammar {
    fn default() -> Self {
        Self {
            leading_blanks: true,
            inner_blanks: true,
            fallbacks: true,
            any_case: true,
            tabs: true,
            repeats: Repeats::First,
            vocabulary: Vocabulary::Full,
        }
    }
}

impl Grammar {
    /// As the reference library for Character Card V3 reads.
    pub fn card_v3() -> Self {
        Self {
            inner_blanks: false,
            any_case: false,
            tabs: false,
            vocabulary: Vocabulary::CardV3,
            ..Self::default()
        }
    }

    /// As the second lore engine reads.
    pub fn unorouter() -> Self {
        Self {
            leading_blanks: false,
            inner_blanks: false,
            fallbacks: false,
            repeats: Repeats::Last,
            vocabulary: Vocabulary::Unorouter,
            ..Self::default()
        }
    }

    /// As `RisuAI` reads.
    pub fn risu() -> Self {
        Self {
            inner_blanks: false,
            repeats: Repeats::Last,
            vocabulary: Vocabulary::Risu,
            ..Self::default()
        }
    }
}

/// A text split into decorators and the rest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DecoratorBlock<'text> {
    /// The decorators, from the top.
    pub chains: Vec<Chain<'text>>,
    /// Fallbacks without a decorator above them.
    pub orphans: Vec<Line<'text>>,
    /// The rest, without blank lines at its ends.
    pub body: &'text str,
}

/// A decorator and its fallbacks: the first that can be used counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain<'text>(pub Vec<Line<'text>>);

/// One decorator line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line<'text> {
    /// Its name, in lower case where case does not count.
    pub name: String,
    /// What follows the name, trimmed.
    pub argument: &'text str,
    /// The line as written, trimmed.
    pub raw: &'text str,
}

/// Splits decorators from a text.
pub fn split(content: &str, grammar: Grammar) -> DecoratorBlock<'_> {
    let mut block = DecoratorBlock::default();
    let mut rest = content;
    let mut started = false;
    while !rest.is_empty() {
        let may_skip = if started { grammar.inner_blanks } else { grammar.leading_blanks };
        let from = if may_skip { after_blank_lines(rest) } else { rest };
        let (line, after) = first_line(from);
        if !is_decorator(line.trim(), grammar) {
            break;
        }
        started = true;
        block.push(line.trim(), grammar);
        rest = after;
    }
    block.body = without_blank_ends(rest);
    block
}

/// The text behind the blank lines at its beginning. The whole run is passed at once: to
/// look for its end from each of its lines would cost their number squared.
fn after_blank_lines(text: &str) -> &str {
    let mut rest = text;
    loop {
        let (line, after) = first_line(rest);
        if !line.trim().is_empty() || after.is_empty() {
            return rest;
        }
        rest = after;
    }
}

fn is_decorator(line: &str, grammar: Grammar) -> bool {
    line.starts_with("@@") && (grammar.fallbacks || !line.starts_with("@@@"))
}

fn first_line(text: &str) -> (&str, &str) {
    match text.find('\n') {
        Some(end) => (&text[..end], &text[end + 1..]),
        None => (text, ""),
    }
}

/// The text without blank lines at its ends; a line's own blanks stay.
fn without_blank_ends(text: &str) -> &str {
    after_blank_lines(text.trim_end())
}

impl<'text> DecoratorBlock<'text> {
    fn push(&mut self, raw: &'text str, grammar: Grammar) {
        let named = raw.trim_start_matches('@');
        let is_end = |name: &str| grammar.any_case && name.eq_ignore_ascii_case("end");
        let ends_name = |character: char| {
            if grammar.tabs { character.is_whitespace() } else { character == ' ' }
        };
        let (name, argument) = match named.find(ends_name) {
            Some(at) => (&named[..at], named[at..].trim()),
            None => (named, ""),
        };
        let line = Line {
            name: if grammar.any_case { name.to_ascii_lowercase() } else { name.to_owned() },
            argument,
            raw,
        };
        // An old way to write `@@end`.
        let fallback = raw.starts_with("@@@") && !is_end(name) && name != "end";
        match self.chains.last_mut() {
            Some(chain) if fallback => chain.0.push(line),
            None if fallback => self.orphans.push(line),
            Some(_) | None => self.chains.push(Chain(vec![line])),
        }
    }
}

/// An argument as a list: split at commas, except after a backslash and inside `/…/flags`.
/// Blanks around an item and empty items are dropped.
pub fn list(argument: &str) -> Vec<String> {
    let mut items = Vec::new();
    let mut item = String::new();
    let mut in_regex = false;
    let mut characters = argument.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\\' if !in_regex && characters.peek() == Some(&',') => {
                item.push(',');
                characters.next();
            }
            '\\' if in_regex => {
                item.push('\\');
                item.extend(characters.next());
            }
            '/' if in_regex => {
                in_regex = false;
                item.push('/');
            }
            '/' if item.trim().is_empty() && closes(characters.clone()) => {
                in_regex = true;
                item.push('/');
            }
            ',' if !in_regex => items.push(std::mem::take(&mut item)),
            other => item.push(other),
        }
    }
    items.push(item);
    let trimmed = items.into_iter().map(|item| item.trim().to_owned());
    trimmed.filter(|item| !item.is_empty()).collect()
}

/// Whether a slash that is not escaped is still to come.
fn closes(mut rest: impl Iterator<Item = char>) -> bool {
    while let Some(character) = rest.next() {
        match character {
            '\\' => {
                rest.next();
            }
            '/' => return true,
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(content: &str, grammar: Grammar) -> (Vec<Vec<String>>, String) {
        let block = split(content, grammar);
        let chain = |chain: &Chain<'_>| chain.0.iter().map(|line| line.name.clone()).collect();
        (block.chains.iter().map(chain).collect(), block.body.to_owned())
    }

    #[test]
    fn the_block_ends_where_each_program_ends_it() {
        let own = Grammar::default();
        let (v3, uno) = (Grammar::card_v3(), Grammar::unorouter());
        for (content, grammar, chains, body) in [
            ("@@a\ntext", own, vec![vec!["a"]], "text"),
            ("\n \n@@a 1\r\n@@b\r\n\r\ntext\r\n", own, vec![vec!["a"], vec!["b"]], "text"),
            ("@@a\n\n@@b\ntext", own, vec![vec!["a"], vec!["b"]], "text"),
            ("@@a\n\n@@b\ntext", v3, vec![vec!["a"]], "@@b\ntext"),
            ("\n@@a\ntext", uno, vec![], "@@a\ntext"),
            ("@@a\n@@@b\ntext", uno, vec![vec!["a"]], "@@@b\ntext"),
            ("@@a\n@@@b\n@@@@c\n@@d\nx", own, vec![vec!["a", "b", "c"], vec!["d"]], "x"),
            ("@@@a\n@@b\nx", own, vec![vec!["b"]], "x"),
            ("@@a\n@@@end\nx", own, vec![vec!["a"], vec!["end"]], "x"),
            ("  @@A\tone\n  two\n@@c", own, vec![vec!["a"]], "  two\n@@c"),
            ("@@A\tone\nx", v3, vec![vec!["A\tone"]], "x"),
            ("@@a", own, vec![vec!["a"]], ""),
            ("", own, vec![], ""),
            ("\n\n", own, vec![], ""),
            ("\n \n  one\n@@b", own, vec![], "  one\n@@b"),
            ("@@a\n\n \n@@@b\n\n\nx", own, vec![vec!["a", "b"]], "x"),
        ] {
            let chains: Vec<Vec<String>> = chains
                .iter()
                .map(|chain| chain.iter().map(ToString::to_string).collect())
                .collect();
            assert_eq!(names(content, grammar), (chains, body.to_owned()), "{content:?}");
        }
    }

    /// Not that it is quick: no test measures time. But squared, this would not end.
    #[test]
    fn a_long_run_of_blank_lines_is_passed_once() {
        let blanks = "\n".repeat(1_000_000);
        let content = format!("{blanks}@@a{blanks}@@b{blanks}text{blanks}");
        let expected = (vec![vec!["a".to_owned()], vec!["b".to_owned()]], "text".to_owned());
        assert_eq!(names(&content, Grammar::default()), expected);
    }

    #[test]
    fn lists_keep_escaped_commas_and_patterns_whole() {
        for (argument, expected) in [
            ("a, b ,,c", vec!["a", "b", "c"]),
            ("a\\, b, c", vec!["a, b", "c"]),
            ("/x{1,2}/i, y", vec!["/x{1,2}/i", "y"]),
            ("/a\\/,b/, c", vec!["/a\\/,b/", "c"]),
            ("/unclosed, b", vec!["/unclosed", "b"]),
            ("", vec![]),
        ] {
            assert_eq!(list(argument), expected, "{argument}");
        }
    }
}
