//! What fits, and what is sent of it.

use super::*;

#[test]
fn the_first_note_is_never_cut_by_our_budget() {
    let mut rules = VaultRules::default();
    rules.budget.tokens = Some(Tokens(100));
    let long = "word ".repeat(500);
    let notes = || vec![note("Long", &["k"], &long), note("Short", &["k"], "word")];
    let (_, report) = turn(notes(), &["k"], &rules);
    assert_eq!((report.fitted.tokens(), report.fitted.stopped.len()), (Tokens(501), 0));
    rules.budget.oversized_first = OversizedFirst::Truncate;
    rules.budget.shorten = true;
    let (_, report) = turn(notes(), &["k"], &rules);
    assert_eq!(report.fitted.tokens(), Tokens(100));
}

#[test]
fn text_that_looks_like_a_mark_is_sent_as_written() {
    let price = note("Price", &["k"], "costs $$5 and $& and {{content}} {{title}}");
    let (_, report) = turn(vec![price], &["k"], &VaultRules::deeplore_2_0());
    let sent = "<Price>\ncosts $$5 and $& and {{content}} {{title}}\n</Price>";
    assert_eq!(report.fitted.notes[0].text, sent);
}

pub(super) fn uneven(length: usize) -> String {
    "so it is. ".repeat(length) + &"incomprehensibilities. ".repeat(length)
}

#[test]
fn a_note_that_does_not_fit_is_left_out_whole_or_shortened_and_then_ends_the_list() {
    let long = "word ".repeat(60);
    for (shorten, sent, codes) in [
        (false, vec![("A", 60, None), ("C", 1, None)], vec!["budget"]),
        (true, vec![("A", 60, None), ("B", 40, Some(60))], vec!["budget_closed"]),
    ] {
        let mut rules = VaultRules::default();
        rules.budget.tokens = Some(Tokens(100));
        rules.budget.shorten = shorten;
        rules.budget.shortest = Tokens(10);
        let notes =
            vec![note("A", &["k"], &long), note("B", &["k"], &long), note("C", &["k"], "w")];
        let (vault, report) = turn(notes, &["k"], &rules);
        let found: Vec<(&str, u32, Option<u32>)> = report
            .fitted
            .notes
            .iter()
            .map(|one| {
                let before = one.shortened_from.map(|tokens| tokens.0);
                (vault.note(one.ix).title.as_str(), one.tokens.0, before)
            })
            .collect();
        let stopped: Vec<&str> = report.fitted.stopped.iter().map(|one| one.stop.code()).collect();
        assert_eq!((found, stopped), (sent, codes), "shorten: {shorten}");
    }
}

#[test]
fn an_oversized_first_note_comes_whole_and_leaves_the_others_their_budget() {
    let mut rules = VaultRules::default();
    rules.budget.tokens = Some(Tokens(10));
    let notes = || {
        let mut giant = note("Giant", &["k"], &"word ".repeat(50));
        giant.priority = 1.0;
        let large = note("Large", &["k"], &"word ".repeat(11));
        vec![giant, note("Eight", &["k"], &"word ".repeat(8)), large, note("Two", &["k"], "a b")]
    };
    let (vault, report) = turn(notes(), &["k"], &rules);
    let sent: Vec<&str> =
        report.fitted.notes.iter().map(|one| vault.note(one.ix).title.as_str()).collect();
    assert_eq!(sent, ["Giant", "Eight", "Two"]);
    let stop = Stop::OverBudget { needed: Tokens(11), limit: Tokens(10) };
    let large = vault.named("Large")[0];
    assert_eq!(report.fitted.stopped, [Stopped { ix: large, stop }]);
}

#[test]
fn a_note_without_text_is_not_sent() {
    for (rules, sent) in [(VaultRules::default(), 0), (VaultRules::deeplore_2(), 1)] {
        let (_, report) = turn(vec![note("Stub", &["k"], " ")], &["k"], &rules);
        assert_eq!(report.fitted.notes.len(), sent);
        assert_eq!(report.verdicts[0].code(), "activated");
    }
}
