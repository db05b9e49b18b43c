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
use loreloom_settings::{Changes, StorySection};

use super::serve::runtime;
use crate::{
    files,
    limits::limits,
    settings::{Flags, StoryFlags},
    store::StoreArguments,
};

/// Which chats are run, and how the model is asked where a chat does not say it.
#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// Ids of stored chats, or chat files
    #[arg(value_name = "CHAT", required = true)]
    chats: Vec<String>,

    #[command(flatten)]
    store: StoreArguments,

    #[command(flatten)]
    story: Flags<StoryFlags>,
}

/// A chat to be run, under its id or its file's name.
pub(super) struct NamedRun {
    pub(super) name: String,
    pub(super) run: StoryRun,
}

impl RunArguments {
    /// Reads all chats.
    pub(super) fn read(&self, story: &StorySection) -> anyhow::Result<Vec<NamedRun>> {
        let runtime = runtime()?;
        let mut store = None;
        let mut runs = Vec::new();
        for name in &self.chats {
            let file = PathBuf::from(name);
            if file.is_file() {
                runs.push(read_file(name, &file, story)?);
                continue;
            }
            if store.is_none() {
                let opened = runtime.block_on(self.store.open());
                store = Some(opened.with_context(|| format!("`{name}` is no file"))?);
            }
            let Some(store) = &store else { continue };
            runs.push(runtime.block_on(read_stored(name, store.as_ref(), story))?);
        }
        Ok(runs)
    }

    /// What is set for chats that do not say it themselves.
    pub(super) fn changes(&self) -> Changes {
        self.story.changes.clone()
    }
}

fn input(story: &StorySection, user: &str, speaker: Option<&str>) -> TurnInput {
    let speaker = speaker.or(story.character.as_deref()).map(Speaker::named);
    TurnInput {
        context: Tokens(story.context),
        seed: story.seed,
        speaker,
        user: user.to_owned(),
        ..TurnInput::default()
    }
}

fn read_file(name: &str, file: &FilePath, story: &StorySection) -> anyhow::Result<NamedRun> {
    let chat = import_chat(&files::read_limited(file, Limit::Chat)?, &limits());
    let chat = chat.with_context(|| format!("`{name}`"))?;
    let user = chat.user_name.clone().unwrap_or_else(|| story.user.clone());
    let character = chat.character_name.clone();
    let messages = chat.messages.into_iter().map(|one| one.message);
    let events = events(messages.filter(is_story), |_, speaker| {
        input(story, &user, speaker.or(character.as_deref()))
    });
    let run = StoryRun { chat: ChatId(files::stem(file)), events, library: None };
    Ok(NamedRun { name: name.to_owned(), run })
}

async fn read_stored(
    name: &str,
    store: &dyn StoryStore,
    story: &StorySection,
) -> anyhow::Result<NamedRun> {
    let unknown = |speaker: Option<&str>| input(story, &story.user, speaker);
    let run = StoryRun::of_stored(store, &TenantId::local(), &name.into(), unknown).await?;
    Ok(NamedRun { name: name.to_owned(), run })
}

fn is_story(message: &Message) -> bool {
    message.role != Role::System
}
