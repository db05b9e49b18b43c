//! Random stories, decided by the engine over a store, as in a server.
//!
//! The entries have timed effects, and keys that the stories of [`machine`](super::machine)
//! contain: effects start, end, and are lost by edits.

#![expect(clippy::missing_panics_doc, reason = "a check asserts what it checks")]

use std::sync::Arc;

use loreloom_core::{
    book::{Book, Entry, Key},
    chat::{GenerationType, Message, Path, Role, Voices},
    engine::{Decision, EngineInput, decide},
    ids::{ChatId, TenantId},
    library::{ActiveEntries, Library, LibrarySource},
    prompt::PromptMessage,
    rules::{Profile, Rules},
    state::StoryState,
    tokens::ByteEstimate,
    turn::{Instruments, Speaker, Transcript, Turn, TurnCache, TurnInput},
    units::{Timestamp, Tokens},
};
use loreloom_ports::history::travel::{Revisited, revisit};
use loreloom_ports::{StoryStore, TurnId, TurnRecord};

use super::{
    Checked, Failure, Opener, fixture,
    machine::{ChatAction, FrontEndChat, Step},
};

/// A chat whose turns the engine decides, over a store.
pub struct EngineStory {
    /// The store.
    pub store: Arc<dyn StoryStore>,
    /// The tenant.
    pub tenant: TenantId,
    /// The chat.
    pub chat: ChatId,
    library: Library,
    active: ActiveEntries,
    rules: Rules,
    clock: i64,
}

impl EngineStory {
    /// An empty chat.
    pub async fn new(opener: &dyn Opener, tenant: TenantId, book: Book) -> Result<Self, Failure> {
        let (store, chat) = (opener.open().await?, ChatId::from("live"));
        store.open_chat(&tenant, &chat, "Live", Timestamp(0)).await?;
        let rules = Profile::Loreloom.rules();
        let library = Library::under([Arc::new(book)], &rules);
        let kept = LibrarySource::world_info(library.books().to_vec(), rules.clone());
        store.keep_library(&tenant, library.version(), &kept).await?;
        let active = ActiveEntries::all(&library, rules.world_info.strategy);
        Ok(Self { store, tenant, chat, library, active, rules, clock: 0 })
    }

    /// The state before a turn on `path`.
    pub async fn state_before(&self, path: &Path) -> Result<StoryState, Failure> {
        let Some((_, before)) = path.items().split_last() else {
            return Ok(StoryState::default());
        };
        let before = before.iter().map(|item| item.message.clone());
        let before = Path::of(self.chat.clone(), before);
        Ok(self.store.state(&self.tenant, &before).await?)
    }

    /// Decides and stores a turn.
    pub async fn ask(
        &mut self,
        path: &Path,
        generation: GenerationType,
    ) -> Result<(TurnId, Decision), Failure> {
        self.clock += 1;
        let speaker = Speaker { name: "Torvald".to_owned(), ..Speaker::default() };
        let user = path.items().iter().rev().find(|item| item.message.role == Role::User);
        let user = user.and_then(|item| item.message.name.as_deref()).unwrap_or("nobody");
        let transcript = Transcript::of(path, self.rules.world_info.include_names);
        let input = TurnInput {
            generation,
            speaker: Some(speaker),
            user: user.to_owned(),
            context: Tokens(400),
            seed: 7,
            at: Some(Timestamp(self.clock)),
            dry_run: generation == GenerationType::Quiet,
            voices: Voices::of(path),
            ..TurnInput::default()
        };
        let turn = input.turn(path, &transcript);
        let decision = self.decide(&turn, &self.state_before(path).await?);
        let record = TurnRecord {
            chat: self.chat.clone(),
            at: path.prefix(),
            answers: path.last_user(),
            generation,
            library: self.library.version(),
            delta: decision.delta.clone(),
            injections: decision.injections.clone(),
            prompt: Vec::<PromptMessage>::new(),
            report: decision.report.clone(),
            created: Timestamp(self.clock),
            input: Some(Box::new(input)),
        };
        let stored = self.store.commit_turn(&self.tenant, path, &record, None).await?;
        Ok((stored.id, decision))
    }

    fn decide(&self, turn: &Turn<'_>, state: &StoryState) -> Decision {
        let mut dice = turn.dice();
        let mut cache = TurnCache::default();
        let mut instruments =
            Instruments { counter: &ByteEstimate, dice: &mut dice, cache: &mut cache };
        decide(
            &EngineInput {
                library: &self.library,
                active: &self.active,
                turn,
                state,
                rules: &self.rules,
            },
            &mut instruments,
        )
    }

