//! A vault behind Obsidian's REST API, as commands use it.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use anyhow::Context as _;
use clap::Args;
use loreloom_core::report::Warning;
use loreloom_llm::{
    connection::Address,
    obsidian::{Obsidian, ObsidianError},
    secret::Secret,
};
use loreloom_server::KeySource;
use loreloom_settings::{RefreshSection, RefreshWhen};
use tokio::{
    sync::watch,
    time::{Interval, MissedTickBehavior, interval_at},
};

use super::contents::SourceStates;
use crate::{config, files, vault_folder::Reading};

/// How vaults behind Obsidian's REST API are reached.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct RestAccess {
    /// The environment variable that holds the key of Obsidian's Local REST API
    #[arg(help_heading = "Vaults", long, value_name = "VARIABLE")]
    vault_key_env: Option<String>,

    /// The certificate that Obsidian made itself, a PEM file, for `https`
    #[arg(help_heading = "Vaults", long, value_name = "FILE")]
    vault_certificate: Option<PathBuf>,

    #[arg(skip)]
    remembered: Remembered,
}

/// What was read from each address last, for a vault that is opened again while nobody answers
/// there.
#[derive(Clone, Debug, Default)]
struct Remembered(Arc<Mutex<BTreeMap<String, Texts>>>);

/// Notes by their paths.
type Texts = BTreeMap<String, Arc<str>>;

impl Remembered {
    fn of(&self, url: &str) -> Option<Texts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(url).cloned()
    }

    fn forget(&self, url: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(url);
    }

    fn keep(&self, url: &str, texts: &Texts) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(url.to_owned(), texts.clone());
    }
}

/// When a vault is read again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refreshing {
    /// At a turn, if what was read is older than this.
    pub(crate) ttl: Option<Duration>,
    /// Every so many turns.
    every: Option<u64>,
    /// Every so often.
    poll: Option<Duration>,
    /// How long a turn waits for it.
    wait: Duration,
}

impl Default for Refreshing {
    fn default() -> Self {
        Self::of(&RefreshSection::default())
    }
}

impl Refreshing {
    /// As the settings say it.
    pub(super) fn of(section: &RefreshSection) -> Self {
        let ttl = Duration::from_secs(section.ttl_seconds);
        let poll = section.poll_seconds.map(Duration::from_secs);
        let never =
            Self { ttl: None, every: None, poll, wait: Duration::from_millis(section.wait_ms) };
        match section.when {
            RefreshWhen::Ttl => Self { ttl: Some(ttl), ..never },
            RefreshWhen::Turns => Self { every: Some(section.turns), ..never },
            RefreshWhen::Manual => never,
        }
    }
}

impl RestAccess {
    pub(crate) fn open(&self, url: &str) -> anyhow::Result<RestVault> {
        #[expect(clippy::disallowed_methods, reason = "keys are named and never typed")]
        let key = match &self.vault_key_env {
            Some(name) => {
                Some(std::env::var(name).with_context(|| format!("`{name}` is not set"))?)
            }
            None => None,
        };
        let certificate = self.vault_certificate.as_deref().map(files::read).transpose()?;
        let key = key.map(|key| Secret::new(&key));
        self.open_with(url, key.as_ref(), certificate.as_deref())
    }

    /// Opens a vault that somebody registered, with the key of the source that they named and the
    /// certificate that they gave. What another key has read is not for one that is new.
    pub(super) fn open_registered(
        &self,
        url: &str,
        (key, certificate): (Option<&KeySource>, Option<&str>),
        is_new: bool,
    ) -> anyhow::Result<RestVault> {
        let key = key.map(|source| config::read_key(source, Path::new(""))).transpose()?;
        if is_new {
            self.remembered.forget(url);
        }
        self.open_with(url, key.as_ref(), certificate.map(str::as_bytes))
    }

    /// Whether a key is where it is said to be.
    pub(super) fn can_read(source: &KeySource) -> bool {
        config::read_key(source, Path::new("")).is_ok()
    }

    fn open_with(
        &self,
        url: &str,
        key: Option<&Secret>,
        certificate: Option<&[u8]>,
    ) -> anyhow::Result<RestVault> {
        let has_key = key.is_some();
        let vault = Obsidian::new(Address::parse(url)?, key, certificate)?;
        let known = self.remembered.of(url);
        let is_known = known.is_some();
        let (known, remembered) = (known.unwrap_or_default(), self.remembered.clone());
        let (vault, url) = (Arc::new(vault), url.to_owned());
        Ok(RestVault { vault, url, known, has_key, is_known, remembered })
    }
}

impl Refreshing {
    /// Whether what was read so long and so many turns ago is read again at a turn.
    fn is_due(self, age: Duration, turns: u64) -> bool {
        self.ttl.is_some_and(|ttl| age >= ttl) || self.every.is_some_and(|every| turns >= every)
    }
}

/// How soon a vault that did not answer is asked again. Turns do not wait for it until then.
const RETRY: Duration = Duration::from_secs(2);

