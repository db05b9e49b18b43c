//! Turns in a row, by hand and at random.

use std::slice::from_ref;

use proptest::prelude::*;

use super::*;
use crate::{
    assemble::{Assembled, Layout},
    book::{Entry, Key, MatchOnce, SelectiveLogic},
    chat::{Message, Path, Role},
    dialects::vault::Note,
    ids::{ChatId, Digest, MessageId},
    place::{Injection, LOREBOOK_SLOT, Place, Provenance},
    prompt::PromptMessage,
    tokens::ByteEstimate,
    units::Tokens,
};

const LIMIT: Tokens = Tokens(1000);

fn lore(name: &str, text: &str, place: Place) -> Injection {
    Injection {
        place,
        role: Role::System,
        text: text.to_owned(),
        tokens: Tokens(100),
        source: Provenance::Lore { book: "b".into(), entry: name.into() },
    }
}

fn before_character(name: &str) -> Injection {
    lore(name, &format!("All about {name}."), Place::BeforeCharacter)
}

fn note() -> Injection {
    Injection { source: Provenance::AuthorsNote, ..lore("", "Note.", Place::AtDepth(Depth(4))) }
}

/// A story that is played turn by turn: the user's message is the newest of each turn.
struct Story {
    path: Path,
    ledger: Ledger,
    settings: StableSettings,
    limit: Tokens,
    /// Messages that the front end has trimmed.
    trimmed: usize,
    head: &'static str,
    /// Entries that say nothing any more, or something else.
    edited: Vec<(&'static str, Option<&'static str>)>,
}

impl SourceLookup for Story {
    fn comes_and_goes(&self, injection: &Injection) -> bool {
        injection.text.starts_with("Maybe")
    }

    fn says(&self, source: &Provenance) -> Option<Digest> {
        let Provenance::Lore { entry, .. } = source else { return None };
        let edited = self.edited.iter().find(|(name, _)| *name == entry.as_str());
        let text = edited.map_or(Some(""), |(_, text)| *text);
        text.map(|text| wording(["", text, ""]))
    }
}

impl Story {
    fn new() -> Self {
        let mut path = Path::new(ChatId::from("c"));
        path.push(Message::new(Role::Assistant, None, "Welcome."));
        path.push(Message::new(Role::User, None, "Hello."));
        Self {
            path,
            ledger: Ledger::default(),
            settings: StableSettings::default(),
            limit: LIMIT,
            trimmed: 0,
            head: "card",
            edited: Vec::new(),
        }
    }

    fn window(&self) -> Vec<MessageId> {
        self.path.items()[self.trimmed..].iter().map(|item| item.id).collect()
    }

    fn plan(&self, injections: &[Injection]) -> Planned {
        let window = self.window();
        let head = crate::digest::Hasher::new("head").field(self.head.as_bytes()).finish();
        let length = MessageCount(u32::try_from(self.path.items().len()).unwrap());
        let scene = PlanInput { window: &window, head, length, marked: &[], limit: self.limit };
        plan(&scene, injections, self, &self.ledger, &self.settings)
    }

    /// The prompt of a plan.
    fn prompt(&self, planned: &Planned) -> Vec<PromptMessage> {
        self.assembled(planned).messages
    }

    fn assembled(&self, planned: &Planned) -> Assembled {
        let message =
            |role: Role, text: &str| PromptMessage { role, name: None, content: text.into() };
        let mut prompt = vec![message(Role::System, "main"), message(Role::System, self.head)];
        let items = &self.path.items()[self.trimmed..];
        prompt.extend(items.iter().map(|item| message(item.message.role, &item.message.text)));
        Layout::of_messages(&prompt, false).plan(&prompt, &planned.injections()).apply(prompt)
    }

    /// Takes a turn: its plan and prompt. The reply and the next user message follow.
    fn turn(&mut self, injections: &[Injection]) -> (Planned, Vec<PromptMessage>) {
        let planned = self.plan(injections);
        let prompt = self.prompt(&planned);
        self.ledger.apply(&planned.delta);
        let at = self.path.items().len();
        self.path.push(Message::new(Role::Assistant, None, format!("Reply {at}.")));
        self.path.push(Message::new(Role::User, None, format!("Words {at}.")));
        (planned, prompt)
    }
}

