//! The vaults of a running server: those that were named at start, and those that were
//! registered since.

use std::{
    path::{Component, Path, PathBuf},
    sync::{PoisonError, RwLock},
};

use async_trait::async_trait;
use loreloom_core::{
    dialects::vault::{FieldDefinition, NoteSource},
    report::Warning,
};
use loreloom_server::{
    App, NoteFile, NotePlace, NoteRefusal, OpenVault, RegisteredVault, VaultKeeper, VaultRefusal,
};
use loreloom_settings::Changes;
use tokio::{runtime::Handle, sync::Mutex};

use super::{
    VaultSettings,
    arguments::{Patience, VaultOrigin, VaultPlace},
    contents::{Contents, SourceStates, Vaults, Watching},
    rest::{Freshness, RestAccess, is_address},
};
use crate::vault_folder::note_file;

/// Opens vaults for a server and keeps its lore in step with them.
pub(crate) struct Keeper {
    named: Vec<VaultPlace>,
    rest: RestAccess,
    settings: VaultSettings,
    /// Where callers with a key may point to.
    roots: Vec<PathBuf>,
    open: RwLock<Vec<OpenVault>>,
    states: RwLock<SourceStates>,
    freshness: RwLock<Option<Freshness>>,
    work: Mutex<Work>,
}

/// What changes while the server runs.
#[derive(Default)]
struct Work {
    app: Option<App>,
    watching: Option<Watching>,
    registered: Vec<RegisteredVault>,
}

impl Keeper {
    pub(super) fn new(
        mut named: Vec<VaultPlace>,
        rest: RestAccess,
        settings: VaultSettings,
        roots: Vec<PathBuf>,
    ) -> Self {
        // A vault that is alone has no name. It must not get one, and its notes other ids,
        // because another comes.
        if let [only] = named.as_mut_slice() {
            only.name.get_or_insert_default();
        }
        // A server starts while Obsidian does not run, and takes its notes up when it does.
        for place in &mut named {
            if is_address(&place.folder) {
                place.patience = Patience::MayBeAway;
            }
        }
        let (open, states, work) = (RwLock::default(), RwLock::default(), Mutex::default());
        let freshness = RwLock::default();
        Self { named, rest, settings, roots, open, states, freshness, work }
    }

    /// Opens the vaults that were named at start, and those that are registered.
    pub(crate) async fn begin(&self, app: &App) -> anyhow::Result<()> {
        let registered = RegisteredVault::all(app.store.as_ref(), &app.tenant).await?;
        let mut work = self.work.lock().await;
        work.app = Some(app.clone());
        let Err(error) = self.take_up(&mut work, registered, None).await else { return Ok(()) };
        // Whoever named a vault at start wants to know that it cannot be used. One that was
        // registered some day must not keep the server from starting.
        tracing::error!("the registered vaults are left out: {error:#}");
        self.take_up(&mut work, Vec::new(), None).await
    }

    /// How many are open, and how many notes they have, lore or not.
    pub(crate) fn count(&self) -> (usize, usize) {
        let open = self.open.read().unwrap_or_else(PoisonError::into_inner).len();
        (open, self.sources().iter().map(|source| source.files).sum())
    }

    /// Lets go of everything, so that the store can be closed.
    pub(crate) async fn end(&self) {
        let mut work = self.work.lock().await;
        work.app = None;
        let watching = work.watching.take();
        close(watching).await;
    }

    /// The folder of a vault that is open.
    fn folder_of(&self, vault: &str) -> Result<PathBuf, NoteRefusal> {
        let open = self.open().into_iter().find(|open| open.name == vault);
        let open = open.filter(|open| !RegisteredVault::is_address(&open.place));
        open.map(|open| PathBuf::from(open.place)).ok_or(NoteRefusal::Elsewhere)
    }

