//! Many people at once: how many replies break, and how many come without their lore.
//!
//! Deadline and queue have their default values. First a thousand stories begin at the same moment;
//! then fifty stories are played as fast as possible, on each store.

use std::{error::Error, net::SocketAddr, time::Instant};

use tokio::task::JoinSet;

use super::{
    Story,
    beside::{Beside, Part},
    child::Server,
    count,
    wire::{Client, Order},
};
use crate::{bench::figure::Figure, postgres::Cluster};

/// Streams that begin at once.
const STREAMS: usize = 1_000;
/// Stories that are played at once.
const BUSY: usize = 50;
/// Turns of each.
const TURNS: usize = 40;
/// Entries of the lorebook. Every message names one of them.
const ENTRIES: usize = 1_000;

/// Measures both.
pub(super) async fn run(print: &mut dyn FnMut(Figure)) -> Result<(), Box<dyn Error>> {
    let upstream = Beside::start(Part::Upstream)?;
    let server = Server::start(upstream.address, ENTRIES)?;
    let begin = Tally::of(server.address, STREAMS, 1, Order { chunks: 10, pause: 20 }).await?;
    begin.print(print, &format!("{STREAMS} streams at once"));
    drop(server);

    let order = Order { chunks: 3, pause: 5 };
    let server = Server::start(upstream.address, ENTRIES)?;
    let busy = Tally::of(server.address, BUSY, TURNS, order).await?;
    busy.print(print, &format!("{BUSY} busy stories, SQLite"));
    drop(server);

    let cluster = Cluster::start().map_err(|error| error.to_string())?;
    let Some(cluster) = cluster else { return Ok(()) };
    let arguments = ["--store", &cluster.url()];
    let server = Server::start_with(upstream.address, ENTRIES, &arguments)?;
    let busy = Tally::of(server.address, BUSY, TURNS, order).await?;
    busy.print(print, &format!("{BUSY} busy stories, PostgreSQL"));
    Ok(())
}

/// The result of a number of turns.
#[derive(Default)]
struct Tally {
    turns: usize,
    broken: usize,
    without_lore: usize,
    seconds: f64,
}

impl Tally {
    /// Plays stories at once, each on its own connection.
    async fn of(
        server: SocketAddr,
        stories: usize,
        turns: usize,
        order: Order,
    ) -> Result<Self, Box<dyn Error>> {
        let mut clients = JoinSet::new();
        let begin = Instant::now();
        for at in 0..stories {
            clients.spawn(play(server, format!("burst {at}"), turns, order));
        }
        let mut all = Self::default();
        while let Some(one) = clients.join_next().await {
            let one = one?;
            all.turns += one.turns;
            all.broken += one.broken;
            all.without_lore += one.without_lore;
        }
        all.seconds = begin.elapsed().as_secs_f64();
        Ok(all)
    }

    fn print(&self, print: &mut dyn FnMut(Figure), name: &str) {
        print(Figure::new(format!("{name}, broken"), count(self.broken), ""));
        print(Figure::new(format!("{name}, without lore"), count(self.without_lore), ""));
        let rate = count(self.turns) / self.seconds;
        print(Figure::new(format!("{name}, turns in a second"), rate, ""));
    }
}

/// Plays one story.
async fn play(server: SocketAddr, name: String, turns: usize, order: Order) -> Tally {
    let mut tally = Tally { turns, ..Tally::default() };
    let mut story = Story::new(name);
    let Ok(mut client) = Client::connect(server, true).await else {
        return Tally { broken: turns, ..tally };
    };
    for left in (1..=turns).rev() {
        let Ok(answer) = client.ask(&story.next(order)).await else {
            tally.broken += left;
            break;
        };
        tally.broken += usize::from(!answer.good);
        tally.without_lore += usize::from(!answer.has_lore);
    }
    tally
}
