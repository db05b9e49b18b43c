//! The demonstration: a small world and a short story, with no model at all.

use std::{
    fmt,
    io::Write,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use anyhow::Context as _;
use bytes::Bytes;
use clap::Args;
use futures_util::StreamExt as _;
use http::{HeaderMap, HeaderValue, Method, header::CONTENT_TYPE};
use loreloom_core::{
    ids::{ChatId, EntryId, MessageId, TenantId},
    library::{Binding, Volume},
    report::{Outcome, Verdict, words},
    rules::Profile,
    turn::Speaker,
    units::Tokens,
};
use loreloom_formats::{ImportOptions, import};
use loreloom_llm::{connection::Address, upstream::HttpUpstream};
use loreloom_memory::{record::MemoryKind, service::NewMemory};
use loreloom_ports::{Clock as _, Owner, Store, Upstream, UpstreamCall};
use loreloom_server::{
    App, AppParts, ChatMetadata, ConnectionKind, ConnectionSettings, Connections, Defaults,
    LastTurn, LoreService, Maker, StoredBooks, Weaving,
};
use loreloom_settings::StartSettings;
use loreloom_store::SqliteStore;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    serve::{Server, parts, runtime, stop_asked},
    serve_memory,
};
use crate::{
    clock::SystemClock,
    config::{ForAll, Opened, fixed, opening, prospecting},
    embedding_table::EmbeddingTable,
    tokenizer::TokenizerArguments,
};

const WORLD: &[u8] = include_bytes!("../../assets/demo/world.json");
const STORY: &[u8] = include_bytes!("../../assets/demo/story.json");
/// The story's id.
const CHAT: &str = "demo";

/// Play a short story without a model, and show which lore each turn got and why.
///
/// Nothing is stored: the story is only in memory.
#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// End after the story instead of serving the page
    #[arg(long)]
    exit: bool,

    /// The port; 0 takes any free one
    #[arg(long, default_value_t = 8686)]
    port: u16,

    /// Turn memory and recall off
    #[arg(long)]
    no_memory: bool,

    #[command(flatten)]
    tokenizer: TokenizerArguments,
}

/// The story that ships in the binary.
#[derive(Deserialize)]
struct Story {
    title: String,
    character: String,
    user: String,
    main: String,
    opening: String,
    turns: Vec<String>,
    /// What is remembered of it, each with the number of the message that it rests on.
    memories: Vec<(usize, String)>,
}

impl Demo {
    pub(super) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let story: Story = serde_json::from_slice(STORY)?;
        progress("reading the lorebook")?;
        let book = import(WORLD, &ImportOptions::new("saltmere").named("Saltmere"))?.book;
        let entries = book.entries.len();
        // Stored, so that it can be edited on the page.
        let stacks = LoreService::new([], Profile::Loreloom.rules(), None)?;
        let store: Arc<dyn Store> = Arc::new(SqliteStore::in_memory()?);
        let settings = StartSettings::default();
        let memory = (!self.no_memory).then(|| {
            serve_memory::memory(
                &store,
                &EmbeddingTable::default(),
                settings.settings.memory.options(),
            )
        });
        let defaults = Defaults {
            context: Tokens(2048),
            context_stated: false,
            user: story.user.clone(),
            speaker: Some(Speaker::named(story.character.as_str())),
            seed: 7,
            contexts: std::collections::BTreeMap::new(),
        };
        let offline =
            ConnectionSettings { kind: ConnectionKind::Offline, ..ConnectionSettings::default() };
        let offline = Opened::open("offline", &offline, Path::new(""))?;
        progress("loading the tokenizer")?;
        let offline = offline.counted(fixed(self.tokenizer.load()?)).connection()?;
        let opening = opening(PathBuf::new(), ForAll::default());
        let connections = Connections::only(offline).prospecting(prospecting()).opening(opening);
        // The story is the same on every machine, however busy.
        let weaving = Weaving { deadline: Duration::from_mins(1), ..Weaving::default() };
        let app = parts(stacks, Arc::clone(&store), connections, defaults);
        let app = App::new(AppParts { weaving, memory, ..app });
        runtime()?.block_on(async {
            keep(store.as_ref(), Volume::world_info(Arc::new(book))).await?;
            progress("starting the server")?;
            let server = start(app.clone(), self.port, self.exit).await?;
            serve_memory::work(&app);
            let address = server.address;
            progress(&format!("playing {} turns at http://{address}", story.turns.len()))?;
            writeln!(
                out,
                "{}\n{entries} entries of lore, no model: the built-in storyteller speaks.\n",
                story.title
            )?;
            play(out, &app, address, &story).await?;
            entitle(&app, &story).await?;
            remember(&app, &story).await?;
            write!(out, "{}", Next { address, serving: !self.exit })?;
            out.flush()?;
            if self.exit {
                return server.until(std::future::ready(())).await;
            }
            server.until(stop_asked()).await
        })
    }
}

