//! Harms a store in every way we know, again and again, and counts what was lost:
//! `crash --cycles 200`.
//!
//! A process that commits is killed; so is the real server, alone and beside others on the same
//! store; a PostgreSQL server is killed too; disks fail and are full; logs and databases are
//! damaged. Each part prints a line.

use std::{
    fmt,
    io::{Write, stdout},
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use clap::{Parser, ValueEnum};
use loreloom_core::ids::ChatId;
use loreloom_testkit::{
    faults::Trouble,
    fleet,
    outage::{self, Outage, SmallDisk},
    postgres::Cluster,
    soak,
    store_suite::{
        Failure, Opener,
        crash::{self, Tally},
        damage, faults,
    },
};

/// Harms a store in every way we know, again and again, and counts what was lost.
#[derive(Debug, Parser)]
struct Arguments {
    /// How often, in each part.
    #[arg(long, default_value_t = 100)]
    cycles: u64,
    /// What is harmed.
    #[arg(long, value_enum, default_value_t = Kind::Sqlite)]
    store: Kind,
    /// Only this part.
    #[arg(long, value_enum)]
    only: Option<Part>,
    /// Instead of doing harm, let a server work for so many minutes, and see what grows.
    #[arg(long, value_name = "MINUTES")]
    soak: Option<u64>,
    /// The server program [default: `loreloom` beside this program].
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// Makes other moments to kill it at.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Be the process that commits to this place, in this chat.
    #[arg(long, num_args = 2, value_names = ["PLACE", "CHAT"], hide = true)]
    child: Option<Vec<String>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    Sqlite,
    Postgres,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Each write fails once (SQLite).
    Faults,
    /// A committing process is killed; in every second cycle the database server too.
    Kill,
    /// The log or the database of a killed process is damaged (SQLite).
    Damage,
    /// The store fails while the real server streams: a full disk, a killed database server.
    Outage,
    /// Two and three servers share the store, and some are killed.
    Servers,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
        }
    }

    fn opener(self, place: &str) -> Box<dyn Opener> {
        match self {
            Self::Sqlite => Box::new(crash::SqliteAt(place.into())),
            Self::Postgres => Box::new(crash::PostgresAt(place.to_owned())),
        }
    }

    fn has(self, part: Part) -> bool {
        self == Self::Sqlite || !matches!(part, Part::Faults | Part::Damage)
    }
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let arguments = Arguments::parse();
    if let Some([place, chat]) = arguments.child.as_deref() {
        let store = arguments.store.opener(place).open().await?;
        return crash::write_until_killed(store.as_ref(), &ChatId::from(chat.as_str()), stdout())
            .await;
    }
    let cluster = match arguments.store {
        Kind::Sqlite => None,
        Kind::Postgres => match Cluster::start()? {
            Some(cluster) => Some(cluster),
            None => return Ok(()),
        },
    };
    let beside = std::env::current_exe()?.with_file_name("loreloom");
    let program = arguments.program.clone().unwrap_or(beside);
    let crash = Crash { arguments, program, cluster };
    if let Some(minutes) = crash.arguments.soak {
        return crash.soak(Duration::from_mins(minutes));
    }
    let mut harm = 0;
    for part in [Part::Faults, Part::Kill, Part::Damage, Part::Outage, Part::Servers] {
        let is_wanted = crash.arguments.only.is_none_or(|only| only == part);
        if is_wanted && crash.arguments.store.has(part) {
            harm += crash.run(part).await?;
        }
    }
    if harm > 0 { Err("something was lost, or nobody was warned".into()) } else { Ok(()) }
}

/// Prints a line at once: a part takes minutes.
fn say(line: impl fmt::Display) -> Result<(), Failure> {
    let mut out = stdout();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}

struct Crash {
    arguments: Arguments,
    program: PathBuf,
    cluster: Option<Cluster>,
}

impl Crash {
    /// Runs a part and prints what came of it. Returns how much harm was done.
    async fn run(&self, part: Part) -> Result<u64, Failure> {
        match part {
            Part::Faults => Self::faults().await,
            Part::Kill => self.kill().await,
            Part::Damage => self.damage().await,
            Part::Outage => self.outage(),
            Part::Servers => self.servers().await,
        }
    }

