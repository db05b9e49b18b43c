//! Turns with a vault beside the books.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use super::*;
use crate::{
    book::{Book, Entry, Key},
    chat::{Message, Path, Role},
    dialects::vault::{
        Confidence, Note, NoteChoice, NoteMark, Pick, SelectionRules, Vault, hash_of,
    },
    ids::ChatId,
    library::{ActiveEntries, Attachment, LibrarySource, Scope},
    report::{Fallback, Outcome, Reason, Stop, words},
    rules::Rules,
    state::StoryState,
    tokens::ByteEstimate,
    turn::{Instruments, Selection, Transcript, TurnCache, TurnInput, VaultContext},
    units::Tokens,
};

fn note(title: &str, key: &str, content: &str) -> Note {
    let mut note = Note::new("", &format!("{title}.md"), title);
    note.keys = vec![key.to_owned()];
    content.clone_into(&mut note.content);
    note.hash = hash_of(content);
    note.counted(&ByteEstimate)
}

fn library_source() -> LibrarySource {
    let mut book = Book::new("b", "B");
    let mut entry = Entry::new("b/0");
    entry.activation.keys = vec![Key::parse("harbour")];
    entry.content = "The harbour silts up.".to_owned();
    entry.name = "Harbour".to_owned();
    book.entries = vec![entry];
    let mut source = LibrarySource::world_info([Arc::new(book)], Rules::default());
    let mut bell = note("Bell", "bell", "The bell hangs over the harbour.");
    bell.cooldown = Some(2.0);
    source.notes = vec![Arc::new(bell), Arc::new(note("Tower", "tower", "The tower leans."))];
    source
}

fn woven(source: &LibrarySource, texts: &[&str], state: &StoryState, input: TurnInput) -> Decision {
    woven_in(source, Scope::Global, (texts, state), input)
}

/// A turn whose book is attached for this reason.
fn woven_in(
    source: &LibrarySource,
    scope: Scope,
    (texts, state): (&[&str], &StoryState),
    input: TurnInput,
) -> Decision {
    let library = source.compile();
    let attachments = [Attachment { book: 0, scope }];
    let active = ActiveEntries::new(&library, &attachments, source.rules.world_info.strategy);
    let said = texts.iter().map(|text| Message::new(Role::User, Some("Mira"), *text));
    let path = Path::of(ChatId::from("c"), said);
    let transcript = Transcript::of(&path, true);
    let input = TurnInput { context: Tokens(4000), ..input };
    let turn = input.turn(&path, &transcript);
    let mut dice = turn.dice();
    let mut cache = TurnCache::default();
    let mut instruments =
        Instruments { counter: &ByteEstimate, dice: &mut dice, cache: &mut cache };
    decide(
        &EngineInput {
            library: &library,
            active: &active,
            turn: &turn,
            state,
            rules: &source.rules,
        },
        &mut instruments,
    )
}

fn texts(woven: &Decision) -> Vec<&str> {
    woven.injections.iter().map(|one| one.text.as_str()).collect()
}

fn has(woven: &Decision, part: &str) -> bool {
    texts(woven).iter().any(|text| text.contains(part))
}

#[test]
fn notes_are_woven_beside_books_and_their_pauses_carry_over() {
    let source = library_source();
    let first = woven(&source, &["I hear a bell."], &StoryState::default(), TurnInput::default());
    assert!(has(&first, "The bell hangs"), "{:?}", texts(&first));
    assert!(!has(&first, "The tower leans."));
    assert_eq!(first.report.untouched, 2, "the harbour's entry and the tower's note");
    let mut state = StoryState::default();
    state.apply(&first.delta);
    let second = woven(&source, &["A bell.", "A bell again."], &state, TurnInput::default());
    assert!(!has(&second, "The bell hangs"), "it pauses: {:?}", texts(&second));
    let bell = second.report.verdicts.iter().find(|verdict| verdict.title == "Bell").unwrap();
    assert!(matches!(bell.outcome, Outcome::Stopped(Stop::Resting { .. })), "{bell:?}");
    let input = TurnInput { dry_run: true, ..TurnInput::default() };
    assert!(woven(&source, &["bell"], &StoryState::default(), input).delta.is_empty());
}

#[test]
fn the_vaults_text_reaches_world_info_only_if_the_rules_say_so() {
    let mut source = library_source();
    let turn = |source: &LibrarySource| {
        woven(source, &["I hear a bell."], &StoryState::default(), TurnInput::default())
    };
    assert!(!has(&turn(&source), "silts up"));
    source.rules.vault.feeds_world_info = true;
    assert!(has(&turn(&source), "silts up"));
}

