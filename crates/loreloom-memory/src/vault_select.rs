//! Asking a model which notes of a vault a turn needs.
//!
//! What is asked and what an answer means is decided in `loreloom-core`; here is the waiting:
//! a limit on the whole, one more try where that may help, a breaker for a model that is
//! down, and the last answer kept for as long as it still holds. Nothing that goes wrong here
//! fails a turn: it becomes [`Selection::Failed`], which has a rule of its own.

use std::{sync::Mutex, time::Duration};

use loreloom_core::{
    chat::Role,
    prompt::PromptMessage,
    rules::VaultUse,
    tokens::TokenCounter,
    turn::Selection,
    vault::{
        Choice, Lines, ManifestStyle, ManifestWords, Note, Occasion, Pick, SelectFrom, SummaryMode,
        Vault, VaultState, answer_schema, is_new, manifest, normalise, parse_truncated, question,
    },
};
use tokio::time::{Instant, timeout};

use crate::ports::{ChatModel, ChatRequest, ModelError};

/// How a model is asked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AskRules {
    /// The longest a turn waits for an answer, all tries together.
    pub timeout: Duration,
    /// How often it is asked again after a failure that may pass.
    pub retries: u32,
    /// The longest answer, in tokens.
    pub answer_tokens: u32,
    /// Messages it reads.
    pub depth: u32,
    /// What stands for a note.
    pub summary: SummaryMode,
    /// The longest text for a note, in UTF-16 units.
    pub summary_length: usize,
    /// Failures in a row after which it is left alone.
    pub breaker_failures: u32,
    /// For how long.
    pub breaker_pause: Duration,
}

impl Default for AskRules {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(20),
            retries: 1,
            answer_tokens: 1024,
            depth: 4,
            summary: SummaryMode::PreferSummary,
            summary_length: 600,
            breaker_failures: 2,
            breaker_pause: Duration::from_secs(30),
        }
    }
}

/// What a turn brings.
#[derive(Clone, Copy)]
pub struct Occurrence<'a> {
    /// The notes.
    pub vault: &'a Vault,
    /// Those it may choose from.
    pub candidates: &'a [Pick],
    /// The chat.
    pub lines: &'a Lines,
    /// What the chat carries on.
    pub state: &'a VaultState,
    /// How the vault takes part.
    pub using: &'a VaultUse,
    /// The connection's tokenizer.
    pub counter: &'a dyn TokenCounter,
}

/// Who answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Served {
    /// The model.
    Model,
    /// The answer before, which still holds.
    Kept(StillHolds),
    /// Nobody: there was nothing to choose from.
    NothingToChoose,
    /// Nobody: the rule for failures decides.
    Failed,
}

/// Why an answer still holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StillHolds {
    /// Nothing new was said.
    SameChat,
    /// Nothing came up that it did not choose from.
    SameCandidates,
    /// What was said since names no note.
    NothingNamed,
}

/// A model that is asked, and what is known from asking it.
#[derive(Debug)]
pub struct Selector {
    rules: AskRules,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    last: Option<Answer>,
    failures: u32,
    closed_until: Option<Instant>,
}

#[derive(Debug)]
struct Answer {
    /// The manifest it chose from.
    manifest: String,
    titles: Vec<String>,
    chat: Vec<String>,
    choices: Vec<Choice>,
}

impl Selector {
    /// Nobody was asked yet.
    pub fn new(rules: AskRules) -> Self {
        Self { rules, known: Mutex::default() }
    }

    /// Forgets the last answer: after a pin, a block, another scene or another chat.
    pub fn forget(&self) {
        self.known().last = None;
    }

    /// Asks which notes the turn needs. Never fails: what went wrong is the answer then.
    pub async fn select(&self, model: &dyn ChatModel, turn: Occurrence<'_>) -> (Selection, Served) {
        let (asked, chat) = self.write(turn);
        let Some((request, text, titles)) = asked else {
            return (Selection::Chosen(Vec::new()), Served::NothingToChoose);
        };
        if let Some((choices, why)) = self.kept(turn, &text, &titles, &chat) {
            return (Selection::Chosen(choices), Served::Kept(why));
        }
        if let Some(reason) = self.closed() {
            return (Selection::Failed { reason }, Served::Failed);
        }
        let asking = self.ask(model, &request);
        match timeout(self.rules.timeout, asking).await {
            Ok(Ok(choices)) => {
                let answer = Answer { manifest: text, titles, chat, choices: choices.clone() };
                *self.known() = Known { last: Some(answer), ..Known::default() };
                (Selection::Chosen(choices), Served::Model)
            }
            Ok(Err(Failure { reason, counts })) => {
                self.failed(counts);
                (Selection::Failed { reason }, Served::Failed)
            }
            Err(_elapsed) => {
                let seconds = self.rules.timeout.as_secs_f64();
                let reason = format!("the selecting model gave no answer within {seconds} s");
                (Selection::Failed { reason }, Served::Failed)
            }
        }
    }

