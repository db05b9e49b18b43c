//! What is remembered: looking at it, changing it, taking it out and in.

mod by_hand;
mod exchange;
mod list;
mod reading;
mod sessions;
mod timeline;

use std::{io::Write, sync::Arc};

use anyhow::Context as _;
use clap::{Args, Subcommand};
use loreloom_core::{
    chat::PathItem,
    ids::{ChatId, TenantId},
};
use loreloom_memory::service::{MemoryServices, Options, Ports};
use loreloom_ports::{Owner, Store};
use loreloom_server::stored_settings;
use loreloom_settings::{Changes, StartSettings};

use super::{serve::runtime, serve_memory};
use crate::{
    config::ConfigArguments, embedding_table::EmbeddingTable, settings::SetArguments,
    store::StoreArguments,
};

/// Show and change what is remembered.
///
/// Every change is a write with a name; `loreloom memory undo NAME` takes it back.
#[derive(Debug, Args)]
pub(crate) struct Memory {
    #[command(subcommand)]
    deed: MemoryCommand,

    #[command(flatten)]
    store: StoreArguments,

    /// Print JSON for scripts
    #[arg(long, global = true)]
    json: bool,

    #[command(flatten)]
    config: ConfigArguments,

    #[command(flatten)]
    set: SetArguments,
}

#[derive(Debug, Subcommand)]
enum MemoryCommand {
    /// List who remembers, or what somebody remembers
    List(list::List),
    /// Show one record with everything that happened to it
    Show(list::Show),
    /// List the last writes
    Writes(list::Writes),
    /// Note something
    Add(by_hand::Add),
    /// Change a memory's text or fields
    Edit(by_hand::Edit),
    /// Note a record of any kind: a thread, a feeling, a state card …
    Put(by_hand::Put),
    /// Make two entities one
    MergeEntities(by_hand::MergeEntities),
    /// Keep a memory or a thread from fading
    Pin(by_hand::Pin),
    /// Stop using a memory; it is kept
    Retire(by_hand::Retire),
    /// Use a retired or held memory again
    Restore(by_hand::Restore),
    /// Declare that something was never so
    Retcon(by_hand::Retcon),
    /// Let a character learn a secret
    Reveal(by_hand::Reveal),
    /// Replace several memories with one
    Merge(by_hand::Merge),
    /// Undo a write, or undo an undo
    Undo(by_hand::Undo),
    /// Forget what a chat remembers, what a character does, or both
    Forget(by_hand::Forget),
    /// Write everything that is remembered as JSON
    Export(exchange::Export),
    /// Read an archive, or Smart Memory's settings or chat
    Import(exchange::Import),
    /// Find passages of a chat and memories by meaning
    Search(reading::Search),
    /// Show what is remembered about a person, place or thing, oldest first
    Timeline(timeline::Timeline),
    /// Summarise what happened before, for somebody who was away
    Recap(reading::Recap),
    /// Read an existing chat and remember it
    CatchUp(reading::CatchUp),
    /// Try something without remembering it
    Scratch(sessions::Scratch),
    /// Ask now for a summary, canon, a profile or a check
    Now(sessions::Now),
}

impl Memory {
    pub(super) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let config = self.config.read()?;
        let flags = self.set.over(Changes::default())?;
        let started = StartSettings::resolve(config.settings.clone(), flags)?;
        runtime()?.block_on(async {
            let arguments = self.store.under(&config);
            // What is imported may be the first thing in a folder.
            let store = if matches!(self.deed, MemoryCommand::Import(_)) {
                arguments.open_or_make().await?
            } else {
                arguments.open().await?
            };
            let stored = stored_settings(store.as_ref(), &TenantId::local()).await?;
            let settings = started.with(&stored)?;
            let table = EmbeddingTable::open(&settings.features)?;
            let context = MemoryContext::new(store, self.json, settings.memory.options(), table);
            match self.deed {
                MemoryCommand::List(list) => list.run(&context, out).await,
                MemoryCommand::Show(show) => show.run(&context, out).await,
                MemoryCommand::Writes(writes) => writes.run(&context, out).await,
                MemoryCommand::Add(add) => add.run(&context, out).await,
                MemoryCommand::Edit(edit) => edit.run(&context, out).await,
                MemoryCommand::Put(put) => put.run(&context, out).await,
                MemoryCommand::MergeEntities(merge) => merge.run(&context, out).await,
                MemoryCommand::Pin(pin) => pin.run(&context, out).await,
                MemoryCommand::Retire(retire) => retire.run(&context, out).await,
                MemoryCommand::Restore(restore) => restore.run(&context, out).await,
                MemoryCommand::Retcon(retcon) => retcon.run(&context, out).await,
                MemoryCommand::Reveal(reveal) => reveal.run(&context, out).await,
                MemoryCommand::Merge(merge) => merge.run(&context, out).await,
                MemoryCommand::Undo(undo) => undo.run(&context, out).await,
                MemoryCommand::Forget(forget) => forget.run(&context, out).await,
                MemoryCommand::Export(export) => export.run(&context, out).await,
                MemoryCommand::Import(import) => import.run(&context, out).await,
                MemoryCommand::Search(search) => search.run(&context, out).await,
                MemoryCommand::Timeline(timeline) => timeline.run(&context, out).await,
                MemoryCommand::Recap(recap) => recap.run(&context, out).await,
                MemoryCommand::CatchUp(catch_up) => catch_up.run(&context, out).await,
                MemoryCommand::Scratch(scratch) => scratch.run(&context, out).await,
                MemoryCommand::Now(now) => now.run(&context, out).await,
            }
        })
    }
}

