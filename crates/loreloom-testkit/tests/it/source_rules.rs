//! The engine beside plain restatements of other programs' rules, over many random books.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test whose surroundings cannot be set up has failed"
)]

use std::sync::Arc;

use loreloom_core::{
    book::Book,
    chat::{Message, Role},
    library::{Dialect, LibrarySource, Volume},
    place::Provenance,
    rules::Rules,
    story::Engine,
    tokens::TokenCounter,
    units::Tokens,
};
use loreloom_formats::{ImportOptions, dialect_of, import};
use loreloom_testkit::source_rules::{
    kobold::{KoboldRow, used_rows},
    risu::{RisuDecorator, RisuRow, RisuSettings, active_rows},
};
use serde_json::{Value, json};

const BOOKS: u64 = 3000;
const WORDS: [&str; 12] = [
    "dragon", "Dragons", "sea", "seaside", "side", "red", "fox", "red fox", "RED", "tower.", "of",
    "x",
];

/// Counts words, as budgets of the tests do.
struct Words;

impl TokenCounter for Words {
    fn name(&self) -> &'static str {
        "words"
    }

    fn count(&self, text: &str) -> Tokens {
        Tokens(u32::try_from(count_words(text)).unwrap_or(u32::MAX))
    }
}

fn count_words(text: &str) -> usize {
    text.split_whitespace().count()
}

/// Random numbers, the same in each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        usize::try_from(self.0 >> 33).unwrap_or(0) % limit
    }

    fn one_in(&mut self, chances: usize) -> bool {
        self.below(chances) == 0
    }

    fn word(&mut self) -> &'static str {
        WORDS[self.below(WORDS.len())]
    }

    fn text(&mut self, most: usize) -> String {
        let words: Vec<&str> = (0..=self.below(most)).map(|_| self.word()).collect();
        words.join(" ")
    }

    fn keys(&mut self) -> Vec<String> {
        (0..=self.below(2)).map(|_| self.word().to_owned()).collect()
    }
}

/// The places of the entries that the engine sends, in the order of the prompt.
fn woven(file: &Value, settings: impl Fn(&mut Book), chat: &[String]) -> (Dialect, Vec<usize>) {
    let imported = import(file.to_string().as_bytes(), &ImportOptions::new("b")).unwrap();
    let mut book = imported.book;
    settings(&mut book);
    let dialect = dialect_of(&book);
    let ids: Vec<_> = book.entries.iter().map(|entry| entry.id.clone()).collect();
    let volumes = vec![Volume { book: Arc::new(book), dialect }];
    let source = LibrarySource { volumes, notes: Vec::new(), rules: Rules::default() };
    let engine = Engine::from_source(&source).with_counter(Words);
    let mut story = engine.story("chat");
    for (at, text) in chat.iter().enumerate() {
        let role = if at % 2 == 0 { Role::User } else { Role::Assistant };
        story.say(Message::new(role, None, text.clone()));
    }
    let turn = story.weave();
    let sent = turn.injections().iter().map(|injection| match &injection.source {
        Provenance::Lore { entry, .. } => ids.iter().position(|id| id == entry).unwrap(),
        other @ (Provenance::AuthorsNote | Provenance::Memory(_)) => panic!("no lore: {other:?}"),
    });
    (dialect, sent.collect())
}

fn risu_row(numbers: &mut Numbers, recursive: bool) -> RisuRow {
    let mut decorators = Vec::new();
    if numbers.one_in(4) {
        decorators.push(RisuDecorator::ScanDepth(numbers.below(8)));
    }
    if numbers.one_in(3) {
        decorators.push(if numbers.one_in(2) {
            RisuDecorator::FullWord
        } else {
            RisuDecorator::PartialWord
        });
    }
    if numbers.one_in(5) {
        decorators.push(RisuDecorator::AdditionalKeys(numbers.keys()));
    }
    if numbers.one_in(5) {
        decorators.push(RisuDecorator::ExcludeKeys(numbers.keys()));
    }
    if numbers.one_in(6) {
        decorators.push(if recursive {
            RisuDecorator::Unrecursive
        } else {
            RisuDecorator::Recursive
        });
    }
    if numbers.one_in(6) {
        decorators.push(RisuDecorator::NoRecursiveSearch);
    }
    if numbers.one_in(4) {
        let priority = i64::try_from(numbers.below(200)).unwrap();
        decorators.push(RisuDecorator::Priority(priority));
    }
    RisuRow {
        key: numbers.keys().join(", "),
        second_key: if numbers.one_in(4) { numbers.keys().join(",") } else { String::new() },
        selective: numbers.one_in(2),
        always_active: numbers.one_in(8),
        insert_order: [100, 100, 100, 90, 120][numbers.below(5)],
        text: numbers.text(4),
        decorators,
    }
}

