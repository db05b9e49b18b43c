//! The rules of a dialect in words, for people who want to know what a book will do.

use serde::Serialize;

use super::{Dialect, Stages};
use crate::{
    book::{Book, Entry},
    dialects::cards::{CardRules, Overflow},
    rules::Rules,
};

/// What a book runs by, in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct BookRules {
    /// The dialect.
    pub dialect: Dialect,
    /// The program or document whose rules these are.
    pub title: String,
    /// How far back keys are looked for.
    pub depth: String,
    /// What a key matches.
    pub matching: String,
    /// Whether the texts of entries activate others.
    pub recursion: String,
    /// What its entries may use.
    pub budget: String,
    /// Where its entries go.
    pub place: String,
}

impl BookRules {
    /// What a book runs by in a dialect.
    pub fn of(book: &Book, dialect: Dialect, rules: &Rules) -> Self {
        match dialect.stages() {
            Stages::WorldInfo => Self::of_world_info(book, dialect, rules),
            Stages::Cards => Self::of_cards(book, dialect, &dialect.card_rules(&rules.cards)),
        }
    }

    /// One line.
    pub fn line(&self) -> String {
        let Self { title, depth, matching, recursion, budget, .. } = self;
        format!("{title}: {depth}; {matching}; {recursion}; {budget}")
    }

    fn of_world_info(book: &Book, dialect: Dialect, rules: &Rules) -> Self {
        let info = &rules.world_info;
        let depth = match book.scan_characters {
            Some(characters) => format!("the newest {characters} characters"),
            None => own_characters(book).unwrap_or_else(|| messages(info.depth)),
        };
        let says = |value: fn(&Entry) -> Option<bool>, otherwise: bool| {
            same(book.entries.iter().map(value)).flatten().unwrap_or(otherwise)
        };
        let whole_words = says(|entry| entry.activation.whole_words, info.match_whole_words);
        let case_counts = says(|entry| entry.activation.case_sensitive, info.case_sensitive);
        Self {
            dialect,
            title: dialect.title().to_owned(),
            depth,
            matching: matching(whole_words, case_counts),
            recursion: own_recursion(book)
                .unwrap_or_else(|| recursion(info.recursive, info.max_recursion_steps)),
            budget: format!(
                "{} % of the context, for all World Info together",
                info.budget_percent
            ),
            place: "where each entry says".to_owned(),
        }
    }

    fn of_cards(book: &Book, dialect: Dialect, rules: &CardRules) -> Self {
        let depth = book.scan_depth.unwrap_or(rules.scan_depth).min(rules.scan_depth_most);
        let is_assumed = |rule: AssumedRule| assumed_rules(dialect).contains(&rule);
        let depth = match book.scan_characters {
            Some(characters) if book.scan_depth.is_none() => {
                format!("the newest {characters} characters")
            }
            Some(_) | None => {
                marked(messages(depth), is_assumed(AssumedRule::Depth) && book.scan_depth.is_none())
            }
        };
        let budget = match (book.token_budget, rules.budget_percent) {
            (None, percent) if percent > 0 => format!("{percent} % of the context"),
            (own, _) => {
                let tokens = own.unwrap_or(rules.budget).min(rules.budget_most);
                format!("{} tokens", tokens.max(rules.budget_floor))
            }
        };
        let overflow = match rules.overflow {
            Overflow::Skip => "",
            Overflow::Strict => ", nothing after the first entry that does not fit",
        };
        Self {
            dialect,
            title: dialect.title().to_owned(),
            depth,
            matching: marked(
                matching(rules.match_whole_words, rules.case_sensitive),
                is_assumed(AssumedRule::Matching),
            ),
            recursion: marked(
                recursion(book.recursive.unwrap_or(rules.recursive), rules.max_passes),
                is_assumed(AssumedRule::Recursion) && book.recursive.is_none(),
            ),
            budget: marked(
                format!("{budget}{overflow}"),
                is_assumed(AssumedRule::Budget) && book.token_budget.is_none(),
            ),
            place: match rules.unplaced_depth {
                Some(depth) => format!("{depth} messages from the end of the chat"),
                None if rules.positions => {
                    format!("where each entry says, else the slot `{}`", rules.slot)
                }
                None => format!("the slot `{}`", rules.slot),
            },
        }
    }
}

/// A rule that a program may not publish.
#[derive(PartialEq, Eq)]
enum AssumedRule {
    Depth,
    Matching,
    Recursion,
    Budget,
}

/// Which rules of a program nobody published, so that we assume them. What a book says itself is
/// never assumed. `docs/design/054-source-rules.md` has the reasons.
fn assumed_rules(dialect: Dialect) -> &'static [AssumedRule] {
    match dialect {
        Dialect::AiDungeon => &[AssumedRule::Depth],
        Dialect::Chub => &[AssumedRule::Depth, AssumedRule::Budget],
        Dialect::Janitor => &[AssumedRule::Matching, AssumedRule::Recursion, AssumedRule::Budget],
        Dialect::Backyard => &[AssumedRule::Matching],
        Dialect::WorldInfo
        | Dialect::Cards
        | Dialect::CardV3
        | Dialect::Seed002
        | Dialect::Unorouter
        | Dialect::Risu
        | Dialect::Kobold
        | Dialect::Agnai => &[],
    }
}

/// A rule in words, with a mark if it is only assumed.
fn marked(words: String, is_assumed: bool) -> String {
    if is_assumed { format!("{words} (assumed)") } else { words }
}

