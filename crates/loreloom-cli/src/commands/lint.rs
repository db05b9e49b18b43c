//! Looking for mistakes in lore before a story meets them.

mod book;
mod finding;
mod vault;

use std::{io::Write, path::PathBuf, sync::Arc};

use clap::Args;
use loreloom_core::vault::Severity;

use crate::{tokenizer::TokenizerArguments, vault::VaultRulesArguments};

/// Look for mistakes in vaults and lorebooks.
///
/// Fails if it finds an error: something that never does what it says.
#[derive(Debug, Args)]
pub(crate) struct Lint {
    /// Folders of notes, and lorebook files; all folders are one set of vaults
    #[arg(value_name = "VAULT|BOOK", required = true)]
    paths: Vec<PathBuf>,

    /// Print one JSON object a line for scripts
    #[arg(long)]
    json: bool,

    /// Put right in notes what is read all the same: spellings of fields, lists and numbers
    /// written as text. The file as it was is kept in the vault under `.loreloom/backup`
    #[arg(long)]
    fix: bool,

    /// Also fail on warnings
    #[arg(long)]
    strict: bool,

    #[command(flatten)]
    rules: VaultRulesArguments,

    #[command(flatten)]
    tokenizer: TokenizerArguments,
}

impl Lint {
    pub(super) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let (folders, files): (Vec<&PathBuf>, Vec<&PathBuf>) =
            self.paths.iter().partition(|path| path.is_dir());
        let mut findings = Vec::new();
        let mut repaired = 0;
        if !folders.is_empty() {
            let counter: Arc<_> = self.tokenizer.load()?;
            let settings = self.rules.settings()?;
            let mut vaults = vault::VaultFiles::read(&folders, settings)?;
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
