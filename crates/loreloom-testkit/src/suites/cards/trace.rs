//! What a turn decided, as the cases write it: short enough to be written by hand.

use loreloom_core::{
    engine::Decision,
    library::Library,
    place::{Injection, Place},
    report::{Gate, KeyMatch, Outcome, Reason, Stop, TextSource, Trigger, Verdict, Warning},
    state::StoryState,
};
use serde_json::{Map, Value, json};

/// The trace of one turn.
pub(super) fn turn(
    library: &Library,
    decision: &Decision,
    verdicts: &[Verdict],
    state: &StoryState,
) -> Value {
    let title = |id: &_| library.find(id).map_or("?", |ix| library.entry(ix).title());
    let why: Map<String, Value> = verdicts
        .iter()
        .map(|verdict| (verdict.title.clone(), json!(outcome(&verdict.outcome, &title))))
        .collect();
    let budgets: Map<String, Value> = decision
        .report
        .budgets
        .iter()
        .map(|one| (one.pool.clone(), json!(format!("{}/{}", one.used, one.limit))))
        .collect();
    json!({
        "sent": decision.injections.iter().map(sent).collect::<Vec<_>>(),
        "why": why,
        "budgets": budgets,
        "hidden": decision.hide_prompts,
        "warnings": decision.report.warnings.iter().map(warning).collect::<Vec<_>>(),
        "matched": state.first_match.keys().map(title).collect::<Vec<_>>(),
    })
}

fn sent(injection: &Injection) -> String {
    let place = match &injection.place {
        Place::BeforeMain => "before_main".to_owned(),
        Place::AfterMain => "after_main".to_owned(),
        Place::BeforeCharacter => "before_char".to_owned(),
        Place::AfterCharacter => "after_char".to_owned(),
        Place::BeforeExamples => "em_top".to_owned(),
        Place::AfterExamples => "em_bottom".to_owned(),
        Place::NoteTop => "an_top".to_owned(),
        Place::NoteBottom => "an_bottom".to_owned(),
        Place::AtDepth(depth) => format!("depth {}", depth.0),
        Place::Outlet(name) => format!("outlet {name}"),
        Place::Slot(name) => name.clone(),
    };
    format!("{place} {}: {}", injection.role.as_str(), injection.text)
}

fn outcome<'a>(
    outcome: &Outcome,
    title: &impl Fn(&loreloom_core::ids::EntryId) -> &'a str,
) -> String {
    match outcome {
        Outcome::Activated { trigger, .. } => activated(trigger, title),
        Outcome::Stopped(stop) => stopped(stop, title),
    }
}

fn activated<'a>(
    trigger: &Trigger,
    title: &impl Fn(&loreloom_core::ids::EntryId) -> &'a str,
) -> String {
    let reason = match &trigger.reason {
        Reason::Key => {
            let keys = trigger.primary.iter().chain(&trigger.secondary);
            let keys: Vec<String> = keys.map(|one| key(one, title)).collect();
            format!("key {}", keys.join(" + "))
        }
        Reason::Sticky { until } => format!("sticky until {}", until.0),
        Reason::Decorator => "activate".to_owned(),
        Reason::Semantic { score, .. } => format!("semantic {score}"),
        Reason::Constant
        | Reason::Forced
        | Reason::Kept { .. }
        | Reason::Bootstrap
        | Reason::ActiveCharacter
        | Reason::Cascade { .. }
        | Reason::Linked { .. }
        | Reason::Fuzzy { .. }
        | Reason::Pinned
        | Reason::Selected { .. }
        | Reason::Fallback { .. } => trigger.reason.code().to_owned(),
    };
    if trigger.pass > 1 { format!("{reason}, pass {}", trigger.pass) } else { reason }
}

fn key<'a>(found: &KeyMatch, title: &impl Fn(&loreloom_core::ids::EntryId) -> &'a str) -> String {
    let at = found.at.as_ref().map_or("nowhere".to_owned(), |at| match &at.source {
        TextSource::Message { index, .. } => format!("{index}:{}-{}", at.start, at.end),
        TextSource::Entry { entry } => title(entry).to_owned(),
        TextSource::Description => "description".to_owned(),
        TextSource::Joined => "several texts".to_owned(),
        TextSource::Speaker { .. }
        | TextSource::Persona
        | TextSource::Personality
        | TextSource::DepthPrompt
        | TextSource::Scenario
        | TextSource::CreatorNotes
        | TextSource::Prompt { .. } => format!("{:?}", at.source),
    });
    format!("`{}` at {at}", found.key)
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the other rules have only their code")]
fn stopped<'a>(stop: &Stop, title: &impl Fn(&loreloom_core::ids::EntryId) -> &'a str) -> String {
    let code = stop.code();
    match stop {
        Stop::Gate { gate } => match gate {
            Gate::After { wanted, count } => format!("gate: after {wanted}, at {count}"),
            Gate::Every { wanted, count } => format!("gate: every {wanted}, at {count}"),
            Gate::Greeting { wanted, found } => format!("gate: greeting {wanted}, is {found}"),
            Gate::GreetingOver => "gate: greeting is over".to_owned(),
            Gate::UserIcon { wanted, found } => format!("gate: icon {wanted}, is {found}"),
        },
        Stop::Excluded { found } => format!("{code} by {}", found.join(", ")),
        Stop::Required { missing } | Stop::Secondary { missing, .. } => {
            format!("{code}: {}", missing.join(", "))
        }
        Stop::Chance { roll, probability } => format!("{code}: {roll} of {probability}"),
        Stop::Budget { needed, left, .. } => format!("{code}: needs {needed}, {left} left"),
        Stop::OverBudget { needed, limit } => {
            format!("{code}: needs {needed} of {limit}")
        }
        Stop::BudgetClosed { needed } | Stop::NoRoom { needed } => {
            format!("{code}: needs {needed}")
        }
        Stop::OutOfReach { key, distance, depth, characters, tokens } => {
            let depth = match (characters, tokens) {
                (Some(characters), _) => format!("{characters} characters"),
                (None, Some(tokens)) => format!("{tokens} tokens"),
                (None, None) => depth.to_string(),
            };
            format!("{code}: {key} is {distance} back, scans {depth}")
        }
        Stop::Copied { of } => format!("{code} from {}", title(of)),
        Stop::Delay { until } | Stop::Cooldown { until } => format!("{code} until {}", until.0),
        _ => code.to_owned(),
    }
}

fn warning(warning: &Warning) -> String {
    match warning {
        Warning::AlreadyThere { source } => format!("already there: {source:?}"),
        Warning::OldNotes { vault, .. } => format!("old notes: {vault}"),
        Warning::WithoutLore { reason } => format!("without lore: {reason}"),
        Warning::NobodySpeaks { source } => format!("nobody speaks: {source:?}"),
        Warning::Neutralised { source, .. } => format!("neutralised: {source:?}"),
        Warning::KeyTooSlow { key, .. } => format!("too slow: {key}"),
        Warning::KeyUnusable { key, .. } => format!("unusable: {key}"),
        Warning::KeyNotARegex { key, .. } => format!("not a pattern: {key}"),
        Warning::Decorator { line, problem, .. } => {
            let problem = serde_json::to_value(problem).unwrap_or_default();
            format!("{line}: {}", problem.as_str().unwrap_or_default())
        }
    }
}