#[test]
fn pins_blocks_and_a_selecting_model_decide_what_goes_in() {
    let mut source = library_source();
    let mark = |title: &str| NoteMark { title: title.to_owned(), vault: None };
    let (pins, blocks) = (vec![mark("tower")], vec![mark("bell")]);
    let context = VaultContext { pins, blocks, ..VaultContext::default() };
    let input = TurnInput { vault_context: Some(context), ..TurnInput::default() };
    let pinned = woven(&source, &["I hear a bell."], &StoryState::default(), input);
    assert!(has(&pinned, "The tower leans.") && !has(&pinned, "The bell hangs"));

    source.rules.vault.selection = Some(SelectionRules::default());
    let both = ["The bell in the tower."];
    let answered = |selection| {
        let input = TurnInput { selection: Some(selection), ..TurnInput::default() };
        woven(&source, &both, &StoryState::default(), input)
    };
    let tower = NoteChoice {
        title: "Tower".to_owned(),
        confidence: Confidence::High,
        reason: "it is seen".to_owned(),
    };
    let chosen = answered(Selection::Chosen(vec![tower]));
    assert!(has(&chosen, "The tower leans.") && !has(&chosen, "The bell hangs"));
    let verdict = chosen.report.verdicts.iter().find(|one| one.title == "Tower").unwrap();
    let Outcome::Activated { trigger, .. } = &verdict.outcome else { panic!("{verdict:?}") };
    assert!(matches!(&trigger.reason, Reason::Selected { confidence, .. } if confidence == "high"));
    let failed = answered(Selection::Failed { reason: "timed out".to_owned() });
    assert!(has(&failed, "The tower leans.") && has(&failed, "The bell hangs"));
    let using = failed.report.selection.clone().unwrap();
    assert_eq!((using.candidates, using.fallback), (2, Some(Fallback::Matches)));
    let none = answered(Selection::Chosen(Vec::new()));
    assert_eq!(texts(&none), [] as [&str; 0], "only constants, and there are none");
    let bell = none.report.verdicts.iter().find(|verdict| verdict.title == "Bell").unwrap();
    assert_eq!(bell.outcome, Outcome::Stopped(Stop::FellBack { to: Fallback::Constants }));
    let nothing_to_choose = answered(Selection::NotAsked);
    assert!(has(&nothing_to_choose, "The bell hangs"), "what the chat brought in");
}

#[test]
fn notes_are_matched_once_though_a_model_selects() {
    let mut source = library_source();
    source.rules.vault.selection = Some(SelectionRules::default());
    let library = source.compile();
    let active = ActiveEntries::all(&library, source.rules.world_info.strategy);
    let path = Path::of(ChatId::from("c"), [Message::new(Role::User, None, "The bell tower.")]);
    let transcript = Transcript::of(&path, true);
    let mut input = TurnInput { context: Tokens(4000), ..TurnInput::default() };
    let state = StoryState::default();
    let (mut dice, mut cache) = (input.turn(&path, &transcript).dice(), TurnCache::default());
    let scans = Arc::new(AtomicU32::new(0));
    let seen = Arc::clone(&scans);
    cache.watch_vault(move |stage| {
        seen.fetch_add(u32::from(stage.name == "keys"), Ordering::Relaxed);
    });
    let mut instruments =
        Instruments { counter: &ByteEstimate, dice: &mut dice, cache: &mut cache };
    let (active, rules) = (&active, &source.rules);
    let turn = &input.turn(&path, &transcript);
    let before = EngineInput { library: &library, active, turn, state: &state, rules };
    let prepared = prepare(&before, &mut instruments);
    assert_eq!(prepared.open_notes().map(<[Pick]>::len), Some(2));
    input.selection = Some(Selection::Chosen(Vec::new()));
    let turn = &input.turn(&path, &transcript);
    let after = EngineInput { library: &library, active, turn, state: &state, rules };
    let decision = finish(prepared, &after, &mut instruments);
    assert_eq!((texts(&decision), scans.load(Ordering::Relaxed)), (Vec::new(), 1));
}

#[test]
fn a_note_that_changes_makes_another_library() {
    let before = library_source();
    let mut after = before.clone();
    after.notes[1] = Arc::new(note("Tower", "tower", "The tower fell."));
    assert_ne!(before.version(), after.version());
    let library = before.compile();
    assert_eq!(library.version(), before.version());
    let next = after.compile_after(Some(&library));
    assert_eq!(next.version(), after.version());
    assert_eq!(next.vault().map(Vault::len), Some(2));
    let written = serde_json::to_string(&after).unwrap();
    assert_eq!(serde_json::from_str::<LibrarySource>(&written).unwrap(), after);
}

#[test]
fn the_book_of_a_card_says_that_it_takes_part_while_nobody_is_known_to_speak() {
    let source = library_source();
    let said = |scope: Scope| {
        let state = StoryState::default();
        let turn = woven_in(&source, scope, (&["The harbour."], &state), TurnInput::default());
        let verdict = turn.report.verdicts.iter().find(|verdict| verdict.title == "Harbour");
        words::sentence(verdict.unwrap(), &|id| id.as_str().to_owned())
    };
    let known = "“harbour” in message 1, by Mira; before the character";
    assert_eq!(said(Scope::Character), known);
    let unknown = "its character's book takes part while nobody is known to speak";
    assert_eq!(said(Scope::UnknownSpeaker), format!("{known}; {unknown}"));
}
