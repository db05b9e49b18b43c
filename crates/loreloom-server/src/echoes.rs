//! What a model repeats of its prompt, and notes for itself: no part of the story.

use std::{borrow::Cow, sync::Arc};

use loreloom_core::{chat::Role, macros::MacroValues, wrap::strip_echo};
use loreloom_recognise::{Body, Request};

use crate::{app::App, lore::Lore, story::Names};

/// What a model may repeat of its prompt, and what it notes for itself.
pub(crate) struct Echoes<'names> {
    lore: Arc<Lore>,
    macros: MacroValues<'names>,
}

impl Echoes<'_> {
    /// A text of the model's without all that; borrowed if there is none of it.
    pub(crate) fn taken_out<'text>(&self, text: &'text str) -> Cow<'text, str> {
        let rules = self.lore.rules();
        let told = strip_echo(text, rules, self.lore.library(), &self.macros);
        if rules.notebooks.cutter().is_none() {
            return told;
        }
        match rules.notebooks.read(&told).1 {
            same if same == *text => Cow::Borrowed(text),
            other => Cow::Owned(other),
        }
    }
}

impl App {
    /// Tells the recogniser how the model's messages read in the story: without the
    /// wrappers that the model repeated.
    pub(crate) fn unwrap_echoes(&self, request: &mut Request) {
        let names = Names {
            user: request
                .explicit
                .user
                .clone()
                .unwrap_or_else(|| self.live().defaults.user.clone()),
            speaker: request.explicit.char.clone(),
            card: Arc::default(),
        };
        let Body::Messages(messages) = &mut request.body else { return };
        let echoes = self.echoes(&names);
        for message in messages.iter_mut().filter(|message| message.role == Role::Assistant) {
            if let Cow::Owned(told) = echoes.taken_out(&message.text) {
                message.told = Some(told.into());
            }
        }
    }

    /// What the model may repeat in a story that these tell.
    pub(crate) fn echoes<'names>(&self, names: &'names Names) -> Echoes<'names> {
        let char = names.speaker.as_deref().unwrap_or_default();
        let macros = MacroValues { user: &names.user, char, ..MacroValues::default() };
        Echoes { lore: self.stacks.lore(), macros }
    }
}
