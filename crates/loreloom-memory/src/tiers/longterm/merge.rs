//! Adds new memories, and decides which old ones lose their place.

use super::super::Config;
use crate::{
    number::real_time,
    record::{Memory, MemoryKind, Retirement},
    score::{frequencies, trim_with_new, utility},
    text::TextRules,
};
use loreloom_ports::MemoryId;

/// A new memory and the one it would replace.
#[derive(Clone, Debug)]
pub(super) struct Newcomer {
    pub(super) memory: Memory,
    pub(super) replaces: Option<MemoryId>,
}

/// The memories after a merge.
#[derive(Clone, Debug, Default)]
pub(super) struct MergedMemories {
    /// Kept memories in stored order, then accepted newcomers.
    pub(super) current: Vec<Memory>,
    /// Ids of accepted newcomers with what they replace.
    pub(super) accepted: Vec<(MemoryId, Option<MemoryId>)>,
    /// Memories that lost their place.
    pub(super) evicted: Vec<Memory>,
}

fn rank(memory: &Memory) -> f64 {
    let bonus = match memory.kind {
        MemoryKind::Relationship => 30.0,
        MemoryKind::Fact => 20.0,
        MemoryKind::Preference | MemoryKind::Private => 10.0,
        MemoryKind::Event
        | MemoryKind::Scene
        | MemoryKind::Revelation
        | MemoryKind::Development
        | MemoryKind::Detail
        | MemoryKind::Other => 0.0,
    };
    f64::from(memory.importance()) * 100.0 + bonus + real_time(memory.ts.unwrap_or(0)) / 1e13
}

/// Adds newcomers, best first: a few of each kind in one pass, and at most a quarter of the store
/// of one kind. If a kind is full, a newcomer must rank above one of its memories. A newcomer that
/// replaces a memory takes its place.
pub(super) fn take_in(
    active: Vec<Memory>,
    mut newcomers: Vec<Newcomer>,
    config: Config<'_>,
) -> MergedMemories {
    newcomers.sort_by(|a, b| rank(&b.memory).total_cmp(&rank(&a.memory)));
    let most_of_kind = config.settings.longterm_max_memories.div_ceil(4);
    let mut taken = MergedMemories { current: active, ..MergedMemories::default() };
    for new in newcomers {
        let kind = new.memory.kind;
        let accepted_of_kind = taken
            .accepted
            .iter()
            .filter(|(id, _)| taken.current.iter().any(|m| m.id == *id && m.kind == kind))
            .count();
        if accepted_of_kind >= config.profile.new_per_kind() {
            continue;
        }
        if is_full(&taken, &new, most_of_kind)
            && !make_room(&mut taken, &new.memory, config.rules.text)
        {
            continue;
        }
        taken.accepted.push((new.memory.id.clone(), new.replaces));
        taken.current.push(new.memory);
    }
    trim(&mut taken, config.settings.longterm_max_memories, config.rules.text);
    for memory in &mut taken.evicted {
        memory.retired = Some(Retirement::Evicted);
    }
    taken
}

/// Whether a kind is full, without the memories that are being replaced.
fn is_full(taken: &MergedMemories, new: &Newcomer, most: usize) -> bool {
    let is_replaced = |memory: &Memory| {
        new.replaces.as_ref() == Some(&memory.id)
            || taken.accepted.iter().any(|(_, old)| old.as_ref() == Some(&memory.id))
    };
    let of_kind = taken.current.iter().filter(|m| m.kind == new.memory.kind && !is_replaced(m));
    of_kind.count() >= most
}

/// Evicts the least useful memory of the newcomer's kind if the newcomer ranks above it. Usage and
/// confidence choose that memory; the rank decides whether it goes.
fn make_room(taken: &mut MergedMemories, new: &Memory, words: TextRules) -> bool {
    let of_kind = || taken.current.iter().enumerate().filter(|(_, m)| m.kind == new.kind);
    let pool = frequencies(of_kind().map(|(_, memory)| memory), words);
    let worth = |memory: &Memory| utility(memory, &pool);
    let least = of_kind()
        .filter(|(_, memory)| !memory.pinned)
        .min_by(|(_, a), (_, b)| worth(a).total_cmp(&worth(b)))
        .filter(|(_, memory)| rank(new) > rank(memory))
        .map(|(at, _)| at);
    if let Some(at) = least {
        evict(taken, at);
    }
    least.is_some()
}

/// Drops the least useful memories beyond `max`. The rest is ordered by usefulness.
fn trim(taken: &mut MergedMemories, max: usize, words: TextRules) {
    let is_replaced =
        |memory: &Memory| taken.accepted.iter().any(|(_, old)| old.as_ref() == Some(&memory.id));
    let (mut replaced, counted): (Vec<Memory>, Vec<Memory>) =
        std::mem::take(&mut taken.current).into_iter().partition(is_replaced);
    if counted.len() <= max {
        taken.current = counted;
        taken.current.append(&mut replaced);
        return;
    }
    let is_new = |memory: &Memory| taken.accepted.iter().any(|(id, _)| *id == memory.id);
    let kept = trim_with_new(&counted, is_new, max, words);
    let place = |memory: &Memory| kept.iter().position(|id| *id == memory.id);
    taken.current = counted;
    taken.current.sort_by_key(|memory| place(memory).unwrap_or(kept.len()));
    while taken.current.len() > kept.len() {
        evict(taken, kept.len());
    }
    taken.current.append(&mut replaced);
}

fn evict(taken: &mut MergedMemories, at: usize) {
    let memory = taken.current.remove(at);
    if taken.accepted.iter().any(|(id, _)| *id == memory.id) {
        taken.accepted.retain(|(id, _)| *id != memory.id);
    } else {
        taken.evicted.push(memory);
    }
}
