//! Mistakes in vaults.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::Context as _;
use loreloom_core::{
    dialects::vault::{
        Issue, IssueKind, Note, NoteSource, Setup, Severity, inspect_setup, inspect_use, join,
    },
    tokens::TokenCounter,
};
use loreloom_formats::vault::{
    NoteFile, NoteRead, NoteRules, Skip, WarningCode, fault, odd_values, read_note, repair,
};

use super::finding::Finding;
use crate::{
    files,
    vault::{
        RestAccess, RestVault, VaultSettings, admission_advice, error_chain, is_address,
        read_definitions, take_definitions,
    },
    vault_folder::{FolderLimits, Reading, VaultFolder},
};

/// Where files are kept as they were before a repair, inside the vault.
const BACKUP: &str = ".loreloom/backup";

/// Vaults with the texts of their files.
pub(super) struct VaultFiles {
    settings: VaultSettings,
    files: Vec<File>,
    /// What could not be read.
    problems: Vec<Finding>,
    /// What is known besides the notes.
    pub(super) setup: Setup,
}

struct File {
    /// The folder; none for an address, whose files are only read.
    root: Option<PathBuf>,
    vault: String,
    path: String,
    text: Arc<str>,
}

impl File {
    fn note(&self) -> NoteFile<'_> {
        NoteFile { vault: &self.vault, path: &self.path, text: &self.text }
    }

    /// The note, if it is one, and what is odd about how it is written.
    fn read(&self, rules: &NoteRules) -> (Option<Box<Note>>, Vec<Finding>) {
        let NoteRead { note, mut warnings } = read_note(self.note(), rules);
        let (path, fault) = (self.path.as_str(), fault(&self.text));
        let note = match note {
            Ok(note) => note,
            Err(skip) => {
                let is_lost = matches!(skip, Skip::NoFrontmatter | Skip::NoLoreTag)
                    && rules.tags.is_named_in(&self.text);
                let finding = match fault.filter(|_| is_lost) {
                    Some(fault) => Finding::of_fault(path, fault, true),
                    None => Finding::of_skip(path, skip),
                };
                return (None, vec![finding]);
            }
        };
        let fixable =
            !warnings.is_empty() && self.root.is_some() && repair(self.note(), rules).is_some();
        let not_yaml = warnings.iter().any(|one| one.code == WarningCode::NotYaml);
        let fault = fault.filter(|_| not_yaml).map(|fault| Finding::of_fault(path, fault, false));
        // Told with where and with what instead.
        warnings.retain(|one| !matches!(one.code, WarningCode::NotYaml | WarningCode::Invalid));
        let mut findings = Vec::from_iter(fault);
        for one in &warnings {
            findings.push(Finding::of_warning(path, one, fixable && one.is_repairable()));
        }
        findings.extend(odd_values(&self.text, rules).iter().map(|odd| Finding::of_odd(path, odd)));
        (Some(note), findings)
    }
}

impl VaultFiles {
    /// Reads all files.
    pub(super) fn read(
        places: &[&PathBuf],
        mut settings: VaultSettings,
        rest: &RestAccess,
    ) -> anyhow::Result<Self> {
        let (mut files, mut problems, mut setup) = (Vec::new(), Vec::new(), Setup::default());
        let ttl = settings.refreshing.ttl;
        for (at, place) in places.iter().enumerate() {
            let shown = place.display().to_string();
            let mut bad = Vec::new();
            let read = if is_address(place) {
                let vault = rest.open(&shown)?;
                let has_key = vault.has_key();
                let name = shown.clone();
                setup.sources.push(NoteSource {
                    name,
                    remote: true,
                    has_key,
                    ttl,
                    ..NoteSource::default()
                });
                served(vault, &mut settings, at == 0, &mut bad).map(|reading| (None, reading))
            } else {
                folder(place, &mut settings, at == 0, &mut bad)
                    .map(|(root, reading)| (Some(root), reading))
            };
            let (root, reading) = match read {
                Ok(read) => read,
                // Why a server of notes cannot be read is what lint is asked for.
                Err(error) if is_address(place) => {
                    if let Some(source) = setup.sources.last_mut() {
                        source.problems = vec![format!("{error:#}")];
                    }
                    continue;
                }
                Err(error) => return Err(error),
            };
            bad.extend(reading.problems.iter().map(|one| error_chain(one)));
            let shown = root.as_ref().map_or(shown, |root| root.display().to_string());
            let problem = |text| Finding::new(&shown, Severity::Error, "unreadable", text);
            if reading.notes.is_empty() && bad.is_empty() {
                let text = "no notes were found in it".to_owned();
                problems.push(Finding::new(&shown, Severity::Warning, "no_notes", text));
            }
            problems.extend(bad.into_iter().map(problem));
            let vault = match &root {
                _ if places.len() == 1 => String::new(),
                Some(root) => files::stem(root),
                None => shown.clone(),
            };
            files.extend(reading.notes.into_iter().map(|(path, text)| File {
                root: root.clone(),
                vault: vault.clone(),
                path,
                text,
            }));
        }
        Ok(Self { settings, files, problems, setup })
    }

    /// Repairs what can be; how many notes that were.
    pub(super) fn fix(&mut self) -> anyhow::Result<usize> {
        let mut repaired = 0;
        for file in &mut self.files {
            let Some(root) = &file.root else { continue };
            let Some(text) = repair(file.note(), &self.settings.reading) else { continue };
            let path = root.join(&file.path);
            // A link inside the vault is written through, so that it stays a link.
            let path = path.canonicalize().with_context(|| format!("`{}`", path.display()))?;
            keep(root, &file.path, &file.text)?;
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
            let (note, odd) = file.read(rules);
            findings.extend(odd);
            notes.extend(note.map(|note| note.counted(counter)));
        }
        let no_lore = (notes.is_empty() && !self.files.is_empty()).then(|| {
            let advice = admission_advice(self.files.iter().map(|file| &*file.text), rules);
            IssueKind::NoLore { vault: String::new(), files: self.files.len(), advice }
        });
        let notes = join(notes, self.settings.conflict, counter);
        let path = |title: &str| {
            notes.iter().find(|note| note.title == title).map_or("vault", |note| &note.path)
        };
        let mut issues = inspect_use(&notes, &self.settings.using);
        issues.extend(inspect_setup(&self.setup));
        issues.extend(no_lore.map(|kind| Issue { title: String::new(), kind }));
        findings.extend(
            issues.iter().map(|one| Finding::of_issue(path(&one.title), &one.title, &one.kind)),
        );
        findings
    }
}

/// Reads a folder; the first defines fields.
fn folder(
    place: &Path,
    settings: &mut VaultSettings,
    is_first: bool,
    bad: &mut Vec<String>,
) -> anyhow::Result<(PathBuf, Reading)> {
    let mut folder = VaultFolder::open(place, FolderLimits::default())?;
    let root = folder.root().to_owned();
    if is_first {
        read_definitions(&root, settings, bad);
    }
    Ok((root, folder.read()?))
}

/// Reads what a server of notes has.
fn served(
    mut vault: RestVault,
    settings: &mut VaultSettings,
    is_first: bool,
    bad: &mut Vec<String>,
) -> anyhow::Result<Reading> {
    let reading = vault.read()?;
    if is_first {
        take_definitions(vault.file(&settings.field_file), settings, bad);
    }
    Ok(reading)
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
