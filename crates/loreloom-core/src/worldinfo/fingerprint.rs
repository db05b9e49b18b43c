//! An entry's fingerprint: what timed effects recognise it by.
//!
//! SillyTavern hashes the entry's JSON, so any edit, even of the comment, makes it another
//! entry. Chats that come from there carry these hashes, so we compute the same.

use serde_json::{Map, Value};

use super::Decorated;
use crate::book::{Entry, OriginalId};

/// The fingerprint of an entry of the book called `world`.
pub fn fingerprint(entry: &Entry, world: &str, decorated: &Decorated<'_>) -> u64 {
    let stored: Option<Map<String, Value>> =
        entry.raw.as_deref().and_then(|raw| serde_json::from_str(raw).ok());
    // An entry that never was JSON is told apart by our own form of it.
    let mut stored = stored.unwrap_or_else(|| match serde_json::to_value(entry) {
        Ok(Value::Object(map)) => map,
        Ok(_) | Err(_) => Map::new(),
    });
    let uid = stored.shift_remove("uid").unwrap_or_else(|| match &entry.original_id {
        Some(OriginalId::Number(number)) => Value::from(*number),
        Some(OriginalId::Text(text)) => Value::from(text.as_str()),
        None => Value::Null,
    });
    let mut object = Map::new();
    object.insert("uid".to_owned(), uid);
    object.insert("world".to_owned(), Value::from(world));
    object.extend(stored);
    object.insert("decorators".to_owned(), Value::from(decorated.lines.clone()));
    object.insert("content".to_owned(), Value::from(decorated.body));
    cyrb53(&Value::Object(object).to_string())
}

/// The fingerprint that the host sent along with an object, as those that it loaded for
/// scanning have one.
pub(super) fn sent_fingerprint(sent: &Entry) -> Option<u64> {
    let raw: Map<String, Value> = serde_json::from_str(sent.raw.as_deref()?).ok()?;
    raw.get("hash")?.as_u64()
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
    use super::*;

    #[test]
    fn the_hash_of_no_text_is_sillytaverns() {
        assert_eq!(cyrb53(""), 3_338_908_027_751_811);
        assert_ne!(cyrb53("a"), cyrb53("b"));
    }
}
