//! Notes that belong to another time, place or company than the scene.

use serde_json::Value;

use super::{
    Exempt, FieldDefinition, Operator, Pick, Stopped, Tolerance, Vault, VaultRules,
    fields::{is_empty_value, text_of},
    picks::divide,
};
use crate::{book::Extensions, report::Stop};

/// Keeps notes whose fields fit the scene. Without anything to compare, all stay.
pub fn gate_by_context(
    vault: &Vault,
    picks: Vec<Pick>,
    scene: &Extensions,
    fields: &[FieldDefinition],
    exempt: &Exempt<'_>,
    rules: &VaultRules,
) -> (Vec<Pick>, Vec<Stopped>) {
    let active: Vec<&FieldDefinition> = fields.iter().filter(|one| one.gating.enabled).collect();
    let decides = |field: &&FieldDefinition| {
        let existence = field.gating.operator.is_about_existence();
        !is_empty_value(scene.get(&field.context_key))
            || (existence && !rules.quirks.existence_needs_context)
    };
    if !active.iter().any(decides) {
        return (picks, Vec::new());
    }
    divide(picks, |pick| {
        if exempt.holds(vault, pick) {
            return None;
        }
        let values = &vault.note(pick.ix).fields;
        active.iter().find_map(|field| judge(field, values.get(&field.name), scene))
    })
}

fn judge(field: &FieldDefinition, note: Option<&Value>, scene: &Extensions) -> Option<Stop> {
    let there = scene.get(&field.context_key);
    let gating = field.gating;
    let stop = || {
        let values = |value: Option<&Value>| match value {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(list)) => list.iter().map(text_of).collect(),
            Some(one) => vec![text_of(one)],
        };
        Stop::Context { field: field.name.clone(), note: values(note), scene: values(there) }
    };
    if !gating.operator.is_about_existence() {
        if is_empty_value(note) {
            return None;
        }
        if is_empty_value(there) {
            return (gating.tolerance == Tolerance::Strict).then(stop);
        }
    }
    let forgiven = gating.tolerance == Tolerance::Lenient
        && matches!(gating.operator, Operator::MatchAny | Operator::MatchAll);
    (!forgiven && !gating.operator.holds(note, there)).then(stop)
}
