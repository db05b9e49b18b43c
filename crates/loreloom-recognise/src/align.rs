//! Aligns a window with stored paths.
//!
//! A window is the end of a path with changes: messages added at the end, left out or edited, and
//! foreign text in between. For each chat that shares texts with the window, the window is aligned
//! with the few stored paths that may end where it ends. The chat whose path explains the window
//! best wins, if it explains enough.

use rustc_hash::FxHashMap;

use super::{
    known_stories::{KnownStories, NodeAt, Slot, Story, StoryNode},
    markup::Markup,
    text::similar,
    window::{Part, Window, looks_like_instruction},
};
use loreloom_core::chat::Role;

/// Chats that are looked at closely.
const CANDIDATES: usize = 8;
/// Messages of the window that its stored path may end at.
const ANCHORS: usize = 4;
/// Stored messages of one text that are tried as the end.
const ENDS: usize = 8;
/// The most edited messages in a window that continues the client's last chat.
const EDITS: usize = 2;
/// How far two sequences may drift apart before positions are looked up instead.
const DRIFT: usize = 24;

/// How far apart they may be while messages with lost markup are searched for.
const NEAR: usize = 2;

/// A window aligned with a stored path.
#[derive(Clone, Debug)]
pub(super) struct Alignment {
    pub(super) slot: Slot,
    /// The stored path, oldest first.
    pub(super) path: Vec<NodeAt>,
    /// Which piece is which message of the path, both ascending.
    pub(super) pairs: Vec<(usize, usize)>,
    /// Pieces of user or model that are not on the path, without the user's last message.
    unexplained: usize,
    /// Messages of the path that the window leaves out.
    left_out: usize,
    /// Whether the window goes on from the chat's newest message, or repeats the request
    /// that was answered with it.
    at_tip: bool,
    /// Whether only messages of the user follow that message, and few messages were edited.
    goes_on: bool,
    /// Whether the whole path comes before the window.
    pub(super) is_before: bool,
}

impl Alignment {
    /// A chat that the window shares nothing with.
    pub(super) fn empty(slot: Slot) -> Self {
        Self {
            slot,
            path: Vec::new(),
            pairs: Vec::new(),
            unexplained: 0,
            left_out: 0,
            at_tip: false,
            goes_on: false,
            is_before: false,
        }
    }

    /// A path that the window continues.
    pub(super) fn before(slot: Slot, path: Vec<NodeAt>) -> Self {
        Self { path, is_before: true, ..Self::empty(slot) }
    }

    /// Better explanations are greater. Best is a chat that the window continues word for word; of
    /// two, the one that had more of its card, else the one used last, even if the other knows
    /// more of the window: it may have had the same messages. Next is the client's last chat, with
    /// few edits; then a chat that had all of this further back.
    fn rank(&self, story: &Story, window: &Window, was_last: bool) -> impl Ord + use<> {
        let exact = self.at_tip && self.unexplained == 0;
        let card = if exact { story.card_pieces(window) } else { 0 };
        let stays = self.goes_on && was_last;
        let recent = if self.at_tip { story.touched } else { 0 };
        let explains = std::cmp::Reverse(self.unexplained);
        (exact, card, stays && !exact, explains, recent, self.pairs.len(), story.touched)
    }
}

/// The best alignment with a chat that `may` be joined.
pub(super) fn best(
    stories: &KnownStories,
    window: &Window,
    client: &str,
    may: impl Fn(&Story) -> bool,
) -> Option<Alignment> {
    let found = candidates(stories, window);
    let alignments = found.into_iter().filter(|slot| may(stories.story(*slot)));
    alignments
        .filter_map(|slot| within(stories, slot, window))
        .filter(|alignment| joins(stories, window, client, alignment))
        .max_by_key(|alignment| {
            let was_last = stories.was_last_in(client, alignment.slot);
            alignment.rank(stories.story(alignment.slot), window, was_last)
        })
}

/// The chats that share most texts with the window.
fn candidates(stories: &KnownStories, window: &Window) -> Vec<Slot> {
    let mut votes: FxHashMap<Slot, usize> = FxHashMap::default();
    for part in window.parts.iter().filter(|part| !part.tool) {
        for slot in stories.chats_with(part.key) {
            *votes.entry(*slot).or_default() += 1;
        }
    }
    let mut slots: Vec<(usize, u64, Slot)> =
        votes.into_iter().map(|(slot, votes)| (votes, stories.story(slot).touched, slot)).collect();
    slots.sort_unstable_by(|a, b| b.cmp(a));
    // A chat that shares a few common words cannot be meant where another shares all.
    let least = slots.first().map_or(0, |most| most.0 / 3);
    slots.retain(|(votes, _, _)| *votes >= least);
    slots.truncate(CANDIDATES);
    slots.into_iter().map(|(_, _, slot)| slot).collect()
}

