//! Settings: what works, whether a file is right, what one means, and those of other programs.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use clap::{Args, Subcommand};
use loreloom_core::ids::TenantId;
use loreloom_ports::StoreError;
use loreloom_server::stored_settings;
use loreloom_settings::{
    Changes, ImportedSettings, SETTINGS, Setting, SettingError, SettingsView, StartSettings,
    TakesEffect, TomlView, find, find_for_program, import_settings, nearest, toml_text, toml_value,
};
use serde_json::{Value, json};

use super::serve::runtime;
use crate::{
    config::{Config, ConfigArguments, PARTS, edited},
    files,
    settings::SettingArguments,
    store::StoreArguments,
};

/// Show, check, explain and import settings.
#[derive(Debug, Args)]
pub(crate) struct ConfigCommand {
    #[command(subcommand)]
    what: What,

    #[command(flatten)]
    config: ConfigArguments,

    /// Print JSON for scripts
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Print the settings in effect as a configuration file: those of the file, the flags and
    /// changes made at the server
    Show(Show),
    /// Check whether a configuration file can be used
    Check {
        /// The file [default: as with `--config`]
        file: Option<PathBuf>,
    },
    /// Explain a setting, also by the name that `SillyTavern`, `DeepLore` or Smart Memory uses
    Explain {
        /// Its name
        name: String,
    },
    /// Convert the settings of `SillyTavern`, `DeepLore` or Smart Memory
    Import {
        /// Their settings file, such as `SillyTavern`'s settings.json
        file: PathBuf,

        /// Write them into the configuration file; without it they are printed
        #[arg(long)]
        write: bool,
    },
}

#[derive(Debug, Args)]
struct Show {
    /// Also print the settings that have their defaults, as comments
    #[arg(long)]
    all: bool,

    #[command(flatten)]
    settings: SettingArguments,

    #[command(flatten)]
    store: StoreArguments,
}

impl ConfigCommand {
    pub(super) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        match &self.what {
            What::Show(show) => show.run(&self.config, self.json, out),
            What::Check { file } => self.check(file.as_deref(), out),
            What::Explain { name } => self.explain(name, out),
            What::Import { file, write } => self.import(file, *write, out),
        }
    }

    fn check(&self, file: Option<&Path>, out: &mut dyn Write) -> anyhow::Result<()> {
        let file = match file {
            Some(file) => file.to_owned(),
            None => self.config.file().context("there is no configuration file to check")?,
        };
        let config = Config::read(&file)?;
        let started = StartSettings::resolve(config.settings.clone(), Changes::default())?;
        let values = started.view(&NOTHING_STORED)?;
        let changed = SETTINGS.iter().filter(|setting| values.is_changed(setting)).count();
        if self.json {
            let found = json!({
                "file": file, "settings": config.settings.iter().count(), "changed": changed,
                "connections": config.connections.len(), "books": config.books.len(),
                "vaults": config.vaults.len(),
            });
            return Ok(writeln!(out, "{found}")?);
        }
        writeln!(
            out,
            "`{}` can be used: {} settings, {} connections, {} books, {} vaults",
            file.display(),
            config.settings.iter().count(),
            config.connections.len(),
            config.books.len(),
            config.vaults.len()
        )?;
        Ok(())
    }

    fn explain(&self, name: &str, out: &mut dyn Write) -> anyhow::Result<()> {
        let unknown = || SettingError::Unknown { name: name.to_owned(), nearest: nearest(name) };
        let found = find(name).or_else(|| Some(find_for_program(name)?.1));
        let setting = found.ok_or_else(unknown)?;
        let config = self.config.read()?;
        let started = StartSettings::resolve(config.settings, Changes::default())?;
        let values = started.view(&NOTHING_STORED)?;
        if self.json {
            return Ok(writeln!(out, "{}", row(setting, &values))?);
        }
        explained(setting, &values, out)
    }

    fn import(&self, file: &Path, write: bool, out: &mut dyn Write) -> anyhow::Result<()> {
        let json: Value = serde_json::from_slice(&files::read(file)?)
            .with_context(|| format!("`{}` is not JSON", file.display()))?;
        let imported = import_settings(&json).with_context(|| format!("`{}`", file.display()))?;
        let target = if write { Some(self.write(&imported.changes)?) } else { None };
        if self.json {
            return Ok(writeln!(out, "{}", report(&imported, target.as_deref()))?);
        }
        if let Some(target) = &target {
            let count = imported.changes.iter().count();
            writeln!(out, "{count} settings were written to `{}`", target.display())?;
        } else {
            let started = StartSettings::resolve(imported.changes.clone(), Changes::default())?;
            write!(out, "{}", toml_text(&started, &NOTHING_STORED, TomlView::Changed)?)?;
        }
        // What is left out must not end up in a file that is made from this output.
        let mut stderr = io::stderr();
        for (program, name) in &imported.unmapped {
            let _unread =
                writeln!(stderr, "loreloom: `{name}` of {} means nothing here", program.as_str());
        }
        for refused in &imported.refused {
            let _unread = writeln!(stderr, "loreloom: left out: {refused}");
        }
        Ok(())
    }

    /// Writes settings into the configuration file. Returns the file.
    fn write(&self, changes: &Changes) -> anyhow::Result<PathBuf> {
        let file = self.config.target()?;
        let text = if file.is_file() {
            String::from_utf8(files::read(&file)?)
                .with_context(|| format!("`{}` must be UTF-8 text", file.display()))?
        } else {
            String::new()
        };
        let text = edited(&text, changes).with_context(|| format!("`{}`", file.display()))?;
        if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder)
                .with_context(|| format!("`{}` cannot be made", folder.display()))?;
        }
        files::write(&file, text.as_bytes())?;
        Ok(file)
    }
}

