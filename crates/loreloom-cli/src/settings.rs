//! Settings on the command line: `--set`, profiles, and short flags that come from the table.

use std::{
    marker::PhantomData,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use clap::{
    Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, builder::PossibleValuesParser,
};
use loreloom_settings::{
    Changes, SETTINGS, Setting, SettingError, StartSettings, ValueKind, find, import_settings,
    other_profiles,
};
use serde_json::Value;

use crate::files;

/// `--set`.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct SetArguments {
    /// Set any setting; may be given several times. `loreloom config explain NAME` explains one,
    /// docs/settings.md lists all. `@FILE` reads a list or an object from a JSON file
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = pair)]
    set: Vec<(String, Value)>,
}

impl SetArguments {
    /// What is set, over other flags.
    pub(crate) fn over(&self, mut flags: Changes) -> Result<Changes, SettingError> {
        for (name, value) in &self.set {
            flags.set(name, value.clone())?;
        }
        Ok(flags)
    }
}

/// The settings that a command sets.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct SettingArguments {
    #[command(flatten)]
    set: SetArguments,

    /// Use exactly the rules of another program; may be given several times
    #[arg(long = "profile", value_name = "PROFILE", value_parser = profile_names())]
    profiles: Vec<String>,

    /// A settings file of `DeepLore`, `SillyTavern` or Smart Memory
    #[arg(help_heading = "Vaults", long, value_name = "FILE")]
    vault_settings: Option<PathBuf>,

    #[command(flatten)]
    flags: Flags<LoreFlags>,

    /// What the configuration file says.
    #[arg(skip)]
    configured: Changes,
}

impl SettingArguments {
    /// These arguments over the settings of a configuration file.
    pub(crate) fn under(&self, configured: &Changes) -> Self {
        Self { configured: configured.clone(), ..self.clone() }
    }

    /// What the files and flags add up to. `more` are flags of the command itself.
    pub(crate) fn started(&self, more: Changes) -> anyhow::Result<StartSettings> {
        let mut file = self.configured.clone();
        if let Some(path) = &self.vault_settings {
            file = file.then(imported(path)?);
        }
        let mut flags = Changes::default();
        for name in &self.profiles {
            choose_profile(&mut flags, name)?;
        }
        let flags = flags.then(self.flags.changes.clone()).then(more);
        Ok(StartSettings::resolve(file, self.set.over(flags)?)?)
    }
}

/// The settings of another program's file.
fn imported(path: &Path) -> anyhow::Result<Changes> {
    let json: Value = serde_json::from_slice(&files::read(path)?)
        .with_context(|| format!("`{}` is not JSON", path.display()))?;
    let imported = import_settings(&json).with_context(|| format!("`{}`", path.display()))?;
    anyhow::ensure!(
        imported.refused.is_empty(),
        "`{}`: {}",
        path.display(),
        imported.refused.join("; ")
    );
    Ok(imported.changes)
}

/// Reads `NAME=VALUE`; `NAME=@FILE` reads a JSON file.
fn pair(text: &str) -> anyhow::Result<(String, Value)> {
    let mut changes = Changes::default();
    match text.split_once('=') {
        Some((name, file)) if file.starts_with('@') && takes_file(name) => {
            let name = name.trim();
            let bytes = files::read(Path::new(&file[1..]))?;
            let value: Value = serde_json::from_slice(&bytes)
                .with_context(|| format!("`{}` is not JSON", &file[1..]))?;
            // SillyTavern exports one script or a list of them.
            let is_one = name == "lore.regex_scripts" && value.is_object();
            changes.set(name, if is_one { Value::Array(vec![value]) } else { value })?;
        }
        Some(_) | None => changes.set_pair(text)?,
    }
    let mut all = changes.iter().map(|(name, value)| (name.to_owned(), value.clone()));
    all.next().context("nothing is set")
}

fn takes_file(name: &str) -> bool {
    let kind = find(name.trim()).map(|setting| setting.kind);
    matches!(kind, Some(ValueKind::Data | ValueKind::Texts))
}

fn profile_names() -> PossibleValuesParser {
    let others = other_profiles().map(|profile| profile.name);
    PossibleValuesParser::new(std::iter::once("loreloom").chain(others))
}