/// Stores the book, active everywhere.
async fn keep(store: &dyn Store, volume: Volume) -> anyhow::Result<()> {
    let (tenant, now) = (TenantId::local(), SystemClock.now());
    let case = StoredBooks { documents: store, tenant: &tenant };
    case.put(vec![(volume, vec![Binding::Everywhere])], Maker::Import, None, now).await?;
    Ok(())
}

/// Gives the story its title.
async fn entitle(app: &App, story: &Story) -> anyhow::Result<()> {
    let (tenant, chat) = (TenantId::local(), ChatId(CHAT.to_owned()));
    let metadata = ChatMetadata { title: Some(story.title.clone()), ..ChatMetadata::default() };
    let seen = app.store.revision(&tenant).await?;
    metadata.write(app.store.as_ref(), (&tenant, &chat), seen, app.clock.now()).await?;
    Ok(())
}

/// Notes what a model would have remembered of the story.
async fn remember(app: &App, story: &Story) -> anyhow::Result<()> {
    let Some(memory) = &app.memory else { return Ok(()) };
    let (tenant, chat) = (TenantId::local(), ChatId(CHAT.to_owned()));
    let record = app.store.chat(&tenant, &chat).await?.context("the demo has no story")?;
    let nodes = app.store.path(&tenant, &chat, record.tip).await?;
    let ids: Vec<MessageId> = nodes.into_iter().map(|node| node.message_id).collect();
    for (number, content) in &story.memories {
        let receipt = ids.get(number - 1).context("a memory rests on a message")?;
        let memory_of = NewMemory {
            kind: MemoryKind::Event,
            content: content.clone(),
            importance: Some(2),
            receipts: vec![*receipt],
        };
        memory.edits.add(&tenant, &Owner::Chat(chat.clone()), memory_of).await?;
    }
    Ok(())
}

/// Says on standard error what happens now. The story itself goes to standard output.
fn progress(what: &str) -> std::io::Result<()> {
    writeln!(std::io::stderr(), "demo: {what}")
}

/// What to do after the demo.
struct Next {
    address: SocketAddr,
    /// Whether the server still runs.
    serving: bool,
}

impl fmt::Display for Next {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { address, serving } = self;
        writeln!(formatter, "What next?")?;
        if *serving {
            writeln!(formatter, "  See why each entry is in the prompt: http://{address}/")?;
            writeln!(
                formatter,
                "  Play on in your front end: set its API address to http://{address}/v1"
            )?;
        }
        writeln!(
            formatter,
            "  Install the command:  cargo install --locked --path crates/loreloom-cli"
        )?;
        writeln!(
            formatter,
            "  Use your own lore:    loreloom serve --upstream http://127.0.0.1:11434/v1 --book world.json"
        )?;
        if *serving {
            writeln!(formatter, "Ctrl-C ends the demo.")?;
        }
        Ok(())
    }
}

/// A demo that ends at once takes any port if its own is in use.
async fn start(app: App, port: u16, exit: bool) -> anyhow::Result<Server> {
    let address = |port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
    match Server::start(app.clone(), address(port)).await {
        Err(_) if exit => Server::start(app, address(0)).await,
        started => started.context("another port can be chosen with `--port`, 0 takes any"),
    }
}

