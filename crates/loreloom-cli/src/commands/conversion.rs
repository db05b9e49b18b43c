//! One file into another format: what `convert` and `export` share.

use std::{io::Write, path::Path};

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use loreloom_core::book::Container;
use loreloom_formats::{
    Card, CharacterSource, Decorators, ExportOptions, Format, ImportOptions, Imported, Loss,
    RoundTripProof, card_losses, export, export_character, import_character, prove,
    vault::{WrittenNote, file_name, notes_of},
};
use serde::Serialize;

use super::loss_report::{in_words, print_losses, print_proof};
use crate::{
    files, limits::limits, lore::ReadingArguments, notes_folder::NotesFolder, plural::counted,
};

/// The name of the format that is a folder of notes.
const VAULT: &str = "vault";

/// What a file becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    File(Format),
    Vault,
}

impl Target {
    fn as_str(self) -> &'static str {
        match self {
            Self::File(format) => format.as_str(),
            Self::Vault => VAULT,
        }
    }

    /// The format of that name.
    pub(super) fn named(name: &str) -> anyhow::Result<Self> {
        if name == VAULT {
            return Ok(Self::Vault);
        }
        Format::from_name(name).map(Self::File).with_context(|| {
            let names: Vec<&str> = Format::ALL.iter().map(|format| format.as_str()).collect();
            format!("there is no format `{name}`; the formats are: {}, vault", names.join(", "))
        })
    }

    /// What a file of that name most likely is.
    fn guessed(path: &Path, imported: &Imported) -> anyhow::Result<Self> {
        let extension = path.extension().map(|one| one.to_string_lossy().to_lowercase());
        Ok(match extension.as_deref() {
            Some("json") if imported.card.is_some() => Self::File(Format::CardV3),
            Some("json") => Self::File(Format::Sillytavern),
            Some("png") => Self::File(Format::CardV3Png),
            Some("charx") => Self::File(Format::Charx),
            Some("byaf") => Self::File(Format::Byaf),
            Some("risum") => Self::File(Format::RisuModule),
            Some("lorebook") => Self::File(Format::Novelai),
            Some("txt") => Self::File(Format::Perchance),
            Some("yaml" | "yml") => Self::File(Format::CardYaml),
            _ if path.is_dir() => Self::Vault,
            _ => anyhow::bail!("`{}` does not tell a format: `--format` does", path.display()),
        })
    }
}

/// How lore is read and written when it crosses formats.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct CrossingArguments {
    #[command(flatten)]
    reading: ReadingArguments,

    /// What happens to decorators
    #[arg(long, value_enum, default_value_t = DecoratorsName::Keep)]
    decorators: DecoratorsName,
}

/// What happens to decorators when a book is converted to another format.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum DecoratorsName {
    /// They stay in the text
    Keep,
    /// They become fields, for programs that do not read them
    Lift,
    /// Fields that the format does not have become decorators, if its programs read them
    Lower,
}

impl DecoratorsName {
    fn meant(self) -> Decorators {
        match self {
            Self::Keep => Decorators::Keep,
            Self::Lift => Decorators::Lift,
            Self::Lower => Decorators::Lower,
        }
    }
}

/// A file in another format.
pub(super) struct Converted {
    from: Format,
    to: Target,
    entries: usize,
    name: String,
    losses: Vec<Loss>,
    /// The same in words.
    lost: Vec<String>,
    /// What reading the result back shows; `None` if there is no way back.
    proof: Option<RoundTripProof>,
    made: Made,
}

enum Made {
    Bytes(Vec<u8>),
    Notes(Vec<WrittenNote>),
}

#[derive(Serialize)]
struct Report<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    from: Format,
    to: &'a str,
    entries: usize,
    losses: &'a [Loss],
    #[serde(skip_serializing_if = "Option::is_none")]
    way_back: Option<&'a RoundTripProof>,
}

impl Converted {
    /// Reads a file and puts it into the format of that name, or the one `to` is called
    /// for.
    pub(super) fn of(
        from: &Path,
        crossing: CrossingArguments,
        to: Option<&Path>,
        format: Option<&str>,
    ) -> anyhow::Result<Self> {
        let stem = files::stem(from);
        let named = format.map(Target::named).transpose()?;
        let imported = crossing.reading.read(from, &stem, &stem)?;
        let target = match (named, to) {
            (Some(target), _) => target,
            (None, Some(to)) => Target::guessed(to, &imported)?,
            (None, None) => anyhow::bail!("`--format` says what `{}` becomes", from.display()),
        };
        let decorators = crossing.decorators.meant();
        let (made, losses) = made(from, &imported, target, decorators)?;
        let proof = proof(&imported, target, &made);
        let entries = imported.book.entries.len();
        let lost = in_words(&imported.book, &losses);
        let name = Some(imported.book.name).filter(|name| !name.trim().is_empty());
        let name = file_name(&name.unwrap_or(stem));
        Ok(Self { from: imported.format, to: target, entries, name, losses, lost, proof, made })
    }

