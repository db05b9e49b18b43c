//! Laying a window over stored paths.
//!
//! A window is the end of a path with changes: messages added at the end, left out,
//! edited, and foreign text in between. For each chat that shares texts with the window,
//! the window is laid over the few stored paths that end where it may end; the chat whose
//! path explains the window best is taken, if it explains enough.

use rustc_hash::FxHashMap;

use super::{
    memory::{Memory, NodeAt, Slot, Story},
    text::{TextKey, similar},
    window::{Part, Window, looks_like_instruction},
};
use crate::chat::Role;

/// Chats that are looked at closely.
const CANDIDATES: usize = 8;
/// Messages of the window that its stored path may end at.
const ANCHORS: usize = 4;
/// Stored messages of one text that are tried as the end.
const ENDS: usize = 8;
/// How far two sequences may drift apart before positions are looked up instead.
const DRIFT: usize = 24;

/// A window laid over a stored path.
#[derive(Clone, Debug)]
pub(super) struct Alignment {
    pub(super) slot: Slot,
    /// The stored path, oldest first.
    pub(super) path: Vec<NodeAt>,
    /// Which piece is which message of the path, both ascending.
    pub(super) pairs: Vec<(usize, usize)>,
    /// Pieces of user or model that the path does not explain, the newest of the user
    /// left out.
    unexplained: usize,
    /// Messages of the path that the window leaves out.
    left_out: usize,
    /// Whether the window goes on from the chat's newest message, or repeats the request
    /// that was answered with it.
    at_tip: bool,
}

impl Alignment {
    /// A chat of which the window shows nothing.
    pub(super) fn empty(slot: Slot) -> Self {
        Self {
            slot,
            path: Vec::new(),
            pairs: Vec::new(),
            unexplained: 0,
            left_out: 0,
            at_tip: false,
        }
    }

    /// Better explanations are greater. Of two chats that the window may go on with, the
    /// one used last is meant, even if the other knows more of the window: it may have
    /// been told the same before.
    fn rank(&self, story: &Story) -> (std::cmp::Reverse<usize>, bool, u64, usize, u64) {
        let recent = if self.at_tip { story.touched } else { 0 };
        let shared = self.pairs.len();
        (std::cmp::Reverse(self.unexplained), self.at_tip, recent, shared, story.touched)
    }
}

/// The best alignment with a chat that `may` be joined.
pub(super) fn best(
    memory: &Memory,
    window: &Window,
    client: &str,
    may: impl Fn(&Story) -> bool,
) -> Option<Alignment> {
    let found = candidates(memory, window);
    let alignments = found.into_iter().filter(|slot| may(memory.story(*slot)));
    alignments
        .filter_map(|slot| within(memory, slot, window))
        .filter(|alignment| joins(memory, window, client, alignment))
        .max_by_key(|alignment| alignment.rank(memory.story(alignment.slot)))
}

/// The chats that share most texts with the window.
fn candidates(memory: &Memory, window: &Window) -> Vec<Slot> {
    let mut votes: FxHashMap<Slot, usize> = FxHashMap::default();
    for part in window.parts.iter().filter(|part| !part.tool) {
        for slot in memory.chats_with(part.key) {
            *votes.entry(*slot).or_default() += 1;
        }
    }
    let mut slots: Vec<(usize, u64, Slot)> =
        votes.into_iter().map(|(slot, votes)| (votes, memory.story(slot).touched, slot)).collect();
    slots.sort_unstable_by(|a, b| b.cmp(a));
    slots.truncate(CANDIDATES);
    slots.into_iter().map(|(_, _, slot)| slot).collect()
}

/// The best alignment within one chat.
pub(super) fn within(memory: &Memory, slot: Slot, window: &Window) -> Option<Alignment> {
    let story = memory.story(slot);
    let parts = &window.parts;
    let known = (0..parts.len())
        .rev()
        .filter(|at| !parts[*at].tool && !story.nodes_with(parts[*at].key).is_empty());
    known
        .take(ANCHORS)
        .flat_map(|anchor| {
            let mut ends = story.nodes_with(parts[anchor].key).to_vec();
            ends.sort_unstable_by_key(|end| std::cmp::Reverse(story.node(*end).touched));
            ends.truncate(ENDS);
            ends.into_iter().map(move |end| (anchor, end))
        })
        .map(|(anchor, end)| lay(story, slot, window, anchor, end))
        .max_by_key(|found| {
            let newest = found.path.last().map(|at| story.node(*at).touched);
            let gaps = std::cmp::Reverse(found.left_out);
            (std::cmp::Reverse(found.unexplained), found.pairs.len(), gaps, found.at_tip, newest)
        })
}

fn lay(story: &Story, slot: Slot, window: &Window, anchor: usize, end: NodeAt) -> Alignment {
    let path = story.path_to(Some(end));
    let keys: Vec<TextKey> = path.iter().map(|at| story.node(*at).key).collect();
    let pairs = pair_up(&window.parts[..=anchor], &keys);
    let newest = window.parts.iter().rposition(|part| part.role == Role::User && !part.tool);
    let paired = |at: usize| pairs.binary_search_by_key(&at, |pair| pair.0).is_ok();
    let unexplained = (0..window.parts.len())
        .filter(|at| Some(*at) != newest && !paired(*at))
        .filter(|at| counts(&window.parts[*at], story))
        .count();
    let asked_again = story.asked == Some(end) && anchor + 1 >= newest.map_or(0, |at| at + 1);
    let at_tip = story.tip == Some(end) || asked_again;
    let first = pairs.first().map_or(path.len(), |pair| pair.1);
    let left_out = path.len() - first - pairs.len();
    Alignment { slot, path, pairs, unexplained, left_out, at_tip }
}

