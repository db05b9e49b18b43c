//! What our own rules do differently from DeepLore's, and what no rules may do.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::{
    dice::{Dice, Roll},
    report::{Outcome, Reason, Stop, TextSource},
    scan::WordRule,
    tokens::TokenCounter,
    turn::VaultContext,
    units::Tokens,
};

struct Never;

impl Dice for Never {
    fn roll(&mut self, _: Roll<'_>) -> f64 {
        panic!("no note here leaves anything to chance")
    }
}

/// A token for every word.
struct Words;

impl TokenCounter for Words {
    fn name(&self) -> &'static str {
        "words"
    }

    fn count(&self, text: &str) -> Tokens {
        Tokens(u32::try_from(text.split_whitespace().count()).unwrap_or(u32::MAX))
    }
}

fn note(title: &str, keys: &[&str], content: &str) -> Note {
    let mut note = Note::new("", &format!("{title}.md"), title);
    note.keys = keys.iter().map(|key| (*key).to_owned()).collect();
    content.clone_into(&mut note.content);
    note.hash = hash_of(content);
    note.counted(&Words)
}

fn turn(notes: Vec<Note>, chat: &[&str], rules: &VaultRules) -> (Vault, VaultReport) {
    let vault = Vault::compile(notes, rules);
    let mut lines = Lines::default();
    for text in chat {
        lines.push("Ann", text, true, true);
    }
    let (state, context) = (VaultState::default(), VaultContext::default());
    let turn = VaultTurn::new(&vault, rules, &state, &lines, &context);
    let mut cache = VaultCache::default();
    let matches = find(turn, &mut Never, &mut cache);
    let picks = matches.picks.clone();
    let report = turn.decide(matches, picks, (&Words, &mut cache));
    (vault, report)
}

fn injected(notes: Vec<Note>, chat: &[&str], rules: &VaultRules) -> Vec<String> {
    let (vault, report) = turn(notes, chat, rules);
    report.fitted.notes.iter().map(|one| vault.note(one.ix).title.clone()).collect()
}

#[test]
fn a_guide_never_reaches_the_model_by_any_way() {
    let mut guide = note("Style", &["style"], "write short harbour sentences");
    guide.kind.guide = true;
    guide.kind.constant = true;
    let mut other = note("Harbour", &["harbour"], "the harbour style is grey");
    other.relations.cascade = vec!["Style".to_owned()];
    for mut rules in [VaultRules::default(), VaultRules::deeplore_2(), VaultRules::deeplore_2_0()] {
        rules.fuzzy.enabled = true;
        rules.fuzzy.min_score = 0.0;
        rules.recursion.enabled = true;
        rules.active_character = true;
        let chat = ["style of the harbour sentences"];
        assert_eq!(injected(vec![guide.clone(), other.clone()], &chat, &rules), ["Harbour"]);
    }
}

#[test]
fn whole_words_are_words_of_every_script() {
    let mut rules = VaultRules::default();
    rules.keys.whole_words = true;
    let notes = || vec![note("Cat", &["кот"], "x"), note("Cafe", &["cafe\u{301}"], "x")];
    let chat = ["скотина в CAFÉ"];
    assert_eq!(injected(notes(), &chat, &rules), ["Cafe"]);
    rules.keys.words = WordRule::Ascii;
    assert_eq!(injected(notes(), &chat, &rules), ["Cafe", "Cat"]);
}

#[test]
fn letters_that_share_a_capital_are_one_letter_in_whole_words() {
    let mut rules = VaultRules::deeplore_2();
    for (whole_words, key, text, found) in [
        (true, "Σ", "ς here", true),
        (true, "µm", "5 μm thick", true),
        (true, "μm", "5 µm thick", true),
        (true, "ὁδόσ", "ὁδός", true),
        (true, "вода", "\u{1c80}ода", true),
        // The capital of `ſ` is plain `S`, which no other letter may become.
        (true, "s", "ſ", false),
        (false, "µm", "5 μm thick", false),
    ] {
        rules.keys.whole_words = whole_words;
        let titles = injected(vec![note("A", &[key], "x")], &[text], &rules);
        assert_eq!(!titles.is_empty(), found, "{key} in {text}");
    }
}

#[test]
fn a_refine_key_may_lie_across_messages() {
    let mut inn = note("Inn", &["end"], "x");
    inn.refine.keys = vec!["end\nann: start".to_owned()];
    let rules = VaultRules::default();
    assert_eq!(injected(vec![inn.clone()], &["the end", "start here"], &rules), ["Inn"]);
    assert_eq!(injected(vec![inn], &["the end", "go on"], &rules), [] as [&str; 0]);
}

