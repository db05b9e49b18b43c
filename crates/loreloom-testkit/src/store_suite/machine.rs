//! Random chats: whatever a person does, in any order, all stores agree with the model.

use std::sync::Arc;

use loreloom_core::{
    chat::{GenerationType, Message, Path, Role, identity},
    ids::{ChatId, EntryId, TenantId},
    state::{StateDelta, TimedRecord},
    units::{MessageCount, Timestamp},
};
use loreloom_ports::{Store, TurnId};
use proptest::{prelude::Strategy, prop_oneof, sample::Index};

use super::{Checked, Opener, fixture, model::Model};

/// Something a person does in a chat.
#[derive(Clone, Debug)]
pub enum ChatAction {
    /// Says something and gets a reply.
    Send(u8),
    /// Says something; the reply never comes.
    Unanswered(u8),
    /// Asks for another reply to the last message of the user.
    Swipe(u8),
    /// Edits a message and keeps the later ones.
    Edit(Index, u8),
    /// Deletes a message.
    Delete(Index),
    /// Hides a message, or shows it again.
    Hide(Index),
    /// Asks for more of the last reply.
    Continue(u8),
    /// Goes back to a message and says something else.
    Branch(Index, u8),
    /// Goes back to the chat as it was after an earlier action.
    Return(Index),
    /// Takes another name.
    Rename(u8),
    /// The front end generates something in the background.
    Quiet,
    /// Undoes the last write.
    Undo,
    /// Redoes the last undone write.
    Redo,
    /// Restarts the program.
    Reopen,
}

/// Any action. Common ones are more likely.
pub fn any_action() -> impl Strategy<Value = ChatAction> {
    let index = || proptest::arbitrary::any::<Index>();
    prop_oneof![
        6 => (0..6_u8).prop_map(ChatAction::Send),
        1 => (0..6_u8).prop_map(ChatAction::Unanswered),
        3 => (0..6_u8).prop_map(ChatAction::Swipe),
        2 => (index(), 0..6_u8).prop_map(|(at, text)| ChatAction::Edit(at, text)),
        1 => index().prop_map(ChatAction::Delete),
        1 => index().prop_map(ChatAction::Hide),
        1 => (0..6_u8).prop_map(ChatAction::Continue),
        2 => (index(), 0..6_u8).prop_map(|(at, text)| ChatAction::Branch(at, text)),
        2 => index().prop_map(ChatAction::Return),
        1 => (0..3_u8).prop_map(ChatAction::Rename),
        1 => proptest::strategy::Just(ChatAction::Quiet),
        2 => proptest::strategy::Just(ChatAction::Undo),
        1 => proptest::strategy::Just(ChatAction::Redo),
        1 => proptest::strategy::Just(ChatAction::Reopen),
    ]
}

/// The chat in a front end: the messages it would send now, and those it sent before.
#[derive(Clone, Debug, Default)]
pub struct FrontEndChat {
    /// The messages.
    pub messages: Vec<Message>,
    /// The messages after each action.
    pub past: Vec<Vec<Message>>,
    persona: u8,
}

/// What an action asks of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A turn on the current messages, and perhaps a reply.
    Turn(GenerationType, Option<u8>),
    /// Nothing.
    Nothing,
    /// Undo the last write.
    Undo,
    /// Redo the last undone write.
    Redo,
    /// Open the store again.
    Reopen,
}

impl FrontEndChat {
    /// The path of the messages.
    pub fn path(&self, chat: &ChatId) -> Path {
        Path::of(chat.clone(), self.messages.iter().cloned())
    }

    /// The reply of that number.
    pub fn reply(text: u8) -> Message {
        Message::new(Role::Assistant, Some("Torvald"), format!("Reply {text}, told."))
    }

    /// Few texts, so that the same ones appear on several branches.
    fn user(&self, text: u8) -> Message {
        let name = ["Mira", "Ana", "Eve"][usize::from(self.persona % 3)];
        let text = format!("The user says {text}, at some length.");
        // One persona's front end puts the name into the text.
        let text = if self.persona == 2 { format!("{name}: {text}") } else { text };
        Message::new(Role::User, Some(name), text)
    }

