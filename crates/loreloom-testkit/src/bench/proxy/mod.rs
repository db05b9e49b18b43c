//! What the proxy adds to a bare upstream on loopback, and how much memory it uses.
//!
//! The real binary and the upstream run in processes of their own; the clients are in this one.
//! Requests to the proxy and to the bare upstream alternate, so that both meet the same load; a
//! figure is the difference. Figures of a busy machine mean little.

pub(super) mod beside;
mod burst;
pub(super) mod child;
mod growth;
mod peers;
mod start;
mod wire;

use std::{net::SocketAddr, time::Duration};

use tokio::{task::JoinSet, time::Instant};

use self::{
    beside::{Awake, Beside, Part},
    child::Server,
    wire::{Answered, Client, Order},
};
use super::figure::Figure;

type Measured<T> = Result<T, String>;

/// Both sides of a comparison.
#[derive(Default)]
struct Pair {
    ours: Vec<Duration>,
    bare: Vec<Duration>,
    failed: usize,
}

impl Pair {
    fn add(&mut self, ours: &Answered, bare: &Answered) {
        self.ours.push(ours.whole);
        self.bare.push(bare.whole);
        self.failed += usize::from(!ours.good || !bare.good);
    }

    fn add_first(&mut self, ours: &Answered, bare: &Answered) {
        self.ours.push(ours.first);
        self.bare.push(bare.first);
        self.failed += usize::from(!ours.good);
    }

    fn merge(&mut self, other: Self) {
        self.ours.extend(other.ours);
        self.bare.extend(other.bare);
        self.failed += other.failed;
    }

    /// Added milliseconds at a share of the requests.
    fn added(&self, share: f64) -> f64 {
        // Noise may make it negative.
        (at_share(&self.ours, share) - at_share(&self.bare, share)).max(0.0)
    }

    fn print(&self, print: &mut dyn FnMut(Figure), name: &str, bars: (f64, f64)) {
        for (share, bar) in [(0.5, bars.0), (0.99, bars.1)] {
            let added = self.added(share);
            let name = format!("{name}, added p{:.0}", share * 100.0);
            print(Figure::new(name, added, "ms").against(added / bar, format!("of {bar} ms")));
        }
        if self.failed > 0 {
            print(Figure::new(format!("{name}, not as they should be"), count(self.failed), ""));
        }
    }
}

/// The duration at a share of all, in milliseconds.
fn at_share(all: &[Duration], share: f64) -> f64 {
    let mut sorted = all.to_vec();
    sorted.sort_unstable();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a place in a short list"
    )]
    let place = (sorted.len() as f64 * share) as usize;
    let found = sorted.get(place.min(sorted.len().saturating_sub(1)));
    found.map_or(0.0, |found| found.as_secs_f64() * 1e3)
}

fn count(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}

/// A story that grows by a turn with each request and keeps the replies.
struct Story {
    name: String,
    turns: u64,
    messages: Vec<String>,
    /// How the last reply was asked for.
    asked: Order,
}

impl Story {
    fn new(name: String) -> Self {
        Self { name, turns: 0, messages: Vec::new(), asked: Order::default() }
    }

    /// A story with so many turns.
    fn after(name: String, turns: u64) -> Self {
        let mut story = Self::new(name);
        for _ in 0..turns {
            story.add_turn();
        }
        story
    }

    /// The next request.
    fn next(&mut self, order: Order) -> String {
        self.add_turn();
        self.asked = order;
        self.request(order, usize::MAX)
    }

