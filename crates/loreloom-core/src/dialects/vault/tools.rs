//! What a vault borrows while it decides a turn, and how the texts of its notes are rendered.

use std::borrow::Cow;

use super::{Vault, VaultCache};
use crate::{
    dice::Dice,
    engine::render::{LoreScripts, expand},
    library::EntryIx,
    macros::{MacroValues, VariableChanges, Variables, is_dynamic},
    rules::Rules,
    state::StoryState,
    tokens::TokenCounter,
    turn::Turn,
    units::{Depth, Tokens},
};

/// What a vault borrows while it decides a turn.
pub struct VaultTools<'a> {
    /// The connection's tokenizer.
    pub counter: &'a dyn TokenCounter,
    /// Rolls.
    pub dice: &'a mut dyn Dice,
    /// Hits in texts of earlier turns.
    pub cache: &'a mut VaultCache,
    /// How texts are rendered; without it they stay as they are.
    pub rendering: Option<NoteRendering<'a>>,
}

/// How the texts of notes are rendered.
pub struct NoteRendering<'a> {
    macros: MacroValues<'a>,
    scripts: LoreScripts<'a>,
    /// The variables of the path, with what notes wrote since.
    state: StoryState,
    has_written: bool,
}

/// The text of a note as it is sent, without the template.
pub(super) struct NoteText<'a> {
    pub(super) content: Cow<'a, str>,
    pub(super) tokens: Tokens,
    writes: VariableChanges,
}

impl<'a> NoteRendering<'a> {
    /// Replaces macros and runs scripts as in this turn.
    pub fn new(turn: &Turn<'a>, rules: &'a Rules, variables: &Variables) -> Self {
        let state = StoryState { variables: variables.clone(), ..StoryState::default() };
        let scripts = LoreScripts::of(turn, rules);
        Self { macros: turn.macros(), scripts, state, has_written: false }
    }

    /// The variables after the notes that were sent, if those changed any.
    pub(crate) fn written(self) -> Option<Variables> {
        self.has_written.then_some(self.state.variables)
    }
}

impl VaultTools<'_> {
    /// The text of a note. `depth` is its depth in the chat, if it has one.
    pub(super) fn text<'note>(
        &mut self,
        vault: &'note Vault,
        ix: EntryIx,
        depth: Option<Depth>,
    ) -> NoteText<'note> {
        let (raw, id) = (vault.note(ix).content.as_str(), vault.id(ix));
        let changes =
            |rendering: &&NoteRendering<'_>| is_dynamic(raw) || rendering.scripts.run_at(depth);
        let changing = self.rendering.as_ref().filter(changes);
        let Some(NoteRendering { macros, scripts, state, .. }) = changing else {
            let (content, tokens) = (Cow::Borrowed(raw), vault.tokens(ix, self.counter));
            return NoteText { content, tokens, writes: VariableChanges::default() };
        };
        let (expanded, writes) = expand(macros, &state.variables, self.dice, (id, raw));
        let text = scripts.apply(&expanded.into(), depth, macros);
        let (tokens, content) = (self.counter.count(&text), Cow::Owned(text.as_ref().to_owned()));
        NoteText { content, tokens, writes }
    }

    /// Keeps what a note that is sent writes to variables, for texts after it.
    pub(super) fn keep(&mut self, text: &NoteText<'_>) {
        if let Some(rendering) = self.rendering.as_mut().filter(|_| !text.writes.is_empty()) {
            rendering.state.write(&text.writes);
            rendering.has_written = true;
        }
    }
}