/// The best alignment within one chat.
pub(super) fn within(stories: &KnownStories, slot: Slot, window: &Window) -> Option<Alignment> {
    let story = stories.story(slot);
    let parts = &window.parts;
    let known = (0..parts.len())
        .rev()
        .filter(|at| !parts[*at].tool && !story.nodes_with(parts[*at].key).is_empty());
    let ends = known.take(ANCHORS).flat_map(|anchor| {
        let mut ends = story.nodes_with(parts[anchor].key).to_vec();
        ends.retain(|end| is(story.node(*end), &parts[anchor]));
        ends.sort_unstable_by_key(|end| std::cmp::Reverse(story.node(*end).touched));
        ends.truncate(ENDS);
        ends.into_iter().map(move |end| (anchor, end))
    });
    let worth = |found: &Alignment| {
        let newest = found.path.last().map(|at| story.node(*at).touched);
        let gaps = std::cmp::Reverse(found.left_out);
        (std::cmp::Reverse(found.unexplained), found.pairs.len(), gaps, found.at_tip, newest)
    };
    let mut best: Option<Alignment> = None;
    for (anchor, end) in ends {
        let found = lay(story, slot, window, anchor, end);
        let perfect = found.goes_on && found.unexplained == 0 && found.left_out == 0;
        if best.as_ref().is_none_or(|best| worth(&found) > worth(best)) {
            best = Some(found);
        }
        if perfect {
            break;
        }
    }
    best
}

fn lay(story: &Story, slot: Slot, window: &Window, anchor: usize, end: NodeAt) -> Alignment {
    let path = story.path_to(Some(end));
    let stored: Vec<&StoryNode> = path.iter().map(|at| story.node(*at)).collect();
    let mut pairs = pair_up(&window.parts[..=anchor], &stored);
    part_edits(&mut pairs, &window.parts, &stored);
    let paired = |at: usize| pairs.binary_search_by_key(&at, |pair| pair.0).is_ok();
    let by_model = |part: &Part| part.role == Role::Assistant && !part.tool;
    let newest = window.parts.iter().rposition(by_model).map_or(0, |at| at + 1);
    let unexplained =
        (0..newest).filter(|at| !paired(*at) && counts(&window.parts[*at], story)).count();
    let last_user = window.parts.iter().rposition(|part| part.role == Role::User && !part.tool);
    let asked_again = story.asked == Some(end) && last_user.is_none_or(|user| anchor >= user);
    let at_tip = story.tip == Some(end) || asked_again;
    let first = pairs.first().map_or(path.len(), |pair| pair.1);
    let left_out = path.len() - first - pairs.len();
    let only_user_after = newest <= anchor + 1;
    let goes_on = at_tip && only_user_after && unexplained <= EDITS;
    Alignment { slot, path, pairs, unexplained, left_out, at_tip, goes_on, is_before: false }
}

/// Whether an unexplained piece is evidence against the chat.
fn counts(part: &Part, story: &Story) -> bool {
    !part.tool
        && matches!(part.role, Role::User | Role::Assistant)
        && !story.injected.contains(part.key)
        && !looks_like_instruction(part)
}

/// Whether a piece is a stored message.
fn is(node: &StoryNode, part: &Part) -> bool {
    !part.tool && node.is(part.key, part.role)
}

/// What a piece lost of a stored message, if the front end left something out of it.
fn lost(node: &StoryNode, part: &Part) -> Option<Markup> {
    let shorter = !part.tool && part.text.len() < node.message.text.len();
    let same = shorter && node.message.role == part.role;
    same.then(|| Markup::lost(&node.message.text, &part.text, part.key)).flatten()
}

/// The first piece of a role that still has what others of it lost.
pub(super) fn first_kept(
    parts: &[Part],
    pairs: &[(usize, usize)],
    role: Role,
    markup: Markup,
) -> Option<usize> {
    let has = |at: &usize| parts[*at].role == role && markup.is_in(&parts[*at].text);
    pairs.iter().map(|pair| pair.0).find(has)
}

/// Takes out pairs that are edits: a rule of the front end leaves its pieces out of all
/// older messages too.
fn part_edits(pairs: &mut Vec<(usize, usize)>, parts: &[Part], stored: &[&StoryNode]) {
    let bare = |pair: &(usize, usize)| stored[pair.1].key != parts[pair.0].key;
    let mut kinds: Vec<(Role, Markup, Option<usize>)> = Vec::new();
    let mut edits = Vec::new();
    for pair in pairs.iter().filter(|pair| bare(pair)) {
        let part = &parts[pair.0];
        let Some(markup) = lost(stored[pair.1], part) else { continue };
        let known = kinds.iter().find(|kind| (kind.0, kind.1) == (part.role, markup));
        let kept = known.map_or_else(|| first_kept(parts, pairs, part.role, markup), |kind| kind.2);
        if known.is_none() {
            kinds.push((part.role, markup, kept));
        }
        if kept.is_some_and(|kept| kept < pair.0) {
            edits.push(pair.0);
        }
    }
    pairs.retain(|pair| edits.binary_search(&pair.0).is_err());
}

