//! Loading lorebooks from files.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::Context as _;
use clap::Args;
use loreloom_core::{
    book::Book,
    dialects::vault::Note,
    library::{Binding, Dialect, LibrarySource, Volume},
    rules::Rules,
    turn::{Near, Transcript},
};
use loreloom_formats::{ImportOptions, Imported, Limits, Severity, import};
use loreloom_llm::embed::StaticEmbedder;
use loreloom_server::Lore;
use loreloom_server::lore_vectors::LoreVectors;
use loreloom_settings::{Changes, Settings, StartSettings, override_book};

use crate::{
    commands::runtime,
    config::Config,
    files,
    limits::limits,
    settings::SettingArguments,
    vault::{Contents, Keeper, VaultArguments, VaultSettings, Vaults, is_address},
};

/// Which lore is used, and by which settings.
#[derive(Clone, Debug, Args)]
pub(crate) struct LoreArguments {
    /// A lorebook file; may be given several times
    #[arg(help_heading = "Lore", long = "book", value_name = "FILE")]
    books: Vec<PathBuf>,

    #[command(flatten)]
    vaults: VaultArguments,

    #[command(flatten)]
    settings: SettingArguments,
}

impl LoreArguments {
    /// These arguments, and what the configuration says besides.
    pub(crate) fn under(&self, config: &Config) -> Self {
        let mut filled = self.clone();
        filled.settings = self.settings.under(&config.settings);
        for vault in &config.vaults {
            // An address stays as it is.
            let place = &vault.folder;
            let place = if is_address(place) { place.clone() } else { config.path(place) };
            filled.vaults.add(vault.name.clone(), place, vault.overrides.clone());
        }
        filled
    }

    /// What files and flags add up to; `more` are flags of the command itself.
    pub(crate) fn started(&self, more: Changes) -> anyhow::Result<StartSettings> {
        self.settings.started(more)
    }

    /// The settings, for commands without flags of their own.
    pub(crate) fn settings(&self) -> anyhow::Result<Settings> {
        Ok(self.started(Changes::default())?.settings)
    }

    /// The books these arguments and the configuration name, each with what it is attached to.
    pub(crate) fn mounted(
        &self,
        config: &Config,
        settings: &Settings,
    ) -> anyhow::Result<Vec<(Volume, Vec<Binding>)>> {
        let mut books: Vec<Arc<Book>> = Vec::new();
        let mut mounted = Vec::new();
        for path in &self.books {
            let (book, bindings) = load_book(path, &files::stem(path), &books)?;
            let book = Arc::new(book);
            books.push(Arc::clone(&book));
            let dialect = settings.lore.dialect.of(&book);
            let bindings = bindings.unwrap_or_else(|| vec![Binding::Everywhere]);
            mounted.push((Volume { book, dialect }, bindings));
        }
        for one in &config.books {
            let path = config.path(&one.file);
            let (mut book, _) = load_book(&path, &files::stem(&path), &books)?;
            override_book(&mut book, &one.overrides);
            let book = Arc::new(book);
            books.push(Arc::clone(&book));
            let own = one.overrides.get("lore.dialect").cloned();
            let own = own.map(serde_json::from_value).transpose()?;
            let dialect = one.dialect.or(own).unwrap_or(settings.lore.dialect);
            let dialect = dialect.of(&book);
            mounted.push((Volume { book, dialect }, one.to.clone()));
        }
        Ok(mounted)
    }

    /// The lore with a book that is attached to a character.
    pub(crate) fn load_with(
        &self,
        card: Option<(Arc<Book>, String)>,
        settings: &Settings,
    ) -> anyhow::Result<Lore> {
        let card = card.map(|(book, name)| (book, Binding::Character(name)));
        let global = self.books()?.into_iter().map(|book| (book, Binding::Everywhere));
        let mut rules = settings.rules();
        let notes = match self.vaults.open(VaultSettings::of(settings))? {
            Some(mut vaults) => loaded(&mut vaults, &mut rules)?,
            None => Vec::new(),
        };
        let volumes = card.into_iter().chain(global).map(|(book, binding)| {
            let dialect = settings.lore.dialect.of(&book);
            (Volume { book, dialect }, vec![binding])
        });
        Ok(Lore::compile(volumes, notes, rules, None)?)
    }

    /// The books, notes and rules these arguments name.
    pub(crate) fn library_source(&self, settings: &Settings) -> anyhow::Result<LibrarySource> {
        source_of(self.books()?, &self.vaults, settings)
    }

    /// Who keeps the vaults open that these arguments name, and others inside `roots`.
    pub(crate) fn keeper(&self, settings: &Settings) -> Keeper {
        let roots = settings.server.vault_roots.clone();
        self.vaults.keeper(VaultSettings::of(settings), roots)
    }

    /// Whether no lore is named at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.books.is_empty() && self.vaults.is_empty()
    }

    /// How a book is read that nobody has read before.
    pub(crate) fn dialect_of(&self, book: &Book) -> anyhow::Result<Dialect> {
        Ok(self.settings()?.lore.dialect.of(book))
    }

    /// The books these arguments name.
    pub(crate) fn books(&self) -> anyhow::Result<Vec<Arc<Book>>> {
        load_books(&self.books)
    }
}