fn texts(prompt: &[PromptMessage]) -> Vec<&str> {
    prompt.iter().map(|one| one.content.as_str()).collect()
}

#[test]
fn lore_of_the_first_turn_stays_in_the_head_and_later_lore_at_its_message() {
    let mut story = Story::new();
    let (a, b, c) = (before_character("a"), before_character("b"), before_character("c"));
    let (_, first) = story.turn(from_ref(&a));
    assert_eq!(texts(&first), ["main", "All about a.", "card", "Welcome.", "Hello."]);
    // The author's order puts `b` first; the cache wants it last.
    let (_, second) = story.turn(&[b.clone(), a.clone()]);
    assert_eq!(texts(&second)[4..], ["Hello.", "Reply 2.", "All about b.", "Words 2."]);
    assert_eq!(second[..first.len()], first);
    let (planned, third) = story.turn(&[c, b, a]);
    assert_eq!(third[..second.len()], second);
    let zones: Vec<Zone> = planned.laid.iter().map(|laid| laid.zone).collect();
    assert_eq!(zones, [Zone::Head, Zone::Ledger, Zone::Ledger]);
}

#[test]
fn volatile_text_stands_in_the_tail_and_leaves_at_once() {
    let mut story = Story::new();
    let note = note();
    let last = lore("last", "Last.", Place::AtDepth(Depth(0)));
    let chance = lore("chance", "Maybe rain.", Place::BeforeCharacter);
    let (planned, prompt) = story.turn(&[note, last, chance]);
    assert_eq!(texts(&prompt)[2..], ["Welcome.", "Note.\nMaybe rain.", "Hello.", "Last."]);
    assert!(planned.laid.iter().all(|laid| laid.zone == Zone::Tail));
    assert!(planned.is_tail(&Provenance::AuthorsNote));
    let (planned, _) = story.turn(&[]);
    assert_eq!(planned.laid, []);
    assert_eq!(planned.delta, LedgerDelta::default());
}

#[test]
fn idle_text_lingers_and_waste_leaves_in_one_batch() {
    let mut story = Story::new();
    let names = ["a", "b", "c", "d"];
    for count in 1..=names.len() {
        let here: Vec<Injection> =
            names[..count].iter().map(|name| before_character(name)).collect();
        let _prompt = story.turn(&here);
    }
    // 250 of 1000 tokens may be waste. `a` stays asked for, three others fall idle together.
    let stays = [before_character("a")];
    for turn in 0..6 {
        let (planned, _) = story.turn(&stays);
        assert_eq!(planned.laid.iter().filter(|laid| laid.lingers()).count(), 3, "turn {turn}");
        assert_eq!(planned.evicted, []);
    }
    let (planned, prompt) = story.turn(&stays);
    let why = Eviction::CutOff(CutOff::Waste);
    assert!(planned.evicted.iter().all(|one| one.why == why && one.tokens == Tokens(100)));
    assert_eq!(planned.evicted.len(), 3);
    assert!(!texts(&prompt).contains(&"All about d."));
    assert!(story.ledger.idle.is_empty());
}

#[test]
fn a_text_that_is_asked_for_again_never_left() {
    let mut story = Story::new();
    let (a, b) = (before_character("a"), before_character("b"));
    let _first = story.turn(from_ref(&a));
    let (_, with) = story.turn(&[a.clone(), b.clone()]);
    let (_, without) = story.turn(from_ref(&a));
    let (planned, again) = story.turn(&[a, b]);
    assert_eq!(without[..with.len()], with);
    assert_eq!(again[..without.len()], without);
    assert!(planned.laid.iter().all(|laid| !laid.lingers()));
    assert!(story.ledger.idle.is_empty());
}

