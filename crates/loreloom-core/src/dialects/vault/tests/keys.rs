//! What finds a note: keys, names, topics.

use super::*;

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
fn a_match_in_decomposed_letters_points_at_its_own_message() {
    let chat = ["It is calm.", "Then the cafe\u{301} bell rang."];
    let (_, report) =
        turn(vec![note("Bell", &["caf\u{e9} bell"], "x")], &chat, &VaultRules::default());
    let Outcome::Activated { trigger, .. } = &report.verdicts[0].outcome else { panic!("in") };
    let at = trigger.primary.as_ref().unwrap().at.as_ref().unwrap();
    assert!(matches!(at.source, TextSource::Message { index: 1, .. }), "{:?}", at.source);
    assert_eq!(&chat[1][at.start..at.end], "cafe\u{301} bell");
}
