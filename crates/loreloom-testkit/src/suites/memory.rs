//! The memory suite: what the pure half of `loreloom-memory` makes of a recorded case.
//!
//! Cases run under the peer's rules (`smart-memory-1.8`) unless they name others in
//! `rules`. The recorder's conventions live here and nowhere else: default names, clock,
//! ids, the estimate of tokens, and the peer's labels.

mod fixture;
mod injection;
mod memories;
mod parsers;
mod passes;
mod pure;
mod subset;

use std::path::Path;

use serde_json::Value;

use self::fixture::Fixture;
use crate::conformance::Suite;

/// Cases recorded from Smart Memory 1.8, and our own in the same form.
pub(super) struct Memory;

impl Suite for Memory {
    fn cases(&self, relative: &str, bytes: &[u8]) -> Option<Result<Vec<Value>, String>> {
        let is_json = Path::new(relative).extension().is_some_and(|extension| extension == "json");
        is_json.then(|| serde_json::from_slice(bytes).map_err(|error| error.to_string()))
    }

    fn case_name(&self, case: &Value, relative: &str, index: usize, cases: usize) -> String {
        let own = case.get("name").and_then(Value::as_str);
        own.map_or_else(|| self.name(relative, index, cases), str::to_owned)
    }

    fn run(&self, case: &Value) -> Result<Value, String> {
        run_case(case)
    }

    fn difference(&self, case: &Value, actual: &Value) -> Option<String> {
        let found = subset::differences(case.get("expected").unwrap_or(&Value::Null), actual);
        (!found.is_empty()).then(|| found.join("; "))
    }
}

/// Runs one case and returns the actual value in the shape of its `expected`.
fn run_case(case: &Value) -> Result<Value, String> {
    let feature = case.get("feature").and_then(Value::as_str).ok_or("a case needs a `feature`")?;
    let input = case.get("input").ok_or("a case needs an `input`")?;
    let rules = case.get("rules").and_then(Value::as_str).unwrap_or("smart-memory-1.8");
    let fixture = Fixture::read(input, rules)?;
    for run in [pure::run, parsers::run, memories::run, passes::run, injection::run] {
        if let Some(actual) = run(feature, &fixture)? {
            return Ok(actual);
        }
    }
    Err(format!("there is no feature `{feature}`"))
}