    /// Replaces the open vaults with others, of which the one of the name
    /// `new` was not there before. If they cannot be opened or read, nothing changed.
    async fn take_up(
        &self,
        work: &mut Work,
        registered: Vec<RegisteredVault>,
        new: Option<&str>,
    ) -> anyhow::Result<()> {
        let Some(app) = work.app.clone() else { return Ok(()) };
        let (places, open) = self.wanted(&registered, new);
        let (rest, settings) = (self.rest.clone(), self.settings.clone());
        let opening = move || {
            let mut vaults = Vaults::open(&places, &rest, settings)?;
            let contents = vaults.load_for_server()?;
            anyhow::Ok((vaults, contents))
        };
        let opened =
            if open.is_empty() { None } else { Some(tokio::task::spawn_blocking(opening).await??) };
        // First: the old watch would restore what it knows.
        close(work.watching.take()).await;
        let (mut states, mut freshness) = (SourceStates::default(), None);
        if let Some((vaults, contents)) = opened {
            states = vaults.states();
            let watching = follow(&app, vaults, contents).await?;
            freshness = watching.remote.as_ref().map(|(freshness, _)| freshness.clone());
            work.watching = Some(watching);
        } else {
            app.lore.set_vaults(Vec::new(), FieldDefinition::built_in()).await?;
        }
        work.registered = registered;
        *self.states.write().unwrap_or_else(PoisonError::into_inner) = states;
        *self.freshness.write().unwrap_or_else(PoisonError::into_inner) = freshness;
        *self.open.write().unwrap_or_else(PoisonError::into_inner) = open;
        Ok(())
    }

    /// What is to be open. A registered vault that is gone does not keep others out.
    fn wanted(
        &self,
        registered: &[RegisteredVault],
        new: Option<&str>,
    ) -> (Vec<VaultPlace>, Vec<OpenVault>) {
        let (mut places, mut open) = (Vec::new(), Vec::new());
        for place in &self.named {
            let name = place.name.clone().unwrap_or_default();
            let shown = place.folder.display().to_string();
            open.push(OpenVault { name, place: shown, registered: false });
            places.push(place.clone());
        }
        for RegisteredVault { name, place, key, certificate, notes, .. } in registered {
            let is_taken = open.iter().any(|other| other.name == *name);
            let (is_new, registered_name) = (new == Some(name.as_str()), name.clone());
            // A new one reports why.
            let has_key = is_new || key.as_ref().is_none_or(RestAccess::can_read);
            if is_taken || readable(place).is_err() || !has_key {
                tracing::warn!(vault = %name, "a registered vault cannot be read, or its name is taken");
                continue;
            }
            let (key, certificate) = (key.clone(), certificate.clone());
            let origin = VaultOrigin::Registered { key, certificate, is_new };
            let (folder, overrides) = (PathBuf::from(place), own_settings(notes.as_deref()));
            let patience = if is_new { Patience::MustBeThere } else { Patience::MayWait };
            let name = Some(name.clone());
            places.push(VaultPlace { name, folder, origin, patience, overrides });
            let open_as = registered_name;
            open.push(OpenVault { name: open_as, place: place.clone(), registered: true });
        }
        (places, open)
    }

    /// The same; where it fails halfway, those of before are opened again.
    async fn take_up_or_stay(
        &self,
        work: &mut Work,
        registered: Vec<RegisteredVault>,
        new: Option<&str>,
    ) -> Result<(), String> {
        let before = work.registered.clone();
        let Err(error) = self.take_up(work, registered, new).await else { return Ok(()) };
        if work.watching.is_none()
            && let Err(again) = self.take_up(work, before, None).await
        {
            tracing::error!("the vaults of before cannot be opened again: {again:#}");
        }
        Err(format!("{error:#}"))
    }
}

/// The settings of a vault that says itself which of its notes are lore.
fn own_settings(notes: Option<&str>) -> Changes {
    let mut changes = Changes::default();
    if let Some(notes) = notes
        && let Err(error) = changes.set("vault.notes", notes.into())
    {
        tracing::warn!("a registered vault is read by the settings of all vaults: {error}");
    }
    changes
}

/// Whether a place can be a vault now, as far as that can be seen without asking anybody.
fn readable(place: &str) -> std::io::Result<()> {
    if RegisteredVault::is_address(place) { Ok(()) } else { std::fs::read_dir(place).map(drop) }
}

/// Whether two places have notes in common: they are one, however they are spelled, or one folder
/// lies in the other.
fn overlap(one: &str, other: &str) -> bool {
    let [address, another] = [one, other].map(|place| place.trim_end_matches('/'));
    if RegisteredVault::is_address(one) || RegisteredVault::is_address(other) {
        return address.eq_ignore_ascii_case(another);
    }
    let real = |folder: &str| Path::new(folder).canonicalize().ok();
    let (Some(one), Some(other)) = (real(one), real(other)) else { return one == other };
    one.starts_with(&other) || other.starts_with(&one)
}

