//! Chats that are run through the engine: stored ones and files.

use std::path::{Path as FilePath, PathBuf};

use anyhow::Context as _;
use clap::Args;
use loreloom_core::{
    chat::{GenerationType, Message, Role},
    given::{Asked, Given},
    ids::{ChatId, TenantId},
    library::{Library, Roster, Shelf},
    replay::{Event, Loom, Replay, TurnLine, events},
    rules::Rules,
    tokens::TokenCounter,
    turn::Speaker,
    units::Tokens,
};
use loreloom_formats::{Limits, chat::import_chat};
use loreloom_memory::ports::{StoryStore, TurnRecord, TurnSummary};

use super::serve::runtime;
use crate::{files, store::StoreArguments, stored::StoredChat};

/// Which chats are run, and how the model is asked where a chat does not say it.
#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// Ids of stored chats, or chat files
    #[arg(value_name = "CHAT", required = true)]
    chats: Vec<String>,

    #[command(flatten)]
    store: StoreArguments,

    /// The user's name, where the chat does not say it
    #[arg(long, default_value = "User", value_name = "NAME")]
    user: String,

    /// The character's name, where the chat does not say it
    #[arg(long = "char", value_name = "NAME")]
    character: Option<String>,

    /// The model's context size, where the chat does not say it
    #[arg(long, default_value_t = 8192, value_name = "TOKENS")]
    context: u32,

    /// The seed of all rolls, where the chat does not say it
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

/// A chat to be run.
pub(super) struct Run {
    /// Its id, or its file.
    pub(super) name: String,
    id: ChatId,
    events: Vec<Event>,
    /// The books of its last turn, where they were kept.
    pub(super) library: Option<Shelf>,
}

impl RunArguments {
    /// Reads all chats.
    pub(super) fn read(&self) -> anyhow::Result<Vec<Run>> {
        let runtime = runtime()?;
        let mut store = None;
        let mut runs = Vec::new();
        for name in &self.chats {
            let file = PathBuf::from(name);
            if file.is_file() {
                runs.push(self.read_file(name, &file)?);
                continue;
            }
            if store.is_none() {
                let opened = runtime.block_on(self.store.open());
                store = Some(opened.with_context(|| format!("`{name}` is no file"))?);
            }
            let Some(store) = &store else { continue };
            runs.push(runtime.block_on(self.read_stored(name, store.as_ref()))?);
        }
        Ok(runs)
    }

    fn asked(&self, user: &str, speaker: Option<&str>) -> Asked {
        let speaker = speaker.or(self.character.as_deref()).map(Speaker::named);
        Asked {
            context: Tokens(self.context),
            seed: self.seed,
            given: Given { speaker, user: user.to_owned(), ..Given::default() },
            ..Asked::default()
        }
    }

    fn read_file(&self, name: &str, file: &FilePath) -> anyhow::Result<Run> {
        let limits = Limits::default();
        let chat = import_chat(&files::read_within(file, limits.text_bytes)?, &limits);
        let chat = chat.with_context(|| format!("`{name}`"))?;
        let user = chat.user_name.clone().unwrap_or_else(|| self.user.clone());
        let character = chat.character_name.clone();
        let messages = chat.messages.into_iter().map(|one| one.message);
        let events = events(messages.filter(is_story), |_, speaker| {
            self.asked(&user, speaker.or(character.as_deref()))
        });
        Ok(Run { name: name.to_owned(), id: ChatId(files::stem(file)), events, library: None })
    }

    async fn read_stored(&self, name: &str, store: &dyn StoryStore) -> anyhow::Result<Run> {
        let chat = StoredChat::read(store, name).await?;
        let mut records = Vec::with_capacity(chat.nodes.len());
        for node in &chat.nodes {
            let loud = chat.turns_at(node.prefix);
            let last = loud.filter(|turn| is_loud(turn)).last();
            records.push(match last {
                Some(turn) => Some(chat.turn(store, turn.id).await?),
                None => None,
            });
        }
        let mut library = None;
        if let Some(last) = records.iter().flatten().last() {
            library = store.library(&TenantId::local(), last.library).await?;
        }
        let messages = chat.nodes.into_iter().map(|node| node.message);
        let events = events(messages, |said, speaker| {
            let record = said.checked_sub(1).and_then(|at| records[at].as_ref());
            record.and_then(asked).unwrap_or_else(|| self.asked(&self.user, speaker))
        });
        Ok(Run { name: name.to_owned(), id: chat.record.id, events, library })
    }
}

fn is_story(message: &Message) -> bool {
    message.role != Role::System
}

/// How the model was asked at a turn, where that was kept.
fn asked(record: &TurnRecord) -> Option<Asked> {
    Some(Asked::of(record.given.as_deref()?.clone(), &record.report.facts))
}

impl Run {
    /// Runs the chat with the books it was told with.
    pub(super) fn lines_as_told(&self, shelf: &Shelf, counter: &dyn TokenCounter) -> Vec<TurnLine> {
        self.run(&shelf.compile(), &shelf.rules, counter, self.events.iter().cloned())
    }

    /// Runs the chat with other books, all of them active at every turn.
    pub(super) fn lines(
        &self,
        library: &Library,
        rules: &Rules,
        counter: &dyn TokenCounter,
    ) -> Vec<TurnLine> {
        let events = self.events.iter().cloned().map(|mut event| {
            if let Event::Asked(asked) = &mut event {
                asked.given.attachments = None;
            }
            event
        });
        self.run(library, rules, counter, events)
    }

    fn run(
        &self,
        library: &Library,
        rules: &Rules,
        counter: &dyn TokenCounter,
        events: impl Iterator<Item = Event>,
    ) -> Vec<TurnLine> {
        let roster = Roster::all(library, rules.world_info.strategy);
        let loom = Loom { library, roster: &roster, rules, counter };
        Replay::new(self.id.clone(), loom).run(events)
    }
}

/// Whether a turn is part of the story.
fn is_loud(turn: &TurnSummary) -> bool {
    !matches!(turn.generation, GenerationType::Quiet | GenerationType::Edit)
}
