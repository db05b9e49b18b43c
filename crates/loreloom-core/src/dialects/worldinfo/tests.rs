//! Rules that no recorded case covers.

use std::sync::Arc;

use super::{Quirks, VectorRules, WorldInfoRules, fingerprint, split_decorators};
use crate::{
    book::{Book, Container, Entry, Key, Origin, OriginalId, Position, TextStyle},
    chat::{Path, Role},
    engine::{Decision, EngineInput, decide},
    ids::{ChatId, EntryId},
    library::{ActiveEntries, Library},
    macros::Variables,
    report::{KeyCost, KeyMatch, Outcome, Reason, Stop, TextSource, Verdict},
    rules::Rules,
    state::{StoryState, TimedRecord},
    tokens::ByteEstimate,
    turn::{Forced, Instruments, Near, Transcript, TurnCache, TurnInput},
    units::{MessageCount, Tokens},
};

/// A turn with nothing special about it.
struct Plain<'a> {
    entries: &'a [Entry],
    chat: &'a [&'a str],
    rules: WorldInfoRules,
    state: StoryState,
    near: &'a [Near],
    forced: &'a [Forced],
    context: u32,
    dry_run: bool,
    suspended: &'a [String],
}

impl Default for Plain<'_> {
    fn default() -> Self {
        Self {
            entries: &[],
            chat: &["the bell"],
            rules: WorldInfoRules::default(),
            state: StoryState::default(),
            near: &[],
            forced: &[],
            context: 8192,
            dry_run: false,
            suspended: &[],
        }
    }
}

impl Plain<'_> {
    fn weave(&self) -> Decision {
        let mut book = Book::new("b", "B");
        book.entries.extend(self.entries.iter().cloned());
        if self.entries.iter().any(|entry| entry.raw.is_some()) {
            book.origin = Some(Origin {
                format: "sillytavern".to_owned(),
                version: None,
                container: Container::Text,
                style: TextStyle::default(),
                source: None,
                program: None,
                assumed_name: None,
            });
        }
        let rules = Rules { world_info: self.rules.clone(), ..Rules::default() };
        let library = Library::under([Arc::new(book)], &rules);
        let active = ActiveEntries::all(&library, rules.world_info.strategy);
        let mut transcript = Transcript::new(false);
        for text in self.chat {
            transcript.push(Role::User, None, text);
        }
        let path = Path::new(ChatId::from("c"));
        let input = TurnInput {
            user: "Mira".to_owned(),
            forced: self.forced.to_vec(),
            near: self.near.to_vec(),
            context: Tokens(self.context),
            seed: 1,
            dry_run: self.dry_run,
            suspended_keys: self.suspended.to_vec(),
            ..TurnInput::default()
        };
        let turn = input.turn(&path, &transcript);
        let (mut dice, mut cache) = (turn.dice(), TurnCache::default());
        let mut instruments =
            Instruments { counter: &ByteEstimate, dice: &mut dice, cache: &mut cache };
        decide(
            &EngineInput {
                library: &library,
                active: &active,
                turn: &turn,
                state: &self.state,
                rules: &rules,
            },
            &mut instruments,
        )
    }

    fn fired(&self) -> Vec<String> {
        let woven = self.weave();
        let fired = woven.report.verdicts.iter();
        let fired = fired.filter(|one| matches!(one.outcome, Outcome::Activated { .. }));
        fired.map(|one| one.entry.to_string()).collect()
    }
}

fn entry(id: &str, keys: &[&str], content: &str, change: impl FnOnce(&mut Entry)) -> Entry {
    let mut entry = Entry::new(id);
    entry.activation.keys = keys.iter().map(|key| Key::parse(key)).collect();
    content.clone_into(&mut entry.content);
    entry.placement.position = Position::BeforeCharacter;
    entry.placement.order = Some(100.0);
    change(&mut entry);
    entry
}

#[test]
fn an_empty_chat_still_begins_with_its_mark() {
    let entries = [
        entry("mark", &[r"/^\x01$/"], "a", |_| {}),
        entry("nothing", &["/^$/"], "b", |_| {}),
        entry("shallow", &["/^$/"], "c", |entry| entry.activation.scan.messages = Some(0.0)),
    ];
    let turn = Plain { entries: &entries, chat: &[], ..Plain::default() };
    assert_eq!(turn.fired(), ["mark", "shallow"]);
    let turn = Plain { entries: &entries, chat: &[""], ..Plain::default() };
    assert_eq!(turn.fired(), ["mark", "shallow"]);
}

