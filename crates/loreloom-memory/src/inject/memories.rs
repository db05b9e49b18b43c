//! The slots of long-term, session and triggered memories.

use loreloom_core::tokens::TokenCounter;

use super::{
    Labels,
    fit::{SlotBlock, below, dashes, headed},
};
use crate::{
    number::clamp_usize,
    record::{Memory, MemoryKind},
    score::{TurnContext, is_triggered, order_for_turn, prioritize, protected, timeline},
    settings::Settings,
    story_clock::StoryClock,
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
    /// The story's own time, if it is shown.
    pub(super) clock: Option<&'view StoryClock>,
}

impl SlotContext<'_> {
    /// What a memory says, and how long ago that was.
    fn told(&self, memory: &Memory) -> String {
        match self.clock.and_then(|clock| clock.ago(&memory.receipts)) {
            Some(ago) => format!("{} ({ago})", memory.content),
            None => memory.content.clone(),
        }
    }
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
            view.told(memory)
        } else {
            format!("{} {}", view.labels.secondhand, view.told(memory))
        }
    };
    let lines = |memories: Vec<&Memory>| {
        let shown = memories.into_iter().filter(|memory| is_shown(memory));
        dashes(&shown.map(line).collect::<Vec<_>>())
    };
    let ordered = ordered(&active, view, &[MemoryKind::Relationship, MemoryKind::Fact]);
    let budget = view.settings.budgets.longterm;
    let safe = protected(&active, &PROTECTED, view.rules);
    let is_near = |memory: &&Memory| is_triggered(memory, recent, view.rules);
    let fits = |memories: &[&Memory]| {
        let texts: Vec<String> = match view.rules {
            TextRules::Tolerant => memories.iter().map(|memory| line(memory)).collect(),
            TextRules::Literal => memories.iter().map(|memory| memory.content.clone()).collect(),
        };
        // Triggered memories have a slot and a label of their own.
        let near = memories.iter().any(&is_near);
        let label = if near { &view.labels.triggered } else { "" };
        let left = below(&view.labels.longterm, budget, view.rules, view.counter);
        let left = below(label, left, view.rules, view.counter);
        view.counter.count(&dashes(&texts)) <= left
    };
    let fitting = drop_last(&ordered, &safe, view.rules, fits);
    let varied = cap_kinds(fitting, clamp_usize(u64::from(budget.0 / 150)).max(2));
    let (triggered, calm): (Vec<&Memory>, Vec<&Memory>) = varied.into_iter().partition(is_near);
    let all: Vec<&Memory> = calm.iter().chain(&triggered).copied().collect();
    let shown = all.iter().copied().filter(is_shown).map(|memory| memory.id.clone()).collect();
    // No text twice: what the turn brings to mind is shown close to the end only.
    let (far, near_label) = match view.rules {
        TextRules::Tolerant => (calm, &view.labels.triggered),
        TextRules::Literal => (all, &view.labels.longterm),
    };
    let near = lines(triggered);
    let full = lines(ordered);
    LongTerm {
        shown,
        long: SlotBlock::labelled(&view.labels.longterm, &lines(far), &full, view.counter),
        triggered: SlotBlock::labelled(near_label, &near, &near, view.counter),
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

/// Drops the last unprotected memory until the rest fits. Then protected ones are dropped; with
/// literal rules they always stay.
fn drop_last<'memory>(
    kept: &[&'memory Memory],
    safe: &[&Memory],
    rules: TextRules,
    fits: impl Fn(&[&Memory]) -> bool,
) -> Vec<&'memory Memory> {
    let is_safe = |memory: &Memory| safe.iter().any(|other| std::ptr::eq(*other, memory));
    let (mut order, protected): (Vec<usize>, Vec<usize>) =
        (0..kept.len()).rev().partition(|at| !is_safe(kept[*at]));
    if rules.is_tolerant() {
        order.extend(protected);
    }
    let left = |dropped: usize| -> Vec<&'memory Memory> {
        let gone = &order[..dropped];
        (0..kept.len()).filter(|at| !gone.contains(at)).map(|at| kept[at]).collect()
    };
    // Fewer lines never cost more, so a binary search finds how many to drop.
    let (mut least, mut most) = (0, order.len());
    while least < most {
        let middle = usize::midpoint(least, most);
        if fits(&left(middle)) {
            most = middle;
        } else {
            least = middle + 1;
        }
    }
    left(least)
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
    let texts = |memories: &[&Memory]| {
        dashes(&timeline(memories).iter().map(|memory| view.told(memory)).collect::<Vec<_>>())
    };
    let time = view.clock.and_then(StoryClock::shown);
    let time = time.map(|time| format!("{} {time}", view.labels.story_time)).unwrap_or_default();
    // No text twice: with tolerant rules the state of the scene is not in the list again.
    let rest = |memories: &[&Memory]| -> String {
        match view.rules {
            TextRules::Tolerant => {
                let state = newest_of_each(memories);
                let rest = memories.iter().copied();
                let rest: Vec<&Memory> =
                    rest.filter(|one| !state.iter().any(|(_, new)| new.id == one.id)).collect();
                texts(&rest)
            }
            TextRules::Literal => texts(memories),
        }
    };
    let whole = |memories: &[&Memory]| {
        let (state, rest) = (scene_state(memories, view.labels), rest(memories));
        let list = if rest.is_empty() { rest } else { headed(&view.labels.session, &rest) };
        [time.clone(), state, list]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join("\n")
    };
    let fits = |memories: &[&Memory]| match view.rules {
        TextRules::Tolerant => view.counter.count(&whole(memories)) <= budget,
        TextRules::Literal => {
            let texts: Vec<&str> = memories.iter().map(|memory| memory.content.as_str()).collect();
            view.counter.count(&dashes(&texts)) <= budget
        }
    };
    let kept = drop_last(&ordered, &safe, view.rules, fits);
    if view.rules.is_tolerant() {
        return SlotBlock::plain(&whole(&kept), &whole(&active), view.counter);
    }
    let state = scene_state(&kept, view.labels);
    let label = if state.is_empty() {
        view.labels.session.clone()
    } else {
        format!("{state}\n{}", view.labels.session)
    };
    SlotBlock::labelled(&label, &texts(&kept), &texts(&active), view.counter)
}

