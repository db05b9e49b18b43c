//! Looking for mistakes in lore before a story meets them.

mod book;
mod finding;
mod gaps;
mod vault;

use std::{io::Write, path::PathBuf, sync::Arc};

use clap::Args;
use loreloom_core::dialects::vault::{Selecting, Severity};
use loreloom_settings::Changes;

use crate::{
    config::ConfigArguments,
    settings::SettingArguments,
    tokenizer::TokenizerArguments,
    vault::{RestAccess, SelectorArguments, VaultSettings, is_address},
};

/// Look for mistakes in vaults and lorebooks.
///
/// Fails if it finds an error: something that never does what it says.
#[derive(Debug, Args)]
pub(crate) struct Lint {
    /// Folders of notes or addresses of Obsidian's Local REST API, and lorebook files; all
    /// folders and addresses are one set of vaults
    #[arg(value_name = "VAULT|BOOK", required = true)]
    paths: Vec<PathBuf>,

    /// Print one JSON object a line for scripts
    #[arg(long)]
    json: bool,

    /// Correct what is understood anyway in notes: spellings of fields, lists and numbers
    /// written as text. The original file is kept in the vault under `.loreloom/backup`
    #[arg(long)]
    fix: bool,

    /// Also fail on warnings
    #[arg(long)]
    strict: bool,

    /// A chat in which `DeepLore`'s Librarian looked for lore: titles that it missed repeatedly
    /// are reported; may be given several times
    #[arg(long = "chat", value_name = "FILE")]
    chats: Vec<PathBuf>,

    #[command(flatten)]
    settings: SettingArguments,

    #[command(flatten)]
    rest: RestAccess,

    #[command(flatten)]
    selector: SelectorArguments,

    #[command(flatten)]
    tokenizer: TokenizerArguments,

    #[command(flatten)]
    config: ConfigArguments,
}

impl Lint {
    pub(super) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let (folders, files): (Vec<&PathBuf>, Vec<&PathBuf>) =
            self.paths.iter().partition(|path| path.is_dir() || is_address(path));
        let mut findings = Vec::new();
        let mut repaired = 0;
        if !folders.is_empty() {
            let counter: Arc<_> = self.tokenizer.load()?;
            let settings = self.settings.under(&self.config.read()?.settings);
            let settings = settings.started(Changes::default())?.settings;
            let settings = VaultSettings::of(&settings);
            let selector = match &settings.using.selection {
                None => Selecting::Keys,
                Some(_) if self.selector.is_named() => Selecting::Model,
                Some(_) if self.config.read()?.features.selector.is_some() => Selecting::Model,
                Some(_) => Selecting::Nobody,
            };
            let mut vaults = vault::VaultFiles::read(&folders, settings, &self.rest)?;
            vaults.setup.selector = selector;
            for chat in &self.chats {
                vaults.setup.unmet.extend(gaps::unmet(chat)?);
            }
            if self.fix {
                repaired = vaults.fix()?;
            }
            findings.extend(vaults.findings(counter.as_ref()));
        }
        for file in files {
            findings.extend(book::findings(file)?);
        }
        for finding in &findings {
            finding.print(out, self.json)?;
        }
        let count = |severity| findings.iter().filter(|one| one.severity == severity).count();
        let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
        if !self.json {
            if repaired > 0 {
                writeln!(out, "{repaired} notes repaired")?;
            }
            writeln!(out, "{errors} errors, {warnings} warnings, {} hints", count(Severity::Hint))?;
        }
        out.flush()?;
        let fails = errors > 0 || (self.strict && warnings > 0);
        anyhow::ensure!(!fails, "the lore has {errors} errors and {warnings} warnings");
        Ok(())
    }
}
