//! Kills a process that commits, again and again, and counts what was lost:
//! `crash --cycles 1000`. A PostgreSQL server is killed too; for SQLite, first every write
//! fails once.

use std::{
    io::{Write, stdout},
    path::PathBuf,
    process::Command,
};

use clap::{Parser, ValueEnum};
use loreloom_core::ids::ChatId;
use loreloom_testkit::{
    faults::Trouble,
    outage::{self, Outage},
    postgres::Cluster,
    store_suite::{
        Failure, Opener,
        crash::{self, Tally},
        faults,
    },
};

/// Kills a process that commits, again and again, and counts what was lost.
#[derive(Debug, Parser)]
struct Arguments {
    /// How often to kill it.
    #[arg(long, default_value_t = 100)]
    cycles: u64,
    /// What it commits to.
    #[arg(long, value_enum, default_value_t = Kind::Sqlite)]
    store: Kind,
    /// Instead of killing the process, let its store fail while the real server streams: a disk
    /// that is full, or a database server that is killed.
    #[arg(long)]
    outage: bool,
    /// The server program for `--outage` [default: `loreloom` beside this program].
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// Makes other moments to kill it at.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Be the process that commits to this place, in this chat.
    #[arg(long, num_args = 2, value_names = ["PLACE", "CHAT"], hide = true)]
    child: Option<Vec<String>>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Kind {
    Sqlite,
    Postgres,
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
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let arguments = Arguments::parse();
    if let Some([place, chat]) = arguments.child.as_deref() {
        let store = arguments.store.opener(place).open().await?;
        return crash::tell(store.as_ref(), &ChatId::from(chat.as_str()), stdout()).await;
    }
    if arguments.outage {
        return outages(&arguments);
    }
    let tally = match arguments.store {
        Kind::Sqlite => {
            for trouble in [Trouble::Passing, Trouble::Lasting] {
                let tally = faults::run(trouble, 3).await?;
                writeln!(stdout(), "{trouble:?} faults: {tally}")?;
                if tally.lost + tally.findings > 0 {
                    return Err("a fault of the disk did harm".into());
                }
            }
            let directory = tempfile::tempdir()?;
            let place = directory.path().join("stories.sqlite");
            parent(&arguments, &place.display().to_string(), None).await?
        }
        Kind::Postgres => match Cluster::start()? {
            Some(cluster) => parent(&arguments, &cluster.address(), Some(&cluster)).await?,
            None => return Ok(()),
        },
    };
    writeln!(stdout(), "slowest opening after a kill: {} ms", tally.slowest.as_millis())?;
    writeln!(stdout(), "{tally}")?;
    if tally.lost > 0 { Err("acknowledged commits were lost".into()) } else { Ok(()) }
}

/// Lets the store of the real server fail while it streams.
fn outages(arguments: &Arguments) -> Result<(), Failure> {
    let beside = std::env::current_exe()?.with_file_name("loreloom");
    let program = arguments.program.as_ref().unwrap_or(&beside);
    let cluster;
    let outages = match arguments.store {
        // The smaller limit leaves no room for the spill either.
        Kind::Sqlite => vec![Outage::FullDisk(1 << 16), Outage::FullDisk(1)],
        Kind::Postgres => match Cluster::start()? {
            Some(started) => {
                cluster = started;
                vec![Outage::Killed(&cluster)]
            }
            None => return Ok(()),
        },
    };
    let mut harm = 0;
    for outage in outages {
        let tally = outage::run(program, outage, arguments.cycles)?;
        writeln!(stdout(), "{outage}: {tally}")?;
        harm += tally.silent + tally.doubled + tally.unnoticed;
    }
    if harm > 0 { Err("an outage did harm that nobody was warned of".into()) } else { Ok(()) }
}

async fn parent(
    arguments: &Arguments,
    place: &str,
    server: Option<&Cluster>,
) -> Result<Tally, Failure> {
    let itself: PathBuf = std::env::current_exe()?;
    let kind = arguments.store;
    let command = |chat: &ChatId| {
        let mut command = Command::new(&itself);
        command.args(["--store", kind.name(), "--child", place, chat.as_str()]);
        command
    };
    let told = |tally: &Tally| {
        if tally.cycles.is_multiple_of(100) && tally.cycles < arguments.cycles {
            drop(writeln!(stdout(), "{tally}"));
        }
    };
    let opener = kind.opener(place);
    let cycles = (arguments.cycles, arguments.seed);
    crash::run(opener.as_ref(), command, server, cycles, told).await
}
