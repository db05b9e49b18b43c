//! Reads tagged lines such as `[fact:3:permanent:entity=Mara/character] Mara keeps bees.`
//!
//! Models surround such lines with other text and vary their tags. So lines without a known tag are
//! skipped, and an unknown modifier gets its default.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::consolidation::Tier;
use crate::{
    record::{Expiration, MemoryKind},
    reply::{is_none, plain_lines},
    rules::Rules,
    text::{LINE_ENDS, pattern, units},
};

/// A tag at the start of a line, and a statement after it or on the next line. The tag may be
/// longer than the name of its kind, and may contain a line break.
fn tagged(kinds: &[MemoryKind]) -> Regex {
    let kinds: Vec<&str> = kinds.iter().map(|kind| kind.as_str()).collect();
    let kinds = kinds.join("|");
    pattern(&format!(r"(?im)^\[({kinds})([^\]]*)\](\s*)(.+)$"))
}

static LONG_TERM: LazyLock<Regex> = LazyLock::new(|| tagged(&MemoryKind::LONG_TERM));
static SESSION: LazyLock<Regex> = LazyLock::new(|| tagged(&MemoryKind::SESSION));
static SCORE: LazyLock<Regex> = LazyLock::new(|| pattern(r":\s*([1-3])\b"));
static EXPIRY: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?i):\s*(scene|session|permanent)\b"));
static ENTITY: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?i)entity=([^:\[\]]*)"));
static REPLACES: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?i)replaces?\s*=\s*#?(\d+)"));
static ENTITIES: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?i)entit(?:y|ies)\s*=([^:\[\]]*)"));

/// A memory that a model proposes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryCandidate {
    /// What it is about.
    pub kind: MemoryKind,
    /// The statement.
    pub content: String,
    /// 1 to 3.
    pub importance: u8,
    /// How long it lasts.
    pub expiration: Expiration,
    /// Names in its tag, as `Name` or `Name/kind`.
    pub entities: Vec<String>,
    /// The number of the known note that it replaces, from 1.
    pub replaces: Option<usize>,
}

/// Reads all lines of a tier's kinds whose statement is long enough.
pub fn parse_lines(reply: &str, tier: Tier, rules: &Rules) -> Vec<MemoryCandidate> {
    if is_none(reply, rules.text) {
        return Vec::new();
    }
    let line = match tier {
        Tier::LongTerm => &LONG_TERM,
        Tier::Session => &SESSION,
    };
    let mut found = Vec::new();
    for_each_tagged(reply, line, rules, |parts| found.extend(candidate(parts, tier, rules)));
    found
}

/// The lines of a reply; `None` if it has none.
pub(super) fn read_lines(reply: &str, tier: Tier, rules: &Rules) -> Option<Vec<MemoryCandidate>> {
    Some(parse_lines(reply, tier, rules)).filter(|lines| !lines.is_empty())
}