    /// Adds the reply to the last message, and another message of the user.
    fn add_turn(&mut self) {
        let (name, turn) = (&self.name, self.turns);
        if turn > 0 {
            let reply = self.asked.reply(turn - 1);
            self.messages.push(format!(r#"{{"role":"assistant","content":"{reply}"}}"#));
        }
        self.messages.push(format!(
            r#"{{"role":"user","content":"In {name} somebody asks the keeper about place{} and what became of it after the long winter, for the {turn}th time."}}"#,
            turn * 7 % 1000
        ));
        self.turns += 1;
    }

    /// A request with the newest messages.
    fn request(&self, order: Order, most: usize) -> String {
        let (name, turn) = (&self.name, self.turns.saturating_sub(1));
        let messages = self.messages[self.messages.len().saturating_sub(most)..].join(",");
        let stream = order.chunks > 0;
        format!(
            r#"{{"model":"m","stream":{stream},"bench_chunks":{},"bench_pause":{},"bench_turn":{turn},"loreloom":{{"chat":"{name}"}},"messages":[{{"role":"system","content":"You are the keeper of the lighthouse in {name}."}},{messages}]}}"#,
            order.chunks, order.pause
        )
    }
}

/// The parts of this benchmark, in their order.
pub(super) const PARTS: [&str; 6] = ["passing", "eight", "long", "streams", "crowd", "growth"];

/// Measures everything, or one part alone.
pub(super) fn run(only: Option<&str>, print: &mut dyn FnMut(Figure)) -> Measured<()> {
    if let Some(part) = only.filter(|part| !PARTS.contains(part)) {
        return Err(format!("`proxy` has no part `{part}`; they are: {}", PARTS.join(", ")));
    }
    let asked = |part: &str| only.is_none_or(|only| only == part);
    runtime()?.block_on(measure(&asked, print)).map_err(|error| error.to_string())
}

/// How much memory it uses over so many requests.
pub(super) fn run_growth(requests: u64, print: &mut dyn FnMut(Figure)) -> Measured<()> {
    runtime()?.block_on(growth::run(requests, print)).map_err(|error| error.to_string())
}

/// How long the first start and the first turn take.
pub(super) fn run_start(print: &mut dyn FnMut(Figure)) -> Measured<()> {
    runtime()?.block_on(start::run(print)).map_err(|error| error.to_string())
}

/// How many replies break or come without lore when many people play at once.
pub(super) fn run_burst(print: &mut dyn FnMut(Figure)) -> Measured<()> {
    runtime()?.block_on(burst::run(print)).map_err(|error| error.to_string())
}

/// The proxy beside `LiteLLM`'s, which is this program.
pub(super) fn run_peers(litellm: &std::path::Path, print: &mut dyn FnMut(Figure)) -> Measured<()> {
    runtime()?.block_on(peers::run(litellm, print)).map_err(|error| error.to_string())
}

fn runtime() -> Measured<tokio::runtime::Runtime> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.map_err(|error| error.to_string())
}

async fn measure(
    asked: &dyn Fn(&str) -> bool,
    print: &mut dyn FnMut(Figure),
) -> Result<(), Box<dyn std::error::Error>> {
    let upstream = Beside::start(Part::Upstream)?;
    let bare = upstream.address;
    let server = Server::start(bare, 1000)?;
    tokio::time::sleep(Duration::from_millis(300)).await;
    memory(print, &server, "memory idle", 60.0);
    if asked("passing") {
        let passed = one_at_a_time(server.address, bare).await?;
        passed.print(print, "passed on, one at a time", (0.3, 1.0));
        let passed = at_a_rate(server.address, bare).await?;
        passed.print(print, "passed on, 1,000 a second", (0.3, 1.0));
    }
    if asked("eight") {
        let eight = eight_stories(server.address, bare).await?;
        eight.print(print, "1,000 entries, 8 stories at once", (1.0, 3.0));
        memory(print, &server, "memory after 1,000 woven turns", 110.0);
    }
    if asked("long") {
        // The first request brings the whole story, which takes longer than the usual deadline.
        let patient = Server::start_with(bare, 1000, &["--deadline", "20000"])?;
        let eight = long_stories(patient.address, bare).await?;
        let name = "1,000 entries, 10,000 remembered messages, 8 stories at once";
        eight.print(print, name, (8.0, 20.0));
    }
    if asked("streams") {
        streams(server.address, bare, print).await?;
    }
    if asked("crowd") {
        many_streams(server.address, print).await?;
    }
    if asked("growth") {
        growth(&server, print).await?;
    }
    Ok(())
}

fn memory(print: &mut dyn FnMut(Figure), server: &Server, name: &str, bar: f64) {
    if let Some(megabytes) = server.megabytes() {
        let figure = Figure::new(name, megabytes, "MB");
        print(figure.against(megabytes / bar, format!("of {bar} MB")));
    }
}

async fn one_at_a_time(ours: SocketAddr, bare: SocketAddr) -> std::io::Result<Pair> {
    let (mut proxy, mut direct) =
        (Client::connect(ours, false).await?, Client::connect(bare, false).await?);
    let body = Story::new("one".to_owned()).next(Order::default());
    let mut pair = Pair::default();
    for turn in 0..2200 {
        let (ours, bare) = (proxy.ask(&body).await?, direct.ask(&body).await?);
        if turn >= 200 {
            pair.add(&ours, &bare);
        }
    }
    Ok(pair)
}

/// Sixteen connections, each asking on time, now the proxy and now the upstream.
async fn at_a_rate(ours: SocketAddr, bare: SocketAddr) -> std::io::Result<Pair> {
    let mut clients = JoinSet::new();
    for at in 0..16_u64 {
        clients.spawn(async move {
            let (mut proxy, mut direct) =
                (Client::connect(ours, false).await?, Client::connect(bare, false).await?);
            let body = Story::new(format!("rate {at}")).next(Order::default());
            let mut pair = Pair::default();
            let mut tick = tokio::time::interval_at(
                Instant::now() + Duration::from_millis(at),
                Duration::from_millis(16),
            );
            for _ in 0..250 {
                tick.tick().await;
                let ours = proxy.ask(&body).await?;
                tick.tick().await;
                pair.add(&ours, &direct.ask(&body).await?);
            }
            std::io::Result::Ok(pair)
        });
    }
    joined(clients).await
}

/// Eight stories at once, each growing; the model thinks for five milliseconds on average.
async fn eight_stories(ours: SocketAddr, bare: SocketAddr) -> std::io::Result<Pair> {
    // The first turn loads what all others need.
    let mut client = Client::connect(ours, true).await?;
    client.ask(&Story::new("first".to_owned()).next(Order { chunks: 1, pause: 5 })).await?;
    let mut clients = JoinSet::new();
    for at in 0..8 {
        clients.spawn(async move {
            let (mut proxy, mut direct) =
                (Client::connect(ours, true).await?, Client::connect(bare, false).await?);
            let mut story = Story::new(format!("tale {at}"));
            let mut pair = Pair::default();
            for _ in 0..125 {
                let body = story.next(Order { chunks: 1, pause: 5 });
                let (ours, bare) = (proxy.ask(&body).await?, direct.ask(&body).await?);
                pair.add_first(&ours, &bare);
            }
            std::io::Result::Ok(pair)
        });
    }
    joined(clients).await
}

/// Eight stories at once with 10,000 messages between them, of which the front end sends the
/// newest. The model thinks for five milliseconds on average.
async fn long_stories(ours: SocketAddr, bare: SocketAddr) -> std::io::Result<Pair> {
    const TURNS: u64 = 625;
    const WINDOW: usize = 21;
    let mut clients = JoinSet::new();
    for at in 0..8 {
        clients.spawn(async move {
            let (mut proxy, mut direct) =
                (Client::connect(ours, true).await?, Client::connect(bare, false).await?);
            let mut story = Story::after(format!("saga {at}"), TURNS);
            let order = Order { chunks: 1, pause: 5 };
            // The whole story once, and time to store it.
            proxy.ask(&story.request(order, usize::MAX)).await?;
            tokio::time::sleep(Duration::from_secs(5)).await;
            let mut pair = Pair::default();
            for turn in 0..45 {
                story.add_turn();
                let body = story.request(order, WINDOW);
                let (ours, bare) = (proxy.ask(&body).await?, direct.ask(&body).await?);
                if turn >= 5 {
                    pair.add_first(&ours, &bare);
                }
            }
            std::io::Result::Ok(pair)
        });
    }
    joined(clients).await
}

async fn joined(mut clients: JoinSet<std::io::Result<Pair>>) -> std::io::Result<Pair> {
    let mut all = Pair::default();
    while let Some(pair) = clients.join_next().await {
        all.merge(pair.map_err(std::io::Error::other)??);
    }
    Ok(all)
}

/// Time to the first token and delay of each chunk: copied by a relay, passed on, and with lore.
/// Measured twice: as the machine is, and with processors that are kept awake. On a virtual machine
/// waking a processor may take longer than everything else, and its caches are cold.
async fn streams(
    ours: SocketAddr,
    bare: SocketAddr,
    print: &mut dyn FnMut(Figure),
) -> Result<(), Box<dyn std::error::Error>> {
    let relay = Beside::start(Part::Relay(bare))?;
    for is_kept_awake in [false, true] {
        let awake = is_kept_awake.then(Awake::start).flatten();
        if is_kept_awake && awake.is_none() {
            break;
        }
        let when = if is_kept_awake { ", kept awake" } else { "" };
        let name = |name: &str| format!("{name}{when}");
        let copied = Streamed::measure(relay.address, bare, name("copied by a relay"), false);
        let copied = copied.await?;
        copied.print(print, None);
        for (kind, woven) in [("passed on", false), ("1,000 entries", true)] {
            let streamed = Streamed::measure(ours, bare, name(kind), woven).await?;
            streamed.print(print, Some(&copied));
        }
        drop(awake);
    }
    Ok(())
}

/// How long streams of one kind took: with pauses between requests, so that caches go cold, and
/// back to back.
struct Streamed {
    name: String,
    paused: Pair,
    quick: Pair,
    chunks: Pair,
}

impl Streamed {
    async fn measure(
        ours: SocketAddr,
        bare: SocketAddr,
        name: String,
        woven: bool,
    ) -> std::io::Result<Self> {
        let (mut paused, mut quick, mut chunks) =
            (Pair::default(), Pair::default(), Pair::default());
        let story = (format!("slow {name}"), Order { chunks: 50, pause: 1 }, woven);
        let failed = stream(ours, bare, story, |ours, bare| {
            paused.add_first(ours, bare);
            // The first event carries what the request took.
            chunks.ours.extend(&ours.events[1..]);
            chunks.bare.extend(&bare.events[1..]);
        });
        paused.failed += failed.await?;
        for at in 0..10 {
            let story = (format!("quick {name} {at}"), Order { chunks: 3, pause: 1 }, woven);
            let failed = stream(ours, bare, story, |ours, bare| quick.add_first(ours, bare));
            quick.failed += failed.await?;
        }
        Ok(Self { name, paused, quick, chunks })
    }

