//! Why nothing touched a note: no keys, none said, or said too long ago.

use rustc_hash::FxHashMap;

use super::{Lines, Vault, VaultCache, VaultRules, index::KeyProbe};
use crate::{library::EntryIx, report::Stop, scan::PatternId};

/// How many messages back a near miss is looked for.
const FARTHEST: u32 = 200;

/// For each of these notes, which nothing touched in the turn, the rule that kept it out.
/// Looks further back than the turn did, to tell a near miss from a miss.
pub fn judge_untouched(
    vault: &Vault,
    open: &[EntryIx],
    lines: &Lines,
    rules: &VaultRules,
    cache: &mut VaultCache,
) -> Vec<Stop> {
    let hidden = rules.quirks.hidden_use_depth;
    let mut newest: FxHashMap<(PatternId, bool), u32> = FxHashMap::default();
    let window = lines.window(FARTHEST, hidden);
    for (back, line) in (0..).zip(window.into_iter().rev()) {
        let back = if hidden { age(lines, line.index) } else { back };
        for tally in &*cache.of(vault, &line.scan) {
            newest.entry((tally.pattern, false)).or_insert(back);
            if tally.word > 0 {
                newest.entry((tally.pattern, true)).or_insert(back);
            }
        }
    }
    let judge = |&ix: &EntryIx| {
        let (note, compiled) = (vault.note(ix), vault.compiled(ix));
        if note.keys.iter().all(|key| key.trim().is_empty()) {
            return Stop::NoKeys;
        }
        // No depth at all keeps every note's own depth from being asked.
        let own = compiled.depth.filter(|_| rules.keys.depth > 0);
        let depth = own.unwrap_or(rules.keys.depth);
        let said = note.keys.iter().zip(vault.key_probes(ix)).filter_map(|(key, probe)| {
            let KeyProbe::Pattern { pattern, word } = probe else { return None };
            Some((*newest.get(&(*pattern, *word))?, key))
        });
        match said.min_by_key(|(back, _)| *back) {
            Some((distance, key)) if distance >= depth => {
                Stop::out_of_reach(key.as_str(), distance, depth)
            }
            Some(_) | None => Stop::NoKeyFound,
        }
    };
    open.iter().map(judge).collect()
}

/// How many messages, hidden ones too, came after this one.
fn age(lines: &Lines, index: u32) -> u32 {
    let length = u32::try_from(lines.len()).unwrap_or(u32::MAX);
    length.saturating_sub(index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vault::Note;

    #[test]
    fn a_note_that_came_up_too_long_ago_says_how_long() {
        let note = |title: &str, keys: &[&str]| {
            let mut note = Note::new("", title, title);
            note.keys = keys.iter().map(|key| (*key).to_owned()).collect();
            note
        };
        let mut deep = note("Deep", &["tower"]);
        deep.scan_depth = Some(0.0);
        let notes =
            [note("None", &[" "]), note("Never", &["rope"]), note("Far", &["bell", "tower"]), deep];
        let mut rules = VaultRules::default();
        rules.keys.depth = 1;
        let vault = Vault::compile(notes, &rules);
        let mut lines = Lines::default();
        for text in ["the bell", "the tower", "hush", "nothing"] {
            lines.push("Ann", text, true, text != "hush");
        }
        let open: Vec<EntryIx> = vault.entries().collect();
        let far = |distance, depth| Stop::out_of_reach("tower", distance, depth);
        let stops = judge_untouched(&vault, &open, &lines, &rules, &mut VaultCache::default());
        assert_eq!(stops, [Stop::NoKeys, Stop::NoKeyFound, far(1, 1), far(1, 0)]);
        rules.quirks.hidden_use_depth = true;
        let stops = judge_untouched(&vault, &open, &lines, &rules, &mut VaultCache::default());
        assert_eq!(stops[2], far(2, 1), "hidden messages use up the depth");
    }
}
