//! What holds for every book, chat and setting.

use std::sync::Arc;

use proptest::prelude::*;

use super::{Quirks, Strategy as BookOrder, WorldInfoRules};
use crate::{
    book::{Book, DepthFrom, Entry, Key, Position, SelectiveLogic},
    chat::{Path, Role},
    engine::{Decision, EngineInput, decide},
    ids::ChatId,
    library::{ActiveEntries, Library},
    report::{Outcome, Verdict},
    rules::Rules,
    state::StoryState,
    tokens::ByteEstimate,
    turn::{Forced, Instruments, Transcript, TurnCache, TurnInput},
    units::{Depth, Tokens},
};

fn words() -> impl Strategy<Value = String> {
    prop::collection::vec(
        prop::sample::select(vec![
            "bell", "tower", "Bell", "кот", "猫", "{{user}}", "a.b", "", " ", "rings", "\u{1}", "ſ",
        ]),
        0..6,
    )
    .prop_map(|words| words.join(" "))
}

fn key() -> impl Strategy<Value = String> {
    prop_oneof![
        words(),
        prop::sample::select(vec![
            "bell",
            "tower",
            "/be(l+)/i",
            "/(/",
            "/(a+)+$/",
            "  ",
            "{{char}}"
        ])
        .prop_map(str::to_owned),
    ]
}

prop_compose! {
    fn entry()(
        keys in prop::collection::vec(key(), 0..3),
        secondary in prop::collection::vec(key(), 0..3),
        logic in prop::sample::select(vec![
            SelectiveLogic::AndAny, SelectiveLogic::NotAll, SelectiveLogic::NotAny,
            SelectiveLogic::AndAll, SelectiveLogic::Unknown,
        ]),
        content in prop_oneof![words(), Just("@@activate\nbell".to_owned()), Just("{{random::bell::x}}".to_owned())],
        flags in any::<[bool; 8]>(),
        numbers in (prop::option::of(0_u32..4), prop::option::of(0_u32..4), prop::option::of(0_u32..4), 0_u32..3),
        order in prop::option::of(-2.0..2.0_f64),
        probability in prop::option::of(prop_oneof![Just(100.0), Just(f64::NAN), -10.0..110.0_f64]),
        group in prop::sample::select(vec!["", "g", "g,h", "h", "1"]),
        depth in prop::option::of(prop_oneof![Just(f64::NAN), -2.0..5.0_f64]),
    ) -> Entry {
        let mut entry = Entry::new("");
        let parse = |keys: Vec<String>| keys.iter().map(|key| Key::parse(key)).collect();
        entry.content = content;
        entry.activation.keys = parse(keys);
        entry.activation.secondary.keys = parse(secondary);
        entry.activation.secondary.logic = logic;
        let [constant, selective, disabled, exclude, prevent, ignore, prioritize, whole] = flags;
        entry.activation.constant = constant;
        entry.activation.secondary.active = selective;
        entry.activation.enabled = !disabled;
        entry.activation.whole_words = Some(whole);
        entry.activation.probability = probability;
        entry.activation.scan.messages = depth;
        (entry.activation.timed.sticky, entry.activation.timed.cooldown) = (numbers.0, numbers.1);
        entry.activation.timed.delay = numbers.2;
        entry.recursion.delay_level = numbers.3;
        (entry.recursion.exclude, entry.recursion.prevent) = (exclude, prevent);
        entry.budget.ignore = ignore;
        entry.group.prioritize = prioritize;
        group.clone_into(&mut entry.group.names);
        entry.placement.order = order;
        entry.placement.depth = numbers.3.checked_sub(1).map(Depth);
        entry.placement.position = Position::AtDepth { from: DepthFrom::Newest };
        entry
    }
}