fn risu_json(row: &RisuRow) -> Value {
    let lines = row.decorators.iter().map(|decorator| match decorator {
        RisuDecorator::ScanDepth(messages) => format!("@@scan_depth {messages}\n"),
        RisuDecorator::FullWord => "@@match_full_word\n".to_owned(),
        RisuDecorator::PartialWord => "@@match_partial_word\n".to_owned(),
        RisuDecorator::AdditionalKeys(keys) => format!("@@additional_keys {}\n", keys.join(",")),
        RisuDecorator::ExcludeKeys(keys) => format!("@@exclude_keys {}\n", keys.join(",")),
        RisuDecorator::Recursive => "@@recursive\n".to_owned(),
        RisuDecorator::Unrecursive => "@@unrecursive\n".to_owned(),
        RisuDecorator::NoRecursiveSearch => "@@no_recursive_search\n".to_owned(),
        RisuDecorator::Priority(priority) => format!("@@priority {priority}\n"),
    });
    json!({
        "key": row.key, "secondkey": row.second_key, "selective": row.selective,
        "alwaysActive": row.always_active, "insertorder": row.insert_order, "comment": "",
        "content": lines.collect::<String>() + &row.text, "mode": "normal",
    })
}

#[test]
fn risus_books_fire_as_its_published_rules_say() {
    for seed in 0..BOOKS {
        let mut numbers = Numbers(seed);
        let settings = RisuSettings {
            recursive: numbers.one_in(2),
            full_word: numbers.one_in(3),
            token_budget: if numbers.one_in(3) { 6 } else { 800 },
            ..RisuSettings::default()
        };
        let rows: Vec<RisuRow> =
            (0..=numbers.below(7)).map(|_| risu_row(&mut numbers, settings.recursive)).collect();
        let chat: Vec<String> = (0..=numbers.below(9)).map(|_| numbers.text(5)).collect();
        let file = json!({ "type": "risu", "ver": 1,
            "data": rows.iter().map(risu_json).collect::<Vec<_>>() });
        let (dialect, sent) = woven(&file, |book| of_character(book, settings), &chat);
        assert_eq!(dialect, Dialect::Risu);
        let expected = active_rows(&rows, &chat, settings, count_words);
        assert_eq!(sent, expected, "seed {seed}: {settings:?}\n{chat:#?}\n{rows:#?}");
    }
}

/// The settings of a character's lore, as its card has them.
fn of_character(book: &mut Book, settings: RisuSettings) {
    book.recursive = Some(settings.recursive);
    book.token_budget = u32::try_from(settings.token_budget).ok();
    book.extensions.insert("risu_fullWordMatching".to_owned(), json!(settings.full_word));
}

#[test]
fn kobolds_books_fire_as_its_published_rules_say() {
    for seed in 0..BOOKS {
        let mut numbers = Numbers(seed);
        let list = |numbers: &mut Numbers, chances: usize| {
            if numbers.one_in(chances) { numbers.keys().join(", ") } else { String::new() }
        };
        let row = |numbers: &mut Numbers| KoboldRow {
            key: if numbers.one_in(9) { String::new() } else { numbers.keys().join(", ") },
            key_secondary: list(numbers, 3),
            key_anti: list(numbers, 3),
            content: if numbers.one_in(12) { String::new() } else { numbers.text(3) },
            selective: numbers.one_in(2),
            constant: numbers.one_in(8),
            disabled: numbers.one_in(8),
        };
        let rows: Vec<KoboldRow> = (0..=numbers.below(7)).map(|_| row(&mut numbers)).collect();
        let depth = if numbers.one_in(2) { 0 } else { 1 + numbers.below(60) };
        let chat: Vec<String> = (0..=numbers.below(9)).map(|_| numbers.text(5)).collect();
        let entry = |row: &KoboldRow| {
            json!({ "key": row.key, "keysecondary": row.key_secondary, "keyanti": row.key_anti,
                "content": row.content, "comment": "", "selective": row.selective,
                "constant": row.constant, "widisabled": row.disabled })
        };
        let file = json!({ "worldinfo": rows.iter().map(entry).collect::<Vec<_>>(),
            "wisearchdepth": depth });
        let (dialect, sent) = woven(&file, |_| {}, &chat);
        assert_eq!(dialect, Dialect::Kobold);
        let expected = used_rows(&rows, &chat.join("\n"), depth, false);
        assert_eq!(sent, expected, "seed {seed}: depth {depth}\n{chat:#?}\n{rows:#?}");
    }
}
