//! Loading lorebooks from files.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use loreloom_core::{
    book::Book,
    library::{Binding, Volume},
    rules::{Profile, Rules},
    wrap::WrapFormat,
};
use loreloom_formats::{ImportOptions, Imported, Severity, import};
use loreloom_server::Lore;

use crate::files;

/// Which lore is used, and by which rules.
#[derive(Clone, Debug, Args)]
pub(crate) struct LoreArguments {
    /// A lorebook file; may be given several times
    #[arg(long = "book", value_name = "FILE")]
    books: Vec<PathBuf>,

    #[command(flatten)]
    rules: RulesArguments,
}

/// The rules lore is woven by.
#[derive(Clone, Debug, Args)]
pub(crate) struct RulesArguments {
    /// The rules lore is matched by
    #[arg(long, value_enum, default_value_t = ProfileName::Loreloom)]
    profile: ProfileName,

    /// How many messages are scanned for keys
    #[arg(long, value_name = "MESSAGES")]
    depth: Option<u32>,

    /// The share of the context that lore may fill, in per cent
    #[arg(long, value_name = "PERCENT")]
    budget: Option<f64>,

    /// How each entry is wrapped: none, xml-minimal, xml-standard, xml-detailed,
    /// xml-maximum, markdown, lb, world-info or `custom:TEMPLATE` with `{{name}}`,
    /// `{{content}}` and so on
    #[arg(long, default_value_t = WrapFormat::None, value_name = "FORMAT")]
    wrap: WrapFormat,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ProfileName {
    /// The peers' rules without their defects
    Loreloom,
    /// `SillyTavern` 1.19 to the letter
    #[value(name = "sillytavern-1.19")]
    SillyTavern119,
}

impl LoreArguments {
    /// The books and rules these arguments name.
    pub(crate) fn load(&self) -> anyhow::Result<Lore> {
        self.load_with(None)
    }

    /// The same with a book that follows a character.
    pub(crate) fn load_with(&self, card: Option<(Volume, String)>) -> anyhow::Result<Lore> {
        let card = card.map(|(volume, name)| (volume, vec![Binding::Character(name)]));
        let global = self.books()?.into_iter();
        let global = global.map(|book| (Volume::world_info(book), vec![Binding::Everywhere]));
        Ok(Lore::new(card.into_iter().chain(global), self.rules())?)
    }

    /// The books these arguments name.
    pub(crate) fn books(&self) -> anyhow::Result<Vec<Arc<Book>>> {
        load_books(&self.books)
    }

    /// The rules these arguments name.
    pub(crate) fn rules(&self) -> Rules {
        self.rules.rules()
    }
}

/// Loads books, each with the name of its file as its id.
pub(crate) fn load_books(paths: &[PathBuf]) -> anyhow::Result<Vec<Arc<Book>>> {
    let mut books: Vec<Arc<Book>> = Vec::new();
    for path in paths {
        books.push(Arc::new(load_book(path, &files::stem(path), &books)?));
    }
    Ok(books)
}

impl RulesArguments {
    /// The rules these arguments name.
    pub(crate) fn rules(&self) -> Rules {
        let profile = match self.profile {
            ProfileName::Loreloom => Profile::Loreloom,
            ProfileName::SillyTavern119 => Profile::SillyTavern119,
        };
        let mut rules = profile.rules();
        if let Some(depth) = self.depth {
            rules.world_info.depth = depth;
        }
        if let Some(percent) = self.budget {
            rules.world_info.budget_percent = percent;
        }
        rules.wrap = self.wrap.clone();
        rules
    }
}

/// Reads a lorebook or card of any format; `name` is the book's where the file has none.
pub(crate) fn read_book(path: &Path, id: &str, name: &str) -> anyhow::Result<Imported> {
    let options = ImportOptions {
        file_name: path.file_name().map(|name| name.to_string_lossy().into_owned()),
        ..ImportOptions::new(id).named(name)
    };
    import(&files::read(path)?, &options).with_context(|| format!("`{}`", path.display()))
}

fn load_book(path: &Path, id: &str, others: &[Arc<Book>]) -> anyhow::Result<Book> {
    let taken = |id: &str| others.iter().any(|book| book.id.as_str() == id);
    let mut numbered = (2..).map(|number| format!("{id}-{number}"));
    let id =
        if taken(id) { numbered.find(|id| !taken(id)).unwrap_or_default() } else { id.to_owned() };
    let imported = read_book(path, &id, &files::stem(path))?;
    for note in imported.notes.iter().filter(|note| note.severity == Severity::Warning) {
        // The book is usable; a warning that cannot be shown must not stop that.
        let _unwritten = writeln!(io::stderr(), "loreloom: `{}`: {note}", path.display());
    }
    Ok(imported.book)
}