/// Chooses a profile for its section; our own for all sections.
fn choose_profile(flags: &mut Changes, name: &str) -> Result<(), SettingError> {
    for profile in other_profiles() {
        if name == "loreloom" || profile.name == name {
            flags.set_text(profile.setting, name)?;
        }
    }
    Ok(())
}

/// Sections whose short flags a command has.
pub(crate) trait FlagSections {
    const SECTIONS: &'static [&'static str];
}

/// Flags of lore and its rules.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LoreFlags;
/// Flags of what a chat does not say.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StoryFlags;
/// Flags of the server.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ServerFlags;

impl FlagSections for LoreFlags {
    const SECTIONS: &'static [&'static str] =
        &["lore", "world_info", "cards", "vault", "notebooks"];
}
impl FlagSections for StoryFlags {
    const SECTIONS: &'static [&'static str] = &["story"];
}
impl FlagSections for ServerFlags {
    const SECTIONS: &'static [&'static str] = &["weaving", "connection", "server"];
}

/// The short flags of some sections.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flags<S> {
    pub(crate) changes: Changes,
    sections: PhantomData<S>,
}

fn rows<S: FlagSections>() -> impl Iterator<Item = (&'static Setting, &'static str)> {
    let rows = SETTINGS.iter().filter(|setting| S::SECTIONS.contains(&setting.section()));
    rows.filter_map(|setting| Some((setting, setting.flag?)))
}

/// Settings whose flags `--help` leaves out, to stay short. `config explain` names them.
const RARE: [&str; 1] = ["lore.wi_format"];

/// Where help lists the flags of a section; `None` for the general options.
fn heading(section: &str) -> Option<&'static str> {
    match section {
        "vault" => Some("Vaults"),
        "lore" | "world_info" | "cards" | "notebooks" => Some("Lore"),
        "story" => Some("Story"),
        "weaving" => Some("Weaving"),
        _ => None,
    }
}

/// What help calls a value.
fn value_name(setting: &Setting) -> &'static str {
    match (setting.unit, setting.kind) {
        ("tokens", _) => "TOKENS",
        ("messages", _) => "MESSAGES",
        ("ms", _) => "MS",
        ("%", _) => "PERCENT",
        (_, ValueKind::Switch) => "BOOL",
        (_, ValueKind::Integer { .. } | ValueKind::Number { .. }) => "NUMBER",
        (_, ValueKind::Choice(_)) => "WORD",
        (_, ValueKind::Text | ValueKind::Texts | ValueKind::Data) => "TEXT",
    }
}

impl<S: FlagSections> Args for Flags<S> {
    fn augment_args(command: Command) -> Command {
        rows::<S>().fold(command, |command, (setting, flag)| {
            let words = match setting.kind {
                ValueKind::Choice(words) => format!(": {}", words.join(", ")),
                ValueKind::Switch
                | ValueKind::Integer { .. }
                | ValueKind::Number { .. }
                | ValueKind::Text
                | ValueKind::Texts
                | ValueKind::Data => String::new(),
            };
            let help = setting.help.trim_end_matches('.');
            let help = format!("{help}{words} [{}]", setting.name);
            let argument = Arg::new(setting.name)
                .long(flag)
                .value_name(value_name(setting))
                .help(help)
                .help_heading(heading(setting.section()))
                .hide(RARE.contains(&setting.name))
                .action(ArgAction::Set)
                .value_parser(move |text: &str| {
                    let value = setting.read_text(text)?;
                    let mut tried = Changes::default();
                    tried.set(setting.name, value.clone()).map(|()| value)
                });
            command.arg(argument)
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<S: FlagSections> FromArgMatches for Flags<S> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut changes = Changes::default();
        for (setting, _) in rows::<S>() {
            if let Some(value) = matches.get_one::<Value>(setting.name) {
                changes.set(setting.name, value.clone()).map_err(|error| {
                    clap::Error::raw(clap::error::ErrorKind::ValueValidation, error)
                })?;
            }
        }
        Ok(Self { changes, sections: PhantomData })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
