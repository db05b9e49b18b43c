//! Properties of the whole dialect.

use std::sync::Arc;

use proptest::prelude::*;

use super::{Directives, FrontEndFacts, Grammar, split};
use crate::{
    book::{Book, Entry, Key},
    chat::{Message, Path, Role},
    engine::{self, Decision, EngineInput},
    ids::ChatId,
    library::{ActiveEntries, Dialect, Library},
    report::{Outcome, Verdict},
    rules::Rules,
    state::StoryState,
    tokens::ByteEstimate,
    turn::{Instruments, Transcript, TurnCache, TurnInput},
    units::Tokens,
};

fn book(entries: Vec<Entry>, budget: u32) -> Book {
    let mut book = Book::new("book", "Book");
    book.token_budget = Some(budget);
    book.entries = entries;
    book
}

fn entry(at: usize, key: &str, content: &str, priority: f64) -> Entry {
    let mut entry = Entry::new(format!("entry-{at}"));
    entry.activation.keys = vec![Key::parse(key)];
    entry.content = content.to_owned();
    entry.budget.priority = Some(priority);
    entry
}

/// Plays one turn; all verdicts with it.
fn play(book: Book, text: &str, dialect: Dialect) -> (Decision, Vec<Verdict>) {
    let rules = Rules::default();
    let library = Library::compile_dialects([(Arc::new(book), dialect)], &rules);
    let active = ActiveEntries::all(&library, rules.world_info.strategy);
    let path = Path::of(ChatId::from("chat"), [Message::new(Role::User, None, text)]);
    let transcript = Transcript::of(&path, false);
    let input =
        TurnInput { user: "Mira".to_owned(), context: Tokens(8000), ..TurnInput::default() };
    let turn = input.turn(&path, &transcript);
    let mut dice = turn.dice();
    let mut cache = TurnCache::default();
    let mut instruments =
        Instruments { counter: &ByteEstimate, dice: &mut dice, cache: &mut cache };
    let state = StoryState::default();
    let woven = engine::decide(
        &EngineInput {
            library: &library,
            active: &active,
            turn: &turn,
            state: &state,
            rules: &rules,
        },
        &mut instruments,
    );
    let all = engine::verdicts(
        &woven.report,
        &EngineInput {
            library: &library,
            active: &active,
            turn: &turn,
            state: &state,
            rules: &rules,
        },
        &mut instruments,
    );
    (woven, all)
}

fn dialects() -> impl Strategy<Value = Dialect> {
    prop::sample::select(vec![Dialect::Cards, Dialect::CardV3, Dialect::Unorouter, Dialect::Risu])
}

/// Text that often looks like decorators.
fn decorated() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        4 => "@@@?(probability|depth|role|order|priority|is_greeting|scan_depth|additional_keys|exclude_keys|inject_lore|activate_only_every|constant|keep|end|x)[ \t]?[-0-9a-z,/\\\\ ]{0,8}",
        1 => "[@ a-z{}/\\\\,\r]{0,12}",
        1 => any::<String>(),
        1 => Just(String::new()),
    ];
    prop::collection::vec(line, 0..8).prop_map(|lines| lines.join("\n"))
}

fn entries() -> impl Strategy<Value = Vec<Entry>> {
    let one = ("[abc]{1,2}", decorated(), -3.0..3.0_f64);
    prop::collection::vec(one, 0..10).prop_map(|all| {
        let entries = all.iter().enumerate();
        entries.map(|(at, (key, content, rank))| entry(at, key, content, *rank)).collect()
    })
}

const EVERYTHING: FrontEndFacts = FrontEndFacts { greeting: true, user_icon: true, text: true };

proptest! {
    #[test]
    fn any_text_is_split_without_losing_its_body(content in decorated(), other in any::<String>()) {
        for text in [&content, &other] {
            for grammar in [
                Grammar::default(),
                Grammar::card_v3(),
                Grammar::unorouter(),
                Grammar::risu(),
            ] {
                let block = split(text, grammar);
                prop_assert!(text.trim_end().ends_with(block.body));
                for known in [FrontEndFacts::default(), EVERYTHING] {
                    let said = Directives::of(&block, grammar, known);
                    let lines = block.orphans.len()
                        + block.chains.iter().map(|chain| chain.0.len()).sum::<usize>();
                    prop_assert!(said.problems.len() <= lines);
                }
            }
        }
    }

    #[test]
    fn the_budget_is_never_exceeded(
        entries in entries(),
        budget in 0_u32..30,
        text in "[abc ]{0,20}",
        dialect in dialects(),
    ) {
        let total = entries.len();
        let (woven, all) = play(book(entries, budget), &text, dialect);
        for one in &woven.report.budgets {
            prop_assert!(one.used <= one.limit, "{one:?}");
        }
        let sent: u32 = woven.injections.iter().map(|one| one.tokens.0).sum();
        let limit = woven.report.budgets.iter().map(|one| one.limit.0).max().unwrap_or(0);
        // Unorouter pays for texts as written, so macros may make them longer.
        if dialect != Dialect::Unorouter {
            prop_assert!(sent <= limit, "{sent} of {limit}");
        }
        prop_assert_eq!(all.len(), total);
    }

    #[test]
    fn an_entry_that_nothing_touches_changes_no_other_verdict(
        entries in entries(),
        place in any::<prop::sample::Index>(),
        text in "[abc ]{0,20}",
        dialect in dialects(),
    ) {
        let (_, before) = play(book(entries.clone(), 20), &text, dialect);
        let mut more = entries;
        let stranger = entry(99, "zzzz", "Nobody asked.", 9.0);
        more.insert(place.index(more.len() + 1), stranger.clone());
        let (_, after) = play(book(more, 20), &text, dialect);
        let (own, others): (Vec<_>, Vec<_>) =
            after.into_iter().partition(|verdict| verdict.entry == stranger.id);
        prop_assert!(matches!(own[0].outcome, Outcome::Stopped(_)), "{own:?}");
        let sorted = |mut all: Vec<Verdict>| {
            all.sort_by(|a, b| a.entry.cmp(&b.entry));
            all
        };
        prop_assert_eq!(sorted(before), sorted(others));
    }
}
