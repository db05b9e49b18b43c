//! Looking at what is remembered.

use std::io::Write;

use anyhow::Context as _;
use clap::Args;
use loreloom_core::ids::ChatId;
use loreloom_memory::event::fold;
use loreloom_ports::Owner;
use loreloom_ports::{RecordKey, RecordKind, Records};
use serde_json::{Map, Value, json};

use super::{MemoryContext, OwnerArguments};
use crate::{dates, stored::excerpt};

/// List who remembers, or what somebody remembers.
#[derive(Debug, Args)]
pub(super) struct List {
    #[command(flatten)]
    owner: OwnerArguments,

    /// Also what was retired, replaced or held, and what other branches remember
    #[arg(long)]
    all: bool,
}

impl List {
    pub(super) async fn run(
        self,
        context: &MemoryContext,
        out: &mut dyn Write,
    ) -> anyhow::Result<()> {
        let Some(owner) = self.owner.named(context).await? else {
            return owners(context, out).await;
        };
        let records = if self.all {
            context.service.views.records(&context.tenant, &owner).await?
        } else {
            records(context, &owner).await?
        };
        let shown = records.iter().filter(|(key, fields)| {
            !matches!(key.kind, RecordKind::Marks) && (self.all || is_active(fields))
        });
        let shown: Vec<(&RecordKey, &Map<String, Value>)> = shown.collect();
        if context.json {
            let list: Vec<Value> = shown.iter().map(|(key, fields)| line(key, fields)).collect();
            return Ok(writeln!(out, "{}", serde_json::to_string_pretty(&list)?)?);
        }
        for (key, fields) in shown {
            let mark = if is_active(fields) { ' ' } else { '-' };
            let kind = serde_json::to_value(key.kind)?;
            let kind = kind.as_str().unwrap_or_default().to_owned();
            writeln!(out, "{mark} {kind:<15} {:<24} {}", excerpt(&key.id, 24), text(fields))?;
        }
        context.say_if_waiting(&owner, out).await
    }
}

async fn owners(context: &MemoryContext, out: &mut dyn Write) -> anyhow::Result<()> {
    let owners = context.store.owners(&context.tenant).await?;
    if context.json {
        let list: Vec<Value> = owners
            .iter()
            .map(|(owner, last)| json!({ "kind": owner.kind(), "id": owner.id(), "events": last }))
            .collect();
        return Ok(writeln!(out, "{}", serde_json::to_string_pretty(&list)?)?);
    }
    writeln!(out, "{:<10} {:>7}  ID", "WHO", "EVENTS")?;
    for (owner, last) in owners {
        writeln!(out, "{:<10} {last:>7}  {}", owner.kind(), owner.id())?;
    }
    Ok(())
}

/// What is true on the current paths of all chats. A chat that is not stored yet has no path, so
/// all of its memories count.
async fn records(context: &MemoryContext, owner: &Owner) -> anyhow::Result<Records> {
    let events = context.store.events(&context.tenant, owner, 0).await?;
    let mut message_ids = std::collections::HashMap::<ChatId, Option<Vec<_>>>::new();
    for chat in events.iter().filter_map(|event| event.chat.clone()) {
        if let std::collections::hash_map::Entry::Vacant(entry) = message_ids.entry(chat.clone()) {
            let ids = match context.store.chat(&context.tenant, &chat).await? {
                Some(_) => {
                    Some(context.path(&chat).await?.into_iter().map(|item| item.id).collect())
                }
                None => None,
            };
            entry.insert(ids);
        }
    }
    let is_told = |chat: &ChatId, id: &_| {
        let ids = message_ids.get(chat).and_then(Option::as_ref);
        ids.is_none_or(|ids| ids.contains(id))
    };
    Ok(fold(&events, is_told))
}

fn is_active(fields: &Map<String, Value>) -> bool {
    !fields.contains_key("retired") && !fields.contains_key("superseded_by")
}

/// What a record says, on one line.
fn text(fields: &Map<String, Value>) -> String {
    let said = ["content", "summary", "text", "name"];
    let found = said.into_iter().find_map(|name| fields.get(name).and_then(Value::as_str));
    let whole = || Value::Object(fields.clone()).to_string();
    excerpt(&found.map_or_else(whole, str::to_owned), 90)
}

fn line(key: &RecordKey, fields: &Map<String, Value>) -> Value {
    json!({ "kind": key.kind, "id": key.id, "active": is_active(fields), "fields": fields })
}

/// Show one record with everything that happened to it.
#[derive(Debug, Args)]
pub(super) struct Show {
    /// Its id, or the beginning of it
    id: String,

    #[command(flatten)]
    owner: OwnerArguments,
}

impl Show {
    pub(super) async fn run(
        self,
        context: &MemoryContext,
        out: &mut dyn Write,
    ) -> anyhow::Result<()> {
        let owner = self.owner.get(context).await?;
        let events = context.store.events(&context.tenant, &owner, 0).await?;
        let is_it = |key: &RecordKey| key.id.starts_with(&self.id);
        let found: Vec<_> =
            events.iter().filter(|event| event.event.record.as_ref().is_some_and(is_it)).collect();
        anyhow::ensure!(!found.is_empty(), "{owner} has no record `{}`", self.id);
        let records = context.service.views.records(&context.tenant, &owner).await?;
        let now = records.iter().find(|(key, _)| is_it(key)).map(|(key, fields)| line(key, fields));
        if context.json {
            let whole = json!({ "record": now, "events": found });
            return Ok(writeln!(out, "{}", serde_json::to_string_pretty(&whole)?)?);
        }
        if let Some(now) = now {
            writeln!(out, "{}", serde_json::to_string_pretty(&now["fields"])?)?;
        }
        for event in found {
            let change = serde_json::to_string(&event.event.change)?;
            let kind = serde_json::to_value(event.event.kind)?;
            let kind = kind.as_str().unwrap_or_default().to_owned();
            let (at, write) = (dates::shown(event.at), &event.write);
            writeln!(out, "{at}  {kind:<10}  {write}  {}", excerpt(&change, 80))?;
        }
        Ok(())
    }
}

/// List the last writes, newest first.
#[derive(Debug, Args)]
pub(super) struct Writes {
    /// How many
    #[arg(long, default_value_t = 20)]
    most: u32,
}

impl Writes {
    pub(super) async fn run(
        self,
        context: &MemoryContext,
        out: &mut dyn Write,
    ) -> anyhow::Result<()> {
        let writes = context.store.memory_writes(&context.tenant, self.most).await?;
        if context.json {
            return Ok(writeln!(out, "{}", serde_json::to_string_pretty(&writes)?)?);
        }
        for write in writes {
            let owners: Vec<String> = write.owners.iter().map(ToString::to_string).collect();
            let at = dates::shown(write.at);
            writeln!(out, "{at}  {}  {}  {}", write.id, write.note, owners.join(", "))?;
        }
        Ok(())
    }
}

/// The record kind with this name, if there is only one.
pub(super) fn kind_named(name: &str) -> anyhow::Result<loreloom_memory::record::MemoryKind> {
    serde_json::from_value(json!(name)).with_context(|| format!("there is no kind `{name}`"))
}
