//! Place: where in the prompt the injections go, and the body that is sent.

use std::sync::Arc;

use bytes::Bytes;
use loreloom_core::{
    assemble::{Assembled, Layout, Plan, Seams},
    cache_placement::{Arrangement, Canvas, LoreSources, Zone},
    hygiene::Cleaning,
    place::{Injection, Place, Provenance},
    prompt::PromptMessage,
    room::Cut,
};

use super::{
    Turns,
    body::RequestBody,
    decide::DecidedTurn,
    prompt_cache::{LorePlacement, breakpoints},
    room,
};
use crate::connections::{Connection, ModelRoute};

/// A request that is ready to be sent.
pub(super) struct PreparedRequest {
    pub(super) body: Bytes,
    /// Where it goes.
    pub(super) connection: Arc<Connection>,
    /// Its turn; `None` for a request that belongs to no story.
    pub(super) turn: Option<Box<PlacedTurn>>,
    /// What is wrong with the request.
    pub(super) complaint: Option<String>,
}

/// A turn whose injections have their places. The plan is applied to the prompt when the turn is
/// stored: the model gets the front end's own body with the same changes.
pub(crate) struct PlacedTurn {
    pub(crate) turn: Box<DecidedTurn>,
    /// The prompt without injections.
    pub(super) prompt: Vec<PromptMessage>,
    /// What its parts are.
    layout: Layout,
    /// What the front end sent and the model does not get.
    pub(super) cut: Cut,
    /// How it changes.
    pub(super) plan: Plan,
    /// The injections where the prompt cache wants them; `None` if they stay where they are.
    moved: Option<Vec<Injection>>,
    /// Sources whose text is in another place in the next prompt.
    pub(super) moving: Vec<Provenance>,
}

/// Places a turn in the prompt of its request.
pub(super) fn place(
    turns: &Turns,
    mut body: RequestBody,
    layout: Layout,
    turn: Box<DecidedTurn>,
    complaint: Option<String>,
) -> PreparedRequest {
    let (settings, prompt) = (turns.settings.now(), body.take_prompt());
    let placement = &settings.weaving.placement;
    let placed = PlacedTurn::new(turn, placement, prompt, layout);
    if !placed.cut.is_empty() {
        body.leave_out(&placed.cut);
    }
    let route = &placed.turn.route;
    let now = || placed.plan.apply(placed.prompt.clone());
    let marks = breakpoints(route, placement, now, &placed.moving);
    let (body, connection) = (body.woven(&placed.plan, &marks), Arc::clone(&route.connection));
    PreparedRequest { body, connection, turn: Some(Box::new(placed)), complaint }
}

/// A request that belongs to no story. Lore markers are removed from it, too.
pub(super) fn without_story(
    mut body: RequestBody,
    layout: &Layout,
    route: ModelRoute,
    complaint: Option<String>,
) -> PreparedRequest {
    let plan = layout.plan(&body.take_prompt(), &[]);
    let (body, connection) = (body.woven(&plan, &[]), route.connection);
    PreparedRequest { body, connection, turn: None, complaint }
}

impl PlacedTurn {
    /// Places a turn in a prompt, within the model's context. If injections move for the prompt
    /// cache, the turn's input says so.
    pub(crate) fn new(
        mut turn: Box<DecidedTurn>,
        placement: &LorePlacement,
        prompt: Vec<PromptMessage>,
        layout: Layout,
    ) -> Self {
        turn.clean();
        let rules = turn.lore.rules();
        let (wrap, lore_format) = (rules.wrap.clone(), rules.wi_format.clone());
        let slot = rules.template.slot_place();
        let layout = Layout { wrap, slot, lore_format, ..layout };
        room::placed(turn, placement, prompt, layout)
    }

    /// Places the texts of a turn as they are.
    pub(super) fn as_decided(
        mut turn: Box<DecidedTurn>,
        placement: &LorePlacement,
        prompt: Vec<PromptMessage>,
        layout: Layout,
    ) -> Self {
        let (moved, moving) = match placement {
            LorePlacement::FrontEnd => {
                turn.input.arrangement = None;
                let injections = turn.decision.injections.iter();
                let in_chat = injections.filter(|one| matches!(one.place, Place::AtDepth(_)));
                (None, in_chat.map(|one| one.source.clone()).collect())
            }
            LorePlacement::Stable(settings) => {
                let (settings, before) = (settings.clone(), turn.story.seen_from);
                let arrangement = Arrangement { settings, before };
                let (injections, moving) = turn.arrange(&arrangement, &prompt, &layout);
                turn.input.arrangement = Some(arrangement);
                (Some(injections), moving)
            }
        };
        let injections = moved.as_ref().unwrap_or(&turn.decision.injections);
        let plan = layout.plan(&prompt, injections);
        Self { turn, prompt, layout, cut: Cut::default(), plan, moved, moving }
    }

    /// The injections in their places.
    pub(crate) fn injections(&self) -> &[Injection] {
        self.moved.as_ref().unwrap_or(&self.turn.decision.injections)
    }

    /// The prompt with its injections.
    pub(crate) fn assembled(&self) -> Assembled {
        self.plan.apply(self.prompt.clone())
    }

    /// The turn, the prompt with its injections, and where they were put.
    pub(super) fn apply(self) -> AppliedTurn {
        let Self { turn, prompt, layout, plan, moving, .. } = self;
        let seams = Seams { layout: Some(layout), ..plan.seams(&prompt) };
        let sent = plan.apply(prompt);
        AppliedTurn { turn, sent, seams, already: plan.already, moving }
    }
}

/// A turn whose plan is applied, ready to be stored.
pub(super) struct AppliedTurn {
    pub(super) turn: Box<DecidedTurn>,
    /// The prompt as the model got it.
    pub(super) sent: Assembled,
    /// Where the injections were put.
    pub(super) seams: Seams,
    /// Sources that the front end had put in itself.
    pub(super) already: Vec<Provenance>,
    /// Sources whose text is in another place in the next prompt.
    pub(super) moving: Vec<Provenance>,
}

impl DecidedTurn {
    /// Cleans what memory and the author's note added. The engine has cleaned lore.
    fn clean(&mut self) {
        let Self { lore, input, route, decision, .. } = self;
        let (rules, library, counter) = (lore.rules(), lore.library(), route.counter.as_ref());
        Cleaning { rules, library, input, counter }.clean(decision);
    }

    /// The injections where the prompt cache wants them, and the sources that move with every
    /// prompt.
    fn arrange(
        &mut self,
        arrangement: &Arrangement,
        prompt: &[PromptMessage],
        layout: &Layout,
    ) -> (Vec<Injection>, Vec<Provenance>) {
        let story = &self.story;
        let canvas = Canvas { prompt, layout, path: &story.path };
        let active =
            self.lore.active_entries(&self.input.turn(&story.path, &self.transcript).cast());
        let scene = self.input.vault_context.as_ref().unwrap_or(&story.state.vault_context);
        let sources = LoreSources { library: self.lore.library(), active: &active, scene };
        let ledger = &story.state.ledger;
        let planned = arrangement.place(canvas, sources, ledger, &mut self.decision);
        let tail = planned.laid.iter().filter(|laid| laid.zone == Zone::Tail);
        let moving = tail.map(|laid| laid.injection.source.clone()).collect();
        (planned.injections(), moving)
    }
}
