//! Loading lorebooks from files.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use loreloom_core::{
    book::{Book, Entry},
    cards::{CardMode, Chain, Grammar, split},
    library::{Binding, Dialect, Volume},
    rules::{Profile, Rules},
    wrap::WrapFormat,
};
use loreloom_formats::{Format, ImportOptions, Imported, Severity, import};
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

/// How books are read.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum DialectName {
    /// Books of cards with decorators as card books, all others as World Info
    Auto,
    /// All as World Info: decorators other than `@@activate` and `@@dont_activate` do nothing
    WorldInfo,
    /// All as card books, by our own rules
    Cards,
    /// All as card books, by the letter of Character Card V3
    CardV3,
    /// All as card books, as `UnoRouter` runs them
    Unorouter,
}

impl DialectName {
    fn mode(self) -> CardMode {
        match self {
            Self::Auto | Self::WorldInfo | Self::Cards => CardMode::Loreloom,
            Self::CardV3 => CardMode::CardV3,
            Self::Unorouter => CardMode::Unorouter,
        }
    }

    fn of(self, book: &Book) -> Dialect {
        match self {
            Self::Cards | Self::CardV3 | Self::Unorouter => Dialect::Cards,
            // SillyTavern runs the books of cards as World Info: only decorators that it
            // does not know tell that a book was written for something else.
            Self::Auto if is_card_book(book) && book.entries.iter().any(has_decorators) => {
                Dialect::Cards
            }
            Self::Auto | Self::WorldInfo => Dialect::WorldInfo,
        }
    }
}

/// Whether a book is of a kind whose programs read decorators.
fn is_card_book(book: &Book) -> bool {
    let format = book.origin.as_ref().and_then(|origin| Format::from_name(&origin.format));
    format.is_some_and(|format| {
        let risu = [Format::Risu, Format::RisuModule, Format::RisuModuleJson];
        let books = [Format::CharacterBook, Format::LorebookV3];
        format.card().is_some() || risu.contains(&format) || books.contains(&format)
    })
}

fn has_decorators(entry: &Entry) -> bool {
    let block = split(&entry.content, Grammar::default());
    let known = ["activate", "dont_activate"];
    let mut names = block.chains.iter().flat_map(|Chain(lines)| lines).map(|line| &line.name);
    names.any(|name| !known.contains(&name.as_str()))
}

impl LoreArguments {
    /// The books and rules these arguments name.
    pub(crate) fn load(&self) -> anyhow::Result<Lore> {
        self.load_with(None, DialectName::WorldInfo)
    }

    /// The same with a book that follows a character, and with a choice of dialect.
    pub(crate) fn load_with(
        &self,
        card: Option<(Arc<Book>, String)>,
        dialect: DialectName,
    ) -> anyhow::Result<Lore> {
        let card = card.map(|(book, name)| (book, Binding::Character(name)));
        let global = self.books()?.into_iter().map(|book| (book, Binding::Everywhere));
        let mut rules = self.rules();
        rules.cards = dialect.mode().rules();
        let volumes = card.into_iter().chain(global).map(|(book, binding)| {
            let dialect = dialect.of(&book);
            (Volume { book, dialect }, vec![binding])
        });
        Ok(Lore::new(volumes, rules)?)
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
    read_book_called(path, path, id, name)
}

/// The same for a file that has another name than its own, as copies that git hands out.
pub(crate) fn read_book_called(
    path: &Path,
    called: &Path,
    id: &str,
    name: &str,
) -> anyhow::Result<Imported> {
    let options = ImportOptions {
        file_name: called.file_name().map(|name| name.to_string_lossy().into_owned()),
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
