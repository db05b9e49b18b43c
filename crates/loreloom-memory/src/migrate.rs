//! Migrates Smart Memory's data to its current schema, step by step.
//!
//! Steps work on raw JSON, so unknown fields are kept. A current container is returned unchanged; a
//! newer one is refused.

use serde_json::{Map, Value, json};

use crate::ids::Ids;

/// The newest schema.
pub const CURRENT: u64 = 9;

/// Why a container cannot be migrated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MigrateError {
    /// It is not an object.
    #[error("a container must be an object, found {found}")]
    NotAnObject {
        /// What was found.
        found: String,
    },
    /// Its version is not a number.
    #[error("`schema_version` must be a whole number, found {found}")]
    Version {
        /// What was found.
        found: String,
    },
    /// It was written by a newer program.
    #[error("`schema_version` must be at most {CURRENT}, found {found}")]
    TooNew {
        /// What was found.
        found: u64,
    },
    /// A list of memories has another type.
    #[error("`{field}` must be a list of objects, found {found}")]
    Memories {
        /// The field.
        field: &'static str,
        /// What was found.
        found: String,
    },
}

/// Migrates a character's container.
pub fn character(container: Value, ids: &mut Ids) -> Result<Value, MigrateError> {
    migrate(container, ids, |version, fields, ids| {
        match version {
            1 => add_graph(fields, "memories", ids)?,
            2 => add_confidence(fields, "memories")?,
            4 => add(fields, "persistent_arcs", json!([])),
            6 => each_memory(fields, "memories", |memory| add(memory, "triggers", json!([])))?,
            7 => add(fields, "relationship_history", json!({})),
            8 => {
                add(fields, "epistemic_knowledge", json!([]));
                each_memory(fields, "memories", |memory| add(memory, "witnessed_by", json!([])))?;
            }
            _ => {}
        }
        Ok(())
    })
}

/// Migrates a chat's container.
pub fn chat(container: Value, ids: &mut Ids) -> Result<Value, MigrateError> {
    migrate(container, ids, |version, fields, ids| {
        match version {
            1 => add_graph(fields, "sessionMemories", ids)?,
            2 => add_confidence(fields, "sessionMemories")?,
            3 => drop_flat_profiles(fields),
            5 => {
                if let Some(entities) = fields.remove("entities") {
                    add(fields, "sessionEntities", entities);
                }
            }
            9 => add(fields, "state_ledger", json!({})),
            _ => {}
        }
        Ok(())
    })
}

type Step = fn(u64, &mut Map<String, Value>, &mut Ids) -> Result<(), MigrateError>;

fn migrate(container: Value, ids: &mut Ids, step: Step) -> Result<Value, MigrateError> {
    let Value::Object(mut fields) = container else {
        return Err(MigrateError::NotAnObject { found: container.to_string() });
    };
    let from = match fields.get("schema_version") {
        None | Some(Value::Null) => 0,
        Some(version) => {
            version.as_u64().ok_or_else(|| MigrateError::Version { found: version.to_string() })?
        }
    };
    if from > CURRENT {
        return Err(MigrateError::TooNew { found: from });
    }
    for version in from + 1..=CURRENT {
        step(version, &mut fields, ids)?;
    }
    fields.insert("schema_version".to_owned(), json!(CURRENT));
    Ok(Value::Object(fields))
}

/// Adds a missing field. Existing values stay.
fn add(fields: &mut Map<String, Value>, name: &str, value: Value) {
    fields.entry(name).or_insert(value);
}

fn each_memory(
    fields: &mut Map<String, Value>,
    list: &'static str,
    mut change: impl FnMut(&mut Map<String, Value>),
) -> Result<(), MigrateError> {
    let Some(memories) = fields.get_mut(list) else { return Ok(()) };
    let wrong = |found: &Value| MigrateError::Memories { field: list, found: found.to_string() };
    let Value::Array(memories) = memories else { return Err(wrong(memories)) };
    for memory in memories {
        let Value::Object(memory) = memory else { return Err(wrong(memory)) };
        change(memory);
    }
    Ok(())
}

fn add_graph(
    fields: &mut Map<String, Value>,
    list: &'static str,
    ids: &mut Ids,
) -> Result<(), MigrateError> {
    each_memory(fields, list, |memory| {
        if !memory.contains_key("id") {
            memory.insert("id".to_owned(), json!(ids.next()));
        }
        for (name, value) in [
            ("source_messages", json!([])),
            ("source_chat_id", Value::Null),
            ("entities", json!([])),
            ("time_scope", json!("global")),
            ("valid_from", Value::Null),
            ("valid_to", Value::Null),
            ("supersedes", json!([])),
            ("superseded_by", Value::Null),
            ("contradicts", json!([])),
        ] {
            add(memory, name, value);
        }
    })?;
    add(fields, "entities", json!([]));
    Ok(())
}

fn add_confidence(fields: &mut Map<String, Value>, list: &'static str) -> Result<(), MigrateError> {
    each_memory(fields, list, |memory| {
        add(memory, "confidence", json!(1));
        add(memory, "unconfirmed_since", json!(0));
    })
}

/// Old profiles were one for the whole chat. They are dropped, because profiles are written again
/// anyway.
fn drop_flat_profiles(fields: &mut Map<String, Value>) {
    let is_flat = fields.get("profiles").and_then(Value::as_object).is_some_and(|profiles| {
        ["character_state", "world_state", "relationship_matrix"]
            .iter()
            .any(|part| profiles.get(*part).is_some_and(Value::is_string))
    });
    if is_flat {
        fields.remove("profiles");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn existing_values_and_unknown_fields_stay() -> Result<(), MigrateError> {
        let before = json!({"memories": [{"id": "k", "confidence": 0.4, "own": 1}], "own": 2});
        let after = character(before, &mut Ids::new("id"))?;
        assert_eq!(after["memories"][0]["id"], "k");
        assert_eq!(after["memories"][0]["confidence"], 0.4);
        assert_eq!((&after["memories"][0]["own"], &after["own"]), (&json!(1), &json!(2)));
        assert_eq!(after["schema_version"], 9);
        Ok(())
    }

    #[test]
    fn a_second_migration_changes_nothing() -> Result<(), MigrateError> {
        let ids = || Ids::new("id");
        let once = chat(json!({"entities": [], "sessionMemories": [{}]}), &mut ids())?;
        assert_eq!(chat(once.clone(), &mut ids())?, once);
        assert_eq!(once.get("entities"), None);
        Ok(())
    }

    #[test]
    fn what_is_not_a_container_is_refused_with_what_was_found() {
        for (container, message) in [
            (json!([]), "a container must be an object, found []"),
            (json!({"schema_version": 10}), "`schema_version` must be at most 9, found 10"),
            (
                json!({"schema_version": "9"}),
                "`schema_version` must be a whole number, found \"9\"",
            ),
            (json!({"memories": {}}), "`memories` must be a list of objects, found {}"),
            (json!({"memories": [1]}), "`memories` must be a list of objects, found 1"),
        ] {
            let error = character(container, &mut Ids::new("id")).map_err(|e| e.to_string());
            assert_eq!(error, Err(message.to_owned()));
        }
    }
}
