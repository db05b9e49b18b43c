//! A store that fails while replies stream: what front ends saw the end of is stored once the
//! store is back, or the answer said that it is not.
//!
//! The real binary serves. In each cycle some streams begin, the store breaks, the streams end,
//! the store comes back. In every second cycle the server is stopped and started in between.

mod full_disk;

use std::{
    fmt,
    path::Path,
    process::{Command, Stdio},
    sync::mpsc,
    thread,
};

use serde_json::{Value, json};

pub use self::full_disk::SmallDisk;
use crate::{
    postgres::Cluster,
    real_server::{Ask, Form, GatedModel, PATIENCE, RealServer, ServerSetup, WireAnswer, ask, get},
    store_suite::Failure,
};

/// Streams of a cycle.
const STREAMS: usize = 3;

/// How the store fails.
#[derive(Clone, Copy)]
pub enum Outage<'outside> {
    /// The disk takes no more bytes: the size of files is limited to so many.
    FullDisk(u64),
    /// The file system of the stories is really full.
    SmallDisk(&'outside SmallDisk),
    /// The database server is killed.
    Killed(&'outside Cluster),
}

impl Outage<'_> {
    fn begin(self, server: &RealServer) -> Result<(), Failure> {
        match self {
            Self::FullDisk(most) => limit(server, &most.to_string()),
            Self::SmallDisk(disk) => disk.fill(),
            Self::Killed(cluster) => cluster.kill(),
        }
    }

    fn end(self, server: &RealServer) -> Result<(), Failure> {
        match self {
            // A server that has stopped has no limit any more.
            Self::FullDisk(_) => limit(server, "unlimited").or(Ok(())),
            Self::SmallDisk(disk) => disk.clear(),
            Self::Killed(cluster) => cluster.restart(),
        }
    }

    /// Whether turns can wait in a file.
    fn leaves_room(self) -> bool {
        !matches!(self, Self::FullDisk(most) if most < 1 << 12)
    }
}

impl fmt::Display for Outage<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FullDisk(bytes) => write!(formatter, "files limited to {bytes} bytes"),
            Self::SmallDisk(_) => formatter.write_str("file system full"),
            Self::Killed(_) => formatter.write_str("database killed"),
        }
    }
}

/// What was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutageTally {
    /// Outages.
    pub cycles: u64,
    /// Replies whose end a front end saw.
    pub acknowledged: u64,
    /// Those of them that are not stored once the store is back, though their answers promised it.
    pub lost: u64,
    /// Those of them whose answer said that they are not stored, or not yet.
    pub said: u64,
    /// Those of them whose answer said that they will not be stored: the store failed before the
    /// turn was decided.
    pub given_up: u64,
    /// Lost ones whose answer said nothing.
    pub silent: u64,
    /// Outages during which a turn waited and `/ready` said that the server is ready.
    pub unnoticed: u64,
    /// Replies that were stored twice.
    pub doubled: u64,
}

impl fmt::Display for OutageTally {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cycles, acknowledged, lost, said, given_up, silent, .. } = self;
        let Self { unnoticed, doubled, .. } = self;
        write!(
            formatter,
            "{cycles} cycles, {acknowledged} acknowledged, {lost} lost, {said} said ({given_up} \
             given up), {silent} silent, {doubled} doubled, {unnoticed} unnoticed by /ready"
        )
    }
}

