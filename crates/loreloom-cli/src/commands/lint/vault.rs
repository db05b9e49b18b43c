//! Mistakes in vaults.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::Context as _;
use loreloom_core::{
    tokens::TokenCounter,
    vault::{Note, Severity, inspect_use},
};
use loreloom_formats::vault::{NoteFile, NoteRead, NoteRules, read_note, repair};

use super::finding::Finding;
use crate::{
    files,
    vault::{VaultSettings, error_chain, read_definitions},
    vault_folder::{FolderLimits, VaultFolder},
};

/// Where files are kept as they were before a repair, inside the vault.
const BACKUP: &str = ".loreloom/backup";

/// Vaults with the texts of their files.
pub(super) struct VaultFiles {
    settings: VaultSettings,
    files: Vec<File>,
    /// What could not be read.
    problems: Vec<Finding>,
}

struct File {
    root: PathBuf,
    vault: String,
    path: String,
    text: Arc<str>,
}

impl File {
    fn note(&self) -> NoteFile<'_> {
        NoteFile { vault: &self.vault, path: &self.path, text: &self.text }
    }
}

impl VaultFiles {
    /// Reads all files.
    pub(super) fn read(folders: &[&PathBuf], mut settings: VaultSettings) -> anyhow::Result<Self> {
        let (mut files, mut problems) = (Vec::new(), Vec::new());
        for (at, folder) in folders.iter().enumerate() {
            let mut folder = VaultFolder::open(folder, FolderLimits::default())?;
            let root = folder.root().to_owned();
            let problem = |text: String| {
                Finding::new(&root.display().to_string(), Severity::Error, "unreadable", text)
            };
            if at == 0 {
                let mut bad = Vec::new();
                read_definitions(&root, &mut settings, &mut bad);
                problems.extend(bad.into_iter().map(problem));
            }
            let reading = folder.read()?;
            problems.extend(reading.problems.iter().map(|one| problem(error_chain(one))));
            let vault = if folders.len() > 1 { files::stem(&root) } else { String::new() };
            files.extend(reading.notes.into_iter().map(|(path, text)| File {
                root: root.clone(),
                vault: vault.clone(),
                path,
                text,
            }));
        }
        Ok(Self { settings, files, problems })
    }

    /// Repairs what can be; how many notes that were.
    pub(super) fn fix(&mut self) -> anyhow::Result<usize> {
        let mut repaired = 0;
        for file in &mut self.files {
            let Some(text) = repair(file.note(), &self.settings.reading) else { continue };
            let path = file.root.join(&file.path);
            // A link inside the vault is written through, so that it stays a link.
            let path = path.canonicalize().with_context(|| format!("`{}`", path.display()))?;
            keep(&file.root, &file.path, &file.text)?;
            files::write(&path, text.as_bytes())?;
            file.text = text.into();
            repaired += 1;
        }
        Ok(repaired)
    }

    /// All that is odd, file by file, then what is odd about the whole.
    pub(super) fn findings(self, counter: &dyn TokenCounter) -> Vec<Finding> {
        let rules: &NoteRules = &self.settings.reading;
        let mut findings = self.problems;
        let mut notes: Vec<Note> = Vec::new();
        for file in &self.files {
            let NoteRead { note, warnings } = read_note(file.note(), rules);
            let fixable = !warnings.is_empty() && repair(file.note(), rules).is_some();
            let fixes = |one: &loreloom_formats::vault::NoteWarning| fixable && one.is_repairable();
            let told = warnings.iter().map(|one| Finding::of_warning(&file.path, one, fixes(one)));
            match note {
                Ok(note) => {
                    findings.extend(told);
                    notes.push(note.counted(counter));
                }
                Err(skip) => findings.push(Finding::of_skip(&file.path, skip)),
            }
        }
        let path = |title: &str| {
            notes.iter().find(|note| note.title == title).map_or("vault", |note| &note.path)
        };
        let issues = inspect_use(&notes, &self.settings.using);
        findings.extend(
            issues.iter().map(|one| Finding::of_issue(path(&one.title), &one.title, &one.kind)),
        );
        findings
    }
}

/// Keeps a file as it was.
fn keep(root: &Path, inside: &str, text: &str) -> anyhow::Result<()> {
    let backup = root.join(BACKUP).join(inside);
    if let Some(folder) = backup.parent() {
        fs::create_dir_all(folder)
            .with_context(|| format!("`{}` cannot be made", folder.display()))?;
        let real = folder.canonicalize().with_context(|| format!("`{}`", folder.display()))?;
        anyhow::ensure!(real.starts_with(root), "`{BACKUP}` leads out of the vault");
    }
    files::write(&backup, text.as_bytes())
}