prop_compose! {
    fn rules()(
        numbers in (0_u32..5, 0_u32..4, 0_u32..5, 0_u32..4, 0_u32..20),
        flags in any::<[bool; 6]>(),
        percent in -5.0..120.0_f64,
        strategy in prop::sample::select(vec![BookOrder::Evenly, BookOrder::CharacterFirst, BookOrder::GlobalFirst]),
    ) -> Rules {
        let [include_names, recursive, case_sensitive, match_whole_words, use_group_scoring, quirky] = flags;
        Rules {
            world_info: WorldInfoRules {
                depth: numbers.0,
                min_activations: numbers.1,
                min_activations_depth_max: numbers.2,
                max_recursion_steps: numbers.3,
                budget_cap: numbers.4,
                budget_percent: percent,
                include_names,
                recursive,
                case_sensitive,
                match_whole_words,
                use_group_scoring,
                strategy,
                quirks: if quirky { Quirks::sillytavern_1_19() } else { Quirks::default() },
                ..WorldInfoRules::default()
            },
            ..Rules::default()
        }
    }
}

fn woven(entries: &[Entry], chat: &[String], rules: &Rules, context: u32) -> Vec<Decision> {
    woven_with(entries, chat, rules, context, (CacheSharing::Warm, &[]))
}

/// Whether the turns of a chat share their cache.
#[derive(Clone, Copy, PartialEq)]
enum CacheSharing {
    Warm,
    Cold,
}

fn woven_with(
    entries: &[Entry],
    chat: &[String],
    rules: &Rules,
    context: u32,
    (memory, forced): (CacheSharing, &[Forced]),
) -> Vec<Decision> {
    let mut book = Book::new("b", "B");
    for (at, entry) in entries.iter().enumerate() {
        book.entries.push(Entry { id: format!("b/{at}").as_str().into(), ..entry.clone() });
    }
    let library = Library::compile([Arc::new(book)], &rules.world_info);
    let active = ActiveEntries::all(&library, rules.world_info.strategy);
    let (path, mut state, mut turns) =
        (Path::new(ChatId::from("c")), StoryState::default(), Vec::new());
    let mut transcript = Transcript::new(rules.world_info.include_names);
    let mut cache = TurnCache::default();
    for (at, text) in chat.iter().enumerate() {
        let role = if at % 2 == 0 { Role::User } else { Role::Assistant };
        transcript.push(role, Some("Mira"), text);
        if memory == CacheSharing::Cold {
            cache = TurnCache::default();
        }
        let input = TurnInput {
            user: "Mira".to_owned(),
            forced: forced.to_vec(),
            context: Tokens(context),
            seed: 3,
            ..TurnInput::default()
        };
        let turn = input.turn(&path, &transcript);
        let mut dice = turn.dice();
        let mut instruments =
            Instruments { counter: &ByteEstimate, dice: &mut dice, cache: &mut cache };
        let woven = decide(
            &EngineInput { library: &library, active: &active, turn: &turn, state: &state, rules },
            &mut instruments,
        );
        state.apply(&woven.delta);
        turns.push(woven);
    }
    turns
}

