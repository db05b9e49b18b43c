//! What was told: summary, scenes, threads, canon, profiles.

use loreloom_core::{tokens::TokenCounter, units::Tokens};

use super::{
    Labels,
    fit::{Block, GivesWay, dashes, fit_lines},
};
use crate::{
    number::clamp_usize,
    record::{Profile, Scene, StoryArc},
    text::{QuarterEstimate, cut_to_share, head, sentences},
};

/// The summary, cut with a mark if it is longer than `limit` tokens of four characters.
pub(super) fn summary(
    text: &str,
    limit: u32,
    at_sentence: bool,
    labels: &Labels,
    counter: &dyn TokenCounter,
) -> Option<Block> {
    let most = clamp_usize(u64::from(limit)) * QuarterEstimate::CHARACTERS;
    let start = head(text, most);
    let body = if start.len() == text.len() {
        text.to_owned()
    } else {
        let start = if at_sentence { whole_sentences(start) } else { start };
        format!("{start} {}", labels.truncated)
    };
    Block::labelled(&labels.summary, &body, text, counter)
}

/// The text up to its last whole sentence, unless that would lose more than half of it.
fn whole_sentences(text: &str) -> &str {
    let parts = sentences(text);
    let kept: usize = parts[..parts.len().saturating_sub(1)].iter().map(|part| part.len()).sum();
    if kept * 2 >= text.len() { text[..kept].trim_end() } else { text }
}

/// Scenes, numbered from one; the oldest give way.
pub(super) fn scenes(
    scenes: &[Scene],
    budget: Tokens,
    labels: &Labels,
    counter: &dyn TokenCounter,
) -> Option<Block> {
    let render = |scenes: &[Scene]| {
        let lines: Vec<String> = scenes
            .iter()
            .enumerate()
            .map(|(at, scene)| format!("{} {}: {}", labels.scene, at + 1, scene.summary))
            .collect();
        lines.join("\n")
    };
    let body = fit_lines(scenes, budget, GivesWay::First, counter, render);
    Block::labelled(&labels.scenes, &body, &render(scenes), counter)
}

/// Open threads; the oldest give way.
pub(super) fn arcs(
    arcs: &[StoryArc],
    budget: Tokens,
    labels: &Labels,
    counter: &dyn TokenCounter,
) -> Option<Block> {
    let open: Vec<&str> =
        arcs.iter().filter(|arc| arc.is_open()).map(|arc| arc.content.as_str()).collect();
    let body = fit_lines(&open, budget, GivesWay::First, counter, dashes);
    Block::labelled(&labels.arcs, &body, &dashes(&open), counter)
}

/// Canon; its last sentences give way.
pub(super) fn canon(
    text: &str,
    budget: Tokens,
    labels: &Labels,
    counter: &dyn TokenCounter,
) -> Option<Block> {
    let mut parts = sentences(text.trim());
    let join = |parts: &[&str]| parts.concat().trim_end().to_owned();
    while parts.len() > 1 && counter.count(&join(&parts)) > budget {
        parts.pop();
    }
    let kept = join(&parts);
    Block::labelled(&labels.canon, cut_to_share(&kept, budget, counter), text, counter)
}

/// A profile; its first blocks give way.
pub(super) fn profile(
    profile: &Profile,
    budget: Tokens,
    labels: &Labels,
    counter: &dyn TokenCounter,
) -> Option<Block> {
    let blocks: Vec<String> = [
        (&labels.character_state, &profile.character_state),
        (&labels.world_state, &profile.world_state),
        (&labels.relationship_matrix, &profile.relationship_matrix),
    ]
    .into_iter()
    .filter(|(_, text)| !text.trim().is_empty())
    .map(|(label, text)| format!("{label}\n{}", text.trim()))
    .collect();
    let render = |blocks: &[String]| blocks.join("\n\n");
    let body = fit_lines(&blocks, budget, GivesWay::First, counter, render);
    Block::plain(&body, &render(&blocks), counter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_summary_is_cut_at_a_sentence_where_that_keeps_most_of_it() {
        let labels =
            Labels { summary: "S:".into(), truncated: "[cut]".into(), ..Labels::default() };
        let cut = |text: &str, at_sentence| {
            summary(text, 5, at_sentence, &labels, &QuarterEstimate).map(|block| block.text)
        };
        let text = "One two three. Four five six.";
        assert_eq!(cut(text, true).as_deref(), Some("S:\nOne two three. [cut]"));
        assert_eq!(cut(text, false).as_deref(), Some("S:\nOne two three. Four  [cut]"));
        let text = "Hi. no more periods follow";
        assert_eq!(cut(text, true).as_deref(), Some("S:\nHi. no more periods  [cut]"));
        assert_eq!(cut("Short.", true).as_deref(), Some("S:\nShort."));
        assert_eq!(cut("", true), None);
    }
}