/// Runs the server program through so many outages.
pub fn run(program: &Path, outage: Outage<'_>, cycles: u64) -> Result<OutageTally, Failure> {
    let folder = tempfile::tempdir()?;
    let model = GatedModel::start(|request| reply_to(&question_in(request)))?;
    let upstream = format!("http://{}/v1", model.address);
    let place = match outage {
        Outage::FullDisk(_) => ["--data".to_owned(), folder.path().display().to_string()],
        Outage::SmallDisk(disk) => ["--data".to_owned(), disk.path().display().to_string()],
        Outage::Killed(cluster) => ["--store".to_owned(), cluster.url()],
    };
    let setup = ServerSetup { program, upstream, place: place.to_vec(), home: folder.path() };
    let start = || RealServer::start(&setup);
    let mut server = start()?;
    let mut tally = OutageTally::default();
    for cycle in 0..cycles {
        let mut answers = streams_through(&server, &model, outage, cycle)?;
        let (begun, _nobody_waits) = mpsc::channel();
        for form in [Form::Document, Form::Lines] {
            let (chat, question) = names(cycle, answers.len());
            let asked = Ask { form, chat: Some(&chat), messages: &messages(&question) };
            answers.push((form, ask(server.address, &asked, &begun)?));
        }
        let is_ready = get(server.address, "/ready")?.status != 503;
        let anything_waits = answers.iter().any(|(_, answer)| answer.warns());
        tally.unnoticed += u64::from(is_ready && anything_waits);
        if cycle % 2 == 1 && outage.leaves_room() {
            server.stop()?;
            outage.end(&server)?;
            server = start()?;
        } else {
            outage.end(&server)?;
        }
        server.wait_until_ready()?;
        if let Outage::SmallDisk(disk) = outage {
            disk.settle()?;
        }
        tally.cycles += 1;
        count(&mut tally, &server, cycle, &answers)?;
    }
    server.stop()?;
    Ok(tally)
}

/// Begins streams, breaks the store, and lets the streams end.
fn streams_through(
    server: &RealServer,
    model: &GatedModel,
    outage: Outage<'_>,
    cycle: u64,
) -> Result<Vec<(Form, WireAnswer)>, Failure> {
    model.set_open(false);
    let (begun, first_words) = mpsc::channel();
    let asking: Vec<_> = (0..STREAMS)
        .map(|number| {
            let (address, begun) = (server.address, begun.clone());
            let (chat, question) = names(cycle, number);
            thread::spawn(move || {
                let messages = messages(&question);
                let asked = Ask { form: Form::Events, chat: Some(&chat), messages: &messages };
                ask(address, &asked, &begun)
            })
        })
        .collect();
    for _ in 0..STREAMS {
        first_words.recv_timeout(PATIENCE)?;
    }
    outage.begin(server)?;
    model.set_open(true);
    let mut answers = Vec::new();
    for one in asking {
        answers.push((Form::Events, one.join().map_err(|_| "a client panicked")??));
    }
    Ok(answers)
}

/// The chat and the question of a stream.
fn names(cycle: u64, number: usize) -> (String, String) {
    (format!("outage-{cycle}-{number}"), format!("question-{cycle}-{number}"))
}

fn messages(question: &str) -> Value {
    json!([{ "role": "user", "content": question }])
}

/// The question of a request, which is its last marked word.
fn question_in(request: &str) -> String {
    let question = request.rsplit("question-").next().unwrap_or_default();
    let is_number = |letter: &char| letter.is_ascii_digit() || *letter == '-';
    let number: String = question.chars().take_while(is_number).collect();
    format!("question-{number}")
}

fn reply_to(question: &str) -> String {
    format!("Heard {question}.")
}

fn count(
    tally: &mut OutageTally,
    server: &RealServer,
    cycle: u64,
    answers: &[(Form, WireAnswer)],
) -> Result<(), Failure> {
    for (number, (form, answer)) in answers.iter().enumerate() {
        if !answer.is_whole(*form) {
            return Err(format!("{form:?} did not end: {}", answer.text).into());
        }
        let (chat, question) = names(cycle, number);
        let story = get(server.address, &format!("/api/v1/chats/{chat}/path"))?;
        let is_stored = story.text.contains(&reply_to(&question));
        let turns = get(server.address, &format!("/api/v1/chats/{chat}/turns"))?;
        let turns = turns.text.matches("\"generation\"").count();
        tally.acknowledged += 1;
        tally.said += u64::from(answer.warns());
        tally.given_up += u64::from(answer.gives_up());
        tally.lost += u64::from(!is_stored && !answer.gives_up());
        tally.silent += u64::from(!is_stored && !answer.warns());
        // The question and the reply name it once each.
        tally.doubled += u64::from(story.text.matches(&question).count() > 2 || turns > 1);
    }
    Ok(())
}

/// Limits the size of the files that the server writes.
fn limit(server: &RealServer, most: &str) -> Result<(), Failure> {
    let mut command = Command::new("prlimit");
    command.args(["--pid", &server.id().to_string(), &format!("--fsize={most}:unlimited")]);
    let status = command.stderr(Stdio::null()).status()?;
    if status.success() { Ok(()) } else { Err("prlimit failed".into()) }
}
