//! A store that is too simple to be wrong: lists, and linear search.

use loreloom_core::{
    chat::{GenerationType, Path},
    ids::{ChatId, PrefixHash},
    state::StoryState,
    units::Timestamp,
};
use loreloom_ports::{ChatRecord, Node, Reply, TurnId, TurnRecord, TurnSummary, WriteId};

/// One chat.
#[derive(Clone, Debug)]
pub struct Model {
    /// The chat.
    pub chat: ChatRecord,
    /// Its nodes, in order of writing.
    pub nodes: Vec<Node>,
    /// Its turns, each with the path it was computed on and the node of its reply.
    pub turns: Vec<(TurnRecord, Path, Option<PrefixHash>)>,
    /// Whether each turn is undone.
    undone: Vec<bool>,
    /// The values before each write that counts, and before each undo.
    done: Vec<Before>,
    taken_back: Vec<Before>,
}

/// The values that a write may change.
#[derive(Clone, Debug)]
struct Before {
    write: WriteId,
    tip: PrefixHash,
    turns: Vec<(Option<PrefixHash>, bool)>,
}

impl Model {
    /// An open chat.
    pub fn new(id: ChatId, title: &str, now: Timestamp) -> Self {
        let (tip, title) = (PrefixHash::default(), title.to_owned());
        let chat = ChatRecord { id, title, tip, created: now, updated: now, version: 0 };
        Self {
            chat,
            nodes: Vec::new(),
            turns: Vec::new(),
            undone: Vec::new(),
            done: Vec::new(),
            taken_back: Vec::new(),
        }
    }

    /// The values before the next write.
    fn now(&self) -> Before {
        let turns = self.turns.iter().zip(&self.undone);
        Before {
            write: WriteId(self.chat.version + 1),
            tip: self.chat.tip,
            turns: turns.map(|(turn, undone)| (turn.2, *undone)).collect(),
        }
    }

    fn begin(&mut self) {
        self.done.push(self.now());
        self.taken_back.clear();
    }

    fn go_back(&mut self, before: &Before, now: Timestamp) {
        for (at, turn) in self.turns.iter_mut().enumerate() {
            let (reply, undone) = before.turns.get(at).copied().unwrap_or((turn.2, true));
            (turn.2, self.undone[at]) = (reply, undone);
        }
        self.chat.tip = before.tip;
        self.chat.updated = now;
        self.chat.version += 1;
    }

    /// Undoes the last write that counts. Returns its id.
    pub fn undo(&mut self, now: Timestamp) -> Option<WriteId> {
        let before = self.done.pop()?;
        self.taken_back.push(self.now());
        self.go_back(&before, now);
        Some(before.write)
    }

    /// Redoes the last undone write. Returns the id of the undo.
    pub fn redo(&mut self, now: Timestamp) -> Option<WriteId> {
        let before = self.taken_back.pop()?;
        self.done.push(self.now());
        self.go_back(&before, now);
        Some(before.write)
    }

    /// Stores a turn.
    pub fn commit_turn(&mut self, path: &Path, turn: &TurnRecord) -> TurnId {
        self.begin();
        let mut parent = PrefixHash::default();
        for item in path.items() {
            let (prefix, message_id, message) = (item.prefix, item.id, item.message.clone());
            self.add(Node { prefix, parent, message_id, message });
            parent = prefix;
        }
        self.turns.push((turn.clone(), path.clone(), None));
        self.undone.push(false);
        if turn.generation != GenerationType::Edit {
            self.chat.tip = path.prefix();
        }
        self.chat.updated = turn.created;
        self.chat.version += 1;
        TurnId(self.turns.len() as u64)
    }

    /// Stores a reply.
    pub fn commit_reply(&mut self, reply: &Reply) {
        self.begin();
        self.add(reply.node.clone());
        let Some(turn) = (1_u64..).zip(&mut self.turns).find(|(id, _)| *id == reply.turn.0) else {
            return;
        };
        turn.1.2 = Some(reply.node.prefix);
        if self.chat.tip == turn.1.0.at {
            self.chat.tip = reply.node.prefix;
        }
        self.chat.updated = reply.created;
        self.chat.version += 1;
    }

    fn add(&mut self, node: Node) {
        if self.nodes.iter().all(|stored| stored.prefix != node.prefix) {
            self.nodes.push(node);
        }
    }

    /// The nodes to `tip`.
    pub fn path(&self, tip: PrefixHash) -> Vec<Node> {
        let Some(node) = self.nodes.iter().find(|node| node.prefix == tip) else {
            return Vec::new();
        };
        let mut path = self.path(node.parent);
        path.push(node.clone());
        path
    }

    /// The turn that counts for the path that ends in `path`'s item `end` (0: before the
    /// first), and whether it was computed on exactly that path.
    fn counting(&self, path: &Path, end: usize) -> Option<(&TurnRecord, bool)> {
        let turns = || self.turns.iter().zip(&self.undone).rev();
        let counts = |(turn, undone): &(&(TurnRecord, Path, _), &bool)| {
            !**undone && turn.0.generation != GenerationType::Quiet
        };
        let loud = || turns().filter(counts).map(|(turn, _)| turn);
        let item = end.checked_sub(1).map(|at| &path.items()[at]);
        let prefix = item.map_or_else(PrefixHash::default, |item| item.prefix);
        let exact = loud().find(|turn| turn.0.at == prefix).map(|turn| (&turn.0, true));
        exact.or_else(|| {
            let id = item?.id;
            let same = |turn: &&(TurnRecord, Path, _)| {
                turn.1.items().last().is_some_and(|last| last.id == id)
            };
            loud().find(same).map(|turn| (&turn.0, false))
        })
    }

    /// The state of a path.
    pub fn state(&self, path: &Path) -> StoryState {
        let mut state = StoryState::default();
        for end in 0..=path.items().len() {
            if let Some((turn, _)) = self.counting(path, end) {
                state.apply(&turn.delta);
            }
        }
        state
    }

    /// Whether every turn that counts for `path` was computed on it.
    pub fn is_all_its_own(&self, path: &Path) -> bool {
        let mut counting = (0..=path.items().len()).filter_map(|end| self.counting(path, end));
        counting.all(|(_, exact)| exact)
    }

    /// This chat without any other branch than `path`.
    #[must_use]
    pub fn only(&self, path: &Path) -> Self {
        let mut only = Self::new(self.chat.id.clone(), &self.chat.title, self.chat.created);
        let on_path = |at: PrefixHash| {
            at == PrefixHash::default() || path.items().iter().any(|item| item.prefix == at)
        };
        let counting = self.turns.iter().zip(&self.undone).filter(|(_, undone)| !**undone);
        for ((turn, path, _), _) in counting.filter(|(turn, _)| on_path(turn.0.at)) {
            only.commit_turn(path, turn);
        }
        only
    }

    /// The list of turns.
    pub fn summaries(&self) -> Vec<TurnSummary> {
        (1..)
            .zip(self.turns.iter().zip(&self.undone))
            .map(|(id, ((turn, _, reply), undone))| TurnSummary {
                id: TurnId(id),
                at: turn.at,
                generation: turn.generation,
                created: turn.created,
                reply: *reply,
                undone: *undone,
                trimmed: false,
            })
            .collect()
    }
}
