//! A story under several ways of placing its lore, side by side.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{
    Ledger, Measured, PlanInput, Planned, Provider, Sent, SharedPrefix, SourceLookup,
    StableSettings, TokenMemo, measure, plan,
};
use crate::{
    assemble::Assembled,
    place::{Injection, Provenance},
    tokens::TokenCounter,
};

/// A way of placing lore.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// The front end's prompt without our lore: what it breaks by itself.
    Bare,
    /// Where the authors want it.
    AsPlaced,
    /// For the sake of the cache.
    Stable,
}

impl Mode {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Bare, Self::AsPlaced, Self::Stable];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Bare => "bare",
            Self::AsPlaced => "as-placed",
            Self::Stable => "stable",
        }
    }
}

/// A turn of the story.
pub struct TrialTurn<'a> {
    /// What the planner must know of the prompt.
    pub scene: PlanInput<'a>,
    /// The texts of the turn.
    pub injections: &'a [Injection],
    /// Where they come from.
    pub sources: &'a dyn SourceLookup,
    /// Puts texts into the turn's prompt, of which so many of the oldest messages of the
    /// story are left out.
    pub assemble: &'a dyn Fn(&[Injection], usize) -> Assembled,
}

/// What a mode came to over all turns but the first, which has nothing to keep.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ModeResult {
    /// Turns that had one before them.
    pub turns: u32,
    /// Tokens that stayed the beginning of the next prompt.
    pub kept: u64,
    /// Tokens that could have.
    pub previous: u64,
    /// Tokens sent.
    pub total: u64,
    /// What they cost, in tokens of the full price.
    pub cost: u64,
    /// Turns that kept less than half.
    pub broken: u32,
}

impl ModeResult {
    /// The share of tokens that stayed, from 0 to 1.
    pub fn share(&self) -> f64 {
        ratio(self.kept, self.previous)
    }

    /// The cost as a share of the full price, from 0 to 1 and a little more.
    pub fn price(&self) -> f64 {
        ratio(self.cost, self.total)
    }
}

#[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 1.0 } else { part as f64 / whole as f64 }
}

/// A story that is placed in all modes side by side.
pub struct ModeTrial<'a> {
    provider: Provider,
    settings: StableSettings,
    memo: TokenMemo<'a>,
    ledger: Ledger,
    sent: BTreeMap<Mode, Sent>,
    tried: BTreeMap<Mode, ModeResult>,
}

impl<'a> ModeTrial<'a> {
    /// A trial without turns.
    pub fn new(
        provider: Provider,
        settings: StableSettings,
        counter: &'a dyn TokenCounter,
    ) -> Self {
        Self {
            provider,
            settings,
            memo: TokenMemo::new(counter),
            ledger: Ledger::default(),
            sent: BTreeMap::new(),
            tried: BTreeMap::new(),
        }
    }

    /// Tells the next turn: what each mode kept of the prompt before, and the plan of the
    /// stable one.
    pub fn turn(&mut self, turn: &TrialTurn<'_>) -> (BTreeMap<Mode, SharedPrefix>, Planned) {
        let TrialTurn { scene, injections, sources, .. } = turn;
        let planned = plan(scene, injections, *sources, &self.ledger, &self.settings);
        self.ledger.apply(&planned.delta);
        let placed = (turn.assemble)(injections, 0);
        let moves = |source: &Provenance| {
            injections.iter().any(|one| one.source == *source && one.place.is_in_chat())
        };
        let stable = (turn.assemble)(&planned.injections(), planned.skip);
        let found = [
            (Mode::Bare, self.send(Mode::Bare, (turn.assemble)(&[], 0), &|_| false)),
            (Mode::AsPlaced, self.send(Mode::AsPlaced, placed, &moves)),
            (Mode::Stable, { self.send(Mode::Stable, stable, &|source| planned.is_tail(source)) }),
        ];
        (found.into(), planned)
    }

    fn send(
        &mut self,
        mode: Mode,
        assembled: Assembled,
        moves: &dyn Fn(&Provenance) -> bool,
    ) -> SharedPrefix {
        let before = self.sent.get(&mode);
        let Measured { kept, bill, marks } =
            measure(&self.provider, before, &assembled, moves, &mut self.memo);
        if before.is_some() {
            let tried = self.tried.entry(mode).or_default();
            tried.turns += 1;
            tried.kept += u64::from(kept.kept.0);
            tried.previous += u64::from(kept.previous.0);
            tried.total += u64::from(kept.total.0);
            tried.cost += u64::from(bill.cost.0);
            tried.broken += u32::from(kept.share() < 0.5);
        }
        self.sent.insert(mode, Sent { prompt: assembled.messages, marks });
        kept
    }

    /// What a mode came to so far.
    pub fn tried(&self, mode: Mode) -> ModeResult {
        self.tried.get(&mode).cloned().unwrap_or_default()
    }
}
