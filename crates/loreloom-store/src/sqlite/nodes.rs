//! Reading nodes: a path, or the whole tree.
//!
//! A path is a chain of branch ranges, each a range of the nodes' primary key. A story whose
//! replies were swiped again and again has thousands of short ranges; then one scan of the chat's
//! nodes is cheaper than that many searches. Messages are read in ranges too: along a path their
//! numbers mostly follow each other.

use std::cell::Cell;

use loreloom_core::ids::{MessageId, PrefixHash};
use loreloom_ports::{Node, StoreError};
use rusqlite::{Row, params};
use rustc_hash::FxHashMap;

use super::{
    read::ChatSnapshot,
    statement::{query, query_first},
};
use crate::{
    codec::{MessageText, NodeColumns},
    errors::{DecodeResult as _, Decoded},
    rows::{StoredRow as _, node},
};

/// More ranges than this are read by one scan.
const MANY: usize = 24;

/// The most unwanted messages in a row that are cheaper to skip than another range.
const GAP: i64 = 16;

/// A node without its text.
struct BareNode {
    branch: i64,
    prefix: PrefixHash,
    message_id: MessageId,
    message: i64,
    columns: NodeColumns,
}

/// The columns of [`BareNode`], and the depth of the node.
macro_rules! select_nodes {
    ($rest:literal) => {
        concat!(
            "SELECT branch, prefix, message_id, message, name, hidden, extensions, depth ",
            "FROM nodes WHERE tenant = $1 AND chat = $2 ",
            $rest
        )
    };
}

impl BareNode {
    fn of(row: &Row<'_>) -> Decoded<Self> {
        Ok(Self {
            branch: row.number(0)?,
            prefix: PrefixHash(row.digest(1)?),
            message_id: MessageId(row.digest(2)?),
            message: row.number(3)?,
            columns: node::columns(row, 4)?,
        })
    }
}

/// The nodes from the first message to `tip`.
pub(super) fn path(snapshot: &ChatSnapshot<'_>, tip: PrefixHash) -> Result<Vec<Node>, StoreError> {
    if tip == PrefixHash::default() {
        return Ok(Vec::new());
    }
    let ranges = ranges(snapshot, tip)?;
    let nodes =
        if ranges.len() > MANY { scan(snapshot, &ranges)? } else { search(snapshot, &ranges)? };
    let mut parent = PrefixHash::default();
    with_texts(snapshot, nodes, |node| std::mem::replace(&mut parent, node.prefix))
}

/// All nodes, branch by branch: a branch starts below a node of an older one.
pub(super) fn tree(snapshot: &ChatSnapshot<'_>) -> Result<Vec<Node>, StoreError> {
    let forks = forks(snapshot)?;
    let mut before: Option<(i64, PrefixHash)> = None;
    with_texts(snapshot, all(snapshot, |_, _| true)?, |node| {
        let parent = match before {
            Some((branch, prefix)) if branch == node.branch => prefix,
            Some(_) | None => forks.get(&node.branch).copied().unwrap_or_default(),
        };
        before = Some((node.branch, node.prefix));
        parent
    })
}

/// The nodes of one branch down to a depth.
struct BranchRange {
    branch: i64,
    last: i64,
}

/// The ranges of the path to `tip`, oldest first.
fn ranges(snapshot: &ChatSnapshot<'_>, tip: PrefixHash) -> Result<Vec<BranchRange>, StoreError> {
    const END: &str =
        "SELECT branch, depth FROM nodes WHERE tenant = $1 AND chat = $2 AND prefix = $3";
    const ABOVE: &str = "SELECT parent_branch, parent_depth FROM branches \
         WHERE tenant = $1 AND chat = $2 AND branch = $3";
    let doing = "reading a path";
    let (tenant, chat) = snapshot.key();
    let range = |row: &Row<'_>| {
        let last = row.number(1)?;
        Ok(row.optional_number(0)?.map(|branch| BranchRange { branch, last }))
    };
    let mut next =
        query_first(&snapshot.transaction, doing, END, params![tenant, chat, tip.0.0], range)?
            .ok_or_else(|| StoreError::NoNode {
                chat: snapshot.row.record.id.clone(),
                node: tip,
            })?;
    let mut ranges = Vec::new();
    while let Some(found) = next {
        let key = params![tenant, chat, found.branch];
        next = query_first(&snapshot.transaction, doing, ABOVE, key, range)?.ok_or_else(|| {
            let what = snapshot.part(&format!("branch {}", found.branch));
            StoreError::Damaged { what, reason: "its row is missing".to_owned() }
        })?;
        ranges.push(found);
    }
    ranges.reverse();
    Ok(ranges)
}

