//! Asking a model which notes of a vault a turn needs.
//!
//! What is asked and what an answer means is decided in `loreloom-core`; here is the waiting:
//! a limit on the whole, one more try where that may help, a breaker for a model that is
//! down, and the last answer kept for as long as it still holds. Nothing that goes wrong here
//! fails a turn: it becomes [`Selection::Failed`], which has a rule of its own.

mod breaker;
mod once;
mod topics;
mod unmet;

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use loreloom_core::{
    chat::Role,
    dialects::vault::{
        Lines, Manifest, ManifestStyle, ManifestWords, Note, NoteChoice, Occasion, Pick,
        SelectFrom, SummaryMode, Vault, VaultState, answer_schema, closest_title, manifest,
        normalise, parse_truncated, question,
    },
    prompt::PromptMessage,
    rules::VaultUse,
    tokens::TokenCounter,
    turn::{Selection, StillHolds},
};
use loreloom_settings::SelectorSection;
use tokio::time::timeout;

pub use self::{breaker::Breaker, once::ask_once, unmet::Unmet};
pub use loreloom_core::dialects::vault::SpeakerNames;

use loreloom_ports::{ChatModel, ChatRequest, ModelError};

/// How a model is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct AskRules {
    /// The longest a turn waits for an answer, all tries together.
    pub timeout: Duration,
    /// How often it is asked again after a failure that may pass.
    pub retries: u32,
    /// The longest answer, in tokens.
    pub answer_tokens: u32,
    /// Messages it reads.
    pub depth: u32,
    /// What the model reads of a note.
    pub summary: SummaryMode,
    /// The longest text for a note, in UTF-16 units.
    pub summary_length: usize,
    /// Failures in a row after which it is left alone.
    pub breaker_failures: u32,
    /// For how long.
    pub breaker_pause: Duration,
    /// The largest share of the notes that a first choice by topic may leave out; without
    /// one, no such choice is asked for.
    pub narrow: Option<f64>,
    /// The system prompt, instead of our own.
    pub system: Option<String>,
}

impl Default for AskRules {
    fn default() -> Self {
        Self::from(&SelectorSection::default())
    }
}

