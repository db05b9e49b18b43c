//! Weaving lore into one chat, without server or model.

use std::{io::Write, path::PathBuf};

use anyhow::Context as _;
use clap::Args;
use loreloom_core::{
    assemble::{Assembled, Outline, plan},
    chat::{GenerationType, Path, Role},
    ids::ChatId,
    prompt::PromptMessage,
    report::{Report, Verdict},
    state::StoryState,
    turn::{CardTexts, Speaker, Transcript, Turn},
    units::Tokens,
};
use loreloom_formats::{
    Limits,
    chat::{ImportedChat, import_chat},
};
use serde::Serialize;

use super::table;
use crate::{files, lore::LoreArguments, tokenizer::TokenizerArguments};

/// Weave lore into a chat and print the prompt.
#[derive(Debug, Args)]
pub(crate) struct Weave {
    #[command(flatten)]
    lore: LoreArguments,

    /// The chat: a `SillyTavern` .jsonl file or `OpenAI` messages as JSON
    #[arg(long, value_name = "FILE")]
    chat: PathBuf,

    /// Also say for every entry why it fired or did not
    #[arg(long)]
    why: bool,

    /// Print one JSON object for scripts
    #[arg(long)]
    json: bool,

    /// The user's name, where the chat does not say it
    #[arg(long, default_value = "User", value_name = "NAME")]
    user: String,

    /// The character's name, where the chat does not say it
    #[arg(long = "char", value_name = "NAME")]
    character: Option<String>,

    /// What is generated: normal, continue, impersonate, swipe, regenerate or quiet
    #[arg(long, default_value = "normal", value_name = "TYPE")]
    generation: String,

    /// The model's context size
    #[arg(long, default_value_t = 8192, value_name = "TOKENS")]
    context: u32,

    /// The seed of all rolls
    #[arg(long, default_value_t = 0)]
    seed: u64,

    #[command(flatten)]
    tokenizer: TokenizerArguments,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Output<'a> {
    messages: &'a [PromptMessage],
    report: &'a Report,
    #[serde(skip_serializing_if = "Option::is_none")]
    verdicts: Option<&'a [Verdict]>,
}

impl Weave {
    pub(super) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let generation = GenerationType::from_name(&self.generation);
        anyhow::ensure!(
            generation.as_str() == self.generation,
            "`--generation` must be normal, continue, impersonate, swipe, regenerate or quiet, found `{}`",
            self.generation
        );
        let lore = self.lore.load()?;
        let chat = import_chat(&files::read(&self.chat)?, &Limits::default())
            .with_context(|| format!("`{}`", self.chat.display()))?;
        let counter = self.tokenizer.load()?;
        let user = chat.user_name.clone().unwrap_or(self.user);
        let speaker = chat.character_name.clone().or(self.character).map(|name| Speaker {
            filter_name: Some(name.clone()),
            tags: None,
            name,
        });
        let prompt = prompt_of(&chat);
        let path = path_of(&files::stem(&self.chat), chat);
        let transcript = Transcript::of(&path, lore.rules().world_info.include_names);
        let turn = Turn {
            chat: path.chat(),
            prefix: path.prefix(),
            answers: path.last_user(),
            transcript: &transcript,
            generation,
            speaker: speaker.as_ref(),
            user: &user,
            card: &CardTexts::default(),
            prompts: &[],
            forced: &[],
            context: Tokens(self.context),
            seed: self.seed,
            at: None,
            dry_run: false,
        };
        let state = StoryState::default();
        let mut woven = lore.weave(&turn, &state, counter.as_ref());
        let outline: Vec<Outline<'_>> = prompt
            .iter()
            .map(|message| Outline { role: message.role, text: &message.content })
            .collect();
        let Assembled { messages, spans } = plan(&outline, &woven.injections).apply(&prompt);
        woven.report.spans = spans;
        let verdicts = self.why.then(|| lore.verdicts(&woven, &turn, &state, counter.as_ref()));
        if self.json {
            let report = &woven.report;
            let output = Output { messages: &messages, report, verdicts: verdicts.as_deref() };
            writeln!(out, "{}", serde_json::to_string_pretty(&output)?)?;
            return Ok(());
        }
        print_prompt(out, &messages)?;
        for budget in &woven.report.budgets {
            let counter = counter.name();
            writeln!(out, "lore: {} of {} tokens ({counter})", budget.used, budget.limit)?;
        }
        if let Some(verdicts) = verdicts {
            writeln!(out)?;
            table::print(out, &verdicts, lore.library())?;
        }
        Ok(())
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

fn print_prompt(out: &mut dyn Write, messages: &[PromptMessage]) -> anyhow::Result<()> {
    for message in messages {
        let name = message.name.as_deref().map_or(String::new(), |name| format!(" {name}"));
        writeln!(out, "[{}{name}]\n{}\n", message.role.as_str(), message.content)?;
    }
    Ok(())
}
