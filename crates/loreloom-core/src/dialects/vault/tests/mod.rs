//! What our own rules do differently from DeepLore's, and what no rules may do.

mod budget;
mod keys;

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::{
    dice::{Dice, Roll},
    library::EntryIx,
    report::{GroupRule, Outcome, Reason, Stop, TextSource, Verdict},
    scan::WordRule,
    tokens::TokenCounter,
    turn::VaultContext,
    units::Tokens,
};

struct Never;

impl Dice for Never {
    fn roll(&mut self, roll: Roll<'_>) -> f64 {
        assert!(matches!(roll, Roll::Group(_)), "no note here leaves anything to chance");
        0.999
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
    let mut dice = Never;
    let mut tools =
        VaultTools { counter: &Words, dice: &mut dice, cache: &mut cache, rendering: None };
    let report = turn.decide(matches, (picks, Vec::new()), &mut tools);
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
fn a_mark_refuses_only_notes_of_another_vault() {
    for (mark, of, names) in [
        (None, "north", true),
        (Some(""), "north", true),
        (Some("north"), "north", true),
        (Some("north"), "", true),
        (Some("north"), "south", false),
    ] {
        let vault = Vault::compile([Note::new(of, "Keep.md", "Keep")], &VaultRules::default());
        let mark = NoteMark { title: "keep".to_owned(), vault: mark.map(str::to_owned) };
        assert_eq!(vault.is_marked(EntryIx(0), &mark), names, "{mark:?} {of:?}");
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
    selection.confidence = Confidence::Medium;
    selection.on_failure = OnFailure::Matches;
    assert_eq!(choose(Some(&answer), &selection), ["Law", "Well"]);
    assert_eq!(choose(None, &selection), ["Great Hall", "Law", "Well"]);
}

#[test]
fn a_sticky_note_stays_and_a_delayed_one_waits() {
    let mut stays = note("Stays", &["rope"], "x");
    stays.sticky = Some(3);
    let mut waits = note("Waits", &["bell"], "x");
    waits.delay = Some(4);
    let rules = VaultRules::default();
    let vault = Vault::compile([stays, waits], &rules);
    let (mut state, mut lines) = (VaultState::default(), Lines::default());
    let mut sent = Vec::new();
    for text in ["rope and bell", "bell", "bell", "bell", "none", "none", "none", "none"] {
        lines.push("Ann", text, true, true);
        let mut own = rules.clone();
        own.keys.depth = 1;
        let context = VaultContext::default();
        let turn = VaultTurn::new(&vault, &own, &state, &lines, &context);
        let mut cache = VaultCache::default();
        let matches = find(turn, &mut Never, &mut cache);
        let picks = (matches.picks.clone(), Vec::new());
        let mut dice = Never;
        let mut tools =
            VaultTools { counter: &Words, dice: &mut dice, cache: &mut cache, rendering: None };
        let report = turn.decide(matches, picks, &mut tools);
        let verdict = |title: &str| {
            let of = |one: &&Verdict| one.title == title;
            report.verdicts.iter().find(of).map_or("-", Verdict::code)
        };
        sent.push([verdict("Stays"), verdict("Waits")]);
        state = report.state;
    }
    let (on, off) = ("activated", "-");
    let expected = [
        [on, "delay"],
        [on, "delay"],
        [on, "delay"],
        [off, on],
        [off, off],
        [off, off],
        [off, off],
        [off, off],
    ];
    assert_eq!(sent, expected);
}

#[test]
fn of_a_group_one_note_goes_in_and_a_constant_wins() {
    let member = |title: &str, weight: Option<f64>| {
        let mut one = note(title, &["k"], "x");
        one.groups = vec!["weather".to_owned()];
        one.group_weight = weight;
        one
    };
    let rules = VaultRules::default();
    // The roll is high, so the last of the draw wins.
    let drawn = injected(vec![member("Fog", None), member("Rain", Some(1.0))], &["k"], &rules);
    assert_eq!(drawn, ["Rain"]);
    let mut law = member("Fog", None);
    law.kind.constant = true;
    let (vault, report) = turn(vec![law, member("Rain", None)], &["k"], &rules);
    let stop = Stop::Group {
        group: "weather".to_owned(),
        winner: Some(vault.id(vault.named("Fog")[0]).clone()),
        rule: GroupRule::Priority,
    };
    let codes: Vec<&Outcome> = report.verdicts.iter().map(|one| &one.outcome).collect();
    assert_eq!(codes[1..], [&Outcome::Stopped(stop)]);
}

#[test]
fn the_verdict_names_the_rule_a_note_got_furthest_with() {
    let mut bell = note("Bell", &["bell"], "the rope, the mast and the sail");
    bell.relations.cascade = vec!["Tower".to_owned()];
    let mut tower = note("Tower", &["spire"], "x");
    tower.probability = Some(0.0);
    let mut rope = note("Rope", &["rope"], "x");
    rope.refine.keys = vec!["knot".to_owned()];
    let mut mast = note("Mast", &["mast"], "x");
    mast.exclude_recursion = true;
    let mut sail = note("Sail", &["sail"], "the far anchor");
    sail.warmup = Some(1.0);
    let anchor = note("Anchor", &["far anchor"], "x");
    let mut rules = VaultRules::default();
    (rules.recursion.enabled, rules.recursion.steps) = (true, 1);
    rules.keys.names = false;
    let (_, report) = turn(vec![bell, tower, rope, mast, sail, anchor], &["bell"], &rules);
    let mut codes: Vec<(&str, &str)> =
        report.verdicts.iter().map(|one| (one.title.as_str(), one.code())).collect();
    codes.sort_unstable();
    let expected = [
        ("Anchor", "recursion_limit"),
        ("Bell", "activated"),
        ("Mast", "excluded_from_recursion"),
        ("Rope", "secondary"),
        ("Sail", "activated"),
        ("Tower", "chance"),
    ];
    assert_eq!(codes, expected);
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
            .map(|(at, length)| note(&format!("N{at}"), &["k"], &budget::uneven(*length)))
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
