//! Which vaults a command uses, and by which rules.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use loreloom_core::{
    dialects::vault::{Conflict, OnFailure, SelectionRules, VaultRules},
    notebook::NotebookRules,
    rules::VaultUse,
    units::Tokens,
};
use loreloom_formats::vault::{NoteRules, TagNames, clamp_known, rules_of};
use loreloom_server::KeySource;
use loreloom_server::vault_select::AskRules;
use serde_json::{Map, Value};

use super::{
    Keeper, Vaults,
    choosing::{SelectionArguments, asking},
    notebooks::NotebookArguments,
    rest::{Refreshing, RestArguments, is_address},
};
use crate::files;

/// Which vaults are used.
#[derive(Clone, Debug, Args)]
pub(crate) struct VaultArguments {
    /// A folder of notes, such as an Obsidian vault, or the address of Obsidian's Local REST
    /// API; may be given several times, each with a name of its own
    #[arg(help_heading = "Vaults", long = "vault", value_name = "[NAME=]DIR|URL", value_parser = VaultPlace::parse)]
    vaults: Vec<VaultPlace>,

    #[command(flatten)]
    rest: RestArguments,
}

/// How notes are read and decided about.
#[derive(Clone, Debug, Args)]
pub(crate) struct VaultRulesArguments {
    /// The rules a vault's notes are matched by
    #[arg(help_heading = "Vaults", long, value_enum, default_value_t = VaultProfile::Loreloom)]
    vault_profile: VaultProfile,

    /// What happens to notes of the same title in several vaults [default: all]
    #[arg(help_heading = "Vaults", long, value_enum)]
    vault_conflicts: Option<ConflictName>,

    /// `DeepLore`'s settings as a JSON object: `scanDepth`, `maxTokensBudget`,
    /// `lorebookTag` and so on
    #[arg(help_heading = "Vaults", long, value_name = "FILE")]
    vault_settings: Option<PathBuf>,

    /// How many messages are scanned for the keys of notes
    #[arg(help_heading = "Vaults", long, value_name = "MESSAGES")]
    vault_depth: Option<u32>,

    /// How many notes may be woven in
    #[arg(help_heading = "Vaults", long, value_name = "NOTES")]
    vault_entries: Option<u32>,

    /// How many tokens notes may take
    #[arg(help_heading = "Vaults", long, value_name = "TOKENS")]
    vault_budget: Option<u32>,

    /// The text of notes brings in more notes
    #[arg(help_heading = "Vaults", long)]
    vault_recursion: bool,

    /// Notes also come in by what they are about (BM25), without a key
    #[arg(help_heading = "Vaults", long)]
    vault_fuzzy: bool,

    /// World Info also looks for its keys in what the vaults wove in
    #[arg(help_heading = "Vaults", long)]
    vault_feeds_books: bool,

    #[command(flatten)]
    selection: SelectionArguments,

    #[command(flatten)]
    notebooks: NotebookArguments,
}

/// A vault's folder or address, and the name it was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct VaultPlace {
    pub(crate) name: Option<String>,
    pub(crate) folder: PathBuf,
    pub(crate) told: VaultTold,
}

/// Who told of a vault.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum VaultTold {
    /// The arguments or the configuration. What is said for all vaults holds for it.
    #[default]
    AtStart,
    /// A call of the API.
    Registered {
        /// Where the key of its address comes from. It gets no other: that of the arguments is
        /// not for addresses that others name.
        key: Option<KeySource>,
        /// Whether it is being registered: then it must be there now, and is read anew.
        is_new: bool,
    },
}

impl VaultPlace {
    /// A vault without a name.
    pub(crate) fn unnamed(folder: &Path) -> Self {
        Self { name: None, folder: folder.to_owned(), told: VaultTold::AtStart }
    }

