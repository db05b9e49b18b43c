//! Which turns make up the state of a path.
//!
//! One rule for all stores, see [`loreloom_memory::ports::StoryStore::state`].

use loreloom_core::{
    chat::{GenerationType, Path},
    ids::{MessageId, PrefixHash},
};
use rustc_hash::FxHashMap;

/// What the rule needs to know about a turn; `delta` is whatever the store has at hand.
pub(crate) struct Candidate<D> {
    /// The node it was computed on.
    pub(crate) at: PrefixHash,
    /// The message of that node; `None` for the empty path.
    pub(crate) message: Option<MessageId>,
    /// What was asked for.
    pub(crate) generation: GenerationType,
    /// What it changed.
    pub(crate) delta: D,
}

/// The deltas to fold, in path order, of `turns` given in order of commit.
pub(crate) fn choose<D: Clone>(
    path: &Path,
    turns: impl IntoIterator<Item = Candidate<D>>,
) -> Vec<D> {
    let mut by_prefix = FxHashMap::default();
    let mut by_message = FxHashMap::default();
    for turn in turns {
        if turn.generation == GenerationType::Quiet {
            continue;
        }
        if let Some(message) = turn.message {
            by_message.insert(message, turn.delta.clone());
        }
        by_prefix.insert(turn.at, turn.delta);
    }
    let root = by_prefix.get(&PrefixHash::default());
    let along = path
        .items()
        .iter()
        .filter_map(|item| by_prefix.get(&item.prefix).or_else(|| by_message.get(&item.id)));
    root.into_iter().chain(along).cloned().collect()
}

#[cfg(test)]
mod tests {
    use loreloom_core::{
        chat::{Message, Role},
        ids::ChatId,
    };

    use super::*;

    fn path(texts: &[&str]) -> Path {
        let message = |text: &&str| Message::new(Role::User, None, *text);
        Path::of(ChatId::from("c"), texts.iter().map(message))
    }

    fn turn(texts: &[&str], generation: GenerationType, delta: u8) -> Candidate<u8> {
        let path = path(texts);
        let message = path.items().last().map(|item| item.id);
        Candidate { at: path.prefix(), message, generation, delta }
    }

    #[test]
    fn the_exact_prefix_counts_before_the_message_and_the_last_turn_before_earlier_ones() {
        use GenerationType::{Normal, Quiet, Swipe};
        let turns = || {
            [
                turn(&[], Normal, 0),
                turn(&["a"], Normal, 1),
                turn(&["a", "b"], Normal, 2),
                turn(&["a", "b"], Swipe, 3),
                turn(&["x", "b"], Normal, 4),
                turn(&["a"], Quiet, 5),
            ]
        };
        for (texts, expected) in [
            (&[][..], &[0][..]),
            (&["a", "b"], &[0, 1, 3]),
            (&["x", "b"], &[0, 4]),
            (&["new", "b"], &[0, 4]),
            (&["b", "a"], &[0, 4, 1]),
            (&["new"], &[0]),
        ] {
            assert_eq!(choose(&path(texts), turns()), expected, "{texts:?}");
        }
    }
}
