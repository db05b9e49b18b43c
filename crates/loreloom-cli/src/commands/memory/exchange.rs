//! Taking memory out and in.

use std::{io::Write, path::PathBuf};

use anyhow::Context as _;
use clap::Args;
use loreloom_core::ids::ChatId;
use loreloom_memory::{ports::Owner, service::smart_memory_settings};
use serde_json::{Map, Value};

use super::Desk;
use crate::files;

/// Write everything that is remembered as JSON.
#[derive(Debug, Args)]
pub(super) struct Export {
    /// The file; without one it is printed
    file: Option<PathBuf>,
}

impl Export {
    pub(super) async fn run(self, desk: &Desk, out: &mut dyn Write) -> anyhow::Result<()> {
        let archive = desk.service.export(&desk.tenant).await?;
        let text = serde_json::to_string_pretty(&archive)?;
        match self.file {
            Some(file) => files::write(&file, text.as_bytes()),
            None => Ok(writeln!(out, "{text}")?),
        }
    }
}

/// Read an archive of `export`, Smart Memory's settings (all characters), or a chat of
/// SillyTavern that Smart Memory worked on. What is known already stays as it is.
#[derive(Debug, Args)]
pub(super) struct Import {
    /// The file
    file: PathBuf,

    /// The chat that a chat's data go to
    #[arg(long, value_name = "CHAT")]
    chat: Option<String>,
}

impl Import {
    pub(super) async fn run(self, desk: &Desk, out: &mut dyn Write) -> anyhow::Result<()> {
        let bytes = files::read(&self.file)?;
        let value = first_value(&bytes).with_context(|| format!("`{}`", self.file.display()))?;
        if value.get("format").is_some() {
            let archive = serde_json::from_value(value).context("the archive cannot be read")?;
            let new = desk.service.import(&desk.tenant, archive).await?;
            return Ok(writeln!(out, "{new} writes are new")?);
        }
        if let Some(characters) = characters(&value) {
            for (name, container) in characters {
                let owner = Owner::Character(name.as_str().into());
                let taken = desk.service.import_character(&desk.tenant, &owner, container.clone());
                let what = if taken.await?.is_some() { "taken in" } else { "nothing new" };
                writeln!(out, "{name}: {what}")?;
            }
            return Ok(());
        }
        let container = chat_block(&value).with_context(
            || "this is no archive of memory, no settings of Smart Memory and no chat it worked on",
        )?;
        let chat = self.chat.context("say which chat these data go to with `--chat CHAT`")?;
        let chat = ChatId::from(chat);
        let taken = desk.service.import_chat(&desk.tenant, &chat, container.clone()).await?;
        let what = if taken.is_some() { "taken in" } else { "nothing new" };
        Ok(writeln!(out, "{chat}: {what}")?)
    }
}

/// Turn Smart Memory's settings into a file for `--memory-settings`.
#[derive(Debug, Args)]
pub(super) struct Settings {
    /// SillyTavern's settings, or Smart Memory's part of them
    file: PathBuf,
}

impl Settings {
    pub(super) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let bytes = files::read(&self.file)?;
        let value = first_value(&bytes).with_context(|| format!("`{}`", self.file.display()))?;
        let theirs = PLACES.iter().filter_map(|place| value.pointer(place)?.as_object());
        let theirs = theirs.into_iter().find(|part| part.contains_key("longterm_enabled"));
        let theirs = theirs.context("these are no settings of Smart Memory")?;
        Ok(writeln!(out, "{}", serde_json::to_string_pretty(&smart_memory_settings(theirs))?)?)
    }
}

/// Where a settings file has Smart Memory's part.
const PLACES: [&str; 5] = [
    "",
    "/smart_memory",
    "/smartMemory",
    "/extension_settings/smart_memory",
    "/extension_settings/smartMemory",
];

/// The document, or the first line of a file of lines.
fn first_value(bytes: &[u8]) -> anyhow::Result<Value> {
    let mut values = serde_json::Deserializer::from_slice(bytes).into_iter::<Value>();
    Ok(values.next().context("the file is empty")??)
}

/// Smart Memory's characters, wherever the settings file has them.
fn characters(value: &Value) -> Option<&Map<String, Value>> {
    let inside = |value: &'_ Value| value.pointer("/characters").is_some_and(Value::is_object);
    let found = PLACES.iter().filter_map(|place| value.pointer(place)).find(|one| inside(one));
    found?.get("characters")?.as_object()
}

/// Smart Memory's block of a chat's first line.
fn chat_block(value: &Value) -> Option<&Value> {
    let places = ["/chat_metadata/smartMemory", "/metadata/smartMemory", "/smartMemory"];
    let found = places.into_iter().find_map(|place| value.pointer(place));
    found.or_else(|| value.get("sessionMemories").map(|_| value))
}