    /// Stores a reply.
    pub async fn reply(&self, turn: TurnId, path: &Path, said: Message) -> Checked {
        let mut longer = path.clone();
        longer.push(said);
        let reply = fixture::reply(turn, &longer, self.clock).ok_or("a reply")?;
        self.store.commit_reply(&self.tenant, &self.chat, &reply).await?;
        Ok(())
    }

    /// Undoes the last write that counts, if there is one.
    pub async fn undo(&self) -> Checked {
        let log = self.store.writes(&self.tenant, &self.chat).await?;
        if let Some(last) = loreloom_store::counting(&log).last() {
            self.store.take_back(&self.tenant, &self.chat, *last, Timestamp(self.clock)).await?;
        }
        Ok(())
    }

    /// Every stored turn is decided again to the same result, whatever came after it.
    pub async fn every_turn_is_reproduced(&self) -> Checked {
        for summary in self.store.turns(&self.tenant, &self.chat).await? {
            let past = revisit(&*self.store, &self.tenant, &self.chat, summary.id).await?;
            let Revisited { record, path, state } = past;
            let input = record.input.as_deref().ok_or("no input")?;
            let transcript = Transcript::of(&path, self.rules.world_info.include_names);
            let turn = input.turn(&path, &transcript);
            let again = self.decide(&turn, &state);
            assert_eq!(again.injections, record.injections, "turn {}", summary.id.0);
            assert_eq!(again.delta, record.delta, "turn {}", summary.id.0);
            assert_eq!(again.report, record.report, "turn {}", summary.id.0);
        }
        Ok(())
    }

    /// The state of a path.
    pub async fn state(&self, path: &Path) -> Result<StoryState, Failure> {
        Ok(self.store.state(&self.tenant, path).await?)
    }
}

/// A book with keys that random stories contain.
pub fn book() -> Book {
    let mut book = Book::new("live", "Live");
    for number in 0..6_u32 {
        let mut user = entry(&format!("live/u{number}"), &format!("says {number}"));
        user.activation.timed.sticky = (number % 2 == 0).then_some(number + 2);
        user.activation.timed.cooldown = (number % 3 == 0).then_some(3);
        let mut reply = entry(&format!("live/r{number}"), &format!("Reply {number}"));
        reply.activation.timed.delay = (number == 1).then_some(4);
        reply.activation.probability = (number > 3).then_some(50.0);
        let mut edited = entry(&format!("live/e{number}"), &format!("Edited to {number}"));
        edited.activation.timed.sticky = Some(30);
        book.entries.extend([user, reply, edited]);
    }
    book.entries.push(entry("live/name", "Ana"));
    book
}

/// An entry with one key.
pub fn entry(id: &str, key: &str) -> Entry {
    let mut entry = Entry::new(id);
    entry.activation.keys = vec![Key::parse(key)];
    entry.content = format!("What {id} knows of {{{{user}}}}.");
    entry
}

/// Runs a random story and checks every turn.
pub async fn run(opener: &dyn Opener, tenant: TenantId, actions: &[ChatAction]) -> Checked {
    let mut story = EngineStory::new(opener, tenant, book()).await?;
    let mut front_end = FrontEndChat::default();
    for action in actions {
        match front_end.act(action) {
            Step::Turn(generation, reply) => {
                let path = front_end.path(&story.chat);
                let (turn, first) = story.ask(&path, generation).await?;
                if generation != GenerationType::Quiet {
                    asked_again(&mut story, &path, &first).await?;
                }
                if let Some(text) = reply {
                    story.reply(turn, &path, FrontEndChat::reply(text)).await?;
                    front_end.messages.push(FrontEndChat::reply(text));
                }
            }
            // A new name removes nothing.
            Step::Nothing => {
                let before = front_end.past.last().cloned().unwrap_or_default();
                let before = Path::of(story.chat.clone(), before);
                assert_eq!(
                    story.state(&before).await?,
                    story.state(&front_end.path(&story.chat)).await?
                );
            }
            Step::Undo | Step::Redo => story.undo().await?,
            Step::Reopen => story.store = opener.open().await?,
        }
        front_end.past.push(front_end.messages.clone());
    }
    story.every_turn_is_reproduced().await
}

/// A swipe gets the same lore, and leaves the same state.
async fn asked_again(story: &mut EngineStory, path: &Path, first: &Decision) -> Checked {
    let state = story.state(path).await?;
    let (_, again) = story.ask(path, GenerationType::Swipe).await?;
    assert_eq!(again.injections, first.injections);
    assert_eq!(again.delta, first.delta);
    assert_eq!(story.state(path).await?, state);
    Ok(())
}
