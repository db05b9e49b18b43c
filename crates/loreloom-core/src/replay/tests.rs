use std::sync::Arc;

use super::*;
use crate::{
    book::{Book, Entry, Key},
    library::Scope,
    rules::Profile,
    tokens::ByteEstimate,
    turn::Speaker,
    units::Tokens,
};

fn entry(at: u32, key: &str, content: &str) -> Entry {
    let mut entry = Entry::new(format!("b/{at}"));
    entry.activation.keys = vec![Key::parse(key)];
    content.clone_into(&mut entry.content);
    entry.name = key.to_owned();
    entry
}

fn book() -> Book {
    let mut book = Book::new("b", "B");
    let mut sticky = entry(0, "bell", "The bell is cracked.");
    sticky.activation.timed.sticky = Some(3);
    book.entries = vec![sticky, entry(1, "tower", "The tower leans.")];
    book
}

/// `B` is the user, `T` the model.
fn story(texts: &[(char, &str)]) -> Vec<ReplayEvent> {
    let message = |&(who, text): &(char, &str)| match who {
        'B' => Message::new(Role::User, Some("Bea"), text),
        _ => Message::new(Role::Assistant, Some("Tom"), text),
    };
    events(texts.iter().map(message), |_, speaker| TurnInput {
        context: Tokens(1000),
        speaker: speaker.map(|name| Speaker { name: name.to_owned(), ..Speaker::default() }),
        user: "Bea".to_owned(),
        ..TurnInput::default()
    })
}

fn lines(book: Book, events: Vec<ReplayEvent>) -> Vec<TurnLine> {
    let rules = Profile::Loreloom.rules();
    let library = Library::under([Arc::new(book)], &rules);
    let active = ActiveEntries::all(&library, rules.world_info.strategy);
    let lore =
        ReplayLore { library: &library, active: &active, rules: &rules, counter: &ByteEstimate };
    Replay::new(ChatId::from("c"), lore).run(events)
}

fn titles<'lines>(lines: &'lines [TurnLine]) -> Vec<(usize, Vec<&'lines str>)> {
    let titles = |line: &'lines TurnLine| line.fired.iter().map(|one| one.title.as_str());
    lines.iter().map(|line| (line.at, titles(line).collect())).collect()
}

const STORY: [(char, &str); 8] = [
    ('T', "Hello."),
    ('B', "I hear a bell."),
    ('T', "It is far."),
    ('B', "Let us go."),
    ('T', "Yes."),
    ('B', "We went."),
    ('T', "A tower."),
    ('B', "Where?"),
];

#[test]
fn timed_effects_carry_over_and_the_model_is_asked_where_it_spoke() {
    assert_eq!(
        titles(&lines(book(), story(&STORY))),
        [(2, vec!["bell"]), (4, vec!["bell"]), (6, vec![]), (8, vec!["tower"])]
    );
}

#[test]
fn a_turn_asked_for_again_decides_alike_and_leaves_the_same_state() {
    let rules = Profile::Loreloom.rules();
    let library = Library::under([Arc::new(book())], &rules);
    let active = ActiveEntries::all(&library, rules.world_info.strategy);
    let lore =
        ReplayLore { library: &library, active: &active, rules: &rules, counter: &ByteEstimate };
    let mut replay = Replay::new(ChatId::from("c"), lore);
    replay.say(Message::new(Role::User, None, "the bell"));
    let input = TurnInput { context: Tokens(1000), ..TurnInput::default() };
    let first = replay.ask(&input);
    let state = replay.state();
    let again = replay.ask(&TurnInput { generation: GenerationType::Swipe, ..input.clone() });
    assert_eq!((&again.injections, &again.delta), (&first.injections, &first.delta));
    assert_eq!(replay.state(), state);
    assert_eq!(state.sticky.len(), 1);
    replay.ask(&TurnInput { generation: GenerationType::Quiet, dry_run: true, ..input });
    assert_eq!(replay.state(), state);
}

#[test]
fn a_turn_sees_the_story_under_the_names_it_was_given() {
    let rules = Profile::Loreloom.rules();
    let mut book = book();
    book.entries = vec![entry(0, "Tom", "Tom is tall.")];
    let library = Library::under([Arc::new(book)], &rules);
    let active = ActiveEntries::all(&library, rules.world_info.strategy);
    let lore =
        ReplayLore { library: &library, active: &active, rules: &rules, counter: &ByteEstimate };
    let mut replay = Replay::new(ChatId::from("c"), lore);
    let said = |name| {
        let talk = [(Role::User, "Hello."), (Role::Assistant, "Yes."), (Role::User, "Good.")];
        talk.map(|(role, text)| Message::new(role, name, text))
    };
    for message in said(Some("Tom")) {
        replay.say(message);
    }
    let nameless = Path::of(ChatId::from("c"), said(None));
    let input = |voices| TurnInput { context: Tokens(1000), voices, ..TurnInput::default() };
    let fired = |woven: Decision| woven.injections.len();
    assert_eq!(fired(replay.ask(&input(Voices::default()))), 1);
    assert_eq!(fired(replay.ask(&input(Voices::of(&nameless)))), 0);
    assert_eq!(replay.path().prefix(), nameless.prefix());
}

#[test]
fn a_turn_weaves_only_from_the_books_that_were_attached() {
    let rules = Profile::Loreloom.rules();
    let mut other = Book::new("other", "Other");
    other.entries = vec![entry(7, "bell", "Bells ring.")];
    let library = Library::under([Arc::new(book()), Arc::new(other)], &rules);
    let active = ActiveEntries::all(&library, rules.world_info.strategy);
    let lore =
        ReplayLore { library: &library, active: &active, rules: &rules, counter: &ByteEstimate };
    let mut replay = Replay::new(ChatId::from("c"), lore);
    replay.say(Message::new(Role::User, None, "the bell"));
    let mut texts = |attachments| {
        let input = TurnInput { context: Tokens(1000), attachments, ..TurnInput::default() };
        let woven = replay.ask(&input);
        woven.injections.into_iter().map(|one| one.text).collect::<Vec<_>>()
    };
    let only = vec![Attachment { book: 1, scope: Scope::Chat }];
    assert_eq!(texts(Some(only)), ["Bells ring."]);
    assert_eq!(texts(Some(Vec::new())), [""; 0]);
    assert_eq!(texts(None).len(), 2);
}

#[test]
fn other_books_show_what_appears_vanishes_is_rewritten_and_fits_no_more() {
    let old = lines(book(), story(&STORY));
    assert_eq!(compare(&old, &old), []);
    let mut changed = book();
    changed.entries[0].activation.timed.sticky = None;
    changed.entries[1].content = "The tower fell. ".repeat(80);
    changed.entries.push(entry(2, "went", "They went."));
    let changes = compare(&old, &lines(changed, story(&STORY)));
    let names = |fired: &[Fired]| fired.iter().map(|one| one.title.clone()).collect::<Vec<_>>();
    let rows: Vec<_> = changes
        .iter()
        .map(|one| (one.at, names(&one.appeared), names(&one.vanished), one.now_over_budget))
        .collect();
    let name = |text: &str| vec![text.to_owned()];
    assert_eq!(
        rows,
        [
            (4, vec![], name("bell"), false),
            (6, name("went"), vec![], false),
            (8, vec![], name("tower"), true),
        ]
    );
    let mut rewritten = book();
    rewritten.entries[1].content = "The tower fell.".to_owned();
    let changes = compare(&old, &lines(rewritten, story(&STORY)));
    assert_eq!(changes.len(), 1);
    assert_eq!(names(&changes[0].rewritten), ["tower"]);
}
