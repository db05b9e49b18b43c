//! Placing a turn's texts for the cache, in a prompt that a front end built.
//!
//! What this needs besides the turn itself is kept with it ([`Arrangement`]), so that a turn
//! that is decided again gets the same places.

use serde::{Deserialize, Serialize};

use super::{
    Ledger, Planned, Scene, StableSettings, comes_and_goes, fingerprint, note_comes_and_goes, plan,
};
use crate::{
    assemble::{Layout, Stands},
    chat::Path,
    ids::{Digest, MessageId},
    library::Library,
    place::{Injection, LOREBOOK_SLOT, Place, Provenance},
    prompt::PromptMessage,
    units::{MessageCount, Tokens},
    weave::Woven,
};

/// How a turn's texts were kept in place: enough to do it again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Arrangement {
    /// By which settings.
    pub settings: StableSettings,
    /// How many messages of the path come before those that the prompt holds.
    pub before: usize,
}

/// A prompt that a front end built.
#[derive(Clone, Copy, Debug)]
pub struct Canvas<'a> {
    /// Its messages.
    pub prompt: &'a [PromptMessage],
    /// Its outline.
    pub layout: &'a Layout,
    /// The story it tells.
    pub path: &'a Path,
}

impl Arrangement {
    /// Places the texts that a turn wove, after what the ledger says of the turns before. The
    /// turn's delta takes up what changes in it.
    ///
    /// Texts may take as much as the turn's pools together, but never less than they ask for:
    /// what lingers comes out of what the turn leaves over.
    pub fn place(
        &self,
        canvas: Canvas<'_>,
        library: &Library,
        ledger: &Ledger,
        woven: &mut Woven,
    ) -> Planned {
        let window = self.window(canvas);
        let marked = marked(canvas.prompt);
        let scene = Scene {
            window: &window,
            head: head(canvas),
            length: MessageCount(u32::try_from(canvas.path.items().len()).unwrap_or(u32::MAX)),
            marked: &marked,
        };
        let asked: Tokens = woven.injections.iter().map(|one| one.tokens).sum();
        let budgets: Tokens = woven.report.budgets.iter().map(|budget| budget.limit).sum();
        let goes = |one: &Injection| is_restless(library, one);
        let limit = asked.max(budgets);
        // A cut ahead would take messages out of a body that is not ours to shorten.
        let settings = StableSettings { cut_ahead_percent: 0, ..self.settings.clone() };
        let planned = plan(&scene, &woven.injections, &goes, ledger, limit, &settings);
        woven.delta.ledger.clone_from(&planned.delta);
        planned
    }

    /// The messages by which depth is counted in the prompt. Where the outline has fewer than
    /// the path, the oldest are not in it.
    fn window(&self, canvas: Canvas<'_>) -> Vec<MessageId> {
        let shown = canvas.layout.chat.iter().filter(|mark| mark.stands == Stands::Story).count();
        let items = canvas.path.items();
        let told = items.get(self.before..).unwrap_or_default();
        let left_out = told.len().saturating_sub(shown);
        told[left_out..].iter().map(|item| item.id).collect()
    }
}

/// What stands before the chat.
fn head(canvas: Canvas<'_>) -> Digest {
    fingerprint(canvas.layout.head.iter().filter_map(|mark| {
        let text = canvas.prompt.get(mark.message)?.content.as_str();
        let text = match mark.range {
            Some((start, end)) => text.get(start..end)?,
            None => text,
        };
        Some((mark.role, text))
    }))
}

/// Places that the prompt marks itself. Of others it does not matter whether it does.
fn marked(prompt: &[PromptMessage]) -> Vec<Place> {
    let marker = format!("loreloom::{LOREBOOK_SLOT}");
    let asks = prompt.iter().any(|message| message.content.contains(&marker));
    asks.then(|| Place::Slot(LOREBOOK_SLOT.to_owned())).into_iter().collect()
}

/// Whether a text must not outlive its activation.
fn is_restless(library: &Library, injection: &Injection) -> bool {
    let Provenance::Lore { entry, .. } = &injection.source else { return false };
    if let Some(ix) = library.find(entry) {
        return comes_and_goes(library.entry(ix));
    }
    let vault = library.vault();
    let notes = vault.into_iter().flat_map(|vault| vault.entries().map(|ix| vault.note(ix)));
    notes.into_iter().find(|note| note.id() == *entry).is_some_and(note_comes_and_goes)
}