/// When vaults were read last, and who waits for the next time.
#[derive(Clone, Debug)]
pub(crate) struct Freshness {
    refreshing: Refreshing,
    states: SourceStates,
    last: Arc<Mutex<LastRead>>,
    /// Counts the reads that ended.
    done: watch::Sender<u64>,
}

#[derive(Debug)]
struct LastRead {
    at: Instant,
    /// How many turns there were by then.
    turns: u64,
}

impl Freshness {
    /// Vaults that were read just now, as far as that was possible.
    pub(super) fn new(refreshing: Refreshing, states: SourceStates) -> Self {
        let last = Arc::new(Mutex::new(LastRead { at: Instant::now(), turns: 0 }));
        Self { refreshing, states, last, done: watch::Sender::new(0) }
    }

    fn last(&self) -> MutexGuard<'_, LastRead> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a turn that is the one of this number reads again.
    fn is_due(&self, turn: u64) -> bool {
        let (age, turns) = {
            let last = self.last();
            (last.at.elapsed(), turn.saturating_sub(last.turns))
        };
        if self.states.have_failed() { age >= RETRY } else { self.refreshing.is_due(age, turns) }
    }

    /// Begins the turn of this number with `begin`. If it finds the notes old, it waits a little
    /// until they are read, and warns of what it goes on with.
    pub(super) async fn begin_turn(
        &self,
        turn: u64,
        begin: &(dyn Fn() + Send + Sync),
    ) -> Vec<Warning> {
        let mut done = self.done.subscribe();
        let is_due = self.is_due(turn);
        begin();
        let is_late = is_due && {
            let wait = self.refreshing.wait;
            wait.is_zero() || tokio::time::timeout(wait, done.changed()).await.is_err()
        };
        self.states.old(is_late)
    }

    /// Reads again when it is due, for as long as there are turns.
    pub(crate) async fn keep_up(
        self,
        mut turns: watch::Receiver<u64>,
        read_again: Arc<dyn Fn() + Send + Sync>,
    ) {
        let mut hang_up = HangUp::listen();
        self.last().turns = *turns.borrow_and_update();
        // Begun once: turns that come more often must not put it off.
        let mut poll = Poll::every(self.refreshing.poll);
        loop {
            tokio::select! {
                changed = turns.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    self.states.tell_turn();
                    let now = *turns.borrow_and_update();
                    if !self.is_due(now) {
                        continue;
                    }
                }
                () = tokio::time::sleep(RETRY), if self.states.have_failed() => {}
                () = poll.due() => {}
                () = hang_up.heard() => {}
            }
            let again = Arc::clone(&read_again);
            // A panic while reading was reported where it happened.
            let _panicked = tokio::task::spawn_blocking(move || again()).await;
            *self.last() = LastRead { at: Instant::now(), turns: *turns.borrow() };
            self.done.send_modify(|reads| *reads += 1);
        }
    }
}

/// What is due every so often, if anything is.
struct Poll(Option<Interval>);

impl Poll {
    fn every(period: Option<Duration>) -> Self {
        Self(period.map(|period| {
            let mut interval = interval_at(tokio::time::Instant::now() + period, period);
            // After a long read the next is not due at once.
            interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
            interval
        }))
    }

    async fn due(&mut self) {
        match &mut self.0 {
            Some(interval) => {
                interval.tick().await;
            }
            None => std::future::pending().await,
        }
    }
}

/// The signal HUP, where there is one.
struct HangUp {
    #[cfg(unix)]
    signal: Option<tokio::signal::unix::Signal>,
}

impl HangUp {
    #[cfg(unix)]
    fn listen() -> Self {
        use tokio::signal::unix::{SignalKind, signal};
        Self { signal: signal(SignalKind::hangup()).ok() }
    }

    #[cfg(not(unix))]
    fn listen() -> Self {
        Self {}
    }

    async fn heard(&mut self) {
        #[cfg(unix)]
        if let Some(signal) = &mut self.signal {
            signal.recv().await;
            return;
        }
        std::future::pending::<()>().await;
    }
}

/// A vault behind Obsidian's REST API, and what was read of it.
#[derive(Debug)]
pub(crate) struct RestVault {
    vault: Arc<Obsidian>,
    url: String,
    known: Texts,
    has_key: bool,
    /// Whether it was read before, by this or by one that was open then.
    is_known: bool,
    remembered: Remembered,
}

impl RestVault {
    /// Reads the notes. If one cannot be read, what was read before stays whole.
    pub(crate) fn read(&mut self) -> anyhow::Result<Reading> {
        let vault = Arc::clone(&self.vault);
        let read = waited(move || async move {
            vault.about().await?;
            let paths = vault.list().await?;
            let texts = vault.read_all(&paths).await?;
            Ok::<_, ObsidianError>(paths.into_iter().zip(texts).collect::<Vec<_>>())
        })?;
        let mut notes = BTreeMap::new();
        for (path, text) in read? {
            // A note that went away between listing and reading is gone.
            let Some(text) = text else { continue };
            let known = self.known.get(&path).filter(|known| ***known == *text);
            let text = known.map_or_else(|| Arc::from(text), Arc::clone);
            notes.insert(path, text);
        }
        let changed = notes != self.known;
        self.known = notes;
        self.is_known = true;
        self.remembered.keep(&self.url, &self.known);
        Ok(Reading { changed, ..self.as_read() })
    }