    async fn faults() -> Result<u64, Failure> {
        let mut harm = 0;
        for trouble in [Trouble::Passing, Trouble::Lasting] {
            let tally = faults::run(trouble, 3).await?;
            say(format!("{trouble:?} faults: {tally}"))?;
            harm += tally.lost + tally.findings;
        }
        Ok(harm)
    }

    /// Starts this program as the process that commits.
    fn child(&self, place: &str, chat: &ChatId) -> Command {
        let itself = std::env::current_exe().unwrap_or_else(|_| "crash".into());
        let mut command = Command::new(itself);
        let store = self.arguments.store.name();
        command.args(["--store", store, "--child", place, chat.as_str()]);
        command
    }

    async fn kill(&self) -> Result<u64, Failure> {
        let directory = tempfile::tempdir()?;
        let file = directory.path().join("stories.sqlite").display().to_string();
        let place = self.cluster.as_ref().map_or(file, Cluster::address);
        let opener = self.arguments.store.opener(&place);
        let cycles = (self.arguments.cycles, self.arguments.seed);
        let progress = |tally: &Tally| {
            if tally.cycles.is_multiple_of(100) && tally.cycles < cycles.0 {
                drop(say(format!("killed: {tally}")));
            }
        };
        let command = |chat: &ChatId| self.child(&place, chat);
        let cluster = self.cluster.as_ref();
        let tally = crash::run(opener.as_ref(), command, cluster, cycles, progress).await?;
        say(format!("slowest opening after a kill: {} ms", tally.slowest.as_millis()))?;
        say(format!("killed: {tally}"))?;
        Ok(tally.lost)
    }

    async fn damage(&self) -> Result<u64, Failure> {
        let cycles = (self.arguments.cycles, self.arguments.seed);
        let command = |file: &Path, chat: &ChatId| self.child(&file.display().to_string(), chat);
        let tally = damage::run(command, cycles).await?;
        say(format!("damaged: {tally}"))?;
        Ok(tally.lost + tally.silent)
    }

    fn outage(&self) -> Result<u64, Failure> {
        let disk = if self.cluster.is_none() { SmallDisk::mount()? } else { None };
        let outages = match (&self.cluster, &disk) {
            (Some(cluster), _) => vec![Outage::Killed(cluster)],
            // The smaller limit leaves no room for the spill either.
            (None, None) => vec![Outage::FullDisk(1 << 16), Outage::FullDisk(1)],
            (None, Some(disk)) => {
                vec![Outage::FullDisk(1 << 16), Outage::FullDisk(1), Outage::SmallDisk(disk)]
            }
        };
        let mut harm = 0;
        for outage in outages {
            let tally = outage::run(&self.program, outage, self.arguments.cycles)?;
            say(format!("{outage}: {tally}"))?;
            harm += tally.lost + tally.silent + tally.doubled + tally.unnoticed;
        }
        Ok(harm)
    }

    /// Half of the cycles with two servers, half with three. A cycle is a story.
    async fn servers(&self) -> Result<u64, Failure> {
        let mut harm = 0;
        for servers in [2, 3] {
            let stories = self.arguments.cycles.div_ceil(2);
            let cluster = self.cluster.as_ref();
            let tally = fleet::run(&self.program, cluster, servers, stories).await?;
            say(format!("{servers} servers: {tally}"))?;
            harm += tally.lost + tally.doubled + tally.split + tally.mixed;
        }
        Ok(harm)
    }

    fn soak(&self, duration: Duration) -> Result<(), Failure> {
        let report = |sample: &soak::SoakSample| drop(say(sample));
        let tally = soak::run(&self.program, self.cluster.as_ref(), duration, report)?;
        if let Some((warm, last)) = tally.ends() {
            say(format!(
                "from {} s to {} s: memory {} to {} KiB, open files {} to {}, other files {} to {} \
                 bytes",
                warm.seconds,
                last.seconds,
                warm.memory_kib,
                last.memory_kib,
                warm.open_files,
                last.open_files,
                warm.other_bytes,
                last.other_bytes
            ))?;
        }
        for (warning, times) in &tally.warnings {
            say(format!("{times} times: {warning}"))?;
        }
        let (without, endless) = (tally.without_lore, tally.endless);
        say(format!("{without} turns without lore, {endless} answers without an end"))?;
        if without + endless > 0 { Err("a turn had no lore or no end".into()) } else { Ok(()) }
    }
}
