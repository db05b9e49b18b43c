//! Where activated entries go: lower order first within a place.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::{Activated, pass::scan};
use crate::{
    book::{Book, Entry, Position},
    chat::Role,
    engine::{
        DEFAULT_DEPTH, EngineInput, Timing, contribution::Contribution, placing::PlaceRules,
        render::LoreScripts,
    },
    library::{EntryIx, Library},
    macros::MacroValues,
    place::Place,
    sort::stable_by,
    turn::Instruments,
};

/// An activated entry's text at its place.
#[derive(Clone, Debug)]
pub struct PlacedEntry<'scan> {
    /// The place.
    pub place: Place,
    /// The role of the message it becomes part of.
    pub role: Role,
    /// The text to insert.
    pub text: Arc<str>,
    /// The entry.
    pub activated: &'scan Activated,
}

/// What World Info adds to a turn, and how timed effects go on.
pub(crate) fn contribute(
    input: &EngineInput<'_>,
    instruments: &mut Instruments<'_>,
) -> (Contribution, Timing) {
    let EngineInput { library, turn, .. } = *input;
    let scan = scan(input, instruments);
    let placed = place(input, &scan.activated);
    let mut pool = Contribution { warnings: scan.warnings, ..Contribution::default() };
    pool.budgets.extend(scan.budget);
    let places: FxHashMap<EntryIx, &Place> =
        placed.iter().map(|one| (one.activated.ix, &one.place)).collect();
    for one in &scan.activated {
        let place = places.get(&one.ix).copied().cloned();
        pool.add_active((library, one.ix), place, one.tokens, one.trigger(library, turn));
    }
    pool.add_stopped(library, scan.stopped);
    for PlacedEntry { place, role, text, activated } in placed {
        // Counted again only if the text changed on its way.
        let same = Arc::ptr_eq(&text, &activated.text);
        let tokens = if same { activated.tokens } else { instruments.counter.count(&text) };
        pool.inject((library, activated.ix), (place, role), &text, tokens);
    }
    (pool, scan.timing)
}

/// Places activated entries, in the order in which the text of each place reads.
///
/// Entries are walked from the highest order to the lowest and put at the front of their
/// place, so equal orders come out last activated first; outlets are appended instead.
///
/// Scripts change the text on its way, before it is wrapped; a text that they empty is left
/// out.
pub fn place<'scan>(
    input: &EngineInput<'_>,
    activated: &'scan [Activated],
) -> Vec<PlacedEntry<'scan>> {
    let library = input.library;
    let (scripts, macros) = (LoreScripts::of(input.turn, input.rules), input.turn.macros());
    let mut walk: Vec<&Activated> = activated.iter().collect();
    stable_by(&mut walk, |a, b| {
        let order = |one: &Activated| one.entry(library).placement.order;
        order(b)?.partial_cmp(&order(a)?)
    });
    let mut placed = Vec::with_capacity(walk.len());
    for one in walk {
        let Some((place, role)) = seat_of(one.entry(library), library.book(one.ix)) else {
            continue;
        };
        let text = scripts.apply(&one.text, place.depth(), &macros);
        if !text.is_empty() {
            let text = match &one.wrapping {
                Some(wrapping) => wrapping.wrap(&text).into(),
                None => text,
            };
            placed.push(PlacedEntry { place, role, text, activated: one });
        }
    }
    in_reading_order(placed)
}

/// Where an entry goes and in which role; `None` if nowhere.
pub(super) fn seat_of(entry: &Entry, book: &Book) -> Option<(Place, Role)> {
    let placement = &entry.placement;
    let origin = book.origin.as_ref().map_or("", |origin| origin.format.as_str());
    let after = placement.position == Position::Default && entry.unstated_is_after(origin);
    let rules = PlaceRules {
        unstated: if after { &Place::AfterCharacter } else { &Place::BeforeCharacter },
        slots_are_outlets: true,
        before_description_is_after: true,
        length: None,
    };
    let place = rules.place(&placement.position, placement.depth.unwrap_or(DEFAULT_DEPTH))?;
    let role = placement.role.filter(|_| place.depth().is_some());
    Some((place, role.unwrap_or(Role::System)))
}

/// The text an entry is sent with, without its wrapper, if it is sent.
pub(crate) fn sent_text(
    library: &Library,
    ix: EntryIx,
    scripts: &LoreScripts<'_>,
    macros: &MacroValues<'_>,
) -> Arc<str> {
    let compiled = library.compiled(ix);
    let text = if compiled.dynamic {
        macros.expand(&compiled.body).into()
    } else {
        Arc::clone(&compiled.body)
    };
    match seat_of(library.entry(ix), library.book(ix)) {
        Some((place, _)) => scripts.apply(&text, place.depth(), macros),
        None => text,
    }
}

/// Turns the walk into reading order: all places but outlets are filled from the front.
fn in_reading_order(walk: Vec<PlacedEntry<'_>>) -> Vec<PlacedEntry<'_>> {
    let (outlets, mut others): (Vec<_>, Vec<_>) =
        walk.into_iter().partition(|placed| matches!(placed.place, Place::Outlet(_)));
    others.reverse();
    others.extend(outlets);
    others
}
