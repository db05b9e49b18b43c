//! A minimal HTTP client and upstream, so that the figures are the proxy's.

use std::{
    net::SocketAddr,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

/// Nanoseconds on the system's clock: the one that two processes share.
#[expect(clippy::disallowed_methods, reason = "what is measured is the time")]
fn nanos() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// What a request asks of the upstream, written into its body as unknown fields.
#[derive(Clone, Copy, Default)]
pub(super) struct Order {
    /// Chunks of a stream; a document if there are none.
    pub(super) chunks: u64,
    /// Milliseconds before the first byte, on average, and between chunks.
    pub(super) pause: u64,
}

impl Order {
    /// How long the model thinks before its first byte: between a fifth and nine fifths of the
    /// pause, and the pause on average. The timer has ticks of a millisecond: with the same time for
    /// all, parallel stories would soon run in the same tick.
    fn thought(self) -> Duration {
        static ASKED: AtomicU64 = AtomicU64::new(0);
        let asked = ASKED.fetch_add(1, Ordering::Relaxed);
        // 7 and 9 have no common factor, so nine requests in a row get nine different times.
        Duration::from_micros(self.pause * 200 * (asked * 7 % 9 + 1))
    }

    /// A piece of the reply to a turn.
    fn piece(turn: u64, at: u64) -> String {
        if at == 0 { format!("The keeper answers, number {turn}.") } else { " word".to_owned() }
    }

    pub(super) fn reply(self, turn: u64) -> String {
        (0..self.chunks.max(1)).map(|at| Self::piece(turn, at)).collect()
    }
}

/// A message that is being read.
#[derive(Default)]
struct Incoming(Vec<u8>);

impl Incoming {
    /// Reads more; false at the end of the connection.
    async fn more(&mut self, socket: &mut TcpStream) -> std::io::Result<bool> {
        Ok(socket.read_buf(&mut self.0).await? > 0)
    }

    /// The length of the head, once it is there.
    fn head(&self) -> Option<usize> {
        self.0.windows(4).position(|window| window == b"\r\n\r\n").map(|at| at + 4)
    }

    fn header(&self, name: &str) -> Option<String> {
        let head = String::from_utf8_lossy(&self.0[..self.head()?]).to_ascii_lowercase();
        let line = head.lines().find(|line| line.starts_with(name))?;
        line.split_once(':').map(|(_, value)| value.trim().to_owned())
    }

    /// Whether head and body are all there.
    fn is_whole(&self) -> bool {
        let Some(head) = self.head() else { return false };
        match self.header("content-length").and_then(|length| length.parse::<usize>().ok()) {
            Some(length) => self.0.len() >= head + length,
            None if self.header("transfer-encoding").is_some() => {
                self.0.ends_with(b"\r\n0\r\n\r\n")
            }
            None => true,
        }
    }
}

fn number(body: &str, field: &str) -> u64 {
    let after = body.split_once(&format!("\"{field}\":")).map_or("", |(_, after)| after);
    let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or_default()
}

/// Answers every request of a connection.
pub(super) async fn answer_all(mut socket: TcpStream) -> std::io::Result<()> {
    while answer(&mut socket).await? {}
    Ok(())
}

async fn answer(socket: &mut TcpStream) -> std::io::Result<bool> {
    let mut request = Incoming::default();
    while !request.is_whole() {
        if !request.more(socket).await? {
            return Ok(false);
        }
    }
    let arrived = nanos();
    let text = String::from_utf8_lossy(&request.0);
    let order =
        Order { chunks: number(&text, "bench_chunks"), pause: number(&text, "bench_pause") };
    let pause = Duration::from_millis(order.pause);
    if order.pause > 0 {
        tokio::time::sleep(order.thought()).await;
    }
    let turn = number(&text, "bench_turn");
    if order.chunks == 0 {
        let reply = order.reply(turn);
        let body = format!(
            r#"{{"id":"x","object":"chat.completion","choices":[{{"index":0,"message":{{"role":"assistant","content":"{reply}"}},"finish_reason":"stop"}}]}}"#
        );
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length:";
        socket.write_all(format!("{head} {}\r\n\r\n{body}", body.len()).as_bytes()).await?;
        return Ok(true);
    }
    let head =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    socket.write_all(head.as_bytes()).await?;
    for at in 0..order.chunks {
        if at > 0 && order.pause > 0 {
            tokio::time::sleep(pause).await;
        }
        let (piece, stamp) = (Order::piece(turn, at), nanos());
        let event = format!(
            "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{piece}\"}},\"finish_reason\":null}}],\"arrived\":{arrived},\"stamp\":{stamp}}}\n\n"
        );
        socket.write_all(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes()).await?;
    }
    socket.write_all(b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n").await?;
    Ok(true)
}

/// An answer and its times.
pub(super) struct Answered {
    /// From the first byte sent to the last received.
    pub(super) whole: Duration,
    /// How long the request and the first event took on the wire. The time inside the upstream is
    /// left out: its timer has ticks of a millisecond.
    pub(super) first: Duration,
    /// How long each event took on the wire.
    pub(super) events: Vec<Duration>,
    /// Whether the answer is a success without a warning.
    pub(super) good: bool,
    /// Whether lore was woven in.
    pub(super) has_lore: bool,
}

/// A client with one connection.
pub(super) struct Client {
    address: SocketAddr,
    socket: TcpStream,
    woven: bool,
}

impl Client {
    /// Connects; with `woven` false the proxy is asked to leave requests alone.
    pub(super) async fn connect(address: SocketAddr, woven: bool) -> std::io::Result<Self> {
        let socket = TcpStream::connect(address).await?;
        socket.set_nodelay(true)?;
        Ok(Self { address, socket, woven })
    }

    /// Sends a chat request and reads the answer.
    pub(super) async fn ask(&mut self, body: &str) -> std::io::Result<Answered> {
        let off = if self.woven { "" } else { "x-loreloom-weave: off\r\n" };
        let request = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\nuser-agent: bench\r\n{off}content-length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        let (begin, sent) = (Instant::now(), nanos());
        self.socket.write_all(request.as_bytes()).await?;
        let (mut reply, mut events, mut first, mut seen) =
            (Incoming::default(), Vec::new(), None, 0);
        while !reply.is_whole() {
            if !reply.more(&mut self.socket).await? {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            let now = nanos();
            let new = String::from_utf8_lossy(&reply.0[seen..]).into_owned();
            let whole = new.rfind("}\n\n").map_or(0, |at| at + 3);
            for piece in new[..whole].split("\"stamp\":").skip(1) {
                let digits: String = piece.chars().take_while(char::is_ascii_digit).collect();
                let stamp: u64 = digits.parse().unwrap_or(now);
                let back = Duration::from_nanos(now.saturating_sub(stamp));
                events.push(back);
                let there = number(&new, "arrived").saturating_sub(sent);
                first.get_or_insert(Duration::from_nanos(there) + back);
            }
            seen += whole;
        }
        let whole = begin.elapsed();
        let good =
            reply.0.starts_with(b"HTTP/1.1 200") && reply.header("x-loreloom-warning").is_none();
        let woven = reply.header("x-loreloom-woven");
        let has_lore = woven.is_some_and(|entries| entries != "0");
        Ok(Answered { whole, first: first.unwrap_or(whole), events, good, has_lore })
    }
}
