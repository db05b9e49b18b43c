//! Replays a story: every turn is decided again, with the same or other books.
//!
//! The story and its state grow message by message, so a chat of thousands of turns reads its
//! messages once. A turn sees the effects of turns on earlier messages, not of those on its own: a
//! second request for a reply to the same message gets the same answer.

mod accident;
mod compare;
mod timeline;

use rustc_hash::FxHashMap;

pub use self::{
    accident::accidental,
    compare::{TurnChange, compare},
    timeline::{Fired, TimelineCut, TurnLine},
};
use crate::{
    chat::{GenerationType, Message, Path, Role, Voices},
    engine::{self, Decision, EngineInput, decide},
    explain::{Case, Fix, explain},
    ids::{ChatId, EntryId},
    library::{ActiveEntries, Attachment, Library},
    report::Verdict,
    rules::Rules,
    state::{StateDelta, StoryState},
    tokens::TokenCounter,
    turn::{Instruments, Transcript, TurnCache, TurnInput},
};

/// What happens in a story.
#[derive(Clone, Debug, PartialEq)]
pub enum ReplayEvent {
    /// A message.
    Message(Message),
    /// A turn: the model is asked for a reply.
    Turn(Box<TurnInput>),
}

/// Books and rules to replay with.
#[derive(Clone, Copy)]
pub struct ReplayLore<'a> {
    /// The books.
    pub library: &'a Library,
    /// The entries that are active where a turn does not name its attachments.
    pub active: &'a ActiveEntries,
    /// The rules.
    pub rules: &'a Rules,
    /// The tokenizer.
    pub counter: &'a dyn TokenCounter,
}

/// A story during its replay.
pub struct Replay<'a> {
    lore: ReplayLore<'a>,
    cache: TurnCache,
    path: Path,
    /// The names of its speakers.
    voices: Voices,
    transcript: Transcript,
    /// The active entries of turns that name their attachments.
    active_sets: FxHashMap<Vec<Attachment>, ActiveEntries>,
    /// What turns on earlier messages left.
    settled: StoryState,
    /// What the last turn on the newest message leaves.
    here: StateDelta,
}

impl<'a> Replay<'a> {
    /// A replay without messages.
    pub fn new(chat: ChatId, lore: ReplayLore<'a>) -> Self {
        Self {
            cache: TurnCache::default(),
            path: Path::new(chat),
            voices: Voices::default(),
            active_sets: FxHashMap::default(),
            transcript: transcript(&lore),
            settled: StoryState::default(),
            here: StateDelta::default(),
            lore,
        }
    }

    /// Goes on with a message.
    pub fn say(&mut self, message: Message) {
        self.settled.apply(&std::mem::take(&mut self.here));
        self.voices.push(&message);
        self.transcript.add(&message);
        self.path.push(message);
    }

    /// Decides a turn on the story so far.
    pub fn ask(&mut self, input: &TurnInput) -> Decision {
        self.tell_as(&input.voices);
        let ReplayLore { library, rules, counter, .. } = self.lore;
        let active = match &input.attachments {
            Some(attachments) => self
                .active_sets
                .entry(attachments.clone())
                .or_insert_with(|| input.active_entries(library, rules)),
            None => self.lore.active,
        };
        let turn = input.turn(&self.path, &self.transcript);
        let mut dice = turn.dice();
        let mut instruments = Instruments { counter, dice: &mut dice, cache: &mut self.cache };
        let woven = decide(
            &EngineInput { library, active, turn: &turn, state: &self.settled, rules },
            &mut instruments,
        );
        if input.generation != GenerationType::Quiet {
            self.here = woven.delta.clone();
        }
        woven
    }

    /// The same, with a verdict for every entry, those that nothing touched too.
    pub fn ask_for_all(&mut self, input: &TurnInput) -> (Decision, Vec<Verdict>) {
        let woven = self.ask(input);
        let ReplayLore { library, rules, counter, .. } = self.lore;
        let attached = input.attachments.as_ref().and_then(|these| self.active_sets.get(these));
        let active = attached.unwrap_or(self.lore.active);
        let turn = input.turn(&self.path, &self.transcript);
        let mut dice = turn.dice();
        let mut instruments = Instruments { counter, dice: &mut dice, cache: &mut self.cache };
        let verdicts = engine::verdicts(
            &woven.report,
            &EngineInput { library, active, turn: &turn, state: &self.settled, rules },
            &mut instruments,
        );
        (woven, verdicts)
    }

    /// Tells the story under the names that a turn saw: a front end may have sent others
    /// than it was stored with.
    fn tell_as(&mut self, voices: &Voices) {
        if voices.is_empty() || *voices == self.voices {
            return;
        }
        if let Some(first) = self.path.retell(voices) {
            self.transcript.retell(&self.path, first);
            self.voices = Voices::of(&self.path);
        }
    }

    /// The smallest change that would make an entry fire on the turn of `input`; `None` if it
    /// fires already or no small change helps.
    pub fn explain(&self, input: &TurnInput, entry: &EntryId) -> Option<Fix> {
        let ReplayLore { library, active, rules, counter } = self.lore;
        let attached = input.attachments.as_ref().and_then(|these| self.active_sets.get(these));
        let turn = input.turn(&self.path, &self.transcript);
        let case = Case {
            library,
            active: attached.unwrap_or(active),
            turn: &turn,
            state: &self.settled,
            rules,
            counter,
            dice: &turn.dice(),
        };
        explain(&case, entry)
    }

    /// Goes on from a stored state.
    pub fn set_state(&mut self, state: StoryState) {
        self.settled = state;
        self.here = StateDelta::default();
    }

    /// The story so far.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The state after the last turn.
    pub fn state(&self) -> StoryState {
        let mut state = self.settled.clone();
        state.apply(&self.here);
        state
    }

    /// Tells all of `events`: a line for every turn.
    pub fn run(&mut self, events: impl IntoIterator<Item = ReplayEvent>) -> Vec<TurnLine> {
        let mut lines = Vec::new();
        for event in events {
            match event {
                ReplayEvent::Message(message) => self.say(message),
                ReplayEvent::Turn(input) => {
                    let woven = self.ask(&input);
                    let mut line = TurnLine::of(self.path.items().len(), &woven);
                    let near = self.lore.rules.world_info.vectors.threshold;
                    line.forget_hits_of(input.near.iter().filter(|one| one.score >= near));
                    lines.push(line);
                }
            }
        }
        lines
    }
}

fn transcript(lore: &ReplayLore<'_>) -> Transcript {
    let transcript = Transcript::new(lore.rules.world_info.include_names);
    if lore.library.vault().is_some() { transcript.for_vaults() } else { transcript }
}

/// Where the model must have been asked in a chat of which only the messages are known:
/// before every message of its own except an opening, and after the last one if that is
/// the user's. `input` makes the turn's input from the number of messages so far and the speaker.
pub fn events(
    messages: impl IntoIterator<Item = Message>,
    mut input: impl FnMut(usize, Option<&str>) -> TurnInput,
) -> Vec<ReplayEvent> {
    let mut events = Vec::new();
    let (mut said, mut waiting) = (0, false);
    for message in messages {
        if message.role == Role::Assistant && !message.is_narration() && said > 0 {
            events.push(ReplayEvent::Turn(Box::new(input(said, message.name.as_deref()))));
        }
        waiting = message.role == Role::User;
        events.push(ReplayEvent::Message(message));
        said += 1;
    }
    if waiting {
        events.push(ReplayEvent::Turn(Box::new(input(said, None))));
    }
    events
}

#[cfg(test)]
mod tests;
