//! Room: the prompt and the reply fit into the model's context, and lore and memory into their
//! total.

use loreloom_core::{
    assemble::Layout,
    place::{Injection, Provenance},
    prompt::PromptMessage,
    report::RoomUse,
    room::{ContextWindow, Cut, MakeRoom, can_give_way, give_way, lore_tokens, tokens_in},
    tokens::{ByteEstimate, Measure, TokenCounter as _},
    units::Tokens,
};

use super::{decide::DecidedTurn, place::PlacedTurn, prompt_cache::LorePlacement};

/// Places a turn in a prompt. If that is too long, the oldest messages or the least important
/// texts give way.
pub(super) fn placed(
    mut turn: Box<DecidedTurn>,
    placement: &LorePlacement,
    prompt: Vec<PromptMessage>,
    layout: Layout,
) -> PlacedTurn {
    let window = ContextWindow::of(&turn.input);
    if let Some(total) = turn.budget.total(window.context) {
        turn.give_way_to(total);
    }
    let counter = turn.route.counter.clone();
    let (added, texts) = added(&turn, placement);
    let fits = || window.surely_fits((&prompt, &layout), added, texts, counter.as_ref());
    let covered = Cut::covered(turn.story.covered, (&prompt, &layout), counter.as_ref());
    if !covered.is_empty() || window.stated && !fits() {
        return Shortening { window, placement, covered, prompt, layout }.placed(turn);
    }
    let mut placed = PlacedTurn::as_decided(turn, placement, prompt, layout);
    if !window.stated {
        let tokens = placed.estimated();
        let over = tokens.checked_sub(window.limit(placed.prompt.len()));
        placed.note_room(&window, tokens, over.filter(|over| *over > Tokens::ZERO));
    } else if placed.turn.decision.report.room.is_some() {
        let tokens = tokens_in(&placed.assembled().messages, &*counter);
        placed.note_room(&window, tokens, None);
    }
    placed
}

/// The tokens and the number of texts that placing adds to a prompt, at the most.
fn added(turn: &DecidedTurn, placement: &LorePlacement) -> (Tokens, usize) {
    let decided = turn.decision.injections.iter();
    let slips = turn.story.state.ledger.slips.values();
    // Texts of earlier turns may linger.
    let lingering = slips.map(|slip| &slip.injection).filter(|_| match placement {
        LorePlacement::Stable(_) => true,
        LorePlacement::FrontEnd => false,
    });
    let texts: Vec<&Injection> = decided.chain(lingering).collect();
    let around = turn.route.counter.count(&turn.lore.rules().wi_format);
    let frames = around.saturating_add(around);
    (texts.iter().map(|one| one.tokens).sum::<Tokens>().saturating_add(frames), texts.len())
}

/// A prompt that is made shorter until it fits.
struct Shortening<'turn> {
    window: ContextWindow,
    placement: &'turn LorePlacement,
    /// What memory covers.
    covered: Cut,
    /// The prompt of the front end.
    prompt: Vec<PromptMessage>,
    layout: Layout,
}

/// How far a prompt is shortened.
#[derive(Clone, Default)]
struct Shortened {
    cut: Cut,
    /// Whether texts of earlier turns that linger for the prompt cache are out.
    without_lingering: bool,
    /// What lore and memory may take.
    limit: Option<Tokens>,
}

impl Shortening<'_> {
    fn placed(self, mut turn: Box<DecidedTurn>) -> PlacedTurn {
        let first = Shortened { cut: self.covered.clone(), ..Shortened::default() };
        let (decided, mut step) = (turn.decision.clone(), first);
        let counter = turn.route.counter.clone();
        loop {
            if let Some(limit) = step.limit {
                turn.give_way_to(limit);
            }
            let (prompt, layout) = step.cut.apply(&self.prompt, &self.layout);
            let front_end = &LorePlacement::FrontEnd;
            let placement = if step.without_lingering { front_end } else { self.placement };
            let mut placed = PlacedTurn::as_decided(turn, placement, prompt, layout);
            let (over, tokens) = self.window.excess(&placed.assembled().messages, &*counter);
            let over = over.filter(|_| self.window.stated);
            let next = over.and_then(|over| self.next(&step, over, &placed));
            let Some(next) = next else {
                placed.cut = step.cut;
                placed.note_room(&self.window, tokens, over);
                return placed;
            };
            step = next;
            turn = placed.turn;
            turn.decision = decided.clone();
        }
    }

    /// What gives way next for a prompt that is too long; `None` if nothing is left.
    fn next(&self, step: &Shortened, over: Tokens, placed: &PlacedTurn) -> Option<Shortened> {
        let turn = &placed.turn;
        if turn.budget.make_room == MakeRoom::History {
            let freed = step.cut.freed().saturating_add(over);
            let prompt = (&*self.prompt, &self.layout);
            let cut = Cut::for_room(freed, prompt, &self.window, turn.route.counter.as_ref());
            if cut != step.cut {
                return Some(Shortened { cut, ..step.clone() });
            }
        }
        if !step.without_lingering && matches!(self.placement, LorePlacement::Stable(_)) {
            return Some(Shortened { without_lingering: true, ..step.clone() });
        }
        let texts = &turn.decision.injections;
        let used: Tokens = texts.iter().map(|one| one.tokens).sum();
        let limit = Some(used.checked_sub(over).unwrap_or_default());
        let has_more = texts.iter().any(|one| can_give_way(&one.source));
        has_more.then_some(Shortened { limit, ..step.clone() })
    }
}

impl DecidedTurn {
    /// Takes texts out until the rest is within a limit.
    fn give_way_to(&mut self, limit: Tokens) {
        let Self { decision, lore, budget, .. } = self;
        give_way(decision, limit, budget, lore.library());
    }
}

impl PlacedTurn {
    /// The tokens of the prompt with its texts, by their bytes.
    fn estimated(&self) -> Tokens {
        let prompt = self.prompt.iter().map(|message| ByteEstimate.measure(&message.content));
        let texts = self.injections().iter().map(|one| ByteEstimate.measure(&one.text));
        ByteEstimate.tokens(prompt.chain(texts).fold(Measure::default(), |sum, one| sum + one))
    }

    /// Writes the room of the turn into its report, if something gave way or the prompt is too
    /// long, and into its input what a replay needs.
    fn note_room(&mut self, window: &ContextWindow, prompt: Tokens, over: Option<Tokens>) {
        let left_out = self.cut.left_out();
        let decision = &mut self.turn.decision;
        let given_up = decision.report.room.take().unwrap_or_default().given_up;
        if given_up.is_empty() && left_out.is_empty() && over.is_none() {
            return;
        }
        let is_lore = |source: &Provenance| matches!(source, Provenance::Lore { .. });
        if given_up.iter().any(|one| is_lore(&one.source)) {
            self.turn.input.lore_room = Some(lore_tokens(&decision.injections));
        }
        decision.report.room = Some(RoomUse {
            context: window.context,
            stated: window.stated,
            reply: window.reserved(),
            prompt: Some(prompt),
            over,
            left_out,
            given_up,
        });
    }
}
