//! One prompt for several tiers, for models that can answer in JSON.
//!
//! The reply is a JSON object with a list of tagged lines for each tier. Each tier then reads its
//! lines like a reply to its own prompt. If the reply is no such object, every tier asks for
//! itself.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Config, GUARD, PassSource, bullets, contents};
use crate::{
    pass::{ModelQuestion, Need, Purpose, Script},
    record::{Entity, Memory, StateKind},
    window::lines,
};

/// What the prompt is about.
#[derive(Clone, Debug)]
pub struct TogetherInput<'pass> {
    /// Settings, rules and model.
    pub config: Config<'pass>,
    /// What is read.
    pub source: PassSource<'pass>,
    /// Whose long-term memory it is.
    pub character: &'pass str,
    /// Active long-term memories.
    pub longterm: &'pass [&'pass Memory],
    /// Active session memories.
    pub session: &'pass [&'pass Memory],
    /// Open arcs.
    pub arcs: &'pass [&'pass str],
    /// The entities of character and chat.
    pub entities: &'pass [&'pass Entity],
}

/// The lines of each tier, as in a reply to its own prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replies {
    /// For the session pass.
    pub session: Option<String>,
    /// For the long-term pass.
    pub longterm: Option<String>,
    /// For the arcs pass.
    pub arcs: Option<String>,
    /// For the ledger.
    pub ledger: Option<String>,
}

/// The JSON schema of the reply.
pub fn schema() -> Value {
    let lines = json!({ "type": "array", "items": { "type": "string" } });
    json!({
        "type": "object",
        "properties": {
            "session": lines, "long_term": lines, "threads": lines, "state": lines,
        },
        "required": ["session", "long_term", "threads", "state"],
        "additionalProperties": false,
    })
}

/// The prompt.
pub fn prompt_for(input: &TogetherInput<'_>) -> ModelQuestion {
    let tracked: Vec<String> = input
        .entities
        .iter()
        .filter_map(|entity| {
            Some(format!("{} ({})", entity.name, StateKind::of(entity.kind)?.as_str()))
        })
        .collect();
    let fields: Vec<String> = StateKind::ALL
        .iter()
        .map(|kind| format!("{}: {}", kind.as_str(), kind.fields().join(", ")))
        .collect();
    let character = input.character;
    ModelQuestion {
        purpose: Purpose::Together,
        prompt: format!(
            "{GUARD}\n\n\
             Answer with one JSON object and nothing else: \
             {{\"session\": [], \"long_term\": [], \"threads\": [], \"state\": []}}. Each list \
             holds lines of text; leave a list empty if there is nothing to say.\n\n\
             session: what must stay consistent for the rest of this conversation, as \
             [kind:importance:expiry:entity=Name/type,Name/type] one short statement. kind: \
             scene, revelation, development or detail.\n\
             long_term: what will still matter to {character} in later conversations, in the \
             same form. kind: fact, relationship, preference or event.\n\
             For both: importance 1 to 3; expiry scene, session or permanent; type character, \
             place, object, faction or concept. Only what the text shows, nothing guessed; name \
             people; under 240 characters. If something known has changed, say so with words \
             such as \"no longer\" or \"is now\". If a known statement is shown again, repeat it \
             word for word.\n\
             threads: open threads of the story that are new as [arc] one sentence; threads of \
             the list below that came to an end as [resolved] the thread.\n\
             state: the current state of people and things as \
             [state:Name:type] field=value | field=value. Fields by type: {}. Only these: {}.\n\n\
             Known for good:\n{}\n\n\
             Noted in this conversation:\n{}\n\n\
             Open threads:\n{}\n\n\
             Story:\n{}",
            fields.join("; "),
            if tracked.is_empty() { "(none)".to_owned() } else { tracked.join(", ") },
            contents(input.longterm),
            contents(input.session),
            bullets(input.arcs.iter().copied()),
            lines(input.source.messages())
        ),
        max_tokens: 1600,
    }
}

#[derive(Deserialize)]
struct TogetherReply {
    session: Option<Vec<String>>,
    long_term: Option<Vec<String>>,
    threads: Option<Vec<String>>,
    state: Option<Vec<String>>,
}

/// Reads the first JSON object of the reply. A missing list is no answer.
pub fn parse(reply: &str) -> Replies {
    let object = reply.find('{').map(|start| &reply[start..]);
    let lists = object.and_then(|text| {
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<TogetherReply>();
        values.next()?.ok()
    });
    let Some(lists) = lists else { return Replies::default() };
    let joined = |lines: Option<Vec<String>>| {
        // An empty list is an answer: there is nothing new.
        lines.map(|lines| if lines.is_empty() { "NONE".to_owned() } else { lines.join("\n") })
    };
    Replies {
        session: joined(lists.session),
        longterm: joined(lists.long_term),
        arcs: joined(lists.threads),
        ledger: joined(lists.state),
    }
}

/// Asks for all tiers at once.
pub fn run(input: &TogetherInput<'_>, script: &mut Script<'_>) -> Result<Replies, Need> {
    Ok(parse(script.ask(prompt_for(input))?.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_an_answer_and_anything_else_is_none() {
        let replies =
            parse("Here:\n{\"session\":[],\"long_term\":[\"[fact] a\",\"[event] b\"]} ok");
        assert_eq!(replies.session.as_deref(), Some("NONE"));
        assert_eq!(replies.longterm.as_deref(), Some("[fact] a\n[event] b"));
        assert_eq!((replies.arcs, replies.ledger), (None, None));
        for reply in ["", "NONE", "[fact] x", "{\"session\": \"x\"}", "{\"session\": [1]}"] {
            assert_eq!(parse(reply), Replies::default(), "{reply}");
        }
    }
}