    /// The notes as they were read last.
    pub(super) fn as_read(&self) -> Reading {
        let listed = self.known.iter().map(|(path, text)| (path.clone(), Arc::clone(text)));
        Reading { notes: listed.collect(), changed: false, problems: Vec::new() }
    }

    /// Whether it was ever read.
    pub(super) fn is_known(&self) -> bool {
        self.is_known
    }

    /// Whether the server of notes gets a key.
    pub(crate) fn has_key(&self) -> bool {
        self.has_key
    }

    /// A file of the vault, if it is there.
    pub(crate) fn file(&self, path: &str) -> anyhow::Result<Option<String>> {
        let (vault, path) = (Arc::clone(&self.vault), path.to_owned());
        Ok(waited(move || async move { vault.read(&path).await })??)
    }

    /// Writes a file.
    pub(crate) fn write(&self, path: &str, text: &str) -> anyhow::Result<()> {
        let (vault, path, text) = (Arc::clone(&self.vault), path.to_owned(), text.to_owned());
        Ok(waited(move || async move { vault.write(&path, &text).await })??)
    }
}

/// Whether a place is an address.
pub(crate) fn is_address(place: &Path) -> bool {
    let text = place.to_string_lossy();
    text.starts_with("http://") || text.starts_with("https://")
}

/// The result of work that waits, from wherever it is asked for: on a thread of its own, since
/// callers may be on a runtime already.
fn waited<T: Send + 'static, F: Future<Output = T>>(
    work: impl FnOnce() -> F + Send + 'static,
) -> anyhow::Result<T> {
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        anyhow::Ok(runtime.block_on(work()))
    });
    thread.join().map_err(|_panicked| anyhow::anyhow!("reading the vault failed"))?
}

#[cfg(test)]
mod tests {
    use loreloom_settings::{Changes, StartSettings};
    use serde_json::json;

    use super::*;

    #[test]
    fn a_vault_is_read_again_by_age_or_by_turns() {
        let section = |when| RefreshSection { when, ..RefreshSection::default() };
        let always = RefreshSection { ttl_seconds: 0, ..RefreshSection::default() };
        for (name, section, seconds, turns, due) in [
            ("young", section(RefreshWhen::Ttl), 299, 1, false),
            ("old", section(RefreshWhen::Ttl), 300, 1, true),
            ("every turn", always, 0, 1, true),
            ("few turns", section(RefreshWhen::Turns), 9000, 9, false),
            ("enough turns", section(RefreshWhen::Turns), 0, 10, true),
            ("by hand", section(RefreshWhen::Manual), 9000, 99, false),
        ] {
            let age = Duration::from_secs(seconds);
            assert_eq!(Refreshing::of(&section).is_due(age, turns), due, "{name}");
        }
    }

    #[tokio::test]
    async fn a_vault_is_polled_however_often_there_are_turns() {
        let poll = Some(Duration::from_millis(500));
        let wait = Duration::from_secs(2);
        let refreshing = Refreshing { ttl: None, every: None, poll, wait };
        let (turn, turns) = watch::channel(0);
        let (tell, mut reads) = tokio::sync::mpsc::unbounded_channel();
        let read_again: Arc<dyn Fn() + Send + Sync> = Arc::new(move || tell.send(()).unwrap());
        let freshness = Freshness::new(refreshing, SourceStates::default());
        // Far more turns than one poll takes, and none of them asks for a read.
        let telling = async {
            for number in 1..2000 {
                turn.send(number).unwrap();
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::select! {
            read = reads.recv() => assert_eq!(read, Some(())),
            () = freshness.keep_up(turns, read_again) => panic!("it ended"),
            () = telling => panic!("it was never polled"),
        }
    }

    #[test]
    fn deeplores_settings_say_when_a_vault_is_read_again() {
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        let none = Refreshing { ttl: None, ..Refreshing::default() };
        for (file, expected) in [
            (json!({"scanDepth": 4}), Refreshing::default()),
            (json!({"cacheTTL": 0}), Refreshing { ttl: seconds(0), ..none }),
            (
                json!({"cacheTTL": 1e9, "syncPollingInterval": 60}),
                Refreshing { ttl: seconds(86_400), poll: seconds(60), ..none },
            ),
            (json!({"indexRebuildTrigger": "manual", "cacheTTL": 5}), none),
            (json!({"indexRebuildTrigger": "generation"}), Refreshing { every: Some(10), ..none }),
            (
                json!({"indexRebuildTrigger": "generation", "indexRebuildGenerationInterval": 3}),
                Refreshing { every: Some(3), ..none },
            ),
        ] {
            let changes = loreloom_settings::import_settings(&file).unwrap().changes;
            let started = StartSettings::resolve(changes, Changes::default()).unwrap();
            assert_eq!(Refreshing::of(&started.settings.vault.refresh), expected, "{file}");
        }
    }
}