    /// The front end sends the whole story with the new name, in the text or not.
    fn rename(&mut self) {
        let name = self.user(0).name.unwrap_or_default();
        for message in self.messages.iter_mut().filter(|said| said.role == Role::User) {
            let said = identity::without_speaker(&message.text, message.name.as_deref());
            let said = said.to_owned();
            message.text =
                if self.persona == 2 { format!("{name}: {said}").into() } else { said.into() };
            message.name = Some(name.clone());
        }
    }

    /// Changes the messages as `action` does.
    pub fn act(&mut self, action: &ChatAction) -> Step {
        use GenerationType::{Continue, Normal, Quiet, Regenerate, Swipe};
        match action {
            ChatAction::Send(text) | ChatAction::Unanswered(text) => {
                self.messages.push(self.user(*text));
                let answered = matches!(action, ChatAction::Send(_));
                Step::Turn(Normal, answered.then_some(*text))
            }
            ChatAction::Swipe(text) => {
                while self.messages.pop_if(|last| last.role == Role::Assistant).is_some() {}
                Step::Turn(Swipe, Some(*text))
            }
            ChatAction::Edit(at, text) => {
                if !self.messages.is_empty() {
                    let at = at.index(self.messages.len());
                    self.messages[at].text = format!("Edited to {text}, also at length.").into();
                }
                Step::Turn(Normal, Some(*text))
            }
            ChatAction::Delete(at) => {
                if !self.messages.is_empty() {
                    self.messages.remove(at.index(self.messages.len()));
                }
                Step::Turn(Normal, None)
            }
            ChatAction::Hide(at) => {
                if !self.messages.is_empty() {
                    let at = at.index(self.messages.len());
                    self.messages[at].hidden = !self.messages[at].hidden;
                }
                Step::Turn(Normal, None)
            }
            ChatAction::Continue(text) => Step::Turn(Continue, Some(*text)),
            ChatAction::Branch(at, text) => {
                self.messages.truncate(at.index(self.messages.len() + 1));
                self.messages.push(self.user(*text));
                Step::Turn(Normal, Some(text + 1))
            }
            ChatAction::Return(at) => {
                if !self.past.is_empty() {
                    self.messages.clone_from(&self.past[at.index(self.past.len())]);
                }
                Step::Turn(Regenerate, None)
            }
            ChatAction::Rename(persona) => {
                self.persona = *persona;
                self.rename();
                Step::Nothing
            }
            ChatAction::Quiet => Step::Turn(Quiet, None),
            ChatAction::Undo => Step::Undo,
            ChatAction::Redo => Step::Redo,
            ChatAction::Reopen => Step::Reopen,
        }
    }
}

struct Machine<'stores> {
    openers: &'stores [&'stores dyn Opener],
    stores: Vec<Arc<dyn Store>>,
    tenant: TenantId,
    model: Model,
    front_end: FrontEndChat,
    clock: i64,
}

/// Runs `actions` on all stores, and compares the stores with the model after each.
pub async fn run(openers: &[&dyn Opener], tenant: TenantId, actions: &[ChatAction]) -> Checked {
    let chat = ChatId::from("story");
    let mut stores = Vec::new();
    for opener in openers {
        let store = opener.open().await?;
        store.open_chat(&tenant, &chat, "Story", Timestamp(0)).await?;
        stores.push(store);
    }
    let mut machine = Machine {
        openers,
        stores,
        tenant,
        model: Model::new(chat, "Story", Timestamp(0)),
        front_end: FrontEndChat::default(),
        clock: 0,
    };
    for action in actions {
        machine.act(action).await?;
        machine.front_end.past.push(machine.front_end.messages.clone());
        machine.compare(&machine.path()).await?;
    }
    machine.compare_all().await
}

