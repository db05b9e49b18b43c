//! Named sets of values: our own and those of other programs.

use loreloom_core::{
    dialects::{
        cards::source_rules,
        vault::{OnFailure, VaultRules},
    },
    library::Dialect,
    rules::Profile,
};
use loreloom_formats::vault::NoteRules;
use loreloom_memory::rules::Rules as MemoryRules;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    ValueKind,
    changes::Changes,
    setting::Setting,
    table::SETTINGS,
    tree::{OnSelectorFailure, Settings},
};

/// The profile of each section that has some.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Profiles {
    /// World Info.
    pub world_info: Profile,
    /// Card books.
    pub cards: CardProfile,
    /// Vaults.
    pub vault: VaultProfile,
    /// Memory.
    pub memory: MemoryProfile,
}

/// The rules of books with the dialect `cards`: our own, or those of another dialect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "&'static str")]
pub struct CardProfile(Option<Dialect>);

impl CardProfile {
    const OWN: &str = "loreloom";
    /// Its values: our own, then every dialect whose rules have a name.
    pub(crate) const NAMES: [&str; Dialect::SOURCE_NAMES.len() + 1] = {
        let mut names = [Self::OWN; Dialect::SOURCE_NAMES.len() + 1];
        let (_, rest) = names.split_at_mut(1);
        rest.copy_from_slice(Dialect::SOURCE_NAMES);
        names
    };
}

impl TryFrom<String> for CardProfile {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        if name == Self::OWN {
            return Ok(Self(None));
        }
        let found = Dialect::from_name(&name).filter(|found| source_rules(*found).is_some());
        found.map(|dialect| Self(Some(dialect))).ok_or_else(|| {
            format!("`{name}` is no profile of card books; they are {}", Self::NAMES.join(", "))
        })
    }
}

impl From<CardProfile> for &'static str {
    fn from(CardProfile(dialect): CardProfile) -> Self {
        dialect.map_or(CardProfile::OWN, Dialect::as_str)
    }
}

/// The rules of vaults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum VaultProfile {
    /// Our own: `DeepLore`'s rules without its defects.
    #[default]
    #[serde(rename = "loreloom")]
    Loreloom,
    /// `DeepLore` 2.5 to the letter.
    #[serde(rename = "deeplore-2.x")]
    DeepLore2,
    /// `DeepLore` 2.0 to the letter.
    #[serde(rename = "deeplore-2.0")]
    DeepLore20,
}

/// The rules of memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum MemoryProfile {
    /// Our own.
    #[default]
    #[serde(rename = "loreloom")]
    Loreloom,
    /// Smart Memory 1.8 to the letter.
    #[serde(rename = "smart-memory-1.8")]
    SmartMemory18,
}

/// A profile of one section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProfileRow {
    /// Its name.
    pub name: &'static str,
    /// The section.
    pub section: &'static str,
    /// The setting that chooses it.
    pub setting: &'static str,
}

/// Whether a setting chooses a profile.
pub(crate) fn is_profile(name: &str) -> bool {
    name.ends_with(".profile")
}

/// The profiles besides our own, which each setting of a profile names first.
pub fn other_profiles() -> impl Iterator<Item = ProfileRow> {
    let rows = SETTINGS.iter().filter(|setting| is_profile(setting.name));
    rows.flat_map(|setting| {
        let names: &[&str] = if let ValueKind::Choice(names) = setting.kind { names } else { &[] };
        let others = names.iter().skip(1);
        others.map(|name| ProfileRow { name, section: setting.section(), setting: setting.name })
    })
}

impl Profiles {
    /// The profiles that changes choose; the others stay.
    pub(crate) fn of(changes: &Changes, before: Self) -> Self {
        fn chosen<T: DeserializeOwned>(changes: &Changes, name: &str, before: T) -> T {
            let value = changes.get(name).cloned();
            value.and_then(|value| serde_json::from_value(value).ok()).unwrap_or(before)
        }
        Self {
            world_info: chosen(changes, "world_info.profile", before.world_info),
            cards: chosen(changes, "cards.profile", before.cards),
            vault: chosen(changes, "vault.profile", before.vault),
            memory: chosen(changes, "memory.profile", before.memory),
        }
    }

    /// The sections whose profiles differ.
    pub(crate) fn differing(self, other: Self) -> Vec<&'static str> {
        let all = [
            ("world_info", self.world_info != other.world_info),
            ("cards", self.cards != other.cards),
            ("vault", self.vault != other.vault),
            ("memory", self.memory != other.memory),
        ];
        all.into_iter().filter_map(|(section, differs)| differs.then_some(section)).collect()
    }
}

impl Settings {
    /// The settings of profiles.
    pub fn of(profiles: Profiles) -> Self {
        let mut settings = Self { profiles, ..Self::default() };
        let world_info = profiles.world_info.rules();
        settings.lore.same_text = world_info.same_text;
        settings.world_info = world_info.world_info;
        settings.cards = profiles.cards.0.and_then(source_rules).unwrap_or_default();
        let vault = &mut settings.vault;
        (vault.rules, vault.reading) = match profiles.vault {
            VaultProfile::Loreloom => (VaultRules::default(), NoteRules::default()),
            VaultProfile::DeepLore2 => (VaultRules::deeplore_2(), NoteRules::deeplore_2()),
            VaultProfile::DeepLore20 => (VaultRules::deeplore_2_0(), NoteRules::deeplore_2_0()),
        };
        if profiles.vault != VaultProfile::Loreloom {
            vault.selection.on_failure = OnSelectorFailure::from(OnFailure::Matches);
        }
        settings.memory.rules = match profiles.memory {
            MemoryProfile::Loreloom => MemoryRules::default(),
            MemoryProfile::SmartMemory18 => MemoryRules::smart_memory_1_8(),
        };
        settings
    }
}

impl Setting {
    /// Its values in the profiles of its section, where they differ from the default.
    pub fn profile_values(&self) -> Vec<(&'static str, Value)> {
        if is_profile(self.name) {
            return Vec::new();
        }
        let default = self.default_value();
        let rows = other_profiles().filter(|row| row.section == self.section());
        let value = |row: ProfileRow| {
            let mut changes = Changes::default();
            changes.set_text(row.setting, row.name).ok()?;
            let profiles = Profiles::of(&changes, Profiles::default());
            let value = self.value(&Settings::of(profiles));
            (value != default).then_some((row.name, value))
        };
        rows.filter_map(value).collect()
    }
}
