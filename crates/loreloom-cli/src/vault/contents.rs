//! The notes of all vaults, read once and then only where files changed.

use std::{
    collections::BTreeMap,
    io::{self, Write as _},
    path::{Component, Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, RwLock},
    time::{Duration, Instant},
};

use anyhow::Context as _;
use loreloom_core::{
    dialects::vault::{Conflict, FieldDefinition, Note, NoteNaming, NoteSource, join, tell_apart},
    report::Warning,
    tokens::ByteEstimate,
    units::Tokens,
};
use loreloom_formats::vault::{NoteFile, NoteRead, NoteRules, read_fields, read_note};
use loreloom_llm::obsidian::ObsidianError;
use tokio_util::sync::{CancellationToken, DropGuard};

use loreloom_settings::{Changes, override_note};

use super::{
    advice::admission_advice,
    arguments::{Patience, VaultOrigin, VaultPlace, VaultSettings, own_reading},
    rest::{Freshness, Refreshing, RestAccess, RestVault, is_address},
};
use crate::vault_folder::{
    FolderLimits, Reading, VaultFolder, is_same,
    watch::{Watch, watch},
};

/// How long a folder must be quiet before it is read again. Long enough for an editor to
/// finish a save, short enough that nobody waits.
const QUIET: Duration = Duration::from_millis(20);

/// From so many changed files on, they are read on several threads.
const MANY: usize = 200;

/// What the vaults hold.
#[derive(Clone, Debug)]
pub(crate) struct Contents {
    /// The notes that are lore, of all vaults in order. Their tokens are not counted.
    pub(crate) notes: Vec<Arc<Note>>,
    /// The fields that the first vault defines.
    pub(crate) fields: Vec<FieldDefinition>,
}

/// Vaults that are open.
#[derive(Debug)]
pub(crate) struct Vaults {
    sources: Vec<Source>,
    settings: VaultSettings,
    refreshing: Refreshing,
    states: SourceStates,
    /// What was said about vaults without lore.
    noticed: Vec<String>,
}

/// How each vault was read last, for readers while the vaults are watched.
#[derive(Clone, Debug, Default)]
pub(crate) struct SourceStates(Arc<RwLock<Vec<SourceState>>>);

#[derive(Clone, Debug)]
struct SourceState {
    source: NoteSource,
    /// When all of it was read.
    read: Option<Instant>,
    /// When the last turn was.
    turn: Option<Instant>,
}

impl SourceStates {
    /// What is known now.
    pub(crate) fn list(&self) -> Vec<NoteSource> {
        let states = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let aged = |state: &SourceState| NoteSource {
            age: state.read.map(|read| read.elapsed()),
            turn: state.turn.map(|turn| turn.elapsed()),
            ..state.source.clone()
        };
        states.iter().map(aged).collect()
    }

    fn add(&self, source: NoteSource) {
        let state = SourceState { source, read: None, turn: None };
        self.0.write().unwrap_or_else(PoisonError::into_inner).push(state);
    }

    /// Keeps that a turn is decided with what was read.
    pub(crate) fn tell_turn(&self) {
        let mut states = self.0.write().unwrap_or_else(PoisonError::into_inner);
        for state in states.iter_mut() {
            state.turn = Some(Instant::now());
        }
    }

    /// Whether a vault behind an address could not be read when it was tried last.
    pub(super) fn have_failed(&self) -> bool {
        let states = self.0.read().unwrap_or_else(PoisonError::into_inner);
        states.iter().any(|state| state.source.remote && !state.source.problems.is_empty())
    }

    /// The vaults behind an address whose notes are as they were read before: those that failed,
    /// or all of them if reading is late.
    pub(super) fn old(&self, is_late: bool) -> Vec<Warning> {
        let old = self.list().into_iter().filter(|source| source.remote).filter_map(|source| {
            let late = || is_late.then(|| "it did not answer in time".to_owned());
            let reason = source.problems.first().cloned().or_else(late)?;
            let seconds = source.age.map(|age| age.as_secs());
            Some(Warning::OldNotes { vault: source.name, seconds, reason })
        });
        old.collect()
    }

    /// Keeps how many notes a vault has, and what to do if none of them is lore.
    fn tell_notes(&self, at: usize, files: usize, advice: Option<String>) {
        let mut states = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(state) = states.get_mut(at) {
            (state.source.files, state.source.advice) = (files, advice);
        }
    }

