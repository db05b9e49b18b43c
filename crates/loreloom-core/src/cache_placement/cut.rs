//! Where the story begins in the prompt when the front end's window is full.

use super::{Ledger, PlanInput, StableSettings};

/// How many of the window's oldest messages are left out.
///
/// The window is full if it lacks messages of the path and no longer begins where it did. A
/// cut holds until the front end itself has dropped everything before it.
pub(super) fn ahead(scene: &PlanInput<'_>, ledger: &Ledger, settings: &StableSettings) -> usize {
    let window = scene.window;
    let whole = window.len() >= scene.length.0 as usize;
    if settings.cut_ahead_percent == 0 || whole {
        return 0;
    }
    let place = |id: &_| window.iter().position(|one| one == id);
    let moved = ledger.start.is_some_and(|start| place(&start).is_none());
    match ledger.cut.as_ref().and_then(place) {
        Some(at) if at > 0 || !moved => at,
        Some(_) | None if moved => {
            let percent = settings.cut_ahead_percent.min(90) as usize;
            window.len() * percent / 100
        }
        Some(_) | None => 0,
    }
}
