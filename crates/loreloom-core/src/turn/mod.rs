//! One turn: what it is decided from.

mod input;
mod selection;
mod story_context;
mod transcript;

pub(crate) use self::transcript::TranscriptMessage;
pub use self::{
    input::{CardTexts, Forced, Near, ScannedPrompt, Speaker, TurnInput, VaultContext},
    selection::{Selection, StillHolds},
    story_context::{StatedNote, StoryContext},
    transcript::Transcript,
};
use crate::{
    chat::{Path, Role},
    dialects::vault::{VaultCache, VaultStage},
    dice::{Dice, TurnDice},
    engine::texts::Occurrences,
    ids::{ChatId, MessageId, PrefixHash},
    library::{Cast, Stages},
    macros::MacroValues,
    regex_script::RegexScript,
    rules::Rules,
    scan::{Folding, HitCache, WordRule},
    tokens::TokenCounter,
    units::MessageCount,
};

/// A turn's input on a path. The engine reads nothing else but books, rules and state.
#[derive(Clone, Copy)]
pub struct Turn<'a> {
    /// Everything but the messages.
    pub input: &'a TurnInput,
    /// The chat.
    pub chat: &'a ChatId,
    /// The exact state of the story.
    pub prefix: PrefixHash,
    /// The message being answered.
    pub answers: Option<MessageId>,
    /// The messages that are scanned.
    pub transcript: &'a Transcript,
}

impl<'a> Turn<'a> {
    /// The turn at the end of `path`, whose messages `transcript` holds.
    pub fn new(input: &'a TurnInput, path: &'a Path, transcript: &'a Transcript) -> Self {
        let (chat, prefix, answers) = (path.chat(), path.prefix(), path.last_user());
        Self { input, chat, prefix, answers, transcript }
    }

    /// The dice of this turn.
    pub fn dice(&self) -> TurnDice {
        TurnDice::at(self.input.seed, self.chat, self.answers)
    }

    /// The values of macros.
    pub fn macros(&self) -> MacroValues<'a> {
        let Self { input, transcript, .. } = *self;
        let card = &input.card;
        MacroValues {
            user: &input.user,
            char: input.speaker.as_ref().map_or("", |speaker| &speaker.name),
            persona: &card.persona,
            description: &card.description,
            personality: &card.personality,
            scenario: &card.scenario,
            depth_prompt: &card.depth_prompt,
            creator_notes: &card.creator_notes,
            last_message: transcript.last(|_| true),
            last_user_message: transcript.last(|role| role == Role::User),
            last_char_message: transcript.last(|role| role == Role::Assistant),
            generation: input.generation.as_str(),
            last_message_id: self.length().0.checked_sub(1),
            context: input.context,
            more: Some(&input.macros),
            at: input.at,
        }
    }

    /// The scripts that change texts of lore on their way into the prompt.
    pub fn scripts<'rules>(&self, rules: &'rules Rules) -> &'rules [RegexScript] {
        if self.input.scripts_elsewhere { &[] } else { &rules.regex_scripts }
    }

    /// Who takes part.
    pub fn cast(&self) -> Cast<'a> {
        self.input.cast(self.chat)
    }

    /// Messages on the path, as timed effects count them.
    pub fn length(&self) -> MessageCount {
        MessageCount(u32::try_from(self.transcript.messages.len()).unwrap_or(u32::MAX))
    }
}

/// What the engine borrows from its caller.
pub struct Instruments<'a> {
    /// The connection's tokenizer.
    pub counter: &'a dyn TokenCounter,
    /// Rolls.
    pub dice: &'a mut dyn Dice,
    /// Hits in texts of earlier turns.
    pub cache: &'a mut TurnCache,
}

/// Hits in texts of earlier turns, for one library.
#[derive(Debug, Default)]
pub struct TurnCache {
    world_info: StagesCache,
    /// One for each meaning of a word.
    cards: [StagesCache; WordRule::ALL.len()],
    pub(crate) vault: VaultCache,
}

/// Hits of one key index under one meaning of a word.
#[derive(Debug, Default)]
struct StagesCache {
    hits: [HitCache; Folding::ALL.len()],
    /// Hits of the running turn. Kept between turns only to reuse its allocation.
    occurrences: Occurrences,
}

impl TurnCache {
    /// Calls `watcher` after each stage of the vault.
    pub fn watch_vault(&mut self, watcher: impl FnMut(VaultStage) + Send + 'static) {
        self.vault.watch(watcher);
    }

    /// The hits in earlier texts, and an empty list for this turn.
    pub(crate) fn begin(
        &mut self,
        stages: Stages,
        words: WordRule,
    ) -> (&mut [HitCache; Folding::ALL.len()], &mut Occurrences) {
        let cache = match stages {
            Stages::WorldInfo => &mut self.world_info,
            Stages::Cards => &mut self.cards[words as usize],
        };
        for found in &mut cache.occurrences {
            found.clear();
        }
        (&mut cache.hits, &mut cache.occurrences)
    }
}
