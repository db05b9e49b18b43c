//! Files of every lorebook format: what each must be read as, and that it comes back.
//!
//! The expectations are one table, `expected.json`. The runner goes by name, so it reads the table
//! before the folders.

use std::cell::RefCell;

use loreloom_formats::examine;
use serde_json::{Map, Value, json};

use crate::conformance::Suite;

/// The suite.
#[derive(Default)]
pub(super) struct Formats(RefCell<Map<String, Value>>);

impl Suite for Formats {
    fn cases(&self, relative: &str, bytes: &[u8]) -> Option<Result<Vec<Value>, String>> {
        if relative == "expected.json" {
            return match serde_json::from_slice(bytes) {
                Ok(table) => {
                    self.0.replace(table);
                    None
                }
                Err(error) => Some(Err(error.to_string())),
            };
        }
        let expected = self.0.borrow().get(relative)?.clone();
        let report = examine(bytes, Some(relative));
        Some(Ok(vec![json!({ "expected": expected, "report": report })]))
    }

    fn name(&self, relative: &str, _: usize, _: usize) -> String {
        relative.to_owned()
    }

    fn emitted(&self, relative: &str) -> String {
        format!("{relative}.json")
    }

    fn run(&self, case: &Value) -> Result<Value, String> {
        Ok(case["report"].clone())
    }

    fn difference(&self, case: &Value, actual: &Value) -> Option<String> {
        let expected = &case["expected"];
        let differs = |field: &str| {
            let (wanted, found) = (&expected[field], &actual[field]);
            // `card-png` leaves the version open.
            let open = wanted == "card-png"
                && found
                    .as_str()
                    .is_some_and(|name| name.starts_with("card-") && name.ends_with("-png"));
            let judged = !wanted.is_null() && wanted != found && !open;
            judged.then(|| {
                format!("/{field}: expected {wanted}, found {found}: {}", actual["warnings"])
            })
        };
        let round_trip = || {
            (actual["round_trip"] == "differs")
                .then(|| "the file does not come back as it was".to_owned())
        };
        ["outcome", "format", "entries"].into_iter().find_map(differs).or_else(round_trip)
    }
}
