//! What a chat switches on and off.

use std::io::Write;

use clap::Args;
use loreloom_core::replay::{Fired, TurnLine};
use serde::Serialize;

use super::{replay::Replay, runs::NamedRun};

/// Run whole chats through the engine and print what comes in and what leaves at each turn.
///
/// Every turn is decided as it would be in the story, with its chances, pauses and budget;
/// `replay` prints all that is in instead.
#[derive(Debug, Args)]
pub(crate) struct Simulate {
    #[command(flatten)]
    replay: Replay,
}

#[derive(Serialize)]
struct Simulation<'run> {
    chat: &'run str,
    turns: Vec<Switched<'run>>,
}

/// What a turn changed.
#[derive(Serialize)]
struct Switched<'run> {
    /// The number of the last message.
    at: usize,
    speaker: Option<&'run str>,
    /// What was not in at the turn before.
    on: Vec<One<'run>>,
    /// What was in at the turn before.
    off: Vec<One<'run>>,
    /// How much is in altogether.
    fired: usize,
    tokens: u32,
}

#[derive(Serialize)]
struct One<'run> {
    book: &'run str,
    entry: &'run str,
    title: &'run str,
}

impl Simulate {
    pub(super) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        self.replay.each(|run, lines| {
            let simulation = Simulation { chat: &run.name, turns: switched(lines) };
            if self.replay.json() {
                writeln!(out, "{}", serde_json::to_string(&simulation)?)?;
                return Ok(());
            }
            simulation.print(run, out)
        })
    }
}

/// What each turn changed against the one before.
fn switched(lines: &[TurnLine]) -> Vec<Switched<'_>> {
    let before = std::iter::once(&[][..]).chain(lines.iter().map(|line| line.fired.as_slice()));
    lines
        .iter()
        .zip(before)
        .map(|(line, before)| Switched {
            at: line.at,
            speaker: line.speaker.as_deref(),
            on: only_in(&line.fired, before),
            off: only_in(before, &line.fired),
            fired: line.fired.len(),
            tokens: line.tokens.0,
        })
        .collect()
}

/// What is only in the first of two lists.
fn only_in<'run>(these: &'run [Fired], those: &[Fired]) -> Vec<One<'run>> {
    let is_there = |one: &&Fired| those.iter().any(|other| other.entry == one.entry);
    let one = |fired: &'run Fired| One {
        book: fired.book.as_str(),
        entry: fired.entry.as_str(),
        title: &fired.title,
    };
    these.iter().filter(|one| !is_there(one)).map(one).collect()
}

impl Simulation<'_> {
    fn print(&self, run: &NamedRun, out: &mut dyn Write) -> anyhow::Result<()> {
        writeln!(out, "{}: {} turns", run.name, self.turns.len())?;
        for turn in &self.turns {
            let signed = |sign: char, ones: &[One<'_>]| -> Vec<String> {
                ones.iter().map(|one| format!("{sign}{}", one.title)).collect()
            };
            let changes = [signed('+', &turn.on), signed('-', &turn.off)].concat();
            let changes = if changes.is_empty() { "=".to_owned() } else { changes.join(", ") };
            writeln!(out, "{:>6}  {:>3} in  {changes}", turn.at, turn.fired)?;
        }
        Ok(())
    }
}