fn near(entry: &str, score: f64) -> Near {
    Near { entry: entry.into(), score }
}

#[test]
fn what_is_nearest_comes_first_and_other_rules_still_hold() {
    let vectorized = |entry: &mut Entry| entry.activation.vectorized = true;
    let entries = [
        entry("keyed", &["bell"], "a", |_| {}),
        entry("near", &[], "b", vectorized),
        entry("nearer", &["zyx"], "c", |entry| {
            entry.activation.vectorized = true;
            entry.placement.order = Some(1.0);
        }),
        entry("far", &[], "d", vectorized),
        entry("off", &[], "e", |entry| {
            entry.activation.vectorized = true;
            entry.activation.enabled = false;
        }),
        entry("early", &[], "f", |entry| {
            entry.activation.vectorized = true;
            entry.activation.timed.delay = Some(9);
        }),
        entry("plain", &["zyx"], "g", |_| {}),
    ];
    let told = [
        near("near", 0.5),
        near("nearer", 0.8),
        near("far", 0.2),
        near("off", 0.9),
        near("early", 0.9),
        near("plain", 0.9),
    ];
    let turn = Plain { entries: &entries, near: &told, ..Plain::default() };
    // Put before all others, among themselves in order of evaluation.
    assert_eq!(turn.fired(), ["near", "nearer", "keyed"]);
    let woven = turn.weave();
    let outcome = |id: &str| {
        let found = woven.report.verdicts.iter().find(|one| one.entry.as_str() == id);
        found.map(|one| one.outcome.clone())
    };
    let Some(Outcome::Activated { trigger, .. }) = outcome("near") else { panic!("near fires") };
    assert_eq!(trigger.reason, Reason::Semantic { score: 0.5, threshold: Some(0.25) });
    let far = Stop::NotNear { score: Some(0.2), threshold: 0.25 };
    assert_eq!(outcome("far"), Some(Outcome::Stopped(far)));
    assert_eq!(outcome("plain"), None);

    let rules = WorldInfoRules {
        vectors: VectorRules { max_entries: 2, ..VectorRules::default() },
        ..WorldInfoRules::default()
    };
    // The place of an entry that another rule stops is not given to the next.
    let turn = Plain { entries: &entries, near: &told, rules, ..Plain::default() };
    assert_eq!(turn.fired(), ["nearer", "keyed"]);
    let off = VectorRules { max_entries: 0, ..VectorRules::default() };
    let rules = WorldInfoRules { vectors: off, ..WorldInfoRules::default() };
    let turn = Plain { entries: &entries, near: &told, rules, ..Plain::default() };
    assert_eq!(turn.fired(), ["keyed"]);
}

#[test]
fn what_an_entry_writes_counts_only_if_it_is_sent() {
    let entries = [
        entry("writes", &["bell"], "{{setvar::word::rope}}{{incvar::times}}", |entry| {
            entry.placement.order = Some(9.0);
        }),
        entry("reads", &["{{getvar::word}}"], "{{getvar::times}} times", |_| {}),
    ];
    let chat: &[&str] = &["a rope and the bell"];
    let turn = Plain { entries: &entries, chat, ..Plain::default() };
    let woven = turn.weave();
    let texts: Vec<&str> = woven.injections.iter().map(|one| one.text.as_str()).collect();
    assert_eq!(texts, ["1", "1 times"]);
    let mut state = StoryState::default();
    state.apply(&woven.delta);
    let pairs = [("times", "1"), ("word", "rope")].map(|(a, b)| (a.to_owned(), b.to_owned()));
    assert_eq!(state.variables, Variables { local: pairs.into(), ..Variables::default() });
    // The next turn goes on from there; a dry run leaves nothing.
    let next = Plain { entries: &entries, chat, state: state.clone(), ..Plain::default() };
    assert_eq!(next.weave().injections[0].text, "2");
    let dry = Plain { dry_run: true, ..next };
    let woven = dry.weave();
    assert_eq!((woven.injections[0].text.as_str(), woven.delta.is_empty()), ("2", true));
    // No room: nothing is sent, nothing is written.
    let small = Plain { entries: &entries, chat, context: 4, ..Plain::default() };
    let woven = small.weave();
    assert_eq!((woven.injections.len(), woven.delta.is_empty()), (0, true));
}

