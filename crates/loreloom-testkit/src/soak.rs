//! A server that works for a long time: what grows, and whether a turn had no lore.

use std::{
    collections::BTreeMap,
    fmt, io,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    postgres::Cluster,
    real_server::{Ask, Form, GatedModel, RealServer, ServerSetup, WireAnswer, ask},
    store_suite::Failure,
};

/// What is measured first and compared with: until then caches fill.
const WARM: f64 = 0.25;

/// Chats that take turns. After [`TURNS_OF_A_CHAT`] a new one begins in its place.
const CHATS: usize = 8;

/// A longer chat would not fit into the context that the server assumes, and it would say so.
const TURNS_OF_A_CHAT: usize = 15;

/// A pause between turns, so that other work on the machine goes on.
const PAUSE: Duration = Duration::from_millis(5);

const BOOK: &str = r#"{"entries":{"0":{"uid":0,"key":["ferry"],"content":"The ferry has a cracked bell.","position":1}}}"#;

const LORE: &str = "The ferry has a cracked bell.";

/// The state of a server at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SoakSample {
    /// Seconds since the start.
    pub seconds: u64,
    /// Turns until then.
    pub turns: u64,
    /// Memory of the process, in KiB.
    pub memory_kib: u64,
    /// Open files of the process.
    pub open_files: u64,
    /// Bytes of the files in its data folder, without the database.
    pub other_bytes: u64,
    /// Bytes of the database file.
    pub database_bytes: u64,
}

impl fmt::Display for SoakSample {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seconds, turns, memory_kib, open_files, other_bytes, database_bytes } = self;
        write!(
            formatter,
            "{seconds} s: {turns} turns, {memory_kib} KiB of memory, {open_files} open files, \
             {database_bytes} bytes of database, {other_bytes} bytes of other files"
        )
    }
}

/// What a soak found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SoakTally {
    /// One sample for each twentieth of the time.
    pub samples: Vec<SoakSample>,
    /// Turns that reached the model without lore.
    pub without_lore: u64,
    /// Answers that had no end.
    pub endless: u64,
    /// Warnings of answers, and how often each came. Numbers in them are left out.
    pub warnings: BTreeMap<String, u64>,
}

impl SoakTally {
    /// The sample after a quarter of the time, and the last one.
    pub fn ends(&self) -> Option<(SoakSample, SoakSample)> {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a place among twenty samples"
        )]
        let warm = (self.samples.len() as f64 * WARM) as usize;
        Some((*self.samples.get(warm)?, *self.samples.last()?))
    }
}

/// Lets a server of the program work for so long. `report` gets each sample.
pub fn run(
    program: &Path,
    cluster: Option<&Cluster>,
    duration: Duration,
    mut report: impl FnMut(&SoakSample),
) -> Result<SoakTally, Failure> {
    let folder = tempfile::tempdir()?;
    let book = folder.path().join("book.json");
    write(&book, BOOK)?;
    let without_lore = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&without_lore);
    let model = GatedModel::start(move |request| {
        // The server also asks which models there are.
        let is_turn = request.starts_with("POST /v1/chat/completions");
        counted.fetch_add(u64::from(is_turn && !request.contains(LORE)), Ordering::Relaxed);
        format!("{} The ferry leaves.", "She nods and waits for the fare. ".repeat(20))
    })?;
    model.set_open(true);
    let data = folder.path().join("data");
    let mut place = match cluster {
        Some(cluster) => vec!["--store".to_owned(), cluster.url()],
        None => vec!["--data".to_owned(), data.display().to_string()],
    };
    place.extend(["--book".to_owned(), book.display().to_string()]);
    let upstream = format!("http://{}/v1", model.address);
    let setup = ServerSetup { program, upstream, place, home: folder.path() };
    let mut server = RealServer::start(&setup)?;
    let mut tally = SoakTally::default();
    let (began, step) = (Instant::now(), duration / 20);
    let mut chats = vec![Vec::new(); CHATS];
    let mut turns = 0;
    while began.elapsed() < duration {
        let place = usize::try_from(turns).unwrap_or_default() % CHATS;
        let answer = turn(&server, &mut chats[place], turns)?;
        tally.endless += u64::from(!answer.is_whole(Form::Events));
        if let Some(warning) = warning(&answer) {
            *tally.warnings.entry(warning).or_default() += 1;
        }
        turns += 1;
        let due = step * u32::try_from(tally.samples.len() + 1).unwrap_or(u32::MAX);
        if began.elapsed() >= due {
            let sample = sample(&server, &data, began.elapsed(), turns)?;
            report(&sample);
            tally.samples.push(sample);
        }
        thread::sleep(PAUSE);
    }
    server.stop()?;
    tally.without_lore = without_lore.load(Ordering::Relaxed);
    Ok(tally)
}

/// The warning of an answer.
fn warning(answer: &WireAnswer) -> Option<String> {
    let line = answer.text.lines().find(|line| line.contains("loreloom-warning"))?;
    Some(line.chars().filter(|letter| !letter.is_ascii_digit()).collect())
}

/// Plays one turn of a chat without an id.
fn turn(
    server: &RealServer,
    messages: &mut Vec<Value>,
    number: u64,
) -> Result<WireAnswer, Failure> {
    if messages.len() >= 2 * TURNS_OF_A_CHAT {
        messages.clear();
    }
    let said = format!("For the {number}. time I ask about the ferry. {}", "I wait. ".repeat(60));
    messages.push(json!({ "role": "user", "content": said }));
    let asked = Value::from(messages.clone());
    let (begun, _nobody_waits) = mpsc::channel();
    let answer =
        ask(server.address, &Ask { form: Form::Events, chat: None, messages: &asked }, &begun)?;
    messages.push(json!({ "role": "assistant", "content": answer.reply() }));
    Ok(answer)
}

fn sample(
    server: &RealServer,
    data: &Path,
    elapsed: Duration,
    turns: u64,
) -> Result<SoakSample, Failure> {
    let process = Path::new("/proc").join(server.id().to_string());
    let status = read(&process.join("status"))?;
    let memory = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let memory = memory.and_then(|line| line.trim().strip_suffix(" kB"));
    let mut sample = SoakSample {
        seconds: elapsed.as_secs(),
        turns,
        memory_kib: memory.and_then(|kib| kib.trim().parse().ok()).unwrap_or(0),
        open_files: std::fs::read_dir(process.join("fd"))?.count() as u64,
        ..SoakSample::default()
    };
    for file in std::fs::read_dir(data).into_iter().flatten().flatten() {
        let bytes = file.metadata()?.len();
        let is_database = file.file_name() == "stories.sqlite";
        let sum = if is_database { &mut sample.database_bytes } else { &mut sample.other_bytes };
        *sum += bytes;
    }
    Ok(sample)
}

#[expect(clippy::disallowed_methods, reason = "the files of a test")]
fn write(file: &Path, text: &str) -> io::Result<()> {
    std::fs::write(file, text)
}

#[expect(clippy::disallowed_methods, reason = "the state of a process")]
fn read(file: &Path) -> io::Result<String> {
    std::fs::read_to_string(file)
}
