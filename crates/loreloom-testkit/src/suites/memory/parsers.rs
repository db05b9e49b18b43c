//! Features that read a model's reply.

use loreloom_memory::{
    record::TimeScope,
    tiers::{
        MemoryCandidate, arcs, compaction, continuity, epistemic, ledger, longterm, profiles,
        relationships, session, triggers,
    },
};
use serde_json::{Value, json};

use super::fixture::Fixture;

pub(super) fn run(feature: &str, case: &Fixture<'_>) -> Result<Option<Value>, String> {
    let text = || case.get::<String>("text");
    let rules = &case.rules;
    Ok(Some(match feature {
        "parse_longterm" => candidates(&longterm::parse(&text()?, rules), TimeScope::Global),
        "parse_session" => candidates(&session::parse(&text()?, rules), TimeScope::Session),
        "parse_arcs" => {
            let existing: Vec<String> = case.get("existing")?;
            let existing: Vec<&str> = existing.iter().map(String::as_str).collect();
            let mut change = arcs::parse(&text()?, &existing, rules);
            change.resolve.sort_unstable();
            json!({"add": change.add, "resolve": change.resolve})
        }
        "parse_contradictions" => json!(continuity::parse(&text()?, rules)),
        "parse_epistemic" => epistemic::parse(&text()?, rules)
            .into_iter()
            .map(|insight| {
                json!({
                    "type": insight.kind,
                    "subject": insight.subject,
                    "target": insight.target,
                    "content": insight.content,
                })
            })
            .collect(),
        "parse_epistemic_retire" => json!(epistemic::parse_retired(&text()?)),
        "parse_profiles" => json!(profiles::parse(&text()?)),
        "parse_relationship_delta" => relationships::parse(&text()?, rules)
            .into_iter()
            .map(|delta| {
                json!({
                    "subject": delta.subject,
                    "target": delta.target,
                    "updates": delta.updates,
                    "removals": delta.removals,
                })
            })
            .collect(),
        "parse_state_cards" => json!(ledger::parse(&text()?, rules)),
        "parse_triggers" => json!(triggers::parse(&text()?, &case.get::<String>("memory")?, rules)),
        "format_summary" => json!(compaction::parse(&text()?, rules)),
        "filter_triggers" => {
            let (words, memories) =
                (case.get::<Vec<String>>("triggers")?, case.get::<Vec<String>>("memories")?);
            let memories: Vec<&str> = memories.iter().map(String::as_str).collect();
            json!(triggers::distinctive(&words, &memories))
        }
        _ => return Ok(None),
    }))
}

fn candidates(found: &[MemoryCandidate], scope: TimeScope) -> Value {
    found
        .iter()
        .map(|candidate| {
            json!({
                "type": candidate.kind,
                "content": candidate.content,
                "importance": candidate.importance,
                "expiration": candidate.expiration,
                "time_scope": scope,
                "consolidated": false,
                "entity_tokens": candidate.entities,
            })
        })
        .collect()
}
