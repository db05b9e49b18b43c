//! `bench [NAME…] [--json]`: runs benchmarks. `bench proxy` with `--only PART`, `--growth N` or
//! `--peers PROGRAM` measures one thing of the proxy instead: a part of its benchmark, its memory
//! over N requests, or its time beside `LiteLLM`'s, which is PROGRAM.

use std::{
    io::{self, Write},
    path::PathBuf,
    process::ExitCode,
};

use loreloom_testkit::bench::{self, Figure, Part, Printer};

const USAGE: &str =
    "usage: bench [NAME…] [--json], bench proxy [--only PART] [--growth N] [--peers PROGRAM]";

#[derive(Default)]
struct Asked {
    names: Vec<String>,
    json: bool,
    only: Option<String>,
    growth: Option<u64>,
    peers: Option<PathBuf>,
    /// What the benchmark of the proxy starts this program as.
    part: Option<Part>,
}

impl Asked {
    fn read(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut asked = Self::default();
        while let Some(word) = words.next() {
            let mut value =
                || words.next().ok_or_else(|| format!("`{word}` needs a value; {USAGE}"));
            match word.as_str() {
                "--json" => asked.json = true,
                "--only" => asked.only = Some(value()?),
                "--growth" => {
                    let text = value()?;
                    let number = text.parse().ok().filter(|number| *number > 0);
                    let wrong = || format!("`--growth` must be a number above 0, found `{text}`");
                    asked.growth = Some(number.ok_or_else(wrong)?);
                }
                "--peers" => asked.peers = Some(PathBuf::from(value()?)),
                "--upstream" => asked.part = Some(Part::Upstream),
                "--wake" => asked.part = Some(Part::Wake),
                "--relay" => {
                    let text = value()?;
                    let wrong = |_| format!("`--relay` must be an address, found `{text}`");
                    asked.part = Some(Part::Relay(text.parse().map_err(wrong)?));
                }
                flag if flag.starts_with('-') => {
                    return Err(format!("unknown option `{flag}`; {USAGE}"));
                }
                _ => asked.names.push(word),
            }
        }
        if asked.is_of_the_proxy() && asked.names != ["proxy"] {
            let options = "`--only`, `--growth` and `--peers`";
            return Err(format!("{options} are for `proxy` alone; {USAGE}"));
        }
        if asked.names.is_empty() {
            asked.names = bench::NAMES.map(str::to_owned).to_vec();
        }
        Ok(asked)
    }

    fn is_of_the_proxy(&self) -> bool {
        self.only.is_some() || self.growth.is_some() || self.peers.is_some()
    }

    fn run(&self, name: &str, print: &mut dyn FnMut(Figure)) -> Result<(), String> {
        if !self.is_of_the_proxy() {
            return bench::run(name, print);
        }
        if let Some(part) = &self.only {
            bench::run_part(part, print)?;
        }
        if let Some(requests) = self.growth {
            bench::run_growth(requests, print)?;
        }
        if let Some(program) = &self.peers {
            bench::run_peers(program, print)?;
        }
        Ok(())
    }
}

fn main() -> ExitCode {
    let asked = match Asked::read(std::env::args().skip(1)) {
        Ok(asked) => asked,
        Err(error) => return fail(&error),
    };
    if let Some(part) = asked.part {
        return bench::play(part).map_or_else(|error| fail(&error), |()| ExitCode::SUCCESS);
    }
    let mut printer = Printer::new(io::stdout().lock(), asked.json);
    for name in &asked.names {
        let mut unwritten = None;
        let result = asked.run(name, &mut |figure| {
            unwritten = unwritten.take().or(printer.print(&figure).err());
        });
        match (result, unwritten) {
            (Ok(()), None) => {}
            (Err(error), _) => return fail(&error),
            (Ok(()), Some(error)) => return fail(&error.to_string()),
        }
    }
    ExitCode::SUCCESS
}

fn fail(error: &str) -> ExitCode {
    // Nothing is left to do if even the error cannot be printed.
    let _unwritten = writeln!(io::stderr(), "bench: {error}");
    ExitCode::FAILURE
}
