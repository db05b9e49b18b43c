//! Reading tagged lines such as `[fact:3:permanent:entity=Mara/character] Mara keeps bees.`
//!
//! Models wrap such lines in chatter and vary their tags, so everything that is not a line
//! with a known tag is passed over, and a modifier that makes no sense falls back to its
//! default. A line that cannot be read never costs the others.

use std::sync::LazyLock;

use regex::Regex;

use crate::{
    pass::is_none,
    record::{Expiration, Kind},
    text::{pattern, reply_lines},
};

static LINE: LazyLock<Regex> = LazyLock::new(|| pattern(r"^\[(\p{L}+)([^\]]*)\]\s*(.+)$"));
static SCORE: LazyLock<Regex> = LazyLock::new(|| pattern(r":\s*([1-3])(?:\D|$)"));
static EXPIRY: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?i):\s*(scene|session|permanent)\b"));
static ENTITIES: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?i)\bentit(?:y|ies)\s*=([^:]*)"));

/// A memory that a model proposes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// What it is about.
    pub kind: Kind,
    /// The statement.
    pub content: String,
    /// 1 to 3.
    pub importance: u8,
    /// How long it is worth keeping.
    pub expiration: Expiration,
    /// Names it was tagged with, as `Name` or `Name/kind`.
    pub entities: Vec<String>,
}

/// Reads all lines of these kinds whose statement has more than `shortest` characters.
pub fn parse_lines(
    reply: &str,
    kinds: &[Kind],
    shortest: usize,
    usual: Expiration,
) -> Vec<Candidate> {
    if is_none(reply) {
        return Vec::new();
    }
    reply_lines(reply).filter_map(|line| parse_line(line, kinds, shortest, usual)).collect()
}

fn parse_line(line: &str, kinds: &[Kind], shortest: usize, usual: Expiration) -> Option<Candidate> {
    let parts = LINE.captures(line)?;
    let tag = parts[1].to_lowercase();
    let kind = *kinds.iter().find(|kind| tag.starts_with(kind.as_str()))?;
    let content = parts[3].trim();
    if content.chars().count() <= shortest {
        return None;
    }
    let modifiers = &parts[2];
    let importance = SCORE.captures(modifiers).and_then(|score| score[1].parse().ok()).unwrap_or(2);
    let expiration = EXPIRY.captures(modifiers).map_or(usual, |expiry| {
        match expiry[1].to_lowercase().as_str() {
            "scene" => Expiration::Scene,
            "session" => Expiration::Session,
            _ => Expiration::Permanent,
        }
    });
    let entities = ENTITIES.captures(modifiers).map_or_else(Vec::new, |list| {
        list[1]
            .split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect()
    });
    Some(Candidate { kind, content: content.to_owned(), importance, expiration, entities })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modifiers_come_in_any_order_and_bad_ones_fall_back() {
        let parse = |line: &str| {
            parse_lines(line, &Kind::LONG_TERM, 5, Expiration::Permanent)
                .into_iter()
                .map(|found| {
                    (found.kind, found.importance, found.expiration, found.entities.join("+"))
                })
                .collect::<Vec<_>>()
        };
        let one = |kind, importance, expiration, names: &str| {
            vec![(kind, importance, expiration, names.to_owned())]
        };
        for (line, expected) in [
            (
                "[relationship:entity=Odo:session:1] Odo owes her.",
                one(Kind::Relationship, 1, Expiration::Session, "Odo"),
            ),
            ("[FACT : 3 : Session] Tides are kept.", one(Kind::Fact, 3, Expiration::Session, "")),
            ("[factual] A prefix passes.", one(Kind::Fact, 2, Expiration::Permanent, "")),
            ("[fact:12:forever] Twelve teeth.", one(Kind::Fact, 2, Expiration::Permanent, "")),
            (
                "[fact:2:entity= Mara , ,Odo/character ] They share.",
                one(Kind::Fact, 2, Expiration::Permanent, "Mara+Odo/character"),
            ),
            ("[ fact] A blank before the tag.", vec![]),
            ("- [fact] A bullet.", vec![]),
            ("[fact] brave", vec![]),
            (" None. ", vec![]),
        ] {
            assert_eq!(parse(line), expected, "{line}");
        }
    }
}