fn but(woven: &Decision, entry: &str) -> Vec<Verdict> {
    woven
        .report
        .verdicts
        .iter()
        .filter(|verdict| verdict.entry.as_str() != entry)
        .cloned()
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn no_input_panics_and_the_same_turn_gives_the_same_bytes(
        entries in prop::collection::vec(entry(), 0..6),
        chat in prop::collection::vec(words(), 0..5),
        rules in rules(),
        context in 0_u32..400,
    ) {
        let first = woven(&entries, &chat, &rules, context);
        let second = woven(&entries, &chat, &rules, context);
        for (first, second) in first.iter().zip(&second) {
            prop_assert_eq!(&first.injections, &second.injections);
            prop_assert_eq!(format!("{:?}", first.report), format!("{:?}", second.report));
        }
    }

    #[test]
    fn a_chat_that_was_seen_before_is_decided_like_a_new_one(
        entries in prop::collection::vec(entry(), 0..6),
        chat in prop::collection::vec(words(), 0..5),
        rules in rules(),
    ) {
        let warm = woven(&entries, &chat, &rules, 400);
        let cold = woven_with(&entries, &chat, &rules, 400, (CacheSharing::Cold, &[]));
        for (warm, cold) in warm.iter().zip(&cold) {
            prop_assert_eq!(&warm.injections, &cold.injections);
            prop_assert_eq!(format!("{:?}", warm.report), format!("{:?}", cold.report));
        }
    }

    /// Entries with nothing but keys are judged by fewer rules, except while something is
    /// forced: forcing a disabled entry must make no difference to them.
    #[test]
    fn plain_entries_are_judged_as_all_rules_would(
        keys in prop::collection::vec(prop::collection::vec(key(), 1..3), 0..5),
        entries in prop::collection::vec(entry(), 0..3),
        chat in prop::collection::vec(words(), 0..4),
        rules in rules(),
    ) {
        let plain = keys.iter().map(|keys| {
            let mut entry = Entry::new("");
            entry.activation.keys = keys.iter().map(|key| Key::parse(key)).collect();
            entry.content = "the tower bell".to_owned();
            entry.placement.position = Position::BeforeCharacter;
            entry
        });
        let mut off = Entry::new("");
        off.activation.enabled = false;
        let all: Vec<Entry> = plain.chain(entries).chain([off]).collect();
        let id = format!("b/{}", all.len() - 1);
        let forced = [Forced { entry: id.as_str().into(), instead: None }];
        let fast = woven(&all, &chat, &rules, 400);
        let slow = woven_with(&all, &chat, &rules, 400, (CacheSharing::Warm, &forced));
        for (fast, slow) in fast.iter().zip(&slow) {
            prop_assert_eq!(format!("{:?}", but(fast, &id)), format!("{:?}", but(slow, &id)));
            prop_assert_eq!(&fast.injections, &slow.injections);
        }
    }

    #[test]
    fn what_is_not_exempt_stays_below_the_budget(
        entries in prop::collection::vec(entry(), 0..6),
        chat in prop::collection::vec(words(), 0..4),
        context in 4_u32..200,
    ) {
        let mut entries = entries;
        // Exempt entries, and text that feeds no recursion, do not count in SillyTavern.
        for entry in &mut entries {
            (entry.budget.ignore, entry.recursion.prevent) = (false, false);
            // Long, and always a candidate: the budget is what stops it.
            entry.content = format!("{} and so on and on", entry.content).repeat(4);
            entry.activation.constant = true;
            entry.activation.probability = None;
        }
        let rules = Rules::default();
        for woven in woven(&entries, &chat, &rules, context) {
            for budget in &woven.report.budgets {
                prop_assert!(budget.used.0 < budget.limit.0.max(1) || budget.used.0 == 0, "{budget:?}");
            }
        }
    }

    #[test]
    fn an_entry_that_nothing_touches_changes_no_other_verdict(
        entries in prop::collection::vec(entry(), 0..5),
        chat in prop::collection::vec(words(), 0..4),
        rules in rules(),
    ) {
        let mut stranger = Entry::new("");
        stranger.activation.keys = vec![Key::parse("zyzzyva")];
        stranger.content = "never".to_owned();
        let mut more = entries.clone();
        more.push(stranger);
        let id = format!("b/{}", entries.len());
        let (without, with) = (woven(&entries, &chat, &rules, 400), woven(&more, &chat, &rules, 400));
        for (without, with) in without.iter().zip(&with) {
            prop_assert_eq!(format!("{:?}", but(without, &id)), format!("{:?}", but(with, &id)));
            prop_assert_eq!(&without.injections, &with.injections);
            let fired = with.report.verdicts.iter().any(|verdict| {
                verdict.entry.as_str() == id && matches!(verdict.outcome, Outcome::Activated { .. })
            });
            prop_assert!(!fired);
        }
    }
}