    /// Keeps the result of reading a vault.
    fn tell(&self, at: usize, problems: Vec<String>, was_read: bool) {
        let mut states = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let Some(state) = states.get_mut(at) else { return };
        state.source.problems = problems;
        if was_read {
            state.read = Some(Instant::now());
        }
    }
}

/// A vault that is open.
#[derive(Debug)]
struct Source {
    name: String,
    place: Place,
    /// What happens if it cannot be read when it is opened.
    patience: Patience,
    /// The settings of this vault alone.
    overrides: Changes,
    read: BTreeMap<String, (Arc<str>, Option<Arc<Note>>)>,
}

/// Where a vault's notes are.
#[derive(Debug)]
enum Place {
    Folder(VaultFolder),
    Rest(RestVault),
}

impl Place {
    fn open(
        VaultPlace { folder: place, origin, .. }: &VaultPlace,
        rest: &RestAccess,
    ) -> anyhow::Result<Self> {
        if is_address(place) {
            let url = place.to_string_lossy();
            return Ok(Self::Rest(match origin {
                VaultOrigin::AtStart => rest.open(&url)?,
                VaultOrigin::Registered { key, certificate, is_new } => {
                    let access = (key.as_ref(), certificate.as_deref());
                    rest.open_registered(&url, access, *is_new)?
                }
            }));
        }
        Ok(Self::Folder(VaultFolder::open(place, FolderLimits::default())?))
    }

    /// The name of a vault that was given none.
    fn name(&self, place: &Path) -> String {
        let name = match self {
            Self::Folder(folder) => {
                folder.root().file_name().map(|name| name.to_string_lossy().into_owned())
            }
            Self::Rest(_) => Some(place.to_string_lossy().into_owned()),
        };
        name.unwrap_or_default().replace(':', "-")
    }

    fn read(&mut self, touched: &[PathBuf]) -> anyhow::Result<Reading> {
        match self {
            Self::Folder(folder) => {
                folder.forget(touched);
                folder.read()
            }
            // What changed in a folder is no reason to ask somebody else.
            Self::Rest(rest) if touched.is_empty() => rest.read(),
            Self::Rest(rest) => Ok(rest.as_read()),
        }
    }

    /// The notes as they were read last, if they ever were.
    fn as_read(&self) -> Option<Reading> {
        match self {
            Self::Folder(folder) => folder.as_read(),
            Self::Rest(rest) => rest.is_known().then(|| rest.as_read()),
        }
    }

    fn file(&self, path: &str) -> anyhow::Result<Option<String>> {
        match self {
            Self::Folder(folder) => read_inside(folder.root(), path),
            Self::Rest(rest) => rest.file(path),
        }
    }

    fn root(&self) -> Option<&Path> {
        match self {
            Self::Folder(folder) => Some(folder.root()),
            Self::Rest(_) => None,
        }
    }
}

impl Vaults {
    /// Opens vaults. Several vaults need names.
    pub(crate) fn open(
        places: &[VaultPlace],
        rest: &RestAccess,
        settings: VaultSettings,
    ) -> anyhow::Result<Self> {
        let mut sources: Vec<Source> = Vec::new();
        for wanted @ VaultPlace { name, folder, patience, overrides, .. } in places {
            let (place, patience) = (Place::open(wanted, rest)?, *patience);
            let name = match name {
                Some(name) => name.clone(),
                None if places.len() > 1 => place.name(folder),
                None => String::new(),
            };
            anyhow::ensure!(
                sources.iter().all(|other| other.name != name),
                "two vaults are called `{name}`: name them with `--vault NAME=DIR`"
            );
            let (overrides, read) = (overrides.clone(), BTreeMap::new());
            sources.push(Source { name, place, patience, overrides, read });
        }
        let refreshing = settings.refreshing;
        let states = SourceStates::default();
        for source in &sources {
            let (remote, has_key) = match &source.place {
                Place::Folder(_) => (false, false),
                Place::Rest(vault) => (true, vault.has_key()),
            };
            let (name, ttl) = (source.name.clone(), refreshing.ttl.filter(|_| remote));
            states.add(NoteSource { name, remote, has_key, ttl, ..NoteSource::default() });
        }
        Ok(Self { sources, settings, refreshing, states, noticed: Vec::new() })
    }

