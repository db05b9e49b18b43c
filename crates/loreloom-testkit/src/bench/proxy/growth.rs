//! The proxy's memory over many requests, measured at intervals: a leak goes on growing, a cache
//! fills once.
//!
//! Each story has some turns, then another begins, as on a server that runs for months. The
//! knowledge of stories is bounded, so memory grows up to that bound and then stays.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use tokio::task::JoinSet;

use super::{
    Story,
    beside::{Beside, Part},
    child::Server,
    wire::{Client, Order},
};
use crate::bench::figure::Figure;

/// Turns of a story.
const TURNS: u64 = 25;
/// Stories that run at the same time.
const AT_ONCE: u64 = 4;
/// How often memory is measured.
const LOOKS: u64 = 10;

/// Sends so many requests and prints the memory after each tenth of them.
pub(super) async fn run(
    requests: u64,
    print: &mut dyn FnMut(Figure),
) -> Result<(), Box<dyn std::error::Error>> {
    let upstream = Beside::start(Part::Upstream)?;
    let bare = upstream.address;
    // A long deadline: a turn without lore would not be measured.
    let server = Server::start_with(bare, 1000, &["--deadline", "20000"])?;
    let (sent, broken) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let mut seen = Vec::new();
    for look in 1..=LOOKS {
        let stories = (requests / LOOKS).div_ceil(TURNS * AT_ONCE);
        let mut clients = JoinSet::new();
        for at in 0..AT_ONCE {
            let (sent, broken) = (Arc::clone(&sent), Arc::clone(&broken));
            clients.spawn(play(server.address, (look, at), stories, sent, broken));
        }
        while let Some(ended) = clients.join_next().await {
            ended??;
        }
        let Some(megabytes) = server.megabytes() else { break };
        let name = format!("memory after {} requests", sent.load(Ordering::Relaxed));
        print(Figure::new(name, megabytes, "MB"));
        seen.push(megabytes);
    }
    if let [.., middle, _, _, _, _, last] = seen.as_slice() {
        print(Figure::new("growth over the second half", last - middle, "MB"));
    }
    let broken = u32::try_from(broken.load(Ordering::Relaxed)).unwrap_or(u32::MAX);
    print(Figure::new("answers that were not as they should be", f64::from(broken), ""));
    Ok(())
}

async fn play(
    server: SocketAddr,
    (look, at): (u64, u64),
    stories: u64,
    sent: Arc<AtomicU64>,
    broken: Arc<AtomicU64>,
) -> std::io::Result<()> {
    let mut client = Client::connect(server, true).await?;
    for number in 0..stories {
        let mut story = Story::new(format!("growth {look} {at} {number}"));
        for _ in 0..TURNS {
            let answer = client.ask(&story.next(Order::default())).await?;
            sent.fetch_add(1, Ordering::Relaxed);
            broken.fetch_add(u64::from(!answer.good), Ordering::Relaxed);
        }
    }
    Ok(())
}
