//! Chats that are run through the engine: stored ones and files.

use std::path::{Path as FilePath, PathBuf};

use anyhow::Context as _;
use clap::Args;
use loreloom_core::{
    chat::{Message, Role},
    ids::{ChatId, TenantId},
    replay::events,
    turn::{Speaker, TurnInput},
    units::Tokens,
};
use loreloom_formats::{Limit, chat::import_chat};
use loreloom_ports::StoryStore;
use loreloom_server::past::runs::StoryRun;

use super::serve::runtime;
use crate::{files, limits::limits, store::StoreArguments};

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

/// A chat to be run, under its id or its file's name.
pub(super) struct NamedRun {
    pub(super) name: String,
    pub(super) run: StoryRun,
}

impl RunArguments {
    /// Reads all chats.
    pub(super) fn read(&self) -> anyhow::Result<Vec<NamedRun>> {
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

    fn input(&self, user: &str, speaker: Option<&str>) -> TurnInput {
        let speaker = speaker.or(self.character.as_deref()).map(Speaker::named);
        TurnInput {
            context: Tokens(self.context),
            seed: self.seed,
            speaker,
            user: user.to_owned(),
            ..TurnInput::default()
        }
    }

    fn read_file(&self, name: &str, file: &FilePath) -> anyhow::Result<NamedRun> {
        let chat = import_chat(&files::read_limited(file, Limit::Chat)?, &limits());
        let chat = chat.with_context(|| format!("`{name}`"))?;
        let user = chat.user_name.clone().unwrap_or_else(|| self.user.clone());
        let character = chat.character_name.clone();
        let messages = chat.messages.into_iter().map(|one| one.message);
        let events = events(messages.filter(is_story), |_, speaker| {
            self.input(&user, speaker.or(character.as_deref()))
        });
        let run = StoryRun { chat: ChatId(files::stem(file)), events, library: None };
        Ok(NamedRun { name: name.to_owned(), run })
    }

    async fn read_stored(&self, name: &str, store: &dyn StoryStore) -> anyhow::Result<NamedRun> {
        let unknown = |speaker: Option<&str>| self.input(&self.user, speaker);
        let run = StoryRun::of_stored(store, &TenantId::local(), &name.into(), unknown).await?;
        Ok(NamedRun { name: name.to_owned(), run })
    }
}

fn is_story(message: &Message) -> bool {
    message.role != Role::System
}