    /// Writes the file or the folder.
    pub(super) fn write(&self, to: &Path, force: bool) -> anyhow::Result<()> {
        match &self.made {
            Made::Notes(notes) => NotesFolder::new(to, force).write(&self.name, notes).map(drop),
            Made::Bytes(bytes) => {
                anyhow::ensure!(
                    force || !to.exists(),
                    "`{}` exists already: `--force` overwrites it",
                    to.display()
                );
                files::write(to, bytes)
            }
        }
    }

    /// The bytes of the file; an error for a vault, which is a folder.
    pub(super) fn bytes(&self) -> anyhow::Result<&[u8]> {
        match &self.made {
            Made::Bytes(bytes) => Ok(bytes),
            Made::Notes(_) => anyhow::bail!("a vault is a folder: say which"),
        }
    }

    /// Tells what was written and what it cannot say.
    pub(super) fn tell(
        &self,
        to: Option<&Path>,
        json: bool,
        out: &mut dyn Write,
    ) -> anyhow::Result<()> {
        let (entries, losses) = (self.entries, self.losses.as_slice());
        if json {
            let file = to.map(|to| to.display().to_string());
            let (to, way_back) = (self.to.as_str(), self.proof.as_ref());
            let report = Report { file, from: self.from, to, entries, losses, way_back };
            writeln!(out, "{}", serde_json::to_string(&report)?)?;
            return Ok(());
        }
        let name = to.map_or_else(|| self.name.clone(), |to| to.display().to_string());
        let entries = counted(entries as u64, "entry", "entries");
        writeln!(out, "{name}: {entries} as {}", self.to.as_str())?;
        print_losses(out, &self.lost)?;
        print_proof(out, losses.is_empty(), self.proof.as_ref())
    }
}

/// What the way back shows. A target without a way back proves nothing.
fn proof(imported: &Imported, target: Target, made: &Made) -> Option<RoundTripProof> {
    match (target, made) {
        (Target::File(format), Made::Bytes(bytes)) => {
            Some(prove(imported, bytes, format, limits()))
        }
        (Target::Vault | Target::File(_), _) => None,
    }
}

/// A book in another format, and what that has no place for.
fn made(
    from: &Path,
    imported: &Imported,
    target: Target,
    decorators: Decorators,
) -> anyhow::Result<(Made, Vec<Loss>)> {
    let format = match target {
        Target::File(format) => format,
        Target::Vault => {
            let notes = notes_of(&imported.book);
            let mut losses = imported.card.as_ref().map(card_losses).unwrap_or_default();
            losses.extend(notes.iter().flat_map(|note| note.losses.clone()));
            return Ok((Made::Notes(notes), losses));
        }
    };
    // A text that becomes another is all in the book; a picture, an archive or a file that
    // stays what it is has parts of its own.
    let container = imported.book.origin.as_ref().map(|origin| origin.container);
    let is_text = imported.format.container() == Container::Text
        && container.is_none_or(|container| container == Container::Text);
    let is_needed = imported.format == format || !is_text;
    let original = is_needed.then(|| files::read(from)).transpose()?;
    let character = character(from, imported)?;
    let card = imported.card.as_ref().or(character.as_ref());
    let original = original.as_deref();
    let exported = if let Some(card) = card.filter(|_| format == Format::Byaf) {
        let original = original.filter(|_| imported.format == format);
        let book = Some(&imported.book);
        export_character(&CharacterSource { card, book, original, picture: None }, format)
    } else {
        let limits = limits();
        let options =
            ExportOptions { card, original, decorators, limits, ..ExportOptions::default() };
        export(&imported.book, format, &options)
    };
    let exported =
        exported.with_context(|| format!("`{}` as {}", from.display(), format.as_str()))?;
    Ok((Made::Bytes(exported.bytes), exported.losses))
}

/// Backyard's character, which is read only when somebody asks for it.
fn character(from: &Path, imported: &Imported) -> anyhow::Result<Option<Card>> {
    if !matches!(imported.format, Format::Byaf | Format::ByafCharacter) {
        return Ok(None);
    }
    let options = ImportOptions { limits: limits(), ..ImportOptions::new("character") };
    let character = import_character(&files::read(from)?, &options).ok();
    Ok(character.map(|character| character.card))
}

/// What a format has no place for, and what the way back shows.
pub(super) fn losses(
    from: &Path,
    imported: &Imported,
    target: Target,
) -> anyhow::Result<(Vec<Loss>, Option<RoundTripProof>)> {
    let (made, losses) = made(from, imported, target, Decorators::Keep)?;
    let proof = proof(imported, target, &made);
    Ok((losses, proof))
}

/// A bar for so many files, drawn only on a terminal.
pub(super) fn progress(files: usize, json: bool) -> indicatif::ProgressBar {
    if json || files < 2 {
        return indicatif::ProgressBar::hidden();
    }
    indicatif::ProgressBar::new(files as u64)
}
