//! Text of the model that does not belong to the story: repeated wrappers of the prompt, and the
//! model's own notes.

use std::{borrow::Cow, sync::Arc};

use loreloom_core::{chat::Role, macros::MacroValues, wrap::strip_echo};
use loreloom_recognise::{Body, Request};

use super::Turns;
use crate::lore::Lore;

/// Removes repeated wrappers and notes.
pub(super) struct EchoedMarkers<'names> {
    lore: Arc<Lore>,
    macros: MacroValues<'names>,
}

impl<'names> EchoedMarkers<'names> {
    /// Those of a story with this user and character: wrappers may name them.
    pub(super) fn new(lore: Arc<Lore>, user: &'names str, char: &'names str) -> Self {
        Self { lore, macros: MacroValues { user, char, ..MacroValues::default() } }
    }

    /// A text without them; borrowed if it has none.
    pub(super) fn removed<'text>(&self, text: &'text str) -> Cow<'text, str> {
        let rules = self.lore.rules();
        let plain = strip_echo(text, rules, self.lore.library(), &self.macros);
        if rules.notebooks.cutter().is_none() {
            return plain;
        }
        match rules.notebooks.read(&plain).1 {
            same if same == *text => Cow::Borrowed(text),
            other => Cow::Owned(other),
        }
    }
}

/// Gives the recogniser the model's messages as they are in the story.
pub(super) fn mark(turns: &Turns, request: &mut Request) {
    let live = turns.settings.now();
    let user = request.explicit.user.as_deref().unwrap_or(&live.defaults.user);
    let char = request.explicit.char.as_deref().unwrap_or_default();
    let echoes = EchoedMarkers::new(turns.lore.current(), user, char);
    let Body::Messages(messages) = &mut request.body else { return };
    for message in messages.iter_mut().filter(|message| message.role == Role::Assistant) {
        if let Cow::Owned(plain) = echoes.removed(&message.text) {
            message.story_text = Some(plain.into());
        }
    }
}