#[test]
fn a_rewritten_text_is_replaced_at_once_and_a_restless_one_moves_to_the_tail() {
    let mut story = Story::new();
    let at = |hour: u32| lore("clock", &format!("It is {hour}."), Place::BeforeCharacter);
    let zones: Vec<(Zone, usize)> = (1..=5)
        .map(|hour| {
            let (planned, prompt) = story.turn(&[at(hour)]);
            let count = texts(&prompt).iter().filter(|text| text.starts_with("It is")).count();
            assert_eq!(count, 1, "hour {hour}");
            (planned.laid[0].zone, planned.evicted.len())
        })
        .collect();
    let (placed, tail) = ((Zone::Ledger, 1), (Zone::Tail, 0));
    assert_eq!(zones, [(Zone::Head, 0), placed, placed, (Zone::Tail, 1), tail]);
}

#[test]
fn what_a_restless_text_left_behind_goes_too() {
    let mut story = Story::new();
    story.settings.rewrites = 1;
    let at = |hour: u32| lore("clock", &format!("It is {hour}."), Place::BeforeCharacter);
    let _first = story.turn(&[at(1)]);
    let _second = story.turn(&[at(2)]);
    let (planned, prompt) = story.turn(&[at(3)]);
    assert_eq!(planned.evicted.len(), 1);
    assert_eq!(texts(&prompt).iter().filter(|text| text.contains("It is")).count(), 1);
}

#[test]
fn a_trimmed_window_takes_waste_with_it_and_gives_lost_texts_a_new_place() {
    let mut story = Story::new();
    let (a, b) = (before_character("a"), before_character("b"));
    let _first = story.turn(&[]);
    let _second = story.turn(&[a.clone(), b]);
    for _turn in 0..7 {
        let _prompt = story.turn(from_ref(&a));
    }
    let (planned, _) = story.turn(from_ref(&a));
    assert_eq!((planned.evicted.len(), planned.laid.len()), (0, 2));
    story.trimmed = 1;
    let (planned, _) = story.turn(from_ref(&a));
    let why: Vec<Eviction> = planned.evicted.iter().map(|one| one.why).collect();
    assert_eq!(why, [Eviction::CutOff(CutOff::Broken)]);
    story.trimmed = 6;
    let (planned, prompt) = story.turn(&[a]);
    assert_eq!((planned.evicted.len(), planned.laid.len()), (0, 1));
    assert_eq!(texts(&prompt)[prompt.len() - 2], "All about a.");
}

#[test]
fn idle_text_whose_message_is_gone_leaves() {
    let mut story = Story::new();
    let _first = story.turn(&[]);
    let _second = story.turn(&[before_character("a")]);
    story.trimmed = 5;
    let (planned, _) = story.turn(&[]);
    assert_eq!(planned.evicted[0].why, Eviction::Unanchored);
    assert_eq!(planned.laid, []);
}

#[test]
fn a_text_does_not_outlive_what_its_source_says() {
    let mut story = Story::new();
    let names = ["a", "b", "c"].map(before_character);
    let _first = story.turn(&[]);
    let _second = story.turn(&names);
    story.edited = vec![("a", None), ("b", Some("Something else."))];
    // While they are asked for they say what the turn wove.
    let (planned, _) = story.turn(&names);
    assert_eq!((planned.evicted.len(), planned.laid.len()), (0, 3));
    let (planned, prompt) = story.turn(&[]);
    let why: Vec<Eviction> = planned.evicted.iter().map(|one| one.why).collect();
    assert_eq!(why, [Eviction::Withdrawn; 2]);
    let lines: Vec<&str> =
        texts(&prompt).into_iter().filter(|text| text.starts_with("All")).collect();
    assert_eq!(lines, ["All about c."]);
    let memory = Injection {
        source: Provenance::Memory("smart_memory_long".to_owned()),
        ..lore("", "Mira is afraid.", Place::AfterMain)
    };
    let _remembered = story.turn(&[memory]);
    let (planned, prompt) = story.turn(&[]);
    assert_eq!(planned.evicted.len(), 1);
    assert!(!texts(&prompt).concat().contains("afraid"));
}