#[test]
fn a_priority_of_nothing_is_fifty_in_the_order_that_requires_leave() {
    let ranked = |title: &str, priority: f64| {
        let mut note = note(title, &["key"], "x");
        note.priority = priority;
        note
    };
    let notes = || {
        vec![ranked("Zero", 0.0), ranked("Low", 20.0), ranked("Mid", 50.0), ranked("High", 90.0)]
    };
    for (rules, expected) in [
        (VaultRules::default(), ["Zero", "Low", "Mid", "High"]),
        (VaultRules::deeplore_2(), ["Low", "Mid", "Zero", "High"]),
    ] {
        assert_eq!(injected(notes(), &["key"], &rules), expected);
    }
}

#[test]
fn notes_of_one_title_are_ordered_by_vault_or_stay_as_they_came() {
    let of = |vault: &str| {
        let mut note = note("A", &["key"], vault);
        vault.clone_into(&mut note.vault);
        note
    };
    for (rules, expected) in
        [(VaultRules::deeplore_2(), ["n", "s"]), (VaultRules::deeplore_2_0(), ["s", "n"])]
    {
        let (vault, report) = turn(vec![of("s"), of("n")], &["key"], &rules);
        let vaults: Vec<&str> =
            report.fitted.notes.iter().map(|one| vault.note(one.ix).vault.as_str()).collect();
        assert_eq!(vaults, expected);
    }
}

#[test]
fn a_folder_may_end_in_a_slash_except_for_deeplore() {
    let mut low = note("Low", &["key"], "x");
    low.path = "a/b/Low.md".to_owned();
    let top = note("Top", &["key"], "x");
    for (rules, expected) in
        [(VaultRules::default(), vec!["Low", "Top"]), (VaultRules::deeplore_2(), vec!["Top"])]
    {
        let vault = Vault::compile([low.clone(), top.clone()], &rules);
        let picks: Vec<Pick> =
            vault.entries().map(|ix| Pick::new(&vault, ix, Reason::Key)).collect();
        let gates = VaultGates::new(&vault, &rules, vault.entries(), &[], false);
        let (kept, _) = gates.by_folder(picks, &["a/".to_owned()]);
        let titles: Vec<&str> =
            kept.iter().map(|pick| vault.note(pick.ix).title.as_str()).collect();
        assert_eq!(titles, expected);
    }
}

#[test]
fn whoever_speaks_brings_in_the_notes_of_that_title_or_the_first_with_that_key() {
    let rules = VaultRules { active_character: true, ..VaultRules::default() };
    let notes =
        [note("Pilot", &["Ilka"], "x"), note("Sister", &["ilka"], "x"), note("Orm", &[], "x")];
    let mut second = note("orm", &[], "x");
    second.vault = "other".to_owned();
    let vault = Vault::compile(notes.into_iter().chain([second]), &rules);
    for (character, expected) in
        [("ILKA", vec!["Pilot"]), ("Orm", vec!["orm", "Orm"]), ("Ann", vec![])]
    {
        let (lines, state) = (Lines::default(), VaultState::default());
        let context = VaultContext::default();
        let turn = VaultTurn::new(&vault, &rules, &state, &lines, &context);
        let turn = VaultTurn { character: Some(character), ..turn };
        let found = find(turn, &mut Never, &mut VaultCache::default());
        let titles: Vec<&str> =
            found.picks.iter().map(|pick| vault.note(pick.ix).title.as_str()).collect();
        assert_eq!(titles, expected);
    }
}

#[test]
fn a_mark_refuses_only_notes_of_another_vault() {
    for (mark, of, names) in [
        (None, "north", true),
        (Some(""), "north", true),
        (Some("north"), "north", true),
        (Some("north"), "", true),
        (Some("north"), "south", false),
    ] {
        let note = Note::new(of, "Keep.md", "Keep");
        let mark = NoteMark { title: "keep".to_owned(), vault: mark.map(str::to_owned) };
        assert_eq!(mark.names(&note), names, "{mark:?} {of:?}");
    }
}

#[test]
fn an_excluded_note_takes_no_part_in_recursion() {
    let notes = || {
        let mut gate = note("Gate", &["gate"], "the tower");
        gate.exclude_recursion = true;
        vec![note("Road", &["road"], "to the gate"), gate, note("Tower", &["tower"], "high")]
    };
    let mut rules = VaultRules::default();
    rules.recursion.enabled = true;
    assert_eq!(injected(notes(), &["the road"], &rules), ["Road"]);
    rules.recursion.excluded = ExcludedNotes::BringNothing;
    assert_eq!(injected(notes(), &["the road"], &rules), ["Gate", "Road"]);
}

