//! What the prompt cache could keep of a stored chat.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    io::Write,
};

use clap::Args;
use loreloom_core::{
    assemble::Assembled,
    cache_placement::{
        Mode, ModeResult, ModeTrial, PROVIDERS, PlanInput, Provider, SharedPrefix, SourceLookup,
        StableSettings, TokenMemo, TrialTurn, comes_and_goes, fingerprint, kept,
        note_comes_and_goes, wording,
    },
    chat::{GenerationType, Message, Path, Role},
    ids::{Digest, EntryId, LibraryVersion, MessageId, TenantId},
    library::LibrarySource,
    place::{Injection, Provenance},
    prompt::PromptMessage,
    tokens::TokenCounter,
    units::{MessageCount, Tokens},
};
use loreloom_ports::{StoryStore, TurnRecord};
use loreloom_recognise::layout_of;
use serde::Serialize;

use super::serve::runtime;
use crate::{
    store::StoreArguments,
    stored,
    tokenizer::{self, TokenizerArguments},
};

/// Compare how much of each prompt stays the beginning of the next one, with the lore where
/// its authors want it and where the prompt cache wants it.
#[derive(Debug, Args)]
pub(crate) struct CacheReport {
    /// The chat
    #[arg(value_name = "CHAT")]
    chat: String,

    /// Whose cache: `anthropic`, `openai`, `deepseek` or `llama.cpp`
    #[arg(long, default_value = "anthropic", value_name = "NAME", value_parser = provider)]
    provider: Provider,

    /// Once the front end trims the story, cut this much of it ahead, in per cent
    #[arg(long, default_value_t = 0, value_name = "PERCENT", value_parser = clap::value_parser!(u32).range(0..=99))]
    cut_ahead: u32,

    /// Print one JSON object for scripts, with every turn
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    store: StoreArguments,

    #[command(flatten)]
    tokenizer: TokenizerArguments,
}

fn provider(name: &str) -> Result<Provider, String> {
    let known = || PROVIDERS.map(|provider| provider.name).join("`, `");
    Provider::named(name).ok_or_else(|| format!("a provider is one of `{}`", known()))
}

/// What `--json` prints.
#[derive(Serialize)]
struct Compared {
    chat: String,
    provider: &'static str,
    tokenizer: String,
    /// Turns that were stored without what is needed to take their lore out again.
    left_out: usize,
    /// What was really kept, of the prompts as they were sent.
    sent: Summary,
    modes: BTreeMap<Mode, Summary>,
    turns: Vec<Turn>,
}

#[derive(Serialize)]
struct Summary {
    share: f64,
    #[serde(flatten)]
    tried: ModeResult,
}

#[derive(Serialize)]
struct Turn {
    /// The message it was computed on.
    message: usize,
    modes: BTreeMap<Mode, SharedPrefix>,
    /// Texts that stay though the turn does not ask for them.
    lingering: usize,
    evicted: usize,
    left_out: usize,
}

/// A turn that can be compared.
struct ReportedTurn {
    message: usize,
    record: TurnRecord,
    /// The prompt before lore was woven in.
    bare: Vec<PromptMessage>,
}

/// What is read of the chat.
struct CacheReportInput {
    turns: Vec<ReportedTurn>,
    left_out: usize,
    /// Entries that come and go, by the books they are in.
    sayings: BTreeMap<LibraryVersion, Sayings>,
}

