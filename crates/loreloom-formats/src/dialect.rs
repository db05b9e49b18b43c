//! The dialect that a book asks for.
//!
//! `SillyTavern` runs books of cards as World Info, so being in a card proves nothing. Only
//! decorators that World Info does not know show that a book was written for a program that reads
//! them. Other programs have fields with the same meaning: keys that exclude an entry, a minimum
//! length of the chat, a disabled folder.

use loreloom_core::{
    book::{Book, Entry, Gates},
    dialects::cards::{Chain, Grammar, split},
    library::Dialect,
};

use crate::Format;

/// The decorators that World Info knows too.
const OF_WORLD_INFO: [&str; 2] = ["activate", "dont_activate"];

/// The dialect a book was written in: books of cards with decorators are card books, and so
/// are books whose fields say what World Info does not know; all others are World Info.
pub fn dialect_of(book: &Book) -> Dialect {
    let has_decorators = || is_card_book(book) && book.entries.iter().any(has_decorators);
    // Only World Info knows groups, and an entry too many is worse than one too early.
    let has_groups = || book.entries.iter().any(|entry| !entry.group.names.trim().is_empty());
    let has_terms = || book.entries.iter().any(|entry| has_terms(entry, book));
    if has_decorators() || has_terms() && !has_groups() {
        Dialect::Cards
    } else {
        Dialect::WorldInfo
    }
}

/// Whether an entry's fields say what only card books know.
fn has_terms(entry: &Entry, book: &Book) -> bool {
    let when = &entry.activation;
    let is_off = |folder: &str| book.folders.iter().any(|one| one.id == folder && !one.enabled);
    !when.require.is_empty()
        || !when.exclude_any.is_empty()
        || !when.exclude_all.is_empty()
        || when.gates != Gates::default()
        || when.once.is_some()
        || when.force.is_some()
        || entry.budget.drop_first
        || entry.inject.is_some()
        || entry.copy_of.is_some()
        || entry.rest.folder.as_deref().is_some_and(is_off)
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
    fn fields_that_only_card_books_know_make_one() {
        let novelai = |enabled: bool| {
            format!(
                r#"{{"lorebookVersion":6,"categories":[{{"id":"c","name":"C","enabled":{enabled}}}],
                    "entries":[{{"text":"x","keys":["a"],"category":"c"}}]}}"#
            )
        };
        let janitor = |fields: &str| {
            format!(r#"[{{"keysRaw":"a","key":["a"],"content":"x","insertion_order":1{fields}}}]"#)
        };
        for (file, dialect) in [
            (r#"[{"keys":"a","entry":"x","isNot":true}]"#.to_owned(), Dialect::Cards),
            (r#"[{"keys":"a","entry":"x","isNot":false}]"#.to_owned(), Dialect::WorldInfo),
            (
                r#"{"worldinfo":[{"key":"a","keyanti":"b","selective":true,"content":"x"}]}"#
                    .into(),
                Dialect::Cards,
            ),
            (novelai(false), Dialect::Cards),
            (novelai(true), Dialect::WorldInfo),
            (janitor(r#","minMessages":4"#), Dialect::Cards),
            (janitor(r#","minMessages":4,"inclusionGroupRaw":"g""#), Dialect::WorldInfo),
            (janitor(""), Dialect::WorldInfo),
        ] {
            let book = import(file.as_bytes(), &ImportOptions::new("b")).unwrap().book;
            assert_eq!(dialect_of(&book), dialect, "{file}");
        }
    }
}
