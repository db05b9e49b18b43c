//! Starting: the size of the program, the time from its start to its first answer, and its memory
//! when it is idle.
//!
//! An answer is a whole turn: the request goes through the proxy to an upstream that replies at
//! once. Times are wall times, the median of several starts.

use std::{
    error::Error,
    net::SocketAddr,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use serde_json::Value;

use super::{
    Story, at_share,
    beside::{Beside, Part},
    child::{Server, binary, book_of},
    memory,
    wire::{Client, Order},
};
use crate::bench::figure::Figure;

/// Entries of the lorebook.
const ENTRIES: usize = 10_000;
/// Stories in the data folder.
const STORIES: usize = 1_000;
/// Turns of a stored story.
const TURNS: u64 = 5;
/// Starts that are measured.
const STARTS: usize = 7;
/// The longest wait for the last story to be stored.
const PATIENCE: Duration = Duration::from_mins(1);

/// Measures all of it.
pub(super) async fn run(print: &mut dyn FnMut(Figure)) -> Result<(), Box<dyn Error>> {
    let megabytes = f64::from(u32::try_from(binary()?.metadata()?.len() / 1000)?) / 1000.0;
    let size = Figure::new("size of the program", megabytes, "MB");
    print(size.against(megabytes / 45.0, "of 45 MB"));

    let upstream = Beside::start(Part::Upstream)?;
    let mut empty = Vec::new();
    for _ in 0..STARTS {
        let folder = tempfile::tempdir()?;
        empty.push(start(upstream.address, folder.path(), None).await?.1);
    }
    let median = at_share(&empty, 0.5);
    let figure = Figure::new("start to first answer, no data", median, "ms");
    print(figure.against(median / 300.0, "of 300 ms"));

    let folder = tempfile::tempdir()?;
    let book = folder.path().join("book.json");
    #[expect(clippy::disallowed_methods, reason = "a benchmark writes its own input")]
    std::fs::write(&book, book_of(ENTRIES))?;
    fill(upstream.address, folder.path(), &book).await?;
    let name = format!("start to first answer, {STORIES} stories");
    let median = at_share(&starts(upstream.address, folder.path(), None).await?, 0.5);
    print(Figure::new(&name, median, "ms").against(median / 1000.0, "of 1000 ms"));
    let median = at_share(&starts(upstream.address, folder.path(), Some(&book)).await?, 0.5);
    print(Figure::new(format!("{name} and {ENTRIES} entries"), median, "ms"));

    let (server, _) = start(upstream.address, folder.path(), Some(&book)).await?;
    // A start leaves work for the background.
    tokio::time::sleep(Duration::from_secs(3)).await;
    let name = format!("memory idle, {STORIES} stories and {ENTRIES} entries");
    memory(print, &server, &name, 60.0);
    if let Some(megabytes) = server.own_megabytes() {
        print(Figure::new("the same without pages of files", megabytes, "MB"));
    }
    Ok(())
}

/// Starts with the stories of a folder.
async fn starts(
    upstream: SocketAddr,
    folder: &Path,
    book: Option<&Path>,
) -> Result<Vec<Duration>, Box<dyn Error>> {
    let mut all = Vec::new();
    for _ in 0..STARTS {
        all.push(start(upstream, folder, book).await?.1);
    }
    Ok(all)
}

/// Starts a server. Returns the time to its first answer.
async fn start(
    upstream: SocketAddr,
    folder: &Path,
    book: Option<&Path>,
) -> Result<(Server, Duration), Box<dyn Error>> {
    let body = Story::new("first".to_owned()).next(Order::default());
    let begin = Instant::now();
    let server = Server::spawn(&format!("http://{upstream}/v1"), folder, |command| {
        if let Some(book) = book {
            command.arg("--book").arg(book);
        }
    })?;
    let answer = Client::connect(server.address, true).await?.ask(&body).await?;
    let took = begin.elapsed();
    if !answer.good {
        return Err("the first answer is a failure or has a warning".into());
    }
    Ok((server, took))
}

/// Fills a folder with stories, by playing them.
async fn fill(upstream: SocketAddr, folder: &Path, book: &Path) -> Result<(), Box<dyn Error>> {
    let server = Server::spawn(&format!("http://{upstream}/v1"), folder, |command| {
        command.arg("--book").arg(book).args(["--deadline", "20000"]);
    })?;
    let mut client = Client::connect(server.address, true).await?;
    for at in 0..STORIES {
        let mut story = Story::after(format!("stored {at}"), TURNS - 1);
        client.ask(&story.next(Order::default())).await?;
    }
    let begin = Instant::now();
    while stored(folder)? < STORIES {
        if begin.elapsed() > PATIENCE {
            return Err(format!("only {} of {STORIES} stories are stored", stored(folder)?).into());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}

/// How many stories a folder has.
fn stored(folder: &Path) -> Result<usize, Box<dyn Error>> {
    let mut command = Command::new(binary()?);
    command.args(["chats", "--json", "--data"]).arg(folder.join("stories"));
    let chats: Vec<Value> = serde_json::from_slice(&command.output()?.stdout)?;
    Ok(chats.len())
}
