//! Features that are one function.

use loreloom_core::{tokens::TokenCounter, units::Tokens};
use loreloom_memory::{
    budget::{TurnBudgets, adapt},
    change::marks_change,
    inject::{CardTexts, MemorySlot, macro_is_active, slot_of},
    migrate,
    model_profile::ModelProfile,
    recap,
    settings::Budgets,
    similarity::cosine,
    text::{QuarterEstimate, jaccard, mentions},
    tiers::scenes,
    turn::{TurnKind, classify},
    window::{should_compact, smart_window, stable_window},
};
use serde_json::{Value, json};

use super::fixture::Fixture;

pub(super) fn run(feature: &str, case: &Fixture<'_>) -> Result<Option<Value>, String> {
    let text = || case.get::<String>("text");
    Ok(Some(match feature {
        "adaptive_budgets" => adaptive_budgets(case)?,
        "auto_tune" => auto_tune(case)?,
        "away_hours" => json!(recap::away_hours(
            case.now,
            case.meta.last_active,
            case.meta.summary_updated,
            case.settings.recap_threshold_hours
        )),
        "classify_turn" => json!(classify(&text()?).as_str()),
        "cosine" => json!(cosine(&case.get::<Vec<f32>>("a")?, &case.get::<Vec<f32>>("b")?)),
        "jaccard" => json!(jaccard(&case.get::<String>("a")?, &case.get::<String>("b")?)),
        "estimate_tokens" => json!(QuarterEstimate.count(&text()?)),
        "hardware_profile" => {
            let source: String = case.get("source")?;
            json!(ModelProfile::of(&source, case.maybe("override")?).as_str())
        }
        "macro_active" => {
            let cards: Vec<CardTexts> = case.maybe("cards")?.unwrap_or_default();
            let name: String = case.get("macro")?;
            json!(slot_of(&name).is_some_and(|slot| macro_is_active(slot, &cards, &case.settings)))
        }
        "scene_heuristic" => json!(scenes::is_break(&text()?)),
        "state_change_marker" => json!(marks_change(&text()?)),
        "total_budget" => total_budget(case)?,
        "turn_mentions" => {
            let messages: Vec<String> = case.get("messages")?;
            json!(mentions(messages.iter().map(String::as_str), case.rules.text))
        }
        "stable_window" => texts(case, stable_window(&case.chat, case.get("size")?)),
        "smart_window" => {
            let (every, max) = (case.get("extract_every")?, case.get("max_window")?);
            texts(case, smart_window(&case.chat, case.maybe("last_cutoff")?, every, max))
        }
        "should_compact" => json!(should_compact(
            &case.chat,
            case.meta.summary_end,
            Tokens(case.get("max_context")?),
            case.settings.compaction_threshold,
            &QuarterEstimate
        )),
        "migrate_character" => {
            let container = case.get("container")?;
            migrate::character(container, &mut Fixture::ids()).map_err(|error| error.to_string())?
        }
        "migrate_chat" => {
            let container = case.get("container")?;
            migrate::chat(container, &mut Fixture::ids()).map_err(|error| error.to_string())?
        }
        _ => return Ok(None),
    }))
}

fn texts(case: &Fixture<'_>, window: std::ops::Range<usize>) -> Value {
    let texts: Vec<&str> =
        case.chat[window].iter().map(|item| item.message.text.as_str()).collect();
    json!(texts)
}

/// The recorder fell back to smaller arcs and profiles where the settings name none.
fn adaptive_budgets(case: &Fixture<'_>) -> Result<Value, String> {
    let settings: Value = case.maybe("settings")?.unwrap_or_default();
    let mut base = TurnBudgets::from(&case.settings.budgets);
    if settings.get("arcs_inject_budget").is_none() {
        base.arcs = Tokens(400);
    }
    if settings.get("profiles_inject_budget").is_none() {
        base.profiles = Tokens(200);
    }
    let turn: String = case.maybe("turn_type")?.unwrap_or_default();
    let budgets = adapt(base, TurnKind::from_name(&turn));
    Ok(json!({
        "longterm": budgets.longterm,
        "session": budgets.session,
        "scenes": budgets.scenes,
        "arcs": budgets.arcs,
        "profiles": budgets.profiles,
    }))
}

fn auto_tune(case: &Fixture<'_>) -> Result<Value, String> {
    let demand: std::collections::BTreeMap<String, u32> = case.get("demand")?;
    let slots = [
        MemorySlot::LongTerm,
        MemorySlot::Session,
        MemorySlot::Scenes,
        MemorySlot::Arcs,
        MemorySlot::Canon,
        MemorySlot::Profiles,
        MemorySlot::Relationships,
        MemorySlot::Epistemic,
        MemorySlot::Ledger,
    ];
    let demand = slots.map(|slot| demand.get(slot.key()).copied().map(Tokens));
    let tuned = case.settings.budgets.tuned(demand, case.settings.settings_mode);
    with_sum(tuned)
}

fn total_budget(case: &Fixture<'_>) -> Result<Value, String> {
    with_sum(Budgets::of_total(Tokens(case.get("total")?)))
}

fn with_sum(budgets: Budgets) -> Result<Value, String> {
    let mut value = serde_json::to_value(budgets).map_err(|error| error.to_string())?;
    value["sum"] = json!(budgets.sum());
    Ok(value)
}
