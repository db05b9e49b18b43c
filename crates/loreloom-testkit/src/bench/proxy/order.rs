//! Which functions the proxy runs for a request, as callgrind sees them while stories are told.
//! The linker lays them side by side: `crates/loreloom-cli/build.rs` says why.

use std::{
    collections::BTreeSet,
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

/// The functions that have a cost. Sorted, which keeps what belongs together together.
fn functions(counted: &str) -> BTreeSet<&str> {
    counted
        .lines()
        .filter(|line| line.starts_with("fn=") || line.starts_with("cfn="))
        // `fn=(number) name`, of which the name is told once only.
        .filter_map(|line| line.split_once(") ").map(|(_, name)| name))
        // One that calls itself has a number for each depth.
        .map(|name| name.split_once('\'').map_or(name, |(name, _)| name))
        .filter(|name| !name.starts_with("0x") && !name.starts_with('('))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_told_once_and_what_has_no_name_is_left_out() {
        let counted = "fn=(1) _ZN1b1bE\n12 3\ncfn=(2) alpha'2\ncalls=1 0\n1 5\n\nfn=(2)\n1 7\n\
             fn=(3) 0x00001234\n1 1\nfn=(4) (below main)\n1 1\nfn=(5) alpha\n1 1\n";
        assert_eq!(functions(counted).into_iter().collect::<Vec<_>>(), ["_ZN1b1bE", "alpha"]);
    }
}
