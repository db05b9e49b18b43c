//! The graph of lore: links and rules between notes, texts that mention another entry's key,
//! entries that fire at the same turns, and the entities of memory.
//!
//! Every request builds it: one pass finds all plain keys in all texts, and nothing must be kept
//! in step with the books.

mod communities;
mod picture;
mod places;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use loreloom_core::{
    book::Key,
    dialects::vault::Relations,
    ids::EntryId,
    rules::Rules,
    scan::{Folding, LiteralIndex, PatternId},
};
use loreloom_memory::record::{Entity, Pair, Relationships};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::catalog::{Fires, FiresBy, Row, Subject};

/// What two things have to do with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", schema(as = GraphLayer))]
pub(crate) enum Layer {
    /// A note links to another.
    Link,
    /// A text holds a plain key of another entry: what recursion follows.
    Mention,
    /// A note requires, excludes or brings in another.
    Rule,
    /// Both were woven in at the same turns.
    Together,
    /// Memory ties them: people and things, and the entries that are about them.
    Entity,
}

impl Layer {
    /// All layers.
    pub(crate) const ALL: [Self; 5] =
        [Self::Link, Self::Mention, Self::Rule, Self::Together, Self::Entity];

    /// The layer of that name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "link" => Self::Link,
            "mention" => Self::Mention,
            "rule" => Self::Rule,
            "together" => Self::Together,
            "entity" => Self::Entity,
            _ => return None,
        })
    }
}

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", schema(as = GraphNodeKind))]
pub(crate) enum NodeKind {
    /// An entry of a lorebook.
    Entry,
    /// A note of a vault.
    Note,
    /// Somebody or something that memory knows.
    Entity,
}

/// A thing of the graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", schema(as = GraphNode))]
pub(crate) struct GraphNode {
    /// The entry's id; of an entity `entity:` and its name.
    pub(crate) id: String,
    /// What it is.
    pub(crate) kind: NodeKind,
    /// What people call it.
    pub(crate) title: String,
    /// Its book or vault; none for entities.
    pub(crate) book: Option<String>,
    /// At how many turns it fired.
    pub(crate) fired: u64,
    /// With how many others it has to do, over the layers that were asked for.
    pub(crate) degree: usize,
    /// The id of the best tied node of its community: those that are tied among themselves
    /// more than to others.
    pub(crate) community: String,
    /// Its position to the right of the centre. Nodes are about 60 apart.
    pub(crate) x: i32,
    /// Its position below the centre.
    pub(crate) y: i32,
}

impl GraphNode {
    /// A node that nothing is known of but what it is.
    fn new(id: String, kind: NodeKind, title: &str) -> Self {
        Self {
            community: id.clone(),
            id,
            kind,
            title: title.to_owned(),
            book: None,
            fired: 0,
            degree: 0,
            x: 0,
            y: 0,
        }
    }
}

/// Two things that have to do with each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", schema(as = GraphEdge))]
pub(crate) struct Edge {
    /// The id of the first.
    pub(crate) from: String,
    /// The id of the second.
    pub(crate) to: String,
    /// What ties them.
    pub(crate) layer: Layer,
    /// How often: turns, keys or memories.
    pub(crate) weight: u64,
    /// The word for it: a key, a rule's name, a feeling.
    pub(crate) word: Option<String>,
}

/// The part of a graph that is looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GraphPart {
    pub(crate) nodes: Vec<GraphNode>,
    pub(crate) edges: Vec<Edge>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Tie {
    weight: u64,
    word: Option<String>,
}

/// All nodes, and what ties them.
#[derive(Default)]
pub(crate) struct Graph {
    nodes: Vec<GraphNode>,
    at: FxHashMap<String, usize>,
    ties: BTreeMap<(usize, usize, Layer), Tie>,
}

