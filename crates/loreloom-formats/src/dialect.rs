//! How a book is meant to be read, told by the book itself.
//!
//! `SillyTavern` runs the books of cards as World Info, so that being the book of a card
//! tells nothing: only decorators that World Info does not know show that a book was
//! written for a program that reads them.

use loreloom_core::{
    book::{Book, Entry},
    cards::{Chain, Grammar, split},
    library::Dialect,
};

use crate::Format;

/// The decorators that World Info knows too.
const OF_WORLD_INFO: [&str; 2] = ["activate", "dont_activate"];

/// The dialect a book was written in: books of cards with decorators are card books, all
/// others World Info.
pub fn dialect_of(book: &Book) -> Dialect {
    if is_card_book(book) && book.entries.iter().any(has_decorators) {
        Dialect::Cards
    } else {
        Dialect::WorldInfo
    }
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
}
