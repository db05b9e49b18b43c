//! Taking new memories in: how many, and at whose cost.

use super::super::Config;
use crate::{
    number::{real, real_time},
    record::{Kind, Memory, MemoryId, Retirement},
    score::{frequencies, utility},
};

/// A new memory and the one it would replace.
#[derive(Clone, Debug)]
pub(super) struct Newcomer {
    pub(super) memory: Memory,
    pub(super) replaces: Option<MemoryId>,
}

/// The memories after a merge.
#[derive(Clone, Debug, Default)]
pub(super) struct Taken {
    /// Kept memories in stored order, then newcomers in order of acceptance.
    pub(super) current: Vec<Memory>,
    /// Ids of accepted newcomers with what they replace.
    pub(super) accepted: Vec<(MemoryId, Option<MemoryId>)>,
    /// Memories that lost their place.
    pub(super) evicted: Vec<Memory>,
}

fn rank(memory: &Memory) -> f64 {
    let bonus = match memory.kind {
        Kind::Relationship => 30.0,
        Kind::Fact => 20.0,
        Kind::Preference => 10.0,
        Kind::Event
        | Kind::Scene
        | Kind::Revelation
        | Kind::Development
        | Kind::Detail
        | Kind::Other => 0.0,
    };
    f64::from(memory.importance()) * 100.0 + bonus + real_time(memory.ts.unwrap_or(0)) / 1e13
}

/// Takes newcomers in, best first: a few of each kind in one pass, and never more of a kind
/// than its share of the store. In a full kind a newcomer needs a memory worth less than
/// itself; one that replaces a memory of its kind takes that place.
pub(super) fn take_in(
    active: Vec<Memory>,
    mut newcomers: Vec<Newcomer>,
    config: Config<'_>,
) -> Taken {
    newcomers.sort_by(|a, b| rank(&b.memory).total_cmp(&rank(&a.memory)));
    let most_of_kind = config.settings.longterm_max_memories.div_ceil(4);
    let mut taken = Taken { current: active, ..Taken::default() };
    for new in newcomers {
        let kind = new.memory.kind;
        let accepted_of_kind = taken
            .accepted
            .iter()
            .filter(|(id, _)| taken.current.iter().any(|m| m.id == *id && m.kind == kind))
            .count();
        if accepted_of_kind >= config.hardware.new_per_kind() {
            continue;
        }
        if is_full(&taken, &new, most_of_kind) && !make_room(&mut taken, &new.memory) {
            continue;
        }
        taken.accepted.push((new.memory.id.clone(), new.replaces));
        taken.current.push(new.memory);
    }
    trim(&mut taken, config.settings.longterm_max_memories);
    for memory in &mut taken.evicted {
        memory.retired = Some(Retirement::Evicted);
    }
    taken
}

/// Whether a kind has no place left, not counting memories that are being replaced.
fn is_full(taken: &Taken, new: &Newcomer, most: usize) -> bool {
    let is_replaced = |memory: &Memory| {
        new.replaces.as_ref() == Some(&memory.id)
            || taken.accepted.iter().any(|(_, old)| old.as_ref() == Some(&memory.id))
    };
    let of_kind = taken.current.iter().filter(|m| m.kind == new.memory.kind && !is_replaced(m));
    of_kind.count() >= most
}

/// Evicts the least useful memory of the newcomer's kind if the newcomer is worth more.
fn make_room(taken: &mut Taken, new: &Memory) -> bool {
    let pool = frequencies(taken.current.iter().chain(std::iter::once(new)));
    let worth = |memory: &Memory| utility(memory, &pool);
    let least = taken
        .current
        .iter()
        .enumerate()
        .filter(|(_, memory)| memory.kind == new.kind)
        .min_by(|(_, a), (_, b)| worth(a).total_cmp(&worth(b)))
        .map(|(at, memory)| (at, worth(memory)));
    match least {
        Some((at, value)) if worth(new) > value => {
            evict(taken, at);
            true
        }
        _ => false,
    }
}

/// Drops the least useful memories beyond `max`, keeping the order of the others.
fn trim(taken: &mut Taken, max: usize) {
    let is_replaced = |taken: &Taken, memory: &Memory| {
        taken.accepted.iter().any(|(_, old)| old.as_ref() == Some(&memory.id))
    };
    loop {
        let counted: Vec<usize> = (0..taken.current.len())
            .filter(|at| !is_replaced(taken, &taken.current[*at]))
            .collect();
        if counted.len() <= max {
            return;
        }
        let pool = frequencies(&taken.current);
        let worth = |at: usize| utility(&taken.current[at], &pool) - real(at) * 1e-9;
        let Some(least) = counted.into_iter().min_by(|a, b| worth(*a).total_cmp(&worth(*b))) else {
            return;
        };
        evict(taken, least);
    }
}

fn evict(taken: &mut Taken, at: usize) {
    let memory = taken.current.remove(at);
    if taken.accepted.iter().any(|(id, _)| *id == memory.id) {
        taken.accepted.retain(|(id, _)| *id != memory.id);
    } else {
        taken.evicted.push(memory);
    }
}
