//! A turn on its way into a database.
//!
//! Everything that needs no database is done first, outside the transaction: finding the
//! story in the prompt, packing the report, and leaving out the part of the path that the
//! last commit is known to have stored. What remains is a list of messages and texts to
//! look up or add; with their numbers the draft becomes a [`Body`].

use std::sync::Arc;

use loreloom_core::{
    chat::{GenerationType, Path, PathItem},
    ids::{MessageId, PrefixHash},
    units::Timestamp,
};
use loreloom_ports::{StoreError, TurnRecord};

use super::{
    Body, Kept, KeptPath, delta_text, generation_number,
    pack::pack,
    prompt::{self, Drafted, Texts},
    record::{StoredGiven, StoredInjection},
};

/// The columns of a turn that are stored as given.
#[derive(Debug)]
pub(crate) struct TurnColumns {
    /// The node it was computed on.
    pub(crate) at: PrefixHash,
    /// That node's message.
    pub(crate) at_message: Option<MessageId>,
    /// What was asked for.
    pub(crate) generation: i64,
    /// When.
    pub(crate) created: Timestamp,
    /// What it changed.
    pub(crate) delta: Option<String>,
    /// Why, packed.
    pub(crate) report: Vec<u8>,
}

impl TurnColumns {
    /// Where the chat's tip is after the turn, which was at `before`.
    pub(crate) fn tip_after(&self, before: PrefixHash) -> PrefixHash {
        let stays = self.generation == generation_number(GenerationType::Edit);
        if stays { before } else { self.at }
    }
}

/// A turn on its way into a database.
#[derive(Debug)]
pub(crate) struct Draft {
    /// Columns that are stored as given.
    pub(crate) columns: TurnColumns,
    /// The last node that is known to be stored; all zeros if none is.
    pub(crate) base: PrefixHash,
    /// The items after it.
    pub(crate) rest: Vec<PathItem>,
    /// Texts to look up or add.
    pub(crate) texts: Vec<String>,
    /// The known part of the path.
    known: Vec<Arc<Kept>>,
    /// Places of known items whose message must be looked up or added again, because the
    /// path now says it in other words than the last one did (another speaker prefix).
    restated: Vec<(usize, PathItem)>,
    /// Whether the prompt repeats the item of that place.
    wanted: Vec<bool>,
    answers: Option<MessageId>,
    library: loreloom_core::ids::LibraryVersion,
    injections: Vec<StoredInjection>,
    given: Option<StoredGiven>,
    prompt: Vec<Drafted>,
}

impl Draft {
    /// Drafts `turn` on `path`, of which `kept` was seen stored before.
    pub(crate) fn of(path: &Path, turn: &TurnRecord, kept: &KeptPath) -> Result<Self, StoreError> {
        let items = path.items();
        let known = common(items, kept);
        let mut texts = Texts::default();
        let injections = turn.injections.iter();
        let injections = injections.map(|one| StoredInjection::of(one, &mut texts)).collect();
        let given = turn.given.as_deref().map(|given| StoredGiven::of(given, &mut texts));
        let given = given.transpose().map_err(|error| not_json(&error))?;
        let prompt = prompt::draft(&turn.prompt, &turn.report.spans, items, &mut texts);
        let mut wanted = vec![false; items.len()];
        for item in prompt::items_of(&prompt) {
            wanted[item] = true;
        }
        let restated = (0..known)
            .filter(|&at| wanted[at] && !is_settled(&kept[at], &items[at]))
            .map(|at| (at, items[at].clone()))
            .collect();
        Ok(Self {
            columns: columns(path, turn)?,
            base: known.checked_sub(1).map_or_else(PrefixHash::default, |at| items[at].prefix),
            rest: items[known..].to_vec(),
            texts: texts.into_list(),
            known: kept[..known].to_vec(),
            restated,
            wanted,
            answers: turn.answers,
            library: turn.library,
            injections,
            given,
            prompt,
        })
    }

    /// Drafts the nodes of `path` alone: there is no turn to write.
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
            wanted: vec![false; path.items().len()],
            answers: None,
            library: loreloom_core::ids::LibraryVersion::default(),
            injections: Vec::new(),
            given: None,
            prompt: Vec::new(),
        }
    }

    /// The messages that need a number, by their place on the path: those of new nodes,
    /// which begin at `new`, and those that the prompt repeats.
    pub(crate) fn messages(&self, new: usize) -> Vec<(usize, &PathItem)> {
        let known = self.known.len();
        let restated = self.restated.iter().map(|(at, item)| (*at, item));
        let rest = self.rest.iter().enumerate().map(|(at, item)| (known + at, item));
        restated.chain(rest.filter(|(at, _)| *at >= new || self.wanted[*at])).collect()
    }

    /// How many items of the path are known to be stored.
    pub(crate) fn known(&self) -> usize {
        self.known.len()
    }

    /// The body, and what the next commit need not look up, once the messages asked for
    /// have the given `numbers` (by place) and the texts have `texts`.
    pub(crate) fn finish(
        self,
        numbers: &[(usize, i64)],
        texts: Vec<i64>,
    ) -> Result<Finished, StoreError> {
        let mut path = self.known;
        let rest = self.rest.into_iter().map(|item| Arc::new(kept(item, None)));
        path.extend(rest);
        for (at, item) in self.restated {
            path[at] = Arc::new(kept(item, None));
        }
        for &(at, number) in numbers {
            if let Some(kept) = Arc::get_mut(&mut path[at]) {
                kept.number = Some(number);
            }
        }
        let number_of = |at: usize| path.get(at).and_then(|kept| kept.number);
        let role_of = |at: usize| path.get(at).map(|kept: &Arc<Kept>| kept.role);
        let prompt = prompt::number(self.prompt, number_of, role_of).ok_or_else(|| {
            let reason = "a message of the prompt has no number".to_owned();
            StoreError::Damaged { what: "the turn's draft".to_owned(), reason }
        })?;
        let Self { answers, library, injections, given, .. } = self;
        let body = Body { answers, library, injections, prompt, given, texts };
        let body = body.to_bytes().map_err(|error| not_json(&error))?;
        Ok(Finished { columns: self.columns, body, path: Arc::new(path) })
    }
}

/// A turn ready to be written.
#[derive(Debug)]
pub(crate) struct Finished {
    /// Columns that are stored as given.
    pub(crate) columns: TurnColumns,
    /// The packed body.
    pub(crate) body: Vec<u8>,
    /// The path, all of it stored once the transaction is.
    pub(crate) path: KeptPath,
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

/// A value that has no JSON form.
pub(crate) fn not_json(error: &serde_json::Error) -> StoreError {
    StoreError::Contradiction {
        rule: "everything stored has a JSON form",
        found: error.to_string(),
    }
}

/// How many first items are the same nodes. Equal nodes have equal nodes before them.
fn common(items: &[PathItem], kept: &[Arc<Kept>]) -> usize {
    let (mut same, mut differ) = (0, items.len().min(kept.len()) + 1);
    while same + 1 < differ {
        let middle = usize::midpoint(same, differ);
        if items[middle - 1].prefix == kept[middle - 1].prefix {
            same = middle;
        } else {
            differ = middle;
        }
    }
    same
}

fn is_settled(kept: &Kept, item: &PathItem) -> bool {
    kept.number.is_some() && kept.says(&item.message)
}

fn kept(item: PathItem, number: Option<i64>) -> Kept {
    let PathItem { prefix, message, .. } = item;
    Kept { prefix, number, role: message.role, text: message.text }
}
