//! Which functions the proxy runs for a request, as callgrind sees them while stories are told.
//! The linker lays them side by side: `crates/loreloom-cli/build.rs` says why.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Command,
};

use super::{
    Story,
    beside::{Beside, Part},
    child::Server,
    wire::{Client, Order},
};
use crate::bench::figure::Figure;

/// Turns that are told before and while functions are counted.
const TURNS: u64 = 12;

/// Writes the names of the functions into a file, a line each.
pub(super) async fn run(
    file: &Path,
    print: &mut dyn FnMut(Figure),
) -> Result<(), Box<dyn std::error::Error>> {
    let upstream = Beside::start(Part::Upstream)?;
    let bare = upstream.address;
    let folder = tempfile::tempdir()?;
    let counted = folder.path().join("counted");
    let mut valgrind = Command::new("valgrind");
    valgrind
        .args(["--quiet", "--tool=callgrind", "--demangle=no"])
        .arg(format!("--callgrind-out-file={}", counted.display()));
    // It is some fifty times slower there.
    let server = Server::start_by(valgrind, bare, 1000, &["--deadline", "60000"])?;
    // What only the first turns do is left out.
    tell(server.address, "warming up").await?;
    control(&server, "--zero")?;
    tell(server.address, "counted").await?;
    control(&server, "--dump")?;
    #[expect(clippy::disallowed_methods, reason = "a file that callgrind has just written")]
    let counted = std::fs::read_to_string(first_dump(&counted))?;
    let names = functions(&counted);
    let lines: String = names.iter().flat_map(|name| [name, "\n"]).collect();
    #[expect(clippy::disallowed_methods, reason = "what is made is made anew as a whole")]
    std::fs::write(file, lines)?;
    print(Figure::new("functions that requests run", super::count(names.len()), ""));
    Ok(())
}

/// Tells a story, of which every other request is only passed on.
async fn tell(server: SocketAddr, name: &str) -> std::io::Result<()> {
    let (mut woven, mut passed) =
        (Client::connect(server, true).await?, Client::connect(server, false).await?);
    let mut story = Story::new(name.to_owned());
    for turn in 0..TURNS {
        // Streams and documents.
        let body = story.next(Order { chunks: turn % 2 * 3, pause: 1 });
        woven.ask(&body).await?;
        passed.ask(&body).await?;
    }
    Ok(())
}

/// Tells callgrind something.
fn control(server: &Server, what: &str) -> Result<(), String> {
    let mut command = Command::new("callgrind_control");
    let told = command.arg(what).arg(server.number().to_string()).output();
    let told = told.map_err(|error| format!("`callgrind_control` cannot be run: {error}"))?;
    let said = String::from_utf8_lossy(&told.stderr);
    told.status.success().then_some(()).ok_or_else(|| format!("callgrind: {}", said.trim()))
}

/// Where callgrind writes what it is first told to dump.
fn first_dump(counted: &Path) -> PathBuf {
    let mut name = counted.as_os_str().to_owned();
    name.push(".1");
    name.into()
}

/// The functions that have a cost, each followed by those that it calls: what runs together lies
/// together, and what a request waits for is not mixed with what is done after it.
fn functions(counted: &str) -> Vec<&str> {
    let (mut names, mut calls) = (BTreeMap::new(), BTreeMap::<&str, Vec<&str>>::new());
    let (mut met, mut called, mut here) = (Vec::new(), BTreeSet::new(), "");
    for line in counted.lines() {
        let (is_call, rest) = match (line.strip_prefix("fn="), line.strip_prefix("cfn=")) {
            (Some(rest), _) => (false, rest),
            (None, Some(rest)) => (true, rest),
            (None, None) => continue,
        };
        // `fn=(number) name`, of which the name is told once only.
        let (number, name) = rest.split_once(' ').unwrap_or((rest, ""));
        if !name.is_empty() {
            // One that calls itself has a number for each depth.
            names.insert(number, name.split_once('\'').map_or(name, |(name, _)| name));
        }
        if is_call {
            calls.entry(here).or_default().push(number);
            called.insert(number);
        } else {
            here = number;
            met.push(number);
        }
    }
    // From those that nobody calls; what calls itself in a circle comes last.
    let mut next: Vec<&str> = met.iter().rev().copied().collect();
    next.extend(met.iter().rev().filter(|number| !called.contains(*number)));
    let (mut seen, mut told, mut order) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
    while let Some(number) = next.pop() {
        if !seen.insert(number) {
            continue;
        }
        next.extend(calls.get(number).into_iter().flatten().rev());
        let name: &str = names.get(number).copied().unwrap_or_default();
        let is_named = !name.is_empty() && !name.starts_with("0x") && !name.starts_with('(');
        if is_named && told.insert(name) {
            order.push(name);
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_told_once_each_before_those_it_calls() {
        let counted = "fn=(1) circle\n1 1\ncfn=(1)\ncalls=1 0\n1 5\n\n\
             fn=(6) apart\n1 1\nfn=(4) (below main)\n1 1\ncfn=(3) 0x00001234\ncalls=1 0\n1 5\n\
             cfn=(5) last\ncalls=1 0\n1 5\n\nfn=(3)\n1 1\ncfn=(2) alpha'2\ncalls=1 0\n1 5\n\n\
             fn=(5)\n1 1\nfn=(2)\n1 7\nfn=(7) alpha\n1 1\n";
        assert_eq!(functions(counted), ["apart", "alpha", "last", "circle"]);
    }
}
