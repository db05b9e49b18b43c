//! How often recall disturbs a turn that needs nothing, and how often it finds what a paraphrased
//! turn asks for, in the stories of `crates/loreloom-testkit/recall-own`.

use std::path::{Path, PathBuf};

use loreloom_llm::embed::StaticEmbedder;
use loreloom_memory::recall::Weights;
use loreloom_testkit::{recall_languages::languages, recall_own::measure};

/// The parts, the most turns that get something they do not need, and the least right turns. The
/// kept part shows what the rule reaches in stories it was not made with.
const PARTS: [(&str, usize, usize); 3] = [("seen", 4, 86), ("third", 4, 80), ("kept", 5, 70)];

#[test]
fn empty_turns_stay_empty_and_paraphrased_ones_are_answered() -> Result<(), String> {
    let embedder = StaticEmbedder::embedded();
    let embed = |text: &str| embedder.embed_one(text);
    let (mut disturbed, mut right) = (0, 0);
    for (part, most, least) in PARTS {
        let found = measure(&own(part), &Weights::default(), Some(&embed))?;
        assert_eq!((found.empty, found.paraphrased), (100, 100), "{part}");
        assert!(found.disturbed <= most, "{part}: {}", found.disturbed);
        assert!(found.right >= least, "{part}: {}", found.right);
        disturbed += found.disturbed;
        right += found.right;
    }
    // Of 300 each: at most 4 % and at least 80 %.
    assert!(disturbed <= 12 && right >= 240, "{disturbed} {right}");
    Ok(())
}

#[test]
fn every_language_is_ahead_of_plain_bm25() -> Result<(), String> {
    let embedder = StaticEmbedder::embedded();
    let embed = |text: &str| embedder.embed_one(text);
    let all = languages(&own("languages"), &Weights::default(), Some(&embed))?;
    assert_eq!(all.len(), 10);
    for one in &all {
        let language = &one.language;
        assert_eq!((one.questions, one.turns.empty), (25, 10), "{language}");
        assert!(one.found.first > one.plain.first, "{language}: {:?}", one.found);
        assert!(one.found.five >= 21, "{language}: {:?}", one.found);
        assert!(one.turns.disturbed <= 4, "{language}: {:?}", one.turns);
    }
    let disturbed: usize = all.iter().map(|one| one.turns.disturbed).sum();
    assert!(disturbed <= 5, "{disturbed}");
    Ok(())
}

fn own(part: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/recall-own")).join(part)
}
