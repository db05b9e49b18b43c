use super::{super::ScanPhase, *};
use crate::{
    cache_placement::Zone,
    units::{Depth, MessageCount, Tokens},
};

#[test]
fn a_text_that_is_kept_for_the_cache_says_where_and_since_when() {
    let kept = |idle_since| {
        Some(Box::new(KeptPlace {
            place: Place::AtDepth(Depth(7)),
            zone: Zone::Ledger,
            tokens: Tokens(9),
            idle_since,
        }))
    };
    let stopped = Outcome::Stopped(Stop::NoKeyFound);
    let fired = Outcome::Activated {
        place: Some(Place::BeforeCharacter),
        tokens: Tokens(9),
        shortened_from: None,
        trigger: Box::new(Trigger {
            reason: Reason::Constant,
            phase: ScanPhase::Initial,
            pass: 1,
            depth: 2,
            primary: None,
            secondary: Vec::new(),
            parents: Vec::new(),
        }),
    };
    for (outcome, since, expected) in [
        (
            stopped,
            Some(MessageCount(12)),
            "none of its keys was found; its text is still in the chat at depth 7 for the \
             prompt cache, not asked for since message 12",
        ),
        (
            fired,
            None,
            "always on; in the chat at depth 7, for the prompt cache, instead of before the \
             character",
        ),
    ] {
        let verdict = Verdict::new("b".into(), "b/1".into(), String::new(), outcome);
        let verdict = Verdict { kept_place: kept(since), ..verdict };
        assert_eq!(sentence(&verdict, &|id: &EntryId| id.to_string()), expected);
    }
}

#[test]
fn every_rule_says_what_it_found() {
    let keys = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect::<Vec<_>>();
    for (stop, expected) in [
        (Stop::Delay { until: MessageCount(8) }, "waits until the chat has 8 messages"),
        (
            Stop::out_of_reach("bell", 5, 2),
            "“bell” is 6 messages back, but only the last 2 messages are scanned",
        ),
        (
            Stop::OutOfReach {
                key: "bell".to_owned(),
                distance: 0,
                depth: 1,
                characters: Some(1000),
                tokens: None,
            },
            "“bell” is 1 message back, but only the last 1000 characters are scanned",
        ),
        (
            Stop::OutOfReach {
                key: "bell".to_owned(),
                distance: 2,
                depth: 1,
                characters: None,
                tokens: Some(1),
            },
            "“bell” is 3 messages back, but only the last token is scanned",
        ),
        (Stop::Copied { of: "bell".into() }, "a copy of “bell”, which is there itself"),
        (Stop::CopyOfNothing, "a copy of an entry that its book does not have"),
        (
            Stop::Secondary {
                key: "bell".to_owned(),
                logic: SelectiveLogic::AndAny,
                found: Vec::new(),
                missing: keys(&["tower", "rope"]),
            },
            "“bell” was found, but none of “tower”, “rope” was",
        ),
        (
            Stop::Budget { needed: Tokens(40), left: Tokens(12), over: Tokens(0) },
            "needs 40 tokens, only 12 left",
        ),
        (
            Stop::Budget { needed: Tokens(3), left: Tokens(0), over: Tokens(4) },
            "needs 3 tokens, and lore is 4 over its budget already, line ends counted",
        ),
        (
            Stop::out_of_reach("bell", 0, 0),
            "“bell” is 1 message back, but nothing is scanned for it",
        ),
        (Stop::Warmup { needed: 3.0, found: 1 }, "its keys occur 1 time, needed 3"),
        (Stop::Requires { missing: keys(&["Harbour"]) }, "requires “Harbour”, which is not in"),
        (Stop::Chance { roll: 71.25, probability: 40.0 }, "rolled 71.2, needed at most 40.0"),
    ] {
        assert_eq!(self::stop(&stop, &ToString::to_string), expected);
    }
}

#[test]
fn a_key_that_was_given_up_says_why() {
    for (stop, expected) in [
        (
            Stop::KeyTooSlow { key: "/(a+)\\1/".to_owned(), cost: KeyCost::TooManySteps },
            "the key “/(a+)\\1/” takes too many steps, and no other key was found",
        ),
        (
            Stop::KeyTooSlow { key: "/(a+)\\1/".to_owned(), cost: KeyCost::Suspended },
            "the key “/(a+)\\1/” is suspended because it was too slow in an earlier turn, \
             and no other key was found",
        ),
        (
            Stop::KeyTooSlow { key: "/(a+)\\1/".to_owned(), cost: KeyCost::NoStepsLeft },
            "the key “/(a+)\\1/” was not tried because other keys used up the \
             steps of the turn, and no other key was found",
        ),
    ] {
        assert_eq!(self::stop(&stop, &ToString::to_string), expected);
    }
}
