//! Weaving lore into one chat, without server or model.

use std::{io::Write, path::PathBuf, sync::Arc};

use anyhow::Context as _;
use clap::Args;
use loreloom_core::{
    assemble::{Assembled, Layout, Plan, PromptTexts, build},
    book::{Book, Entry},
    chat::{GenerationType, Path, Role},
    explain::{self, Fix, FixCandidate},
    ids::{ChatId, EntryId},
    library::Library,
    macros::MacroValues,
    prompt::PromptMessage,
    report::{Outcome, Report, RoomUse, VaultMode, Verdict, words},
    room::{ContextWindow, Cut},
    state::StoryState,
    tokens::TokenCounter,
    turn::{CardTexts, Speaker, Transcript, Turn, TurnInput},
    units::Tokens,
};
use loreloom_formats::{
    Limit,
    chat::{ImportedChat, carried_state, import_chat},
};
use loreloom_recognise::layout_of;
use loreloom_server::{
    Lore,
    vault_select::{AskRules, ask_once},
};
use serde::Serialize;

use super::{serve::runtime, table};
use crate::{
    files,
    limits::limits,
    lore::{self, LoreArguments},
    settings::{Flags, StoryFlags},
    stage_trace::{self, StageLine, StageTrace},
    tokenizer::TokenizerArguments,
    vault::{SceneArguments, SelectorArguments},
};

/// Weave lore into a chat and print the prompt.
#[derive(Debug, Args)]
pub(crate) struct Weave {
    #[command(flatten)]
    lore: LoreArguments,

    /// The chat: a `SillyTavern` .jsonl file or `OpenAI` messages as JSON
    #[arg(long, value_name = "FILE")]
    chat: PathBuf,

    /// The character's card: its texts become part of the prompt, its book is woven in
    #[arg(long, value_name = "FILE")]
    card: Option<PathBuf>,

    /// The greeting the chat began with, for `@@is_greeting`: 0 is the card's first message,
    /// 1 its first alternate one. Found in the card where it has the chat's first message
    #[arg(long, value_name = "NUMBER")]
    greeting: Option<u32>,

    /// The main prompt, before the card
    #[arg(long, default_value = "", value_name = "TEXT")]
    main: String,

    /// Also say for every entry why it fired or did not
    #[arg(long)]
    why: bool,

    /// Also show the stages of vaults, and how long each took
    #[arg(long)]
    trace: bool,

    /// Also show the smallest change that would make this entry fire, and others with what they
    /// cost, by its id, its name or its number
    #[arg(long, value_name = "ENTRY")]
    explain: Option<String>,

    /// Print one JSON object for scripts
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    story: Flags<StoryFlags>,

    /// What is generated: normal, continue, impersonate, swipe, regenerate or quiet
    #[arg(long, default_value = "normal", value_name = "TYPE")]
    generation: String,

    /// The longest reply: so much of the context is kept free
    #[arg(long, default_value_t = 0, value_name = "TOKENS")]
    max_tokens: u32,

    #[command(flatten)]
    scene: SceneArguments,

    #[command(flatten)]
    selector: SelectorArguments,

