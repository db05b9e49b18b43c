//! Reading nodes: a path, or the whole tree.
//!
//! A path is a chain of runs, each a range of the nodes' primary key. A story whose replies
//! were swiped again and again has thousands of short runs; then one scan over the chat's
//! nodes is cheaper than that many searches. What nodes say is read in ranges too: along a
//! path message numbers mostly follow each other.

use std::cell::Cell;

use loreloom_core::ids::{MessageId, PrefixHash};
use loreloom_ports::{Node, StoreError};
use rusqlite::{OptionalExtension, Row, Rows, params};
use rustc_hash::FxHashMap;

use super::{
    read::Snapshot,
    rows::{Doing, Hash, Reading},
};
use crate::codec::{NodeColumns, Told};

/// More runs than this are found by one scan.
const MANY: usize = 24;

/// Unwanted messages in a row that are cheaper to step over than to begin another range.
const GAP: i64 = 16;

/// A node, but for what it says.
struct Bare {
    branch: i64,
    prefix: PrefixHash,
    message_id: MessageId,
    message: i64,
    columns: NodeColumns,
}

/// The columns of [`Bare`], and a node's depth.
const COLUMNS: &str =
    "SELECT branch, prefix, message_id, message, name, hidden, extensions, depth FROM nodes ";

impl Bare {
    fn of(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            branch: row.get(0)?,
            prefix: PrefixHash(row.get::<_, Hash>(1)?.0),
            message_id: MessageId(row.get::<_, Hash>(2)?.0),
            message: row.get(3)?,
            columns: NodeColumns {
                name: row.get(4)?,
                hidden: row.get(5)?,
                extensions: row.get(6)?,
            },
        })
    }
}

/// The nodes from the first message to `tip`.
pub(super) fn path(snapshot: &Snapshot<'_>, tip: PrefixHash) -> Result<Vec<Node>, StoreError> {
    if tip == PrefixHash::default() {
        return Ok(Vec::new());
    }
    let doing = "reading a path";
    let runs = runs(snapshot, tip).doing(doing)?;
    let missing = || StoreError::NoNode { chat: snapshot.row.record.id.clone(), node: tip };
    let runs = runs.ok_or_else(missing)?;
    let bare = if runs.len() > MANY { scan(snapshot, &runs) } else { seek(snapshot, &runs) };
    let mut parent = PrefixHash::default();
    with_texts(snapshot, bare.doing(doing)?, |node| std::mem::replace(&mut parent, node.prefix))
}

/// The nodes from the newest known one on, without it, to `tip`; `None` if they are spread
/// over too many branches to be looked for one by one.
pub(super) fn since(
    snapshot: &Snapshot<'_>,
    tip: PrefixHash,
    is_known: impl Fn(PrefixHash) -> bool,
) -> Result<Option<Vec<Node>>, StoreError> {
    let doing = "reading the end of a path";
    let missing = || StoreError::NoNode { chat: snapshot.row.record.id.clone(), node: tip };
    let mut next = Some(end(snapshot, tip).doing(doing)?.ok_or_else(missing)?);
    let (mut newest_first, mut parent) = (Vec::new(), PrefixHash::default());
    let mut branches = 0;
    while let Some(run) = next {
        branches += 1;
        if branches > MANY {
            return Ok(None);
        }
        let known = back(snapshot, &run, &is_known, &mut newest_first).doing(doing)?;
        if let Some(known) = known {
            parent = known;
            break;
        }
        next = above(snapshot, run.branch).doing(doing)?;
    }
    newest_first.reverse();
    let parent_of = |node: &Bare| std::mem::replace(&mut parent, node.prefix);
    with_texts(snapshot, newest_first, parent_of).map(Some)
}

/// Reads a run backwards, up to a node that is known.
fn back(
    snapshot: &Snapshot<'_>,
    run: &Run,
    is_known: impl Fn(PrefixHash) -> bool,
    nodes: &mut Vec<Bare>,
) -> rusqlite::Result<Option<PrefixHash>> {
    const WHERE: &str =
        "WHERE tenant = ?1 AND chat = ?2 AND branch = ?3 AND depth <= ?4 ORDER BY depth DESC";
    let mut select = snapshot.transaction.prepare_cached(&[COLUMNS, WHERE].concat())?;
    let key = params![snapshot.tenant.as_str(), snapshot.row.number, run.branch, run.last];
    let mut rows = select.query(key)?;
    while let Some(row) = rows.next()? {
        let node = Bare::of(row)?;
        if is_known(node.prefix) {
            return Ok(Some(node.prefix));
        }
        nodes.push(node);
    }
    Ok(None)
}

