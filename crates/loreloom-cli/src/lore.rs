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
    dialects::{cards::CardMode, vault::Note},
    library::{Binding, Dialect, LibrarySource, Volume},
    regex_script::RegexScript,
    rules::{Profile, Rules},
    turn::{Near, Transcript},
    wrap::WrapFormat,
};
use loreloom_formats::{ImportOptions, Imported, Limits, Severity, dialect_of, import};
use loreloom_llm::embed::StaticEmbedder;
use loreloom_server::Lore;
use loreloom_server::lore_vectors::LoreVectors;

use crate::{
    commands::runtime,
    config::{Config, RulesConfig},
    files,
    limits::limits,
    vault::{
        Contents, Keeper, VaultArguments, VaultRulesArguments, VaultSettings, Vaults, is_address,
    },
};

/// Which lore is used, and by which rules.
#[derive(Clone, Debug, Args)]
pub(crate) struct LoreArguments {
    /// A lorebook file; may be given several times
    #[arg(long = "book", value_name = "FILE")]
    books: Vec<PathBuf>,

    #[command(flatten)]
    vaults: VaultArguments,

    #[command(flatten)]
    rules: RulesArguments,
}

/// The rules lore is woven by.
#[derive(Clone, Debug, Args)]
pub(crate) struct RulesArguments {
    /// The rules lore is matched by [default: loreloom]
    #[arg(long, value_enum)]
    profile: Option<ProfileName>,

    /// How books are read [default: auto]
    #[arg(long, value_enum)]
    dialect: Option<DialectName>,

    /// How many messages are scanned for keys
    #[arg(long, value_name = "MESSAGES")]
    depth: Option<u32>,

    /// The share of the context that lore may fill, in per cent
    #[arg(long, value_name = "PERCENT")]
    budget: Option<f64>,

    /// How each entry is wrapped: none, xml-minimal, xml-standard, xml-detailed,
    /// xml-maximum, markdown, lb, world-info or `custom:TEMPLATE` with `{{name}}`,
    /// `{{content}}` and so on [default: none]
    #[arg(long, value_name = "FORMAT")]
    wrap: Option<WrapFormat>,

    /// A `SillyTavern` regex script file, applied to entries on their way into the prompt;
    /// may be given several times
    #[arg(long = "regex-script", value_name = "FILE", value_parser = ScriptFile::read)]
    regex_scripts: Vec<ScriptFile>,

    /// How near in meaning to the newest messages an entry marked `vectorized` must be, as
    /// the cosine of their vectors
    #[arg(long, value_name = "COSINE")]
    near: Option<f64>,

    #[command(flatten)]
    vault: VaultRulesArguments,
}

/// The scripts of one file: `SillyTavern` exports one script or a list of them.
#[derive(Clone, Debug)]
struct ScriptFile(Vec<RegexScript>);

impl ScriptFile {
    fn read(path: &str) -> anyhow::Result<Self> {
        let bytes = files::read(Path::new(path))?;
        let json: serde_json::Value = serde_json::from_slice(&bytes)?;
        let scripts = json.as_array().cloned().unwrap_or_else(|| vec![json]);
        let scripts = scripts.into_iter().map(serde_json::from_value);
        let scripts: Vec<RegexScript> = scripts
            .collect::<Result<_, _>>()
            .context("a regex script needs at least `findRegex`")?;
        if let Some(bad) = scripts.iter().find(|script| !script.compiles()) {
            anyhow::bail!("`{}` is no regular expression", bad.find_regex);
        }
        Ok(Self(scripts))
    }
}

/// The rules lore is matched by.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum ProfileName {
    /// The peers' rules without their defects
    #[default]
    Loreloom,
    /// `SillyTavern` 1.19 to the letter
    #[value(name = "sillytavern-1.19")]
    SillyTavern119,
}

/// How books are read.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum DialectName {
    /// Books of cards with decorators as card books, all others as World Info
    #[default]
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

    /// How a book is read.
    pub(crate) fn of(self, book: &Book) -> Dialect {
        match self {
            Self::Auto => dialect_of(book),
            Self::WorldInfo => Dialect::WorldInfo,
            Self::Cards | Self::CardV3 | Self::Unorouter => Dialect::Cards,
        }
    }
}

impl LoreArguments {
    /// These arguments, and what the configuration says besides.
    pub(crate) fn under(&self, config: &Config) -> Self {
        let mut filled = self.clone();
        filled.rules.fill(&config.rules);
        for vault in &config.vaults {
            // An address stays as it is.
            let place = &vault.folder;
            let place = if is_address(place) { place.clone() } else { config.path(place) };
            filled.vaults.add(vault.name.clone(), place);
        }
        filled
    }

    /// The books of these arguments and the configuration, each with what it is attached to.
    pub(crate) fn mounted(&self, config: &Config) -> anyhow::Result<Vec<(Volume, Vec<Binding>)>> {
        let own = self.books.iter().map(|path| (path.clone(), vec![Binding::Everywhere], None));
        let configured = config.books.iter();
        let configured =
            configured.map(|book| (config.path(&book.file), book.to.clone(), book.dialect));
        let mut books: Vec<Arc<Book>> = Vec::new();
        let mut mounted = Vec::new();
        for (path, bindings, dialect) in own.chain(configured) {
            let book = Arc::new(load_book(&path, &files::stem(&path), &books)?);
            books.push(Arc::clone(&book));
            let dialect = dialect.unwrap_or(self.rules.dialect()).of(&book);
            mounted.push((Volume { book, dialect }, bindings));
        }
        Ok(mounted)
    }