    #[command(flatten)]
    tokenizer: TokenizerArguments,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Output {
    messages: Vec<PromptMessage>,
    report: Report,
    #[serde(skip_serializing_if = "Option::is_none")]
    verdicts: Option<Vec<Verdict>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    explained: Option<Explained>,
    /// How the stages of vaults went, with `--trace`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stages: Vec<StageLine>,
}

/// What `--explain` found: no fix if the entry fires already or no small change was found.
#[derive(Serialize)]
pub(super) struct Explained {
    entry: EntryId,
    fires: bool,
    fix: Option<Fix>,
    /// All changes that were tried and work, the smallest first.
    fixes: Vec<CostedFix>,
}

/// Changes that work, with what they cost.
#[derive(Serialize)]
struct CostedFix {
    changes: Vec<explain::FixChange>,
    words: Vec<String>,
    /// How many more tokens of lore the turn has.
    tokens: i64,
}

impl Explained {
    pub(super) fn of(entry: EntryId, fires: bool, found: &[FixCandidate]) -> Self {
        let costed = |one: &FixCandidate| CostedFix {
            changes: one.fix.changes.clone(),
            words: one.fix.changes.iter().map(explain::words).collect(),
            tokens: one.tokens,
        };
        let fix = found.first().map(|one| one.fix.clone());
        Self { entry, fires, fix, fixes: found.iter().map(costed).collect() }
    }
}

impl Weave {
    pub(super) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let generation = GenerationType::from_name(&self.generation);
        anyhow::ensure!(
            generation.as_str() == self.generation,
            "`--generation` must be normal, continue, impersonate, swipe, regenerate or quiet, found `{}`",
            self.generation
        );
        let card = match &self.card {
            Some(path) => Some(CardFile::read(path)?),
            None => None,
        };
        let chat = import_chat(&files::read_limited(&self.chat, Limit::Chat)?, &limits())
            .with_context(|| format!("`{}`", self.chat.display()))?;
        let counter = self.tokenizer.load()?;
        let started = self.lore.started(self.story.changes.clone())?;
        let (settings, story) = (&started.settings, &started.settings.story);
        let user = chat.user_name.clone().unwrap_or_else(|| story.user.clone());
        let character = chat.character_name.clone().or_else(|| story.character.clone());
        let character = character.or_else(|| card.as_ref().map(|card| card.name.clone()));
        let book = card.as_ref().map(|card| Arc::new(card.book.clone()));
        let lore = self.lore.load_with(book.zip(character.clone()), settings)?;
        let speaker = character.map(Speaker::named);
        let prompt = prompt_of(&chat);
        let books = lore.library().books().iter();
        let state = carried_state(&chat, books.map(AsRef::as_ref));
        let path = path_of(&files::stem(&self.chat), chat);
        let transcript = Transcript::of(&path, lore.rules().world_info.include_names);
        let near = lore::near(&lore, &transcript)?;
        let scene = self.scene.scene(&vault_names(lore.library()));
        let card_texts = card.as_ref().map(|card| card.texts.card.clone()).unwrap_or_default();
        let mut input = TurnInput {
            generation,
            speaker,
            user,
            card: card_texts,
            context: Tokens(story.context),
            context_stated: started.is_set("story.context"),
            reply_tokens: Tokens(self.max_tokens),
            seed: story.seed,
            near,
            vault_context: Some(scene),
            ..TurnInput::default()
        };
        let known = || card.as_ref()?.greeting(&prompt, &input.turn(&path, &transcript).macros());
        input.greeting = self.greeting.or_else(known);
        let turn = input.turn(&path, &transcript);
        let chooser = self.selector.chooser(settings)?;
        input.selection = match &chooser {
            Some(model) => {
                let asking = (model.as_ref(), AskRules::from(&settings.vault.selector));
                runtime()?.block_on(ask_once(&lore, (&turn, &state), counter.as_ref(), asking))
            }
            None => None,
        };
        let turn = input.turn(&path, &transcript);
        let woven = self.weave(&lore, (&turn, &state), counter.as_ref(), &prompt, card)?;
        if self.json {
            writeln!(out, "{}", serde_json::to_string_pretty(&woven)?)?;
            return Ok(());
        }
        woven.print(out, lore.library())
    }

