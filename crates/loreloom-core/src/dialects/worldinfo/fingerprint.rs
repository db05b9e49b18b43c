//! An entry's fingerprint: what timed effects recognise it by.
//!
//! SillyTavern hashes the entry's JSON, so any edit, even of the comment, makes it another
//! entry. Chats that come from there carry these hashes, so we compute the same.

use serde_json::{Map, Value};

use super::{Decorated, js_text};
use crate::book::{Entry, OriginalId};

/// The fingerprint of an entry of the book called `world`.
pub fn fingerprint(entry: &Entry, world: &str, decorated: &Decorated<'_>) -> u64 {
    // An entry that was never JSON is identified by our own form of it.
    let mut stored = stored(entry).unwrap_or_else(|| match serde_json::to_value(entry) {
        Ok(Value::Object(map)) => map,
        Ok(_) | Err(_) => Map::new(),
    });
    let named = || match entry.original_id.as_ref()? {
        OriginalId::Number(number) => Some(Value::from(*number)),
        OriginalId::Text(text) => Some(Value::from(text.as_str())),
    };
    let mut object = Map::new();
    // Without a uid there is no such field: what is undefined is not written there.
    if let Some(uid) = stored.shift_remove("uid").or_else(named) {
        object.insert("uid".to_owned(), uid);
    }
    object.insert("world".to_owned(), Value::from(world));
    object.extend(stored);
    object.insert("decorators".to_owned(), Value::from(decorated.lines.clone()));
    object.insert("content".to_owned(), Value::from(decorated.body));
    cyrb53(&js_text::json(&Value::Object(object)))
}

/// An entry as it is in its file.
fn stored(entry: &Entry) -> Option<Map<String, Value>> {
    entry.raw.as_deref().and_then(|raw| serde_json::from_str(raw).ok())
}

/// What the program calls an entry of no uid: a file may say `null` or nothing.
pub(crate) fn missing_uid(entry: &Entry) -> Option<&'static str> {
    match stored(entry)?.get("uid") {
        Some(Value::Null) => Some("null"),
        Some(_) => None,
        None => Some("undefined"),
    }
}

/// Whether a file does not say how an entry's secondary keys combine.
pub(crate) fn leaves_logic_open(entry: &Entry) -> bool {
    stored(entry).is_some_and(|stored| stored.get("selectiveLogic").is_none_or(Value::is_null))
}

/// The fingerprint that the front end sent along with an object, as those that it loaded for
/// scanning have one.
pub(crate) fn sent_fingerprint(sent: &Entry) -> Option<u64> {
    stored(sent)?.get("hash")?.as_u64()
}

/// The 53-bit string hash that SillyTavern uses, over UTF-16 units, with seed 0.
pub fn cyrb53(text: &str) -> u64 {
    let (mut low, mut high) = (0xdead_beef_u32, 0x41c6_ce57_u32);
    for unit in text.encode_utf16() {
        low = (low ^ u32::from(unit)).wrapping_mul(2_654_435_761);
        high = (high ^ u32::from(unit)).wrapping_mul(1_597_334_677);
    }
    low = (low ^ (low >> 16)).wrapping_mul(2_246_822_507)
        ^ (high ^ (high >> 13)).wrapping_mul(3_266_489_909);
    high = (high ^ (high >> 16)).wrapping_mul(2_246_822_507)
        ^ (low ^ (low >> 13)).wrapping_mul(3_266_489_909);
    (u64::from(high & 0x1f_ffff) << 32) | u64::from(low)
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Quirks, split_decorators},
        *,
    };

    #[test]
    fn the_hash_of_no_text_is_sillytaverns() {
        assert_eq!(cyrb53(""), 3_338_908_027_751_811);
        assert_ne!(cyrb53("a"), cyrb53("b"));
    }

    #[test]
    fn the_hash_is_of_what_javascript_writes() {
        for (raw, written) in [
            (
                r#"{"uid":0,"7":1.0,"order":1e2,"content":"A"}"#,
                r#"{"7":1,"uid":0,"world":"B","order":100,"content":"A","decorators":[]}"#,
            ),
            (
                r#"{"key":["a"],"content":"A"}"#,
                r#"{"world":"B","key":["a"],"content":"A","decorators":[]}"#,
            ),
            (
                r#"{"content":"A","uid":null}"#,
                r#"{"uid":null,"world":"B","content":"A","decorators":[]}"#,
            ),
        ] {
            let mut entry = Entry::new("b/0");
            entry.raw = Some(raw.into());
            let decorated = split_decorators("A", Quirks::sillytavern_1_19());
            assert_eq!(fingerprint(&entry, "B", &decorated), cyrb53(written), "{raw}");
        }
    }
}