/// Calls `take` for each tagged line of a reply. The last two groups of `line` are the space
/// after the tag and the statement.
pub(super) fn for_each_tagged(
    reply: &str,
    line: &Regex,
    rules: &Rules,
    mut take: impl FnMut(&Captures<'_>),
) {
    let reply = plain_lines(reply, rules.text).replace("\r\n", "\n").replace(LINE_ENDS, "\n");
    let mut from = 0;
    while let Some(parts) = line.captures_at(&reply, from) {
        from = parts.get_match().end();
        let (space, statement) = (&parts[parts.len() - 2], &parts[parts.len() - 1]);
        // A tag without a statement must not swallow the line after it.
        if rules.text.is_tolerant() && space.contains('\n') && statement.starts_with('[') {
            from -= statement.len();
        } else {
            take(&parts);
        }
    }
}

fn candidate(parts: &Captures<'_>, tier: Tier, rules: &Rules) -> Option<MemoryCandidate> {
    let kind = *tier.kinds().iter().find(|kind| kind.as_str().eq_ignore_ascii_case(&parts[1]))?;
    let (modifiers, mut content) = (&parts[2], parts[4].trim());
    let is_tolerant = rules.text.is_tolerant();
    if kind == MemoryKind::Private && !is_tolerant {
        return None;
    }
    if is_tolerant {
        // `[fact]: Mara …`, `[fact] - Mara …`
        content = content.trim_start_matches([':', '-', '–', '—', ' ']);
    }
    if units(content) <= tier.shortest() {
        return None;
    }
    let importance = SCORE.captures(modifiers).and_then(|score| score[1].parse().ok()).unwrap_or(2);
    let expiration = EXPIRY.captures(modifiers).map_or(tier.usual().0, |expiry| {
        match expiry[1].to_lowercase().as_str() {
            "scene" => Expiration::Scene,
            "session" => Expiration::Session,
            _ => Expiration::Permanent,
        }
    });
    let names = rules.text.choose(&ENTITIES, &ENTITY);
    let entities = names.captures(modifiers).map_or_else(Vec::new, |list| {
        list[1]
            .split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect()
    });
    let replaces = REPLACES.captures(modifiers).filter(|_| is_tolerant);
    let replaces = replaces.and_then(|number| number[1].parse().ok());
    let content = content.to_owned();
    Some(MemoryCandidate { kind, content, importance, expiration, entities, replaces })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modifiers_come_in_any_order_and_bad_ones_fall_back() {
        let parse = |line: &str| {
            parse_lines(line, Tier::LongTerm, &Rules::default())
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
                one(MemoryKind::Relationship, 1, Expiration::Session, "Odo"),
            ),
            (
                "[FACT : 3 : Session] Tides are kept.",
                one(MemoryKind::Fact, 3, Expiration::Session, ""),
            ),
            ("[factual] A prefix passes.", one(MemoryKind::Fact, 2, Expiration::Permanent, "")),
            (
                "[fact:12:forever] Twelve teeth.",
                one(MemoryKind::Fact, 2, Expiration::Permanent, ""),
            ),
            (
                "[fact:2:entity= Mara , ,Odo/character ] They share.",
                one(MemoryKind::Fact, 2, Expiration::Permanent, "Mara+Odo/character"),
            ),
            ("[ fact] A blank before the tag.", vec![]),
            ("- [fact] A bullet.", one(MemoryKind::Fact, 2, Expiration::Permanent, "")),
            ("**[fact:3]**: A colon.", one(MemoryKind::Fact, 3, Expiration::Permanent, "")),
            ("[fact] brave", vec![]),
            (" None. ", vec![]),
        ] {
            assert_eq!(parse(line), expected, "{line}");
        }
    }

    #[test]
    fn a_strict_reader_wants_the_form_and_a_tolerant_one_what_is_meant() {
        let read = |reply: &str, rules: &Rules| {
            let found = parse_lines(reply, Tier::LongTerm, rules);
            let line = |new: &MemoryCandidate| {
                format!("{}{} {}{:?}", new.kind.as_str(), new.importance, new.content, new.entities)
            };
            found.iter().map(line).collect::<Vec<_>>().join("; ")
        };
        let (ours, theirs) = (Rules::default(), Rules::smart_memory_1_8());
        let pier = "They met at pier";
        for (reply, tolerant, strict) in [
            ("[fact:3]\nNext line here", "fact3 Next line here[]", "fact3 Next line here[]"),
            ("[fact:\n3] They met", "fact3 They met[]", "fact3 They met[]"),
            (
                "[fact] They met\u{2028}[event] later on",
                "fact2 They met[]; event2 later on[]",
                "fact2 They met[]; event2 later on[]",
            ),
            ("[fact:3x] They met", "fact2 They met[]", "fact2 They met[]"),
            ("[fact:3_] They met", "fact2 They met[]", "fact2 They met[]"),
            (
                "[fact] \u{1F600}\u{1F600}\u{1F600}",
                "fact2 \u{1F600}\u{1F600}\u{1F600}[]",
                "fact2 \u{1F600}\u{1F600}\u{1F600}[]",
            ),
            (
                "[fact:entity=Mara [x]] odd bracket",
                r#"fact2 ] odd bracket["Mara"]"#,
                r#"fact2 ] odd bracket["Mara"]"#,
            ),
            (
                &format!("[fact:myentity=Mara] {pier}"),
                r#"fact2 They met at pier["Mara"]"#,
                r#"fact2 They met at pier["Mara"]"#,
            ),
            (
                &format!("[fact:entities = Mara] {pier}"),
                r#"fact2 They met at pier["Mara"]"#,
                "fact2 They met at pier[]",
            ),
            ("  [fact] indented line", "fact2 indented line[]", ""),
            ("[fact]\n[event] Second line", "event2 Second line[]", "fact2 [event] Second line[]"),
            ("[note]\n[event] Second line", "event2 Second line[]", "event2 Second line[]"),
        ] {
            assert_eq!(read(reply, &ours), tolerant, "{reply}");
            assert_eq!(read(reply, &theirs), strict, "{reply}");
        }
    }
}
