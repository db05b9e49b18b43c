//! A suite whose part of the engine does not exist yet: all its cases fail.

use serde_json::Value;

use super::is_json;
use crate::conformance::Suite;

/// Fails every case it finds.
pub(super) struct Unbuilt;

impl Suite for Unbuilt {
    fn cases(&self, relative: &str, bytes: &[u8]) -> Option<Result<Vec<Value>, String>> {
        if !is_json(relative) {
            return None;
        }
        let value: Value = match serde_json::from_slice(bytes) {
            Ok(value) => value,
            Err(error) => return Some(Err(error.to_string())),
        };
        Some(Ok(match value {
            Value::Array(cases) => cases,
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Object(_) => {
                vec![value]
            }
        }))
    }

    fn run(&self, _: &Value) -> Result<Value, String> {
        Err("this suite is not built yet".to_owned())
    }
}