#[test]
fn lingering_text_makes_room_for_what_a_turn_asks_for() {
    let mut story = Story::new();
    story.limit = Tokens(250);
    let _first = story.turn(&[before_character("a"), before_character("b")]);
    let (planned, _) = story.turn(&[before_character("c")]);
    let why: Vec<Eviction> = planned.evicted.iter().map(|one| one.why).collect();
    assert_eq!(why, [Eviction::CutOff(CutOff::Budget); 2]);
    let many = ["a", "b", "c"].map(before_character);
    let (planned, _) = story.turn(&many);
    assert_eq!(planned.left_out, [before_character("c")]);
}

#[test]
fn a_swipe_and_another_branch_find_their_own_past() {
    let mut story = Story::new();
    let _first = story.turn(&[before_character("a")]);
    let asked = [before_character("a"), before_character("b")];
    let once = story.plan(&asked);
    assert_eq!(story.plan(&asked), once);
    let (ledger, path) = (story.ledger.clone(), story.path.clone());
    let _taken = story.turn(&asked);
    let _further = story.turn(&[before_character("c")]);
    (story.ledger, story.path) = (ledger, path);
    assert_eq!(story.plan(&asked), once);
}

#[test]
fn text_at_a_marker_is_left_to_the_marker() {
    let slot = Place::Slot(LOREBOOK_SLOT.to_owned());
    let injections =
        [lore("o", "Outlet.", Place::Outlet("x".to_owned())), lore("s", "Slot.", slot.clone())];
    let story = Story::new();
    let window = story.window();
    for (marked, expected) in
        [(&[][..], [Zone::Marked, Zone::Head]), (&[slot][..], [Zone::Marked, Zone::Marked])]
    {
        let (head, length) = (Digest::default(), MessageCount(2));
        let scene = PlanInput { window: &window, head, length, marked, limit: LIMIT };
        let settings = StableSettings::default();
        let planned = plan(&scene, &injections, &story, &Ledger::default(), &settings);
        let zones: Vec<Zone> = planned.laid.iter().map(|laid| laid.zone).collect();
        assert_eq!(zones, expected);
        assert_eq!(planned.injections(), injections);
    }
}

#[test]
fn entries_that_come_and_go_are_told_apart() {
    let plain = Entry::new("e");
    assert!(!comes_and_goes(&plain));
    let with = |change: &dyn Fn(&mut Entry)| {
        let mut entry = plain.clone();
        change(&mut entry);
        comes_and_goes(&entry)
    };
    let key = || vec![Key::Literal("x".to_owned())];
    assert!(with(&|entry| entry.activation.probability = Some(50.0)));
    assert!(!with(&|entry| entry.activation.probability = Some(100.0)));
    assert!(with(&|entry| entry.group.names = "weather".to_owned()));
    assert!(with(&|entry| entry.activation.filters.characters = vec!["Mira".to_owned()]));
    assert!(with(&|entry| entry.activation.timed.cooldown = Some(3)));
    assert!(with(&|entry| entry.activation.exclude_any = vec![key()]));
    assert!(with(&|entry| entry.activation.gates.greeting = Some(0)));
    assert!(with(&|entry| entry.activation.once = Some(MatchOnce::OnceOnly)));
    assert!(!with(&|entry| entry.activation.once = Some(MatchOnce::Keep)));
    let secondary = |logic: SelectiveLogic| {
        with(&|entry| {
            entry.activation.secondary.active = true;
            entry.activation.secondary.logic = logic;
            entry.activation.secondary.keys = key();
        })
    };
    assert!(secondary(SelectiveLogic::NotAny));
    assert!(!secondary(SelectiveLogic::AndAny));
}

#[test]
fn notes_that_come_and_go_are_told_apart() {
    let note = || Note::new("", "bell.md", "The bell");
    assert!(!note_comes_and_goes(&note()));
    assert!(note_comes_and_goes(&Note { probability: Some(0.5), ..note() }));
    assert!(note_comes_and_goes(&Note { cooldown: Some(2.0), ..note() }));
    let era = [("era".to_owned(), "winter".into())].into_iter().collect();
    assert!(note_comes_and_goes(&Note { fields: era, ..note() }));
}

