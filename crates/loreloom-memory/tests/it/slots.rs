//! What stands in a slot: which tiers speak, what gives way, and in which order lines stand.

use loreloom_core::units::Tokens;
use loreloom_memory::{
    inject::{Labels, MemorySlot, SlotsInput, slots},
    record::{CharacterMemory, ChatMemory},
    rules::Rules,
    settings::Settings,
    text::{QuarterEstimate, TextRules},
};
use serde_json::{Value, json};

use crate::story::path;

/// The text of a slot without its label, for what a character and a chat remember.
fn told(
    slot: MemorySlot,
    settings: &Settings,
    rules: &Rules,
    remembered: &Value,
    said: &str,
) -> String {
    let character: CharacterMemory = serde_json::from_value(remembered.clone()).unwrap_or_default();
    let chat: ChatMemory = serde_json::from_value(remembered.clone()).unwrap_or_default();
    let path = path(&[said.to_owned()]);
    let labels = Labels {
        longterm: String::new(),
        triggered: String::new(),
        session: "noted:".into(),
        relationships: String::new(),
        ..Labels::default()
    };
    let filled = slots(&SlotsInput {
        settings,
        rules,
        labels: &labels,
        counter: &QuarterEstimate,
        character: &character,
        chat: &chat,
        path: path.items(),
        owner: "Mara",
        responding: "Mara",
        group: &[],
        turn: None,
        recalled: &[],
        clock: None,
    });
    filled.get(slot).map(|text| text.text.clone()).unwrap_or_default()
}

/// Everything that a character and a chat can remember.
fn full() -> Value {
    json!({
        "memories": [
            {"id": "1", "type": "fact", "content": "Odo sails"},
            {"id": "3", "type": "fact", "content": "Lis bakes bread"},
        ],
        "canon": {"text": "Mara."},
        "relationship_history": {"Mara→Odo": {"descriptors": [{"word": "warm"}]}},
        "epistemic_knowledge": [{"type": "knows", "subject": "Mara", "content": "x"}],
        "summary": "So far.",
        "sessionMemories": [{"id": "2", "type": "detail", "content": "rope"}],
        "sceneHistory": [{"summary": "A scene."}],
        "storyArcs": [{"content": "Find the bell"}],
        "profiles": {"Mara": {"character_state": "calm"}},
        "state_ledger": {"odo|character": {"_name": "Odo", "location": "quay"}},
    })
}

#[test]
fn a_tier_that_is_off_says_nothing() {
    let on = Settings { state_ledger_enabled: true, ..Settings::default() };
    for (slot, off) in [
        (MemorySlot::LongTerm, Settings { longterm_enabled: false, ..on.clone() }),
        (MemorySlot::Triggered, Settings { longterm_enabled: false, ..on.clone() }),
        (MemorySlot::Canon, Settings { canon_enabled: false, ..on.clone() }),
        (MemorySlot::Relationships, Settings { relationships_enabled: false, ..on.clone() }),
        (MemorySlot::Epistemic, Settings { epistemic_enabled: false, ..on.clone() }),
        (MemorySlot::Summary, Settings { compaction_enabled: false, ..on.clone() }),
        (MemorySlot::Session, Settings { session_enabled: false, ..on.clone() }),
        (MemorySlot::Scenes, Settings { scene_enabled: false, ..on.clone() }),
        (MemorySlot::Arcs, Settings { arcs_enabled: false, ..on.clone() }),
        (MemorySlot::Profiles, Settings { profiles_enabled: false, ..on.clone() }),
        (MemorySlot::Ledger, Settings { state_ledger_enabled: false, ..on.clone() }),
    ] {
        let told = |settings| told(slot, settings, &Rules::default(), &full(), "Odo sails on");
        assert_ne!(told(&on), "", "{slot:?}");
        assert_eq!(told(&off), "", "{slot:?}");
    }
}

#[test]
fn session_memories_stand_as_they_came_and_the_state_is_of_what_is_left() {
    let memory = |kind: &str, content: &str, importance: u8, ts: i64| json!({"id": content, "type": kind, "content": content, "importance": importance, "ts": ts});
    for (budget, memories, expected) in [
        (
            400,
            [
                memory("detail", "rope on floor", 1, 3),
                memory("scene", "Lamp room", 3, 5),
                memory("detail", "bell cracked", 2, 1),
            ],
            "Lamp room|rope on floor|- bell cracked\n- rope on floor\n- Lamp room",
        ),
        (
            8,
            [
                memory("scene", "Lamp room aaaa", 3, 1),
                memory("detail", "newest minor detail here", 1, 9),
                memory("development", "They fell out", 1, 2),
            ],
            "Lamp room aaaa|They fell out|- Lamp room aaaa\n- They fell out",
        ),
    ] {
        let mut settings = Settings::default();
        settings.budgets.session = Tokens(budget);
        let remembered = json!({"sessionMemories": memories});
        let rules = Rules { text: TextRules::Literal, ..Rules::default() };
        let text = told(MemorySlot::Session, &settings, &rules, &remembered, "");
        let (state, lines) = text.split_once("\nnoted:\n").unwrap();
        let state: Vec<&str> =
            state.lines().skip(1).filter_map(|line| Some(line.split_once(": ")?.1)).collect();
        assert_eq!(format!("{}|{lines}", state.join("|")), expected);
    }
}

