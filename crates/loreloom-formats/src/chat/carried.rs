//! What a chat of SillyTavern carries on from turn to turn: running effects of entries and
//! variables.

use std::collections::BTreeMap;

use loreloom_core::{
    book::Book,
    ids::EntryId,
    macros::Variables,
    state::{StoryState, TimedRecord},
    units::MessageCount,
};
use serde_json::{Map, Value};

use super::ImportedChat;

/// The state in a chat's metadata. It names entries by book and number, so entries of other books
/// are left out.
pub fn carried_state<'book>(
    chat: &ImportedChat,
    books: impl IntoIterator<Item = &'book Book>,
) -> StoryState {
    let ids = if has_effects(chat) { names(books) } else { BTreeMap::new() };
    state_with(chat, |name| ids.get(name).cloned())
}

/// The state in a chat's metadata when its books are not at hand: an entry is `<book>/<number>`,
/// as in a book read from the file of that world.
pub fn carried_state_by_name(chat: &ImportedChat) -> StoryState {
    state_with(chat, |name| {
        // A world's name may have points of its own.
        let (world, number) = name.rsplit_once('.')?;
        Some(EntryId(format!("{world}/{number}")))
    })
}

fn metadata(chat: &ImportedChat) -> Option<&Map<String, Value>> {
    chat.metadata.get("chat_metadata").and_then(Value::as_object)
}

fn has_effects(chat: &ImportedChat) -> bool {
    metadata(chat).is_some_and(|metadata| metadata.contains_key("timedWorldInfo"))
}

fn state_with(chat: &ImportedChat, id: impl Fn(&str) -> Option<EntryId>) -> StoryState {
    let Some(metadata) = metadata(chat) else { return StoryState::default() };
    let timed = metadata.get("timedWorldInfo").and_then(Value::as_object);
    let records = |kind: &str| {
        let stored = timed.and_then(|timed| timed.get(kind)?.as_object());
        let stored = stored.into_iter().flatten();
        stored.filter_map(|(name, value)| Some((id(name)?, record(value)?))).collect()
    };
    let variables = metadata.get("variables").and_then(Value::as_object);
    StoryState {
        sticky: records("sticky"),
        cooldown: records("cooldown"),
        variables: Variables {
            local: variables.map(texts).unwrap_or_default(),
            ..Variables::default()
        },
        ..StoryState::default()
    }
}

/// Entries by what SillyTavern calls them; the first of those that share a name.
fn names<'book>(books: impl IntoIterator<Item = &'book Book>) -> BTreeMap<String, EntryId> {
    let mut names = BTreeMap::new();
    for book in books {
        for entry in &book.entries {
            if let Some(number) = &entry.original_id {
                let name = format!("{}.{number}", book.name);
                names.entry(name).or_insert_with(|| entry.id.clone());
            }
        }
    }
    names
}

fn record(value: &Value) -> Option<TimedRecord> {
    let count = |key: &str| value[key].as_u64().and_then(|count| u32::try_from(count).ok());
    Some(TimedRecord {
        fingerprint: value["hash"].as_u64(),
        start: MessageCount(count("start")?),
        end: MessageCount(count("end")?),
        protected: value["protected"] == true,
    })
}

/// Variables as text: that is how entries read them.
fn texts(variables: &Map<String, Value>) -> BTreeMap<String, String> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    variables.iter().map(|(name, value)| (name.clone(), text(value))).collect()
}

#[cfg(test)]
mod tests {
    use loreloom_core::book::{Entry, OriginalId};

    use super::*;
    use crate::{chat::import_chat, limits::Limits};

    #[test]
    fn effects_and_variables_are_read_and_strangers_left_out() {
        let chat = r#"{"user_name":"Mira","character_name":"Torvald","chat_metadata":{
            "variables":{"who":"Odo","times":3},
            "timedWorldInfo":{
              "sticky":{"Harrow.7":{"hash":5,"start":2,"end":4,"protected":false},"Other.7":{"hash":6,"start":2,"end":4}},
              "cooldown":{"Harrow.7":{"start":4,"end":9,"protected":true},"Harrow.8":"odd"}}}}
{"name":"Mira","is_user":true,"mes":"Well?"}"#
            .replace("\n            ", "")
            .replace("\n              ", "");
        let chat = import_chat(chat.as_bytes(), &Limits::default()).unwrap();
        let mut book = Book::new("harrow", "Harrow");
        let mut entry = Entry::new("harrow/bell");
        entry.original_id = Some(OriginalId::Number(7));
        book.entries.push(entry);
        let state = carried_state(&chat, [&book]);
        let record = |fingerprint, start, end, protected| TimedRecord {
            fingerprint,
            start: MessageCount(start),
            end: MessageCount(end),
            protected,
        };
        let id = EntryId::from("harrow/bell");
        assert_eq!(state.sticky, [(id.clone(), record(Some(5), 2, 4, false))].into());
        assert_eq!(state.cooldown, [(id, record(None, 4, 9, true))].into());
        let local = [("times", "3"), ("who", "Odo")].map(|(a, b)| (a.to_owned(), b.to_owned()));
        assert_eq!(state.variables.local, local.into());
        let by_name = carried_state_by_name(&chat);
        let sticky = [("Harrow/7", 5), ("Other/7", 6)];
        let sticky = sticky.map(|(id, hash)| (id.into(), record(Some(hash), 2, 4, false)));
        assert_eq!(by_name.sticky, sticky.into());
        assert_eq!(by_name.cooldown, [("Harrow/7".into(), record(None, 4, 9, true))].into());
        assert_eq!(by_name.variables, state.variables);
    }

    #[test]
    fn a_world_may_have_points_in_its_name_and_odd_metadata_tells_nothing() {
        let read = |metadata: &str| {
            let chat = format!(
                "{{\"user_name\":\"M\",\"chat_metadata\":{metadata}}}\n{{\"name\":\"M\",\"mes\":\"x\"}}"
            );
            carried_state_by_name(&import_chat(chat.as_bytes(), &Limits::default()).unwrap())
        };
        let state = read(r#"{"timedWorldInfo":{"sticky":{"World v1.2.7":{"start":1,"end":2}}}}"#);
        assert_eq!(state.sticky.keys().collect::<Vec<_>>(), [&EntryId::from("World v1.2/7")]);
        for odd in [
            "null",
            r#"{"timedWorldInfo":[],"variables":7}"#,
            r#"{"timedWorldInfo":{"sticky":{"no point":{"start":1,"end":2},"W.1":{"start":-1}}}}"#,
        ] {
            assert_eq!(read(odd), StoryState::default(), "{odd}");
        }
    }
}