    fn weave(
        &self,
        lore: &Lore,
        (turn, state): (&Turn<'_>, &StoryState),
        counter: &dyn TokenCounter,
        prompt: &[PromptMessage],
        card: Option<CardFile>,
    ) -> anyhow::Result<Output> {
        let mut stages = StageTrace::default();
        let mut woven =
            lore.weave_watched(turn, state, counter, |cache| stages = StageTrace::watch(cache));
        let stages = if self.trace { stages.lines() } else { Vec::new() };
        let built = card.is_some() || !self.main.is_empty();
        let mut texts = card.map(|card| card.texts).unwrap_or_default();
        if !self.main.is_empty() {
            texts.main.clone_from(&self.main);
        }
        texts.lore_format.clone_from(&lore.rules().wi_format);
        let texts = texts.expanded(&turn.macros());
        let rules = lore.rules();
        let (slot, lore_format) = (rules.template.slot_place(), rules.wi_format.clone());
        let layout = Layout { slot, lore_format, ..layout_of(prompt, false) };
        let mut plan = Plan::default();
        let assemble = |(prompt, layout): (Vec<PromptMessage>, Layout)| {
            if built {
                return build(&lore.rules().template, &texts, &prompt, &woven.injections);
            }
            plan = layout.plan(&prompt, &woven.injections);
            plan.apply(prompt)
        };
        let (window, prompt) = (ContextWindow::of(turn.input), (prompt, &layout));
        let (Assembled { messages, spans }, room) = cut_to_fit(&window, prompt, counter, assemble);
        if let Some(room) = room {
            let given_up = woven.report.room.take().unwrap_or_default().given_up;
            woven.report.room = Some(RoomUse { given_up, ..room });
        }
        plan.tell(&mut woven.report, spans);
        let verdicts = self.why.then(|| lore.verdicts(&woven, turn, state, counter));
        let explained = match &self.explain {
            Some(name) => {
                let entry = find_entry(lore.library(), name)?;
                let fires = woven.report.verdicts.iter().any(|verdict| {
                    verdict.entry == entry && matches!(verdict.outcome, Outcome::Activated { .. })
                });
                let found = lore.fixes(&entry, turn, state, counter);
                Some(Explained::of(entry, fires, &found))
            }
            None => None,
        };
        Ok(Output { messages, report: woven.report, verdicts, explained, stages })
    }
}

/// A prompt whose oldest messages are left out until it fits into a stated context.
fn cut_to_fit(
    window: &ContextWindow,
    prompt: (&[PromptMessage], &Layout),
    counter: &dyn TokenCounter,
    mut assemble: impl FnMut((Vec<PromptMessage>, Layout)) -> Assembled,
) -> (Assembled, Option<RoomUse>) {
    let mut cut = Cut::default();
    loop {
        let assembled = assemble(cut.apply(prompt.0, prompt.1));
        if !window.stated {
            return (assembled, None);
        }
        let (over, tokens) = window.excess(&assembled.messages, counter);
        let freed = cut.freed().saturating_add(over.unwrap_or_default());
        let longer = over.map(|_| Cut::for_room(freed, prompt, window, counter));
        if let Some(longer) = longer.filter(|longer| *longer != cut) {
            cut = longer;
            continue;
        }
        let (context, reply) = (window.context, window.reserved());
        let (stated, left_out) = (true, cut.left_out());
        let room = RoomUse { context, stated, reply, over, left_out, ..RoomUse::default() };
        return (assembled, Some(RoomUse { prompt: Some(tokens), ..room }));
    }
}

impl Output {
    fn print(&self, out: &mut dyn Write, library: &Library) -> anyhow::Result<()> {
        print_prompt(out, &self.messages)?;
        for budget in &self.report.budgets {
            let tokenizer = &self.report.facts.tokenizer;
            let (pool, used, limit) = (words::pool(&budget.pool), budget.used, budget.limit);
            writeln!(out, "{pool}: {used} of {limit} tokens ({tokenizer})")?;
        }
        if let Some(selection) = &self.report.selection {
            let mode = self.report.vault_mode.map_or("", VaultMode::as_str);
            writeln!(out, "{mode}: {}", words::selection(selection))?;
        }
        for line in self.report.room.iter().flat_map(RoomUse::lines) {
            writeln!(out, "{line}")?;
        }
        for warning in &self.report.warnings {
            writeln!(out, "note: {}", words::warning(warning))?;
        }
        if let Some(verdicts) = &self.verdicts {
            writeln!(out)?;
            table::print(out, verdicts, library)?;
        }
        if !self.stages.is_empty() {
            writeln!(out)?;
            stage_trace::print(out, self.report.vault_mode, &self.stages)?;
        }
        if let Some(explained) = &self.explained {
            writeln!(out)?;
            print_explained(out, library, explained)?;
        }
        Ok(())
    }
}

/// The names of the vaults whose notes are in a library.
pub(super) fn vault_names(library: &Library) -> Vec<&str> {
    let Some(vault) = library.vault() else { return Vec::new() };
    let mut names: Vec<&str> = vault.entries().map(|ix| vault.note(ix).vault.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// The entry or note of that id, name or original number; a name that several have is
/// refused.
pub(super) fn find_entry(library: &Library, name: &str) -> anyhow::Result<EntryId> {
    let entries = || library.books().iter().flat_map(|book| &book.entries);
    let is_named = |entry: &&Entry| {
        entry.id.as_str() == name
            || entry.title() == name
            || entry.original_id.as_ref().is_some_and(|id| id.to_string() == name)
    };
    let notes = library.vault().into_iter().flat_map(|vault| {
        let of_id = vault.find(&EntryId::from(name));
        let notes = vault.named(name).iter().copied().chain(of_id);
        notes.map(|ix| vault.id(ix))
    });
    let found = entries().filter(is_named).map(|entry| &entry.id).chain(notes);
    let found: Vec<&EntryId> = found.collect();
    let exact = found.iter().find(|id| id.as_str() == name);
    let first = found.first().with_context(|| format!("no entry is called `{name}`"))?;
    anyhow::ensure!(
        found.len() == 1 || exact.is_some(),
        "{} entries are called `{name}`: say which by its id, such as `{first}`",
        found.len(),
    );
    Ok(EntryId::clone(exact.unwrap_or(first)))
}

pub(super) fn print_explained(
    out: &mut dyn Write,
    library: &Library,
    explained: &Explained,
) -> anyhow::Result<()> {
    let title = library.title(&explained.entry).unwrap_or(explained.entry.as_str());
    match explained.fixes.split_first() {
        Some((smallest, others)) => {
            let words =
                |fix: &CostedFix| format!("{} ({:+} tokens)", fix.words.join("; "), fix.tokens);
            writeln!(out, "{title} would have fired with: {}", words(smallest))?;
            for other in others {
                writeln!(out, "  or with: {}", words(other))?;
            }
        }
        None if explained.fires => writeln!(out, "{title} fires as it is")?,
        None => writeln!(out, "{title}: no small change was found that makes it fire")?,
    }
    Ok(())
}

/// A card as prompts need it.
struct CardFile {
    name: String,
    /// The first message and its alternates.
    greetings: Vec<String>,
    texts: PromptTexts,
    book: Book,
}

impl CardFile {
    fn read(path: &std::path::Path) -> anyhow::Result<Self> {
        let imported = lore::read_book(path, "character-card", &files::stem(path))?;
        let card = imported
            .card
            .with_context(|| format!("`{}` is no character's card", path.display()))?;
        let depth_prompt = card.depth_prompt.map(|note| note.prompt).unwrap_or_default();
        Ok(Self {
            name: card.nickname.unwrap_or(card.name),
            greetings: [vec![card.first_mes], card.alternate_greetings].concat(),
            texts: PromptTexts {
                main: card.system_prompt,
                card: CardTexts {
                    persona: String::new(),
                    description: card.description,
                    personality: card.personality,
                    depth_prompt,
                    scenario: card.scenario,
                    creator_notes: card.creator_notes,
                },
                examples: card.mes_example,
                post_history: card.post_history_instructions,
                lore_format: String::new(),
            },
            book: imported.book,
        })
    }

    /// Which of its greetings a chat began with.
    fn greeting(&self, chat: &[PromptMessage], macros: &MacroValues<'_>) -> Option<u32> {
        let first = chat.iter().find(|message| message.role != Role::System)?;
        let first = first.content.trim();
        let said = |greeting: &String| first == macros.expand(greeting).trim();
        u32::try_from(self.greetings.iter().position(said)?).ok()
    }
}

/// The messages that are sent: hidden ones are not.
fn prompt_of(chat: &ImportedChat) -> Vec<PromptMessage> {
    let visible = chat.messages.iter().map(|one| &one.message).filter(|message| !message.hidden);
    visible
        .map(|message| PromptMessage {
            role: message.role,
            name: message.name.clone(),
            content: message.text.clone(),
        })
        .collect()
}

/// The story: system prompts are the front end's, not the story's.
fn path_of(name: &str, chat: ImportedChat) -> Path {
    let messages = chat.messages.into_iter().map(|one| one.message);
    Path::of(ChatId::from(name), messages.filter(|message| message.role != Role::System))
}

pub(super) fn print_prompt(out: &mut dyn Write, messages: &[PromptMessage]) -> anyhow::Result<()> {
    for message in messages {
        let name = message.name.as_deref().map_or(String::new(), |name| format!(" {name}"));
        writeln!(out, "[{}{name}]\n{}\n", message.role.as_str(), message.content)?;
    }
    Ok(())
}