/// The value that all have; `None` if they differ or there are none.
fn same<T: PartialEq>(mut values: impl Iterator<Item = T>) -> Option<T> {
    let first = values.next()?;
    values.all(|value| value == first).then_some(first)
}

/// How far back the entries look, if each of them says it in characters, as those of `NovelAI` do.
fn own_characters(book: &Book) -> Option<String> {
    let counts = book.entries.iter().map(|entry| entry.activation.scan.characters);
    let counts: Vec<u32> = counts.collect::<Option<_>>()?;
    let (least, most) = (counts.iter().min()?, counts.iter().max()?);
    Some(if least == most {
        format!("the newest {most} characters")
    } else {
        format!("the newest {least} to {most} characters, as each entry says")
    })
}

/// Whether texts activate others, if each entry says for itself whether it looks into them.
fn own_recursion(book: &Book) -> Option<String> {
    let looks = book.entries.iter().map(|entry| entry.recursion.scan_lore);
    let looks: Vec<bool> = looks.collect::<Option<_>>()?;
    Some(match (looks.contains(&true), looks.contains(&false)) {
        (true, true) => "recursion for the entries that ask for it".to_owned(),
        (false, true) => recursion(false, 0),
        (true, false) => recursion(true, 0),
        (false, false) => return None,
    })
}

fn messages(depth: u32) -> String {
    match depth {
        0 => "no messages".to_owned(),
        1 => "the newest message".to_owned(),
        u32::MAX => "the whole chat".to_owned(),
        depth => format!("the newest {depth} messages"),
    }
}

fn matching(whole_words: bool, case_counts: bool) -> String {
    let words = if whole_words { "whole words" } else { "parts of words" };
    let case = if case_counts { "with case" } else { "without case" };
    format!("{words}, {case}")
}

fn recursion(on: bool, passes: u32) -> String {
    match (on, passes) {
        (false, _) => "no recursion".to_owned(),
        (true, 0) => "recursion until nothing new is found".to_owned(),
        (true, passes) => format!("recursion, at most {passes} passes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_said_in_one_line() {
        let mut book = Book::new("b", "B");
        let rules = Rules::default();
        let line = |book: &Book, dialect| BookRules::of(book, dialect, &rules).line();
        assert_eq!(
            line(&book, Dialect::Risu),
            "RisuAI: the newest 5 messages; parts of words, without case; recursion until nothing \
             new is found; 800 tokens"
        );
        assert_eq!(
            line(&book, Dialect::Kobold),
            "KoboldAI Lite: the whole chat; parts of words, without case; no recursion; 50 % of \
             the context"
        );
        book.scan_depth = Some(1);
        book.token_budget = Some(64);
        book.recursive = Some(true);
        assert_eq!(
            line(&book, Dialect::Seed002),
            "the written rules of lorebooks: the newest message; parts of words, without case; \
             recursion, at most 3 passes; 100 tokens"
        );
    }

    #[test]
    fn what_no_program_publishes_is_marked_as_assumed() {
        let rules = Rules::default();
        let mut book = Book::new("b", "B");
        for (dialect, expected) in [
            (
                Dialect::AiDungeon,
                "AI Dungeon: the whole chat (assumed); parts of words, without case; no \
                 recursion; 25 % of the context",
            ),
            (
                Dialect::Chub,
                "Chub: the newest 2 messages (assumed); whole words, without case; no recursion; \
                 1500 tokens (assumed)",
            ),
            (
                Dialect::Janitor,
                "JanitorAI: the newest 3 messages; parts of words, without case (assumed); no \
                 recursion (assumed); 1500 tokens (assumed)",
            ),
            (
                Dialect::Backyard,
                "Backyard AI: the newest 4 messages; parts of words, without case (assumed); no \
                 recursion; 384 tokens, nothing after the first entry that does not fit",
            ),
        ] {
            assert_eq!(BookRules::of(&book, dialect, &rules).line(), expected);
        }
        book.scan_depth = Some(6);
        book.token_budget = Some(700);
        book.recursive = Some(true);
        assert_eq!(
            BookRules::of(&book, Dialect::Chub, &rules).line(),
            "Chub: the newest 6 messages; whole words, without case; recursion, at most 3 \
             passes; 700 tokens"
        );
    }

    #[test]
    fn what_every_entry_says_itself_is_said_of_the_book() {
        let rules = Rules::default();
        let entry = |id: &str, characters: u32, looks: bool| {
            let mut entry = Entry::new(id);
            entry.activation.scan.characters = Some(characters);
            entry.activation.whole_words = Some(false);
            entry.recursion.scan_lore = Some(looks);
            entry
        };
        let mut book = Book::new("b", "B");
        for (entries, expected) in [
            (
                vec![entry("0", 1000, false)],
                "the newest 1000 characters; parts of words, without case; no recursion",
            ),
            (
                vec![entry("0", 1000, false), entry("1", 50, true)],
                "the newest 50 to 1000 characters, as each entry says; parts of words, without \
                 case; recursion for the entries that ask for it",
            ),
            (
                vec![entry("0", 1000, false), Entry::new("1")],
                "the newest 2 messages; whole words, without case; recursion until nothing new is \
                 found",
            ),
        ] {
            book.entries = entries;
            let line = BookRules::of(&book, Dialect::WorldInfo, &rules).line();
            let budget = "25 % of the context, for all World Info together";
            assert_eq!(line, format!("SillyTavern's World Info: {expected}; {budget}"));
        }
    }
}