    /// How each is read.
    pub(crate) fn states(&self) -> SourceStates {
        self.states.clone()
    }

    /// Reads the vaults, and prints problems on standard error.
    pub(crate) fn load(&mut self) -> anyhow::Result<Contents> {
        self.load_with(|problem| {
            // The vault is usable, even if a problem cannot be printed.
            let _unwritten = writeln!(io::stderr(), "loreloom: {problem}");
        })
    }

    /// Reads the vaults for a server: problems go into its log.
    pub(crate) fn load_for_server(&mut self) -> anyhow::Result<Contents> {
        self.load_with(|problem| tracing::warn!("{problem}"))
    }

    fn load_with(&mut self, say: impl Fn(&str)) -> anyhow::Result<Contents> {
        let (_, mut problems) = self.refresh(&[])?;
        problems.extend(self.new_notices());
        for problem in problems {
            say(&problem);
        }
        self.contents()
    }

    /// What keeps the notes of vaults from being lore and was not said before.
    fn new_notices(&mut self) -> Vec<String> {
        let reading = &self.settings.reading;
        let notices: Vec<String> =
            self.sources.iter().filter_map(|source| source.notice(reading)).collect();
        let before = std::mem::replace(&mut self.noticed, notices.clone());
        notices.into_iter().filter(|notice| !before.contains(notice)).collect()
    }

    /// Reads again what changed: whether anything did, and what could not be read.
    fn refresh(&mut self, touched: &[PathBuf]) -> anyhow::Result<(bool, Vec<String>)> {
        let mut problems = Vec::new();
        let anew = self.refresh_fields(&mut problems);
        let mut changed = anew;
        for (at, source) in self.sources.iter_mut().enumerate() {
            let is_asked = touched.is_empty() || source.place.root().is_some();
            let reading = match source.place.read(touched) {
                Ok(reading) => reading,
                // One that cannot be read now stays as it was, and does not hold up others.
                Err(error) => match source.place.as_read() {
                    Some(reading) => {
                        problems.push(format!("{error:#}"));
                        self.states.tell(at, vec![format!("{error:#}")], false);
                        if anew || source.read.is_empty() {
                            source.read.clear();
                            source.take(reading.notes, &self.settings.reading);
                            changed = true;
                        }
                        continue;
                    }
                    None if source.waits_after(&error) => {
                        problems.push(format!("{error:#}"));
                        self.states.tell(at, vec![format!("{error:#}")], false);
                        continue;
                    }
                    None => return Err(error),
                },
            };
            let found: Vec<String> =
                reading.problems.iter().map(|problem| error_chain(problem)).collect();
            if is_asked {
                self.states.tell(at, found.clone(), true);
            }
            problems.extend(found);
            if anew {
                source.read.clear();
            }
            if reading.changed || anew {
                source.take(reading.notes, &self.settings.reading);
                changed = true;
            }
        }
        for (at, source) in self.sources.iter().enumerate().filter(|_| changed) {
            let advice = source.advice(&self.settings.reading);
            self.states.tell_notes(at, source.read.len(), advice);
        }
        Ok((changed, problems))
    }

    /// Reads the definitions of the first vault's fields; whether they changed.
    fn refresh_fields(&mut self, problems: &mut Vec<String>) -> bool {
        let Some(first) = self.sources.first() else { return false };
        let found = first.place.file(&self.settings.field_file);
        take_definitions(found, &mut self.settings, problems)
    }

    /// The notes as they were read last.
    fn contents(&self) -> anyhow::Result<Contents> {
        let mut notes: Vec<Arc<Note>> = self.sources.iter().flat_map(Source::notes).collect();
        if self.settings.using.rules.names == NoteNaming::Any {
            tell_apart(&mut notes);
        }
        anyhow::ensure!(u32::try_from(notes.len()).is_ok(), "too many notes: {}", notes.len());
        let notes = match self.settings.conflict {
            Conflict::All => notes,
            conflict @ (Conflict::First | Conflict::Last | Conflict::Merge) => {
                let notes = notes.into_iter().map(Arc::unwrap_or_clone).collect();
                let joined = join(notes, conflict, &ByteEstimate);
                let uncounted = |note| Arc::new(Note { tokens: Tokens::ZERO, ..note });
                joined.into_iter().map(uncounted).collect()
            }
        };
        Ok(Contents { notes, fields: self.settings.using.fields.clone() })
    }