/// For commands that read no store.
static NOTHING_STORED: std::sync::LazyLock<Changes> = std::sync::LazyLock::new(Changes::default);

impl Show {
    fn run(
        &self,
        config: &ConfigArguments,
        as_json: bool,
        out: &mut dyn Write,
    ) -> anyhow::Result<()> {
        let file = config.file();
        let read = config.read()?;
        let started = self.settings.under(&read.settings).started(self.store.changes()?)?;
        let stored = runtime()?.block_on(stored(&StoreArguments::of(&started.settings.store)))?;
        if as_json {
            let values = started.view(&stored)?;
            let rows = SETTINGS.iter().filter(|row| self.all || values.is_changed(row));
            let rows: Vec<Value> = rows.map(|setting| row(setting, &values)).collect();
            return Ok(writeln!(out, "{}", serde_json::to_string_pretty(&rows)?)?);
        }
        let view = if self.all { TomlView::All } else { TomlView::Changed };
        let text = toml_text(&started, &stored, view)?;
        if text.is_empty() {
            writeln!(out, "# All settings have their defaults. `--all` shows them.")?;
        }
        write!(out, "{text}")?;
        if let Some(file) = file {
            write!(out, "{}", parts(&file)?)?;
        }
        Ok(())
    }
}

/// What is stored, if there is a store.
async fn stored(place: &StoreArguments) -> anyhow::Result<Changes> {
    match place.open().await {
        Ok(store) => Ok(stored_settings(store.as_ref(), &TenantId::local()).await?),
        Err(error) => match error.downcast_ref::<StoreError>() {
            Some(StoreError::Missing { .. }) => Ok(Changes::default()),
            _ => Err(error),
        },
    }
}

/// The connections, routes, books, vaults and chats of a file, as it has them.
fn parts(file: &Path) -> anyhow::Result<String> {
    let text = String::from_utf8(files::read(file)?)?;
    let mut table: toml::Table = text.parse()?;
    let features = table.get_mut("features").and_then(toml::Value::as_table_mut);
    if let Some(features) = features {
        features.remove("embedder_timeout_ms");
        features.remove("embedding_table");
    }
    table.retain(|key, value| {
        let is_empty = value.as_table().is_some_and(toml::Table::is_empty);
        !is_empty && (PARTS.contains(&key) || key == "features")
    });
    if table.is_empty() { Ok(String::new()) } else { Ok(format!("\n{}", toml::to_string(&table)?)) }
}

/// A setting for scripts.
fn row(setting: &Setting, values: &SettingsView<'_>) -> Value {
    let scopes: Vec<&str> = setting.scopes.iter().map(|scope| scope.as_str()).collect();
    let names = setting.names_elsewhere().into_iter();
    let elsewhere: Vec<Value> =
        names.map(|(program, name)| json!({"program": program.as_str(), "name": name})).collect();
    let profiles: serde_json::Map<String, Value> = setting
        .profile_values()
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    json!({
        "name": setting.name, "kind": setting.kind.as_str(), "rule": setting.rule(),
        "unit": setting.unit, "default": setting.default_value(), "profiles": profiles,
        "value": setting.shown(values.value(setting)), "source": values.source(setting),
        "changed": values.is_changed(setting), "scopes": scopes, "elsewhere": elsewhere,
        "flag": setting.flag, "takes_effect": setting.takes_effect, "help": setting.help,
    })
}

fn explained(
    setting: &Setting,
    values: &SettingsView<'_>,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let value = toml_value(&setting.shown(values.value(setting)));
    writeln!(out, "{}\n  {}\n", setting.name, setting.help)?;
    writeln!(out, "  value    {value} ({})", values.source(setting).as_str())?;
    writeln!(out, "  default  {}", toml_value(&setting.default_value()))?;
    for (name, value) in setting.profile_values() {
        writeln!(out, "  profile  {name}: {}", toml_value(&value))?;
    }
    writeln!(out, "  must be  {}", setting.rule())?;
    for (program, name) in setting.names_elsewhere() {
        writeln!(out, "  called   {name} in {}", program.as_str())?;
    }
    let (section, key) = setting.name.split_once('.').unwrap_or(("", setting.name));
    writeln!(out, "  file     {key} = {value} under [{section}]")?;
    match setting.flag {
        Some(flag) => writeln!(out, "  flag     --{flag} or --set {}=VALUE", setting.name)?,
        None => writeln!(out, "  flag     --set {}=VALUE", setting.name)?,
    }
    let scopes: Vec<&str> = setting.scopes.iter().map(|scope| scope.as_str()).collect();
    writeln!(out, "  for      {}", scopes.join(", "))?;
    let when = match setting.takes_effect {
        TakesEffect::AtOnce => "with the next turn",
        TakesEffect::AfterRestart => "when the server starts again",
        TakesEffect::AtStart => "only from the file and flags, when the server starts",
    };
    writeln!(out, "  changes  {when}")?;
    Ok(())
}

/// What an import found, for scripts.
fn report(imported: &ImportedSettings, target: Option<&Path>) -> Value {
    let unmapped: Vec<Value> = imported
        .unmapped
        .iter()
        .map(|(program, name)| json!({"program": program.as_str(), "name": name}))
        .collect();
    let programs: Vec<&str> = imported.programs.iter().map(|program| program.as_str()).collect();
    json!({
        "programs": programs, "settings": imported.changes, "unmapped": unmapped,
        "refused": imported.refused, "written": target,
    })
}
