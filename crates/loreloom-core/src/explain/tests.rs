use std::sync::Arc;

use super::*;
use crate::{
    book::{Book, Entry, Extensions, Key, Position},
    chat::{Path, Role},
    dialects::{
        vault::{Note, NoteMark, Vault},
        worldinfo::WorldInfoRules,
    },
    ids::ChatId,
    library::EntryIx,
    rules::VaultUse,
    tokens::ByteEstimate,
    turn::{Transcript, TurnInput, VaultContext},
    units::{MessageCount, Tokens},
};

fn entry(change: impl FnOnce(&mut Entry)) -> Entry {
    let mut entry = Entry::new("b/0");
    entry.activation.keys = vec![Key::parse("bell")];
    entry.content = "The bell is cracked.".to_owned();
    entry.placement.position = Position::BeforeCharacter;
    change(&mut entry);
    entry
}

/// Asks about a turn of a story whose state is empty.
fn with_case<R>(
    (library, rules): (&Library, &Rules),
    transcript: &Transcript,
    input: &TurnInput,
    ask: impl FnOnce(&Case<'_>) -> R,
) -> R {
    let path = Path::new(ChatId::from("c"));
    let turn = input.turn(&path, transcript);
    ask(&Case {
        library,
        active: &ActiveEntries::all(library, rules.world_info.strategy),
        turn: &turn,
        state: &StoryState::default(),
        rules,
        counter: &ByteEstimate,
        dice: &turn.dice(),
    })
}

fn said(messages: &[&str], mut transcript: Transcript) -> Transcript {
    for message in messages {
        transcript.push(Role::User, Some("Mira"), message);
    }
    transcript
}

fn with_entry<R>(
    messages: &[&str],
    context: u32,
    entry: Entry,
    ask: impl FnOnce(&Case<'_>, &EntryId) -> R,
) -> R {
    let mut book = Book::new("b", "B");
    book.entries.push(entry);
    let rules = Rules { world_info: WorldInfoRules::default(), ..Rules::default() };
    let library = Library::compile([Arc::new(book)], &rules.world_info);
    let input = TurnInput {
        user: "Mira".to_owned(),
        context: Tokens(context),
        seed: 1,
        ..TurnInput::default()
    };
    let (transcript, id) = (said(messages, Transcript::new(true)), EntryId::from("b/0"));
    with_case((&library, &rules), &transcript, &input, |case| ask(case, &id))
}

fn fixed(messages: &[&str], context: u32, entry: Entry) -> Option<Vec<FixChange>> {
    with_entry(messages, context, entry, |case, id| explain(case, id).map(|fix| fix.changes))
}

/// All ways to make the entry fire, with the tokens each costs and what it edits.
fn ways(messages: &[&str], entry: Entry) -> Vec<(String, i64, bool, bool)> {
    let shown = |one: FixCandidate| {
        let words: Vec<String> = one.fix.changes.iter().map(words).collect();
        (words.join("; "), one.tokens, one.entry.is_some(), one.rules.is_some())
    };
    with_entry(messages, 40, entry, candidates).into_iter().map(shown).collect()
}

/// Asks about the first of some notes.
fn with_notes<R>(
    messages: &[&str],
    notes: Vec<Note>,
    using: VaultUse,
    ask: impl FnOnce(&Case<'_>, &EntryId) -> R,
) -> R {
    let rules = Rules { vault: using, ..Rules::default() };
    let vault = Arc::new(Vault::compile(notes, &rules.vault.rules));
    let id = vault.id(EntryIx(0)).clone();
    let library = Library::compile_dialects([], &rules);
    let version = library.version();
    let library = library.with_vault(vault, version);
    let scene = VaultContext {
        context: Extensions::from_iter([("era".to_owned(), "old".into())]),
        folders: vec!["Places".to_owned()],
        blocks: vec![NoteMark { title: "Blocked".to_owned(), vault: None }],
        ..VaultContext::default()
    };
    let input = TurnInput {
        context: Tokens(4096),
        seed: 1,
        vault_context: Some(scene),
        ..TurnInput::default()
    };
    let transcript = said(messages, Transcript::new(true).for_vaults());
    with_case((&library, &rules), &transcript, &input, |case| ask(case, &id))
}

fn fixed_note(messages: &[&str], notes: Vec<Note>, using: VaultUse) -> Vec<FixChange> {
    let ask = |case: &Case<'_>, id: &EntryId| explain(case, id).map(|fix| fix.changes);
    with_notes(messages, notes, using, ask).unwrap_or_default()
}

#[test]
fn several_ways_are_tried_and_cost_what_they_add() {
    let way = |words: &str, tokens: i64, entry: bool, rules: bool| {
        (words.to_owned(), tokens, entry, rules)
    };
    // A key that nobody says: it can be said, one like it can be added, or none needed.
    let gong = |e: &mut Entry| e.activation.keys = vec![Key::parse("bells")];
    assert_eq!(
        ways(&["the bell and more"], entry(gong)),
        [
            way("let the newest message say “bells”", 6, false, false),
            way("add the key “bell”", 6, true, false),
            way("make it constant", 6, true, false),
        ]
    );
    // The lore's budget is a quarter of 40 tokens.
    let long = |e: &mut Entry| e.content = "The bell is cracked and nobody mends it.".to_owned();
    assert_eq!(
        ways(&["the bell"], entry(long)),
        [
            way("allow lore 14 tokens", 12, false, true),
            way("do not count it against the budget", 12, true, false),
        ]
    );
    let all = |e: &mut Entry| {
        e.activation.secondary = crate::book::Secondary {
            active: true,
            logic: crate::book::SelectiveLogic::AndAll,
            keys: vec![Key::parse("rope"), Key::parse("tower")],
        };
    };
    assert_eq!(
        ways(&["the bell on its rope"], entry(all)),
        [
            way("let the newest message say “tower”", 6, false, false),
            way("let one of its secondary keys be enough", 6, true, false),
            way("ignore its secondary keys", 6, true, false),
        ]
    );
    let delayed = |e: &mut Entry| e.activation.timed.delay = Some(3);
    assert_eq!(
        ways(&["the bell"], entry(delayed)),
        [
            way("wait until the chat has 3 messages", 6, false, false),
            way("take its delay away", 6, true, false),
        ]
    );
    assert_eq!(ways(&["the bell"], entry(|_| {})), []);
}

#[test]
fn a_note_can_be_pinned_instead() {
    let mut note = Note::new("", "Bronze.md", "Bronze");
    note.keys = vec!["gong".to_owned()];
    note.content = "It is cracked.".to_owned();
    let found = with_notes(&["all in bronzes"], vec![note], VaultUse::default(), candidates);
    let words: Vec<String> = found.iter().flat_map(|one| &one.fix.changes).map(words).collect();
    assert_eq!(
        words,
        [
            "let the newest message say “gong”",
            "add the key “bronzes”",
            "make it constant",
            "pin “Bronze” to the chat",
        ]
    );
}

#[expect(clippy::too_many_lines, reason = "a table of cases")]
#[test]
fn each_rule_of_a_note_has_its_smallest_change() {
    let note = |title: &str, change: fn(&mut Note)| {
        let mut note = Note::new("", &format!("{title}.md"), title);
        note.keys = vec!["bell".to_owned()];
        note.content = "It is cracked.".to_owned();
        change(&mut note);
        note
    };
    let say = |words: &[&str]| FixChange::Say {
        words: words.iter().map(|word| (*word).to_owned()).collect(),
    };
    let field = |field: &str| FixChange::DropField { field: field.to_owned() };
    let setting = |name: &str, value: &str| FixChange::Setting {
        name: name.to_owned(),
        value: value.to_owned(),
    };
    let values = vec!["new".to_owned()];
    let pin = FixChange::Pin { titles: vec!["Tower".to_owned()] };
    let one: fn(&mut VaultUse) = |using| using.rules.budget.entries = Some(1);
    let same: fn(&mut VaultUse) = |_| {};
    for (name, change, using, expected) in [
        ("in", (|_| {}) as fn(&mut Note), same, vec![]),
        ("key", |note| note.keys = vec!["gong".to_owned()], same, vec![say(&["gong"])]),
        ("refine", |note| note.refine.keys = vec!["rope".to_owned()], same, vec![say(&["rope"])]),
        ("warmup", |note| note.warmup = Some(3.0), same, vec![say(&["bell", "bell"])]),
        (
            "delay",
            |note| note.delay = Some(3),
            same,
            vec![FixChange::Wait { until: MessageCount(3) }],
        ),
        (
            "chance",
            |note| note.probability = Some(0.0),
            same,
            vec![FixChange::Probability { percent: 100.0 }],
        ),
        ("requires", |note| note.relations.requires = vec!["Tower".to_owned()], same, vec![pin]),
        (
            "unknown",
            |note| note.relations.requires = vec!["No".to_owned()],
            same,
            vec![field("requires")],
        ),
        (
            "scene",
            |note| {
                note.fields.insert("era".to_owned(), vec!["new"].into());
            },
            same,
            vec![FixChange::Scene { field: "era".to_owned(), values: values.clone() }],
        ),
        (
            "folder",
            |note| note.path = "People/A.md".to_owned(),
            same,
            vec![FixChange::LookInto { folder: "People".to_owned() }],
        ),
        ("blocked", |note| note.title = "Blocked".to_owned(), same, vec![FixChange::Unblock]),
        ("entries", |note| note.priority = 200.0, one, vec![setting("vault.max_entries", "2")]),
    ] {
        let mut own = VaultUse::default();
        using(&mut own);
        let mut others = vec![note("Other", |_| {}), note("Tower", |note| note.keys.clear())];
        others.insert(0, note("Bronze", change));
        let chat = ["a", "the bell"];
        assert_eq!(fixed_note(&chat, others, own), expected, "{name}");
    }
}

#[expect(clippy::too_many_lines, reason = "a table of cases")]
#[test]
fn each_rule_has_its_smallest_change() {
    let bell: &[&str] = &["the bell"];
    for (messages, context, entry, changes) in [
        (bell, 4096, entry(|_| {}), None),
        (
            &["nothing"][..],
            4096,
            entry(|_| {}),
            Some(vec![FixChange::Say { words: vec!["bell".to_owned()] }]),
        ),
        (
            &["bell", "a", "b"][..],
            4096,
            entry(|_| {}),
            Some(vec![FixChange::ScanDepth { messages: 3 }]),
        ),
        (bell, 4096, entry(|e| e.activation.enabled = false), Some(vec![FixChange::Enable])),
        (
            bell,
            4096,
            entry(|e| e.activation.timed.delay = Some(3)),
            Some(vec![FixChange::Wait { until: MessageCount(3) }]),
        ),
        (bell, 20, entry(|_| {}), Some(vec![FixChange::Budget { tokens: Tokens(8) }])),
        (
            &["nothing"][..],
            4096,
            entry(|e| e.activation.keys = vec![Key::parse(r"/\bgongs?\b/i")]),
            Some(vec![FixChange::Say { words: vec!["gong".to_owned()] }]),
        ),
        // No text matches where the first one must begin the window.
        (
            &["nothing"][..],
            4096,
            entry(|e| e.activation.keys = vec![Key::parse("/^gong/"), Key::parse("bell")]),
            Some(vec![FixChange::Say { words: vec!["bell".to_owned()] }]),
        ),
        (
            &["nothing"][..],
            4096,
            entry(|e| e.activation.keys = vec![Key::parse("/(?<!x)gong/")]),
            Some(vec![FixChange::MakeConstant]),
        ),
        (
            bell,
            4096,
            entry(|e| {
                e.activation.secondary.active = true;
                e.activation.secondary.keys = vec![Key::parse("{{user}}s")];
            }),
            Some(vec![FixChange::Say { words: vec!["Miras".to_owned()] }]),
        ),
        (
            bell,
            4096,
            entry(|e| {
                e.activation.secondary.active = true;
                e.activation.secondary.keys = vec![Key::parse("/(?<!x)gong/")];
            }),
            Some(vec![FixChange::IgnoreSecondary]),
        ),
        (
            &["nothing"][..],
            4096,
            entry(|e| {
                e.activation.enabled = false;
                e.recursion.delay_level = 1;
            }),
            Some(vec![
                FixChange::Enable,
                FixChange::NoRecursionLevel,
                FixChange::Say { words: vec!["bell".to_owned()] },
            ]),
        ),
    ] {
        assert_eq!(fixed(messages, context, entry.clone()), changes, "{messages:?} {entry:?}");
    }
}
