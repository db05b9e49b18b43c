//! Requests recorded from SillyTavern and from SDKs: does the proxy find the story?
//!
//! A folder is one scenario: its requests come in order, and what is recognised in one
//! depends on those before it. The runner walks files in order of name, so the suite keeps
//! the scenario it is in and starts afresh with the next folder.

mod judge;

use std::cell::RefCell;

use loreloom_recognise::{Kind, KnownStories, Recognition, TextKey, wire};
use serde_json::{Value, json};

pub use self::judge::Judge;
use crate::conformance::Suite;

/// The suite.
#[derive(Default)]
pub(super) struct Traffic(RefCell<Scenario>);

/// The scenario that is being run.
#[derive(Default)]
struct Scenario {
    name: String,
    memory: KnownStories,
    judge: Judge,
}

impl Suite for Traffic {
    fn cases(&self, relative: &str, bytes: &[u8]) -> Option<Result<Vec<Value>, String>> {
        let (scenario, file) = relative.rsplit_once('/')?;
        let number = file.strip_suffix(".json")?;
        if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let case: Result<Value, _> = serde_json::from_slice(bytes);
        Some(match case {
            Ok(case) => Ok(vec![json!({ "scenario": scenario, "recorded": case })]),
            Err(error) => Err(error.to_string()),
        })
    }

    fn run(&self, case: &Value) -> Result<Value, String> {
        let name = case["scenario"].as_str().unwrap_or_default();
        let mut scenario = self.0.borrow_mut();
        if scenario.name != name {
            *scenario = Scenario { name: name.to_owned(), ..Scenario::default() };
        }
        Ok(scenario.recognise(&case["recorded"]))
    }

    fn difference(&self, case: &Value, actual: &Value) -> Option<String> {
        self.0.borrow_mut().judge.difference(&case["recorded"], actual)
    }
}

impl Scenario {
    /// Plays one recorded request and its reply.
    fn recognise(&mut self, recorded: &Value) -> Value {
        let endpoint = recorded["endpoint"].as_str().unwrap_or_default();
        let (method, path) = endpoint.split_once(' ').unwrap_or(("", endpoint));
        let header = |name: &str| {
            let headers = recorded["headers"].as_object()?;
            let found = headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name))?;
            found.1.as_str()
        };
        let body = wire::WireBody::read(&recorded["body"].to_string());
        let body = body.map(|(body, _)| body).unwrap_or_default();
        let Some(request) = wire::read(method, path, header, body) else {
            return json!({ "kind": "pass", "tree": null, "extracted": [], "path": [] });
        };
        let found = self.memory.recognise(&request);
        let ticket = self.memory.record(&request, &found);
        let replies = recorded.pointer("/ground_truth/reply").and_then(Value::as_array);
        self.memory.reply(&ticket, replies.into_iter().flatten().filter_map(Value::as_str));
        output(&found)
    }
}

fn output(found: &Recognition) -> Value {
    let kind = match found.kind {
        Kind::Story => "story",
        Kind::Background => "background",
    };
    // A message that the front end changed for the prompt is on the path, but its text is
    // not found in the body.
    let verbatim = found.window.parts.iter().zip(&found.places).filter_map(|(part, place)| {
        let text = found.path[(*place)?].text.as_str();
        (TextKey::of(text) == part.key).then_some(text)
    });
    let extracted: Vec<&str> = verbatim.collect();
    let path: Vec<&str> = found.path.iter().map(|message| message.text.as_str()).collect();
    json!({
        "kind": kind,
        "tree": found.chat.as_ref().map(|chat| chat.as_str().to_owned()),
        "extracted": extracted,
        "path": path,
    })
}