/// All nodes, branch by branch: a branch hangs on an older one.
pub(super) fn tree(snapshot: &Snapshot<'_>) -> Result<Vec<Node>, StoreError> {
    let doing = "reading a chat's tree";
    let forks = forks(snapshot).doing(doing)?;
    let bare = all(snapshot).doing(doing)?;
    let mut before: Option<(i64, PrefixHash)> = None;
    with_texts(snapshot, bare, |node| {
        let parent = match before {
            Some((branch, prefix)) if branch == node.branch => prefix,
            Some(_) | None => forks.get(&node.branch).copied().unwrap_or_default(),
        };
        before = Some((node.branch, node.prefix));
        parent
    })
}

/// Nodes of one branch, up to a depth.
struct Run {
    branch: i64,
    last: i64,
}

/// The runs that make up the path to `tip`, oldest first.
fn runs(snapshot: &Snapshot<'_>, tip: PrefixHash) -> rusqlite::Result<Option<Vec<Run>>> {
    let Some(mut run) = end(snapshot, tip)? else { return Ok(None) };
    let mut runs = Vec::new();
    while let Some(older) = above(snapshot, run.branch)? {
        runs.push(std::mem::replace(&mut run, older));
    }
    runs.push(run);
    runs.reverse();
    Ok(Some(runs))
}

/// The run that ends in a node.
fn end(snapshot: &Snapshot<'_>, tip: PrefixHash) -> rusqlite::Result<Option<Run>> {
    let mut find = snapshot.transaction.prepare_cached(
        "SELECT branch, depth FROM nodes WHERE tenant = ?1 AND chat = ?2 AND prefix = ?3",
    )?;
    let key = params![snapshot.tenant.as_str(), snapshot.row.number, Hash(tip.0)];
    find.query_row(key, |row| Ok(Run { branch: row.get(0)?, last: row.get(1)? })).optional()
}

/// The run that a branch hangs on, if it does not begin the story.
fn above(snapshot: &Snapshot<'_>, branch: i64) -> rusqlite::Result<Option<Run>> {
    let mut find = snapshot.transaction.prepare_cached(
        "SELECT parent_branch, parent_depth FROM branches \
         WHERE tenant = ?1 AND chat = ?2 AND branch = ?3",
    )?;
    let key = params![snapshot.tenant.as_str(), snapshot.row.number, branch];
    let run = |row: &Row<'_>| {
        let last = row.get(1)?;
        Ok(row.get::<_, Option<i64>>(0)?.map(|branch| Run { branch, last }))
    };
    find.query_row(key, run)
}

/// The nodes of runs, one search for each.
fn seek(snapshot: &Snapshot<'_>, runs: &[Run]) -> rusqlite::Result<Vec<Bare>> {
    const WHERE: &str =
        "WHERE tenant = ?1 AND chat = ?2 AND branch = ?3 AND depth <= ?4 ORDER BY depth";
    let mut select = snapshot.transaction.prepare_cached(&[COLUMNS, WHERE].concat())?;
    let mut nodes = Vec::new();
    for run in runs {
        let key = params![snapshot.tenant.as_str(), snapshot.row.number, run.branch, run.last];
        collect(select.query(key)?, |_| Ok(true), &mut nodes)?;
    }
    Ok(nodes)
}

/// The nodes of runs by one scan: branches come in order, and a path's runs do as well.
fn scan(snapshot: &Snapshot<'_>, runs: &[Run]) -> rusqlite::Result<Vec<Bare>> {
    let ends: FxHashMap<i64, i64> = runs.iter().map(|run| (run.branch, run.last)).collect();
    let mut select = snapshot.transaction.prepare_cached(&[COLUMNS, IN_ORDER].concat())?;
    let mut nodes = Vec::new();
    let rows = select.query(params![snapshot.tenant.as_str(), snapshot.row.number])?;
    let wanted = |row: &Row<'_>| {
        let depth: i64 = row.get(7)?;
        Ok(ends.get(&row.get(0)?).is_some_and(|last| depth <= *last))
    };
    collect(rows, wanted, &mut nodes)?;
    Ok(nodes)
}

