//! Proof that nothing is lost: the file goes to the other format and back, and what is not as it
//! was is named.
//!
//! A loss report says what a format has no word for. Only the way back shows what a program
//! would find again, so "nothing is lost" is said only after it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    detect::Format,
    export::{ExportOptions, Loss, export},
    import::{ImportOptions, Imported, import},
    json::says_nothing,
    limits::Limits,
};

/// How a file differs after the way to another format and back.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct RoundTripProof {
    /// Members of the file that are gone or have another value.
    pub lost: Vec<Loss>,
    /// Members that were not there before.
    pub gained: Vec<String>,
    /// Why the way back could not be tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untried: Option<String>,
}

impl RoundTripProof {
    /// Whether everything comes back. New members are no loss.
    pub fn is_clean(&self) -> bool {
        self.lost.is_empty() && self.untried.is_none()
    }

    fn untried(why: &dyn ToString) -> Self {
        Self { untried: Some(why.to_string()), ..Self::default() }
    }
}

/// Takes a file that was written in another format back to its own, and compares.
pub fn prove(home: &Imported, written: &[u8], abroad: Format, limits: Limits) -> RoundTripProof {
    let reading = |format: Format| ImportOptions {
        file_name: Some(format!("book.{}", format.file_extension())),
        plain_text: format == Format::Perchance,
        limits,
        ..ImportOptions::new(home.book.id.clone()).named(home.book.name.clone())
    };
    let away = match import(written, &reading(abroad)) {
        Ok(away) => away,
        Err(error) => return RoundTripProof::untried(&error),
    };
    let options = ExportOptions { card: away.card.as_ref(), limits, ..ExportOptions::default() };
    let back = export(&away.book, home.format, &options)
        .and_then(|back| import(&back.bytes, &reading(home.format)));
    match back {
        Ok(back) => compare(home, &back),
        Err(error) => RoundTripProof::untried(&error),
    }
}

/// How two readings of a file differ, member by member.
fn compare(home: &Imported, back: &Imported) -> RoundTripProof {
    let tree = |imported: &Imported| {
        let source = imported.book.origin.as_ref()?.source.clone()?;
        serde_json::from_str::<Value>(source.trim_start_matches('\u{feff}')).ok()
    };
    let (Some(wanted), Some(found)) = (tree(home), tree(back)) else {
        // Plain text and what JSON does not allow: the bytes are all there is.
        let text = |one: &Imported| one.book.origin.as_ref().and_then(|from| from.source.clone());
        return match (text(home), text(back)) {
            (Some(wanted), Some(found)) if wanted == found => RoundTripProof::default(),
            _ => RoundTripProof::untried(&"the file is no JSON"),
        };
    };
    let mut proof = RoundTripProof::default();
    differences(&wanted, &found, "", &mut proof);
    proof
}

fn differences(wanted: &Value, found: &Value, path: &str, proof: &mut RoundTripProof) {
    let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match (wanted, found) {
        (Value::Object(wanted), Value::Object(found)) => {
            for (key, value) in wanted {
                match found.get(key) {
                    Some(found) => differences(value, found, &below(key), proof),
                    None if says_nothing(value) => {}
                    None => proof.lost.push(loss(below(key), value)),
                }
            }
            let new = found
                .iter()
                .filter(|(key, value)| !wanted.contains_key(*key) && !says_nothing(value));
            proof.gained.extend(new.map(|(key, _)| below(key)));
        }
        (Value::Array(wanted), Value::Array(found)) if wanted.len() == found.len() => {
            for (at, (wanted, found)) in wanted.iter().zip(found).enumerate() {
                differences(wanted, found, &below(&at.to_string()), proof);
            }
        }
        (wanted, found) if is_same(wanted, found) => {}
        (wanted, _) => proof.lost.push(loss(path.to_owned(), wanted)),
    }
}

/// Whether two values mean the same: `4` and `4.0` do.
fn is_same(wanted: &Value, found: &Value) -> bool {
    wanted == found
        || match (wanted.as_f64(), found.as_f64()) {
            (Some(wanted), Some(found)) => wanted.total_cmp(&found).is_eq(),
            _ => says_nothing(wanted) && says_nothing(found),
        }
}

