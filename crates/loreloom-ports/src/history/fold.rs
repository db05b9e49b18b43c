//! Which turns make up the state of a path.
//!
//! One rule for all stores, see [`crate::StoryStore::state`].

use loreloom_core::{
    chat::{GenerationType, Path},
    ids::{MessageId, PrefixHash},
};
use rustc_hash::FxHashMap;

/// What the rule needs to know about a turn.
#[derive(Clone, Copy, Debug)]
pub struct OfferedTurn {
    /// The node it was computed on.
    pub at: PrefixHash,
    /// The message of that node; `None` for the empty path.
    pub message: Option<MessageId>,
    /// What was asked for.
    pub generation: GenerationType,
}

/// Chooses among turns that are offered newest first: the first one that fits a message counts. So
/// even with many swipes only the deltas that count are read.
#[derive(Debug)]
pub struct Choice<D> {
    /// Places on the path, from 1; 0 is the empty path.
    prefixes: FxHashMap<PrefixHash, usize>,
    messages: FxHashMap<MessageId, usize>,
    /// Computed on exactly this prefix.
    exact: Vec<Option<D>>,
    /// Computed on a path that ended in this message.
    near: Vec<Option<D>>,
    /// Changes by hand, newest first. Unlike turns, of which a swipe makes another, all
    /// count.
    edits: Vec<Vec<D>>,
}

impl<D> Choice<D> {
    /// Nothing is chosen yet.
    pub fn on(path: &Path) -> Self {
        let items = path.items();
        let prefixes = items.iter().map(|item| item.prefix).zip(1..);
        let nothing = || std::iter::repeat_with(|| None).take(items.len() + 1).collect();
        Self {
            prefixes: prefixes.chain([(PrefixHash::default(), 0)]).collect(),
            messages: items.iter().map(|item| item.id).zip(1..).collect(),
            exact: nothing(),
            near: nothing(),
            edits: items.iter().map(|_| Vec::new()).chain([Vec::new()]).collect(),
        }
    }

    /// Offers the next older turn; its `delta` is asked for only if it may count.
    pub fn offer<E>(
        &mut self,
        turn: OfferedTurn,
        delta: impl FnOnce() -> Result<D, E>,
    ) -> Result<(), E> {
        if turn.generation == GenerationType::Quiet {
            return Ok(());
        }
        let exact = self.prefixes.get(&turn.at);
        if turn.generation == GenerationType::Edit {
            let near = || turn.message.and_then(|message| self.messages.get(&message));
            if let Some(&at) = exact.or_else(near) {
                self.edits[at].push(delta()?);
            }
            return Ok(());
        }
        if let Some(&at) = exact {
            if self.exact[at].is_none() {
                self.exact[at] = Some(delta()?);
            }
        } else if let Some(&at) = turn.message.and_then(|message| self.messages.get(&message))
            && self.near[at].is_none()
        {
            self.near[at] = Some(delta()?);
        }
        Ok(())
    }

    /// The deltas to fold, in path order.
    pub fn chosen(self) -> impl Iterator<Item = D> {
        let turns = self.exact.into_iter().zip(self.near).map(|(exact, near)| exact.or(near));
        turns
            .zip(self.edits)
            .flat_map(|(turn, edits)| turn.into_iter().chain(edits.into_iter().rev()))
    }
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

    fn turn(texts: &[&str], generation: GenerationType, delta: u8) -> (OfferedTurn, u8) {
        let path = path(texts);
        let message = path.items().last().map(|item| item.id);
        (OfferedTurn { at: path.prefix(), message, generation }, delta)
    }

    #[test]
    fn the_exact_prefix_counts_before_the_message_and_the_last_turn_before_earlier_ones() {
        use GenerationType::{Edit, Normal, Quiet, Swipe};
        let turns = [
            turn(&[], Normal, 0),
            turn(&["a"], Normal, 1),
            turn(&["a", "b"], Normal, 2),
            turn(&["a", "b"], Swipe, 3),
            turn(&["x", "b"], Normal, 4),
            turn(&["a"], Quiet, 5),
            turn(&["a"], Edit, 6),
            turn(&["z", "a"], Edit, 7),
        ];
        for (texts, expected) in [
            (&[][..], &[0][..]),
            (&["a", "b"], &[0, 1, 6, 7, 3]),
            (&["x", "b"], &[0, 4]),
            (&["new", "b"], &[0, 4]),
            (&["b", "a"], &[0, 4, 1, 6, 7]),
            (&["new"], &[0]),
        ] {
            let mut choice = Choice::on(&path(texts));
            for (turn, delta) in turns.iter().rev() {
                choice.offer(*turn, || Ok::<u8, ()>(*delta)).unwrap();
            }
            assert_eq!(choice.chosen().collect::<Vec<_>>(), expected, "{texts:?}");
        }
    }
}