    /// Prints the figures, beside the bars and beside a relay's figures of the same minute: a slow
    /// machine is slow for both.
    fn print(&self, print: &mut dyn FnMut(Figure), relay: Option<&Self>) {
        let name = &self.name;
        let mut print_one =
            |what: &str, unit: &'static str, times: f64, bar: f64, of: fn(&Self) -> f64| {
                let added = of(self) * times;
                let figure = Figure::new(format!("{what}, {name}, added p50"), added, unit);
                let Some(relay) = relay else { return print(figure) };
                print(figure.against(added / bar, format!("of {bar} {unit}")));
                let name = format!("{what}, {name}, against a relay");
                print(Figure::new(name, of(self) / of(relay), "times"));
            };
        print_one("first token, after a pause", "ms", 1.0, 0.5, |one| one.paused.added(0.5));
        print_one("first token, back to back", "ms", 1.0, 0.5, |one| one.quick.added(0.5));
        print_one("a streamed chunk", "µs", 1e3, 50.0, |one| one.chunks.added(0.5));
        let failed = self.paused.failed + self.quick.failed;
        if failed > 0 {
            let name = format!("streams, {name}, not as they should be");
            print(Figure::new(name, count(failed), ""));
        }
    }
}

/// Plays a story through the proxy and the bare upstream. Returns how many of the first turns,
/// which are not timed, failed.
async fn stream(
    ours: SocketAddr,
    bare: SocketAddr,
    (name, order, woven): (String, Order, bool),
    mut seen: impl FnMut(&Answered, &Answered),
) -> std::io::Result<usize> {
    let (mut proxy, mut direct) =
        (Client::connect(ours, woven).await?, Client::connect(bare, false).await?);
    let (mut story, mut failed) = (Story::new(name), 0);
    for turn in 0..42 {
        let body = story.next(order);
        let (ours, bare) = (proxy.ask(&body).await?, direct.ask(&body).await?);
        if turn >= 2 {
            seen(&ours, &bare);
        } else {
            failed += usize::from(!ours.good);
        }
    }
    Ok(failed)
}