    /// Watches the vaults. `changed` gets their contents whenever a note changes, appears or goes,
    /// also if none is left.
    pub(crate) fn watch(
        self,
        changed: impl Fn(Contents) + Send + Sync + 'static,
    ) -> anyhow::Result<Watching> {
        let roots: Vec<PathBuf> = self
            .sources
            .iter()
            .filter_map(|source| Some(source.place.root()?.to_owned()))
            .collect();
        let is_remote = roots.len() < self.sources.len();
        let (refreshing, states) = (self.refreshing, self.states());
        let vaults = Mutex::new(self);
        let take_up = Arc::new(move |touched: Vec<PathBuf>| {
            let mut vaults = vaults.lock().unwrap_or_else(PoisonError::into_inner);
            match vaults.update(&touched) {
                Ok(Some(contents)) => changed(contents),
                Ok(None) => {}
                // A vault that is being moved or unmounted: what was read stays.
                Err(error) => tracing::warn!("{error:#}"),
            }
        });
        let watches = roots.iter().map(|root| {
            let take_up = Arc::clone(&take_up);
            watch(root, QUIET, move |touched| take_up(touched))
        });
        let watches = watches.collect::<anyhow::Result<_>>()?;
        // What changed in folders before the watch began.
        if !roots.is_empty() {
            take_up(roots);
        }
        let read_again: Arc<dyn Fn() + Send + Sync> = Arc::new(move || take_up(Vec::new()));
        let remote = is_remote.then(|| (Freshness::new(refreshing, states), read_again));
        let ended = CancellationToken::new();
        Ok(Watching { _watches: watches, _ends: ended.clone().drop_guard(), ended, remote })
    }

    fn update(&mut self, touched: &[PathBuf]) -> anyhow::Result<Option<Contents>> {
        let (changed, mut problems) = self.refresh(touched)?;
        if changed {
            problems.extend(self.new_notices());
        }
        for problem in problems {
            tracing::warn!("{problem}");
        }
        if changed { self.contents().map(Some) } else { Ok(None) }
    }
}

/// Vaults that are watched, until this is dropped.
pub(crate) struct Watching {
    _watches: Vec<Watch>,
    /// Cancels [`Self::ended`] when this is dropped.
    _ends: DropGuard,
    /// Cancelled when the watch has ended.
    pub(crate) ended: CancellationToken,
    /// When vaults that cannot be watched are read again, and how.
    pub(crate) remote: Option<(Freshness, Arc<dyn Fn() + Send + Sync>)>,
}

impl Source {
    fn notes(&self) -> impl Iterator<Item = Arc<Note>> {
        self.read.values().filter_map(|(_, note)| note.clone())
    }

    /// Whether it is waited for after this error.
    fn waits_after(&self, error: &anyhow::Error) -> bool {
        match self.patience {
            Patience::MustBeThere => false,
            Patience::MayBeAway => error.downcast_ref().is_some_and(ObsidianError::is_away),
            Patience::MayWait => true,
        }
    }

    /// Where it is, as people know it.
    fn shown(&self) -> String {
        match self.place.root() {
            Some(root) => format!("`{}`", root.display()),
            None if self.name.is_empty() => "the vault".to_owned(),
            None => format!("the vault `{}`", self.name),
        }
    }

    /// The setting that would make notes of it lore, if it has notes and none is.
    fn advice(&self, rules: &NoteRules) -> Option<String> {
        if self.read.is_empty() || self.notes().next().is_some() {
            return None;
        }
        let own = own_reading(rules, &self.overrides);
        Some(admission_advice(self.read.values().map(|(text, _)| &**text), &own))
    }

    /// What keeps it from being lore.
    fn notice(&self, rules: &NoteRules) -> Option<String> {
        let shown = self.shown();
        match self.advice(rules) {
            Some(advice) => Some(format!("no note of {shown} is used as lore: {advice}")),
            None if self.read.is_empty() => Some(format!("no notes were found in {shown}")),
            None => None,
        }
    }

