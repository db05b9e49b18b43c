//! Reading the entries of a wrapped prompt back.

use std::{
    io::{self, Read as _, Write},
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use clap::Args;
use loreloom_core::wrap::{Segment, Unwrapped, WrapField, WrapFormat, unwrap};
use loreloom_formats::chat::import_chat;
use serde::Serialize;

use crate::{files, limits::limits};

/// Find the wrapped entries of a prompt.
///
/// Reads every wrapper but custom ones, which need their template.
#[derive(Debug, Args)]
pub(crate) struct Unwrap {
    /// The prompt: text, or `OpenAI` messages as JSON; `-` reads the standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Only this wrapper, as `weave --wrap` names it
    #[arg(long, value_name = "FORMAT")]
    wrap: Option<WrapFormat>,

    /// Print one JSON object for scripts, with the text between entries
    #[arg(long)]
    json: bool,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Output {
    messages: Vec<UnwrapInput>,
}

/// A message and what is in it. A prompt that is plain text is one message without a role.
#[derive(Serialize)]
struct UnwrapInput {
    role: Option<&'static str>,
    segments: Vec<Segment>,
}

impl Unwrap {
    pub(super) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let presets = WrapFormat::presets();
        let formats = match &self.wrap {
            Some(format) => {
                anyhow::ensure!(!format.is_none(), "`none` wraps nothing, so nothing can be found");
                std::slice::from_ref(format)
            }
            None => &presets,
        };
        let texts = texts(&self.file)?.into_iter();
        let messages: Vec<UnwrapInput> = texts
            .map(|(role, text)| UnwrapInput { role, segments: unwrap(&text, formats) })
            .collect();
        if self.json {
            writeln!(out, "{}", serde_json::to_string_pretty(&Output { messages })?)?;
            return Ok(());
        }
        print(out, &messages)
    }
}

/// The texts of a prompt with their roles.
fn texts(path: &Path) -> anyhow::Result<Vec<(Option<&'static str>, String)>> {
    let bytes = read(path)?;
    if let Ok(json) = serde_json::from_slice::<serde_json::Value>(&bytes)
        && (json.is_array() || json.is_object())
    {
        let chat =
            import_chat(&bytes, &limits()).with_context(|| format!("`{}`", path.display()))?;
        let messages = chat.messages.into_iter().map(|one| one.message);
        return Ok(messages.map(|one| (Some(one.role.as_str()), one.text.into())).collect());
    }
    let text = String::from_utf8(bytes)
        .ok()
        .with_context(|| format!("`{}` is not text in UTF-8", path.display()))?;
    Ok(vec![(None, text)])
}

fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    if path.as_os_str() != "-" {
        return files::read(path);
    }
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes).context("the standard input cannot be read")?;
    Ok(bytes)
}

fn print(out: &mut dyn Write, messages: &[UnwrapInput]) -> anyhow::Result<()> {
    let mut count = 0;
    for (number, message) in (1..).zip(messages) {
        for segment in &message.segments {
            let Segment::Entry(entry) = segment else { continue };
            count += 1;
            let place = message
                .role
                .map_or_else(String::new, |role| format!(" (message {number}, {role})"));
            print_entry(out, entry, &place)?;
        }
    }
    match count {
        0 => writeln!(out, "no wrapped entries")?,
        1 => writeln!(out, "1 entry")?,
        count => writeln!(out, "{count} entries")?,
    }
    Ok(())
}

fn print_entry(out: &mut dyn Write, entry: &Unwrapped, place: &str) -> anyhow::Result<()> {
    writeln!(out, "{}{place}", one_line(entry.fields.name().unwrap_or("(unnamed)")))?;
    for &field in WrapField::ALL.iter().filter(|&&field| field != WrapField::Name) {
        if let Some(value) = entry.fields.text(field) {
            writeln!(out, "  {}: {}", field.as_str(), one_line(&value))?;
        }
    }
    for line in entry.content.lines() {
        writeln!(out, "  | {line}")?;
    }
    writeln!(out)?;
    Ok(())
}

fn one_line(text: &str) -> String {
    text.replace(['\r', '\n'], " ")
}
