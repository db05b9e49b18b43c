//! What a standard cannot say about a character, and how it is carried all the same.
//!
//! As with entries, no list of who supports what is kept: a card is written, read again,
//! and what comes back different is what the standard has no word for.

use serde_json::{Map, Value, json};

use super::{Card, CardVersion, json};
use crate::{json::says_nothing, note::Notes};

const EXTENSIONS: &str = "extensions";
const ROOT: &str = "root";
/// The key under `extensions`.
const OURS: &str = "loreloom";
const VERSION: u64 = 1;

/// What the card says, without empty fields; a field of no standard is one of its own.
pub(crate) fn fields(card: &Card) -> Map<String, Value> {
    let Ok(Value::Object(mut fields)) = serde_json::to_value(card) else { return Map::new() };
    fields.shift_remove("version");
    if let Some(Value::Object(root)) = fields.shift_remove(ROOT) {
        let own = root.into_iter().filter(|(name, _)| !json::is_mirror(name));
        fields.extend(own.map(|(name, value)| (format!("{ROOT}.{name}"), value)));
    }
    if let Some(Value::Object(others)) = fields.shift_remove(EXTENSIONS) {
        for (name, value) in without_ours(others) {
            fields.insert(format!("{EXTENSIONS}.{name}"), value);
        }
    }
    fields.retain(|_, value| !says_nothing(value));
    fields
}

/// The card in the words of a standard, and what it has no words for. Standards with an
/// `extensions` object carry that there.
pub(crate) fn write_whole(
    card: &Card,
    version: CardVersion,
) -> (Map<String, Value>, Map<String, Value>) {
    let mut plain = Card { extensions: without_ours(card.extensions.clone()), ..card.clone() };
    if matches!(version, CardVersion::V2 | CardVersion::V3) {
        // Written around the data.
        plain.root.clear();
    }
    let mut data = json::write(&plain, version);
    let found = read_again(&data, version);
    let mut rest = fields(&plain);
    rest.retain(|name, value| found.get(name) != Some(value));
    if rest.is_empty() || !matches!(version, CardVersion::V2 | CardVersion::V3) {
        return (data, rest);
    }
    let extensions = data.entry(EXTENSIONS).or_insert_with(|| json!({}));
    if let Some(extensions) = extensions.as_object_mut() {
        extensions.insert(OURS.into(), json!({ "version": VERSION, "card": rest }));
        rest = Map::new();
    }
    (data, rest)
}

fn read_again(data: &Map<String, Value>, version: CardVersion) -> Map<String, Value> {
    let text = Value::Object(data.clone()).to_string();
    let Ok(parsed) = crate::json::parse(&text, usize::MAX) else { return Map::new() };
    fields(&json::read(&parsed.root, version, &mut Notes::default()))
}

/// The unknown fields without what we wrote among them.
fn without_ours(mut others: Map<String, Value>) -> Map<String, Value> {
    if let Some(Value::Object(extensions)) = others.get_mut(EXTENSIONS) {
        extensions.shift_remove(OURS);
    }
    others
}

/// Applies what a file carries for a card.
pub(super) fn restore(card: &mut Card) {
    let ours = card.extensions.get(EXTENSIONS).and_then(|extensions| extensions.get(OURS));
    let Some(ours) = ours.filter(|ours| ours.get("version") == Some(&json!(VERSION))) else {
        return;
    };
    let Some(Value::Object(rest)) = ours.get("card").cloned() else { return };
    let Ok(mut whole) = serde_json::to_value(&*card) else { return };
    for (name, value) in rest {
        // Only what the file itself leaves open: who edits a file means what it says.
        if whole.get(&name).is_some_and(says_nothing) {
            whole[name.as_str()] = value;
        }
    }
    if let Ok(restored) = serde_json::from_value(whole) {
        *card = restored;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card() -> Card {
        Card {
            nickname: Some("Cap".into()),
            alternate_greetings: vec!["Ahoy.".into()],
            group_only_greetings: vec!["All hands.".into()],
            ..json::named("Orla")
        }
    }

    #[test]
    fn a_standard_without_a_word_carries_it_or_tells() {
        let (data, lost) = write_whole(&card(), CardVersion::V2);
        assert_eq!(lost, Map::new());
        assert_eq!(data.get("nickname"), None);
        let text = json!({ "spec": "chara_card_v2", "data": data }).to_string();
        let parsed = crate::json::parse(&text, 16).unwrap();
        let again = json::read(&parsed.root, CardVersion::V2, &mut Notes::default());
        assert_eq!(fields(&again), fields(&card()));

        let (_, lost) = write_whole(&card(), CardVersion::V1);
        let lost: Vec<&String> = lost.keys().collect();
        assert_eq!(lost, ["nickname", "alternate_greetings", "group_only_greetings"]);
    }

    #[test]
    fn what_the_file_says_itself_is_not_overwritten() {
        let (mut data, _) = write_whole(&card(), CardVersion::V2);
        data.insert("nickname".into(), json!("Boss"));
        let text = json!({ "data": data }).to_string();
        let parsed = crate::json::parse(&text, 16).unwrap();
        let again = json::read(&parsed.root, CardVersion::V2, &mut Notes::default());
        assert_eq!(again.nickname.as_deref(), Some("Boss"));
    }
}
