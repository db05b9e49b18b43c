//! Stored characters.

use std::{
    io::{self, Write},
    path::PathBuf,
};

use anyhow::Context as _;
use clap::{Args, Subcommand};
use loreloom_core::ids::TenantId;
use loreloom_formats::Format;
use loreloom_ports::Clock as _;
use loreloom_server::{CastDocuments, Kept, KeptCharacter, NewCharacter, StoredCharacters};
use serde_json::{Value, json};

use super::serve::runtime;
use crate::{clock::SystemClock, files, store::StoreArguments, stored::excerpt};

/// Store characters with the stories: cards with their books and pictures.
///
/// The file of a card is kept too, so nothing of it is lost. `loreloom books undo` takes a change
/// back.
#[derive(Debug, Args)]
pub(crate) struct CharactersArguments {
    #[command(subcommand)]
    what: CharactersCommand,

    #[command(flatten)]
    store: StoreArguments,

    /// Print JSON for scripts
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum CharactersCommand {
    /// Add characters
    Add {
        /// Cards: PNG, JSON, YAML, CHARX or BYAF
        #[arg(value_name = "FILE", required = true)]
        files: Vec<PathBuf>,
        /// The id of a single character, instead of one made of its name
        #[arg(long, value_name = "ID")]
        id: Option<String>,
        /// Replace the character of this id
        #[arg(long, requires = "id")]
        replace: bool,
    },
    /// List the characters
    List,
    /// Show one character
    Show {
        /// The character's id
        character: String,
    },
    /// Write a character as a card
    Export {
        /// The character's id
        character: String,
        /// The file; printed without one
        file: Option<PathBuf>,
        /// The format, such as `card-v2-png`, `card-v3`, `charx` or `byaf`; that of its own file
        /// without it
        #[arg(long, value_name = "NAME")]
        format: Option<String>,
        /// Overwrite an existing file
        #[arg(long)]
        force: bool,
    },
    /// Remove a character and its book
    Remove {
        /// The character's id
        character: String,
    },
}

impl CharactersArguments {
    pub(super) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let tenant = TenantId::local();
        runtime()?.block_on(async {
            let store = self.store.open_or_make().await?;
            let characters = StoredCharacters { documents: store.as_ref(), tenant: &tenant };
            match self.what {
                CharactersCommand::List => list(out, &characters, self.json).await,
                CharactersCommand::Show { character } => {
                    show(out, &characters, &character, self.json).await
                }
                CharactersCommand::Add { files, id, replace } => {
                    anyhow::ensure!(
                        id.is_none() || files.len() == 1,
                        "`--id` names a single character"
                    );
                    let put = Put { characters: &characters, id, replace };
                    let made = put.all(&files).await?;
                    report(out, &made, self.json)
                }
                CharactersCommand::Export { character, file, format, force } => {
                    let written = write(&characters, &character, format.as_deref()).await?;
                    match file {
                        Some(file) if force => files::write(&file, &written),
                        Some(file) => files::write_new(&file, &written),
                        None => Ok(out.write_all(&written)?),
                    }
                }
                CharactersCommand::Remove { character } => {
                    let revision = characters.remove(&character, None, SystemClock.now()).await?;
                    report(out, &[json!({ "id": character, "revision": revision })], self.json)
                }
            }
        })
    }
}

/// Characters to put in.
struct Put<'a> {
    characters: &'a StoredCharacters<'a>,
    id: Option<String>,
    replace: bool,
}

impl Put<'_> {
    /// Reads all files before anything is stored.
    async fn all(&self, files: &[PathBuf]) -> anyhow::Result<Vec<Value>> {
        let mut read = Vec::new();
        for path in files {
            let bytes = files::read(path)?;
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
            let new = NewCharacter::read(bytes, name.as_deref())
                .with_context(|| format!("`{}`", path.display()))?;
            for note in new.notes() {
                writeln!(io::stderr(), "loreloom: {}: {note}", path.display())?;
            }
            read.push(new);
        }
        let mut made = Vec::new();
        for new in read {
            made.push(self.one(new).await?);
        }
        Ok(made)
    }

    async fn one(&self, new: NewCharacter) -> anyhow::Result<Value> {
        let StoredCharacters { documents, tenant } = *self.characters;
        let kinds = CastDocuments { documents, tenant };
        let id = match &self.id {
            Some(id) => id.clone(),
            None => kinds.free_id::<KeptCharacter>(&new.imported.card.name).await?,
        };
        let is_there = kinds.find::<KeptCharacter>(&id).await?.is_some();
        anyhow::ensure!(
            !is_there || self.replace,
            "there is a character `{id}` already: `--replace` replaces it"
        );
        let (name, entries) = (new.imported.card.name.clone(), new.imported.book.entries.len());
        let revision = self.characters.put_file(&id, new, None, SystemClock.now()).await?;
        Ok(json!({ "id": id, "name": name, "entries": entries, "revision": revision }))
    }
}