/// Lorebooks and vaults as a source: a folder is a vault.
pub(crate) fn source_of_paths(
    paths: &[PathBuf],
    settings: &Settings,
) -> anyhow::Result<LibrarySource> {
    let (folders, files): (Vec<PathBuf>, Vec<PathBuf>) =
        paths.iter().cloned().partition(|path| path.is_dir());
    source_of(load_books(&files)?, &VaultArguments::of(&folders), settings)
}

fn source_of(
    books: Vec<Arc<Book>>,
    vaults: &VaultArguments,
    settings: &Settings,
) -> anyhow::Result<LibrarySource> {
    let mut rules = settings.rules();
    let notes = match vaults.open(VaultSettings::of(settings))? {
        Some(mut vaults) => loaded(&mut vaults, &mut rules)?,
        None => Vec::new(),
    };
    let volume = |book: Arc<Book>| {
        let dialect = settings.lore.dialect.of(&book);
        Volume { book, dialect }
    };
    Ok(LibrarySource { volumes: books.into_iter().map(volume).collect(), notes, rules })
}

/// Reads vaults and takes over the fields they define.
pub(crate) fn loaded(vaults: &mut Vaults, rules: &mut Rules) -> anyhow::Result<Vec<Arc<Note>>> {
    let Contents { notes, fields } = vaults.load()?;
    rules.vault.fields = fields;
    Ok(notes)
}

/// The entries whose meaning is near to what was said last, by the embedder in the binary.
pub(crate) fn near(lore: &Lore, transcript: &Transcript) -> anyhow::Result<Vec<Near>> {
    let (library, rules) = (lore.library(), lore.rules());
    let mut entries = library.books().iter().flat_map(|book| &book.entries);
    if !entries.any(|entry| rules.world_info.vectors.compares(entry)) {
        return Ok(Vec::new());
    }
    let embedder = StaticEmbedder::embedded();
    Ok(runtime()?.block_on(async {
        let vectors = LoreVectors::of(library, rules, embedder, None).await?;
        vectors.near(library, transcript, rules, embedder).await
    })?)
}

/// Loads books, each with the name of its file as its id.
pub(crate) fn load_books(paths: &[PathBuf]) -> anyhow::Result<Vec<Arc<Book>>> {
    let mut books: Vec<Arc<Book>> = Vec::new();
    for path in paths {
        books.push(Arc::new(load_book(path, &files::stem(path), &books)?.0));
    }
    Ok(books)
}

/// How files with lore are read.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct ReadingArguments {
    /// Split keys that are lists in one text, at `,`, `|` and `;`
    #[arg(long)]
    split_keys: bool,

    /// Accept comments and surplus commas, which JSON does not allow
    #[arg(long)]
    relaxed: bool,
}

impl ReadingArguments {
    /// The options to read a file with that is called so.
    pub(crate) fn options(self, called: &Path, id: &str, name: &str) -> ImportOptions {
        ImportOptions {
            file_name: called.file_name().map(|name| name.to_string_lossy().into_owned()),
            split_keys: self.split_keys,
            relaxed: self.relaxed,
            limits: limits(),
            ..ImportOptions::new(id).named(name)
        }
    }

    /// Reads a lorebook or card of any format; `name` is the book's where the file has none.
    pub(crate) fn read(self, path: &Path, id: &str, name: &str) -> anyhow::Result<Imported> {
        read(path, &self.options(path, id, name))
    }
}

/// Reads a lorebook or card of any format; `name` is the book's where the file has none.
pub(crate) fn read_book(path: &Path, id: &str, name: &str) -> anyhow::Result<Imported> {
    ReadingArguments::default().read(path, id, name)
}

/// How a file of that name is read.
pub(crate) fn reading(called: &Path, id: &str, name: &str) -> ImportOptions {
    ReadingArguments::default().options(called, id, name)
}

fn read(path: &Path, options: &ImportOptions) -> anyhow::Result<Imported> {
    let bytes = files::read_limited(path, Limits::which_of_file(&files::head(path, 16)?))?;
    import(&bytes, options).with_context(|| format!("`{}`", path.display()))
}

/// A book, and what it is attached to if it is a card's.
fn load_book(
    path: &Path,
    id: &str,
    others: &[Arc<Book>],
) -> anyhow::Result<(Book, Option<Vec<Binding>>)> {
    let taken = |id: &str| others.iter().any(|book| book.id.as_str() == id);
    let mut numbered = (2..).map(|number| format!("{id}-{number}"));
    let id =
        if taken(id) { numbered.find(|id| !taken(id)).unwrap_or_default() } else { id.to_owned() };
    let imported = read_book(path, &id, &files::stem(path))?;
    for note in imported.notes.iter().filter(|note| note.severity == Severity::Warning) {
        // The book is usable; a warning that cannot be shown must not stop that.
        let _unwritten = writeln!(io::stderr(), "loreloom: `{}`: {note}", path.display());
    }
    let bindings = imported.card.map(|card| card.own_bindings());
    Ok((imported.book, bindings))
}
