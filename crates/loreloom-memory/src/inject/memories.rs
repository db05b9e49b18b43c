//! The slots of long-term, session and triggered memories.

use loreloom_core::{tokens::TokenCounter, units::Tokens};

use super::{
    Labels,
    fit::{SlotBlock, dashes},
};
use crate::{
    number::clamp_usize,
    record::{Memory, MemoryKind},
    score::{TurnContext, is_triggered, order_for_turn, prioritize, protected, timeline},
    settings::Settings,
    text::TextRules,
};
use loreloom_ports::MemoryId;

/// What long-term memory puts into the prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LongTerm {
    pub(super) long: Option<SlotBlock>,
    pub(super) triggered: Option<SlotBlock>,
    /// The memories shown.
    pub(super) shown: Vec<MemoryId>,
}

/// What decides how memories are shown.
#[derive(Clone, Copy)]
pub(super) struct SlotContext<'view> {
    pub(super) settings: &'view Settings,
    pub(super) labels: &'view Labels,
    pub(super) counter: &'view dyn TokenCounter,
    /// The character that replies next.
    pub(super) responding: &'view str,
    pub(super) rules: TextRules,
    /// Set if memories are ordered by the current turn.
    pub(super) turn: Option<&'view TurnContext<'view>>,
}

/// Shows long-term memories: the most useful that fit, not too many of one kind. Triggered memories
/// come last, and once more in their own slot.
pub(super) fn longterm(memories: &[Memory], recent: &[String], view: SlotContext<'_>) -> LongTerm {
    const PROTECTED: [MemoryKind; 3] =
        [MemoryKind::Relationship, MemoryKind::Preference, MemoryKind::Fact];
    let is_shown = |memory: &&Memory| {
        view.settings.epistemic_secondhand_framing
            || memory.witnessed_by(view.responding, view.rules)
    };
    let active = memories.iter().filter(|memory| memory.is_active());
    let active: Vec<&Memory> =
        active.filter(|memory| !view.rules.is_tolerant() || is_shown(memory)).collect();
    let line = |memory: &Memory| {
        if memory.witnessed_by(view.responding, view.rules) {
            memory.content.clone()
        } else {
            format!("{} {}", view.labels.secondhand, memory.content)
        }
    };
    let lines = |memories: Vec<&Memory>| {
        let shown = memories.into_iter().filter(|memory| is_shown(memory));
        dashes(&shown.map(line).collect::<Vec<_>>())
    };
    let ordered = ordered(&active, view, &[MemoryKind::Relationship, MemoryKind::Fact]);
    let budget = view.settings.budgets.longterm;
    let safe = protected(&active, &PROTECTED, view.rules);
    let counted = |memory: &Memory| {
        if view.rules.is_tolerant() { line(memory) } else { memory.content.clone() }
    };
    let fitting = drop_last(&ordered, &safe, budget, view, counted);
    let varied = cap_kinds(fitting, clamp_usize(u64::from(budget.0 / 150)).max(2));
    let (triggered, calm): (Vec<&Memory>, Vec<&Memory>) =
        varied.into_iter().partition(|memory| is_triggered(memory, recent, view.rules));
    let all: Vec<&Memory> = calm.into_iter().chain(triggered.iter().copied()).collect();
    let block = |body: &str, full: &str| {
        SlotBlock::labelled(&view.labels.longterm, body, full, view.counter)
    };
    let near = lines(triggered);
    LongTerm {
        shown: all.iter().copied().filter(is_shown).map(|memory| memory.id.clone()).collect(),
        long: block(&lines(all), &lines(ordered)),
        triggered: block(&near, &near),
    }
}

fn ordered<'memory>(
    active: &[&'memory Memory],
    view: SlotContext<'_>,
    floor: &[MemoryKind],
) -> Vec<&'memory Memory> {
    match view.turn {
        Some(turn) => order_for_turn(active, turn, floor),
        None => prioritize(active, view.rules),
    }
}