#[test]
fn objects_of_the_host_keep_the_order_of_evaluation() {
    let entries = [
        entry("low", &[], "low", |entry| entry.placement.order = Some(1.0)),
        entry("high", &[], "high", |entry| entry.placement.order = Some(2.0)),
        entry("keyed", &["bell"], "keyed", |_| {}),
    ];
    let sent = |at: usize| Forced {
        entry: EntryId::clone(&entries[at].id),
        instead: Some(Arc::new(entries[at].clone())),
    };
    let forced = [sent(0), sent(1)];
    let turn = Plain { entries: &entries, forced: &forced, ..Plain::default() };
    assert_eq!(turn.fired(), ["high", "low", "keyed"]);
}

#[test]
fn an_object_of_the_host_stands_once_for_all_entries_of_its_number() {
    let numbered = |entry: &mut Entry| entry.original_id = Some(OriginalId::Number(7));
    let entries = [
        entry("first", &[], "first", |entry| {
            numbered(entry);
            entry.activation.enabled = false;
        }),
        entry("second", &[], "second", numbered),
        entry("third", &[], "third", numbered),
    ];
    let mut sent = entries[0].clone();
    sent.activation.enabled = true;
    "from the host".clone_into(&mut sent.content);
    let forced = [Forced { entry: entries[0].id.clone(), instead: Some(Arc::new(sent)) }];
    // 13 bytes and a line end are 5 tokens at 3.35 bytes; twice they would be 9.
    let turn = Plain { entries: &entries, forced: &forced, context: 24, ..Plain::default() };
    let woven = turn.weave();
    let texts: Vec<&str> = woven.injections.iter().map(|one| one.text.as_str()).collect();
    assert_eq!(texts, ["from the host"]);
    assert!(!woven.report.budgets[0].overflowed);
}

#[test]
fn an_object_of_the_host_is_recognised_by_the_fingerprint_it_brings() {
    let stored = entry("stays", &["zyx"], "a", |entry| {
        entry.activation.timed.sticky = Some(9);
        entry.activation.probability = Some(0.0);
    });
    let decorated = split_decorators(&stored.content, Quirks::sillytavern_1_19());
    let print = fingerprint(&stored, "B", &decorated);
    let (start, end) = (MessageCount(0), MessageCount(9));
    let record = TimedRecord { fingerprint: Some(print), start, end, protected: false };
    let state =
        StoryState { sticky: [(stored.id.clone(), record)].into(), ..StoryState::default() };
    // What stays does not roll, and no roll passes a probability of 0.
    for (hash, fires) in [(Some(print), true), (Some(1), false), (None, false)] {
        let mut sent = stored.clone();
        sent.raw = hash.map(|hash| format!("{{\"hash\":{hash}}}").into());
        let forced = [Forced { entry: stored.id.clone(), instead: Some(Arc::new(sent)) }];
        let entries = [stored.clone()];
        let state = state.clone();
        let turn = Plain { entries: &entries, forced: &forced, state, ..Plain::default() };
        assert_eq!(!turn.fired().is_empty(), fires, "{hash:?}");
    }
}

#[test]
fn the_record_of_an_effect_that_an_entry_does_not_have_is_deleted() {
    let plain = entry("plain", &["zyx"], "a", |_| {});
    let cooling =
        entry("cooling", &["zyx"], "b", |entry| entry.activation.timed.cooldown = Some(9));
    let record = |entry: &Entry| {
        let decorated = split_decorators(&entry.content, Quirks::sillytavern_1_19());
        let fingerprint = Some(fingerprint(entry, "B", &decorated));
        let (start, end) = (MessageCount(1), MessageCount(99));
        (entry.id.clone(), TimedRecord { fingerprint, start, end, protected: false })
    };
    let edited =
        (EntryId::from("edited"), TimedRecord { fingerprint: Some(1), ..record(&plain).1 });
    let state = StoryState {
        sticky: [record(&plain), record(&cooling), edited].into(),
        cooldown: [record(&plain), record(&cooling)].into(),
        ..StoryState::default()
    };
    let entries = [plain, cooling];
    let turn =
        Plain { entries: &entries, chat: &["a", "b"], state: state.clone(), ..Plain::default() };
    let mut after = state;
    after.apply(&turn.weave().delta);
    let sticky: Vec<&str> = after.sticky.keys().map(EntryId::as_str).collect();
    let cooldown: Vec<&str> = after.cooldown.keys().map(EntryId::as_str).collect();
    assert_eq!((sticky, cooldown), (vec!["edited"], vec!["cooling"]));
}

