//! One chat in memory.

use std::convert::Infallible;

use loreloom_core::{
    chat::{GenerationType, Path},
    ids::{ChatId, MessageId, PrefixHash},
    state::StoryState,
    units::Timestamp,
};
use loreloom_ports::{
    ChatRecord, Node, Reply, StoreError, StoredTurn, TurnId, TurnRecord, WriteId, WriteKind,
    WriteRecord,
};
use rustc_hash::FxHashMap;

use crate::{
    checks,
    fold::{Candidate, Choice},
    undo::{self, LoggedWrite},
};

#[derive(Debug)]
pub(super) struct ChatInMemory {
    pub(super) chat: ChatRecord,
    pub(super) nodes: Vec<Node>,
    /// Indexes in `nodes`.
    places: FxHashMap<PrefixHash, usize>,
    pub(super) turns: Vec<TurnInMemory>,
    pub(super) writes: Vec<WriteRecord>,
    /// The mark of the last write.
    pub(super) changed: u64,
}

#[derive(Debug)]
pub(super) struct TurnInMemory {
    pub(super) record: TurnRecord,
    message: Option<MessageId>,
    pub(super) reply: Option<PrefixHash>,
    pub(super) undone: bool,
    pub(super) trimmed: bool,
}

impl ChatInMemory {
    pub(super) fn new(id: ChatId, title: &str, now: Timestamp) -> Self {
        let tip = PrefixHash::default();
        let title = title.to_owned();
        Self {
            chat: ChatRecord { id, title, tip, created: now, updated: now, version: 0 },
            nodes: Vec::new(),
            places: FxHashMap::default(),
            turns: Vec::new(),
            writes: Vec::new(),
            changed: 0,
        }
    }

    fn add(&mut self, node: Node) {
        if !self.places.contains_key(&node.prefix) {
            self.places.insert(node.prefix, self.nodes.len());
            self.nodes.push(node);
        }
    }

    fn add_path(&mut self, path: &Path) {
        let mut parent = PrefixHash::default();
        for item in path.items() {
            let message = item.message.clone();
            self.add(Node { prefix: item.prefix, parent, message_id: item.id, message });
            parent = item.prefix;
        }
    }

    pub(super) fn commit_path(
        &mut self,
        path: &Path,
        seen: Option<u64>,
        now: Timestamp,
    ) -> Result<ChatRecord, StoreError> {
        checks::version_was_seen(&self.chat, seen)?;
        self.add_path(path);
        Ok(self.finish(path.prefix(), LoggedWrite::new(WriteKind::Path), now))
    }

    /// Moves the tip and writes the log.
    fn finish(&mut self, tip: PrefixHash, logged: LoggedWrite, now: Timestamp) -> ChatRecord {
        self.chat.updated = now;
        self.chat.version += 1;
        let before = std::mem::replace(&mut self.chat.tip, tip);
        let LoggedWrite { kind, reply, undoes } = logged;
        let id = self.chat.last_write();
        self.writes.push(WriteRecord { id, kind, undoes, tip: before, reply, created: now });
        self.chat.clone()
    }

    fn node(&self, prefix: PrefixHash) -> Result<&Node, StoreError> {
        let place = self.places.get(&prefix);
        let node = place.and_then(|&place| self.nodes.get(place));
        node.ok_or_else(|| StoreError::NoNode { chat: self.chat.id.clone(), node: prefix })
    }

    pub(super) fn path(&self, tip: PrefixHash) -> Result<Vec<Node>, StoreError> {
        let mut nodes = Vec::new();
        let mut at = tip;
        while at != PrefixHash::default() {
            let node = self.node(at)?;
            at = node.parent;
            nodes.push(node.clone());
        }
        nodes.reverse();
        Ok(nodes)
    }

    pub(super) fn move_tip(
        &mut self,
        tip: PrefixHash,
        seen: Option<u64>,
        now: Timestamp,
    ) -> Result<ChatRecord, StoreError> {
        checks::version_was_seen(&self.chat, seen)?;
        if tip != PrefixHash::default() {
            self.node(tip)?;
        }
        Ok(self.finish(tip, LoggedWrite::new(WriteKind::Tip), now))
    }

    pub(super) fn undo(
        &mut self,
        write: WriteId,
        now: Timestamp,
    ) -> Result<ChatRecord, StoreError> {
        let plan = undo::plan(&self.chat.id, &self.writes, write)?;
        let (undone, mut logged, write) = (plan.undone, plan.logged(), plan.write.clone());
        match write.kind {
            WriteKind::Turn(turn) => {
                if let Some(turn) = self.turn_mut(turn) {
                    turn.undone = undone;
                }
            }
            WriteKind::Reply(turn) => {
                if let Some(turn) = self.turn_mut(turn) {
                    logged.reply = std::mem::replace(&mut turn.reply, write.reply);
                }
            }
            WriteKind::Path | WriteKind::Tip => (),
        }
        Ok(self.finish(write.tip, logged, now))
    }

    pub(super) fn commit_turn(
        &mut self,
        path: &Path,
        turn: &TurnRecord,
        seen: Option<u64>,
    ) -> Result<StoredTurn, StoreError> {
        checks::version_was_seen(&self.chat, seen)?;
        self.add_path(path);
        let message = path.items().last().map(|item| item.id);
        let record = turn.clone();
        self.turns.push(TurnInMemory {
            record,
            message,
            reply: None,
            undone: false,
            trimmed: false,
        });
        let id = TurnId(self.turns.len() as u64);
        let stays = turn.generation == GenerationType::Edit;
        let tip = if stays { self.chat.tip } else { turn.at };
        let chat = self.finish(tip, LoggedWrite::new(WriteKind::Turn(id)), turn.created);
        Ok(StoredTurn { id, write: chat.last_write() })
    }

    pub(super) fn turn(&self, turn: TurnId) -> Option<&TurnInMemory> {
        self.turns.get(place_of(turn)?)
    }

    fn turn_mut(&mut self, turn: TurnId) -> Option<&mut TurnInMemory> {
        self.turns.get_mut(place_of(turn)?)
    }

    pub(super) fn commit_reply(&mut self, reply: &Reply) -> Result<WriteId, StoreError> {
        let missing = || StoreError::NoTurn { chat: self.chat.id.clone(), turn: reply.turn };
        let place = place_of(reply.turn).filter(|&place| place < self.turns.len());
        let place = place.ok_or_else(missing)?;
        if reply.node.parent != PrefixHash::default() {
            self.node(reply.node.parent)?;
        }
        self.add(reply.node.clone());
        let before = self.turns[place].reply.replace(reply.node.prefix);
        let left = self.chat.tip == self.turns[place].record.at;
        let tip = if left { reply.node.prefix } else { self.chat.tip };
        let logged =
            LoggedWrite { reply: before, ..LoggedWrite::new(WriteKind::Reply(reply.turn)) };
        Ok(self.finish(tip, logged, reply.created).last_write())
    }

    pub(super) fn state(&self, path: &Path) -> StoryState {
        let mut choice = Choice::on(path);
        for turn in self.turns.iter().rev().filter(|turn| !turn.undone) {
            let generation = turn.record.generation;
            let candidate = Candidate { at: turn.record.at, message: turn.message, generation };
            let Ok(()) = choice.offer(candidate, || Ok::<_, Infallible>(&turn.record.delta));
        }
        let mut state = StoryState::default();
        choice.chosen().for_each(|delta| state.apply(delta));
        state
    }
}

fn place_of(turn: TurnId) -> Option<usize> {
    usize::try_from(turn.0).ok()?.checked_sub(1)
}
