//! Timed effects as chat metadata has them.

use std::collections::BTreeMap;

use loreloom_core::{ids::EntryId, library::Library, state::TimedRecord, units::MessageCount};
use serde_json::{Map, Value, json};

use super::scan::{id_of, name_of};

/// The records of one kind; a value that is not an object has none.
pub(super) fn read(library: &Library, stored: &Value) -> BTreeMap<EntryId, TimedRecord> {
    let stored = stored.as_object().into_iter().flatten();
    stored.filter_map(|(name, value)| Some((id_of(library, name), record(value)?))).collect()
}

/// Numbers may be written as text; their values are compared.
fn record(value: &Value) -> Option<TimedRecord> {
    let value = value.as_object()?;
    let number = |key: &str| {
        let number = value.get(key)?;
        number.as_str().map_or_else(|| number.as_u64(), |text| text.trim().parse().ok())
    };
    let count = |key: &str| number(key).and_then(|number| u32::try_from(number).ok());
    Some(TimedRecord {
        fingerprint: number("hash"),
        start: MessageCount(count("start")?),
        end: MessageCount(count("end")?),
        protected: value.get("protected").is_some_and(|one| *one == true || *one == 1),
    })
}

/// The records of one kind in the form of the metadata. Unchanged ones keep their `stored` form.
pub(super) fn write(
    library: &Library,
    records: &BTreeMap<EntryId, TimedRecord>,
    stored: &Value,
) -> Map<String, Value> {
    let records = records.iter().map(|(id, now)| {
        let name = library.find(id).map_or_else(|| id.to_string(), |ix| name_of(library, ix));
        if let Some(before) = stored.get(&name).filter(|before| record(before) == Some(*now)) {
            return (name, before.clone());
        }
        let mut value = json!({
            "start": now.start.0,
            "end": now.end.0,
            "protected": now.protected,
        });
        if let Some(fingerprint) = now.fingerprint {
            value["hash"] = json!(fingerprint);
        }
        (name, value)
    });
    records.collect()
}