fn loss(field: String, value: &Value) -> Loss {
    Loss { entry: None, field, value: value.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proof(file: &str, abroad: Format) -> RoundTripProof {
        let home = import(file.as_bytes(), &ImportOptions::new("b")).unwrap();
        let options = ExportOptions { card: home.card.as_ref(), ..ExportOptions::default() };
        let away = export(&home.book, abroad, &options).unwrap();
        prove(&home, &away.bytes, abroad, Limits::default())
    }

    #[test]
    fn members_at_the_root_of_a_card_come_back_and_are_named_where_they_do_not() {
        let card = r#"{"spec":"chara_card_v3","spec_version":"3.0","fav":true,"chat":"x",
            "name":"Orla","data":{"name":"Orla","description":"d","extensions":{}}}"#;
        assert_eq!(proof(card, Format::CardV2), RoundTripProof::default());
        let lost = proof(card, Format::CardV1).lost;
        let lost: Vec<&str> = lost.iter().map(|loss| loss.field.as_str()).collect();
        assert_eq!(lost, ["fav", "chat", "name"]);
    }

    #[test]
    fn a_way_through_plain_text_is_tried_whatever_the_texts_look_like() {
        for content in ["{Orla: keeper}", "# Orla\n# Keeper", "keeper=Orla", "[1]"] {
            let book = serde_json::json!({"entries": {"0": {"uid": 0, "content": content}}});
            assert_eq!(proof(&book.to_string(), Format::Perchance).untried, None, "{content}");
        }
    }

    #[test]
    fn a_file_that_goes_home_gains_no_field() {
        let book = r#"{"lorebookVersion":4,"settings":{"orderByKeyLocations":false},
            "entries":[{"text":"t","contextConfig":{"prefix":"","suffix":"\n","tokenBudget":2048,
            "reservedTokens":0,"budgetPriority":400,"trimDirection":"trimBottom",
            "insertionType":"newline","maximumTrimType":"sentence","insertionPosition":-1},
            "lastUpdatedAt":1,"displayName":"Wall","id":"w","keys":["wall"],"searchRange":1000,
            "enabled":true,"forceActivation":false,"keyRelative":false,"nonStoryActivatable":false}],
            "categories":[]}"#;
        assert_eq!(proof(book, Format::Sillytavern), RoundTripProof::default());
    }

    #[test]
    fn older_world_info_goes_home_with_its_own_names() {
        let book = r#"[{"id":"1.1","keys":"wall, gate","entry":"The wall is old.","hidden":false},
            {"id":"1.2","keys":"mill","entry":"short","hidden":false}]"#;
        for abroad in [Format::Sillytavern, Format::CardV2, Format::CardV3] {
            assert_eq!(proof(book, abroad), RoundTripProof::default(), "{abroad}");
        }
    }

    #[test]
    fn a_text_edited_abroad_goes_home_under_its_own_name() {
        let home =
            import(br#"[{"keys":"wall","entry":"The wall is old."}]"#, &ImportOptions::new("b"));
        let abroad = Format::Sillytavern;
        let away = export(&home.unwrap().book, abroad, &ExportOptions::default()).unwrap();
        let mut away = import(&away.bytes, &ImportOptions::new("b")).unwrap().book;
        away.entries[0].content = "The wall fell.".to_owned();
        let back = export(&away, Format::Aidungeon, &ExportOptions::default()).unwrap();
        let back: Value = serde_json::from_slice(&back.bytes).unwrap();
        assert_eq!(back, serde_json::json!([{"keys": "wall", "entry": "The wall fell."}]));
    }

    #[test]
    fn a_clean_way_is_clean_and_a_changed_value_is_not() {
        let wanted = serde_json::json!({"a": 1, "b": {"c": [1, 2]}, "d": ""});
        let found = serde_json::json!({"a": 1.0, "b": {"c": [1, 3], "e": true}});
        let mut proof = RoundTripProof::default();
        differences(&wanted, &found, "", &mut proof);
        assert_eq!(proof.lost, [loss("b.c.1".to_owned(), &serde_json::json!(2))]);
        assert_eq!(proof.gained, ["b.e"]);
        let mut same = RoundTripProof::default();
        differences(&wanted, &wanted, "", &mut same);
        assert!(same.is_clean());
    }
}