/// The newest active session memory of each kind, in the order they are shown.
fn newest_of_each<'memory>(memories: &[&'memory Memory]) -> Vec<(MemoryKind, &'memory Memory)> {
    let newest = |kind: MemoryKind| {
        let of_kind = memories.iter().filter(|m| m.kind == kind && m.is_active());
        Some((kind, *of_kind.max_by_key(|memory| memory.ts)?))
    };
    [MemoryKind::Scene, MemoryKind::Development, MemoryKind::Detail, MemoryKind::Revelation]
        .into_iter()
        .filter_map(newest)
        .collect()
}

/// The newest session memory of each kind.
pub fn scene_state(memories: &[&Memory], labels: &Labels) -> String {
    let label = |kind: MemoryKind| match kind {
        MemoryKind::Scene => labels.state_scene.as_str(),
        MemoryKind::Development => &labels.state_development,
        MemoryKind::Detail => &labels.state_detail,
        MemoryKind::Revelation => &labels.state_revelation,
        MemoryKind::Fact
        | MemoryKind::Relationship
        | MemoryKind::Preference
        | MemoryKind::Event
        | MemoryKind::Private
        | MemoryKind::Other => "",
    };
    let lines: Vec<String> = newest_of_each(memories)
        .into_iter()
        .map(|(kind, newest)| format!("- {} {}", label(kind), newest.content))
        .collect();
    if lines.is_empty() {
        String::new()
    } else {
        format!("{}\n{}", labels.scene_state, lines.join("\n"))
    }
}
