//! One turn of a vault: match, select, gate, fit.

use super::{
    Fitted, Lines, Matches, Pick, SelectionRules, Stopped, Vault, VaultCache, VaultGates,
    VaultRules, VaultState, VaultTools, apply_marks, candidates, evidence::Evidence, fit,
    groups::by_groups, lines::VaultLine, order::sort_picks, picks::Divided,
};
use crate::{
    engine::timing::runs_until,
    library::EntryIx,
    report::{Outcome, Reason, Verdict},
    turn::VaultContext,
    units::{MessageCount, Tokens},
    vault_notes::FieldDefinition,
};

/// What a turn is decided from.
#[derive(Clone, Copy, Debug)]
pub struct VaultTurn<'a> {
    /// The notes.
    pub vault: &'a Vault,
    /// The rules.
    pub rules: &'a VaultRules,
    /// The vault's fields.
    pub fields: &'a [FieldDefinition],
    /// The state before the turn.
    pub state: &'a VaultState,
    /// The chat.
    pub lines: &'a Lines,
    /// The character who speaks next.
    pub character: Option<&'a str>,
    /// Context, folders, pins and blocks.
    pub context: &'a VaultContext,
}

/// What a turn decided, stage by stage.
#[derive(Clone, Debug)]
pub struct VaultReport {
    /// What the chat brought in.
    pub matches: Matches,
    /// Notes after context, folders, pins and blocks.
    pub in_scene: Vec<Pick>,
    /// Notes after the re-injection cooldown.
    pub rested: Vec<Pick>,
    /// Notes that requires and excludes stopped.
    pub gated: Vec<Stopped>,
    /// Notes that the injection log stopped, if the rules use it.
    pub stripped: Vec<Stopped>,
    /// What fits.
    pub fitted: Fitted,
    /// The state after the turn.
    pub state: VaultState,
    /// A verdict for every note that something touched.
    pub verdicts: Vec<Verdict>,
}

impl<'a> VaultTurn<'a> {
    /// A turn without fields and a character.
    pub fn new(
        vault: &'a Vault,
        rules: &'a VaultRules,
        state: &'a VaultState,
        lines: &'a Lines,
        context: &'a VaultContext,
    ) -> Self {
        Self { vault, rules, fields: &[], state, lines, character: None, context }
    }

    /// Whether the chat is new.
    pub fn is_new_chat(&self) -> bool {
        self.rules.is_new_chat(self.lines.len())
    }

    /// How long the chat is, as sticky notes and delays count it.
    pub(super) fn length(&self) -> MessageCount {
        MessageCount(u32::try_from(self.lines.len()).unwrap_or(u32::MAX))
    }

    /// Until when a note stays that was injected before.
    pub(super) fn sticky_until(&self, ix: EntryIx) -> Option<MessageCount> {
        self.vault.note(ix).sticky?;
        runs_until(self.state.sticky.get(self.vault.id(ix))?, self.length())
    }

    /// The notes that stay because they were injected before.
    pub(super) fn sticky_notes(&self) -> Vec<(EntryIx, Reason)> {
        let known = self.state.sticky.keys().filter_map(|id| self.vault.find(id));
        let sticky = known.filter_map(|ix| {
            let until = self.sticky_until(ix)?;
            Some((ix, Reason::Sticky { until }))
        });
        sticky.collect()
    }

