//! Which vaults a command uses, and how their notes are read.

use std::path::{Path, PathBuf};

use clap::Args;
use loreloom_core::{dialects::vault::Conflict, rules::VaultUse};
use loreloom_formats::vault::NoteRules;
use loreloom_server::KeySource;
use loreloom_settings::{Changes, Settings, StartSettings};

use super::{
    Keeper, Vaults,
    rest::{Refreshing, RestAccess, is_address},
};

/// Which vaults are used.
#[derive(Clone, Debug, Args)]
pub(crate) struct VaultArguments {
    /// A folder of notes, such as an Obsidian vault, or the address of Obsidian's Local REST
    /// API; may be given several times, each with a name of its own
    #[arg(help_heading = "Vaults", long = "vault", value_name = "[NAME=]DIR|URL", value_parser = VaultPlace::parse)]
    vaults: Vec<VaultPlace>,

    #[command(flatten)]
    rest: RestAccess,
}

/// A vault's folder or address, and the name it was given.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct VaultPlace {
    pub(crate) name: Option<String>,
    pub(crate) folder: PathBuf,
    pub(crate) origin: VaultOrigin,
    /// What happens if it cannot be read when it is opened.
    pub(crate) patience: Patience,
    /// Its own settings.
    pub(crate) overrides: Changes,
}

/// What happens if a vault cannot be read when it is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Patience {
    /// Nothing is opened.
    #[default]
    MustBeThere,
    /// One that does not answer is waited for. A wrong key or certificate is an error.
    MayBeAway,
    /// It is waited for, whatever is wrong.
    MayWait,
}

/// Where a vault was named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum VaultOrigin {
    /// The arguments or the configuration. What is said for all vaults holds for it.
    #[default]
    AtStart,
    /// A call of the API.
    Registered {
        /// Where the key of its address comes from. It gets no other: that of the arguments is
        /// not for addresses that others name.
        key: Option<KeySource>,
        /// The certificate of that address.
        certificate: Option<String>,
        /// Whether it is being registered: then it must be there now, and is read anew.
        is_new: bool,
    },
}

impl VaultPlace {
    /// A vault without a name.
    pub(crate) fn unnamed(folder: &Path) -> Self {
        let (origin, overrides) = (VaultOrigin::AtStart, Changes::default());
        Self {
            name: None,
            folder: folder.to_owned(),
            origin,
            patience: Patience::default(),
            overrides,
        }
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

/// How notes become lore.
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
    /// When notes that cannot be watched are read again.
    pub(crate) refreshing: Refreshing,
}

impl VaultArguments {
    /// Folders without names.
    pub(crate) fn of(folders: &[PathBuf]) -> Self {
        let vaults = folders.iter().map(|folder| VaultPlace::unnamed(folder)).collect();
        Self { vaults, rest: RestAccess::default() }
    }

    /// One more.
    pub(crate) fn add(&mut self, name: Option<String>, folder: PathBuf, overrides: Changes) {
        let (origin, patience) = (VaultOrigin::AtStart, Patience::default());
        self.vaults.push(VaultPlace { name, folder, origin, patience, overrides });
    }

    /// Opens the vaults; `None` if there are none.
    pub(crate) fn open(&self, settings: VaultSettings) -> anyhow::Result<Option<Vaults>> {
        if self.vaults.is_empty() {
            return Ok(None);
        }
        Vaults::open(&self.vaults, &self.rest, settings).map(Some)
    }

    /// Who keeps them open for a server. Callers with a key may register others inside
    /// `roots`.
    pub(crate) fn keeper(&self, settings: VaultSettings, roots: Vec<PathBuf>) -> Keeper {
        Keeper::new(self.vaults.clone(), self.rest.clone(), settings, roots)
    }

    /// Whether none is named.
    pub(crate) fn is_empty(&self) -> bool {
        self.vaults.is_empty()
    }
}

impl VaultSettings {
    /// The part of the settings that vaults need.
    pub(crate) fn of(settings: &Settings) -> Self {
        let vault = &settings.vault;
        Self {
            using: vault.using(),
            reading: vault.reading.clone(),
            conflict: vault.conflicts,
            field_file: vault.field_file.clone(),
            refreshing: Refreshing::of(&vault.refresh),
        }
    }
}

/// How the notes of one vault are read: its own settings over those of all.
pub(super) fn own_reading(all: &NoteRules, overrides: &Changes) -> NoteRules {
    let mut settings = Settings::default();
    settings.vault.reading = all.clone();
    match StartSettings::of(settings).with(overrides) {
        // The fields come from the vault.
        Ok(own) => NoteRules { fields: all.fields.clone(), ..own.vault.reading },
        Err(_) => all.clone(),
    }
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