    /// Takes over files; those with the text of before keep their note.
    fn take(&mut self, files: Vec<(String, Arc<str>)>, rules: &NoteRules) {
        let mut known = std::mem::take(&mut self.read);
        let mut new = Vec::new();
        for (path, text) in files {
            match known.remove(&path) {
                Some((old, note)) if is_same(&old, &text) => {
                    self.read.insert(path, (text, note));
                }
                Some(_) | None => new.push((path, text)),
            }
        }
        let (name, overrides) = (&self.name, &self.overrides);
        let own = (!overrides.is_empty()).then(|| own_reading(rules, overrides));
        let rules = own.as_ref().unwrap_or(rules);
        let read_all = |part: &[(String, Arc<str>)]| -> Vec<Option<Arc<Note>>> {
            part.iter().map(|(path, text)| note_of(name, path, text, rules, overrides)).collect()
        };
        let notes: Vec<Option<Arc<Note>>> = if new.len() < MANY {
            read_all(&new)
        } else {
            let threads = std::thread::available_parallelism().map_or(1, usize::from);
            let parts = new.chunks(new.len().div_ceil(threads));
            std::thread::scope(|scope| {
                let running: Vec<_> =
                    parts.map(|part| (part, scope.spawn(move || read_all(part)))).collect();
                let joined = running.into_iter().map(|(part, thread)| {
                    // A part whose thread panicked is read again here, so that the panic shows.
                    thread.join().unwrap_or_else(|_| read_all(part))
                });
                joined.flatten().collect()
            })
        };
        let read = new.into_iter().zip(notes).map(|((path, text), note)| (path, (text, note)));
        self.read.extend(read);
    }
}

fn note_of(
    vault: &str,
    path: &str,
    text: &str,
    rules: &NoteRules,
    overrides: &Changes,
) -> Option<Arc<Note>> {
    let NoteRead { note, .. } = read_note(NoteFile { vault, path, text }, rules);
    let mut note = *note.ok()?;
    override_note(&mut note, overrides);
    Some(Arc::new(note))
}

/// Reads the definitions of a vault's fields into settings; whether they changed. A file
/// that cannot be read leaves them as they were.
pub(crate) fn read_definitions(
    root: &Path,
    settings: &mut VaultSettings,
    problems: &mut Vec<String>,
) -> bool {
    take_definitions(read_inside(root, &settings.field_file), settings, problems)
}

/// The same with the file's text, or why it cannot be read.
pub(crate) fn take_definitions(
    found: anyhow::Result<Option<String>>,
    settings: &mut VaultSettings,
    problems: &mut Vec<String>,
) -> bool {
    let name = settings.field_file.clone();
    let mut fields = FieldDefinition::built_in();
    match found {
        Ok(None) => {}
        Ok(Some(text)) => {
            let file = read_fields(&text, settings.reading.yaml);
            problems.extend(file.bad.iter().map(|bad| format!("`{name}`: {bad}")));
            if file.unreadable {
                problems.push(format!("`{name}` defines no fields that can be read"));
                return false;
            }
            fields = file.fields;
        }
        Err(error) => {
            problems.push(format!("{error:#}"));
            return false;
        }
    }
    let is_new = fields != settings.using.fields || fields != settings.reading.fields;
    settings.using.fields.clone_from(&fields);
    settings.reading.fields = fields;
    is_new
}

/// A text file of a vault, if it is there. Nothing outside is read.
fn read_inside(root: &Path, inside: &str) -> anyhow::Result<Option<String>> {
    let inside = Path::new(inside);
    anyhow::ensure!(
        inside.components().all(|part| matches!(part, Component::Normal(_))),
        "a file of a vault lies inside it, `{}` does not",
        inside.display()
    );
    let path = root.join(inside);
    if !path.exists() {
        return Ok(None);
    }
    let real = path.canonicalize().with_context(|| format!("`{}`", path.display()))?;
    anyhow::ensure!(real.starts_with(root), "`{}` leads out of the vault", inside.display());
    let bytes = crate::files::read(&real)?;
    let text = String::from_utf8(bytes);
    Ok(Some(text.with_context(|| format!("`{}` is not UTF-8 text", inside.display()))?))
}

/// An error with its causes.
pub(crate) fn error_chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