#[test]
fn a_key_is_told_in_every_message_that_was_scanned_and_holds_it() {
    let depth = |entry: &mut Entry| entry.activation.scan.messages = Some(4.0);
    let secondary = |entry: &mut Entry| {
        depth(entry);
        entry.activation.secondary.active = true;
        entry.activation.secondary.keys = vec![Key::parse("rope")];
    };
    let entries = [
        entry("plain", &["bell"], "a", secondary),
        entry("shallow", &["bell"], "b", |_| {}),
        entry("regex", &["/b[e]ll/i"], "c", depth),
        entry("macro", &["{{noop}}bell"], "d", depth),
    ];
    let chat: &[&str] = &["bell", "Two bells, one bell", "a rope", "no", "The BELL"];
    let woven = Plain { entries: &entries, chat, ..Plain::default() }.weave();
    let found = |id: &str| {
        let verdict = woven.report.verdicts.iter().find(|one| one.entry.as_str() == id);
        let Some(Outcome::Activated { trigger, .. }) = verdict.map(|one| &one.outcome) else {
            panic!("{id} fires")
        };
        let keys = trigger.primary.iter().chain(&trigger.secondary);
        let places = keys.flat_map(KeyMatch::places).map(|at| {
            let TextSource::Message { index, .. } = &at.source else { panic!("{at:?}") };
            (*index, at.start, at.end)
        });
        places.collect::<Vec<_>>()
    };
    // The message before the window is not told, nor are parts of words.
    assert_eq!(found("plain"), [(4, 4, 8), (1, 15, 19), (2, 2, 6)]);
    assert_eq!(found("shallow"), [(4, 4, 8)]);
    assert_eq!(found("regex"), [(4, 4, 8), (1, 4, 8)]);
    assert_eq!(found("macro"), [(4, 4, 8), (1, 15, 19)]);
}

#[test]
fn a_key_that_takes_too_many_steps_is_named_in_the_verdict() {
    let slow = "/(([a-z])+.)+\\1(?=[A-Z])[A-Z]([a-z])+$/";
    let entries =
        [entry("slow", &[slow], "a", |_| {}), entry("rescued", &[slow, "bell"], "b", |_| {})];
    let text = format!("bell {}", "a".repeat(200));
    let woven = Plain { entries: &entries, chat: &[&text], ..Plain::default() }.weave();
    let stop =
        Outcome::Stopped(Stop::KeyTooSlow { key: slow.to_owned(), cost: KeyCost::TooManySteps });
    let told = |id: &str| woven.report.verdicts.iter().find(|one| one.entry.as_str() == id);
    assert_eq!(told("slow").map(|one| &one.outcome), Some(&stop));
    assert_eq!(told("rescued").map(Verdict::code), Some("activated"));
    assert_eq!(woven.report.warnings.len(), 2, "{:?}", woven.report.warnings);
}

#[test]
fn a_suspended_key_is_not_tried_and_says_so() {
    let slow = "/(?=(a+))\\1b/";
    let entries = [entry("slow", &[slow], "a", |_| {}), entry("fast", &["/bell/"], "b", |_| {})];
    let suspended = [slow.to_owned()];
    // It would match at once.
    let chat = &["bell aab"];
    let woven =
        Plain { entries: &entries, chat, suspended: &suspended, ..Plain::default() }.weave();
    let verdict = |id: &str| woven.report.verdicts.iter().find(|one| one.entry.as_str() == id);
    let stop = Stop::KeyTooSlow { key: slow.to_owned(), cost: KeyCost::Suspended };
    assert_eq!(verdict("slow").map(|one| &one.outcome), Some(&Outcome::Stopped(stop)));
    assert_eq!(verdict("fast").map(Verdict::code), Some("activated"));
}

#[test]
fn keys_after_the_steps_of_a_turn_are_used_up_say_so() {
    // Each is too slow, and 25 of them take all steps of the turn.
    let keys: Vec<String> = (0..27).map(|at| format!("/(?=(a+))\\1b{at}/")).collect();
    let entries: Vec<Entry> = keys.iter().map(|key| entry(key, &[key], "a", |_| {})).collect();
    let text = "a".repeat(30_000);
    let woven = Plain { entries: &entries, chat: &[&text], ..Plain::default() }.weave();
    let count = |wanted| {
        let is = |one: &&Verdict| matches!(&one.outcome, Outcome::Stopped(Stop::KeyTooSlow { cost, .. }) if *cost == wanted);
        woven.report.verdicts.iter().filter(is).count()
    };
    assert_eq!((count(KeyCost::TooManySteps), count(KeyCost::NoStepsLeft)), (24, 3));
}