    /// The request with its manifest and the titles in it, and the chat it is about.
    #[expect(clippy::type_complexity, reason = "one private caller takes it apart at once")]
    fn write(
        &self,
        turn: Occurrence<'_>,
    ) -> (Option<(ChatRequest, String, Vec<String>)>, Vec<String>) {
        let Occurrence { vault, lines, using, .. } = turn;
        let (own, hidden) = (&using.rules, using.rules.quirks.hidden_use_depth);
        let chat = lines.told(self.rules.depth, hidden);
        let is_new = is_new(lines.len(), own);
        let counted = |pick: &Pick| Note {
            tokens: vault.tokens(pick.ix, turn.counter),
            ..vault.note(pick.ix).clone()
        };
        let notes: Vec<Note> = turn.candidates.iter().map(counted).collect();
        let words = ManifestWords::default();
        let style = ManifestStyle {
            mode: self.rules.summary,
            longest: self.rules.summary_length,
            fields: &using.fields,
            words: &words,
            show_carried: false,
            count_left_out_as_forced: false,
        };
        let manifest = manifest(&notes, is_new, turn.state, own, style);
        if manifest.text.is_empty() {
            return (None, chat);
        }
        let all = || vault.entries().map(|ix| vault.note(ix));
        let seeds: Vec<&str> = all()
            .filter(|note| note.kind.seed && is_new)
            .map(|note| note.content.as_str())
            .collect();
        let constants = all().filter(|note| note.kind.constant).count();
        let constants = u32::try_from(constants).unwrap_or(u32::MAX);
        let entries = own.budget.entries;
        let wanted = entries.filter(|_| is_new).map(|most| most.saturating_sub(constants).max(1));
        let size = u32::try_from(vault.len()).unwrap_or(u32::MAX);
        let most = entries.map(|most| most.saturating_mul(2).min(size));
        let transcript = chat.join("\n");
        let question =
            question(&manifest, Occasion { transcript: &transcript, seeds: &seeds, most, wanted });
        let message = |role, content| PromptMessage { role, name: None, content };
        let request = ChatRequest {
            messages: vec![
                message(Role::System, question.system),
                message(Role::User, question.user),
            ],
            max_tokens: Some(self.rules.answer_tokens),
            temperature: Some(0.0),
            schema: Some(answer_schema()),
        };
        let titles = notes.into_iter().map(|note| note.title).collect();
        (Some((request, manifest.text, titles)), chat)
    }

    /// The answer before, if it still holds. What the model itself said last is no reason to
    /// ask again.
    fn kept(
        &self,
        turn: Occurrence<'_>,
        manifest: &str,
        titles: &[String],
        chat: &[String],
    ) -> Option<(Vec<Choice>, StillHolds)> {
        let known = self.known();
        let last = known.last.as_ref()?;
        let from_all = turn.using.selection.is_some_and(|rules| rules.from == SelectFrom::Vault);
        let (old, new) = (without_reply(&last.chat), without_reply(chat));
        let same_manifest = last.manifest == manifest;
        let why = if same_manifest && old == new {
            StillHolds::SameChat
        } else if same_manifest && !from_all && titles.iter().all(|one| last.titles.contains(one)) {
            StillHolds::SameCandidates
        } else if same_manifest && new.starts_with(old) && !names_any(turn.vault, &new[old.len()..])
        {
            StillHolds::NothingNamed
        } else {
            return None;
        };
        let open = last.choices.iter().filter(|choice| titles.contains(&choice.title));
        Some((open.cloned().collect(), why))
    }

    async fn ask(
        &self,
        model: &dyn ChatModel,
        request: &ChatRequest,
    ) -> Result<Vec<Choice>, Failure> {
        let mut tries = 0;
        loop {
            let failure = match model.complete(request).await {
                Ok(reply) => match parse_truncated(&reply.text) {
                    Some(list) => return Ok(normalise(&list, "chosen by the model")),
                    None => Failure {
                        reason: "the selecting model gave no list of titles".to_owned(),
                        counts: true,
                    },
                },
                Err(error) => Failure { counts: counts(&error), reason: error.to_string() },
            };
            // What does not count will not pass by asking again at once.
            if !failure.counts || tries >= self.rules.retries {
                return Err(failure);
            }
            tries += 1;
        }
    }

    fn closed(&self) -> Option<String> {
        let mut known = self.known();
        let until = known.closed_until?;
        if Instant::now() < until {
            return Some("the selecting model failed repeatedly and is left alone".to_owned());
        }
        // One request tries whether it is back; others wait for what that finds.
        known.closed_until = Some(Instant::now() + self.rules.breaker_pause);
        None
    }

    fn failed(&self, counts: bool) {
        if !counts {
            return;
        }
        let mut known = self.known();
        known.failures += 1;
        if known.failures >= self.rules.breaker_failures {
            known.closed_until = Some(Instant::now() + self.rules.breaker_pause);
        }
    }

    fn known(&self) -> std::sync::MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

struct Failure {
    reason: String,
    /// Whether the model is to blame, rather than its load or our key.
    counts: bool,
}

fn counts(error: &ModelError) -> bool {
    match error {
        ModelError::Unreachable { .. } | ModelError::Garbled { .. } => true,
        ModelError::Refused { status, .. } => !matches!(status, 401 | 403 | 429),
        ModelError::TimedOut { .. } | ModelError::RateLimited { .. } => false,
    }
}

/// The chat without the model's own last message.
fn without_reply(chat: &[String]) -> &[String] {
    match chat {
        [rest @ .., last] if last.contains(" (character): ") => rest,
        chat => chat,
    }
}

/// Whether a text names a note, by its title or a key, as a word of its own.
fn names_any(vault: &Vault, lines: &[String]) -> bool {
    let text = lines.join("\n").to_lowercase();
    let stands_alone = |name: &str| {
        let name = name.trim().to_lowercase();
        !name.is_empty()
            && text.match_indices(&name).any(|(at, found)| {
                let before = text[..at].chars().next_back();
                let after = text[at + found.len()..].chars().next();
                ![before, after].into_iter().flatten().any(char::is_alphanumeric)
            })
    };
    vault.entries().map(|ix| vault.note(ix)).any(|note| {
        stands_alone(&note.title)
            || note.keys.iter().any(|key| key.chars().count() > 1 && stands_alone(key))
    })
}
