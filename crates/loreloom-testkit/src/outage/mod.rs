//! A store that fails while replies stream: what front ends saw the end of is stored once the
//! store is back, or the answer said that it is not.
//!
//! The real binary serves. In each cycle some streams begin, the store breaks, the streams end,
//! the store comes back. In every second cycle the server is stopped and started in between.

mod client;
mod gated_model;

use std::{
    fmt,
    io::{BufRead as _, BufReader},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use self::{
    client::{Form, WireAnswer, ask, get},
    gated_model::{GatedModel, reply_to},
};
use crate::{postgres::Cluster, store_suite::Failure};

/// Streams of a cycle.
const STREAMS: usize = 3;

/// How long the server may take to store what waited.
const PATIENCE: Duration = Duration::from_secs(30);

/// Ignores the signal, so that writing beyond the limit is an error that the server sees.
const LIMITED: &str = r#"trap "" XFSZ; exec "$@""#;

/// How the store fails.
#[derive(Clone, Copy)]
pub enum Outage<'cluster> {
    /// The disk takes no more bytes: the size of files is limited to so many.
    FullDisk(u64),
    /// The database server is killed.
    Killed(&'cluster Cluster),
}

impl Outage<'_> {
    /// Whether turns can wait in a file.
    fn leaves_room(self) -> bool {
        !matches!(self, Self::FullDisk(most) if most < 1 << 12)
    }
}

impl fmt::Display for Outage<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FullDisk(bytes) => write!(formatter, "files limited to {bytes} bytes"),
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
    /// Outages during which `/ready` said that the server is ready.
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
    let model = GatedModel::start()?;
    let upstream = format!("http://{}/v1", model.address);
    let place = match outage {
        Outage::FullDisk(_) => vec!["--data".to_owned(), folder.path().display().to_string()],
        Outage::Killed(cluster) => vec!["--store".to_owned(), cluster.url()],
    };
    let home = folder.path().to_owned();
    let start = || ServerUnderTest::start(program, &upstream, &place, &home);
    let mut server = start()?;
    let mut tally = OutageTally::default();
    for cycle in 0..cycles {
        let mut answers = streams_through(&server, &model, outage, cycle)?;
        let (begun, _nobody_waits) = mpsc::channel();
        for form in [Form::Document, Form::Lines] {
            let names = names(cycle, answers.len());
            answers.push((form, ask(server.address, form, &names, &begun)?));
        }
        let is_ready = get(server.address, "/ready")?.status != 503;
        tally.unnoticed += u64::from(is_ready);
        if cycle % 2 == 1 && outage.leaves_room() {
            server.stop()?;
            server.mend_store(outage)?;
            server = start()?;
        } else {
            server.mend_store(outage)?;
        }
        server.wait_until_ready()?;
        tally.cycles += 1;
        count(&mut tally, &server, cycle, &answers)?;
    }
    server.stop()?;
    Ok(tally)
}

/// Begins streams, breaks the store, and lets the streams end.
fn streams_through(
    server: &ServerUnderTest,
    model: &GatedModel,
    outage: Outage<'_>,
    cycle: u64,
) -> Result<Vec<(Form, WireAnswer)>, Failure> {
    model.set_open(false);
    let (begun, first_words) = mpsc::channel();
    let asking: Vec<_> = (0..STREAMS)
        .map(|number| {
            let (address, begun) = (server.address, begun.clone());
            let names = names(cycle, number);
            thread::spawn(move || ask(address, Form::Events, &names, &begun))
        })
        .collect();
    for _ in 0..STREAMS {
        first_words.recv_timeout(PATIENCE)?;
    }
    server.break_store(outage)?;
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

fn count(
    tally: &mut OutageTally,
    server: &ServerUnderTest,
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

/// The real binary as a child. It ends with this value.
struct ServerUnderTest {
    child: Child,
    address: SocketAddr,
}

impl ServerUnderTest {
    fn start(
        program: &Path,
        upstream: &str,
        place: &[String],
        home: &PathBuf,
    ) -> Result<Self, Failure> {
        let mut command = Command::new("sh");
        command.args(["-c", LIMITED, "limited"]).arg(program).arg("serve");
        command.args(["--port", "0", "--no-memory", "--upstream", upstream]).args(place);
        command.env("HOME", home).env_remove("XDG_DATA_HOME").current_dir(home);
        command.stdout(Stdio::piped()).stderr(Stdio::null()).stdin(Stdio::null());
        let mut child = command.spawn()?;
        let mut line = String::new();
        if let Some(out) = child.stdout.take() {
            BufReader::new(out).read_line(&mut line)?;
        }
        let address = line.trim().rsplit("http://").next().and_then(|text| text.parse().ok());
        let address = address.ok_or_else(|| format!("the server said `{}`", line.trim()))?;
        Ok(Self { child, address })
    }

    fn break_store(&self, outage: Outage<'_>) -> Result<(), Failure> {
        match outage {
            Outage::FullDisk(most) => self.limit(&most.to_string()),
            Outage::Killed(cluster) => cluster.kill(),
        }
    }

    fn mend_store(&self, outage: Outage<'_>) -> Result<(), Failure> {
        match outage {
            // A server that has stopped has no limit any more.
            Outage::FullDisk(_) => self.limit("unlimited").or(Ok(())),
            Outage::Killed(cluster) => cluster.restart(),
        }
    }

    /// Limits the size of the files that the server writes.
    fn limit(&self, most: &str) -> Result<(), Failure> {
        let mut command = Command::new("prlimit");
        let id = self.child.id().to_string();
        command.args(["--pid", &id, &format!("--fsize={most}:unlimited")]);
        let output = command.stderr(Stdio::null()).status()?;
        if output.success() { Ok(()) } else { Err("prlimit failed".into()) }
    }

    /// Waits until everything that waited is stored. A server without `/ready` gets no time.
    fn wait_until_ready(&self) -> Result<(), Failure> {
        let began = Instant::now();
        while get(self.address, "/ready")?.status == 503 {
            if began.elapsed() > PATIENCE {
                return Err("the server is not ready, though its store is back".into());
            }
            thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// Stops it as a person does.
    fn stop(&mut self) -> Result<(), Failure> {
        let id = self.child.id().to_string();
        Command::new("kill").args(["-TERM", &id]).status()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for ServerUnderTest {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _gone = self.child.kill();
        let _gone = self.child.wait();
    }
}