#[test]
fn a_story_that_is_trimmed_every_turn_is_cut_ahead_and_then_keeps_its_beginning() {
    let mut story = Story::new();
    story.settings.cut_ahead_percent = 50;
    let a = before_character("a");
    for _turn in 0..9 {
        let (planned, _) = story.turn(from_ref(&a));
        assert_eq!(planned.skip, 0);
    }
    // The window holds 20 messages and drops two more every turn.
    let mut before: Vec<PromptMessage> = Vec::new();
    let mut skipped = Vec::new();
    for turn in 0..12 {
        story.trimmed = 2 * (turn + 1);
        let window = story.window();
        let planned = story.plan(from_ref(&a));
        let prompt = {
            let hidden = story.trimmed;
            story.trimmed += planned.skip;
            let prompt = story.prompt(&planned);
            story.trimmed = hidden;
            prompt
        };
        if skipped.last().is_some_and(|last| planned.skip < *last) {
            assert_eq!(prompt[..before.len()], before, "turn {turn}");
        }
        assert_eq!(window.len(), 20 - 2);
        skipped.push(planned.skip);
        before = prompt;
        let _taken = story.turn(from_ref(&a));
    }
    assert_eq!(skipped, [9, 7, 5, 3, 1, 9, 7, 5, 3, 1, 9, 7]);
}

#[test]
fn a_prompt_is_measured_against_the_last_one_sent() {
    let mut story = Story::new();
    let long = lore("long", &"All about the bell. ".repeat(300), Place::BeforeCharacter);
    let note = note();
    let provider = Provider::named("anthropic").unwrap();
    let mut memo = TokenMemo::new(&ByteEstimate);
    let mut before: Option<Sent> = None;
    let mut read = Vec::new();
    for _turn in 0..3 {
        let planned = story.plan(&[long.clone(), note.clone()]);
        let assembled = story.assembled(&planned);
        let moves = |source: &Provenance| planned.is_tail(source);
        let found = measure(&provider, before.as_ref(), &assembled, &moves, &mut memo);
        let moving = assembled.messages.iter().position(|one| one.content == "Note.");
        assert_eq!(found.marks.last().map(|mark| mark.message + 1), moving);
        assert_eq!(
            found.bill.read.0 + found.bill.written.0 + found.bill.plain.0,
            found.kept.total.0
        );
        read.push(
            found.bill.read == before.map_or(Tokens::ZERO, |one| one.marks.last().unwrap().tokens),
        );
        before = Some(Sent { prompt: assembled.messages, marks: found.marks });
        let _taken = story.turn(&[long.clone(), note.clone()]);
    }
    assert_eq!(read, [true; 3]);
}

/// What happens at one turn of a random story.
#[derive(Clone, Debug)]
struct Beat {
    /// Which of the entries are asked for.
    asked: u16,
    /// Which of them say something new.
    rewritten: u16,
    trim: usize,
    other_card: bool,
}

fn beats() -> impl Strategy<Value = Vec<Beat>> {
    let beat = (any::<u16>(), any::<u16>(), any::<u16>(), 0_usize..20, 0_u8..12).prop_map(
        |(asked, more, rewritten, trim, card)| Beat {
            // Most entries stay from turn to turn, and few are rewritten.
            asked: asked | (more & 0x0f0f),
            rewritten: rewritten & asked & more & 0x1111,
            trim: if trim < 2 { trim } else { 0 },
            other_card: card == 0,
        },
    );
    prop::collection::vec(beat, 1..25)
}

fn offered(beat: &Beat, versions: &mut [u32; 16]) -> Vec<Injection> {
    let place = |at: usize| match at % 5 {
        0 => Place::BeforeCharacter,
        1 => Place::AfterCharacter,
        2 => Place::AtDepth(Depth(2)),
        3 => Place::AtDepth(Depth(9)),
        _ => Place::Slot(LOREBOOK_SLOT.to_owned()),
    };
    let mut offered = Vec::new();
    for (at, version) in versions.iter_mut().enumerate() {
        *version += u32::from(beat.rewritten >> at & 1);
        if beat.asked >> at & 1 == 1 {
            let kind = if at == 7 { "Maybe" } else { "Always" };
            let text = format!("{kind} {at}, version {version}.");
            let tokens = Tokens(u32::try_from(at * 13 % 60).unwrap());
            offered.push(Injection { tokens, ..lore(&at.to_string(), &text, place(at)) });
        }
    }
    offered
}

