//! One turn of a vault, without a selecting model.

use super::{
    Exempt, FieldDefinition, Fitted, Lines, Mark, Matches, Pick, Stopped, Vault, VaultCache,
    VaultRules, VaultState, apply_marks, filter_by_folder, find, fit, gate_by_context,
    gate_by_relations, hold_back,
    matching::{is_new, sort_picks},
    strip_repeated,
};
use crate::{
    book::Extensions,
    dice::Dice,
    library::EntryIx,
    report::{KeyMatch, Outcome, Reason, ScanPhase, Trigger, Verdict},
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

/// Decides one turn.
pub fn weave(
    vault: &Vault,
    scene: Scene<'_>,
    state: &VaultState,
    rules: &VaultRules,
    counter: &dyn TokenCounter,
    (dice, cache): (&mut dyn Dice, &mut VaultCache),
) -> VaultReport {
    let matches = find(vault, scene.lines, scene.character, state, rules, (dice, cache));
    let mut stopped = matches.stopped.clone();
    let mut keep = |(picks, gone): (Vec<Pick>, Vec<Stopped>)| {
        stopped.extend(gone);
        picks
    };
    let bootstrapping = is_new(scene.lines.len(), rules);
    let found = matches.picks.iter().map(|pick| pick.ix);
    let exempt = Exempt::among(vault, found, scene.pins, bootstrapping, rules);
    let (context, fields) = (scene.context, scene.fields);
    let picks = matches.picks.clone();
    let picks = keep(gate_by_context(vault, picks, context, fields, &exempt, rules));
    let mut picks = keep(filter_by_folder(vault, picks, scene.folders, &exempt));
    sort_picks(vault, &mut picks, rules);

    // Pins bring notes in that nothing else did, so the whole vault is asked now.
    let exempt = Exempt::among(vault, vault.entries(), scene.pins, bootstrapping, rules);
    let picks = keep(apply_marks(vault, picks, scene.pins, scene.blocks));
    let in_scene = keep(gate_by_context(vault, picks, context, fields, &exempt, rules));
    let rested = keep(hold_back(vault, in_scene.clone(), state, &exempt, rules));
    let gated = gate_by_relations(vault, rested.clone(), &exempt, rules);
    let picks = keep((gated.kept, gated.stopped.clone()));
    let (picks, stripped) = if rules.repetition.strip {
        strip_repeated(vault, picks, &state.log, &exempt, rules)
    } else {
        (picks, Vec::new())
    };
    let picks = keep((picks, stripped.clone()));
    let fitted = fit(vault, &picks, rules, counter);
    stopped.extend(fitted.stopped.iter().cloned());
    let state = state.after(vault, &fitted.notes, rules);
    let verdicts = verdicts(vault, &picks, &fitted, &stopped, rules);
    let gated = gated.stopped;
    VaultReport { matches, in_scene, rested, gated, stripped, fitted, state, verdicts }
}

/// The verdicts of a turn: notes that went in, then those that were stopped last.
fn verdicts(
    vault: &Vault,
    picks: &[Pick],
    fitted: &Fitted,
    stopped: &[Stopped],
    rules: &VaultRules,
) -> Vec<Verdict> {
    let verdict = |ix: EntryIx, outcome: Outcome| Verdict {
        book: vault.note(ix).book(),
        entry: vault.id(ix).clone(),
        title: vault.note(ix).title.clone(),
        outcome,
    };
    let mut verdicts = Vec::new();
    let mut is_told = vec![false; vault.len()];
    for note in &fitted.notes {
        is_told[note.ix.0 as usize] = true;
        if let Some(pick) = picks.iter().find(|pick| pick.ix == note.ix) {
            let place = Some(note.seat.place());
            let trigger = Box::new(trigger(vault, pick, rules));
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

fn trigger(vault: &Vault, pick: &Pick, rules: &VaultRules) -> Trigger {
    let key = |key: &str| KeyMatch { key: key.to_owned(), expanded: None, at: None };
    Trigger {
        reason: pick.reason.clone(),
        phase: if pick.step > 0 { ScanPhase::Recursion } else { ScanPhase::Initial },
        pass: pick.step + 1,
        depth: vault.compiled(pick.ix).depth.unwrap_or(rules.keys.depth),
        primary: pick.key_text(vault).map(key),
        secondary: Vec::new(),
        parents: match &pick.reason {
            Reason::Cascade { from } | Reason::Linked { from } => vec![from.clone()],
            Reason::Key
            | Reason::Constant
            | Reason::Sticky { .. }
            | Reason::Decorator
            | Reason::Forced
            | Reason::Bootstrap
            | Reason::ActiveCharacter
            | Reason::Fuzzy { .. }
            | Reason::Pinned
            | Reason::Selected { .. } => Vec::new(),
        },
    }
}