/// Drops the last unprotected memory until the lines fit. Then protected ones are dropped, down to
/// one; with literal rules they always stay.
fn drop_last<'memory>(
    kept: &[&'memory Memory],
    safe: &[&Memory],
    budget: Tokens,
    view: SlotContext<'_>,
    counted: impl Fn(&Memory) -> String,
) -> Vec<&'memory Memory> {
    let is_safe = |memory: &Memory| safe.iter().any(|other| std::ptr::eq(*other, memory));
    let (mut order, protected): (Vec<usize>, Vec<usize>) =
        (0..kept.len()).rev().partition(|at| !is_safe(kept[*at]));
    if view.rules.is_tolerant() {
        order.extend(protected);
        order.truncate(kept.len().saturating_sub(1));
    }
    let lines: Vec<String> = kept.iter().map(|memory| counted(memory)).collect();
    let left = |dropped: usize| -> Vec<usize> {
        let gone = &order[..dropped];
        (0..kept.len()).filter(|at| !gone.contains(at)).collect()
    };
    let fits = |dropped: usize| {
        let text: Vec<&str> = left(dropped).into_iter().map(|at| lines[at].as_str()).collect();
        view.counter.count(&dashes(&text)) <= budget
    };
    // Fewer lines never cost more, so a binary search finds how many to drop.
    let (mut least, mut most) = (0, order.len());
    while least < most {
        let middle = usize::midpoint(least, most);
        if fits(middle) {
            most = middle;
        } else {
            least = middle + 1;
        }
    }
    left(least).into_iter().map(|at| kept[at]).collect()
}

fn cap_kinds(memories: Vec<&Memory>, most: usize) -> Vec<&Memory> {
    let mut kept: Vec<&Memory> = Vec::new();
    for memory in memories {
        if kept.iter().filter(|other| other.kind == memory.kind).count() < most {
            kept.push(memory);
        }
    }
    kept
}

/// Shows session memories: the state of the scene, then the most useful that fit, in order of time.
pub(super) fn session(memories: &[Memory], view: SlotContext<'_>) -> Option<SlotBlock> {
    const FLOOR: [MemoryKind; 2] = [MemoryKind::Development, MemoryKind::Scene];
    let active: Vec<&Memory> = memories.iter().filter(|memory| memory.is_active()).collect();
    let safe = protected(&active, &FLOOR, view.rules);
    let budget = view.settings.budgets.session;
    let ordered = ordered(&active, view, &FLOOR);
    let kept = drop_last(&ordered, &safe, budget, view, |memory| memory.content.clone());
    let lines = |memories: &[&Memory]| {
        dashes(&timeline(memories).iter().map(|memory| &memory.content).collect::<Vec<_>>())
    };
    let state = scene_state(&kept, view.labels);
    let label = if state.is_empty() {
        view.labels.session.clone()
    } else {
        format!("{state}\n{}", view.labels.session)
    };
    SlotBlock::labelled(&label, &lines(&kept), &lines(&active), view.counter)
}

/// The newest session memory of each kind.
pub fn scene_state(memories: &[&Memory], labels: &Labels) -> String {
    let lines: Vec<String> = [
        (MemoryKind::Scene, &labels.state_scene),
        (MemoryKind::Development, &labels.state_development),
        (MemoryKind::Detail, &labels.state_detail),
        (MemoryKind::Revelation, &labels.state_revelation),
    ]
    .into_iter()
    .filter_map(|(kind, label)| {
        let of_kind = memories.iter().filter(|m| m.kind == kind && m.is_active());
        let newest = of_kind.max_by_key(|memory| memory.ts)?;
        Some(format!("- {label} {}", newest.content))
    })
    .collect();
    if lines.is_empty() {
        String::new()
    } else {
        format!("{}\n{}", labels.scene_state, lines.join("\n"))
    }
}