/// What a command works with.
pub(super) struct MemoryContext {
    pub(super) store: Arc<dyn Store>,
    pub(super) service: MemoryServices,
    pub(super) tenant: TenantId,
    pub(super) json: bool,
    table: EmbeddingTable,
}

impl MemoryContext {
    fn new(store: Arc<dyn Store>, json: bool, options: Options, table: EmbeddingTable) -> Self {
        let ports = Ports { embedder: None, ..serve_memory::ports(&store, &table) };
        let service = MemoryServices::new(&ports, options);
        Self { store, service, tenant: TenantId::local(), json, table }
    }

    /// The same with other options.
    pub(super) fn with(&self, options: Options) -> Self {
        Self::new(self.store.clone(), self.json, options, self.table.clone())
    }

    /// Refuses a chat that is not stored and of which nothing is remembered either.
    pub(super) async fn must_know(&self, chat: &ChatId) -> anyhow::Result<()> {
        let is_stored = self.store.chat(&self.tenant, chat).await?.is_some();
        let owner = Owner::Chat(chat.clone());
        let is_known = is_stored || !self.store.events(&self.tenant, &owner, 0).await?.is_empty();
        anyhow::ensure!(is_known, "only a stored chat has a memory: there is no chat `{chat}`");
        Ok(())
    }

    /// Says so if the memory of a chat waits for its messages.
    pub(super) async fn say_if_waiting(
        &self,
        owner: &Owner,
        out: &mut dyn Write,
    ) -> anyhow::Result<()> {
        let Owner::Chat(chat) = owner else { return Ok(()) };
        if self.store.chat(&self.tenant, chat).await?.is_none() {
            writeln!(
                out,
                "the chat `{chat}` is not stored yet: its memories are used once it is imported or \
                 played"
            )?;
        }
        Ok(())
    }

    /// The messages of a chat's current path.
    pub(super) async fn path(&self, chat: &ChatId) -> anyhow::Result<Vec<PathItem>> {
        let record = self.store.chat(&self.tenant, chat).await?;
        let record = record.with_context(|| format!("there is no chat `{chat}`"))?;
        let nodes = self.store.path(&self.tenant, chat, record.tip).await?;
        let item = |node: loreloom_ports::Node| PathItem {
            id: node.message_id,
            prefix: node.prefix,
            message: node.message,
        };
        Ok(nodes.into_iter().map(item).collect())
    }

    /// Tells what a write was called.
    pub(super) fn wrote(
        &self,
        out: &mut dyn Write,
        what: &str,
        write: &loreloom_ports::MemoryWriteId,
    ) -> anyhow::Result<()> {
        if self.json {
            return Ok(writeln!(out, "{}", serde_json::json!({ "did": what, "write": write }))?);
        }
        Ok(writeln!(out, "{what} (undo with `loreloom memory undo {write}`)")?)
    }
}

/// Whose memory.
#[derive(Clone, Debug, Args)]
pub(super) struct OwnerArguments {
    /// A chat's
    #[arg(long, value_name = "CHAT", group = "owner")]
    chat: Option<String>,

    /// A character's
    #[arg(long, value_name = "CHARACTER", group = "owner")]
    character: Option<String>,

    /// A world's
    #[arg(long, value_name = "WORLD", group = "owner")]
    world: Option<String>,
}

impl OwnerArguments {
    /// The owner, if one was named.
    pub(super) async fn named(&self, context: &MemoryContext) -> anyhow::Result<Option<Owner>> {
        if let Some(chat) = &self.chat {
            context.must_know(&chat.as_str().into()).await?;
        }
        let chat = self.chat.as_deref().map(|id| Owner::Chat(id.into()));
        let character = self.character.as_deref().map(|id| Owner::Character(id.into()));
        let world = self.world.clone().map(Owner::World);
        Ok(chat.or(character).or(world))
    }

    /// The owner, which must be named.
    pub(super) async fn get(&self, context: &MemoryContext) -> anyhow::Result<Owner> {
        self.named(context).await?.context("say whose memory: `--chat`, `--character` or `--world`")
    }
}
