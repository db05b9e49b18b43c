//! Changing what is remembered.

use std::io::Write;

use anyhow::Context as _;
use clap::Args;
use loreloom_core::ids::ChatId;
use loreloom_memory::service::{NewMemory, Since};
use loreloom_ports::MemoryWriteId;
use loreloom_ports::Owner;
use loreloom_ports::RecordKey;
use serde_json::{Map, Value, json};

use super::{MemoryContext, OwnerArguments, list::kind_named};

/// Note something. Without a chat it holds on every path.
#[derive(Debug, Args)]
pub(super) struct Add {
    /// What to remember
    text: String,

    #[command(flatten)]
    owner: OwnerArguments,

    /// fact, relationship, preference, event, private; scene, revelation, development, detail
    #[arg(long, default_value = "fact")]
    kind: String,

    /// 1 (minor) to 3 (vital)
    #[arg(long, value_parser = clap::value_parser!(u8).range(1..=3))]
    importance: Option<u8>,
}

impl Add {
    pub(super) async fn run(
        self,
        context: &MemoryContext,
        out: &mut dyn Write,
    ) -> anyhow::Result<()> {
        let owner = self.owner.get(context).await?;
        let new = NewMemory {
            kind: kind_named(&self.kind)?,
            content: self.text,
            importance: self.importance,
            receipts: Vec::new(),
        };
        let (key, write) = context.service.edits.add(&context.tenant, &owner, new).await?;
        context.wrote(out, &format!("added {}", key.id), &write)
    }
}

/// Change a memory's text or fields.
#[derive(Debug, Args)]
pub(super) struct Edit {
    /// Its id, or the beginning of it
    id: String,

    #[command(flatten)]
    owner: OwnerArguments,

    /// The new text
    #[arg(long)]
    text: Option<String>,

    /// A field as `name=JSON`; `null` removes it
    #[arg(long = "set", value_name = "NAME=JSON")]
    fields: Vec<String>,
}

impl Edit {
    pub(super) async fn run(
        self,
        context: &MemoryContext,
        out: &mut dyn Write,
    ) -> anyhow::Result<()> {
        let mut changed = fields(&self.fields)?;
        if let Some(text) = self.text {
            changed.insert("content".to_owned(), json!(text));
        }
        anyhow::ensure!(!changed.is_empty(), "say what to change: `--text` or `--set`");
        let owner = self.owner.get(context).await?;
        let write = context.service.edits.edit(&context.tenant, &owner, &self.id, changed).await?;
        context.wrote(out, "changed", &write)
    }
}

/// Keep a memory or a thread from fading and from being pushed out.
#[derive(Debug, Args)]
pub(super) struct Pin {
    /// Its id, or the beginning of it
    id: String,

    #[command(flatten)]
    owner: OwnerArguments,

    /// A thread of a chat follows this character into other chats
    #[arg(long, value_name = "CHARACTER", requires = "chat")]
    to: Option<String>,

    /// Let it go again
    #[arg(long)]
    off: bool,
}

impl Pin {
    pub(super) async fn run(
        self,
        context: &MemoryContext,
        out: &mut dyn Write,
    ) -> anyhow::Result<()> {
        let owner = self.owner.get(context).await?;
        let write = match (&self.to, &owner) {
            (Some(to), Owner::Chat(chat)) => {
                let to = Owner::Character(to.as_str().into());
                let (service, pinned) = (&context.service, !self.off);
                service.edits.pin_thread(&context.tenant, chat, &to, &self.id, pinned).await?
            }
            _ => context.service.edits.pin(&context.tenant, &owner, &self.id, !self.off).await?,
        };
        context.wrote(out, if self.off { "unpinned" } else { "pinned" }, &write)
    }
}

/// Note a record of any kind, or write over one.
#[derive(Debug, Args)]
pub(super) struct Put {
    /// What it is: `arc`, `insight`, `relationship`, `state_card`, `entity`, `scene` …
    kind: String,

