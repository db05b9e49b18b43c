//! Placement for the prompt cache, and what each prompt kept of the one before.

use std::{
    borrow::Cow,
    collections::VecDeque,
    sync::{Mutex, PoisonError},
};

use loreloom_core::{
    assemble::Assembled,
    cache_placement::{self, Arrangement, Canvas, LoreSources, Mark, StableSettings, TokenMemo},
    ids::ChatId,
    place::{Injection, Place, Provenance},
    prompt::PromptMessage,
    report::{CacheUse, Span},
};
use loreloom_ports::StoreError;

use crate::{app::App, connections::Line, deciding::Decided};

/// Where lore stands in prompts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Placement {
    /// Where its authors want it, as front ends place it.
    #[default]
    FrontEnd,
    /// Where the prompt cache wants it.
    Stable(StableSettings),
}

/// The texts of a turn with their places in its prompt.
pub(crate) struct Placed<'turn> {
    pub(crate) injections: Cow<'turn, [Injection]>,
    /// Sources whose texts stand elsewhere in the next prompt.
    pub(crate) moving: Vec<Provenance>,
}

impl Decided {
    /// Gives the texts of a turn their places. The turn takes up what that changes.
    pub(crate) fn place(
        &mut self,
        placement: &Placement,
        before: usize,
        prompt: &[PromptMessage],
        layout: &loreloom_core::assemble::Layout,
    ) -> Placed<'_> {
        let Placement::Stable(settings) = placement else {
            let in_chat = self.woven.injections.iter().filter(|one| is_in_chat(&one.place));
            let moving = in_chat.map(|one| one.source.clone()).collect();
            return Placed { injections: Cow::Borrowed(&self.woven.injections), moving };
        };
        let arrangement = Arrangement { settings: settings.clone(), before };
        let canvas = Canvas { prompt, layout, path: &self.wish.path };
        let state = &self.wish.state;
        let active =
            self.lore.active_entries(&self.input.turn(&self.wish.path, &self.transcript).cast());
        let sources = LoreSources {
            library: self.lore.library(),
            active: &active,
            scene: self.input.vault_context.as_ref().unwrap_or(&state.vault_context),
        };
        let planned = arrangement.place(canvas, sources, &state.ledger, &mut self.woven);
        self.input.arrangement = Some(arrangement);
        let tail = planned.laid.iter().filter(|laid| laid.zone == cache_placement::Zone::Tail);
        let moving = tail.map(|laid| laid.injection.source.clone()).collect();
        Placed { injections: Cow::Owned(planned.injections()), moving }
    }
}

fn is_in_chat(place: &Place) -> bool {
    match place {
        Place::AtDepth(_) => true,
        Place::BeforeMain
        | Place::AfterMain
        | Place::BeforeCharacter
        | Place::AfterCharacter
        | Place::BeforeExamples
        | Place::AfterExamples
        | Place::NoteTop
        | Place::NoteBottom
        | Place::Outlet(_)
        | Place::Slot(_) => false,
    }
}

/// Chats whose last prompt is remembered.
const MOST_CHATS: usize = 64;

/// The last prompt of each chat. Caches know no branches: whatever was sent last counts.
#[derive(Default)]
pub struct SentLog(Mutex<VecDeque<(ChatId, cache_placement::Sent)>>);

impl SentLog {
    fn take(&self, chat: &ChatId) -> Option<cache_placement::Sent> {
        let mut log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = log.iter().position(|(one, _)| one == chat)?;
        log.remove(at).map(|(_, sent)| sent)
    }

    fn put(&self, chat: &ChatId, sent: cache_placement::Sent) {
        let mut log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        log.retain(|(one, _)| one != chat);
        log.push_back((chat.clone(), sent));
        if log.len() > MOST_CHATS {
            log.pop_front();
        }
    }
}

/// Where the breakpoints of a prompt should be, for a provider that needs them.
pub(crate) fn breakpoints(
    line: &Line,
    placement: &Placement,
    now: impl FnOnce() -> Assembled,
    moving: &[Provenance],
) -> Vec<Mark> {
    let provider = match (&line.connection.cache, placement) {
        (Some(provider), Placement::Stable(_)) if provider.breakpoints > 0 => *provider,
        _ => return Vec::new(),
    };
    let mut memo = TokenMemo::new(line.counter.as_ref());
    cache_placement::measure(&provider, None, &now(), &|one| moving.contains(one), &mut memo).marks
}

impl App {
    /// Measures what a prompt kept of the last one of its chat. Only where somebody asked for
    /// it: it counts the whole prompt.
    pub(crate) async fn measure(
        &self,
        chat: &ChatId,
        line: &Line,
        prompt: &[PromptMessage],
        spans: &[Span],
        moving: &[Provenance],
    ) -> Result<Option<CacheUse>, StoreError> {
        let Some(provider) = line.connection.cache else { return Ok(None) };
        let before = match self.sent.take(chat) {
            Some(sent) => Some(sent),
            None => self.last_sent(chat).await?,
        };
        let now = Assembled { messages: prompt.to_vec(), spans: spans.to_vec() };
        let mut memo = TokenMemo::new(line.counter.as_ref());
        let moves = |one: &Provenance| moving.contains(one);
        let measured =
            cache_placement::measure(&provider, before.as_ref(), &now, &moves, &mut memo);
        let marks = measured.marks.clone();
        self.sent.put(chat, cache_placement::Sent { prompt: now.messages, marks });
        let prices = line.connection.prices.as_ref();
        let price = prices.map(|prices| prices.of_bill(&measured.bill, &provider));
        Ok(Some(CacheUse { provider: provider.name.to_owned(), measured, price }))
    }

    /// The last prompt that is stored of a chat.
    async fn last_sent(&self, chat: &ChatId) -> Result<Option<cache_placement::Sent>, StoreError> {
        let last = match self.store.turns(&self.tenant, chat).await {
            Ok(turns) => turns.last().map(|turn| turn.id),
            Err(StoreError::NoChat { .. }) => None,
            Err(error) => return Err(error),
        };
        let Some(last) = last else { return Ok(None) };
        let record = self.store.turn(&self.tenant, chat, last).await?;
        Ok(record.filter(|record| !record.prompt.is_empty()).map(|record| cache_placement::Sent {
            marks: record.report.cache.map(|cache| cache.measured.marks).unwrap_or_default(),
            prompt: record.prompt,
        }))
    }
}