impl CacheReport {
    pub(super) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let read =
            runtime()?.block_on(async { self.read(self.store.open().await?.as_ref()).await })?;
        anyhow::ensure!(
            read.turns.len() > 1,
            "a report compares each turn with the one before: chat `{}` has {} that can be \
             compared",
            self.chat,
            read.turns.len()
        );
        let facts = read.turns.last().map(|one| one.record.report.facts.tokenizer.as_str());
        let counter = tokenizer::of_turn(facts.unwrap_or_default(), &self.tokenizer)?;
        let compared = self.compare(&read, counter.as_ref());
        if self.json {
            writeln!(out, "{}", serde_json::to_string_pretty(&compared)?)?;
            return Ok(());
        }
        compared.print(out)
    }

    /// The turns of the current path; of several on one message the last one counts.
    async fn read(&self, store: &dyn StoryStore) -> anyhow::Result<CacheReportInput> {
        let chat = stored::read(store, &self.chat).await?;
        let mut read =
            CacheReportInput { turns: Vec::new(), left_out: 0, sayings: BTreeMap::new() };
        for (message, node) in (1..).zip(&chat.nodes) {
            let loud = chat.turns_at(node.prefix).filter(|turn| is_loud(turn));
            let Some(turn) = loud.last() else { continue };
            let record = chat.turn(store, &TenantId::local(), turn.id).await?;
            let seams = record.input.as_deref().map(|input| &input.seams);
            let Some(bare) = seams.and_then(|seams| seams.unpick(&record.prompt)) else {
                read.left_out += 1;
                continue;
            };
            if let Entry::Vacant(unknown) = read.sayings.entry(record.library) {
                let source = store.library(&TenantId::local(), record.library).await?;
                unknown.insert(source.as_ref().map(Sayings::of).unwrap_or_default());
            }
            read.turns.push(ReportedTurn { message, record, bare });
        }
        Ok(read)
    }

    fn compare(&self, read: &CacheReportInput, counter: &dyn TokenCounter) -> Compared {
        let settings =
            StableSettings { cut_ahead_percent: self.cut_ahead, ..StableSettings::default() };
        let mut trial = ModeTrial::new(self.provider, settings, counter);
        let turns = read.turns.iter().map(|one| one.turn(&mut trial, read)).collect();
        let modes = Mode::ALL.map(|mode| (mode, Summary::of(trial.tried(mode))));
        Compared {
            chat: self.chat.clone(),
            provider: self.provider.name,
            tokenizer: counter.name().to_owned(),
            left_out: read.left_out,
            sent: Summary::of(sent(&read.turns, counter)),
            modes: modes.into(),
            turns,
        }
    }
}

/// The texts of entries and notes of one library, and whether they must not linger. Attachments
/// are ignored: all books count as active.
#[derive(Default)]
struct Sayings(BTreeMap<EntryId, (bool, Digest)>);

impl Sayings {
    fn of(source: &LibrarySource) -> Self {
        let entries = source.volumes.iter().flat_map(|volume| &volume.book.entries);
        let entries = entries.filter(|entry| entry.activation.enabled).map(|entry| {
            let texts = [entry.prefix.as_str(), &entry.content, &entry.suffix];
            (entry.id.clone(), (comes_and_goes(entry), wording(texts)))
        });
        let notes = source
            .notes
            .iter()
            .map(|note| (note.id(), (note_comes_and_goes(note), wording(["", &note.content, ""]))));
        Self(entries.chain(notes).collect())
    }

    fn find(&self, source: &Provenance) -> Option<&(bool, Digest)> {
        match source {
            Provenance::Lore { entry, .. } => self.0.get(entry),
            Provenance::AuthorsNote | Provenance::Memory(_) => None,
        }
    }
}

impl SourceLookup for Sayings {
    fn comes_and_goes(&self, injection: &Injection) -> bool {
        self.find(&injection.source).is_some_and(|(goes, _)| *goes)
    }

    fn says(&self, source: &Provenance) -> Option<Digest> {
        self.find(source).map(|(_, says)| *says)
    }
}

fn is_loud(turn: &loreloom_ports::TurnSummary) -> bool {
    !matches!(turn.generation, GenerationType::Quiet | GenerationType::Edit)
}