const IN_ORDER: &str = "WHERE tenant = ?1 AND chat = ?2 ORDER BY branch, depth";

fn all(snapshot: &Snapshot<'_>) -> rusqlite::Result<Vec<Bare>> {
    let mut select = snapshot.transaction.prepare_cached(&[COLUMNS, IN_ORDER].concat())?;
    let mut nodes = Vec::new();
    let rows = select.query(params![snapshot.tenant.as_str(), snapshot.row.number])?;
    collect(rows, |_| Ok(true), &mut nodes)?;
    Ok(nodes)
}

fn collect(
    mut rows: Rows<'_>,
    wanted: impl Fn(&Row<'_>) -> rusqlite::Result<bool>,
    nodes: &mut Vec<Bare>,
) -> rusqlite::Result<()> {
    while let Some(row) = rows.next()? {
        if wanted(row)? {
            nodes.push(Bare::of(row)?);
        }
    }
    Ok(())
}

/// The node that each branch hangs on.
fn forks(snapshot: &Snapshot<'_>) -> rusqlite::Result<FxHashMap<i64, PrefixHash>> {
    let mut select = snapshot.transaction.prepare_cached(
        "SELECT b.branch, n.prefix FROM branches b JOIN nodes n ON n.tenant = b.tenant \
         AND n.chat = b.chat AND n.branch = b.parent_branch AND n.depth = b.parent_depth \
         WHERE b.tenant = ?1 AND b.chat = ?2",
    )?;
    let fork = |row: &Row<'_>| Ok((row.get(0)?, PrefixHash(row.get::<_, Hash>(1)?.0)));
    let key = params![snapshot.tenant.as_str(), snapshot.row.number];
    select.query_map(key, fork)?.collect()
}

/// Adds what the nodes say; `parent_of` is asked in order.
fn with_texts(
    snapshot: &Snapshot<'_>,
    bare: Vec<Bare>,
    mut parent_of: impl FnMut(&Bare) -> PrefixHash,
) -> Result<Vec<Node>, StoreError> {
    let mut texts = texts(snapshot, &bare)?;
    let mut nodes = Vec::with_capacity(bare.len());
    for (at, node) in bare.into_iter().enumerate() {
        let (prefix, message_id, parent) = (node.prefix, node.message_id, parent_of(&node));
        let missing = || format!("message {} is missing", node.message);
        let told = texts[at].take().ok_or_else(missing);
        let message = told.and_then(|told| node.columns.message(told));
        let message = message.reading(|| snapshot.what(&format!("node {prefix}")))?;
        nodes.push(Node { prefix, parent, message_id, message });
    }
    Ok(nodes)
}

/// What each node says, in the nodes' order.
fn texts(snapshot: &Snapshot<'_>, bare: &[Bare]) -> Result<Vec<Option<Told>>, StoreError> {
    let mut wanted: Vec<(i64, usize)> =
        bare.iter().enumerate().map(|(at, node)| (node.message, at)).collect();
    wanted.sort_unstable();
    let mut texts: Vec<Option<Told>> = Vec::new();
    texts.resize_with(bare.len(), || None);
    let mut rest = wanted.as_slice();
    while let Some(&(first, _)) = rest.first() {
        let far = rest.windows(2).position(|pair| pair[1].0 - pair[0].0 > GAP);
        let (range, later) = rest.split_at(far.map_or(rest.len(), |at| at + 1));
        let last = range.last().map_or(first, |(number, _)| *number);
        // Both come in order, so one position serves both.
        let next = Cell::new(0);
        let is_wanted = |number| {
            while range.get(next.get()).is_some_and(|(wanted, _)| *wanted < number) {
                next.set(next.get() + 1);
            }
            range.get(next.get()).is_some_and(|(wanted, _)| *wanted == number)
        };
        snapshot.told(first, last, is_wanted, |number, told| {
            // A text that comes again on the path is several nodes' message.
            let same = range[next.get()..].iter().take_while(|(wanted, _)| *wanted == number);
            let (mut same, mut told) = (same.peekable(), Some(told));
            while let Some((_, at)) = same.next() {
                texts[*at] = if same.peek().is_some() { told.clone() } else { told.take() };
            }
        })?;
        rest = later;
    }
    Ok(texts)
}
