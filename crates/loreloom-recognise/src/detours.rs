//! Messages that a path no longer shows: edited ones as they were, and hidden ones.
//!
//! What a turn started (sticky effects, cooldowns, variables) belongs to the message it answered.
//! If that message is edited or hidden, the reply to it is still on the path. So a stored message
//! that comes between two messages of the path on another branch, or instead of one of them,
//! was hidden or edited. Both ends must be the same messages: a reply, whose text is unique, or two
//! messages in a row.
//!
//! The tree shows this as long as it is known, so the answer is the same for every later request
//! and every swipe. A chat without branches costs one look at each message.

use rustc_hash::FxHashSet;

use super::{
    known_stories::{NodeAt, Story, StoryNode},
    text::TextKey,
};
use loreloom_core::chat::{Message, Role};

/// The most hidden messages in a row that are found.
const LONGEST: usize = 24;

/// The most branches that are looked at from one message.
const BRANCHES: usize = 64;

/// A message that was on the path.
#[derive(Clone, Debug, PartialEq)]
pub struct Detour {
    /// The message.
    pub message: Message,
    /// The message of the path that it came before, or whose text it had.
    pub before: usize,
    /// Whether that message is the edited one.
    pub edited: bool,
}

/// A message of a path by what names it.
pub(super) type PathKey = (TextKey, Role);

/// The messages that `path` no longer shows, in path order.
pub(super) fn detours(story: &Story, path: &[PathKey]) -> Vec<Detour> {
    let mut found = Vec::new();
    for at in 0..path.len() {
        let starts: Vec<NodeAt> = match at.checked_sub(1).map(|before| path[before]) {
            None => story.roots().collect(),
            Some(before) => story
                .nodes_with(before.0)
                .iter()
                .copied()
                .filter(|node| is(story.node(*node), before))
                .collect(),
        };
        let mut seen = FxHashSet::default();
        for start in starts.into_iter().take(BRANCHES) {
            let children = match at {
                0 => vec![start],
                _ => story.node(start).children.to_vec(),
            };
            for child in children.into_iter().take(BRANCHES) {
                if !is(story.node(child), path[at]) {
                    Search { story, path, at, seen: &mut seen, found: &mut found }.from(child);
                }
            }
        }
    }
    found
}

struct Search<'a> {
    story: &'a Story,
    path: &'a [PathKey],
    at: usize,
    seen: &'a mut FxHashSet<TextKey>,
    found: &'a mut Vec<Detour>,
}

impl Search<'_> {
    /// Looks from a message that follows the one before `at` on another branch.
    fn from(&mut self, child: NodeAt) {
        let node = self.story.node(child);
        if node.message.role == self.path[self.at].1 && self.goes_on(node, self.at + 1) {
            self.add(node, true);
            return;
        }
        let mut block = vec![child];
        while block.len() <= LONGEST {
            let Some(last) = block.last().map(|last| self.story.node(*last)) else { return };
            if self.goes_on(last, self.at) {
                for hidden in block {
                    self.add(self.story.node(hidden), false);
                }
                return;
            }
            // Of several replies the story went on from the last one.
            let Some(next) =
                last.children.iter().max_by_key(|next| self.story.node(**next).touched)
            else {
                return;
            };
            block.push(*next);
        }
    }

    /// Whether the path goes on at `next` after this message.
    fn goes_on(&self, node: &StoryNode, next: usize) -> bool {
        let Some(wanted) = self.path.get(next).copied() else { return false };
        node.children
            .iter()
            .map(|child| self.story.node(*child))
            .filter(|child| is(child, wanted))
            .any(|child| {
                let after = self.path.get(next + 1).copied();
                let follows =
                    |wanted| child.children.iter().any(|one| is(self.story.node(*one), wanted));
                wanted.1 == Role::Assistant || after.is_some_and(follows)
            })
    }

    /// Turns are at messages of the user or a narrator; effects of replies go with them.
    fn add(&mut self, node: &StoryNode, edited: bool) {
        if node.message.role != Role::Assistant && self.seen.insert(node.key) {
            self.found.push(Detour { message: node.message.clone(), before: self.at, edited });
        }
    }
}

fn is(node: &StoryNode, (key, role): PathKey) -> bool {
    node.is(key, role)
}