#[test]
fn the_best_of_three_kinds_stay_as_long_as_the_budget_allows_or_longer() {
    let mut settings = Settings::default();
    settings.budgets.longterm = Tokens(9);
    let memory =
        |kind: &str, content: &str| json!({"id": content, "type": kind, "content": content});
    let remembered = json!({"memories": [
        memory("event", "The mill burnt down to its stones"),
        memory("fact", "The lamp has been dark since spring"),
        memory("relationship", "Lis and Odo are bound by an oath"),
        memory("fact", "Gulls nest there"),
    ]});
    let told = |rules: Rules| told(MemorySlot::LongTerm, &settings, &rules, &remembered, "");
    assert_eq!(told(Rules::default()), "- Lis and Odo are bound by an oath");
    assert_eq!(
        told(Rules { text: TextRules::Literal, ..Rules::default() }),
        "- Lis and Odo are bound by an oath\n- The lamp has been dark since spring"
    );
}

#[test]
fn hearsay_is_counted_as_it_is_told_or_as_if_it_were_none() {
    let memory = |id: &str, importance: u8, witness: &str| {
        json!({"id": id, "type": "event", "content": format!("{id}{id}{id}{id} {id}"),
               "importance": importance, "witnessed_by": [witness]})
    };
    let remembered = json!({"memories": [memory("abc", 3, "Odo"), memory("def", 2, "Odo"), memory("ghi", 1, "Mara")]});
    let mut settings = Settings::default();
    settings.budgets.longterm = Tokens(10);
    let told = |settings: &Settings| {
        [TextRules::Tolerant, TextRules::Literal].map(|text| {
            let rules = Rules { text, ..Rules::default() };
            told(MemorySlot::LongTerm, settings, &rules, &remembered, "").replace('\n', "|")
        })
    };
    let abc = "- [hearsay] abcabcabcabc abc";
    assert_eq!(told(&settings), [abc, &format!("{abc}|- [hearsay] defdefdefdef def")]);
    settings.epistemic_secondhand_framing = false;
    assert_eq!(told(&settings), ["- ghighighighi ghi", ""]);
    settings.budgets.longterm = Tokens(100);
    assert_eq!(told(&settings), ["- ghighighighi ghi", ""], "two of a kind are the most");
}

#[test]
fn words_that_say_nothing_bring_nothing_to_mind() {
    for (content, said, expected) in [
        ("Odo would sail", "When would they go?", "- Odo would sail"),
        ("Odo went into exile there", "Go into it over there", ""),
        ("Odo ruft die Möwen", "DIE MÖWEN!", "- Odo ruft die Möwen"),
    ] {
        let remembered = json!({"memories": [{"id": "1", "type": "fact", "content": content}]});
        let settings = Settings::default();
        let text = told(MemorySlot::Triggered, &settings, &Rules::default(), &remembered, said);
        assert_eq!(text, expected, "{said}");
    }
}

#[test]
fn feelings_are_told_where_a_name_is_a_word_and_line_by_line() {
    let remembered = json!({"relationship_history": {
        "Ann→Odo": {"descriptors": [{"word": "warm", "magnitude": "high"}]},
        "Odo→Ann": {"descriptors": [{"word": "w", "magnitude": "high"}]},
        "Odo→Lis": {"descriptors": []},
    }});
    let (ours, theirs) = (Rules::default(), Rules::smart_memory_1_8());
    for (rules, said, budget, expected) in [
        (&ours, "Odo waves.", 250, "Ann→Odo: very warm\nOdo→Ann: very w"),
        (&theirs, "Odo waves.", 250, "Ann→Odo: warm(high)\nOdo→Ann: w(high)\nOdo→Lis: "),
        (&ours, "Annette waves.", 250, ""),
        (&theirs, "Annette waves.", 250, "Ann→Odo: warm(high)\nOdo→Ann: w(high)"),
        (&ours, "Odo waves.", 8, "Ann→Odo: very warm"),
    ] {
        let mut settings = Settings::default();
        settings.budgets.relationships = Tokens(budget);
        let text = told(MemorySlot::Relationships, &settings, rules, &remembered, said);
        assert_eq!(text, expected, "{said} {budget}");
    }
}

#[test]
fn no_text_is_shown_twice() {
    let memory = |kind: &str, content: &str, ts: i64| json!({"id": content, "type": kind, "content": content, "ts": ts});
    let remembered = json!({
        "memories": [memory("fact", "The bell rang at dawn", 1), memory("fact", "Odo sails", 2)],
        "sessionMemories": [
            memory("detail", "rope on floor", 1),
            memory("detail", "bell cracked", 2),
            memory("scene", "Lamp room", 3),
        ],
    });
    let (settings, rules) = (Settings::default(), Rules::default());
    let of = |slot| told(slot, &settings, &rules, &remembered, "Who heard the bell?");
    assert_eq!(of(MemorySlot::Triggered), "- The bell rang at dawn");
    assert_eq!(of(MemorySlot::LongTerm), "- Odo sails");
    assert_eq!(
        of(MemorySlot::Session),
        "The scene right now:\n- Where and how: Lamp room\n- Must stay true: bell cracked\n\
         noted:\n- rope on floor"
    );
}

#[test]
fn state_cards_name_their_fields_and_profiles_leave_out_what_is_not_known() {
    let remembered = json!({
        "state_ledger": {"odo|character": {
            "_name": "Odo", "location": "quay", "carried_items": "a brass key",
        }},
        "profiles": {"Mara": {
            "character_state": "Goals: find Odo\nMood: Unknown",
            "world_state": "Location: unknown",
            "relationship_matrix": "Odo (friend): trusts him [confidence: 0.4]",
        }},
    });
    let settings = Settings { state_ledger_enabled: true, ..Settings::default() };
    let of = |slot| told(slot, &settings, &Rules::default(), &remembered, "");
    assert_eq!(of(MemorySlot::Ledger), "Odo: location quay; carried items a brass key");
    assert_eq!(
        of(MemorySlot::Profiles),
        "State of mind:\nGoals: find Odo\n\nRelations to others:\nOdo (friend): trusts him"
    );
}
