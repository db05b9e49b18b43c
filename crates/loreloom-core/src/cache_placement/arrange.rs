//! Placing a turn's texts for the cache, in a prompt that a front end built.
//!
//! What this needs besides the turn itself is kept with it ([`Arrangement`]), so that a turn
//! that is decided again gets the same places.

use serde::{Deserialize, Serialize};

use super::{Laid, Ledger, LoreSources, PlanInput, Planned, StableSettings, fingerprint, plan};
use crate::{
    assemble::{Layout, MarkKind},
    chat::Path,
    engine::Decision,
    ids::{BookId, Digest, EntryId, MessageId},
    library::Library,
    place::{LOREBOOK_SLOT, Place, Provenance},
    prompt::PromptMessage,
    report::{KeptPlace, Outcome, Report, Stop, Verdict},
    units::{MessageCount, Tokens},
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
    /// The path of the story.
    pub path: &'a Path,
}

impl Arrangement {
    /// Places the texts of a turn, using the ledger of the turns before. Changes of the ledger go
    /// into the turn's delta, and places into its verdicts.
    ///
    /// Texts may take as many tokens as the turn's pools together, or as many as they ask for, if
    /// that is more: lingering texts use what the turn leaves.
    pub fn place(
        &self,
        canvas: Canvas<'_>,
        sources: LoreSources<'_>,
        ledger: &Ledger,
        woven: &mut Decision,
    ) -> Planned {
        let window = self.window(canvas);
        let marked = marked(canvas.prompt);
        let asked: Tokens = woven.injections.iter().map(|one| one.tokens).sum();
        let budgets: Tokens = woven.report.budgets.iter().map(|budget| budget.limit).sum();
        let scene = PlanInput {
            window: &window,
            head: head(canvas),
            length: MessageCount(u32::try_from(canvas.path.items().len()).unwrap_or(u32::MAX)),
            marked: &marked,
            limit: asked.max(budgets),
        };
        // A cut ahead would take messages out of a body that is not ours to shorten.
        let settings = StableSettings { cut_ahead_percent: 0, ..self.settings.clone() };
        let planned = plan(&scene, &woven.injections, &sources, ledger, &settings);
        woven.delta.ledger.clone_from(&planned.delta);
        tell(&mut woven.report, &planned.laid, sources.library);
        planned
    }

    /// The messages by which depth is counted in the prompt. Where the outline has fewer than
    /// the path, the oldest are not in it.
    fn window(&self, canvas: Canvas<'_>) -> Vec<MessageId> {
        let shown = canvas.layout.chat.iter().filter(|mark| mark.kind == MarkKind::Story).count();
        let items = canvas.path.items();
        let after = items.get(self.before..).unwrap_or_default();
        let left_out = after.len().saturating_sub(shown);
        after[left_out..].iter().map(|item| item.id).collect()
    }
}

/// What is before the chat.
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

/// Says in a turn's verdicts where the texts are. An entry that nothing touched gets one if its
/// text lingers.
fn tell(report: &mut Report, laid: &[Laid], library: &Library) {
    for Laid { injection, zone, idle_since } in laid {
        let Provenance::Lore { book, entry } = &injection.source else { continue };
        let known = report.verdicts.iter().position(|verdict| verdict.entry == *entry);
        let at = known.unwrap_or_else(|| {
            report.untouched = report.untouched.saturating_sub(1);
            report.verdicts.push(not_found(book, entry, library));
            report.verdicts.len() - 1
        });
        let verdict = &mut report.verdicts[at];
        // A text at its author's place needs no remark.
        let elsewhere = idle_since.is_some() || verdict.place() != Some(&injection.place);
        verdict.kept_place = elsewhere.then(|| {
            Box::new(KeptPlace {
                place: injection.place.clone(),
                zone: *zone,
                tokens: injection.tokens,
                idle_since: *idle_since,
            })
        });
    }
}

/// The verdict of an entry that nothing touched; why, is found out when somebody asks.
fn not_found(book: &BookId, entry: &EntryId, library: &Library) -> Verdict {
    let title = library.title(entry).unwrap_or(entry.as_str()).to_owned();
    Verdict::new(book.clone(), entry.clone(), title, Outcome::Stopped(Stop::NoKeyFound))
}
