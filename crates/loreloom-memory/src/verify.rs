//! Compares candidates with stored memories: new, the same, an update, or unclear.
//!
//! Supersession is decided before any duplicate is dropped, so that "they no longer quarrel" is
//! never dropped as a duplicate of "they quarrel".

use crate::{
    change::marks_change,
    model_profile::ModelProfile,
    record::{Memory, MemoryKind},
    similarity::{Measured, Similarity, Vectors},
    text::normal,
};
use loreloom_ports::MemoryId;

/// A candidate that passed, and what it may replace.
#[derive(Clone, Debug, PartialEq)]
pub struct PassedCandidate {
    /// Its place among the candidates.
    pub candidate: usize,
    /// The memory it is similar to, if any.
    pub neighbour: Option<Neighbour>,
}

/// How a candidate relates to the most similar memory.
#[derive(Clone, Debug, PartialEq)]
pub enum Neighbour {
    /// It is about a change and replaces the memory.
    Superseded(MemoryId),
    /// Only a model can tell.
    Uncertain {
        /// The memory.
        existing: MemoryId,
        /// How similar the two are.
        score: f64,
    },
}

/// The result for a batch of candidates.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verified {
    /// Candidates that passed, in order; the others are duplicates.
    pub passed: Vec<PassedCandidate>,
    /// Memories that a duplicate confirmed, in order.
    pub confirmed: Vec<MemoryId>,
}

/// Compares every candidate with every active memory.
pub fn verify<'memory>(
    candidates: impl IntoIterator<Item = (MemoryKind, &'memory str)>,
    existing: &[&Memory],
    profile: ModelProfile,
    vectors: &Vectors,
) -> Verified {
    let mut verified = Verified::default();
    for (at, (kind, content)) in candidates.into_iter().enumerate() {
        match judge(kind, content, existing, profile, vectors) {
            Judgement::Duplicate(id) => {
                if !id.0.is_empty() && !verified.confirmed.contains(&id) {
                    verified.confirmed.push(id);
                }
            }
            Judgement::Passes(neighbour) => {
                verified.passed.push(PassedCandidate { candidate: at, neighbour });
            }
        }
    }
    verified
}

enum Judgement {
    Duplicate(MemoryId),
    Passes(Option<Neighbour>),
}

fn judge(
    kind: MemoryKind,
    content: &str,
    existing: &[&Memory],
    profile: ModelProfile,
    vectors: &Vectors,
) -> Judgement {
    let text = normal(content);
    let mut nearest: Option<(f64, &MemoryId)> = None;
    for memory in existing {
        let likeness = vectors.likeness(content, &memory.content);
        match relation(kind, &text, memory, likeness, profile) {
            Relation::Unrelated => {}
            Relation::Same => return Judgement::Duplicate(memory.id.clone()),
            Relation::Near => {
                if nearest.is_none_or(|(best, _)| likeness.score > best) {
                    nearest = Some((likeness.score, &memory.id));
                }
            }
        }
    }
    let neighbour = nearest.map(|(score, id)| {
        if marks_change(content) {
            Neighbour::Superseded(id.clone())
        } else {
            Neighbour::Uncertain { existing: id.clone(), score }
        }
    });
    Judgement::Passes(neighbour)
}

enum Relation {
    Unrelated,
    Near,
    Same,
}

fn relation(
    kind: MemoryKind,
    text: &str,
    memory: &Memory,
    likeness: Similarity,
    profile: ModelProfile,
) -> Relation {
    let thresholds = match likeness.measure {
        Measured::Vectors => profile.cosine(),
        Measured::Words => profile.words(),
    };
    // A memory without an id cannot be replaced.
    let has_name = !memory.id.0.is_empty();
    let comparable = has_name && normal(&memory.content) != text;
    if memory.kind != kind {
        return if likeness.is_at_least(thresholds.across_kinds) {
            Relation::Same
        } else {
            Relation::Unrelated
        };
    }
    if likeness.is_at_least(thresholds.duplicate) {
        return if comparable { Relation::Near } else { Relation::Same };
    }
    let near = has_name && likeness.is_at_least(thresholds.same_topic);
    if near { Relation::Near } else { Relation::Unrelated }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(id: &str, kind: MemoryKind, content: &str) -> Memory {
        Memory { id: id.into(), kind, content: content.into(), ..Memory::default() }
    }

    #[test]
    fn a_candidate_is_judged_by_its_nearest_memory() {
        let ferry = memory("m1", MemoryKind::Fact, "Odo works at the ferry landing");
        let mill = memory("m2", MemoryKind::Fact, "Odo works at the mill landing");
        let existing = [&ferry, &mill];
        let verify =
            |kind, text| verify([(kind, text)], &existing, ModelProfile::A, &Vectors::off());

        let same = verify(MemoryKind::Fact, "odo works at the ferry landing ");
        assert_eq!(same, Verified { passed: vec![], confirmed: vec!["m1".into()] });
        let across = verify(MemoryKind::Event, "Odo works at the mill landing");
        assert_eq!(across.confirmed, ["m2".into()]);
        let changed = verify(MemoryKind::Fact, "Odo no longer works at the mill landing");
        assert_eq!(changed.passed[0].neighbour, Some(Neighbour::Superseded("m2".into())));
        let near = verify(MemoryKind::Fact, "Odo works at the old mill landing");
        assert!(matches!(&near.passed[0].neighbour,
            Some(Neighbour::Uncertain { existing, score }) if existing.0 == "m2" && *score > 0.85));
        assert_eq!(verify(MemoryKind::Fact, "Lis keeps bees").passed[0].neighbour, None);
    }

    #[test]
    fn a_memory_without_an_id_turns_repeats_away_and_is_nobodys_neighbour() {
        let ferry = memory("", MemoryKind::Fact, "Odo works at the ferry landing");
        let verify =
            |text| verify([(MemoryKind::Fact, text)], &[&ferry], ModelProfile::A, &Vectors::off());
        assert_eq!(verify("Odo works at the ferry landing now"), Verified::default());
        assert_eq!(verify("Odo sleeps at the ferry house").passed[0].neighbour, None);
    }
}
