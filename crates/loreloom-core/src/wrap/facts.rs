//! What is known about an entry when it activates.

use super::field::{Field, Fields};
use crate::{
    book::{Book, Entry},
    chat::Role,
    report::{Reason, ScanPhase, TextSource, Trigger},
    turn::Turn,
    units::Tokens,
    worldinfo::{Bucket, DEFAULT_DEPTH},
};

/// The metadata of an entry that activates; `bucket` is where it goes.
pub(crate) fn fields_of(
    (book, entry): (&Book, &Entry),
    bucket: Option<&Bucket>,
    trigger: &Trigger,
    tokens: Tokens,
    turn: &Turn<'_>,
) -> Fields {
    let mut fields = Fields::new();
    let uid = entry.original_id.as_ref().map_or_else(|| entry.id.to_string(), ToString::to_string);
    fields.set(Field::Uid, uid);
    fields.set(Field::Name, entry.title());
    fields.set(Field::World, book.name.clone());
    set_trigger(&mut fields, trigger);
    fields.set(Field::Constant, entry.activation.constant.to_string());
    let sticky = matches!(trigger.reason, Reason::Sticky { .. });
    fields.set(Field::Sticky, sticky.to_string());
    if let Some(bucket) = bucket {
        set_place(&mut fields, bucket);
    }
    if let Some(order) = entry.placement.order {
        fields.set(Field::Order, order.to_string());
    }
    fields.set(Field::Tokens, tokens.to_string());
    fields.set(Field::ChatLength, turn.length().0.to_string());
    if let Some(at) = turn.at {
        fields.set(Field::Timestamp, at.0.to_string());
    }
    fields
}

fn set_trigger(fields: &mut Fields, trigger: &Trigger) {
    if let Some(primary) = &trigger.primary {
        fields.set(Field::Key, primary.key.clone());
        fields.set(Field::ExpandedKey, primary.expanded.clone().unwrap_or_default());
    }
    fields.set_list(Field::Secondary, trigger.secondary.iter().map(|one| one.key.clone()));
    fields.set(
        Field::Scan,
        match trigger.phase {
            ScanPhase::Initial => "initial",
            ScanPhase::Recursion => "recursion",
            ScanPhase::MinActivations => "min_activations",
        },
    );
    fields.set(Field::ScanDepth, trigger.depth.to_string());
    fields.set(Field::Iteration, trigger.pass.to_string());
    fields.set(
        Field::Activation,
        match trigger.reason {
            Reason::Key => "key",
            Reason::Constant => "constant",
            Reason::Sticky { .. } => "sticky",
            Reason::Decorator => "decorator",
            Reason::Forced => "forced",
        },
    );
    set_sources(fields, trigger);
    fields.set_list(Field::Parents, trigger.parents.iter().map(ToString::to_string));
    fields.set(Field::ViaRecursion, (!trigger.parents.is_empty()).to_string());
}

fn set_sources(fields: &mut Fields, trigger: &Trigger) {
    let (mut kinds, mut messages, mut roles) = (Vec::new(), Vec::new(), Vec::new());
    for place in trigger.primary.iter().chain(&trigger.secondary).filter_map(|one| one.at.as_ref())
    {
        let kind = match &place.source {
            TextSource::Message { index, role, .. } => {
                messages.push(*index);
                roles.push(role.as_str().to_owned());
                "message"
            }
            TextSource::Speaker { index } => {
                messages.push(*index);
                "speaker"
            }
            TextSource::Persona => "persona",
            TextSource::Description => "description",
            TextSource::Personality => "personality",
            TextSource::DepthPrompt => "depth_prompt",
            TextSource::Scenario => "scenario",
            TextSource::CreatorNotes => "creator_notes",
            TextSource::Prompt { .. } => "prompt",
            TextSource::Entry { .. } => "entry",
            TextSource::Joined => "joined",
        };
        kinds.push(kind.to_owned());
    }
    messages.sort_unstable();
    messages.dedup();
    fields.set_list(Field::Source, distinct(kinds));
    fields.set_list(Field::MatchedIn, messages.iter().map(ToString::to_string));
    fields.set_list(Field::TriggeredBy, distinct(roles));
}

fn distinct(mut texts: Vec<String>) -> Vec<String> {
    texts.sort_unstable();
    texts.dedup();
    texts
}

fn set_place(fields: &mut Fields, bucket: &Bucket) {
    let position = match bucket {
        Bucket::Before => "before_character".to_owned(),
        Bucket::After => "after_character".to_owned(),
        Bucket::NoteTop => "note_top".to_owned(),
        Bucket::NoteBottom => "note_bottom".to_owned(),
        Bucket::ExamplesTop => "examples_top".to_owned(),
        Bucket::ExamplesBottom => "examples_bottom".to_owned(),
        Bucket::AtDepth(depth, role) => {
            set_depth(fields, depth.unwrap_or(DEFAULT_DEPTH).0, *role);
            "at_depth".to_owned()
        }
        Bucket::Outlet(name) => format!("outlet:{name}"),
    };
    fields.set(Field::Position, position);
}

fn set_depth(fields: &mut Fields, depth: u32, role: Role) {
    fields.set(Field::Depth, depth.to_string());
    fields.set(Field::Role, role.as_str());
}