async fn many_streams(ours: SocketAddr, print: &mut dyn FnMut(Figure)) -> std::io::Result<()> {
    let mut clients = JoinSet::new();
    let begin = Instant::now();
    for at in 0..1000 {
        clients.spawn(async move {
            let mut client = Client::connect(ours, true).await?;
            let body = Story::new(format!("crowd {at}")).next(Order { chunks: 20, pause: 100 });
            client.ask(&body).await
        });
    }
    let (mut broken, mut unwoven) = (0, 0);
    while let Some(answer) = clients.join_next().await {
        match answer {
            Ok(Ok(answer)) if answer.events.len() == 20 => unwoven += usize::from(!answer.good),
            _ => broken += 1,
        }
    }
    let took = begin.elapsed().as_secs_f64();
    print(
        Figure::new("1,000 streams at once, broken", count(broken), "")
            .against(took, "s for 2 s of text"),
    );
    print(Figure::new("1,000 streams at once, without lore", count(unwoven), ""));
    Ok(())
}

/// Memory before and after many requests of a few stories.
async fn growth(
    server: &Server,
    print: &mut dyn FnMut(Figure),
) -> Result<(), Box<dyn std::error::Error>> {
    let mut client = Client::connect(server.address, true).await?;
    let begin = server.megabytes();
    for at in 0..20 {
        let mut story = Story::new(format!("long {}", at % 4));
        for _ in 0..25 {
            client.ask(&story.next(Order::default())).await?;
        }
    }
    let warm = server.megabytes();
    for at in 0..60 {
        let mut story = Story::new(format!("long {}", at % 4));
        for _ in 0..25 {
            client.ask(&story.next(Order::default())).await?;
        }
    }
    if let (Some(begin), Some(warm), Some(end)) = (begin, warm, server.megabytes()) {
        print(Figure::new("growth over 500 more woven turns", warm - begin, "MB"));
        print(Figure::new("growth over the next 1,500", end - warm, "MB"));
    }
    Ok(())
}