/// Whether a piece that no path explains speaks against the chat.
fn counts(part: &Part, story: &Story) -> bool {
    !part.tool
        && matches!(part.role, Role::User | Role::Assistant)
        && !story.injected.contains(&part.key)
        && !looks_like_instruction(part)
}

/// Pairs pieces with messages from the end on. The last piece is the last message.
fn pair_up(parts: &[Part], keys: &[TextKey]) -> Vec<(usize, usize)> {
    let mut positions: FxHashMap<TextKey, Vec<usize>> = FxHashMap::default();
    for (at, key) in keys.iter().enumerate() {
        positions.entry(*key).or_default().push(at);
    }
    let mut pairs = Vec::new();
    let (mut part, mut node) = (parts.len(), keys.len());
    while part > 0 && node > 0 {
        if !parts[part - 1].tool && parts[part - 1].key == keys[node - 1] {
            part -= 1;
            node -= 1;
            pairs.push((part, node));
            continue;
        }
        let Some((skipped, left_out)) = drift(&parts[..part], &keys[..node], &positions) else {
            break;
        };
        part -= skipped;
        node -= left_out;
    }
    pairs.reverse();
    pairs
}

/// How many pieces and messages to skip until both agree again, as few as possible.
fn drift(
    parts: &[Part],
    keys: &[TextKey],
    positions: &FxHashMap<TextKey, Vec<usize>>,
) -> Option<(usize, usize)> {
    let agrees = |skipped: usize, left_out: usize| {
        let part = parts.len().checked_sub(skipped + 1).map(|at| &parts[at]);
        let key = keys.len().checked_sub(left_out + 1).map(|at| keys[at]);
        part.is_some_and(|part| !part.tool && Some(part.key) == key)
    };
    for total in 1..=DRIFT {
        // An edit skips as many pieces as messages: the even split is tried first.
        let half = total / 2;
        let splits = (0..=total).flat_map(|step| [half.checked_sub(step), half.checked_add(step)]);
        for skipped in splits.flatten().filter(|skipped| *skipped <= total) {
            if agrees(skipped, total - skipped) {
                return Some((skipped, total - skipped));
            }
        }
    }
    // A long block was hidden or came back: look the next texts up.
    (0..parts.len().min(DRIFT)).find_map(|skipped| {
        let part = &parts[parts.len() - 1 - skipped];
        let found = positions.get(&part.key)?;
        let before = found.partition_point(|at| *at < keys.len());
        let at = *found.get(before.checked_sub(1)?)?;
        Some((skipped, keys.len() - 1 - at)).filter(|_| !part.tool)
    })
}

/// Whether the window belongs to this chat: it shares more than a greeting, it does not
/// contradict more than it shares, and it is not the opening of a new chat.
fn joins(memory: &Memory, window: &Window, client: &str, alignment: &Alignment) -> bool {
    let story = memory.story(alignment.slot);
    let first_user =
        alignment.path.iter().position(|at| story.node(*at).message.role == Role::User);
    let telling = alignment
        .pairs
        .iter()
        .filter(|(_, node)| first_user.is_some_and(|first| *node >= first))
        .count();
    if telling == 0 {
        return is_edited_opening(memory, window, client, alignment);
    }
    let anchor = alignment.pairs.last().map_or(0, |pair| pair.0);
    let paired = |at: usize| alignment.pairs.binary_search_by_key(&at, |pair| pair.0).is_ok();
    let against =
        (0..anchor).filter(|at| !paired(*at) && counts(&window.parts[*at], story)).count();
    if alignment.pairs.len() <= against {
        return false;
    }
    !is_opening(memory, window) || reopens(window, story, alignment)
}

/// Whether the window has one message of the user and no answer to it.
fn is_opening(memory: &Memory, window: &Window) -> bool {
    let foreign = |part: &Part| looks_like_instruction(part) || memory.is_foreign(part.key);
    let talk = || window.parts.iter().filter(|part| !part.tool && !foreign(part));
    let users = talk().filter(|part| part.role == Role::User).count();
    let answered =
        talk().skip_while(|part| part.role != Role::User).any(|part| part.role == Role::Assistant);
    users == 1 && !answered
}

/// Whether an opening seen before is still the same chat's: the card must be the same,
/// and the story must not have gone on since, for then somebody began anew.
fn reopens(window: &Window, story: &Story, alignment: &Alignment) -> bool {
    let same_card = story.preamble.as_ref().is_none_or(|known| {
        let shared = window.preamble.iter().any(|part| known.contains(&part.key));
        shared || (known.is_empty() && window.preamble.is_empty())
    });
    let end = alignment.path.last();
    let left_behind = end.is_some_and(|end| story.asked != Some(*end) && story.went_on_after(*end));
    same_card && !left_behind
}

/// Whether the user edited the first message of the chat just left, and nothing else is
/// shared but the greeting.
fn is_edited_opening(
    memory: &Memory,
    window: &Window,
    client: &str,
    alignment: &Alignment,
) -> bool {
    let story = memory.story(alignment.slot);
    let last = memory.client(client).and_then(|client| client.last);
    let path = story.path_to(story.tip);
    let stored = path.iter().map(|at| story.node(*at)).find(|n| n.message.role == Role::User);
    let asked = window.parts.iter().find(|part| part.role == Role::User && !part.tool);
    let edited = matches!((stored, asked), (Some(stored), Some(asked))
        if similar(&stored.message.text, &asked.text));
    !alignment.pairs.is_empty() && last == Some(alignment.slot) && edited
}