#[test]
fn refine_keys_hold_for_notes_found_by_meaning() {
    let notes = || {
        let mut rose = note("Rose", &["zz"], "spymaster of the lamp guild");
        rose.refine.keys = vec!["sword".to_owned()];
        vec![rose, note("Tea", &["tea"], "bitter leaves")]
    };
    let mut rules = VaultRules::default();
    rules.fuzzy.enabled = true;
    assert_eq!(injected(notes(), &["the lamp guild"], &rules), [""; 0]);
    assert_eq!(injected(notes(), &["the lamp guild", "a sword"], &rules), ["Rose"]);
    rules.fuzzy.refine = false;
    assert_eq!(injected(notes(), &["the lamp guild"], &rules), ["Rose"]);
}

#[test]
fn a_long_chain_of_requirements_settles() {
    let chain = || {
        let link = |at: u32| {
            let mut link = note(&format!("L{at:02}"), &["chain"], "x");
            link.priority = f64::from(100 - at);
            link.relations.requires = vec![format!("L{:02}", at + 1)];
            link
        };
        (0..30).map(link).collect::<Vec<_>>()
    };
    assert_eq!(injected(chain(), &["chain"], &VaultRules::default()), [""; 0]);
    let (_, half) = turn(chain(), &["chain"], &VaultRules::deeplore_2());
    assert_eq!(half.fitted.notes.len(), 10);
}

#[test]
fn the_first_note_is_never_cut_by_our_budget() {
    let mut rules = VaultRules::default();
    rules.budget.tokens = Some(Tokens(100));
    let long = "word ".repeat(500);
    let notes = || vec![note("Long", &["k"], &long), note("Short", &["k"], "word")];
    let (_, report) = turn(notes(), &["k"], &rules);
    assert_eq!(report.fitted.tokens(), Tokens(500));
    assert!(report.fitted.stopped.iter().all(|one| matches!(one.stop, Stop::Budget { .. })));
    rules.budget.oversized_first = OversizedFirst::Truncate;
    let (_, report) = turn(notes(), &["k"], &rules);
    assert_eq!(report.fitted.tokens(), Tokens(100));
}

#[test]
fn text_that_looks_like_a_mark_is_sent_as_written() {
    let price = note("Price", &["k"], "costs $$5 and $& and {{content}} {{title}}");
    let (_, report) = turn(vec![price], &["k"], &VaultRules::deeplore_2_0());
    let sent = "<Price>\ncosts $$5 and $& and {{content}} {{title}}\n</Price>";
    assert_eq!(report.fitted.notes[0].text, sent);
}

#[test]
fn verdicts_name_the_key_and_the_rule() {
    let mut vell = note("Vell", &["Vell"], "x");
    vell.relations.requires = vec!["Nobody".to_owned()];
    let notes = vec![note("Orsa", &["smith", "Orsa"], "x"), vell, note("Far", &["far"], "x")];
    let (_, report) = turn(notes, &["Call ORSA.", "and Vell"], &VaultRules::default());
    let codes: Vec<(&str, &str)> =
        report.verdicts.iter().map(|one| (one.title.as_str(), one.code())).collect();
    assert_eq!(codes, [("Orsa", "activated"), ("Vell", "requires")]);
    let Outcome::Activated { trigger, .. } = &report.verdicts[0].outcome else {
        panic!("Orsa went in")
    };
    assert_eq!(trigger.reason, Reason::Key);
    let primary = trigger.primary.as_ref().unwrap();
    let at = primary.at.as_ref().unwrap();
    let TextSource::Message { index, .. } = at.source else { panic!("in a message") };
    assert_eq!((primary.key.as_str(), index, at.start, at.end), ("Orsa", 0, 5, 9));
}

#[test]
fn a_selecting_model_chooses_among_matches_and_what_they_link_to() {
    let rules = VaultRules::default();
    let mut law = note("Law", &[], "x");
    law.kind.constant = true;
    let mut hall = note("Great Hall", &["hall"], "x");
    hall.relations.links = vec!["Oak Door".to_owned()];
    let notes = vec![law, hall, note("Oak Door", &[], "x"), note("Well", &["hall"], "x")];
    let vault = Vault::compile(notes, &rules);
    let mut lines = Lines::default();
    lines.push("Ann", "into the hall", true, true);
    let (state, context) = (VaultState::default(), VaultContext::default());
    let turn = VaultTurn::new(&vault, &rules, &state, &lines, &context);
    let matches = find(turn, &mut Never, &mut VaultCache::default());
    let titles = |picks: &[Pick]| -> Vec<String> {
        picks.iter().map(|pick| vault.note(pick.ix).title.clone()).collect()
    };
    let mut selection = SelectionRules::default();
    let open = candidates(&vault, &matches, &selection);
    assert_eq!(titles(&open), ["Great Hall", "Law", "Well", "Oak Door"]);
    let choice = |title: &str, confidence| NoteChoice {
        title: title.to_owned(),
        confidence,
        reason: "named".to_owned(),
    };
    let answer = [choice("oak doors", Confidence::Low), choice("Well", Confidence::High)];
    let choose = |answer: Option<&[NoteChoice]>, selection: &SelectionRules| {
        titles(&select(turn, &matches, &open, answer, selection))
    };
    assert_eq!(choose(Some(&answer), &selection), ["Law", "Oak Door", "Well"]);
    assert_eq!(choose(Some(&[]), &selection), ["Law"]);
    // A linked note is for the model to want.
    assert_eq!(choose(None, &selection), ["Great Hall", "Law", "Well"]);
    selection.on_failure = OnFailure::Candidates;
    assert_eq!(choose(None, &selection), ["Great Hall", "Law", "Oak Door", "Well"]);
    selection.confidence = Threshold::Medium;
    selection.on_failure = OnFailure::Matches;
    assert_eq!(choose(Some(&answer), &selection), ["Law", "Well"]);
    assert_eq!(choose(None, &selection), ["Great Hall", "Law", "Well"]);
}