#[test]
fn what_did_not_fit_needed_what_the_budget_lacked() {
    let ignore = |entry: &mut Entry| {
        entry.budget.ignore = true;
        entry.placement.order = Some(200.0);
    };
    let entries = [
        entry("ignores", &["bell"], &"a".repeat(32), ignore),
        entry("late", &["bell"], "bell", |_| {}),
    ];
    // At 3.35 bytes a token: 33 bytes are 10 tokens, 38 are 12, and 12 must stay below.
    for (context, needed, left, over) in
        [(20, 2, 0, 6), (40, 2, 0, 1), (44, 2, 0, 0), (48, 2, 1, 0)]
    {
        let woven = Plain { entries: &entries, context, ..Plain::default() }.weave();
        let stop = Stop::Budget { needed: Tokens(needed), left: Tokens(left), over: Tokens(over) };
        assert_eq!(woven.report.verdicts[1].outcome, Outcome::Stopped(stop), "{context}");
        assert_eq!(context / 4 + needed - left + over, 13);
    }
    let turn = Plain { entries: &entries, context: 52, ..Plain::default() };
    assert_eq!(turn.fired(), ["ignores", "late"]);
}

#[test]
fn a_range_in_characters_is_a_depth_of_its_own_and_a_depth_in_messages_binds_too() {
    let ranged = |characters: u32, messages: Option<f64>| {
        move |entry: &mut Entry| {
            entry.activation.scan.characters = Some(characters);
            entry.activation.scan.messages = messages;
        }
    };
    let entries = [
        entry("wide", &["bell"], "a", ranged(99, None)),
        entry("exact", &["bell"], "b", ranged(14, None)),
        entry("narrow", &["bell"], "c", ranged(13, None)),
        entry("shallow", &["bell"], "d", ranged(99, Some(2.0))),
        entry("deep", &["bell"], "e", ranged(99, Some(3.0))),
        entry("default", &["bell"], "f", |_| {}),
        entry("parts", &["two\n\u{1}one"], "g", ranged(7, None)),
        entry("fewer parts", &["two\n\u{1}one"], "h", ranged(6, None)),
    ];
    let chat = ["a bell rings", "one", "two"];
    let turn = Plain { entries: &entries, chat: &chat, ..Plain::default() };
    // `bell rings`, a line end, `one`, a line end, `two`: 18 characters.
    assert_eq!(turn.fired(), ["wide", "deep", "parts"]);
    let entries = [
        entry("exact", &["bell"], "b", ranged(18, None)),
        entry("narrow", &["bell"], "c", ranged(17, None)),
    ];
    let turn = Plain { entries: &entries, chat: &chat, ..Plain::default() };
    assert_eq!(turn.fired(), ["exact"]);
}

#[test]
fn the_oldest_messages_have_no_place_in_the_text_if_they_are_empty() {
    let depth = |entry: &mut Entry| entry.activation.scan.messages = Some(9.0);
    let entries = [
        entry("last", &["/stilt$/"], "a", depth),
        entry("between", &[r"/stilt\n\x01\n\x01reed$/"], "b", depth),
        entry("alone", &[r"/^\x01$/"], "c", depth),
    ];
    for (chat, fired) in [
        (&["", "stilt"][..], &["last"][..]),
        (&["  ", "stilt"], &[]),
        (&["", "", "reed", "", "stilt"], &["between"]),
        (&["", ""], &["alone"]),
        (&["", " "], &["alone"]),
        (&[" ", ""], &[]),
    ] {
        let turn = Plain { entries: &entries, chat, ..Plain::default() };
        assert_eq!(turn.fired(), fired, "{chat:?}");
    }
}

#[test]
fn a_depth_below_one_message_leaves_out_the_chat_alone() {
    let at = |depth: f64| move |entry: &mut Entry| entry.activation.scan.messages = Some(depth);
    let entries = [
        entry("feeds", &["bell"], "a dragon", |_| {}),
        entry("half", &["dragon"], "a", at(0.5)),
        entry("half of the chat", &["bell"], "b", at(0.5)),
        entry("half of a pattern", &[r"/^\x01\n\x01a dragon/"], "c", at(0.5)),
        entry("none", &["dragon"], "d", at(0.0)),
        entry("less", &["dragon"], "e", at(-1.0)),
    ];
    let turn = Plain { entries: &entries, ..Plain::default() };
    assert_eq!(turn.fired(), ["feeds", "half", "half of a pattern"]);
}