/// Ends a watch, which waits for its thread.
async fn close(watching: Option<Watching>) {
    // The thread reported its own panic.
    let _ended = tokio::task::spawn_blocking(move || drop(watching)).await;
}

#[async_trait]
impl VaultKeeper for Keeper {
    fn open(&self) -> Vec<OpenVault> {
        self.open.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn check(&self, folder: &str, anywhere: bool) -> Result<String, VaultRefusal> {
        let (folder, roots) = (PathBuf::from(folder), self.roots.clone());
        let checking = tokio::task::spawn_blocking(move || checked(&folder, anywhere, &roots));
        checking.await.unwrap_or_else(|error| unusable(error.to_string()))
    }

    async fn add(&self, vault: RegisteredVault) -> Result<(), VaultRefusal> {
        let mut work = self.work.lock().await;
        if let Err(error) = readable(&vault.place) {
            return unusable(format!("`{}` cannot be read: {error}", vault.place));
        }
        if let Some(open) = self.open().into_iter().find(|open| overlap(&open.place, &vault.place))
        {
            return Err(VaultRefusal::Open { place: vault.place, name: open.name });
        }
        let name = vault.name.clone();
        let unusable = |reason| VaultRefusal::Unusable { reason };
        let mut registered = registered(&work).await.map_err(unusable)?;
        registered.retain(|other| other.name != vault.name);
        registered.push(vault);
        registered.sort_by(|a, b| a.name.cmp(&b.name));
        self.take_up_or_stay(&mut work, registered, Some(&name)).await.map_err(unusable)
    }

    async fn begin_turn(&self, turn: u64, begin: &(dyn Fn() + Send + Sync)) -> Vec<Warning> {
        let freshness = self.freshness.read().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(freshness) = freshness {
            return freshness.begin_turn(turn, begin).await;
        }
        begin();
        Vec::new()
    }

    fn sources(&self) -> Vec<NoteSource> {
        self.states.read().unwrap_or_else(PoisonError::into_inner).list()
    }

    async fn keep(&self) -> Result<(), String> {
        let mut work = self.work.lock().await;
        let registered = registered(&work).await?;
        self.take_up_or_stay(&mut work, registered, None).await
    }

    async fn refresh(&self) -> Result<(), String> {
        let mut work = self.work.lock().await;
        let registered = work.registered.clone();
        self.take_up_or_stay(&mut work, registered, None).await
    }

    async fn note(&self, place: &NotePlace) -> Result<NoteFile, NoteRefusal> {
        let folder = self.folder_of(&place.vault)?;
        let path = place.path.clone();
        let reading = tokio::task::spawn_blocking(move || {
            let file = note_file::real(&folder, &path)?;
            Ok(NoteFile { text: note_file::read(&file)?, writable: note_file::is_writable(&file) })
        });
        let read: std::io::Result<NoteFile> = reading.await.unwrap_or_else(|died| Err(died.into()));
        read.map_err(|error| NoteRefusal::Unreadable { reason: error.to_string() })
    }

    async fn write_note(
        &self,
        place: &NotePlace,
        was: &str,
        text: &str,
    ) -> Result<(), NoteRefusal> {
        // One at a time, so that no writer overlooks another.
        let _alone = self.work.lock().await;
        if self.note(place).await?.text != was {
            return Err(NoteRefusal::Changed);
        }
        let folder = self.folder_of(&place.vault)?;
        let (path, text) = (place.path.clone(), text.to_owned());
        let writing = tokio::task::spawn_blocking(move || {
            note_file::replace(&note_file::real(&folder, &path)?, &text)
        });
        let written = writing.await.unwrap_or_else(|died| Err(died.into()));
        written.map_err(|error| NoteRefusal::Unwritable { reason: error.to_string() })
    }
}

/// The vaults that are registered now: others may have changed that while a turn was waited
/// for.
async fn registered(work: &Work) -> Result<Vec<RegisteredVault>, String> {
    let Some(app) = &work.app else { return Ok(work.registered.clone()) };
    let all = RegisteredVault::all(app.store.as_ref(), &app.tenant).await;
    all.map_err(|error| error.to_string())
}

fn unusable<T>(reason: String) -> Result<T, VaultRefusal> {
    Err(VaultRefusal::Unusable { reason })
}

/// A folder's real name, if it may be a vault. A remote caller does not even learn whether a
/// folder outside the roots exists.
fn checked(folder: &Path, anywhere: bool, roots: &[PathBuf]) -> Result<String, VaultRefusal> {
    let real = folder.canonicalize();
    let steps_back = folder.components().any(|part| part == Component::ParentDir);
    let named = match &real {
        Ok(real) => real.as_path(),
        Err(_) => folder,
    };
    let is_inside = roots
        .iter()
        .filter_map(|root| root.canonicalize().ok())
        .any(|root| named.starts_with(root) && (real.is_ok() || !steps_back));
    if !anywhere && !is_inside {
        return Err(VaultRefusal::Outside { folder: folder.display().to_string() });
    }
    if !folder.is_absolute() {
        return unusable("a folder is named from the root of the file system on".to_owned());
    }
    match real {
        Ok(real) if real.is_dir() => match real.into_os_string().into_string() {
            Ok(text) => Ok(text),
            Err(_) => unusable("the folder's name must be UTF-8 text".to_owned()),
        },
        Ok(_) => unusable(format!("`{}` is no folder", folder.display())),
        Err(error) => unusable(format!("`{}` cannot be opened: {error}", folder.display())),
    }
}

/// Takes up the notes of vaults, and again whenever they change.
async fn follow(
    app: &App,
    vaults: Vaults,
    Contents { notes, fields }: Contents,
) -> anyhow::Result<Watching> {
    app.lore.set_vaults(notes, fields).await?;
    let following = app.clone();
    let (app, runtime) = (app.clone(), Handle::current());
    let changed = move |Contents { notes, fields }| {
        let count = notes.len();
        match runtime.block_on(app.lore.set_vaults(notes, fields)) {
            Ok(()) => tracing::info!(notes = count, "the vaults changed"),
            Err(error) => tracing::warn!(%error, "the notes stay as they were"),
        }
    };
    let watching = tokio::task::spawn_blocking(move || vaults.watch(changed)).await??;
    if let Some((freshness, read_again)) = watching.remote.clone() {
        let (turns, stopping) = (following.lore.turns(), following.stopping.clone());
        // Another watch may read the vault again after this one has ended.
        let ended = watching.ended.clone();
        following.tasks.spawn(async move {
            tokio::select! {
                () = stopping.cancelled() => {}
                () = ended.cancelled() => {}
                () = freshness.keep_up(turns, read_again) => {}
            }
        });
    }
    Ok(watching)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make the folders that are checked")]
mod tests {
    use super::*;

    #[test]
    fn callers_from_elsewhere_stay_inside_the_roots_and_learn_nothing_of_the_rest() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        for folder in ["notes/mira", "private"] {
            std::fs::create_dir_all(home.join(folder)).unwrap();
        }
        std::fs::write(home.join("notes/file.md"), "x").unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(home.join("private"), home.join("notes/link")).unwrap();
        let roots = [home.join("notes")];
        let outside = |folder: &str| Err(VaultRefusal::Outside { folder: folder.to_owned() });
        for (inside, allowed) in [
            ("notes", true),
            ("notes/mira", true),
            ("notes/mira/../mira", true),
            ("private", false),
            ("notes/../private", false),
            ("notes/../missing", false),
            ("missing", false),
            ("notes-2", false),
            #[cfg(unix)]
            ("notes/link", false),
        ] {
            let folder = home.join(inside).display().to_string();
            let found = checked(Path::new(&folder), false, &roots);
            if allowed {
                assert!(found.is_ok(), "{inside}: {found:?}");
            } else {
                assert_eq!(found, outside(&folder), "{inside}");
            }
        }
        let text = home.join("private").display().to_string();
        assert_eq!(checked(Path::new(&text), true, &[]), Ok(text));
        for (folder, anywhere) in [
            (home.join("notes/missing"), false),
            (home.join("notes/file.md"), false),
            (home.join("missing"), true),
            (PathBuf::from("notes"), true),
            (PathBuf::from("http://127.0.0.1:27123"), true),
        ] {
            let found = checked(&folder, anywhere, &roots);
            assert!(matches!(found, Err(VaultRefusal::Unusable { .. })), "{folder:?}: {found:?}");
        }
    }
}
