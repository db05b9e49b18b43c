//! The rules of a dialect in words, for people who want to know what a book will do.

use serde::Serialize;

use super::{Dialect, Stages};
use crate::{
    book::Book,
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
            None => messages(info.depth),
        };
        Self {
            dialect,
            title: dialect.title().to_owned(),
            depth,
            matching: matching(info.match_whole_words, info.case_sensitive),
            recursion: recursion(info.recursive, info.max_recursion_steps),
            budget: format!(
                "{} % of the context, for all World Info together",
                info.budget_percent
            ),
            place: "where each entry says".to_owned(),
        }
    }

    fn of_cards(book: &Book, dialect: Dialect, rules: &CardRules) -> Self {
        let depth = book.scan_depth.unwrap_or(rules.scan_depth).min(rules.scan_depth_most);
        let depth = match book.scan_characters {
            Some(characters) if book.scan_depth.is_none() => {
                format!("the newest {characters} characters")
            }
            Some(_) | None => messages(depth),
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
            matching: matching(rules.match_whole_words, rules.case_sensitive),
            recursion: recursion(book.recursive.unwrap_or(rules.recursive), rules.max_passes),
            budget: format!("{budget}{overflow}"),
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
}