    /// Its id: a thread's sentence, `Mara→Odo`, `mara|character`; else any name
    id: String,

    #[command(flatten)]
    owner: OwnerArguments,

    /// A field as `name=JSON`
    #[arg(long = "set", value_name = "NAME=JSON", required = true)]
    fields: Vec<String>,
}

impl Put {
    pub(super) async fn run(
        self,
        context: &MemoryContext,
        out: &mut dyn Write,
    ) -> anyhow::Result<()> {
        let kind = serde_json::from_value(json!(self.kind))
            .with_context(|| format!("there is no record `{}`", self.kind))?;
        let key = RecordKey::new(kind, self.id);
        let owner = self.owner.get(context).await?;
        let fields = fields(&self.fields)?;
        let write = context.service.edits.put(&context.tenant, &owner, key, fields).await?;
        context.wrote(out, "noted", &write)
    }
}

/// Make two entities one: the first becomes an alias of the second.
#[derive(Debug, Args)]
pub(super) struct MergeEntities {
    /// The name that is to be an alias
    source: String,

    /// The name that stays, or the new one
    target: String,

    #[command(flatten)]
    owner: OwnerArguments,
}

impl MergeEntities {
    pub(super) async fn run(
        self,
        context: &MemoryContext,
        out: &mut dyn Write,
    ) -> anyhow::Result<()> {
        let (owner, service) = (self.owner.get(context).await?, &context.service);
        let write = service
            .edits
            .merge_entities(&context.tenant, &owner, &self.source, &self.target)
            .await?;
        context.wrote(out, "merged", &write)
    }
}

/// Reads fields given as `name=JSON`.
fn fields(given: &[String]) -> anyhow::Result<Map<String, Value>> {
    let mut fields = Map::new();
    for field in given {
        let (name, value) =
            field.split_once('=').with_context(|| format!("`{field}` is not `NAME=JSON`"))?;
        let value = serde_json::from_str(value)
            .with_context(|| format!("the value of `{name}` is no JSON: {value}"))?;
        fields.insert(name.to_owned(), value);
    }
    Ok(fields)
}

/// Stop using a memory; it is kept.
#[derive(Debug, Args)]
pub(super) struct Retire {
    /// Its id, or the beginning of it
    id: String,

    #[command(flatten)]
    owner: OwnerArguments,
}

impl Retire {
    pub(super) async fn run(
        self,
        context: &MemoryContext,
        out: &mut dyn Write,
    ) -> anyhow::Result<()> {
        let owner = self.owner.get(context).await?;
        let write = context.service.edits.retire(&context.tenant, &owner, &self.id).await?;
        context.wrote(out, "retired", &write)
    }
}

/// Use a retired, replaced or held memory again.
#[derive(Debug, Args)]
pub(super) struct Restore {
    /// Its id, or the beginning of it
    id: String,

    #[command(flatten)]
    owner: OwnerArguments,
}

impl Restore {
    pub(super) async fn run(
        self,
        context: &MemoryContext,
        out: &mut dyn Write,
    ) -> anyhow::Result<()> {
        let owner = self.owner.get(context).await?;
        let write = context.service.edits.restore(&context.tenant, &owner, &self.id).await?;
        context.wrote(out, "restored", &write)
    }
}

/// Declare that something was never so, on any path. Its old passages are not recalled either.
#[derive(Debug, Args)]
pub(super) struct Retcon {
    /// Its id, or the beginning of it
    id: String,

    /// How it always was
    #[arg(long, value_name = "TEXT")]
    text: Option<String>,

    #[command(flatten)]
    owner: OwnerArguments,
}

impl Retcon {
    pub(super) async fn run(
        self,
        context: &MemoryContext,
        out: &mut dyn Write,
    ) -> anyhow::Result<()> {
        let owner = self.owner.get(context).await?;
        let (edits, text) = (&context.service.edits, self.text.as_deref());
        let write = edits.retcon(&context.tenant, &owner, &self.id, text).await?;
        context.wrote(out, "retconned", &write)
    }
}

