//! A model may say anything: no reply breaks a parser.

use loreloom_memory::{
    rules::Rules,
    tiers::{
        arcs, compaction, continuity, epistemic, ledger, longterm, profiles, relationships, scenes,
        session, triggers,
    },
};
use proptest::prelude::*;

proptest! {
    #[test]
    fn no_reply_breaks_a_parser(
        reply in "(?s).{0,200}",
        open in prop::collection::vec(".{0,30}", 0..3),
        strict in any::<bool>(),
    ) {
        let rules = &if strict { Rules::smart_memory_1_8() } else { Rules::default() };
        let open: Vec<&str> = open.iter().map(String::as_str).collect();
        prop_assert!(longterm::parse(&reply, rules).iter().all(|found| found.content.encode_utf16().count() > 5));
        prop_assert!(session::parse(&reply, rules).iter().all(|found| (1..=3).contains(&found.importance)));
        prop_assert!(arcs::parse(&reply, &open, rules).resolve.iter().all(|at| *at < open.len()));
        prop_assert!(triggers::parse(&reply, "memory", rules).len() <= 6);
        prop_assert!(epistemic::parse(&reply, rules).iter().all(|told| !told.subject.is_empty()));
        prop_assert!(relationships::parse(&reply, rules).iter().all(|delta| !delta.subject.is_empty()));
        prop_assert!(ledger::parse(&reply, rules).iter().all(|(_, card)| !card.fields.is_empty()));
        prop_assert!(continuity::parse(&reply, rules).iter().all(|line| !line.is_empty()));
        prop_assert!(compaction::parse(&reply, rules).chars().count() <= reply.chars().count());
        let _known: (bool, bool) = (scenes::parse_break(&reply), profiles::parse(&reply).is_some());
        let _numbers = epistemic::parse_retired(&reply);
    }
}
