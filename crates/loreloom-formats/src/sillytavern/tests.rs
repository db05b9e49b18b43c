//! What each field means, by value; the goldens of the real program are the judge of the
//! whole.

use loreloom_core::{
    book::{DepthFrom, Entry, Key, OriginalId, Position, SelectiveLogic},
    chat::Role,
    units::Depth,
};

use crate::{ImportOptions, Imported, OddValues, import};

fn read(json: &str) -> Imported {
    import(json.as_bytes(), &ImportOptions::new("b")).unwrap()
}

fn entry_with(fields: &str, odd_values: OddValues) -> Entry {
    let json = format!(r#"{{"entries":{{"0":{{{fields}}}}}}}"#);
    let options = ImportOptions { odd_values, ..ImportOptions::new("b") };
    import(json.as_bytes(), &options).unwrap().book.entries.remove(0)
}

fn entry(fields: &str) -> Entry {
    entry_with(fields, OddValues::AsSillyTavern)
}

fn repaired(fields: &str) -> Entry {
    entry_with(fields, OddValues::Repair)
}

#[test]
fn only_the_numbers_0_to_7_are_positions() {
    let at_depth = Position::AtDepth { from: DepthFrom::Newest };
    for (value, expected, when_repaired) in [
        ("0", Position::BeforeCharacter, Position::BeforeCharacter),
        ("1", Position::AfterCharacter, Position::AfterCharacter),
        ("2", Position::NoteTop, Position::NoteTop),
        ("3", Position::NoteBottom, Position::NoteBottom),
        ("4", at_depth.clone(), at_depth.clone()),
        ("4.0", at_depth.clone(), at_depth.clone()),
        ("5", Position::ExamplesTop, Position::ExamplesTop),
        ("6", Position::ExamplesBottom, Position::ExamplesBottom),
        ("7", Position::Outlet("o".into()), Position::Outlet("o".into())),
        ("8", Position::Nowhere, Position::BeforeCharacter),
        ("-1", Position::Nowhere, Position::BeforeCharacter),
        ("1.5", Position::Nowhere, Position::BeforeCharacter),
        ("null", Position::Nowhere, Position::BeforeCharacter),
        (r#""1""#, Position::Nowhere, Position::AfterCharacter),
        (r#""before_char""#, Position::BeforeCharacter, Position::BeforeCharacter),
        (r#""after_char""#, Position::AfterCharacter, Position::AfterCharacter),
    ] {
        let fields = format!(r#""position":{value},"outletName":"o""#);
        assert_eq!(entry(&fields).placement.position, expected, "{value}");
        assert_eq!(repaired(&fields).placement.position, when_repaired, "{value}");
    }
}

#[test]
fn a_missing_position_is_nowhere_in_a_map_and_the_default_in_a_list() {
    let map = read(r#"{"entries":{"0":{"uid":0,"key":["a"],"content":"x"}}}"#);
    assert_eq!(map.book.entries[0].placement.position, Position::Nowhere);
    let list = read(r#"{"entries":[{"uid":0,"key":["a"],"content":"x"}]}"#);
    assert_eq!(list.book.entries[0].placement.position, Position::BeforeCharacter);
}

#[test]
fn probability_tells_apart_no_roll_a_lost_roll_and_a_won_one() {
    for (fields, expected, when_repaired) in [
        ("", None, None),
        (r#""probability":5"#, None, None),
        (r#""probability":5,"useProbability":false"#, None, None),
        (r#""probability":5,"useProbability":true"#, Some(5.0), Some(5.0)),
        (r#""probability":250,"useProbability":1"#, Some(250.0), Some(250.0)),
        (r#""probability":null,"useProbability":true"#, Some(0.0), Some(100.0)),
        (r#""useProbability":true"#, Some(-1.0), Some(100.0)),
        (r#""probability":"50","useProbability":true"#, Some(50.0), Some(50.0)),
        (r#""probability":"100","useProbability":true"#, Some(100.0_f64.next_up()), Some(100.0)),
        (r#""probability":"x","useProbability":true"#, Some(-1.0), Some(100.0)),
        (r#""probability":5,"useProbability":"false""#, Some(5.0), None),
    ] {
        assert_eq!(entry(fields).activation.probability, expected, "{fields}");
        assert_eq!(repaired(fields).activation.probability, when_repaired, "{fields}");
    }
}

#[test]
fn disable_is_compared_loosely() {
    for (value, enabled, when_repaired) in [
        ("true", false, false),
        ("false", true, true),
        ("1", false, false),
        ("0", true, true),
        ("2", true, false),
        (r#""1""#, false, false),
        (r#""yes""#, true, false),
        (r#""true""#, true, false),
        ("null", true, true),
    ] {
        let fields = format!(r#""disable":{value}"#);
        assert_eq!(entry(&fields).activation.enabled, enabled, "{value}");
        assert_eq!(repaired(&fields).activation.enabled, when_repaired, "{value}");
    }
}

#[test]
fn missing_fields_mean_what_the_engine_makes_of_them() {
    let found = entry("");
    assert!(found.activation.enabled);
    assert!(!found.activation.secondary.active);
    assert_eq!(found.activation.secondary.logic, SelectiveLogic::AndAny);
    assert_eq!(found.placement.order, None);
    assert_eq!(found.placement.depth, None);
    assert_eq!(found.placement.role, None);
    assert_eq!(found.group.weight, None);
    assert_eq!(found.activation.scan.messages, None);
    assert_eq!(found.original_id, None);
    assert_eq!(found.id.as_str(), "b/undefined");
}

#[test]
fn numbers_may_be_text_or_null_where_the_engine_computes_with_them() {
    for (value, expected) in [
        ("5", Some(5.0)),
        ("99.5", Some(99.5)),
        (r#"" 120 ""#, Some(120.0)),
        ("null", Some(0.0)),
        (r#""x""#, None),
        ("1e999", Some(f64::MAX)),
    ] {
        assert_eq!(entry(&format!(r#""order":{value}"#)).placement.order, expected, "{value}");
    }
    for (value, expected) in [
        ("3", Some(3)),
        (r#""2""#, Some(2)),
        ("2.5", Some(3)),
        ("0", None),
        ("-4", None),
        ("null", None),
        (r#""""#, None),
        (r#""bad""#, None),
    ] {
        let timed = entry(&format!(r#""sticky":{value}"#)).activation.timed;
        assert_eq!(timed.sticky, expected, "{value}");
    }
    for (value, expected, when_repaired) in [
        ("true", 1, 1),
        ("false", 0, 0),
        ("3", 3, 3),
        (r#""2""#, 2, 2),
        ("2.5", 3, 3),
        ("null", 0, 0),
        ("0", 0, 0),
        // What is no level delays all the same.
        ("-1", 1, 1),
        (r#""true""#, 1, 1),
        (r#""false""#, 1, 0),
    ] {
        let fields = format!(r#""delayUntilRecursion":{value}"#);
        assert_eq!(entry(&fields).recursion.delay_level, expected, "{value}");
        assert_eq!(repaired(&fields).recursion.delay_level, when_repaired, "{value}");
    }
    for (value, expected) in
        [("4", Some(Depth(4))), ("-3", Some(Depth(0))), (r#""4""#, Some(Depth(4))), ("null", None)]
    {
        assert_eq!(entry(&format!(r#""depth":{value}"#)).placement.depth, expected, "{value}");
    }
    for (value, expected, when_repaired) in [
        ("-3", Some(-3.0), Some(-3.0)),
        ("null", None, None),
        (r#""7""#, Some(7.0), Some(7.0)),
        // No number is no message, but not no text.
        (r#""bad""#, Some(0.5), None),
    ] {
        let fields = format!(r#""scanDepth":{value}"#);
        assert_eq!(entry(&fields).activation.scan.messages, expected, "{value}");
        assert_eq!(repaired(&fields).activation.scan.messages, when_repaired, "{value}");
    }
    for (value, expected) in [(r#""0""#, "0"), ("0", ""), ("false", ""), ("null", ""), ("7", "7")] {
        assert_eq!(entry(&format!(r#""content":{value}"#)).content, expected, "{value}");
    }
    assert_eq!(entry(r#""groupWeight":-50"#).group.weight, Some(-50.0));
    assert_eq!(entry(r#""groupWeight":null"#).group.weight, None);
}

#[test]
fn logic_and_role_are_numbers_of_a_short_list() {
    for (value, expected) in [
        ("0", SelectiveLogic::AndAny),
        ("1", SelectiveLogic::NotAll),
        ("2", SelectiveLogic::NotAny),
        ("3", SelectiveLogic::AndAll),
        ("4", SelectiveLogic::Unknown),
        (r#""1""#, SelectiveLogic::Unknown),
        ("null", SelectiveLogic::AndAny),
    ] {
        let found = entry(&format!(r#""selectiveLogic":{value}"#));
        assert_eq!(found.activation.secondary.logic, expected, "{value}");
    }
    for (value, expected) in [
        ("0", Some(Role::System)),
        ("1", Some(Role::User)),
        ("2", Some(Role::Assistant)),
        ("3", None),
        ("null", None),
    ] {
        assert_eq!(entry(&format!(r#""role":{value}"#)).placement.role, expected, "{value}");
    }
}

fn raw(keys: &[Key]) -> Vec<&str> {
    keys.iter().map(Key::raw).collect()
}

#[test]
fn keys_that_are_no_list_never_match_unless_repaired() {
    let list = r#""key":["a, b",5,null,""," c "]"#;
    assert_eq!(raw(&entry(list).activation.keys), ["a, b", "5", "", " c "]);
    let text = r#""key":"a, b""#;
    assert_eq!(raw(&entry(text).activation.keys), [""; 0]);
    assert_eq!(raw(&repaired(text).activation.keys), ["a", "b"]);
    assert!(matches!(entry(r#""key":["/a/i"]"#).activation.keys[0], Key::Regex(_)));
}

#[test]
fn card_names_stand_in_for_missing_names_only() {
    let found = entry(
        r#""keys":["a"],"secondary_keys":["x"],"enabled":false,"insertion_order":5,"name":"N""#,
    );
    assert_eq!(raw(&found.activation.keys), ["a"]);
    assert_eq!(raw(&found.activation.secondary.keys), ["x"]);
    assert!(!found.activation.enabled);
    assert_eq!((found.placement.order, found.name.as_str()), (Some(5.0), "N"));
    let found = entry(
        r#""key":["st"],"keys":["cc"],"disable":false,"enabled":false,"order":1,"insertion_order":2,"comment":"C","name":"N""#,
    );
    assert_eq!(raw(&found.activation.keys), ["st"]);
    assert!(found.activation.enabled);
    assert_eq!((found.placement.order, found.name.as_str()), (Some(1.0), "C"));
}

#[test]
fn other_programs_names_are_not_looked_at_where_the_letter_counts() {
    let fields = r#""keys":["a"],"secondary_keys":["x"],"enabled":false,"insertion_order":5,"text":"t","position":"before_char""#;
    let found = entry_with(fields, OddValues::ToTheLetter);
    assert!(found.activation.keys.is_empty() && found.activation.secondary.keys.is_empty());
    assert!(found.activation.enabled);
    assert_eq!((found.placement.order, found.content.as_str()), (None, ""));
    assert_eq!(found.placement.position, Position::Nowhere);
    assert_eq!(entry(fields).placement.position, Position::BeforeCharacter);
}

#[test]
fn ids_are_unique_and_the_order_is_that_of_a_javascript_object() {
    let found =
        read(r#"{"entries":{"x":{"uid":7},"10":{"uid":7},"2":{"uid":"a"},"9":null,"3":{}}}"#);
    let rows: Vec<_> = found
        .book
        .entries
        .iter()
        .map(|entry| (entry.id.as_str(), entry.original_id.clone()))
        .collect();
    assert_eq!(
        rows,
        [
            ("b/a", Some(OriginalId::Text("a".into()))),
            ("b/undefined", None),
            ("b/#9", None),
            ("b/7#2", Some(OriginalId::Number(7))),
            ("b/7", Some(OriginalId::Number(7))),
        ]
    );
    let warnings: Vec<String> = found
        .notes
        .iter()
        .filter(|note| note.severity == crate::Severity::Warning)
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        warnings,
        [
            "entry 10: `id`: another entry has the same: both were kept",
            "entry 9: an entry must be an object, found null: kept, not used",
        ]
    );
}

#[test]
fn what_is_not_modelled_is_kept_beside_the_raw_text() {
    let found = read(
        r#"{"entries":{"0":{"uid": 0, "extensions":{"v":[1.50]}, "odd":null}},"_meta":{"a":1},"name":"N"}"#,
    );
    assert_eq!(found.book.name, "N");
    assert_eq!(found.book.extensions["_meta"]["a"], 1);
    let entry = &found.book.entries[0];
    assert_eq!(entry.raw.as_deref(), Some(r#"{"uid": 0, "extensions":{"v":[1.50]}, "odd":null}"#));
    let keys: Vec<&String> = entry.extensions.keys().collect();
    assert_eq!(keys, ["extensions", "odd"]);
}

#[test]
fn a_filter_names_characters_and_tags() {
    let found = entry(
        r#""characterFilter":{"isExclude":true,"names":["a"],"tags":["t",5]},"triggers":["swipe"]"#,
    );
    let filters = &found.activation.filters;
    assert_eq!((filters.characters.as_slice(), filters.exclude), (&["a".to_owned()][..], true));
    assert_eq!(
        (filters.tags.as_slice(), filters.triggers.as_slice()),
        (&["t".to_owned(), "5".to_owned()][..], &["swipe".to_owned()][..])
    );
}
