//! One turn of a vault.

use super::{
    Exempt, FieldDefinition, Fitted, Lines, Mark, Matches, Pick, Stopped, Vault, VaultCache,
    VaultRules, VaultState, apply_marks,
    evidence::Evidence,
    filter_by_folder, find, fit, gate_by_context, gate_by_relations, hold_back,
    matching::{is_new, sort_picks},
    strip_repeated,
};
use crate::{
    book::Extensions,
    dice::Dice,
    library::EntryIx,
    report::{Outcome, Stop, Verdict},
    tokens::TokenCounter,
};

/// What a turn is decided from, besides the vault.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a> {
    /// The chat.
    pub lines: &'a Lines,
    /// The character who speaks next.
    pub character: Option<&'a str>,
    /// What the scene is like, by field.
    pub context: &'a Extensions,
    /// The vault's fields.
    pub fields: &'a [FieldDefinition],
    /// Folders that are looked into; none is all.
    pub folders: &'a [String],
    /// Notes that must be in.
    pub pins: &'a [Mark],
    /// Notes that must not.
    pub blocks: &'a [Mark],
}

/// What was decided, stage by stage.
#[derive(Clone, Debug)]
pub struct VaultReport {
    /// What the chat brought in.
    pub matches: Matches,
    /// Notes after context, folders, pins and blocks.
    pub in_scene: Vec<Pick>,
    /// Notes that did not come up too recently.
    pub rested: Vec<Pick>,
    /// Notes that requires and excludes stopped.
    pub gated: Vec<Stopped>,
    /// Notes that were injected not long ago, if that is looked at.
    pub stripped: Vec<Stopped>,
    /// What fits.
    pub fitted: Fitted,
    /// The state after the turn.
    pub state: VaultState,
    /// A verdict for every note that something touched.
    pub verdicts: Vec<Verdict>,
}

/// Decides one turn, without a selecting model.
pub fn weave(
    vault: &Vault,
    scene: Scene<'_>,
    state: &VaultState,
    rules: &VaultRules,
    counter: &dyn TokenCounter,
    (dice, cache): (&mut dyn Dice, &mut VaultCache),
) -> VaultReport {
    let instruments = (dice, &mut *cache);
    let matches = find(vault, scene.lines, scene.character, state, rules, instruments);
    let picks = matches.picks.clone();
    decide(vault, scene, (matches, picks), state, rules, (counter, cache))
}

/// Decides one turn from what the chat brought in and what was selected of it.
pub fn decide(
    vault: &Vault,
    scene: Scene<'_>,
    (matches, selected): (Matches, Vec<Pick>),
    state: &VaultState,
    rules: &VaultRules,
    (counter, cache): (&dyn TokenCounter, &mut VaultCache),
) -> VaultReport {
    let mut stopped = matches.stopped.clone();
    cache.tell("selection", selected.len());
    let is_selected = |pick: &&Pick| selected.iter().any(|one| one.ix == pick.ix);
    let left_out = matches.picks.iter().filter(|pick| !is_selected(pick));
    stopped.extend(left_out.map(|pick| Stopped { ix: pick.ix, stop: Stop::NotSelected }));
    let mut keep = |(picks, gone): (Vec<Pick>, Vec<Stopped>)| {
        stopped.extend(gone);
        picks
    };
    let bootstrapping = is_new(scene.lines.len(), rules);
    let found = selected.iter().map(|pick| pick.ix);
    let exempt = Exempt::among(vault, found, scene.pins, bootstrapping, rules);
    let (context, fields) = (scene.context, scene.fields);
    let picks = keep(gate_by_context(vault, selected, context, fields, &exempt, rules));
    let mut picks = keep(filter_by_folder(vault, picks, scene.folders, &exempt, rules));
    sort_picks(vault, &mut picks, rules);
    cache.tell("scene and folders", picks.len());

    // Pins bring notes in that nothing else did, so the whole vault is asked now.
    let exempt = Exempt::among(vault, vault.entries(), scene.pins, bootstrapping, rules);
    let picks = keep(apply_marks(vault, picks, scene.pins, scene.blocks));
    let in_scene = keep(gate_by_context(vault, picks, context, fields, &exempt, rules));
    cache.tell("pins and blocks", in_scene.len());
    let rested = keep(hold_back(vault, in_scene.clone(), state, &exempt, rules));
    cache.tell("re-injection cooldown", rested.len());
    let gated = gate_by_relations(vault, rested.clone(), &exempt, rules);
    let picks = keep((gated.kept, gated.stopped.clone()));
    cache.tell("requires and excludes", picks.len());
    let (picks, stripped) = if rules.repetition.strip {
        strip_repeated(vault, picks, &state.log, &exempt, rules)
    } else {
        (picks, Vec::new())
    };
    let picks = keep((picks, stripped.clone()));
    cache.tell("repeated texts", picks.len());
    let fitted = fit(vault, &picks, rules, counter);
    stopped.extend(fitted.stopped.iter().cloned());
    cache.tell("budget", fitted.notes.len());
    let state = state.after(vault, &fitted.notes, rules);
    let evidence = Evidence { vault, lines: scene.lines, picks: &matches.picks, rules };
    let verdicts = verdicts(evidence, &picks, &fitted, &stopped, cache);
    let gated = gated.stopped;
    VaultReport { matches, in_scene, rested, gated, stripped, fitted, state, verdicts }
}

/// The verdicts of a turn: notes that went in, then those that were stopped last.
fn verdicts(
    evidence: Evidence<'_>,
    picks: &[Pick],
    fitted: &Fitted,
    stopped: &[Stopped],
    cache: &mut VaultCache,
) -> Vec<Verdict> {
    let vault = evidence.vault;
    let verdict = |ix: EntryIx, outcome: Outcome| {
        let note = vault.note(ix);
        Verdict::new(note.book(), vault.id(ix).clone(), note.title.clone(), outcome)
    };
    let mut verdicts = Vec::new();
    let mut is_told = vec![false; vault.len()];
    for note in &fitted.notes {
        is_told[note.ix.0 as usize] = true;
        if let Some(pick) = picks.iter().find(|pick| pick.ix == note.ix) {
            let place = Some(note.seat.place());
            let trigger = Box::new(evidence.trigger(pick, cache));
            let outcome = Outcome::Activated { place, tokens: note.tokens, trigger };
            verdicts.push(verdict(note.ix, outcome));
        }
    }
    // The rule that came last decided; earlier ones a later stage overruled.
    for one in stopped.iter().rev() {
        if !std::mem::replace(&mut is_told[one.ix.0 as usize], true) {
            verdicts.push(verdict(one.ix, Outcome::Stopped(one.stop.clone())));
        }
    }
    verdicts
}
