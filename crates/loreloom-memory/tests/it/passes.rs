//! Passes with a scripted model: what is kept, what gives way, and in which order it stands.

use loreloom_memory::{
    ids::Ids,
    model_profile::ModelProfile,
    pass::{Answers, Need, Script},
    record::{CharacterMemory, Memory, StoryArc},
    rules::Rules,
    settings::Settings,
    similarity::Vectors,
    tiers::{Config, PassSource, arcs, consolidation, epistemic, longterm, session},
};
use serde_json::{Value, json};

use crate::story::path;

fn read(memories: Value) -> Vec<Memory> {
    serde_json::from_value(memories).unwrap_or_default()
}

fn contents(memories: &[Memory]) -> String {
    let active = memories.iter().filter(|memory| memory.is_active());
    active.map(|memory| memory.content.as_str()).collect::<Vec<_>>().join("; ")
}

fn answers(replies: &[&str]) -> Answers {
    Answers {
        replies: replies.iter().map(|reply| Some((*reply).to_owned())).collect(),
        ..Answers::default()
    }
}

/// Runs a pass with these answers; a question beyond them is an error.
fn played<T>(
    mut answers: Answers,
    pass: impl Fn(&mut Script<'_>) -> Result<T, Need>,
) -> Result<T, Need> {
    loop {
        match pass(&mut Script::new(&answers)) {
            Ok(outcome) => return Ok(outcome),
            Err(need @ (Need::Reply(_) | Need::Unreadable(_))) => return Err(need),
            Err(Need::Vectors(texts)) => {
                for text in texts {
                    answers.vectors.insert(&text, None);
                }
            }
        }
    }
}

fn messages() -> Vec<String> {
    ["Hello Mara.", "Welcome.", "Tell me more.", "Odo runs the ferry."].map(str::to_owned).into()
}

fn longterm_pass(
    settings: &Settings,
    memories: Value,
    replies: &[&str],
) -> Result<longterm::LongTermOutcome, Need> {
    let (rules, path) = (Rules::smart_memory_1_8(), path(&messages()));
    let memory = CharacterMemory { memories: read(memories), ..CharacterMemory::default() };
    let input = longterm::LongTermInput {
        config: Config { settings, rules: &rules, profile: ModelProfile::A },
        source: PassSource {
            chat: path.items(),
            window: 0..3,
            heard: None,
            chat_id: "c",
            character: "",
            lore: &[],
            now: 1_000,
        },
        character: "Mara",
        card: "",
        memory: &memory,
        ids: Ids::new("id"),
    };
    played(answers(replies), |script| longterm::run(&input, script))
}

#[test]
fn a_full_kind_gives_way_to_a_newcomer_that_ranks_higher() -> Result<(), Need> {
    let settings = Settings { longterm_max_memories: 4, ..Settings::default() };
    for (importance, line, expected) in [
        (2, "[fact:2] Odo repaired the old mast", "Odo repaired the old mast"),
        (3, "[fact:2:permanent] Odo repaired the old mast", "Lis keeps bees"),
    ] {
        let stored = json!([{"id": "m1", "type": "fact", "content": "Lis keeps bees", "ts": 1,
            "importance": importance, "expiration": "permanent", "retrieval_count": 10,
            "confidence": 1, "consolidated": true}]);
        let outcome = longterm_pass(&settings, stored, &[line, "NONE"])?;
        assert_eq!(contents(&outcome.memories), expected);
    }
    Ok(())
}

#[test]
fn what_a_trim_leaves_is_ordered_by_use() -> Result<(), Need> {
    let settings = Settings { longterm_max_memories: 3, ..Settings::default() };
    let stored = json!([
        {"id": "m1", "type": "fact", "content": "Lis keeps bees", "ts": 1, "importance": 1},
        {"id": "m2", "type": "relationship", "content": "Lis loves Odo", "ts": 1},
        {"id": "m3", "type": "event", "content": "The mill burnt", "ts": 1, "importance": 3},
    ]);
    let line = "[preference:1:scene] Odo prefers rye over wheat";
    let outcome = longterm_pass(&settings, stored, &[line, "NONE"])?;
    assert_eq!(contents(&outcome.memories), "The mill burnt; Lis loves Odo; Lis keeps bees");
    Ok(())
}

#[test]
fn stored_triggers_are_not_judged_again() -> Result<(), Need> {
    let settings = Settings { triggers_enabled: true, ..Settings::default() };
    let stored = json!([
        {"id": "m1", "type": "fact", "content": "Lis sails the ship", "triggers": ["ship"]},
        {"id": "m2", "type": "fact", "content": "Pell owns the old ship", "triggers": ["rich"]},
    ]);
    let replies = ["[fact:2] Odo repaired the ship mast", "timber, ship", "NONE"];
    let outcome = longterm_pass(&settings, stored, &replies)?;
    let triggers: Vec<String> = outcome.memories.iter().map(|m| m.triggers.join("+")).collect();
    assert_eq!(triggers, ["ship", "rich", "timber"]);
    Ok(())
}

#[test]
fn nothing_is_asked_about_an_empty_window() -> Result<(), Need> {
    let (settings, rules) = (Settings::default(), Rules::default());
    let config = Config { settings: &settings, rules: &rules, profile: ModelProfile::A };
    let path = path(&messages());
    let source = || PassSource {
        chat: path.items(),
        window: 0..0,
        heard: None,
        chat_id: "c",
        character: "",
        lore: &[],
        now: 1_000,
    };
    let known = CharacterMemory::default();
    let long = longterm::LongTermInput {
        config,
        source: source(),
        character: "Mara",
        card: "",
        memory: &known,
        ids: Ids::new("id"),
    };
    let session = session::SessionInput {
        config,
        source: source(),
        memories: &[],
        entities: &[],
        longterm: &[],
        ids: Ids::new("id"),
    };
    let threads = arcs::ArcsInput {
        config,
        source: source(),
        arcs: &[],
        persistent: &[],
        session: &[],
        scenes: &[],
        ended: &[],
    };
    let minds =
        epistemic::EpistemicInput { config, source: source(), known: &[], ids: Ids::new("id") };
    let nothing = || answers(&[]);
    assert_eq!(played(nothing(), |script| longterm::run(&long, script))?.added, 0);
    assert!(played(nothing(), |script| session::run(&session, script))?.added.is_empty());
    assert_eq!(played(nothing(), |script| arcs::run(&threads, script))?.added, 0);
    assert_eq!(played(nothing(), |script| epistemic::run(&minds, script))?.added, 0);
    Ok(())
}

#[test]
fn a_session_over_its_cap_is_ordered_by_use() -> Result<(), Need> {
    let settings = Settings { session_max_memories: 2, ..Settings::default() };
    let (rules, path) = (Rules::smart_memory_1_8(), path(&messages()));
    let stored = read(json!([
        {"id": "1", "type": "detail", "content": "bell cracked wide", "importance": 1, "ts": 1},
        {"id": "2", "type": "detail", "content": "rope frayed badly", "importance": 2, "ts": 2},
    ]));
    let input = session::SessionInput {
        config: Config { settings: &settings, rules: &rules, profile: ModelProfile::A },
        source: PassSource {
            chat: path.items(),
            window: 0..3,
            heard: None,
            chat_id: "c",
            character: "",
            lore: &[],
            now: 1_000,
        },
        memories: &stored,
        entities: &[],
        longterm: &[],
        ids: Ids::new("id"),
    };
    let replies = answers(&["[detail:3] a lamp stands upon the sill"]);
    let outcome = played(replies, |script| session::run(&input, script))?;
    assert_eq!(contents(&outcome.memories), "a lamp stands upon the sill; rope frayed badly");
    Ok(())
}

#[test]
fn threads_end_in_the_order_of_the_reply_and_stand_last() -> Result<(), Need> {
    let (settings, rules) = (Settings::default(), Rules::default());
    let path = path(&messages());
    let arc = |content: &str, pinned: bool, resolved: bool| StoryArc {
        content: content.into(),
        persistent: pinned,
        resolved,
        ..StoryArc::default()
    };
    let (bell, money) = ("Find the drowned bell of Gull", "Odo owes money to smugglers");
    for (stored, replies, summaries, expected) in [
        (
            vec![arc(bell, false, false), arc(money, false, false)],
            vec![format!("[resolved] {money}\n[resolved] {bell}"), "m".into(), "b".into()],
            "m b",
            String::new(),
        ),
        (
            vec![arc(bell, false, false), arc(money, false, false)],
            vec![format!("[resolved] {bell}\n[arc] {bell} again"), "b".into()],
            "b",
            format!("{money}; {bell} again"),
        ),
        (
            vec![arc("An old oath was kept", true, true), arc(bell, true, false)],
            vec![format!("[arc] {money}\n[resolved] {bell}"), "b".into()],
            "b",
            format!("{money}; An old oath was kept; {bell}"),
        ),
    ] {
        let input = arcs::ArcsInput {
            config: Config { settings: &settings, rules: &rules, profile: ModelProfile::A },
            source: PassSource {
                chat: path.items(),
                window: 0..3,
                heard: None,
                chat_id: "c",
                character: "",
                lore: &[],
                now: 9,
            },
            arcs: &stored,
            persistent: &[],
            session: &[],
            scenes: &[],
            ended: &[],
        };
        let replies: Vec<&str> = replies.iter().map(String::as_str).collect();
        let outcome = played(answers(&replies), |script| arcs::run(&input, script))?;
        let told: Vec<&str> = outcome.summaries.iter().map(|told| told.summary.as_str()).collect();
        let left: Vec<&str> = outcome.arcs.iter().map(|arc| arc.content.as_str()).collect();
        assert_eq!((told.join(" ").as_str(), left.join("; ")), (summaries, expected));
    }
    Ok(())
}

/// What a consolidation of long-term memories makes of these.
fn merged(settings: &Settings, stored: Value, answers: Answers) -> Result<Vec<Memory>, Need> {
    let (rules, stored) = (Rules::smart_memory_1_8(), read(stored));
    let input = consolidation::ConsolidationInput {
        config: Config { settings, rules: &rules, profile: ModelProfile::A },
        tier: consolidation::Tier::LongTerm,
        memories: &stored,
        entities: &[],
        force: false,
        now: 99,
        ids: Ids::new("id"),
    };
    Ok(played(answers, |script| consolidation::run(&input, script))?.memories)
}

fn four_facts() -> Value {
    let fact = |content: &str, ts: i64| json!({"id": content, "type": "fact", "content": content, "consolidated": false, "ts": ts});
    json!([
        fact("Odo owns one boat", 40),
        fact("Lis keeps the bees", 10),
        fact("Pell bakes bread", 30),
        fact("Mara lights lamps", 20),
    ])
}

#[test]
fn a_consolidation_sorts_and_trims_whatever_it_is_told() -> Result<(), Need> {
    let usual = Settings::default();
    let small = Settings { longterm_max_memories: 2, ..Settings::default() };
    let settled = json!([
        {"id": "x", "type": "fact", "content": "aaaa", "ts": 1, "importance": 1},
        {"id": "y", "type": "fact", "content": "cccc", "ts": 3, "importance": 3},
        {"id": "z", "type": "fact", "content": "eeee", "ts": 2, "importance": 2},
    ]);
    let other = "[fact:2] Odo, Lis, Pell and Mara work\n[event:2] The mill burnt";
    for (settings, stored, replies, expected) in [
        (
            &usual,
            four_facts(),
            vec!["NONE"],
            "Lis keeps the bees; Mara lights lamps; Pell bakes bread; Odo owns one boat",
        ),
        (&usual, four_facts(), vec![other], "Odo, Lis, Pell and Mara work; The mill burnt"),
        (&small, settled.clone(), vec![], "eeee; cccc"),
        (&usual, settled, vec![], "aaaa; cccc; eeee"),
    ] {
        assert_eq!(contents(&merged(settings, stored, answers(&replies))?), expected);
    }
    Ok(())
}

#[test]
fn a_merged_line_replaces_what_its_vector_is_like() -> Result<(), Need> {
    let mut stored = four_facts();
    stored.as_array_mut().unwrap().push(json!({"id": "base", "type": "fact", "ts": 5,
        "content": "The ferry is run by Odo", "consolidated": true}));
    let mut vectors = Vectors::on();
    vectors.insert("The ferry is run by Odo", Some(vec![1.0, 0.0]));
    vectors.insert("Odo steers it", Some(vec![1.0, 0.1]));
    let answers = Answers { vectors, ..answers(&["[fact:2] Odo steers it"]) };
    let left = merged(&Settings::default(), stored, answers)?;
    assert_eq!((contents(&left).as_str(), left[0].ts), ("Odo steers it", Some(5)));
    Ok(())
}

#[test]
fn a_line_takes_the_first_place_of_its_kind_and_its_own_where_there_was_nothing() {
    let base = json!([
        {"type": "fact", "content": "a b c d e f g h i j", "ts": 1},
        {"type": "fact", "content": "a b c d e f g h i k", "ts": 2},
    ]);
    let line = |kind: &str, content: &str| json!({"type": kind, "content": content, "ts": 9, "entities": ["e"], "triggers": ["t"]});
    for (base, lines, expected) in [
        (base.clone(), vec![line("fact", "a b c d e f g h i k")], "0 a b c d e f g h i k 1 e t"),
        (base, vec![line("event", "a b c d e f g h i k")], "- a b c d e f g h i k 9 e t"),
        (json!([]), vec![line("fact", "a b c d"), line("fact", "a b c d e")], "- a b c d e 9 e t"),
        (
            json!([{"type": "fact", "content": "a b c", "entities": ["x"]}]),
            vec![line("fact", "a b c")],
            "0 a b c 9 x t",
        ),
        (
            json!([{"type": "fact", "content": "a b c", "ts": 5}]),
            vec![line("fact", "a b x y")],
            "- a b x y 5 e t",
        ),
    ] {
        let lines = read(json!(lines));
        let found = consolidation::reconcile(&read(base), lines, 0.7, &[], &Vectors::off());
        let found: Vec<String> = found
            .iter()
            .map(|new| {
                let memory = &new.memory;
                let place = new.replaces.map_or("-".to_owned(), |at| at.to_string());
                let entities: Vec<&str> = memory.entities.iter().map(|id| id.0.as_str()).collect();
                format!(
                    "{place} {} {} {} {}",
                    memory.content,
                    memory.ts.unwrap_or_default(),
                    entities.join("+"),
                    memory.triggers.join("+")
                )
            })
            .collect();
        assert_eq!(found, [expected]);
    }
}
