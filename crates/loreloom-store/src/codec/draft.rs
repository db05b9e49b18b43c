//! A turn on its way into a database.
//!
//! Everything that needs no database happens first, outside the transaction: finding the path in
//! the prompt, compressing the report, and leaving out the part of the path that the last commit
//! stored. The rest is a list of messages and texts to look up or add. With their numbers the
//! draft becomes rows.

use std::sync::Arc;

use loreloom_core::{
    chat::{GenerationType, Path, PathItem},
    ids::{LibraryVersion, MessageId, PrefixHash},
    units::Timestamp,
};
use loreloom_ports::{StoreError, TurnRecord};

use super::{
    TurnBody, delta_text, generation_number,
    pack::pack,
    prompt_draft::{self, DraftedMessage},
    text_list::TextList,
    turn_body::{StoredInjection, StoredInput},
};
use crate::{
    errors::not_json,
    recent_paths::{StoredNode, StoredPath},
};

/// The columns of a turn that need no lookup.
#[derive(Debug)]
pub(crate) struct TurnColumns {
    /// The node it was computed on.
    pub(crate) at: PrefixHash,
    /// The message of that node.
    pub(crate) at_message: Option<MessageId>,
    pub(crate) generation: i64,
    pub(crate) created: Timestamp,
    pub(crate) delta: Option<String>,
    /// The compressed report.
    pub(crate) report: Vec<u8>,
}

impl TurnColumns {
    /// The tip of the chat after the turn.
    pub(crate) fn tip_after(&self, before: PrefixHash) -> PrefixHash {
        let stays = self.generation == generation_number(GenerationType::Edit);
        if stays { before } else { self.at }
    }
}

/// A turn on its way into a database.
#[derive(Debug)]
pub(crate) struct TurnDraft {
    pub(crate) columns: TurnColumns,
    /// The last node that was stored before. All zeros if none was.
    pub(crate) base: PrefixHash,
    /// The items after it.
    pub(crate) rest: Vec<PathItem>,
    /// Texts to look up or add.
    pub(crate) texts: Vec<String>,
    /// The part of the path that was stored before.
    known: Vec<Arc<StoredNode>>,
    /// Known items whose message must be looked up or added again, by index: the path now has
    /// another text than the last one had (another speaker prefix).
    restated: Vec<(usize, PathItem)>,
    /// For each item, whether the prompt repeats it.
    repeated: Vec<bool>,
    answers: Option<MessageId>,
    library: LibraryVersion,
    injections: Vec<StoredInjection>,
    input: Option<StoredInput>,
    prompt: Vec<DraftedMessage>,
}

impl TurnDraft {
    /// Drafts `turn` on `path`. `stored` is a path that was stored before.
    pub(crate) fn of(
        path: &Path,
        turn: &TurnRecord,
        stored: &StoredPath,
    ) -> Result<Self, StoreError> {
        let items = path.items();
        let known = common(items, stored);
        let mut texts = TextList::default();
        let injections = turn.injections.iter();
        let injections = injections.map(|one| StoredInjection::of(one, &mut texts)).collect();
        let input = turn.input.as_deref().map(|input| StoredInput::of(input, &mut texts));
        let input = input.transpose().map_err(|error| not_json(&error))?;
        let prompt = prompt_draft::draft(&turn.prompt, &turn.report.spans, items, &mut texts);
        let mut repeated = vec![false; items.len()];
        for item in prompt_draft::items_of(&prompt) {
            repeated[item] = true;
        }
        let restated = (0..known)
            .filter(|&at| repeated[at] && !stored[at].has_number_of(&items[at].message))
            .map(|at| (at, items[at].clone()))
            .collect();
        Ok(Self {
            columns: columns(path, turn)?,
            base: known.checked_sub(1).map_or_else(PrefixHash::default, |at| items[at].prefix),
            rest: items[known..].to_vec(),
            texts: texts.into_texts(),
            known: stored[..known].to_vec(),
            restated,
            repeated,
            answers: turn.answers,
            library: turn.library,
            injections,
            input,
            prompt,
        })
    }