async fn play(
    out: &mut dyn Write,
    app: &App,
    address: SocketAddr,
    story: &Story,
) -> anyhow::Result<()> {
    let proxy = HttpUpstream::new(Address::parse(&format!("http://{address}/v1"))?, None)?;
    let mut messages = vec![
        json!({ "role": "system", "content": story.main }),
        json!({ "role": "assistant", "name": story.character, "content": story.opening }),
    ];
    writeln!(out, "{}: {}\n", story.character, story.opening)?;
    for (at, text) in story.turns.iter().enumerate() {
        messages.push(json!({ "role": "user", "name": story.user, "content": text }));
        let reply = ask(&proxy, &messages).await?;
        messages.push(json!({ "role": "assistant", "name": story.character, "content": reply }));
        let last = stored(app, messages.len() - 1).await?;
        writeln!(out, "── turn {} ─────────────────────────────────────────", at + 1)?;
        writeln!(out, "{}: {text}", story.user)?;
        print_woven(out, app, &last)?;
        writeln!(out, "{}: {reply}\n", story.character)?;
    }
    Ok(())
}

/// Sends the story so far through the proxy, as a front end would.
async fn ask(proxy: &HttpUpstream, messages: &[Value]) -> anyhow::Result<String> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert("x-loreloom-chat", HeaderValue::from_static(CHAT));
    let body = json!({ "model": "offline", "messages": messages, "stream": true });
    let path = "/v1/chat/completions";
    let call = UpstreamCall {
        method: Method::POST,
        path: path.to_owned(),
        headers,
        body: Bytes::from(body.to_string()),
    };
    let reply = proxy.send(call).await?;
    anyhow::ensure!(reply.status.is_success(), "the demo's own server answered {}", reply.status);
    let mut reading = proxy.reading("text/event-stream");
    let mut stream = reply.body;
    while let Some(bytes) = stream.next().await {
        reading.push(&bytes?);
    }
    let replies = reading.finish().whole().context("the reply was cut off")?;
    replies.into_iter().next().context("the reply is empty")
}

/// The last turn. Its reply is stored after the stream has ended.
async fn stored(app: &App, length: usize) -> anyhow::Result<LastTurn> {
    for _ in 0..200 {
        if let Some(last) = app.last_turn().await?
            && last.reply.is_some()
            && last.record.report.facts.chat_length.0 as usize + 1 == length
        {
            return Ok(last);
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    anyhow::bail!("the turn was not stored within two seconds")
}

fn print_woven(out: &mut dyn Write, app: &App, last: &LastTurn) -> anyhow::Result<()> {
    let lore = app.lore.current();
    let names = |id: &EntryId| lore.library().title(id).unwrap_or(id.as_str()).to_owned();
    let report = &last.record.report;
    let woven = |verdict: &&Verdict| matches!(verdict.outcome, Outcome::Activated { .. });
    for verdict in report.verdicts.iter().filter(woven) {
        writeln!(out, "  + {:<20} {}", verdict.title, words::sentence(verdict, &names))?;
    }
    for verdict in report.verdicts.iter().filter(|verdict| !woven(verdict)) {
        writeln!(out, "  - {:<20} {}", verdict.title, words::sentence(verdict, &names))?;
    }
    for budget in &report.budgets {
        writeln!(out, "  = {} of {} tokens", budget.used, budget.limit)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_demo_that_serves_on_names_its_address() {
        let address = SocketAddr::from(([127, 0, 0, 1], 8686));
        let ended = Next { address, serving: false }.to_string();
        assert!(!ended.contains("8686") && !ended.contains("Ctrl-C"), "{ended}");
        let serving = Next { address, serving: true }.to_string();
        for line in [
            "  See why each entry is in the prompt: http://127.0.0.1:8686/\n",
            "  Play on in your front end: set its API address to http://127.0.0.1:8686/v1\n",
            "Ctrl-C ends the demo.\n",
        ] {
            assert!(serving.contains(line), "{serving}");
        }
        assert!(serving.contains(&ended["What next?\n".len()..]), "{serving}");
    }
}
