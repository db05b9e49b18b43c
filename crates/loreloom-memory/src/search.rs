//! Searches memories by text.

use crate::{record::Memory, similarity::Vectors};

/// Active memories with at least `least` similarity to the question, most similar first.
pub fn search<'memory>(
    memories: impl IntoIterator<Item = &'memory Memory>,
    question: &str,
    most: usize,
    least: f64,
    vectors: &Vectors,
) -> Vec<(&'memory Memory, f64)> {
    let mut found: Vec<(&Memory, f64)> = memories
        .into_iter()
        .filter(|memory| memory.is_active())
        .map(|memory| (memory, vectors.likeness(&memory.content, question)))
        .filter(|(_, likeness)| likeness.is_at_least(least))
        .map(|(memory, likeness)| (memory, likeness.score))
        .collect();
    found.sort_by(|a, b| b.1.total_cmp(&a.1));
    found.truncate(most);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_active_memories_that_are_alike_enough_are_found() {
        let memory = |id: &str, content: &str| Memory {
            id: id.into(),
            content: content.into(),
            ..Memory::default()
        };
        let old = Memory { superseded_by: Some("a".into()), ..memory("c", "the red boat") };
        let all = [
            memory("a", "the red boat"),
            memory("b", "the red boat sank"),
            old,
            memory("d", "a mill"),
        ];
        let found = search(&all, "The red boat", 5, 0.5, &Vectors::off());
        let ids: Vec<&str> = found.iter().map(|(memory, _)| memory.id.0.as_str()).collect();
        assert_eq!(ids, ["a", "b"]);
    }
}