/// Says what was changed and how to take it back.
fn report(out: &mut dyn Write, made: &[Value], json: bool) -> anyhow::Result<()> {
    if json {
        return Ok(writeln!(out, "{}", serde_json::to_string_pretty(made)?)?);
    }
    for one in made {
        let (id, revision) = (one["id"].as_str().unwrap_or_default(), &one["revision"]);
        match (one["name"].as_str(), &one["entries"]) {
            (Some(name), entries) => {
                writeln!(out, "{id}: {name}, {entries} entries of lore")?;
            }
            (None, _) => writeln!(out, "{id} is removed")?,
        }
        writeln!(out, "change {revision}; `loreloom books undo {revision}` takes it back")?;
    }
    Ok(())
}

async fn list(
    out: &mut dyn Write,
    characters: &StoredCharacters<'_>,
    json: bool,
) -> anyhow::Result<()> {
    let all = characters.all().await?;
    if json {
        let all: Vec<Value> = all.iter().map(brief).collect();
        return Ok(writeln!(out, "{}", serde_json::to_string_pretty(&all)?)?);
    }
    if all.is_empty() {
        return Ok(writeln!(out, "no characters: `loreloom characters add FILE` puts one in")?);
    }
    let width = all.iter().map(|one| one.id.chars().count()).max().unwrap_or(9).clamp(9, 40);
    writeln!(out, "{:<width$}  GREETINGS  BOOK        NAME", "CHARACTER")?;
    for Kept { id, value, .. } in &all {
        let greetings = 1 + value.card.alternate_greetings.len();
        let book = value.book.as_ref().map_or("-", |book| book.as_str());
        let name = excerpt(&value.card.name, 40);
        writeln!(out, "{id:<width$}  {greetings:>9}  {book:<10}  {name}")?;
    }
    Ok(())
}

fn brief(one: &Kept<KeptCharacter>) -> Value {
    let KeptCharacter { card, book, original, portrait } = &one.value;
    json!({
        "id": one.id, "name": card.name, "tags": card.tags, "book": book,
        "greetings": 1 + card.alternate_greetings.len(), "portrait": portrait.is_some(),
        "format": original.as_ref().map(|file| &file.format), "revision": one.revision,
    })
}

async fn show(
    out: &mut dyn Write,
    characters: &StoredCharacters<'_>,
    id: &str,
    json: bool,
) -> anyhow::Result<()> {
    let found = characters.find(id).await?;
    if json {
        let mut whole = brief(&found);
        whole["card"] = serde_json::to_value(&found.value.card)?;
        return Ok(writeln!(out, "{}", serde_json::to_string_pretty(&whole)?)?);
    }
    let card = &found.value.card;
    writeln!(out, "{} (`{id}`)", card.name)?;
    let alternates = card.alternate_greetings.iter();
    let texts = [
        ("tags", card.tags.join(", ")),
        ("creator", card.creator.clone()),
        ("description", card.description.clone()),
        ("personality", card.personality.clone()),
        ("scenario", card.scenario.clone()),
        ("greeting", card.first_mes.clone()),
    ];
    let texts = texts.into_iter().chain(alternates.map(|text| ("greeting", text.clone())));
    for (name, text) in texts.filter(|(_, text)| !text.trim().is_empty()) {
        writeln!(out, "\n{name}:\n  {}", text.trim().replace('\n', "\n  "))?;
    }
    Ok(())
}

async fn write(
    characters: &StoredCharacters<'_>,
    id: &str,
    format: Option<&str>,
) -> anyhow::Result<Vec<u8>> {
    let found = characters.find(id).await?;
    let format = format.map(|name| {
        Format::from_name(name).with_context(|| format!("there is no format `{name}`"))
    });
    let (_, exported) = characters.export(&found.value, format.transpose()?).await?;
    for loss in &exported.losses {
        writeln!(io::stderr(), "loreloom: not in the file: `{}`", loss.field)?;
    }
    Ok(exported.bytes)
}