/// Pairs pieces with messages from the end on. The last piece is the last message.
fn pair_up(parts: &[Part], stored: &[&StoryNode]) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    let (mut part, mut node) = (parts.len(), stored.len());
    while part > 0 && node > 0 {
        if is(stored[node - 1], &parts[part - 1])
            || lost(stored[node - 1], &parts[part - 1]).is_some()
        {
            part -= 1;
            node -= 1;
            pairs.push((part, node));
            continue;
        }
        let Some((skipped, left_out)) = drift(&parts[..part], &stored[..node]) else {
            break;
        };
        part -= skipped;
        node -= left_out;
    }
    pairs.reverse();
    pairs
}

/// How many pieces and messages to skip until both agree again, as few as possible.
fn drift(parts: &[Part], stored: &[&StoryNode]) -> Option<(usize, usize)> {
    let agrees = |skipped: usize, left_out: usize| {
        let part = parts.len().checked_sub(skipped + 1).map(|at| &parts[at]);
        let message = stored.len().checked_sub(left_out + 1).map(|at| stored[at]);
        message.zip(part).is_some_and(|(message, part)| {
            is(message, part) || (skipped + left_out <= NEAR && lost(message, part).is_some())
        })
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
    // A long block was hidden or came back: look further for the next texts.
    (0..parts.len().min(DRIFT)).find_map(|skipped| {
        let part = &parts[parts.len() - 1 - skipped];
        let at = stored.iter().rposition(|message| is(message, part))?;
        Some((skipped, stored.len() - 1 - at))
    })
}

/// Whether the window belongs to this chat: it shares more than a greeting, it does not
/// contradict as much as it shares, and it is not the opening of a new chat.
fn joins(stories: &KnownStories, window: &Window, client: &str, alignment: &Alignment) -> bool {
    let story = stories.story(alignment.slot);
    let role = |at: usize| story.node(alignment.path[at]).message.role;
    let first_user = (0..alignment.path.len()).find(|at| role(*at) == Role::User);
    let after_greeting = || {
        let nodes = alignment.pairs.iter().map(|pair| pair.1);
        nodes.filter(|node| first_user.is_some_and(|first| *node >= first))
    };
    let shared = after_greeting().count();
    if shared == 0 {
        return is_edited_opening(stories, window, client, alignment);
    }
    let anchor = alignment.pairs.last().map_or(0, |pair| pair.0);
    let paired = |at: usize| alignment.pairs.binary_search_by_key(&at, |pair| pair.0).is_ok();
    let against =
        (0..anchor).filter(|at| !paired(*at) && counts(&window.parts[*at], story)).count();
    // Replies that we have not seen may have been made while we were away, or may be another
    // story's: a reply that we know, or the place where we were, speaks for the first.
    let unseen = alignment.unexplained.saturating_sub(against);
    let replied = after_greeting().any(|node| role(node) == Role::Assistant);
    let end = alignment.path.last().copied();
    let was_here =
        (end == story.asked || end == story.tip) && stories.was_last_in(client, alignment.slot);
    let likely = unseen == 0 || replied || was_here || shared > against + unseen;
    let agrees = shared > against || (was_here && shared >= against);
    agrees && likely && (!is_opening(stories, window) || reopens(window, story, alignment))
}

/// Whether the window has one message of the user and no answer to it.
pub(super) fn is_opening(stories: &KnownStories, window: &Window) -> bool {
    let foreign = |part: &Part| looks_like_instruction(part) || stories.is_foreign(part.key);
    let talk = || window.parts.iter().filter(|part| !part.tool && !foreign(part));
    let users = talk().filter(|part| part.role == Role::User).count();
    let answered =
        talk().skip_while(|part| part.role != Role::User).any(|part| part.role == Role::Assistant);
    users == 1 && !answered
}

/// Whether a known opening still belongs to the same chat: the card must be the same, and the chat
/// must not have gone on since, for then somebody started over.
fn reopens(window: &Window, story: &Story, alignment: &Alignment) -> bool {
    let same_card = story.preamble.as_ref().is_none_or(|known| {
        let shared = window.preamble.iter().any(|part| known.contains(part.key));
        shared || (known.is_empty() && window.preamble.is_empty())
    });
    let end = alignment.path.last();
    let left_behind = end.is_some_and(|end| story.asked != Some(*end) && story.went_on_after(*end));
    same_card && !left_behind
}

/// Whether the user edited the first message of the chat just left, and nothing else is
/// shared but the greeting.
fn is_edited_opening(
    stories: &KnownStories,
    window: &Window,
    client: &str,
    alignment: &Alignment,
) -> bool {
    let story = stories.story(alignment.slot);
    let path = story.path_to(story.tip);
    let mut said = path.iter().map(|at| story.node(*at)).filter(|n| n.message.role == Role::User);
    let stored = said.next().filter(|_| said.next().is_none());
    let asked = window.parts.iter().find(|part| part.role == Role::User && !part.tool);
    let edited = matches!((stored, asked), (Some(stored), Some(asked))
        if similar(&stored.message.text, &asked.text));
    !alignment.pairs.is_empty() && stories.was_last_in(client, alignment.slot) && edited
}
