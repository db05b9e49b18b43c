//! Why nothing touched a note: it has no keys, or the chat has none of them in reach.

use rustc_hash::FxHashMap;

use super::{VaultCache, VaultTurn, compile::KeyProbe};
use crate::{library::EntryIx, report::Stop, scan::PatternId};

/// How many messages back a near miss is looked for.
const FARTHEST: u32 = 200;

/// The rule that kept out each of these notes, which nothing touched in the turn. Looks further
/// back than the turn did, to find near misses.
pub fn judge_untouched(turn: VaultTurn<'_>, open: &[EntryIx], cache: &mut VaultCache) -> Vec<Stop> {
    let VaultTurn { vault, rules, .. } = turn;
    let length = u32::try_from(turn.lines.len()).unwrap_or(u32::MAX);
    let mut newest: FxHashMap<(PatternId, bool), u32> = FxHashMap::default();
    for (back, line) in (0..).zip(turn.window(FARTHEST).into_iter().rev()) {
        let hidden = rules.quirks.hidden_use_depth;
        let back = if hidden { length.saturating_sub(line.index + 1) } else { back };
        for tally in &*cache.of(vault, &line.scan) {
            newest.entry((tally.pattern, false)).or_insert(back);
            if tally.word > 0 {
                newest.entry((tally.pattern, true)).or_insert(back);
            }
        }
    }
    let scores = scores(turn);
    let judge = |&ix: &EntryIx| {
        let compiled = vault.compiled(ix);
        if let Some(&score) = scores.get(&ix).filter(|score| **score >= rules.fuzzy.min_score) {
            return Stop::SearchLimit { score, most: rules.fuzzy.most };
        }
        let low =
            scores.get(&ix).map(|&score| Stop::LowScore { score, needed: rules.fuzzy.min_score });
        if vault.keys_of(ix).all(|key| key.trim().is_empty()) {
            return low.unwrap_or(Stop::NoKeys);
        }
        // A scan depth of 0 in the rules also turns off the depths of single notes.
        let own = compiled.depth.filter(|_| rules.keys.depth > 0);
        let depth = own.unwrap_or(rules.keys.depth);
        let said = vault.keys_of(ix).zip(vault.key_probes(ix)).filter_map(|(key, probe)| {
            let KeyProbe::Pattern { pattern, word } = probe else { return None };
            Some((*newest.get(&(*pattern, *word))?, key))
        });
        match said.min_by_key(|(back, _)| *back) {
            Some((distance, key)) if distance >= depth => Stop::out_of_reach(key, distance, depth),
            Some(_) | None => low.unwrap_or(Stop::NoKeyFound),
        }
    };
    open.iter().map(judge).collect()
}

/// How well notes fit what is said, where the rules search by topic.
fn scores(turn: VaultTurn<'_>) -> FxHashMap<EntryIx, f64> {
    let VaultTurn { vault, rules, lines, .. } = turn;
    let Some(search) = vault.search().filter(|_| rules.fuzzy.enabled && rules.keys.depth > 0)
    else {
        return FxHashMap::default();
    };
    let text = lines.text(rules.keys.depth, rules.quirks.hidden_use_depth);
    let hits = search.query(&text, vault.len(), f64::MIN_POSITIVE);
    hits.into_iter().map(|hit| (hit.ix, hit.score)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        dialects::vault::{Lines, Vault, VaultRules, VaultState},
        turn::VaultContext,
        vault_notes::Note,
    };

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
        (rules.keys.depth, rules.keys.names) = (1, false);
        let vault = Vault::compile(notes, &rules);
        let mut lines = Lines::default();
        for text in ["the bell", "the tower", "hush", "nothing"] {
            lines.push("Ann", text, true, text != "hush");
        }
        let open: Vec<EntryIx> = vault.entries().collect();
        let far = |distance, depth| Stop::out_of_reach("tower", distance, depth);
        let (state, context) = (VaultState::default(), VaultContext::default());
        let judge = |rules: &VaultRules| {
            let turn = VaultTurn::new(&vault, rules, &state, &lines, &context);
            judge_untouched(turn, &open, &mut VaultCache::default())
        };
        let stops = judge(&rules);
        assert_eq!(stops, [Stop::NoKeys, Stop::NoKeyFound, far(1, 1), far(1, 0)]);
        rules.quirks.hidden_use_depth = true;
        let stops = judge(&rules);
        assert_eq!(stops[2], far(2, 1), "hidden messages use up the depth");
    }
}
