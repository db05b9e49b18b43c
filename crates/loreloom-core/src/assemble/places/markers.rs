//! Markers that a prompt has for text: `{{outlet::name}}`, `{{loreloom::slot}}` and
//! `{{smartmemory-slot}}`.

use crate::{
    assemble::{Joined, PromptEdit},
    place::{Injection, Place, Provenance},
};

/// What a marker asks for.
enum Asks<'text> {
    Outlet(&'text str),
    Slot(&'text str),
}

/// The edits that fill all markers, and the injections that none asks for.
pub(super) fn edits<'a>(
    texts: &[&str],
    injections: &[&'a Injection],
) -> (Vec<PromptEdit>, Vec<&'a Injection>) {
    let mut edits = Vec::new();
    let mut rest: Vec<&Injection> = injections.to_vec();
    for (message, text) in texts.iter().enumerate() {
        for (start, end, asks) in markers(text) {
            let here = injections.iter().copied().filter(|one| answers(one, &asks));
            edits.push(PromptEdit { message, start, end, joined: Joined::of(here) });
            rest.retain(|one| !answers(one, &asks));
        }
    }
    (edits, rest)
}

/// A memory tier answers its own marker wherever it would be otherwise.
fn answers(injection: &Injection, asks: &Asks<'_>) -> bool {
    match (asks, &injection.place, &injection.source) {
        (Asks::Outlet(name), Place::Outlet(outlet), _) => outlet == name,
        (Asks::Slot(name), Place::Slot(slot), _) => slot == name,
        // A tier whose outlet has its own name goes nowhere but to its marker.
        (Asks::Slot(name), Place::Outlet(outlet), Provenance::Memory(tier)) => {
            tier == name && outlet == tier
        }
        (Asks::Slot(_), Place::Outlet(_), _) => false,
        (Asks::Slot(name), _, Provenance::Memory(tier)) => tier == name,
        _ => false,
    }
}

fn markers(text: &str) -> Vec<(usize, usize, Asks<'_>)> {
    let mut found = Vec::new();
    // Nearly every text has none.
    if memchr::memchr(b'}', text.as_bytes()).is_none() {
        return found;
    }
    // A marker ends at the first `}}` and begins at the last `{{` before it, so that no two
    // overlap.
    let mut from = 0;
    while let Some(close) = text[from..].find("}}").map(|at| at + from) {
        let (open, end) = (text[from..close].rfind("{{").map(|at| at + from), close + 2);
        from = end;
        let Some(start) = open else { continue };
        let inner = text[start + 2..close].trim();
        let outlet = inner.strip_prefix("outlet::").map(Asks::Outlet);
        let slot = inner.strip_prefix("loreloom::").or_else(|| inner.strip_prefix("smartmemory-"));
        found.extend(outlet.or(slot.map(Asks::Slot)).map(|asks| (start, end, asks)));
    }
    found
}