impl Graph {
    /// The entries and notes of all lore, without ties.
    pub(crate) fn of(rows: &[Row<'_>], fires: impl Fn(&EntryId) -> Fires) -> Self {
        let mut graph = Self::default();
        for row in rows {
            let kind = if row.is_note() { NodeKind::Note } else { NodeKind::Entry };
            graph.add(GraphNode {
                book: Some(row.book.to_owned()),
                fired: fires(row.id).fired,
                ..GraphNode::new(row.id.to_string(), kind, row.title())
            });
        }
        graph
    }

    fn add(&mut self, node: GraphNode) -> usize {
        if let Some(at) = self.at.get(&node.id) {
            return *at;
        }
        self.at.insert(node.id.clone(), self.nodes.len());
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    fn tie(&mut self, from: usize, to: usize, layer: Layer, word: Option<&str>) {
        if from == to {
            return;
        }
        let tie = self.ties.entry((from, to, layer)).or_default();
        tie.weight += 1;
        if tie.word.is_none() {
            tie.word = word.map(str::to_owned);
        }
    }

    /// Ties notes by their links.
    pub(crate) fn tie_links(&mut self, rows: &[Row<'_>]) {
        self.tie_notes(rows, |relations| {
            relations
                .resolved_links
                .iter()
                .map(|title| (Layer::Link, title.as_str(), None))
                .collect()
        });
    }

    /// Ties notes by what they require, exclude and bring in.
    pub(crate) fn tie_rules(&mut self, rows: &[Row<'_>]) {
        self.tie_notes(rows, |relations| {
            let requires = relations.requires.iter().map(|title| (title, "requires"));
            let excludes = relations.excludes.iter().map(|title| (title, "excludes"));
            let cascade = relations.cascade.iter().map(|title| (title, "cascade"));
            let all = requires.chain(excludes).chain(cascade);
            all.map(|(title, word)| (Layer::Rule, title.as_str(), Some(word))).collect()
        });
    }

    fn tie_notes(
        &mut self,
        rows: &[Row<'_>],
        of: impl Fn(&Relations) -> Vec<(Layer, &str, Option<&'static str>)>,
    ) {
        let notes = || {
            rows.iter().filter_map(|row| match row.subject {
                Subject::Note(note) => Some((row.at, note)),
                Subject::Entry { .. } => None,
            })
        };
        let titles: FxHashMap<String, usize> =
            notes().map(|(at, note)| (note.title.to_lowercase(), at)).collect();
        for (at, note) in notes() {
            for (layer, title, word) in of(&note.relations) {
                if let Some(other) = titles.get(&title.to_lowercase()) {
                    self.tie(at, *other, layer, word);
                }
            }
        }
    }

    /// Ties each text to the entries whose plain keys it holds, by their own matching modes.
    pub(crate) fn tie_mentions(&mut self, rows: &[Row<'_>], rules: &Rules) {
        let keys: Vec<PlainKey<'_>> = rows.iter().flat_map(|row| plain_keys(row, rules)).collect();
        let folded: Vec<String> =
            keys.iter().map(|key| key.folding.apply(key.raw).into_owned()).collect();
        for folding in [Folding::Exact, Folding::Lower] {
            let mine = |at: &usize| keys[*at].folding == folding;
            let chosen: Vec<usize> = (0..keys.len()).filter(mine).collect();
            let index = LiteralIndex::build(chosen.iter().map(|at| folded[*at].as_str()));
            let mut of: FxHashMap<PatternId, Vec<usize>> = FxHashMap::default();
            for at in chosen {
                if let Some(pattern) = index.get(&folded[at]) {
                    of.entry(pattern).or_default().push(at);
                }
            }
            for row in rows {
                let text = folding.pad(row.content());
                let mut found: BTreeSet<usize> = BTreeSet::new();
                index.scan(&text, |pattern, start, end| {
                    let is_word = || rules.world_info.words.is_word(text.as_str(), start, end);
                    let hit = of.get(&pattern).into_iter().flatten();
                    found.extend(hit.filter(|at| !keys[**at].whole_words || is_word()));
                });
                for at in found {
                    self.tie(row.at, keys[at].of, Layer::Mention, Some(keys[at].raw));
                }
            }
        }
    }

    /// Ties entries that were woven in at one turn. What is always in says nothing by being
    /// there.
    pub(crate) fn tie_together(&mut self, rows: &[Row<'_>], woven: &[EntryId]) {
        let moves = |at: &usize| rows[*at].fires_by() != FiresBy::Constant;
        let found = woven.iter().filter_map(|id| self.at.get(id.as_str()).copied());
        let found: BTreeSet<usize> = found.filter(|at| *at < rows.len()).filter(moves).collect();
        for from in &found {
            for to in found.range(from + 1..) {
                self.tie(*from, *to, Layer::Together, None);
            }
        }
    }

    /// Adds people and things, with the entries that are about them and what they feel.
    /// Gives the names that no entry is about.
    pub(crate) fn tie_entities(
        &mut self,
        rows: &[Row<'_>],
        entities: &[&Entity],
        relationships: &Relationships,
    ) -> Vec<String> {
        let mut about: FxHashMap<String, Vec<usize>> = FxHashMap::default();
        for row in rows {
            let names = std::iter::once(row.title()).chain(row.keys());
            for name in names.map(str::to_lowercase).collect::<BTreeSet<_>>() {
                about.entry(name).or_default().push(row.at);
            }
        }
        let mut gaps = Vec::new();
        for entity in entities {
            let at = self.entity(&entity.name);
            let names = entity.names().map(str::to_lowercase);
            let known: BTreeSet<usize> =
                names.filter_map(|name| about.get(&name)).flatten().copied().collect();
            if known.is_empty() {
                gaps.push(entity.name.clone());
            }
            for row in known {
                self.tie(at, row, Layer::Entity, None);
            }
        }
        self.tie_memories(entities);
        for (key, relationship) in relationships.iter() {
            let Some(Pair { subject, target }) = Pair::of_key(key) else { continue };
            let (from, to) = (self.entity(subject), self.entity(target));
            let word = relationship.descriptors.last().map(|feeling| feeling.word.as_str());
            self.tie(from, to, Layer::Entity, word);
        }
        gaps
    }

    /// Ties entities that one memory names.
    fn tie_memories(&mut self, entities: &[&Entity]) {
        for (at, one) in entities.iter().enumerate() {
            for other in &entities[at + 1..] {
                let shared = one.memory_ids.iter().filter(|id| other.memory_ids.contains(id));
                let (from, to) = (self.entity(&one.name), self.entity(&other.name));
                for _ in shared {
                    self.tie(from, to, Layer::Entity, None);
                }
            }
        }
    }

    fn entity(&mut self, name: &str) -> usize {
        self.add(GraphNode::new(format!("entity:{}", name.to_lowercase()), NodeKind::Entity, name))
    }

    /// Whether there is a node of that id.
    pub(crate) fn has(&self, id: &str) -> bool {
        self.at.contains_key(id)
    }

    /// How many nodes there are.
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The nodes around one, up to so many steps away; without one, those with the most ties.
    /// At most `limit`, near ones and those with many ties first.
    pub(crate) fn view(mut self, focus: Option<&str>, depth: usize, limit: usize) -> GraphPart {
        let mut near: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); self.nodes.len()];
        for (from, to, _) in self.ties.keys() {
            near[*from].insert(*to);
            near[*to].insert(*from);
        }
        for (node, near) in self.nodes.iter_mut().zip(&near) {
            node.degree = near.len();
        }
        let strengths = self.strengths();
        self.name_communities(&strengths);
        let distances = match focus.and_then(|id| self.at.get(id)) {
            Some(start) => distances(&near, *start, depth),
            None => (0..self.nodes.len()).map(|at| (at, 0)).collect(),
        };
        let mut shown: Vec<usize> = distances.keys().copied().collect();
        shown.sort_by_key(|at| (distances[at], std::cmp::Reverse(self.nodes[*at].degree), *at));
        shown.truncate(limit);
        let is_focused = focus.is_some_and(|id| self.at.contains_key(id));
        let steps = is_focused.then(|| shown.iter().map(|at| distances[at]).collect::<Vec<_>>());
        self.put_in_place(&shown, steps.as_deref(), &strengths);
        let is_shown: BTreeSet<usize> = shown.iter().copied().collect();
        let ties = self.ties.into_iter();
        let ties =
            ties.filter(|((from, to, _), _)| is_shown.contains(from) && is_shown.contains(to));
        let edges = ties.map(|((from, to, layer), Tie { weight, word })| Edge {
            from: self.nodes[from].id.clone(),
            to: self.nodes[to].id.clone(),
            layer,
            weight,
            word,
        });
        GraphPart {
            edges: edges.collect(),
            nodes: shown.iter().map(|at| self.nodes[*at].clone()).collect(),
        }
    }
}

/// Steps from one node to those it can reach.
fn distances(near: &[BTreeSet<usize>], start: usize, depth: usize) -> BTreeMap<usize, usize> {
    let mut steps = BTreeMap::from([(start, 0)]);
    let mut open = VecDeque::from([start]);
    while let Some(at) = open.pop_front() {
        let next = steps[&at] + 1;
        if next > depth {
            continue;
        }
        for other in &near[at] {
            if !steps.contains_key(other) {
                steps.insert(*other, next);
                open.push_back(*other);
            }
        }
    }
    steps
}

/// A key that is plain text.
struct PlainKey<'lore> {
    raw: &'lore str,
    of: usize,
    folding: Folding,
    whole_words: bool,
}

fn plain_keys<'lore>(row: &Row<'lore>, rules: &Rules) -> Vec<PlainKey<'lore>> {
    let world = &rules.world_info;
    let (raw, exact, whole): (Vec<&str>, bool, bool) = match row.subject {
        Subject::Entry { entry, .. } => {
            let activation = &entry.activation;
            let plain = activation.keys.iter().filter(|key| matches!(key, Key::Literal(_)));
            let exact = activation.case_sensitive.unwrap_or(world.case_sensitive);
            let whole = activation.whole_words.unwrap_or(world.match_whole_words);
            (plain.map(Key::raw).collect(), exact, whole)
        }
        Subject::Note(note) => {
            let keys = note.keys.iter().map(String::as_str);
            (keys.filter(|key| !key.starts_with('/')).collect(), false, true)
        }
    };
    let folding = if exact { Folding::Exact } else { Folding::Lower };
    // A key with a macro is known only when a turn is.
    let raw = raw.into_iter().map(str::trim).filter(|key| !key.is_empty() && !key.contains("{{"));
    raw.map(|raw| PlainKey { raw, of: row.at, folding, whole_words: whole }).collect()
}