#[test]
fn a_text_that_did_not_fit_is_read_again_as_macros_made_it() {
    let waits = |level: u32| {
        move |entry: &mut Entry| {
            entry.recursion.delay_level = level;
            entry.budget.ignore = true;
        }
    };
    let large = format!("{{{{user}}}} {}", "x".repeat(400));
    let entries = [
        entry("large", &["bell"], &large, |_| {}),
        entry("first", &["zyx"], "a", waits(1)),
        entry("second", &["Mira"], "b", waits(2)),
        entry("third", &["/[{][{]user/"], "c", waits(3)),
    ];
    let turn = Plain { entries: &entries, context: 100, ..Plain::default() };
    assert_eq!(turn.fired(), ["second"]);
}

#[test]
fn a_cooldown_after_an_effect_is_the_entrys_own() {
    let stays = entry("stays", &["zyx"], "a", |entry| {
        entry.activation.timed.sticky = Some(2);
        entry.activation.timed.cooldown = Some(3);
    });
    let decorated = split_decorators(&stays.content, Quirks::sillytavern_1_19());
    let fingerprint = Some(fingerprint(&stays, "B", &decorated));
    let (start, end) = (MessageCount(1), MessageCount(3));
    let record = TimedRecord { fingerprint, start, end, protected: false };
    let state =
        StoryState { sticky: [(EntryId::from("another"), record)].into(), ..StoryState::default() };
    let (entries, chat) = ([stays], ["a", "b", "c"]);
    let turn = Plain { entries: &entries, chat: &chat, state: state.clone(), ..Plain::default() };
    let mut after = state;
    after.apply(&turn.weave().delta);
    let (start, end) = (MessageCount(3), MessageCount(6));
    let cooling = TimedRecord { start, end, protected: true, ..record };
    assert_eq!(after.sticky, [].into());
    assert_eq!(after.cooldown, [(EntryId::from("stays"), cooling)].into());
}

fn quirky() -> WorldInfoRules {
    WorldInfoRules { quirks: Quirks::sillytavern_1_19(), ..WorldInfoRules::default() }
}

#[test]
fn entries_without_a_uid_share_one_result_only_in_the_peers_profile() {
    let raw = |raw: &'static str| move |entry: &mut Entry| entry.raw = Some(raw.into());
    let entries = [
        entry("one", &["bell"], "a", raw("{}")),
        entry("two", &["bell"], "b", raw("{}")),
        entry("null", &["bell"], "c", raw(r#"{"uid":null}"#)),
        entry("new", &["bell"], "d", |_| {}),
        entry("newer", &["bell"], "e", |_| {}),
    ];
    let texts = |rules: WorldInfoRules| {
        let woven = Plain { entries: &entries, rules, ..Plain::default() }.weave();
        woven.injections.into_iter().map(|one| one.text).collect::<String>()
    };
    assert_eq!(texts(WorldInfoRules::default()), "edcba");
    assert_eq!(texts(quirky()), "edcb");
}

#[test]
fn secondary_keys_of_no_stated_logic_score_nothing_in_the_peers_profile() {
    let grouped = |raw: &'static str, keys: usize| {
        move |entry: &mut Entry| {
            entry.raw = Some(raw.into());
            entry.group.names = "g".to_owned();
            entry.group.use_scoring = Some(true);
            entry.activation.secondary.active = true;
            entry.activation.secondary.keys = vec![Key::parse("rope"); keys];
        }
    };
    for (raw, rules, winner) in [
        (r#"{"uid":0}"#, WorldInfoRules::default(), "stated"),
        (r#"{"uid":0}"#, quirky(), "two keys"),
        (r#"{"uid":0,"selectiveLogic":null}"#, quirky(), "two keys"),
        (r#"{"uid":0,"selectiveLogic":0}"#, quirky(), "stated"),
    ] {
        let entries = [
            entry("stated", &["bell"], "a", grouped(raw, 2)),
            entry("two keys", &["bell", "/b.ll/"], "b", grouped(r#"{"uid":1}"#, 0)),
        ];
        let chat = ["a bell on a rope"];
        let turn = Plain { entries: &entries, chat: &chat, rules, ..Plain::default() };
        assert_eq!(turn.fired(), [winner], "{raw}");
    }
}
