//! A folder of ten thousand notes and the real binary: the time until the folder is read, and the
//! time until a changed note reaches a model.

use std::{
    fmt::Write as _,
    io::{self, Write as _},
    net::{SocketAddr, TcpStream},
    path::Path,
    process::{Command, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use loreloom_core::dialects::vault::Note;

use super::story::World;
use crate::{
    bench::{
        figure::Figure,
        proxy::child::{Server, binary},
    },
    model_server::{ModelServer, Script},
};

const NOTES: u32 = 10_000;
/// Changes that are waited for; the figure is their median.
const CHANGES: usize = 7;

pub(super) fn run(print: &mut dyn FnMut(Figure)) -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let vault = folder.path().join("vault");
    let world = World::new(NOTES);
    for note in &world.notes {
        // A vault is not one flat folder.
        write(&vault.join(&note.title[..2]).join(&note.path), &markdown(note))?;
    }
    let chat = folder.path().join("chat.json");
    write(&chat, r#"[{"role": "user", "content": "Good morning."}]"#)?;
    let whole = median(3, || weave(&vault, &chat))?;
    let empty = folder.path().join("empty");
    write(&empty.join("Only.md"), "Nothing.")?;
    let bare = median(3, || weave(&empty, &chat))?;
    let load = (whole - bare).max(0.0);
    let figure = Figure::new(format!("a folder of {NOTES} notes read and compiled"), load, "ms");
    print(figure.against(load / 1000.0, "of 1000 ms, wall time"));
    let changed = live(&vault, folder.path())?;
    let figure = Figure::new(format!("a changed note of {NOTES} reaches a model"), changed, "ms");
    print(figure.against(changed / 100.0, "of 100 ms, wall time"));
    Ok(())
}

fn markdown(note: &Note) -> String {
    let mut text = "---\ntags: [lorebook]\nkeys:\n".to_owned();
    for key in &note.keys {
        let _infallible = writeln!(text, "  - {key}");
    }
    let _infallible =
        write!(text, "priority: {}\n---\n# {}\n{}\n", note.priority, note.title, note.content);
    text
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|error| error.to_string())?;
    }
    #[expect(clippy::disallowed_methods, reason = "a benchmark writes its own input")]
    std::fs::write(path, text).map_err(|error| format!("`{}`: {error}", path.display()))
}

/// The median of several measurements, in milliseconds.
fn median(times: usize, mut run: impl FnMut() -> Result<Duration, String>) -> Result<f64, String> {
    let mut all = (0..times).map(|_| run()).collect::<Result<Vec<Duration>, String>>()?;
    all.sort_unstable();
    Ok(all[times / 2].as_secs_f64() * 1000.0)
}

/// How long the binary takes to weave one turn from a vault.
fn weave(vault: &Path, chat: &Path) -> Result<Duration, String> {
    let begun = Instant::now();
    let mut command = Command::new(binary()?);
    command.arg("weave").arg("--vault").arg(vault).arg("--chat").arg(chat);
    let status = command.stdout(Stdio::null()).status().map_err(|error| error.to_string())?;
    if status.success() { Ok(begun.elapsed()) } else { Err(format!("weaving ended with {status}")) }
}

/// The time from saving a note until it is sent to a model.
fn live(vault: &Path, folder: &Path) -> Result<f64, String> {
    let upstream = ModelServer::start(Script::new()).map_err(|error| error.to_string())?;
    let server = Server::spawn(&format!("{}/v1", upstream.base_url()), folder, |command| {
        command.arg("--vault").arg(vault);
    })?;
    let (address, stop) = (server.address, AtomicBool::new(false));
    std::thread::scope(|scope| {
        // The chat goes on while notes change.
        scope.spawn(|| {
            let asks = std::iter::repeat_with(|| ask(address));
            asks.take_while(|asked| asked.is_ok() && !stop.load(Ordering::Relaxed)).for_each(drop);
        });
        let mut version = 0;
        let measured = median(CHANGES, || {
            version += 1;
            let content = format!("The lanternfish swam in year {version}.");
            let note = format!("---\ntags: [lorebook]\nkeys: [lanternfish]\n---\n{content}");
            write(&vault.join("Lanternfish.md"), &note)?;
            let begun = Instant::now();
            while begun.elapsed() < Duration::from_secs(30) {
                let last = upstream.last().map(|one| one.json.to_string());
                if last.is_some_and(|last| last.contains(&content)) {
                    return Ok(begun.elapsed());
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            Err("a changed note never reached the model".to_owned())
        });
        stop.store(true, Ordering::Relaxed);
        measured
    })
}

/// Asks for a reply and reads it.
fn ask(server: SocketAddr) -> io::Result<()> {
    let body = r#"{"model":"m","messages":[{"role":"user","content":"The lanternfish?"}]}"#;
    let mut socket = TcpStream::connect(server)?;
    write!(
        socket,
        "POST /v1/chat/completions HTTP/1.1\r\nhost: {server}\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )?;
    io::copy(&mut socket, &mut io::sink()).map(drop)
}
