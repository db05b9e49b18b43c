//! The dialect that a book asks for: the rules of the program it comes from.
//!
//! The format names the program. Cards are written by many programs; if the file does not say
//! which one wrote it, its book runs as World Info, as in `SillyTavern`. Decorators that World
//! Info does not know, and fields with the same meaning, show that a book was written for a
//! program that reads them.

use loreloom_core::{
    book::{Book, Entry, Gates},
    dialects::cards::{Chain, Grammar, split},
    library::Dialect,
};

use crate::{Format, program};

/// The decorators that World Info knows too.
const OF_WORLD_INFO: [&str; 2] = ["activate", "dont_activate"];

/// The dialect of a book: that of its source, if the file says what that is.
pub fn dialect_of(book: &Book) -> Dialect {
    let origin = book.origin.as_ref();
    let format = origin.and_then(|origin| Format::from_name(&origin.format));
    // Only World Info knows groups, and an entry too many is worse than one too early.
    let has_groups = book.entries.iter().any(|entry| !entry.group.names.trim().is_empty());
    let of_format = match format {
        Some(Format::Risu | Format::RisuModule | Format::RisuModuleJson) => Some(Dialect::Risu),
        Some(Format::KoboldLite | Format::KoboldUnited) => Some(Dialect::Kobold),
        Some(Format::Aidungeon | Format::AidungeonScenario) => Some(Dialect::AiDungeon),
        Some(Format::Agnai) => Some(Dialect::Agnai),
        Some(Format::Janitor) if !has_groups => Some(Dialect::Janitor),
        Some(Format::Seed002) => Some(Dialect::Seed002),
        Some(Format::Byaf | Format::ByafCharacter) => Some(Dialect::Backyard),
        Some(Format::Novelai | Format::NovelaiPng) => Some(Dialect::WorldInfo),
        Some(_) | None => None,
    };
    let of_program = || match origin?.program.as_deref()? {
        program::RISU => Some(Dialect::Risu),
        program::CHUB if !has_groups => Some(Dialect::Chub),
        _ => None,
    };
    let is_decorated = || is_card_book(book) && book.entries.iter().any(has_decorators);
    let has_terms = || book.entries.iter().any(|entry| has_terms(entry, book));
    let of_content = || {
        let is_card = is_decorated() || has_terms() && !has_groups;
        if is_card { Dialect::Cards } else { Dialect::WorldInfo }
    };
    of_format.or_else(of_program).unwrap_or_else(of_content)
}

/// Whether an entry's fields say what only card books know.
fn has_terms(entry: &Entry, book: &Book) -> bool {
    let when = &entry.activation;
    !when.require.is_empty()
        || !when.exclude_any.is_empty()
        || !when.exclude_all.is_empty()
        || *when.gates != Gates::default()
        || when.once.is_some()
        || when.force.is_some()
        || entry.budget.drop_first
        || entry.inject.is_some()
        || entry.copy_of.is_some()
        || book.disables(entry)
}

/// Whether a book is of a kind whose programs read decorators.
fn is_card_book(book: &Book) -> bool {
    let format = book.origin.as_ref().and_then(|origin| Format::from_name(&origin.format));
    format.is_some_and(|format| {
        let risu = [Format::Risu, Format::RisuModule, Format::RisuModuleJson];
        let books = [Format::CharacterBook, Format::LorebookV3];
        format.card().is_some() || risu.contains(&format) || books.contains(&format)
    })
}

fn has_decorators(entry: &Entry) -> bool {
    let block = split(&entry.content, Grammar::default());
    let mut lines = block.chains.iter().flat_map(|Chain(lines)| lines);
    lines.any(|line| !OF_WORLD_INFO.contains(&line.name.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ImportOptions, import};

    #[test]
    fn only_books_of_cards_with_decorators_are_card_books() {
        let card = |content: &str| {
            format!(
                r#"{{"spec":"lorebook_v3","data":{{"entries":[{{"keys":["a"],"content":{content:?},
                    "enabled":true,"insertion_order":1,"extensions":{{}}}}],"extensions":{{}}}}}}"#
            )
        };
        let world = r#"{"entries":{"0":{"uid":0,"key":["a"],"content":"@@depth 2\nText"}}}"#;
        for (file, dialect) in [
            (card("@@depth 2\nText"), Dialect::Cards),
            (card("@@unheard_of\n@@@depth 2\nText"), Dialect::Cards),
            (card("@@activate\nText"), Dialect::WorldInfo),
            (card("Text\n@@depth 2"), Dialect::WorldInfo),
            (world.to_owned(), Dialect::WorldInfo),
        ] {
            let book = import(file.as_bytes(), &ImportOptions::new("b")).unwrap().book;
            assert_eq!(dialect_of(&book), dialect, "{file}");
        }
    }

    #[test]
    fn a_book_runs_by_the_rules_of_its_source() {
        let novelai = |enabled: bool| {
            format!(
                r#"{{"lorebookVersion":6,"categories":[{{"id":"c","name":"C","enabled":{enabled}}}],
                    "entries":[{{"text":"x","keys":["a"],"category":"c"}}]}}"#
            )
        };
        let card = |program: &str| {
            format!(
                r#"{{"spec":"chara_card_v2","data":{{"name":"A","extensions":{{"{program}":{{}}}},
                    "character_book":{{"entries":[{{"keys":["a"],"content":"x"}}]}}}}}}"#
            )
        };
        let janitor = |fields: &str| {
            format!(r#"[{{"keysRaw":"a","key":["a"],"content":"x","insertion_order":1{fields}}}]"#)
        };
        for (file, dialect) in [
            (r#"[{"keys":"a","entry":"x","isNot":true}]"#.to_owned(), Dialect::AiDungeon),
            (r#"[{"keys":"a","entry":"x","isNot":false}]"#.to_owned(), Dialect::AiDungeon),
            (
                r#"{"worldinfo":[{"key":"a","keyanti":"b","selective":true,"content":"x"}]}"#
                    .into(),
                Dialect::Kobold,
            ),
            (r#"{"worldinfo":[{"key":"a","content":"x"}]}"#.into(), Dialect::Kobold),
            (novelai(false), Dialect::WorldInfo),
            (novelai(true), Dialect::WorldInfo),
            (janitor(r#","minMessages":4"#), Dialect::Janitor),
            (janitor(r#","minMessages":4,"inclusionGroupRaw":"g""#), Dialect::WorldInfo),
            (janitor(""), Dialect::Janitor),
            (r#"{"kind":"memory","entries":[]}"#.to_owned(), Dialect::Agnai),
            (r#"{"type":"risu","data":[]}"#.to_owned(), Dialect::Risu),
            (r#"{"loreItems":[{"key":"a","value":"x"}]}"#.to_owned(), Dialect::Backyard),
            (card("risuai"), Dialect::Risu),
            (card("chub"), Dialect::Chub),
            (card("other"), Dialect::WorldInfo),
            (
                r#"{"name":"H","scan_depth":2,"token_budget":500,"recursive_scanning":false,
                    "extensions":{"chub":{"id":0,"full_path":"","related_lorebooks":[]}},
                    "entries":{"1":{"uid":1,"id":1,"key":["a"],"keys":["a"],"content":"x"}}}"#
                    .to_owned(),
                Dialect::Chub,
            ),
        ] {
            let book = import(file.as_bytes(), &ImportOptions::new("b")).unwrap().book;
            assert_eq!(dialect_of(&book), dialect, "{file}");
        }
    }
}