    /// Reads `NAME=DIR` or `DIR`; a folder whose own name has a `=` is a folder.
    fn parse(text: &str) -> anyhow::Result<Self> {
        let whole = Self::unnamed(Path::new(text));
        match text.split_once('=') {
            Some((name, folder)) if !whole.folder.is_dir() && !is_address(&whole.folder) => {
                let name = name.trim();
                anyhow::ensure!(!name.is_empty(), "a vault's name may not be blank");
                anyhow::ensure!(!name.contains(':'), "a vault's name may not contain `:`");
                Ok(Self { name: Some(name.to_owned()), ..Self::unnamed(Path::new(folder)) })
            }
            Some(_) | None => Ok(whole),
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum VaultProfile {
    /// `DeepLore`'s rules without its defects
    Loreloom,
    /// `DeepLore` 2.5 to the letter
    #[value(name = "deeplore-2.x")]
    DeepLore2,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ConflictName {
    /// All stay
    All,
    /// The first vault's stays
    First,
    /// The last vault's stays
    Last,
    /// They become one note
    Merge,
}

impl From<ConflictName> for Conflict {
    fn from(name: ConflictName) -> Self {
        match name {
            ConflictName::All => Self::All,
            ConflictName::First => Self::First,
            ConflictName::Last => Self::Last,
            ConflictName::Merge => Self::Merge,
        }
    }
}

/// How notes become lore: what `--vault-…` arguments and a settings file come to.
#[derive(Clone, Debug)]
pub(crate) struct VaultSettings {
    /// How a turn is decided.
    pub(crate) using: VaultUse,
    /// How files are read.
    pub(crate) reading: NoteRules,
    /// Notes of the same title.
    pub(crate) conflict: Conflict,
    /// The file with the vault's own fields.
    pub(crate) field_file: String,
    /// How a choosing model is asked.
    pub(crate) asking: AskRules,
    /// How notebooks take part.
    pub(crate) notebooks: NotebookRules,
    /// When notes that cannot be watched are read again.
    pub(crate) refreshing: Refreshing,
}

/// Where `DeepLore` keeps the definitions of a vault's fields.
const FIELD_FILE: &str = "DeepLore/field-definitions.yaml";

impl VaultArguments {
    /// Folders without names.
    pub(crate) fn of(folders: &[PathBuf]) -> Self {
        let vaults = folders.iter().map(|folder| VaultPlace::unnamed(folder)).collect();
        Self { vaults, rest: RestArguments::default() }
    }

    /// One more.
    pub(crate) fn add(&mut self, name: Option<String>, folder: PathBuf) {
        self.vaults.push(VaultPlace { name, folder, told: VaultTold::AtStart });
    }

    /// Opens the vaults; `None` if there are none.
    pub(crate) fn open(&self, rules: &VaultRulesArguments) -> anyhow::Result<Option<Vaults>> {
        if self.vaults.is_empty() {
            return Ok(None);
        }
        Vaults::open(&self.vaults, &self.rest, rules.settings()?).map(Some)
    }

    /// Who keeps them open for a server. Callers with a key may register others inside
    /// `roots`.
    pub(crate) fn keeper(
        &self,
        rules: &VaultRulesArguments,
        roots: Vec<PathBuf>,
    ) -> anyhow::Result<Keeper> {
        Ok(Keeper::new(self.vaults.clone(), self.rest.clone(), rules.settings()?, roots))
    }

    /// Whether none is named.
    pub(crate) fn is_empty(&self) -> bool {
        self.vaults.is_empty()
    }
}

impl VaultRulesArguments {
    /// What the arguments and the settings file come to; arguments win.
    pub(crate) fn settings(&self) -> anyhow::Result<VaultSettings> {
        let mut file = match &self.vault_settings {
            Some(path) => settings_file(path)?,
            None => Map::new(),
        };
        clamp_known(&mut file);
        let (own, reading) = match self.vault_profile {
            VaultProfile::Loreloom => (VaultRules::default(), NoteRules::default()),
            VaultProfile::DeepLore2 => (VaultRules::deeplore_2(), NoteRules::deeplore_2()),
        };
        let mut rules = rules_of(&file, own);
        rules.keys.depth = self.vault_depth.unwrap_or(rules.keys.depth);
        rules.budget.entries = self.vault_entries.or(rules.budget.entries);
        rules.budget.tokens = self.vault_budget.map(Tokens).or(rules.budget.tokens);
        rules.recursion.enabled |= self.vault_recursion;
        rules.fuzzy.enabled |= self.vault_fuzzy;
        rules.order.by_confidence |= self.selection.vault_by_confidence;
        let choosing = match self.vault_profile {
            VaultProfile::Loreloom => SelectionRules::default(),
            VaultProfile::DeepLore2 => {
                SelectionRules { on_failure: OnFailure::Matches, ..SelectionRules::default() }
            }
        };
        let is_on = |name: &str| file.get(name) == Some(&Value::Bool(true));
        let text = |name: &str| file.get(name).and_then(Value::as_str).map(str::trim);
        let feeds_world_info = self.vault_feeds_books || is_on("allowWIScan");
        let lenient = file.get("lenientAuthoring").and_then(Value::as_bool);
        let conflict = match (self.vault_conflicts, text("multiVaultConflictResolution")) {
            (Some(name), _) => name.into(),
            (None, Some("first")) => Conflict::First,
            (None, Some("last")) => Conflict::Last,
            (None, Some("merge")) => Conflict::Merge,
            (None, _) => Conflict::All,
        };
        let field_file = text("fieldDefinitionsPath").filter(|path| !path.is_empty());
        Ok(VaultSettings {
            using: VaultUse {
                rules,
                feeds_world_info,
                selection: self.selection.rules(&file, choosing),
                ..VaultUse::default()
            },
            asking: asking(&file),
            notebooks: self.notebooks.rules(&file),
            refreshing: Refreshing::of(&file),
            reading: NoteRules {
                tags: tags(&file),
                lenient: lenient.unwrap_or(reading.lenient),
                ..reading
            },
            conflict,
            field_file: field_file.unwrap_or(FIELD_FILE).to_owned(),
        })
    }
}

/// A settings file: `DeepLore`'s own object, or SillyTavern's with it inside.
fn settings_file(path: &Path) -> anyhow::Result<Map<String, Value>> {
    let json: Value = serde_json::from_slice(&files::read(path)?)
        .with_context(|| format!("`{}` is not JSON", path.display()))?;
    let inside = json.pointer("/extension_settings/deeplore_enhanced");
    let inside = inside.or_else(|| json.pointer("/extension_settings/deeplore"));
    match inside.unwrap_or(&json) {
        Value::Object(settings) => Ok(settings.clone()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            anyhow::bail!("settings are a JSON object, `{}` holds none", path.display())
        }
    }
}

fn tags(settings: &Map<String, Value>) -> TagNames {
    let mut tags = TagNames::default();
    for (name, tag) in [
        ("lorebookTag", &mut tags.lore),
        ("constantTag", &mut tags.constant),
        ("neverInsertTag", &mut tags.never),
        ("seedTag", &mut tags.seed),
        ("bootstrapTag", &mut tags.bootstrap),
        ("guideTag", &mut tags.guide),
    ] {
        if let Some(found) = settings.get(name).and_then(Value::as_str) {
            found.trim().trim_start_matches('#').clone_into(tag);
        }
    }
    tags
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vault_may_have_a_name() {
        for (text, name, folder) in [
            ("notes", None, "notes"),
            ("main=notes", Some("main"), "notes"),
            ("main=a=b", Some("main"), "a=b"),
            ("http://127.0.0.1:27123/?a=b", None, "http://127.0.0.1:27123/?a=b"),
            ("o=https://127.0.0.1:27124", Some("o"), "https://127.0.0.1:27124"),
        ] {
            let place = VaultPlace::parse(text).unwrap();
            assert_eq!((place.name.as_deref(), place.folder.as_path()), (name, Path::new(folder)));
        }
        for text in ["=notes", "a:b=notes"] {
            VaultPlace::parse(text).unwrap_err();
        }
    }
}