    /// The scanned messages among the newest `depth` ones, oldest first.
    pub(super) fn window(&self, depth: u32) -> Vec<&'a VaultLine> {
        self.lines.window(depth, self.rules.quirks.hidden_use_depth)
    }

    /// The scan depth of a note.
    pub(super) fn depth_of(&self, ix: EntryIx) -> u32 {
        self.vault.compiled(ix).depth.unwrap_or(self.rules.keys.depth)
    }

    fn gates(&self, notes: impl IntoIterator<Item = EntryIx>) -> VaultGates<'a> {
        VaultGates::new(self.vault, self.rules, notes, &self.context.pins, self.is_new_chat())
    }

    /// All that a selecting model could choose from, and of those what the context, folders and
    /// blocks would not stop: only that need be shown to it.
    pub fn candidates(&self, matches: &Matches, rules: &SelectionRules) -> (Vec<Pick>, Vec<Pick>) {
        let all = candidates(self.vault, matches, rules);
        let (open, _) = self.by_scene(all.clone());
        (all, open)
    }

    /// The rules that keep notes from the eyes of a selecting model: context, folders, blocks.
    pub(crate) fn shut_out(&self, notes: &[EntryIx]) -> Vec<Stopped> {
        let pick = |&ix: &EntryIx| Pick::new(self.vault, ix, Reason::Key);
        self.by_scene(notes.iter().map(pick).collect()).1
    }

    fn by_scene(&self, picks: Vec<Pick>) -> Divided {
        let context = self.context;
        let gates = self.gates(picks.iter().map(|pick| pick.ix));
        let (open, mut stopped) = gates.by_context(picks, &context.context, self.fields);
        let (open, outside) = gates.by_folder(open, &context.folders);
        let (open, blocked) = apply_marks(self.vault, open, &[], &context.blocks);
        stopped.extend(outside.into_iter().chain(blocked));
        (open, stopped)
    }

    /// Decides the turn from what the chat brought in, what was selected of it, and what was not.
    pub fn decide(
        self,
        matches: Matches,
        selected: Divided,
        tools: &mut VaultTools<'_>,
    ) -> VaultReport {
        let Self { vault, rules, fields, state, context, .. } = self;
        let mut out = Stops { stopped: matches.furthest(), cache: &mut *tools.cache };
        let selected = out.after("selection", selected);
        let gates = self.gates(selected.iter().map(|pick| pick.ix));
        let picks = out.note(gates.by_context(selected, &context.context, fields));
        let mut picks = out.after("scene and folders", gates.by_folder(picks, &context.folders));
        sort_picks(vault, &mut picks, rules);

        // Pins bring in notes that nothing else did, so these gates are for the whole vault.
        let gates = self.gates(vault.entries());
        let picks = out.note(apply_marks(vault, picks, &context.pins, &context.blocks));
        let marked = gates.by_context(picks, &context.context, fields);
        let in_scene = out.after("pins and blocks", marked);
        let rested = out.after("re-injection cooldown", gates.by_history(in_scene.clone(), state));
        let grouped = by_groups(self, rested.clone(), &mut *tools.dice);
        let (picks, gated) = gates.by_relations(out.after("groups", grouped));
        let picks = out.after("requires and excludes", (picks, gated.clone()));
        let (picks, stripped) = if rules.repetition.strip {
            gates.by_log(picks, &state.log)
        } else {
            (picks, Vec::new())
        };
        let picks = out.after("repeated texts", (picks, stripped.clone()));
        let mut stopped = out.stopped;
        let fitted = fit(vault, &picks, rules, tools);
        stopped.extend(fitted.stopped.iter().cloned());
        tools.cache.report("budget", fitted.notes.len());
        let evidence = Evidence { turn: self, picks: &matches.picks };
        let verdicts = verdicts(evidence, &picks, &fitted, &stopped, tools.cache);
        let state = state.after(self, &fitted.notes);
        VaultReport { matches, in_scene, rested, gated, stripped, fitted, state, verdicts }
    }
}

/// The notes that stages stopped so far.
struct Stops<'a> {
    stopped: Vec<Stopped>,
    cache: &'a mut VaultCache,
}

impl Stops<'_> {
    fn note(&mut self, (picks, stopped): Divided) -> Vec<Pick> {
        self.stopped.extend(stopped);
        picks
    }

    /// The same at the end of a stage.
    fn after(&mut self, stage: &'static str, divided: Divided) -> Vec<Pick> {
        let picks = self.note(divided);
        self.cache.report(stage, picks.len());
        picks
    }
}

/// The verdicts of a turn: notes that went in, then stopped ones.
fn verdicts(
    evidence: Evidence<'_>,
    picks: &[Pick],
    fitted: &Fitted,
    stopped: &[Stopped],
    cache: &mut VaultCache,
) -> Vec<Verdict> {
    let vault = evidence.turn.vault;
    let mut verdicts = Vec::new();
    let mut is_decided = vec![false; vault.len()];
    let sent = fitted.notes.iter().map(|note| (note.ix, Some(note)));
    for (ix, note) in sent.chain(fitted.blank.iter().map(|&ix| (ix, None))) {
        is_decided[ix.0 as usize] = true;
        if let Some(pick) = picks.iter().find(|pick| pick.ix == ix) {
            let outcome = Outcome::Activated {
                place: note.map(|note| note.seat.place()),
                tokens: note.map_or(Tokens::ZERO, |note| note.tokens),
                shortened_from: note.and_then(|note| note.shortened_from),
                trigger: Box::new(evidence.trigger(pick, cache)),
            };
            verdicts.push(vault.note(ix).verdict(outcome));
        }
    }
    // The last stop decides: later stages overruled earlier ones.
    for one in stopped.iter().rev() {
        if !std::mem::replace(&mut is_decided[one.ix.0 as usize], true) {
            verdicts.push(vault.note(one.ix).verdict(Outcome::Stopped(one.stop.clone())));
        }
    }
    verdicts
}