impl ReportedTurn {
    fn turn(&self, trial: &mut ModeTrial<'_>, read: &CacheReportInput) -> Turn {
        let Self { message, record, bare } = self;
        let head = bare.iter().take_while(|one| one.role == Role::System).count();
        let window = self.window(&bare[head..]);
        let nobody = Sayings::default();
        let sources = read.sayings.get(&record.library).unwrap_or(&nobody);
        let asked: Tokens = record.injections.iter().map(|one| one.tokens).sum();
        let budgets: Tokens = record.report.budgets.iter().map(|budget| budget.limit).sum();
        let scene = PlanInput {
            window: &window,
            head: fingerprint(bare[..head].iter().map(|one| (one.role, one.content.as_str()))),
            length: MessageCount(u32::try_from(*message).unwrap_or(u32::MAX)),
            marked: &[],
            limit: asked.max(budgets),
        };
        let (modes, planned) = trial.turn(&TrialTurn {
            scene,
            injections: &record.injections,
            sources,
            assemble: &|texts, skip| woven(bare, head, skip, texts),
        });
        Turn {
            message: *message,
            modes,
            lingering: planned.laid.iter().filter(|laid| laid.lingers()).count(),
            evicted: planned.evicted.len(),
            left_out: planned.left_out.len(),
        }
    }

    /// The ids of the chat's messages, by their texts: a stored path may have other names.
    fn window(&self, chat: &[PromptMessage]) -> Vec<MessageId> {
        let message =
            |one: &PromptMessage| Message::new(one.role, one.name.as_deref(), one.content.as_str());
        let path = Path::of(self.record.chat.clone(), chat.iter().map(message));
        path.items().iter().map(|item| item.id).collect()
    }
}

/// A prompt without the oldest `skip` messages of its chat, and with texts.
fn woven(bare: &[PromptMessage], head: usize, skip: usize, texts: &[Injection]) -> Assembled {
    let prompt = [&bare[..head], bare.get(head + skip..).unwrap_or_default()].concat();
    layout_of(&prompt, false).plan(&prompt, texts).apply(prompt)
}

/// What the prompts kept as they were sent. What that cost is not known.
fn sent(turns: &[ReportedTurn], counter: &dyn TokenCounter) -> ModeResult {
    let mut memo = TokenMemo::new(counter);
    let mut tried = ModeResult::default();
    for pair in turns.windows(2) {
        let found = kept(&pair[0].record.prompt, &pair[1].record.prompt, &mut memo);
        tried.turns += 1;
        tried.kept += u64::from(found.kept.0);
        tried.previous += u64::from(found.previous.0);
        tried.total += u64::from(found.total.0);
        tried.broken += u32::from(found.share() < 0.5);
    }
    tried
}

impl Summary {
    fn of(tried: ModeResult) -> Self {
        Self { share: tried.share(), tried }
    }
}

impl Compared {
    fn print(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let (turns, provider) = (self.sent.tried.turns, self.provider);
        writeln!(
            out,
            "{}: {turns} turns after the first, tokens by {}, prices of {provider}\n",
            self.chat, self.tokenizer
        )?;
        writeln!(
            out,
            "{:<10}  {:>7}  {:>6}  {:>10}  {:>10}  {:>7}",
            "MODE", "KEPT", "BROKEN", "TOKENS", "COST", "OF FULL"
        )?;
        for (mode, Summary { share, tried }) in &self.modes {
            let (kept, price) = (share * 100.0, tried.price() * 100.0);
            writeln!(
                out,
                "{:<10}  {kept:>5.1} %  {:>6}  {:>10}  {:>10}  {price:>5.1} %",
                mode.as_str(),
                tried.broken,
                tried.total,
                tried.cost
            )?;
        }
        let Summary { share, tried } = &self.sent;
        let kept = share * 100.0;
        writeln!(
            out,
            "{:<10}  {kept:>5.1} %  {:>6}  {:>10}  {:>10}  {:>7}",
            "as sent", tried.broken, tried.total, "-", "-"
        )?;
        if self.left_out > 0 {
            writeln!(out, "\n{} turns do not say how their lore was woven in", self.left_out)?;
        }
        Ok(())
    }
}