impl From<&SelectorSection> for AskRules {
    fn from(section: &SelectorSection) -> Self {
        Self {
            timeout: Duration::from_millis(section.timeout_ms),
            retries: section.retries,
            answer_tokens: section.answer_tokens,
            depth: section.scan_depth,
            summary: section.summary,
            summary_length: section.summary_length,
            breaker_failures: section.breaker_failures,
            breaker_pause: Duration::from_secs(section.breaker_seconds),
            narrow: section.narrow,
            system: Some(section.system.trim()).filter(|text| !text.is_empty()).map(str::to_owned),
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
    /// Who speaks where messages do not say it.
    pub names: SpeakerNames<'a>,
    /// What the chat carries on.
    pub state: &'a VaultState,
    /// How the vault takes part.
    pub using: &'a VaultUse,
    /// The connection's tokenizer.
    pub counter: &'a dyn TokenCounter,
}

/// A model that is asked for one chat, and what is known from asking it.
#[derive(Debug)]
pub struct Selector {
    rules: AskRules,
    breaker: Arc<Breaker>,
    unmet: Arc<Unmet>,
    last: Mutex<Option<LastAnswer>>,
}

#[derive(Debug)]
struct LastAnswer {
    /// The manifest of all it could choose from.
    manifest: String,
    titles: Vec<String>,
    chat: Vec<String>,
    choices: Vec<NoteChoice>,
}

/// The notes of a turn as they are shown to the model.
struct ShownNotes {
    notes: Vec<Note>,
    manifest: Manifest,
    chat: Vec<String>,
}

impl Selector {
    /// Nobody was asked yet.
    pub fn new(rules: AskRules) -> Self {
        Self::sharing(rules, Arc::default())
    }

    /// The same for a model that other chats ask too.
    pub fn sharing(rules: AskRules, breaker: Arc<Breaker>) -> Self {
        Self { rules, breaker, unmet: Arc::default(), last: Mutex::default() }
    }

    /// The same, and titles that it asks for in vain are also reported elsewhere.
    #[must_use]
    pub fn telling(self, unmet: Arc<Unmet>) -> Self {
        Self { unmet, ..self }
    }

    /// Forgets the last answer: after a pin, a block or another scene.
    pub fn forget(&self) {
        *self.last() = None;
    }

    /// Asks which notes the turn needs. Never fails: what went wrong is the answer then.
    pub async fn select(&self, model: &dyn ChatModel, turn: Occurrence<'_>) -> Selection {
        let shown = self.show(turn);
        if shown.manifest.text.is_empty() {
            return Selection::NotAsked;
        }
        if let Some((choices, because)) = self.kept(turn, &shown) {
            return Selection::Kept { choices, because };
        }
        if !self.breaker.lets_through(self.rules.breaker_pause) {
            let reason = "it failed repeatedly and is left alone".to_owned();
            return Selection::Failed { reason };
        }
        match timeout(self.rules.timeout, self.ask(model, turn, &shown)).await {
            Ok(Ok(choices)) => {
                self.breaker.succeeded();
                let titles = shown.notes.into_iter().map(|note| note.title).collect();
                let (manifest, chat) = (shown.manifest.text, shown.chat);
                *self.last() =
                    Some(LastAnswer { manifest, titles, chat, choices: choices.clone() });
                Selection::Chosen(choices)
            }
            Ok(Err(Failure { reason, counts })) => {
                if counts {
                    self.breaker.failed(self.rules.breaker_failures, self.rules.breaker_pause);
                }
                Selection::Failed { reason }
            }
            Err(_elapsed) => {
                let seconds = self.rules.timeout.as_secs_f64();
                Selection::Failed { reason: format!("no answer within {seconds} s") }
            }
        }
    }

    fn show(&self, turn: Occurrence<'_>) -> ShownNotes {
        let counted = |pick: &Pick| Note {
            tokens: turn.vault.tokens(pick.ix, turn.counter),
            ..turn.vault.note(pick.ix).clone()
        };
        let notes: Vec<Note> = turn.candidates.iter().map(counted).collect();
        let hidden = turn.using.rules.quirks.hidden_use_depth;
        ShownNotes {
            manifest: self.manifest(turn, notes.iter()),
            chat: turn.lines.with_roles(self.rules.depth, hidden, turn.names),
            notes,
        }
    }

    fn manifest<'a>(
        &self,
        turn: Occurrence<'_>,
        notes: impl IntoIterator<Item = &'a Note>,
    ) -> Manifest {
        let (own, words) = (&turn.using.rules, ManifestWords::default());
        let style = ManifestStyle {
            mode: self.rules.summary,
            longest: self.rules.summary_length,
            fields: &turn.using.fields,
            words: &words,
            show_carried: false,
            count_left_out_as_forced: false,
        };
        manifest(notes, own.is_new_chat(turn.lines.len()), turn.state, own, style)
    }

    /// What the model is asked about a manifest.
    fn request(&self, turn: Occurrence<'_>, manifest: &Manifest, chat: &[String]) -> ChatRequest {
        let Occurrence { vault, lines, using, .. } = turn;
        let is_new = using.rules.is_new_chat(lines.before_reply());
        let all = || vault.entries().map(|ix| vault.note(ix));
        let seeds: Vec<&str> = all()
            .filter(|note| note.kind.seed && is_new)
            .map(|note| note.content.as_str())
            .collect();
        let count = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        let constants = count(all().filter(|note| note.kind.constant).count());
        let entries = using.rules.budget.entries;
        let wanted = entries.filter(|_| is_new).map(|most| most.saturating_sub(constants).max(1));
        let most = entries.map(|most| most.saturating_mul(2));
        let transcript = chat.join("\n");
        let system = self.rules.system.as_deref();
        let speaker = turn.names.character;
        let occasion =
            Occasion { transcript: &transcript, seeds: &seeds, most, wanted, speaker, system };
        let question = question(manifest, occasion);
        let message = |role, content| PromptMessage { role, name: None, content };
        ChatRequest {
            messages: vec![
                message(Role::System, question.system.into()),
                message(Role::User, question.user.into()),
            ],
            max_tokens: Some(self.rules.answer_tokens),
            temperature: Some(0.0),
            schema: Some(answer_schema()),
        }
    }

    /// The answer before, if it still holds. What the model itself said last is no reason to
    /// ask again.
    fn kept(
        &self,
        turn: Occurrence<'_>,
        shown: &ShownNotes,
    ) -> Option<(Vec<NoteChoice>, StillHolds)> {
        let last = self.last();
        let last = last.as_ref()?;
        let from_all = turn.using.selection.is_some_and(|rules| rules.from == SelectFrom::Vault);
        let (old, new) = (without_reply(&last.chat), without_reply(&shown.chat));
        let was_there = |note: &Note| last.titles.contains(&note.title);
        if last.manifest != shown.manifest.text {
            return None;
        }
        let why = if old == new {
            StillHolds::SameChat
        } else if !from_all && shown.notes.iter().all(was_there) {
            StillHolds::SameCandidates
        } else if new.starts_with(old) && !names_any(turn.vault, &new[old.len()..]) {
            StillHolds::NothingNamed
        } else {
            return None;
        };
        let is_open =
            |choice: &&NoteChoice| shown.notes.iter().any(|note| note.title == choice.title);
        Some((last.choices.iter().filter(is_open).cloned().collect(), why))
    }

    async fn ask(
        &self,
        model: &dyn ChatModel,
        turn: Occurrence<'_>,
        shown: &ShownNotes,
    ) -> Result<Vec<NoteChoice>, Failure> {
        let mut open: Vec<&Note> = shown.notes.iter().collect();
        let mut narrowed = None;
        if let Some(at_most) = self.rules.narrow {
            let is_new = turn.using.rules.is_new_chat(turn.lines.len());
            let (forced, free): (Vec<&Note>, Vec<&Note>) =
                open.iter().partition(|note| note.is_forced(is_new));
            if let Some(stay) = topics::narrow(model, &free, &shown.chat, at_most).await {
                open = forced.into_iter().chain(stay.into_iter().map(|at| free[at])).collect();
                narrowed = Some(self.manifest(turn, open.iter().copied()));
            }
        }
        let manifest = narrowed.as_ref().unwrap_or(&shown.manifest);
        if manifest.text.is_empty() {
            return Ok(Vec::new());
        }
        let chosen = self.complete(model, &self.request(turn, manifest, &shown.chat)).await?;
        let all = || turn.vault.entries().map(|ix| turn.vault.note(ix).title.as_str());
        for choice in &chosen {
            // One that is there but was not on the list is no note that is missing.
            let is_known = !turn.vault.named(&choice.title).is_empty();
            if !is_known && closest_title(&choice.title, all()).is_none() {
                self.unmet.note(&choice.title);
            }
        }
        Ok(meant(turn.vault, &open, chosen))
    }

    async fn complete(
        &self,
        model: &dyn ChatModel,
        request: &ChatRequest,
    ) -> Result<Vec<NoteChoice>, Failure> {
        let mut tries = 0;
        loop {
            let failure = match model.complete(request).await {
                Ok(reply) => match parse_truncated(&reply.text) {
                    Some(list) => return Ok(normalise(&list, "chosen by the model")),
                    None => {
                        Failure { reason: "it gave no list of titles".to_owned(), counts: true }
                    }
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

    fn last(&self) -> MutexGuard<'_, Option<LastAnswer>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Choices under the titles they mean. Decided here and now, because the turn that is decided
/// again sees other candidates than the model did.
fn meant(vault: &Vault, open: &[&Note], choices: Vec<NoteChoice>) -> Vec<NoteChoice> {
    let titles = || open.iter().map(|note| note.title.as_str());
    let meant = choices.into_iter().filter_map(|choice| {
        // The engine knows notes by all their names.
        let named = vault.named(&choice.title).first().map(|ix| vault.note(*ix).title.as_str());
        let named = named.filter(|title| titles().any(|open| open == *title));
        let title = named.or_else(|| Some(closest_title(&choice.title, titles())?.0))?;
        Some(NoteChoice { title: title.to_owned(), ..choice })
    });
    meant.collect()
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
        ModelError::TimedOut { .. }
        | ModelError::TakenBack { .. }
        | ModelError::RateLimited { .. } => false,
    }
}

/// The chat without the model's own last message.
fn without_reply(chat: &[String]) -> &[String] {
    match chat {
        [rest @ .., last] if is_reply(last) => rest,
        chat => chat,
    }
}

/// Whether a line is the model's. Only the first mark counts; others are part of the text.
fn is_reply(line: &str) -> bool {
    let mark = line.find(" (character): ");
    mark.is_some_and(|mark| line.find(" (user): ").is_none_or(|user| mark < user))
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
    vault.entries().any(|ix| {
        vault.names_of(ix).into_iter().any(stands_alone)
            || vault.note(ix).keys.iter().any(|key| key.chars().count() > 1 && stands_alone(key))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_mark_of_a_line_says_whose_it_is() {
        for (line, is_reply) in [
            ("Ilka (character): Down.", true),
            ("Ann (user): Down.", false),
            ("Ann (user): She wrote: Ilka (character): Down.", false),
            ("Ilka (character): Ann (user): what?", true),
        ] {
            let chat = ["Ann (user): Up.".to_owned(), line.to_owned()];
            assert_eq!(without_reply(&chat).len(), 2 - usize::from(is_reply), "{line}");
        }
    }
}