    /// Drafts the nodes of `path` without a turn.
    pub(crate) fn of_path(path: &Path, now: Timestamp) -> Self {
        let columns = TurnColumns {
            at: path.prefix(),
            at_message: None,
            generation: 0,
            created: now,
            delta: None,
            report: Vec::new(),
        };
        Self {
            columns,
            base: PrefixHash::default(),
            rest: path.items().to_vec(),
            texts: Vec::new(),
            known: Vec::new(),
            restated: Vec::new(),
            repeated: vec![false; path.items().len()],
            answers: None,
            library: LibraryVersion::default(),
            injections: Vec::new(),
            input: None,
            prompt: Vec::new(),
        }
    }

    /// The messages that need a number, by their index on the path: those of new nodes, which
    /// start at `new`, and those that the prompt repeats.
    pub(crate) fn messages(&self, new: usize) -> Vec<(usize, &PathItem)> {
        let known = self.known.len();
        let restated = self.restated.iter().map(|(at, item)| (*at, item));
        let rest = self.rest.iter().enumerate().map(|(at, item)| (known + at, item));
        restated.chain(rest.filter(|(at, _)| *at >= new || self.repeated[*at])).collect()
    }

    /// The new nodes, which start at `new`, with the numbers of their messages. `numbers` are in
    /// the order of [`Self::messages`], which ends with the new nodes.
    pub(crate) fn new_nodes<'a>(
        &'a self,
        new: usize,
        numbers: &'a [(usize, i64)],
    ) -> impl Iterator<Item = (&'a PathItem, i64)> {
        let first = numbers.partition_point(|(at, _)| *at < new);
        let items = self.rest[new - self.known()..].iter();
        items.zip(numbers[first..].iter().map(|(_, number)| *number))
    }

    /// How many items of the path were stored before.
    pub(crate) fn known(&self) -> usize {
        self.known.len()
    }

    /// The rows of the turn. `numbers` are those of [`Self::messages`], by index; `texts` are
    /// those of [`Self::texts`].
    pub(crate) fn finish(
        self,
        numbers: &[(usize, i64)],
        texts: Vec<i64>,
    ) -> Result<DraftedRows, StoreError> {
        let mut path = self.known;
        path.extend(self.rest.into_iter().map(|item| Arc::new(StoredNode::of(item))));
        for (at, item) in self.restated {
            path[at] = Arc::new(StoredNode::of(item));
        }
        for &(at, number) in numbers {
            if let Some(node) = Arc::get_mut(&mut path[at]) {
                node.number = Some(number);
            }
        }
        let number_of = |at: usize| path.get(at).and_then(|node| node.number);
        let role_of = |at: usize| path.get(at).map(|node| node.role);
        let prompt = prompt_draft::number(self.prompt, number_of, role_of).ok_or_else(|| {
            let reason = "a message of the prompt has no number".to_owned();
            StoreError::Damaged { what: "the turn's draft".to_owned(), reason }
        })?;
        let Self { answers, library, injections, input, .. } = self;
        let body = TurnBody { answers, library, injections, prompt, input, texts };
        let body = body.to_bytes().map_err(|error| not_json(&error))?;
        Ok(DraftedRows { columns: self.columns, body, path: Arc::new(path) })
    }
}

/// A turn ready to be written.
#[derive(Debug)]
pub(crate) struct DraftedRows {
    pub(crate) columns: TurnColumns,
    /// The compressed body.
    pub(crate) body: Vec<u8>,
    /// The path, for the next commit.
    pub(crate) path: StoredPath,
}

fn columns(path: &Path, turn: &TurnRecord) -> Result<TurnColumns, StoreError> {
    let report = serde_json::to_vec(&turn.report).map_err(|error| not_json(&error))?;
    Ok(TurnColumns {
        at: turn.at,
        at_message: path.items().last().map(|item| item.id),
        generation: generation_number(turn.generation),
        created: turn.created,
        delta: delta_text(&turn.delta).map_err(|error| not_json(&error))?,
        report: pack(&report),
    })
}

/// How many first nodes are equal. Equal nodes have equal nodes before them.
fn common(items: &[PathItem], stored: &[Arc<StoredNode>]) -> usize {
    let (mut same, mut differ) = (0, items.len().min(stored.len()) + 1);
    while same + 1 < differ {
        let middle = usize::midpoint(same, differ);
        if items[middle - 1].prefix == stored[middle - 1].prefix {
            same = middle;
        } else {
            differ = middle;
        }
    }
    same
}