/// A turn of a random story.
#[derive(Debug, PartialEq)]
struct PlayedTurn {
    offered: Vec<Injection>,
    window: Vec<MessageId>,
    before: Ledger,
    planned: Planned,
}

fn play(beats: &[Beat], limit: u32) -> Vec<PlayedTurn> {
    let mut story = Story::new();
    story.limit = Tokens(limit);
    story.settings.cut_ahead_percent = limit % 2 * 40;
    let (mut versions, mut turns) = ([0; 16], Vec::new());
    for beat in beats {
        let offered = offered(beat, &mut versions);
        story.trimmed += beat.trim;
        story.head = if beat.other_card { "other card" } else { "card" };
        let (window, before) = (story.window(), story.ledger.clone());
        let (planned, _) = story.turn(&offered);
        turns.push(PlayedTurn { offered, window, before, planned });
    }
    turns
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_limit_holds_and_every_text_is_laid_once_or_left_out(
        beats in beats(),
        limit in 0_u32..600,
    ) {
        for PlayedTurn { offered, planned, .. } in play(&beats, limit) {
            let used: u32 = planned.laid.iter().map(|laid| laid.injection.tokens.0).sum();
            prop_assert!(used <= limit, "{} of {}", used, limit);
            let asked = planned.laid.iter().filter(|laid| !laid.lingers());
            let key = |one: &Injection| (one.text.clone(), one.tokens);
            let mut found: Vec<_> = asked.map(|laid| key(&laid.injection)).collect();
            found.extend(planned.left_out.iter().map(key));
            found.sort();
            let mut wanted: Vec<_> = offered.iter().map(key).collect();
            wanted.sort();
            prop_assert_eq!(found, wanted);
        }
    }

    #[test]
    fn a_text_that_stays_keeps_its_anchor_rank_and_bytes(beats in beats(), limit in 0_u32..600) {
        for PlayedTurn { window, before, planned, .. } in play(&beats, limit) {
            let mut after = before.clone();
            after.apply(&planned.delta);
            for (id, slip) in &before.slips {
                let Some(later) = after.slips.get(id) else { continue };
                let sent = &window[planned.skip..];
                let lost = matches!(slip.anchor, Anchor::Before(id) if !sent.contains(&id));
                prop_assert!(later == slip || lost);
            }
            prop_assert_eq!(LedgerDelta::between(&before, &after), planned.delta);
        }
    }

    #[test]
    fn a_replay_from_stored_deltas_gives_the_same_plans(beats in beats(), limit in 0_u32..600) {
        let turns = play(&beats, limit);
        prop_assert_eq!(&play(&beats, limit), &turns);
        let mut folded = Ledger::default();
        for PlayedTurn { before, planned, .. } in turns {
            prop_assert_eq!(&folded, &before);
            let stored = serde_json::to_string(&planned.delta).unwrap();
            folded.apply(&serde_json::from_str(&stored).unwrap());
        }
    }

    #[test]
    fn without_volatile_text_an_unchanged_turn_keeps_the_whole_prompt(
        asked in any::<u16>(),
        more in any::<u16>(),
        turns in 2_usize..6,
    ) {
        let mut story = Story::new();
        let beat = |asked| Beat { asked, rewritten: 0, trim: 0, other_card: false };
        let lasting = |asked: u16| {
            let mut all = offered(&beat(asked), &mut [0; 16]);
            all.retain(|one| one.place != Place::AtDepth(Depth(2)) && one.text.starts_with('A'));
            all
        };
        let (_, mut before) = story.turn(&lasting(asked));
        for turn in 0..turns {
            // Additional texts come after everything that was there.
            let asked = if turn == 0 { asked | more } else { asked };
            let (_, now) = story.turn(&lasting(asked));
            prop_assert_eq!(&now[..before.len()], &before[..]);
            let found = kept(&before, &now, &mut TokenMemo::new(&ByteEstimate));
            prop_assert_eq!(found.kept, found.previous);
            before = now;
        }
    }
}