/// The nodes of ranges, with one search for each.
fn search(
    snapshot: &ChatSnapshot<'_>,
    ranges: &[BranchRange],
) -> Result<Vec<BareNode>, StoreError> {
    const FIND: &str = select_nodes!("AND branch = $3 AND depth <= $4 ORDER BY depth");
    let (tenant, chat) = snapshot.key();
    let mut nodes = Vec::new();
    for range in ranges {
        let key = params![tenant, chat, range.branch, range.last];
        let found = query(&snapshot.transaction, "reading a path", FIND, key, BareNode::of)?;
        nodes.extend(found);
    }
    Ok(nodes)
}

/// The nodes of ranges, with one scan: branches are in order, and so are the ranges of a path.
fn scan(snapshot: &ChatSnapshot<'_>, ranges: &[BranchRange]) -> Result<Vec<BareNode>, StoreError> {
    let ends: FxHashMap<i64, i64> = ranges.iter().map(|range| (range.branch, range.last)).collect();
    all(snapshot, |branch, depth| ends.get(&branch).is_some_and(|last| depth <= *last))
}

/// All nodes that are `wanted` by branch and depth, in order.
fn all(
    snapshot: &ChatSnapshot<'_>,
    wanted: impl Fn(i64, i64) -> bool,
) -> Result<Vec<BareNode>, StoreError> {
    const FIND: &str = select_nodes!("ORDER BY branch, depth");
    let read = |row: &Row<'_>| {
        let is_wanted = wanted(row.number(0)?, row.number(7)?);
        is_wanted.then(|| BareNode::of(row)).transpose()
    };
    let nodes = query(&snapshot.transaction, "reading nodes", FIND, snapshot.key(), read)?;
    Ok(nodes.into_iter().flatten().collect())
}

/// The node above each branch.
fn forks(snapshot: &ChatSnapshot<'_>) -> Result<FxHashMap<i64, PrefixHash>, StoreError> {
    const FIND: &str = "SELECT b.branch, n.prefix FROM branches b JOIN nodes n \
         ON n.tenant = b.tenant AND n.chat = b.chat \
         AND n.branch = b.parent_branch AND n.depth = b.parent_depth \
         WHERE b.tenant = $1 AND b.chat = $2";
    let forks = query(&snapshot.transaction, "reading branches", FIND, snapshot.key(), |row| {
        Ok((row.number(0)?, PrefixHash(row.digest(1)?)))
    })?;
    Ok(forks.into_iter().collect())
}

/// Adds the texts of nodes. `parent_of` is called in order.
fn with_texts(
    snapshot: &ChatSnapshot<'_>,
    bare: Vec<BareNode>,
    mut parent_of: impl FnMut(&BareNode) -> PrefixHash,
) -> Result<Vec<Node>, StoreError> {
    let mut texts = texts(snapshot, &bare)?;
    let mut nodes = Vec::with_capacity(bare.len());
    for (at, node) in bare.into_iter().enumerate() {
        let (prefix, message_id, parent) = (node.prefix, node.message_id, parent_of(&node));
        let missing = || format!("message {} is missing", node.message);
        let text = texts[at].take().ok_or_else(missing);
        let message = text.and_then(|text| node.columns.message(text));
        let message = message.reading(|| snapshot.part(&format!("node {prefix}")))?;
        nodes.push(Node { prefix, parent, message_id, message });
    }
    Ok(nodes)
}

/// The text of each node, in the order of nodes.
fn texts(
    snapshot: &ChatSnapshot<'_>,
    bare: &[BareNode],
) -> Result<Vec<Option<MessageText>>, StoreError> {
    let mut wanted: Vec<(i64, usize)> =
        bare.iter().enumerate().map(|(at, node)| (node.message, at)).collect();
    wanted.sort_unstable();
    let mut texts: Vec<Option<MessageText>> = Vec::new();
    texts.resize_with(bare.len(), || None);
    let mut rest = wanted.as_slice();
    while let Some(&(first, _)) = rest.first() {
        let far = rest.windows(2).position(|pair| pair[1].0 - pair[0].0 > GAP);
        let (range, later) = rest.split_at(far.map_or(rest.len(), |at| at + 1));
        let last = range.last().map_or(first, |(number, _)| *number);
        // Wanted numbers and rows are both in order, so one position is enough.
        let next = Cell::new(0);
        let is_wanted = |number| {
            while range.get(next.get()).is_some_and(|(wanted, _)| *wanted < number) {
                next.set(next.get() + 1);
            }
            range.get(next.get()).is_some_and(|(wanted, _)| *wanted == number)
        };
        snapshot.messages((first, last), is_wanted, |number, text| {
            // Several nodes of a path may have the same message.
            let same = range[next.get()..].iter().take_while(|(wanted, _)| *wanted == number);
            let (mut same, mut text) = (same.peekable(), Some(text));
            while let Some((_, at)) = same.next() {
                texts[*at] = if same.peek().is_some() { text.clone() } else { text.take() };
            }
        })?;
        rest = later;
    }
    Ok(texts)
}