#[test]
fn links_lead_to_notes_by_title_whatever_their_case() {
    let mut road = note("Road", &["road"], "x");
    road.relations.links = vec!["old MILL".to_owned(), "Nowhere".to_owned()];
    let vault = Vault::compile([road, note("Old Mill", &[], "x")], &VaultRules::default());
    let ix = vault.titled("ROAD")[0];
    assert_eq!(vault.note(ix).relations.resolved_links, ["Old Mill"]);
}

#[test]
fn a_vault_with_other_notes_searches_like_a_new_one() {
    let mut rules = VaultRules::default();
    rules.fuzzy.enabled = true;
    let before = vec![note("A", &[], "salt road"), note("B", &[], "glass orchard")];
    let after = || vec![note("C", &[], "salt mine"), note("B", &[], "glass lamp and salt")];
    let fresh = Vault::compile(after(), &rules);
    let kept = Vault::compile_after(
        Some(&Vault::compile(before, &rules)),
        after().into_iter().map(Arc::new),
        &rules,
    );
    let query = |vault: &Vault| {
        let mut found = vault.search().unwrap().query("salt lamp", 20, 0.0);
        found.sort_by_key(|one| one.ix);
        found
    };
    assert_eq!(query(&kept), query(&fresh));
    assert_eq!(query(&fresh).len(), 2);
}

/// Text whose first half has more tokens than its length lets expect.
fn uneven(length: usize) -> String {
    "so it is. ".repeat(length) + &"incomprehensibilities. ".repeat(length)
}

#[test]
fn nothing_goes_in_after_a_note_that_does_not_fit() {
    let mut rules = VaultRules::default();
    rules.budget.tokens = Some(Tokens(100));
    let long = "word ".repeat(60);
    let notes = vec![note("A", &["k"], &long), note("B", &["k"], &long), note("C", &["k"], "w")];
    let (_, report) = turn(notes, &["k"], &rules);
    let codes: Vec<&str> = report.fitted.stopped.iter().map(|one| one.stop.code()).collect();
    assert_eq!((report.fitted.notes.len(), codes), (1, vec!["budget", "budget_closed"]));
}

proptest! {
    #[test]
    fn the_budget_is_never_exceeded_when_tokens_are_counted(
        lengths in prop::collection::vec(1_usize..400, 1..12),
        limit in 50_u32..600,
    ) {
        let mut rules = VaultRules::default();
        rules.budget.tokens = Some(Tokens(limit));
        rules.budget.oversized_first = OversizedFirst::Truncate;
        let notes = lengths
            .iter()
            .enumerate()
            .map(|(at, length)| note(&format!("N{at}"), &["k"], &uneven(*length)))
            .collect();
        let (_, report) = turn(notes, &["k"], &rules);
        let used: u32 = report.fitted.notes.iter().map(|one| one.tokens.0).sum();
        prop_assert!(used <= limit, "{used} of {limit}");
    }

    #[test]
    fn gates_settle_and_leave_no_open_requirement(
        edges in prop::collection::vec((0_usize..8, 0_usize..8, any::<bool>()), 0..20),
    ) {
        let mut notes: Vec<Note> =
            (0..8).map(|at| note(&format!("N{at}"), &["k"], "x")).collect();
        for (from, to, requires) in edges {
            let relations = &mut notes[from].relations;
            let list = if requires { &mut relations.requires } else { &mut relations.excludes };
            list.push(format!("N{to}"));
        }
        let (vault, report) = turn(notes, &["k"], &VaultRules::default());
        let is_in = |title: &str| {
            report.fitted.notes.iter().any(|one| vault.note(one.ix).title == title)
        };
        for one in &report.fitted.notes {
            let relations = &vault.note(one.ix).relations;
            prop_assert!(relations.requires.iter().all(|title| is_in(title)));
            prop_assert!(!relations.excludes.iter().any(|title| is_in(title)));
        }
    }
}
