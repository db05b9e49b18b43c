//! One file into another format: what `convert` and `export` share.

use std::{collections::HashMap, io::Write, path::Path};

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use loreloom_core::{
    book::{Book, Container},
    ids::EntryId,
};
use loreloom_formats::{
    Decorators, ExportOptions, Format, Imported, Loss, RoundTripProof, card_losses, export,
    own_words, prove,
    vault::{WrittenNote, file_name, notes_of},
};
use serde::Serialize;

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

    /// What becomes of decorators
    #[arg(long, value_enum, default_value_t = DecoratorsName::Keep)]
    decorators: DecoratorsName,
}

/// What becomes of decorators when a book crosses to another format.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum DecoratorsName {
    /// They stay in the text
    Keep,
    /// They become fields, for programs that do not read them
    Lift,
    /// Fields that the format has no word for become decorators, where its programs read them
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
    /// What the way back shows; none if there is none.
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
                    "`{}` is there already: `--force` writes over it",
                    to.display()
                );
                files::write(to, bytes)
            }
        }
    }

    /// The file itself; a vault is none.
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

/// How many lost fields are listed.
const SHOWN: usize = 20;

/// Says what the way back shows, and that nothing is lost if it shows that.
pub(super) fn print_proof(
    out: &mut dyn Write,
    no_losses: bool,
    proof: Option<&RoundTripProof>,
) -> anyhow::Result<()> {
    let Some(proof) = proof else {
        if no_losses {
            writeln!(out, "  no field without a place")?;
        }
        return Ok(());
    };
    if no_losses && proof.is_clean() {
        writeln!(out, "  nothing is lost")?;
    }
    if let Some(why) = &proof.untried {
        writeln!(out, "  the way back could not be tried: {why}")?;
    }
    if !proof.lost.is_empty() {
        writeln!(out, "  not there again after the way back:")?;
    }
    for one in proof.lost.iter().take(SHOWN) {
        writeln!(out, "    {} = {}", one.field, shortened(&one.value.to_string()))?;
    }
    if proof.lost.len() > SHOWN {
        writeln!(out, "    and {} more; `--json` has all", proof.lost.len() - SHOWN)?;
    }
    if let Some(first) = proof.gained.first() {
        let new = counted(proof.gained.len() as u64, "field", "fields");
        writeln!(out, "  new after the way back: {new}, such as `{first}`")?;
    }
    Ok(())
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
    let is_needed = imported.format == format || imported.format.container() != Container::Text;
    let original = is_needed.then(|| files::read(from)).transpose()?;
    let options = ExportOptions {
        card: imported.card.as_ref(),
        original: original.as_deref(),
        decorators,
        limits: limits(),
        ..ExportOptions::default()
    };
    let exported = export(&imported.book, format, &options)
        .with_context(|| format!("`{}` as {}", from.display(), format.as_str()))?;
    Ok((Made::Bytes(exported.bytes), exported.losses))
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

/// Prints what a format has no place for.
pub(super) fn print_losses(out: &mut dyn Write, lost: &[String]) -> anyhow::Result<()> {
    if lost.is_empty() {
        return Ok(());
    }
    writeln!(out, "  no place for:")?;
    for line in lost {
        writeln!(out, "    {line}")?;
    }
    Ok(())
}

/// What is lost of a book, in the words of its own format.
pub(super) fn in_words(book: &Book, losses: &[Loss]) -> Vec<String> {
    let titles: HashMap<&EntryId, &str> =
        book.entries.iter().map(|entry| (&entry.id, entry.title())).collect();
    let sentences = losses.iter().zip(own_words(book, losses)).map(|(loss, word)| {
        let (of, field) = match (&loss.entry, loss.field.strip_prefix("card.")) {
            (Some(id), _) => (titles.get(id).copied().unwrap_or(id.as_str()), word.as_str()),
            (None, Some(field)) => ("the character", field),
            (None, None) => ("the book", word.as_str()),
        };
        format!("{of}: {field} = {}", shortened(&loss.value.to_string()))
    });
    sentences.collect()
}

/// A value that fits on a line; `--json` has it whole.
fn shortened(value: &str) -> String {
    const MOST: usize = 100;
    if value.chars().count() <= MOST {
        return value.to_owned();
    }
    value.chars().take(MOST - 1).chain(['…']).collect()
}
