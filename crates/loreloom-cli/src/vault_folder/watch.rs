//! Reports when a folder changes.
//!
//! Editors write a file in several steps, and a sync program writes hundreds. Changes are
//! collected until the folder is quiet, and reported once. A folder that never becomes quiet is
//! reported from time to time.

use std::{
    path::{Path, PathBuf},
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use anyhow::Context as _;
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher as _};

/// How many quiet times a busy folder may take before it is reported anyway.
const RESTLESS: u32 = 10;

/// A folder that is watched, until this is dropped.
#[derive(Debug)]
pub(crate) struct Watch {
    /// Dropped first: that closes the channel and ends the thread.
    watcher: Option<RecommendedWatcher>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Watch {
    fn drop(&mut self) {
        drop(self.watcher.take());
        if let Some(thread) = self.thread.take() {
            // A callback that panicked has been reported by the thread itself.
            let _panicked = thread.join();
        }
    }
}

/// Watches a folder. `on_change` gets the files that changed once the folder has been quiet
/// for `quiet`.
pub(crate) fn watch(
    root: &Path,
    quiet: Duration,
    mut on_change: impl FnMut(Vec<PathBuf>) + Send + 'static,
) -> anyhow::Result<Watch> {
    let problem = || format!("the vault `{}` cannot be watched", root.display());
    let (sender, events) = mpsc::channel();
    let hidden_below = root.to_owned();
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
        let paths = changed_paths(event, &hidden_below);
        // The receiver is gone only when the watch is being dropped.
        let _unwatched = sender.send(paths);
    })
    .with_context(problem)?;
    watcher.watch(root, RecursiveMode::Recursive).with_context(problem)?;
    let thread = std::thread::Builder::new()
        .name("vault-watch".to_owned())
        .spawn(move || {
            while let Some(paths) = gather(&events, quiet) {
                on_change(paths);
            }
        })
        .with_context(problem)?;
    Ok(Watch { watcher: Some(watcher), thread: Some(thread) })
}

/// The files that are to be looked at. Where events were lost, something changed and nobody
/// knows what: the whole folder.
fn changed_paths(event: notify::Result<Event>, root: &Path) -> Vec<PathBuf> {
    match event {
        Ok(event) if !event.need_rescan() => changed(&event, root),
        Ok(_) | Err(_) => vec![root.to_owned()],
    }
}

/// The files that an event is about, without those that no vault reads.
fn changed(event: &Event, root: &Path) -> Vec<PathBuf> {
    if event.kind.is_access() {
        return Vec::new();
    }
    let is_hidden = |path: &Path| {
        let inside = path.strip_prefix(root).unwrap_or(path);
        inside.components().any(|part| part.as_os_str().to_string_lossy().starts_with('.'))
    };
    event.paths.iter().filter(|path| !is_hidden(path)).cloned().collect()
}

/// Gathers files until none comes for a while; `None` when the watch has ended.
fn gather(events: &Receiver<Vec<PathBuf>>, quiet: Duration) -> Option<Vec<PathBuf>> {
    let mut paths = loop {
        let paths = events.recv().ok()?;
        if !paths.is_empty() {
            break paths;
        }
    };
    let begun = Instant::now();
    while begun.elapsed() < quiet * RESTLESS {
        match events.recv_timeout(quiet) {
            Ok(more) => paths.extend(more),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
        }
    }
    paths.sort();
    paths.dedup();
    Some(paths)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write the files that are watched")]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn changes_are_gathered_until_it_is_quiet() {
        let (sender, events) = mpsc::channel();
        for paths in [vec![], vec!["b"], vec!["a", "b"]] {
            sender.send(paths.into_iter().map(PathBuf::from).collect()).unwrap();
        }
        drop(sender);
        let gathered = gather(&events, Duration::from_millis(1));
        assert_eq!(gathered, Some(vec![PathBuf::from("a"), PathBuf::from("b")]));
        assert_eq!(gather(&events, Duration::from_millis(1)), None);
    }

    #[test]
    fn lost_events_make_the_whole_folder_read_again() {
        let root = Path::new("vault");
        let lost = Event::new(notify::EventKind::Other).set_flag(notify::event::Flag::Rescan);
        for event in [Ok(lost), Err(notify::Error::generic("overflow"))] {
            assert_eq!(changed_paths(event, root), [root]);
        }
        let seen = notify::EventKind::Access(notify::event::AccessKind::Read);
        assert_eq!(
            changed_paths(Ok(Event::new(seen).add_path(root.join("A.md"))), root),
            [root; 0]
        );
        let made = notify::EventKind::Create(notify::event::CreateKind::File);
        let event = Event::new(made).add_path(root.join("A.md")).add_path(root.join(".git/x"));
        assert_eq!(changed_paths(Ok(event), root), [root.join("A.md")]);
    }

    #[test]
    fn a_written_note_is_told_and_hidden_files_are_not() {
        let vault = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(vault.path()).unwrap();
        fs::create_dir(root.join(".obsidian")).unwrap();
        let (sender, changed_paths) = mpsc::channel();
        let watch = watch(&root, Duration::from_millis(20), move |paths| {
            sender.send(paths).unwrap();
        })
        .unwrap();
        fs::write(root.join(".obsidian/workspace.json"), "{}").unwrap();
        fs::write(root.join("Note.md"), "text").unwrap();
        let paths = changed_paths.recv_timeout(Duration::from_secs(30)).unwrap();
        assert_eq!(paths, [root.join("Note.md")]);
        drop(watch);
        assert_eq!(
            changed_paths.recv_timeout(Duration::from_secs(30)),
            Err(RecvTimeoutError::Disconnected)
        );
    }
}
