//! What our own rules do differently from DeepLore's, and what no rules may do.

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
    let mut tools = VaultTools::plain(&Words, &mut dice, &mut cache);
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
    assert_eq!((report.fitted.tokens(), report.fitted.stopped.len()), (Tokens(501), 0));
    rules.budget.oversized_first = OversizedFirst::Truncate;
    rules.budget.shorten = true;
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
    let ix = vault.named("ROAD")[0];
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
fn a_note_that_does_not_fit_is_left_out_whole_or_shortened_and_then_ends_the_list() {
    let long = "word ".repeat(60);
    for (shorten, sent, codes) in [
        (false, vec![("A", 60, None), ("C", 1, None)], vec!["budget"]),
        (true, vec![("A", 60, None), ("B", 40, Some(60))], vec!["budget_closed"]),
    ] {
        let mut rules = VaultRules::default();
        rules.budget.tokens = Some(Tokens(100));
        rules.budget.shorten = shorten;
        rules.budget.shortest = Tokens(10);
        let notes =
            vec![note("A", &["k"], &long), note("B", &["k"], &long), note("C", &["k"], "w")];
        let (vault, report) = turn(notes, &["k"], &rules);
        let found: Vec<(&str, u32, Option<u32>)> = report
            .fitted
            .notes
            .iter()
            .map(|one| {
                let before = one.shortened_from.map(|tokens| tokens.0);
                (vault.note(one.ix).title.as_str(), one.tokens.0, before)
            })
            .collect();
        let stopped: Vec<&str> = report.fitted.stopped.iter().map(|one| one.stop.code()).collect();
        assert_eq!((found, stopped), (sent, codes), "shorten: {shorten}");
    }
}

#[test]
fn an_oversized_first_note_comes_whole_and_leaves_the_others_their_budget() {
    let mut rules = VaultRules::default();
    rules.budget.tokens = Some(Tokens(10));
    let notes = || {
        let mut giant = note("Giant", &["k"], &"word ".repeat(50));
        giant.priority = 1.0;
        let large = note("Large", &["k"], &"word ".repeat(11));
        vec![giant, note("Eight", &["k"], &"word ".repeat(8)), large, note("Two", &["k"], "a b")]
    };
    let (vault, report) = turn(notes(), &["k"], &rules);
    let sent: Vec<&str> =
        report.fitted.notes.iter().map(|one| vault.note(one.ix).title.as_str()).collect();
    assert_eq!(sent, ["Giant", "Eight", "Two"]);
    let stop = Stop::OverBudget { needed: Tokens(11), limit: Tokens(10) };
    let large = vault.named("Large")[0];
    assert_eq!(report.fitted.stopped, [Stopped { ix: large, stop }]);
}

#[test]
fn keys_that_occur_more_often_decide_among_equals_to_the_end() {
    let notes = || {
        let mut first = note("Zeal", &["bell"], "x");
        first.priority = 50.0;
        vec![note("Anchor", &["rope"], "x"), note("Sail", &["mast"], "x"), first]
    };
    let chat = ["mast, mast and rope; the bell"];
    for (mut rules, expected) in [
        (VaultRules::default(), ["Zeal", "Sail", "Anchor"]),
        (VaultRules::deeplore_2(), ["Zeal", "Anchor", "Sail"]),
    ] {
        rules.order.by_occurrences = true;
        assert_eq!(injected(notes(), &chat, &rules), expected);
    }
}

#[test]
fn notes_found_by_topic_rank_by_score_behind_those_with_a_key() {
    let notes = || {
        vec![
            note("Almanac", &[], "weather lore, tides and one lamp among many other things here"),
            note("Beacon", &[], "lamp lamp lighthouse lamp"),
            note("Keeper", &["lamp"], "he keeps watch"),
        ]
    };
    for (mut rules, expected) in [
        (VaultRules::default(), ["Keeper", "Beacon", "Almanac"]),
        (VaultRules::deeplore_2(), ["Almanac", "Beacon", "Keeper"]),
    ] {
        (rules.fuzzy.enabled, rules.fuzzy.min_score) = (true, 0.01);
        assert_eq!(injected(notes(), &["light the lamp"], &rules), expected);
    }
}

#[test]
fn titles_file_names_and_aliases_are_keys_that_match_whole_words() {
    let mut art = Note::new("", "People/Arthur.md", "Art");
    art.aliases = vec!["The Grey Pilot".to_owned()];
    art.content = "a pilot".to_owned();
    for (chat, found) in [
        ("Where is art?", true),
        ("The party left.", false),
        ("I met arthur.", true),
        ("the grey pilot waits", true),
        ("the grey pilots wait", false),
    ] {
        for (rules, names) in [(VaultRules::default(), true), (VaultRules::deeplore_2(), false)] {
            let expected = if found && names { vec!["Art"] } else { Vec::new() };
            assert_eq!(injected(vec![art.clone()], &[chat], &rules), expected, "{chat}");
        }
    }
}

#[test]
fn whole_words_hold_for_keys_of_several_words() {
    for (mut rules, found) in [(VaultRules::default(), 0), (VaultRules::deeplore_2(), 1)] {
        rules.keys.whole_words = true;
        let notes = vec![note("Road", &["salt road"], "x")];
        assert_eq!(injected(notes.clone(), &["two salt roads"], &rules).len(), found);
        assert_eq!(injected(notes, &["the salt road"], &rules).len(), 1);
    }
}

#[test]
fn notes_name_each_other_by_file_name_and_alias() {
    let mut hall = note("The Great Hall", &["hall"], "x");
    hall.path = "Places/Hall.md".to_owned();
    hall.aliases = vec!["Mead Hall".to_owned()];
    for name in ["Hall", "Places/Hall", "mead hall", "The Great Hall"] {
        let mut door = note("Door", &["door"], "x");
        door.relations.requires = vec![name.to_owned()];
        let mut bell = note("Bell", &["bell"], "x");
        bell.relations.cascade = vec![name.to_owned()];
        let rules = VaultRules::default();
        let sent = |notes: Vec<Note>, chat: &str| injected(notes, &[chat], &rules);
        let both = ["Door", "The Great Hall"];
        assert_eq!(sent(vec![hall.clone(), door.clone()], "door and hall"), both, "{name}");
        assert_eq!(sent(vec![hall.clone(), door], "a door"), [""; 0], "{name}");
        assert_eq!(sent(vec![hall.clone(), bell], "a bell"), ["Bell", "The Great Hall"], "{name}");
    }
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
        let mut tools = VaultTools::plain(&Words, &mut dice, &mut cache);
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

#[test]
fn a_match_in_decomposed_letters_points_at_its_own_message() {
    let chat = ["It is calm.", "Then the cafe\u{301} bell rang."];
    let (_, report) =
        turn(vec![note("Bell", &["caf\u{e9} bell"], "x")], &chat, &VaultRules::default());
    let Outcome::Activated { trigger, .. } = &report.verdicts[0].outcome else { panic!("in") };
    let at = trigger.primary.as_ref().unwrap().at.as_ref().unwrap();
    assert!(matches!(at.source, TextSource::Message { index: 1, .. }), "{:?}", at.source);
    assert_eq!(&chat[1][at.start..at.end], "cafe\u{301} bell");
}

#[test]
fn a_note_without_text_is_not_sent() {
    for (rules, sent) in [(VaultRules::default(), 0), (VaultRules::deeplore_2(), 1)] {
        let (_, report) = turn(vec![note("Stub", &["k"], " ")], &["k"], &rules);
        assert_eq!(report.fitted.notes.len(), sent);
        assert_eq!(report.verdicts[0].code(), "activated");
    }
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