    /// The same with a book that follows a character.
    pub(crate) fn load_with(&self, card: Option<(Arc<Book>, String)>) -> anyhow::Result<Lore> {
        let card = card.map(|(book, name)| (book, Binding::Character(name)));
        let global = self.books()?.into_iter().map(|book| (book, Binding::Everywhere));
        let mut rules = self.rules()?;
        let notes = match self.vaults()? {
            Some(mut vaults) => loaded(&mut vaults, &mut rules)?,
            None => Vec::new(),
        };
        let volumes = card.into_iter().chain(global).map(|(book, binding)| {
            let dialect = self.rules.dialect().of(&book);
            (Volume { book, dialect }, vec![binding])
        });
        Ok(Lore::compile(volumes, notes, rules, None)?)
    }

    /// The books, notes and rules these arguments name.
    pub(crate) fn library_source(&self) -> anyhow::Result<LibrarySource> {
        let mut rules = self.rules()?;
        let notes = match self.vaults()? {
            Some(mut vaults) => loaded(&mut vaults, &mut rules)?,
            None => Vec::new(),
        };
        Ok(LibrarySource { volumes: self.rules.volumes(self.books()?), notes, rules })
    }

    /// The vaults these arguments name.
    pub(crate) fn vaults(&self) -> anyhow::Result<Option<Vaults>> {
        self.vaults.open(&self.rules.vault)
    }

    /// Who keeps the vaults open that these arguments name, and others inside `roots`.
    pub(crate) fn keeper(&self, roots: Vec<PathBuf>) -> anyhow::Result<Keeper> {
        self.vaults.keeper(&self.rules.vault, roots)
    }

    /// How vaults are read and decided about.
    pub(crate) fn vault_settings(&self) -> anyhow::Result<VaultSettings> {
        self.rules.vault.settings()
    }

    /// Whether no lore is named at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.books.is_empty() && self.vaults.is_empty()
    }

    /// How a book is read that nobody has read before.
    pub(crate) fn dialect_of(&self, book: &Book) -> Dialect {
        self.rules.dialect().of(book)
    }

    /// The books these arguments name.
    pub(crate) fn books(&self) -> anyhow::Result<Vec<Arc<Book>>> {
        load_books(&self.books)
    }

    /// The rules these arguments name.
    pub(crate) fn rules(&self) -> anyhow::Result<Rules> {
        self.rules.rules()
    }
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
        books.push(Arc::new(load_book(path, &files::stem(path), &books)?));
    }
    Ok(books)
}

impl RulesArguments {
    /// Lorebooks and vaults as a source: what is a folder is a vault.
    pub(crate) fn library_source(&self, paths: &[PathBuf]) -> anyhow::Result<LibrarySource> {
        let (folders, files): (Vec<PathBuf>, Vec<PathBuf>) =
            paths.iter().cloned().partition(|path| path.is_dir());
        let mut rules = self.rules()?;
        let notes = match VaultArguments::of(&folders).open(&self.vault)? {
            Some(mut vaults) => loaded(&mut vaults, &mut rules)?,
            None => Vec::new(),
        };
        Ok(LibrarySource { volumes: self.volumes(load_books(&files)?), notes, rules })
    }

    fn dialect(&self) -> DialectName {
        self.dialect.unwrap_or_default()
    }

    /// What the configuration says where these arguments say nothing.
    fn fill(&mut self, config: &RulesConfig) {
        self.profile = self.profile.or(config.profile);
        self.dialect = self.dialect.or(config.dialect);
        self.depth = self.depth.or(config.depth);
        self.budget = self.budget.or(config.budget);
        self.near = self.near.or(config.near);
        if self.wrap.is_none() {
            self.wrap.clone_from(&config.wrap);
        }
    }

    fn volumes(&self, books: Vec<Arc<Book>>) -> Vec<Volume> {
        let volume = |book: Arc<Book>| Volume { dialect: self.dialect().of(&book), book };
        books.into_iter().map(volume).collect()
    }

    /// The rules these arguments name.
    pub(crate) fn rules(&self) -> anyhow::Result<Rules> {
        let profile = match self.profile.unwrap_or_default() {
            ProfileName::Loreloom => Profile::Loreloom,
            ProfileName::SillyTavern119 => Profile::SillyTavern119,
        };
        let mut rules = profile.rules();
        rules.cards = self.dialect().mode().rules();
        if let Some(depth) = self.depth {
            rules.world_info.depth = depth;
        }
        if let Some(percent) = self.budget {
            rules.world_info.budget_percent = percent;
        }
        if let Some(threshold) = self.near {
            rules.world_info.vectors.threshold = threshold;
        }
        let scripts = self.regex_scripts.iter().flat_map(|file| &file.0);
        rules.regex_scripts.extend(scripts.cloned());
        rules.wrap = self.wrap.clone().unwrap_or(WrapFormat::None);
        let vault = self.vault.settings()?;
        rules.vault = vault.using;
        rules.notebooks = vault.notebooks;
        Ok(rules)
    }
}

/// How files with lore are read.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct ReadingArguments {
    /// Split keys that are lists in one text, at `,`, `|` and `;`
    #[arg(long)]
    split_keys: bool,

    /// Overlook comments and commas too many, which JSON does not know
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