/// Let a character learn what some knowledge keeps from it, from the newest message of a chat on.
#[derive(Debug, Args)]
pub(super) struct Reveal {
    /// The knowledge's id, or the beginning of it
    id: String,

    /// Who learns it
    #[arg(long, value_name = "CHARACTER")]
    to: String,

    /// The chat in which it happens
    #[arg(long = "in", value_name = "CHAT")]
    chat: String,

    /// The character whose memory holds the knowledge
    #[arg(long, value_name = "CHARACTER")]
    character: String,
}

impl Reveal {
    pub(super) async fn run(
        self,
        context: &MemoryContext,
        out: &mut dyn Write,
    ) -> anyhow::Result<()> {
        let chat = ChatId::from(self.chat);
        let newest = context.path(&chat).await?.last().map(|item| item.id);
        let message = newest.with_context(|| format!("chat `{chat}` has no messages"))?;
        let owner = Owner::Character(self.character.into());
        let (edits, from) = (&context.service.edits, Since { chat, message });
        let write = edits.reveal(&context.tenant, &owner, &self.id, &self.to, &from).await?;
        context.wrote(out, &format!("revealed to {}", self.to), &write)
    }
}

/// Replace several memories with one. They are kept.
#[derive(Debug, Args)]
pub(super) struct Merge {
    /// Their ids
    #[arg(required = true, num_args = 2..)]
    ids: Vec<String>,

    /// What the new one says
    #[arg(long)]
    text: String,

    #[command(flatten)]
    owner: OwnerArguments,
}

impl Merge {
    pub(super) async fn run(
        self,
        context: &MemoryContext,
        out: &mut dyn Write,
    ) -> anyhow::Result<()> {
        let owner = self.owner.get(context).await?;
        let (key, write) =
            context.service.edits.merge(&context.tenant, &owner, &self.ids, &self.text).await?;
        context.wrote(out, &format!("merged into {}", key.id), &write)
    }
}

/// Undo a write, or undo an undo.
#[derive(Debug, Args)]
pub(super) struct Undo {
    /// The write's name
    write: String,
}

impl Undo {
    pub(super) async fn run(
        self,
        context: &MemoryContext,
        out: &mut dyn Write,
    ) -> anyhow::Result<()> {
        let write = context.service.edits.undo(&context.tenant, &MemoryWriteId(self.write)).await?;
        context.wrote(out, "undone", &write)
    }
}

/// Forget what a chat remembers, what a character does, or both. What is not named stays.
#[derive(Debug, Args)]
pub(super) struct Forget {
    /// The chat
    #[arg(required_unless_present = "character")]
    chat: Option<String>,

    /// A fresh start: also everything this character remembers, from all chats
    #[arg(long, value_name = "CHARACTER", requires = "chat")]
    and_character: Option<String>,

    /// Only what this character remembers, from all chats
    #[arg(long, value_name = "CHARACTER", conflicts_with_all = ["chat", "and_character"])]
    character: Option<String>,
}

impl Forget {
    pub(super) async fn run(
        self,
        context: &MemoryContext,
        out: &mut dyn Write,
    ) -> anyhow::Result<()> {
        let owner = |name: String| Owner::Character(name.into());
        let write = match (self.chat.map(ChatId::from), self.character) {
            (Some(chat), _) => {
                context.must_know(&chat).await?;
                match self.and_character.map(owner) {
                    Some(owner) => {
                        context.service.edits.fresh_start(&context.tenant, &chat, &owner).await?
                    }
                    None => context.service.edits.forget_chat(&context.tenant, &chat).await?,
                }
            }
            (None, Some(name)) => {
                context.service.edits.forget_character(&context.tenant, &owner(name)).await?
            }
            (None, None) => anyhow::bail!("name a chat, or a character with `--character`"),
        };
        context.wrote(out, "forgotten", &write)
    }
}