impl Machine<'_> {
    fn path(&self) -> Path {
        self.front_end.path(&self.model.chat.id)
    }

    async fn act(&mut self, action: &ChatAction) -> Checked {
        match self.front_end.act(action) {
            Step::Turn(generation, reply) => self.turn(generation, reply).await?,
            Step::Nothing => (),
            Step::Undo | Step::Redo => self.undo(action).await?,
            Step::Reopen => {
                self.stores.clear();
                for opener in self.openers {
                    self.stores.push(opener.open().await?);
                }
            }
        }
        Ok(())
    }

    async fn undo(&mut self, action: &ChatAction) -> Checked {
        self.clock += 1;
        let now = Timestamp(self.clock);
        let undo = matches!(action, ChatAction::Undo);
        let write = if undo { self.model.undo(now) } else { self.model.redo(now) };
        let Some(write) = write else { return Ok(()) };
        for store in &self.stores {
            let record = store.take_back(&self.tenant, &self.model.chat.id, write, now).await?;
            assert_eq!(record, self.model.chat);
        }
        Ok(())
    }

    /// A turn on the current path, and a reply to it.
    async fn turn(&mut self, generation: GenerationType, reply: Option<u8>) -> Checked {
        self.clock += 1;
        let path = self.path();
        let number = self.clock.unsigned_abs();
        let mut turn = fixture::lively_turn(&path, number % 5, 3);
        (turn.delta, turn.generation) = (self.delta(&path), generation);
        turn.created = Timestamp(self.clock);
        let seen = Some(self.model.chat.version);
        let expected = self.model.commit_turn(&path, &turn);
        for store in &self.stores {
            let stored = store.commit_turn(&self.tenant, &path, &turn, seen).await?;
            assert_eq!((stored.id, stored.write.0), (expected, self.model.chat.version));
        }
        if let Some(text) = reply {
            self.reply(expected, path, text).await?;
        }
        Ok(())
    }

    async fn reply(&mut self, turn: TurnId, mut path: Path, text: u8) -> Checked {
        let said = FrontEndChat::reply(text);
        path.push(said.clone());
        self.front_end.messages.push(said);
        let reply = fixture::reply(turn, &path, self.clock).ok_or("a reply")?;
        self.model.commit_reply(&reply);
        for store in &self.stores {
            store.commit_reply(&self.tenant, path.chat(), &reply).await?;
        }
        Ok(())
    }

    /// Sets, moves and removes effects of a few entries.
    fn delta(&self, path: &Path) -> StateDelta {
        let mut delta = StateDelta::default();
        let clock = u32::try_from(self.clock).unwrap_or(u32::MAX);
        let record = TimedRecord {
            fingerprint: Some(u64::from(clock)),
            start: MessageCount(clock),
            end: MessageCount(clock + 4),
            protected: clock % 2 == 0,
        };
        let entry = |number: u32| EntryId(format!("entry {}", number % 4));
        let length = u32::try_from(path.items().len()).unwrap_or(u32::MAX);
        if clock % 5 != 0 {
            delta.sticky.insert(entry(clock), Some(record));
            delta.cooldown.insert(entry(length), Some(record));
            delta.sticky.insert(entry(clock + 1), None);
        }
        delta
    }

    async fn compare(&self, path: &Path) -> Checked {
        let (tenant, chat) = (&self.tenant, &self.model.chat.id);
        let tip = self.model.chat.tip;
        for store in &self.stores {
            assert_eq!(store.chat(tenant, chat).await?.as_ref(), Some(&self.model.chat));
            assert_eq!(store.path(tenant, chat, tip).await?, self.model.path(tip));
            assert_eq!(store.state(tenant, path).await?, self.model.state(path));
        }
        Ok(())
    }

    async fn compare_all(&self) -> Checked {
        let (tenant, chat) = (&self.tenant, &self.model.chat.id);
        let mut nodes = self.model.nodes.clone();
        nodes.sort_by_key(|node| node.prefix);
        for store in &self.stores {
            let mut tree = store.tree(tenant, chat).await?;
            tree.sort_by_key(|node| node.prefix);
            assert_eq!(tree, nodes);
            assert_eq!(store.turns(tenant, chat).await?, self.model.summaries());
            for (id, (turn, ..)) in (1..).zip(&self.model.turns) {
                assert_eq!(store.turn(tenant, chat, TurnId(id)).await?.as_ref(), Some(turn));
            }
        }
        for messages in &self.front_end.past {
            let path = Path::of(chat.clone(), messages.iter().cloned());
            self.compare(&path).await?;
            // Other branches do not matter.
            if self.model.is_all_its_own(&path) {
                assert_eq!(self.model.state(&path), self.model.only(&path).state(&path));
            }
        }
        Ok(())
    }
}
